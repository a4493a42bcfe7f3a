# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the stages that run this program in guests. Needs common.sh, tap.sh.

SCALE=$RDS_TOP/tools/testing/selftests/rds/scale
SCALE_BUILT=$RDS_BUILD/scale

build_scale() {
	mkdir -p "$SCALE_BUILT"
	make -s -C "$SCALE" OUTPUT="$SCALE_BUILT" USERCFLAGS=-Werror \
		KSRC="$RDS_CACHE/src/linux-6.1"
}

# scale_guest KERNEL OPTIONS...: the program's results, which it prints as
# TAP, become this stage's.
scale_guest() {
	local kernel=$1 status=0

	shift
	tap_say "$kernel $*"
	"$RDS_TOP/scripts/vm/run" --kernel "$kernel" --modules "rds rds_tcp" \
		"$@" -- "$SCALE_BUILT/scale" || status=$?
	# shellcheck disable=SC2034 # tap.sh's
	[ "$status" = 0 ] || TAP_FAILED=1
	tap_is "$kernel: the guest ended well" 0 "$status"
}
