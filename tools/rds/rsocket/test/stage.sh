# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Run the tests of rsockets in two guests, for the stages. Needs common.sh.

RSOCKET_TEST=$RDS_TOP/tools/rds/rsocket/test
RSOCKET_BUILD=$RDS_BUILD/rsocket

# The guests do not compile, which takes long there.
compile_rsocket_tests() {
	"$RSOCKET_TEST/run" --compile "$RSOCKET_BUILD"
}

# rsocket_guests OPTION... -- COMMAND --- COMMAND: run these in two guests.
rsocket_guests() {
	"$RDS_TOP/scripts/vm/run" --pair --smp 1 --stop-b --timeout 1800 \
		--modules "rds rds_tcp rds_stream" \
		--env "RDS_CACHE=$RDS_CACHE" "$@" | sed -u 's/^[ab]| //'
	return "${PIPESTATUS[0]}"
}

# on_two_hosts OPTION...: run what hosts runs, with these options.
on_two_hosts() {
	rsocket_guests --rdma rxe -- \
		"$RSOCKET_TEST/hosts" "$RSOCKET_BUILD" "$@" --- \
		"$RSOCKET_TEST/far" serve
}

# with_peer OPTION...: run what needs a peer without streams, which has these
# modules.
with_peer() {
	rsocket_guests "$@" -- \
		"$RSOCKET_TEST/run" --streams --compiled "$RSOCKET_BUILD" \
		--peer 10.0.0.2 fallback --- \
		"$RSOCKET_TEST/run" --compiled "$RSOCKET_BUILD" --echo
}
