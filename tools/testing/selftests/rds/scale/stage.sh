# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the stages that run this program in guests. Needs common.sh,
# tap.sh.

SCALE=$RDS_TOP/tools/testing/selftests/rds/scale
SCALE_BUILT=$RDS_BUILD/scale

build_scale() {
	mkdir -p "$SCALE_BUILT"
	make -s -C "$SCALE" OUTPUT="$SCALE_BUILT" USERCFLAGS=-Werror \
		KSRC="$RDS_CACHE/src/linux-6.1"
}

# scale_guest KERNEL OPTIONS...: report the program's results, which it prints
# as TAP, as those of this stage.
scale_guest() {
	local kernel=$1

	shift
	tap_say "$kernel $*"
	tap_from "$kernel" "the guest" "$RDS_TOP/scripts/vm/run" \
		--kernel "$kernel" --modules "rds rds_tcp" "$@" -- \
		"$SCALE_BUILT/scale"
}
