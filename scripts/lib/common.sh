# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by all scripts, which source it first.
#
#   RDS_TOP     the checkout
#   RDS_CACHE   kernels, headers and sources (environment, or ~/.cache/rds)
#   RDS_BUILD   everything made from the checkout
#   RDS_TIMES   how many times their length the long forms have (environment,
#               or 1)

RDS_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
RDS_CACHE=${RDS_CACHE:-$HOME/.cache/rds}
RDS_BUILD=$RDS_TOP/build
RDS_TIMES=${RDS_TIMES:-1}
export RDS_TOP RDS_CACHE RDS_BUILD RDS_TIMES

# The kernels that a guest can run; each is $RDS_CACHE/kernels/NAME with
#   release   uname -r of it         vmlinuz  the image to boot
#   build     what modules are built against
#   modules   its own /lib/modules/RELEASE
#   manifest  where all of it comes from; written last, so it means "complete"
# stock-newest is the newest one when the cache was filled; see its release.
RDS_GUEST_KERNELS="stock-6.1 stock-6.12 stock-newest debug"
# More, which the check does not need: one measures coverage (scripts/coverage),
# one finds data races, and one is preemptible even where locks are held.
RDS_MORE_KERNELS="gcov kcsan rt-6.1"
# Those of both that scripts/setup builds; the others are Debian's.
RDS_BUILT_KERNELS="debug gcov kcsan"
export RDS_GUEST_KERNELS RDS_MORE_KERNELS RDS_BUILT_KERNELS

say() {
	printf '%s\n' "$*"
}

warn() {
	printf '%s: warning: %s\n' "${0##*/}" "$*" >&2
}

# die [-s STATUS] MESSAGE: print one line, and exit.
die() {
	local status=1

	if [ "$1" = -s ]; then
		status=$2
		shift 2
	fi
	printf '%s: error: %s\n' "${0##*/}" "$*" >&2
	exit "$status"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || die "must be run as root"
}

# usage: print the comment block at the head of the calling script.
usage() {
	sed -n '4,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"
}

# kernel_dir NAME: print its directory in the cache, which must be complete.
kernel_dir() {
	local dir=$RDS_CACHE/kernels/$1

	[ -f "$dir/manifest" ] ||
		die "kernel '$1' is not in $RDS_CACHE; run scripts/setup"
	printf '%s\n' "$dir"
}

kernel_release() {
	cat "$RDS_CACHE/kernels/$1/release"
}

# copy_module_sources DIR: copy only what a module is built from and installed
# with. Files in DIR that the compiler has left there stay.
copy_module_sources() {
	mkdir -p "$1"
	rsync -a --delete --prune-empty-dirs \
		--include='/packaging/***' \
		--exclude='*.mod.c' --include='*/' --include=Kbuild \
		--include='Kconfig*' --include='*.[ch]' --include=/Makefile \
		--exclude='*' \
		"$RDS_TOP/Kbuild" "$RDS_TOP/Kconfig" "$RDS_TOP/Makefile" \
		"$RDS_TOP/include" "$RDS_TOP/net" "$RDS_TOP/packaging" "$1/"
}
