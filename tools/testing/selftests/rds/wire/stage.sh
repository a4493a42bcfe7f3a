# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the stages that run these tests. Needs common.sh, tap.sh.

WIRE=$RDS_TOP/tools/testing/selftests/rds/wire

test_the_tests() {
	tap_from "scripted peers" "the run" "$WIRE/selftest"
}

# wire_guest WHERE OPTIONS ARGUMENT...: run the tests in a guest.
wire_guest() {
	local where=$1 options=$2

	shift 2
	# shellcheck disable=SC2086 # several words
	tap_from "$where" "the run" "$RDS_TOP/scripts/vm/run" $options \
		--modules "rds rds_tcp rds_stream" -- "$WIRE/run" "$@"
}

# fuzz_guest WHERE OPTIONS ARGUMENT...: run the fuzzer in a guest.
fuzz_guest() {
	local where=$1 options=$2

	shift 2
	# shellcheck disable=SC2086 # several words
	tap_from "$where" "the run" "$RDS_TOP/scripts/vm/run" $options \
		--kernel debug --smp 1 --modules "rds rds_tcp rds_stream" -- \
		"$WIRE/fuzz" "$@"
}
