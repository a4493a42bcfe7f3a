# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the stages that run these programs in guests, and those of the
# directory above. Needs common.sh, tap.sh.

SELFTESTS=$RDS_TOP/tools/testing/selftests/rds
PROGRAMS=$RDS_BUILD/selftests

# build_programs: build all programs of both directories, into one.
build_programs() {
	local dir

	mkdir -p "$PROGRAMS"
	for dir in "$SELFTESTS" "$SELFTESTS/invariants"; do
		make -s -j"$(nproc)" -C "$dir" OUTPUT="$PROGRAMS" \
			USERCFLAGS=-Werror KSRC="$RDS_CACHE/src/linux-6.1" ||
			return
	done
}

# socket_programs LIST...: print the programs of the directory above, which test
# the socket interface, that are in the given lists of its Makefile.
socket_programs() {
	make -s -C "$SELFTESTS" KSRC="$RDS_CACHE/src/linux-6.1" programs \
		LISTS="$*"
}

# themes LIST...: print the programs of this directory that are in the given
# lists of its Makefile.
themes() {
	make -s -C "$SELFTESTS/invariants" KSRC="$RDS_CACHE/src/linux-6.1" \
		programs LISTS="$*"
}

# build_programs_32 PROGRAM...: build programs of the directory above for
# 32-bit callers. The kselftest header takes addresses for 64-bit numbers.
build_programs_32() {
	local program targets=()

	mkdir -p "$PROGRAMS-32"
	for program; do
		targets+=("$PROGRAMS-32/$program")
	done
	make -s -j"$(nproc)" -C "$SELFTESTS" OUTPUT="$PROGRAMS-32" \
		USERCFLAGS="-m32 -Werror -Wno-pointer-to-int-cast" \
		KSRC="$RDS_CACHE/src/linux-6.1" "${targets[@]}"
}

# guest WHERE OPTIONS PROGRAM...: run programs in one guest, with the variables
# of the environment that they use.
guest() {
	local where=$1 options=$2 name

	shift 2
	for name in RDS_ROUNDS RDS_SECONDS RDS_SEED RDS_STREAMS \
			RDS_TAILS RDS_RDMA_PROGRAMS RDS_VARIANTS \
			RDS_KCOV; do
		[ -z "${!name-}" ] || options+=" --env $name=${!name}"
	done
	options+=" --env RDS_MODPROBE_D=$RDS_TOP/packaging/modprobe.d"
	tap_say "$where"
	# shellcheck disable=SC2086 # several words
	tap_from "$where" "the guest" "$RDS_TOP/scripts/vm/run" $options -- \
		"$SELFTESTS/lib/run" "$PROGRAMS" "$@"
}
