# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Fill the cache with kernels. Needs common.sh and packages.sh.

# The entry of a kernel is created as NAME.new and renamed when it is complete,
# so that an interrupted run leaves nothing that looks complete.

# fix_headers ROOT FINAL: the headers contain the absolute path /usr/src;
# replace it by the place where they will be.
fix_headers() {
	local root=$1 final=$2/usr/src file

	for file in "$root"/usr/src/linux-headers-*/Makefile; do
		sed -i -e "s#^include .*/usr/src/#include $final/#" \
			-e "s#^KBUILD_OUTPUT=.*/usr/src/#KBUILD_OUTPUT=$final/#" \
			"$file"
	done
	for file in "$root"/usr/src/linux-headers-*/.kernelvariables; do
		fix_compiler "$file"
	done
}

# fix_compiler VARIABLES: the variables name the compiler that the kernel was
# built with. If that version is not installed, use the host's, without the
# options that it does not have.
fix_compiler() {
	local name conf=${1%/*}/include/config/auto.conf

	name=$(sed -n 's/^CC = .*)\(gcc-[0-9]*\)$/\1/p' "$1")
	if [ -z "$name" ] || command -v "$name" >/dev/null; then
		return
	fi
	sed -i "s/)$name\$/)gcc/" "$1"
	gcc -fmin-function-alignment=16 -E -x c /dev/null >/dev/null 2>&1 ||
		sed -i /^CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=/d "$conf"
}

# too_new PROGRAM: check whether it needs a newer C library than the host's.
too_new() {
	[ "$(head -c 4 "$1")" = $'\177ELF' ] &&
		"$1" --version </dev/null 2>&1 | grep -q 'GLIBC_.* not found'
}

# fit_tools SUITE DIR FINAL: the programs in the headers are built for the
# release of SUITE. Those that do not run here get the C library of that
# release.
fit_tools() {
	local suite=${1%-backports} dir=$2 lib=$3/root/usr/lib/x86_64-linux-gnu
	local file tools=()

	while read -r file; do
		! too_new "$file" || tools+=("$file")
	done < <(find "$dir"/root/usr/lib/linux-kbuild-* -type f -perm -100)
	[ ${#tools[@]} -gt 0 ] || return 0
	[ -s "$RDS_CACHE/apt/$suite/sources.list" ] || suite_update "$suite" ||
		return 1
	suite_unpack "$suite" "$dir" libc6 || return 1
	for file in "${tools[@]}"; do
		mv "$file" "$file.elf"
		cat >"$file" <<-END
		#!/bin/sh
		exec $lib/ld-linux-x86-64.so.2 \\
			--library-path $lib \\
			"\$0.elf" "\$@"
		END
		chmod +x "$file"
	done
}

# link_kernel DIR RELEASE: make the four names that the other scripts use.
link_kernel() {
	local dir=$1 release=$2 root=$1/root image

	[ -e "$root/lib" ] || ln -s usr/lib "$root/lib"
	image=$(cd "$dir" && find root -name 'vmlinuz*' -type f | head -n 1)
	[ -n "$image" ] || return 1
	ln -sfn "$image" "$dir/vmlinuz"
	ln -sfn "root/usr/src/linux-headers-$release" "$dir/build"
	ln -sfn "root/lib/modules/$release" "$dir/modules"
	ln -sfn "$RDS_CACHE/kernels/$(basename "${dir%.new}")/build" \
		"$root/lib/modules/$release/build"
	[ -f "$dir/build/Module.symvers" ] &&
		depmod -b "$root" "$release" 2>>"$RDS_CACHE/log/depmod.log" &&
		printf '%s\n' "$release" >"$dir/release"
}

# stock_release PACKAGE...: print the release in the image package's name.
stock_release() {
	printf '%s\n' "$@" |
		sed -n 's/^linux-image-\([0-9].*\)$/\1/p' | head -n 1
}

# finish_stock NAME SUITE RELEASE: complete NAME.new, which has been unpacked.
finish_stock() {
	local dir=$RDS_CACHE/kernels/$1

	fix_headers "$dir.new/root" "$dir/root"
	fit_tools "$2" "$dir.new" "$dir" || return 1
	link_kernel "$dir.new" "$3" || return 1
	mv "$dir.new/manifest.part" "$dir.new/manifest"
	mv "$dir.new" "$dir"
}

# fetch_stock NAME SUITE [FLAVOUR]: fetch and unpack image, headers and kbuild of
# the newest kernel in SUITE. Returns non-zero on any failure.
fetch_stock() {
	local name=$1 suite=$2 flavour=${3:-amd64} dir=$RDS_CACHE/kernels/$1
	local release packages

	if [ -f "$dir/manifest" ]; then
		say "kernel $name: $(cat "$dir/release"), cached"
		return
	fi
	say "kernel $name: fetching from $suite (up to 1 minute)"
	rm -rf "$dir" "$dir.new"
	suite_update "$suite" || return 1
	mapfile -t packages < <(kernel_closure "$suite" \
		"linux-image-$flavour" "linux-headers-$flavour")
	release=$(stock_release "${packages[@]}")
	[ -n "$release" ] || return 1
	suite_unpack "$suite" "$dir.new" "${packages[@]}" || return 1
	finish_stock "$name" "$suite" "$release" || return 1
	say "kernel $name: $release"
}

# adopt_stock OLD NAME SUITE: rename OLD in an earlier cache to NAME. The name
# is in its contents.
adopt_stock() {
	local old=$RDS_CACHE/kernels/$1 name=$2 suite=$3
	local dir=$RDS_CACHE/kernels/$2

	if [ ! -f "$old/manifest" ] || [ -e "$dir" ]; then
		return 0
	fi
	rm -rf "$dir.new"
	mv "$old" "$dir.new"
	mv "$dir.new/manifest" "$dir.new/manifest.part"
	finish_stock "$name" "$suite" "$(cat "$dir.new/release")"
}

# fetch_source SUITE VERSION: fetch the source of the package of stock-VERSION.
fetch_source() {
	local suite=$1 source=$2 dir=$RDS_CACHE/src/linux-$2 new version

	version=$(sed -n 's/^package=linux-image-amd64 \([^ ]*\) .*/\1/p' \
		"$RDS_CACHE/kernels/stock-$source/manifest")
	if grep -qsF " $version " "$dir.manifest"; then
		say "source $source: $version, unpacked"
		return
	fi
	say "source $source: fetching $version (about 1 minute)"
	new=$RDS_CACHE/src/new
	rm -rf "$dir" "$dir.manifest" "$new"
	[ -s "$RDS_CACHE/apt/$suite/sources.list" ] || suite_update "$suite" ||
		return 1
	suite_unpack "$suite" "$new" "linux-source-$source=$version" ||
		return 1
	tar -C "$new" -xJf "$new/root/usr/src/linux-source-$source.tar.xz" ||
		return 1
	mv "$new/linux-source-$source" "$dir"
	mv "$new/manifest.part" "$dir.manifest"
	rm -rf "$new"
}

# What make is told when a kernel is built. KASAN does not look at two functions
# of soft-RoCE in 6.1: rxe_do_task() stores a result in a queue pair that may
# have been freed just before, and rxe_resp_queue_pkt() reads the opcode of a
# packet that it has queued, and that may have been freed. Our modules have no
# part in that, and the report would end the test of whatever else runs in that
# guest. Nor does it look at the other tools that look for mistakes, and at what
# records the stack for them all: these touch no memory of ours, and are where a
# debug kernel spends its time.
KERNEL_MAKE=(KBUILD_BUILD_USER=rds KBUILD_BUILD_HOST=rds
	     KASAN_SANITIZE_rxe_task.o=n KASAN_SANITIZE_rxe_resp.o=n
	     KASAN_SANITIZE_unwind_frame.o=n KASAN_SANITIZE_lockdep.o=n
	     KASAN_SANITIZE_kmemleak.o=n KASAN_SANITIZE_debugobjects.o=n
	     KASAN_SANITIZE_spinlock_debug.o=n KASAN_SANITIZE_stacktrace.o=n
	     KASAN_SANITIZE_smp_processor_id.o=n)

# kernel_key FRAGMENT [VARIABLE=VALUE...]: print a hash of what a kernel is built
# from.
kernel_key() {
	local fragment=$1

	shift
	{ cat "$RDS_CACHE/src/linux-6.1.manifest"
	  say "${KERNEL_MAKE[*]}" "$@"
	  grep CONFIG_ "$fragment"; } | sha256sum | cut -d ' ' -f 1
}

# check_config NAME WANTED GOT: check that every line of WANTED was accepted.
check_config() {
	local line name bad=

	while read -r line; do
		case $line in
		CONFIG_*)
			grep -qxF -- "$line" "$3" || bad="$bad $line" ;;
		'# CONFIG_'*' is not set')
			name=${line#\# }
			name=${name%% *}
			! grep -q "^$name=" "$3" || bad="$bad !$name" ;;
		esac
	done <"$2"
	[ -z "$bad" ] || die "kernel $1: options did not stick:$bad"
}

