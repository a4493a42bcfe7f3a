# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the stages that run these tests. Needs common.sh, tap.sh.

WIRE=$RDS_TOP/tools/testing/selftests/rds/wire

# wire_results WHERE: results become this stage's, named after where they come
# from; if some are missing, that is one failure more.
wire_results() {
	awk -v where="$1" '
	/^1\.\./ { plan = substr($1, 4); next }
	/^ok / { sub(/^ok [0-9]+ -/, "ok - " where ":"); seen++ }
	/^not ok / {
		sub(/^not ok [0-9]+ -/, "not ok - " where ":")
		seen++
		failed = 1
	}
	/^(not )?ok / { print; fflush(); next }
	/^TAP version/ { next }
	{ sub(/^(# )?/, "# "); print; fflush() }
	END {
		if (!plan || seen != plan) {
			print "not ok - " where ": stopped after " seen + 0 \
			      " tests"
			failed = 1
		}
		exit failed
	}
	'
}

# wire_run WHERE COMMAND...: a command that prints the results of tests.
wire_run() {
	local where=$1 status=0

	shift
	{ "$@" || status=$?; } > >(wire_results "$where") 2>&1
	# shellcheck disable=SC2034 # tap.sh's
	wait "$!" || TAP_FAILED=1
	tap_is "$where: the run ended well" 0 "$status"
}

test_the_tests() {
	wire_run "scripted peers" "$WIRE/selftest"
}

# wire_guest WHERE OPTIONS ARGUMENT...: the tests in a guest.
wire_guest() {
	local where=$1 options=$2

	shift 2
	# shellcheck disable=SC2086 # words are wanted
	wire_run "$where" "$RDS_TOP/scripts/vm/run" $options \
		--modules "rds rds_tcp" -- "$WIRE/run" "$@"
}
