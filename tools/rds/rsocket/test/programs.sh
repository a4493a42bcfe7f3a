# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The programs of rdmacm-utils, which others wrote

# both LIBRARY PROGRAM HOST ARG...: run PROGRAM as a server and as its client,
# with LIBRARY preloaded. Both must end well, the client within LIMIT seconds.
# The server has SERVER_ARGS as well.
SERVER_ARGS=()
LIMIT=180
both() {
	local library=$1 program=$2 host=$3 status=0

	shift 3
	rm -f "$SHIM_FILE"
	PORT=$((PORT + 1))
	serve LD_PRELOAD="$library" "$program" -p "$PORT" "$@" \
		"${SERVER_ARGS[@]}"
	ready || return
	LD_PRELOAD=$library timeout -k 5 "$LIMIT" "$program" -p "$PORT" \
		-s "$host" "$@" >"$SCRATCH/client" 2>&1 || status=$?
	wait "$SERVER" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	return "$status"
}

# Both ends spin while they wait, that of riostream always, that of rstream
# unless it blocks. On one processor each message then waits for the time slice
# of the other end, and 100000 of them for minutes.
share_processor() {
	[ ${#FAR[@]} = 0 ] && [ "$(nproc)" = 1 ]
}

# bound_to ADDRESS COMMAND...: the server is bound to ADDRESS. The client has
# the same port, and would not get that address.
bound_to() {
	SERVER_ARGS=(-b "$1")
	shift
	"$@"
	set -- "$?"
	SERVER_ARGS=()
	return "$1"
}

# results COUNT: the client printed so many lines of results.
results() {
	[ "$(grep -c '/xfer$' "$SCRATCH/client")" = 1 ] &&
		[ "$(grep -cE '[0-9.]+ +[0-9.]+$' "$SCRATCH/client")" = "$1" ]
}

R_LIBRARY=$TOP/librdsocket.so${SHIM:+:$SHIM}

r_program() {
	both "$R_LIBRARY" "$@" && results 1
}

# The eight tests of the series that is run without options
r_series() {
	local LIMIT=500

	both "$R_LIBRARY" "$@" && [ "$(wc -l <"$SCRATCH/client")" = 9 ]
}

# r_all PROGRAM [OPTION...]: all sizes. These are more than 50 tests, and a client
# that spins may take minutes. It is stopped when it has printed 24 results, and
# after 60 seconds if it has printed any: on a busy host the first one may take
# longer. It must have printed one or more, and no error. The server of riostream
# looks at its memory only, and does not learn that its client ends.
r_all() {
	local client lines begin=$SECONDS

	PORT=$((PORT + 1))
	rm -f "$SHIM_FILE"
	serve LD_PRELOAD="$R_LIBRARY" "$@" -p "$PORT" -S all
	ready || return
	LD_PRELOAD=$R_LIBRARY stdbuf -oL "$@" -p "$PORT" -s "$HOST" -S all \
		>"$SCRATCH/client" 2>&1 &
	client=$!
	while [ $((SECONDS - begin)) -lt 400 ]; do
		lines=$(wc -l <"$SCRATCH/client")
		[ "$lines" -le 24 ] && [ -e "/proc/$client" ] || break
		[ "$lines" -le 1 ] || [ $((SECONDS - begin)) -lt 60 ] || break
		sleep 0.1
	done
	kill "$client"
	# The shell reports that the client was killed.
	wait "$client" 2>"$SCRATCH/kill"
	stop_server
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$lines" -gt 1 ] &&
		! grep -vE '^name |_(lat|bw) ' "$SCRATCH/client"
}

short() {
	local program=$1

	shift
	r_program "$program" "$HOST" -I 10 -C 10 "$@"
}

# large PROGRAM SIZE ARG...: these take long.
large() {
	local program=$1 size=$2

	shift 2
	r_program "$program" "$HOST" -I 2 -C 3 -S "$size" "$@"
}

test_rstream() {
	local size how block=()

	for size in 1 64 1000 4096 65536; do
		ok "rstream: -S $size" short rstream -S "$size"
		ok "rstream: -S $size -T v" short rstream -S "$size" -T v
	done
	for size in 1000000 6000000; do
		ok "rstream: -S $size" large rstream "$size"
		ok "rstream: -S $size -T v" large rstream "$size" -T v
	done
	for how in a b n; do
		ok "rstream: -T $how" short rstream -T "$how"
		ok "rstream: -T $how -T v" short rstream -T "$how" -T v
		ok "rstream: -T $how -S 1000000 -T v" \
			large rstream 1000000 -T "$how" -T v
	done
	ok "rstream: -T a -T b" short rstream -T a -T b
	ok "rstream: all options by name" \
		short rstream -T async -T nonblocking -T verify
	ok "rstream: -k 10" short rstream -k 10
	ok "rstream: -i 128" short rstream -i 128
	ok "rstream: -B 100000" short rstream -B 100000
	ok "rstream: -b $HOST" bound_to "$HOST" short rstream
	ok "rstream: -f ip" short rstream -f ip
	ok "rstream: -f name" r_program rstream "$NAME" -f name -I 10 -C 10
	ok "rstream: -f ipv6" bound_to "$HOST6" \
		r_program rstream "$HOST6" -f ipv6 -I 10 -C 10
	! share_processor || block=(-T b)
	ok "rstream: -S all" r_all rstream "${block[@]}"
	ok "rstream: its series" r_series rstream "$HOST" "${block[@]}"
	ok "rstream: busy polling" with_setting polling_time 50 \
		short rstream -T b -T v
	ok "rstream: RS_SQ_SIZE and others" env_settings
}

with_setting() {
	setting "$1" "$2"
	shift 2
	"$@"
	set -- "$?"
	settings
	return "$1"
}

env_settings() (
	export RS_SQ_SIZE=16 RS_RQ_SIZE=16 RS_INLINE=64

	short rstream -S 100000 -T v
)

# rdma_getaddrinfo() is not ours: it may need an RDMA device.
test_resolve() {
	if rstream -T r -s 127.0.0.1 -p 1 2>&1 | grep -q 'getaddrinfo'; then
		skip "rstream: -T r" "rdma_getaddrinfo() fails on this host"
	else
		ok "rstream: -T r" short rstream -T r
	fi
}

test_riostream() {
	local size how

	for size in 1 64 1000 65536; do
		ok "riostream: -S $size" short riostream -S "$size"
		ok "riostream: -S $size -T v" short riostream -S "$size" -T v
	done
	for size in 1000000 6000000; do
		ok "riostream: -S $size" large riostream "$size"
		ok "riostream: -S $size -T v" large riostream "$size" -T v
	done
	for how in a b n; do
		ok "riostream: -T $how -T v" short riostream -T "$how" -T v
	done
	ok "riostream: -B 100000" short riostream -B 100000
	ok "riostream: -b $HOST" bound_to "$HOST" short riostream
	if share_processor; then
		skip "riostream: all sizes" "two that spin need two processors"
		return
	fi
	ok "riostream: -S all" r_all riostream
	ok "riostream: its series" r_series riostream "$HOST"
}

P_LIBRARY=$TOP/librdspreload.so${SHIM:+:$SHIM}

sockets() {
	both "$P_LIBRARY" rstream "$@" -T s && results 1
}

# The server is one of TCP, the client runs with rds-run.
mixed() {
	local host=$1 status=0

	shift
	PORT=$((PORT + 1))
	serve -u LD_PRELOAD rstream -p "$PORT" -T s "$@"
	ready
	rds_run timeout 120 rstream -p "$PORT" -s "$host" -T s "$@" \
		>"$SCRATCH/client" 2>&1 || status=$?
	wait "$SERVER" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && results 1
}

# A child of the server serves the connection.
forking() {
	local status=0

	PORT=$((PORT + 1))
	serve RDMAV_FORK_SAFE=1 "$HERE/run-rds" rstream -p "$PORT" -T f \
		-I 9 -C 9
	ready
	RDMAV_FORK_SAFE=1 rds_run timeout 120 rstream -p "$PORT" -s "$HOST" \
		-T s -I 9 -C 9 >"$SCRATCH/client" 2>&1 || status=$?
	wait "$SERVER" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && results 1
}

test_rstream_sockets() {
	ok "rds-run rstream: -T s" sockets "$HOST" -I 10 -C 10
	ok "rds-run rstream: -T s -T v -S 1000000" \
		sockets "$HOST" -I 10 -C 10 -T v -S 1000000
	ok "rds-run rstream: -T s -T a -T v" \
		sockets "$HOST" -I 10 -C 10 -T a -T v
	ok "rds-run rstream: -T s -T b -T v" \
		sockets "$HOST" -I 10 -C 10 -T b -T v
	ok "rds-run rstream: -T s -f ipv6" bound_to "$HOST6" \
		sockets "$HOST6" -f ipv6 -I 10 -C 10
	ok "rds-run rstream: -T f" forking
	[ -n "$SHIM" ] || return 0
	ok "rds-run rstream: to a host without RDS" \
		mixed 127.0.0.9 -I 10 -C 10 -T v
	ok "rds-run rstream: to a host without RDS, -T a" \
		mixed 127.0.0.9 -I 10 -C 10 -T a -T v
	ok "rds-run rstream: to a host without streams, -T b" \
		mixed 127.0.0.8 -I 10 -C 10 -T b -T v
}

# rcopy FILE: copy it. The server maps the copy, which is not possible where two
# guests share their files: it is in /tmp of the server.
rcopy_file() {
	local copy

	PORT=$((PORT + 1))
	rm -f "$SHIM_FILE"
	copy=$("${FAR[@]}" mktemp) || return
	serve LD_PRELOAD="$R_LIBRARY" rcopy -p "$PORT"
	ready || return
	LD_PRELOAD=$R_LIBRARY timeout 120 rcopy "$1" "$HOST:$copy" -p "$PORT"
	stop_server
	cat "$SCRATCH/server"
	"${FAR[@]}" cmp "$1" "$copy"
	set -- "$?"
	"${FAR[@]}" rm -f "$copy"
	return "$1"
}

test_rcopy() {
	head -c 5000000 /dev/urandom >"$SCRATCH/large"
	head -c 1000 /dev/urandom >"$SCRATCH/small"
	ok "rcopy: a small file" rcopy_file "$SCRATCH/small"
	ok "rcopy: 5 MB" rcopy_file "$SCRATCH/large"
}

# A server of udpong does not end.
udpong_with() {
	PORT=$((PORT + 1))
	serve LD_PRELOAD="$R_LIBRARY" udpong -p "$PORT" -b "$HOST" "$@"
	ready udp || return
	LD_PRELOAD=$R_LIBRARY timeout 120 udpong -p "$PORT" -s "$HOST" -C 100 \
		"$@" >"$SCRATCH/client" 2>&1
	set -- "$?"
	stop_server
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$1" = 0 ]
}

test_udpong() {
	ok "udpong: datagrams, by UDP" udpong_with -T b
	[ -z "$QUICK" ] || return 0
	ok "udpong: -T a" udpong_with -T a
	ok "udpong: -T e" udpong_with -T b -T e
}

# Each of these programs in a few ways
test_rdmacm_quick() {
	ok "rstream: -S 1000000 -T v" large rstream 1000000 -T b -T v
	ok "rstream: -f ipv6" bound_to "$HOST6" \
		r_program rstream "$HOST6" -f ipv6 -I 10 -C 10 -T b
	ok "rds-run rstream: -T s -T a -T v" \
		sockets "$HOST" -I 10 -C 10 -T a -T v
	ok "rds-run rstream: -T f" forking
	test_udpong
	ok "riostream: -T v" short riostream -T b -T v
	test_rcopy
}

test_rdmacm_all() {
	test_rstream
	test_resolve
	test_rstream_sockets
	test_udpong
	test_riostream
	test_rcopy
}

test_rdmacm() {
	if ! has rstream; then
		skip "rstream and others" "rdmacm-utils is not installed"
		return
	fi
	if [ -n "$QUICK" ]; then
		test_rdmacm_quick
	else
		test_rdmacm_all
	fi
}