# show_progress NAME TOTAL: print a line now and then for a kernel build's output
# on standard input.
show_progress() {
	awk -v name="$1" -v total="$2" '
		/^  (CC|AS|LD|AR) / { n++ }
		n >= next_at {
			printf "kernel %s: %d of about %d objects\n",
				name, n, total
			fflush()
			next_at = n + 400
		}'
}

# build_kernel NAME FRAGMENT [VARIABLE=VALUE...]: build one from the 6.1 source,
# with the options in FRAGMENT and no others, and these variables of make.
build_kernel() {
	local name=$1 fragment=$2 dir=$RDS_CACHE/kernels/$1 key log
	local src=$RDS_CACHE/src/linux-6.1 release
	local -a kmake

	shift 2
	key=$(kernel_key "$fragment" "$@")
	if grep -qsx "key=$key" "$dir/manifest"; then
		say "kernel $name: $(cat "$dir/release"), cached"
		return
	fi
	say "kernel $name: building (6 to 10 minutes on 2 CPUs)"
	log=$RDS_CACHE/log/$name-kernel.log
	rm -f "$dir/manifest"
	mkdir -p "$dir/build"
	kmake=(nice -n 5 make -C "$src" O="$dir/build" -j "$(nproc)"
	       "${KERNEL_MAKE[@]}" "$@")
	"${kmake[@]}" KCONFIG_ALLCONFIG="$fragment" allnoconfig \
		>"$log" 2>&1 || die "kernel $name: no config; see $log"
	check_config "$name" "$fragment" "$dir/build/.config"
	set -o pipefail
	"${kmake[@]}" all 2>&1 | tee -a "$log" | show_progress "$name" 2000 ||
		die "kernel $name: build failed; see $log"
	set +o pipefail
	release=$("${kmake[@]}" -s kernelrelease)
	install_kernel "$dir" "$release"
	{ grep '^package=' "$src.manifest"
	  printf 'key=%s\n' "$key"; } >"$dir/manifest"
	say "kernel $name: $release"
}

