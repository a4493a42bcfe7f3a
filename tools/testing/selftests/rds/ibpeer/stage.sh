# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the stages that run these programs in a guest. Needs common.sh,
# tap.sh.

# shellcheck source-path=SCRIPTDIR source=../invariants/stage.sh
. "$RDS_TOP/tools/testing/selftests/rds/invariants/stage.sh"
IBPEER=$SELFTESTS/ibpeer
PROGRAMS=$RDS_BUILD/ibpeer

build_peers() {
	mkdir -p "$PROGRAMS"
	make -s -C "$IBPEER" OUTPUT="$PROGRAMS" USERCFLAGS=-Werror \
		KSRC="$RDS_CACHE/src/linux-6.1"
}

# peer_programs LIST...: those of some lists of the Makefile.
peer_programs() {
	make -s -C "$IBPEER" KSRC="$RDS_CACHE/src/linux-6.1" programs LISTS="$*"
}

# peers WHERE OPTIONS PROGRAM...: run programs in a guest with a device that
# can connect to itself. $RDS_RDMA, if set, is its kind: rxe, or siw in the
# debug kernel.
peers() {
	local where=$1 options=$2

	shift 2
	[ -z "${RDS_RDMA-}" ] || options+=" --env RDS_RDMA=$RDS_RDMA"
	tap_say "$where"
	# shellcheck disable=SC2086 # several words
	tap_from "$where" "the guest" "$RDS_TOP/scripts/vm/run" $options -- \
		"$IBPEER/guest" "$PROGRAMS" "$@"
}

# fuzz_peers WHERE OPTIONS ARGUMENT...: run the fuzzer of peers in a guest.
fuzz_peers() {
	local where=$1 options=$2

	shift 2
	# shellcheck disable=SC2086 # several words
	tap_from "$where" "the guest" "$RDS_TOP/scripts/vm/run" $options \
		--kernel debug --smp 1 --mem 1024 -- "$IBPEER/guest" -- \
		"$IBPEER/fuzz" --library "$PROGRAMS/libpeer.so" "$@"
}