# build_variant NAME [VARIABLE=VALUE...]: build a kernel with the options in
# debug.config, except that those that fast.config and NAME.config name are as
# these say.
build_variant() {
	local name=$1 configs=$RDS_TOP/scripts/configs
	local fragment=$RDS_CACHE/kernels/$1.config

	shift
	cat "$configs/fast.config" "$configs/$name.config" | awk '
	match($0, /CONFIG_[A-Z0-9_]+/) {
		option = substr($0, RSTART, RLENGTH)
		if (NR == FNR)
			changed[option]
		else if (option in changed)
			next
		print
	}' - "$configs/debug.config" >"$fragment"
	build_kernel "$name" "$fragment" "$@"
}

# install_kernel DIR RELEASE: it has no modules of its own, but modprobe needs
# the lists of what is built in.
install_kernel() {
	local dir=$1 release=$2 modules=$1/root/lib/modules/$2

	mkdir -p "$modules"
	cp "$dir"/build/modules.{order,builtin,builtin.modinfo} "$modules"
	ln -sfn ../../../../build "$modules/build"
	ln -sfn build/arch/x86/boot/bzImage "$dir/vmlinuz"
	ln -sfn "root/lib/modules/$release" "$dir/modules"
	depmod -b "$dir/root" "$release"
	printf '%s\n' "$release" >"$dir/release"
}
