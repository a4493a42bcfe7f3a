# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Programs that others wrote: those of rdmacm-utils, and some of TCP.

# ready: wait until the server of this port listens.
ready() {
	local hex tries

	hex=$(printf ':%04X 0*:0000 0A' "$PORT")
	for ((tries = 0; tries < 50; tries++)); do
		[ -n "$SHIM" ] || [ "$tries" -lt 10 ] || return 0
		grep -qE "$hex" /proc/net/tcp /proc/net/tcp6 && return 0
		sleep 0.1
	done
	echo "nothing listens on port $PORT"
	return 1
}

# both LIBRARY PROGRAM HOST ARG...: run PROGRAM as a server and as its client,
# with LIBRARY preloaded. Both must end well. The server has SERVER_ARGS as well.
SERVER_ARGS=()
both() {
	local library=$1 program=$2 host=$3 server status=0

	shift 3
	rm -f "$SHIM_FILE"
	PORT=$((PORT + 1))
	LD_PRELOAD=$library timeout -k 5 90 "$program" -p "$PORT" "$@" \
		"${SERVER_ARGS[@]}" >"$SCRATCH/server" 2>&1 &
	server=$!
	ready || return
	LD_PRELOAD=$library timeout -k 5 90 "$program" -p "$PORT" -s "$host" \
		"$@" >"$SCRATCH/client" 2>&1 || status=$?
	wait "$server" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	return "$status"
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
	both "$R_LIBRARY" "$@" && [ "$(wc -l <"$SCRATCH/client")" = 9 ]
}

# All sizes: these are more than 50 tests, and a client that spins may take
# minutes. It is stopped when it has printed 24 results, and after 60 seconds: it
# must have printed one or more, and no error.
r_all() {
	local client lines tries

	PORT=$((PORT + 1))
	rm -f "$SHIM_FILE"
	LD_PRELOAD=$R_LIBRARY timeout 90 "$1" -p "$PORT" -S all \
		>"$SCRATCH/server" 2>&1 &
	ready || return
	LD_PRELOAD=$R_LIBRARY stdbuf -oL "$1" -p "$PORT" -s 127.0.0.1 -S all \
		>"$SCRATCH/client" 2>&1 &
	client=$!
	for ((tries = 0; tries < 600; tries++)); do
		lines=$(wc -l <"$SCRATCH/client")
		[ "$lines" -le 24 ] && [ -e "/proc/$client" ] || break
		sleep 0.1
	done
	kill "$client"
	# The shell reports that the client was killed.
	wait 2>"$SCRATCH/kill"
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$lines" -gt 1 ] &&
		! grep -vE '^name |_(lat|bw) ' "$SCRATCH/client"
}

short() {
	local program=$1

	shift
	r_program "$program" 127.0.0.1 -I 10 -C 10 "$@"
}

test_rstream() {
	local size how

	for size in 1 64 1000 4096 65536 1000000 6000000; do
		ok "rstream: -S $size" short rstream -S "$size"
		ok "rstream: -S $size -T v" short rstream -S "$size" -T v
	done
	for how in a b n; do
		ok "rstream: -T $how" short rstream -T "$how"
		ok "rstream: -T $how -T v" short rstream -T "$how" -T v
		ok "rstream: -T $how -S 1000000 -T v" \
			short rstream -T "$how" -S 1000000 -T v
	done
	ok "rstream: -T a -T b" short rstream -T a -T b
	ok "rstream: all options by name" \
		short rstream -T async -T nonblocking -T verify
	ok "rstream: -k 10" short rstream -k 10
	ok "rstream: -i 128" short rstream -i 128
	ok "rstream: -B 100000" short rstream -B 100000
	ok "rstream: -b 127.0.0.1" bound_to 127.0.0.1 short rstream
	ok "rstream: -f ip" short rstream -f ip
	ok "rstream: -f name" \
		r_program rstream localhost -f name -I 10 -C 10
	ok "rstream: -f ipv6" bound_to ::1 \
		r_program rstream ::1 -f ipv6 -I 10 -C 10
	ok "rstream: -S all" r_all rstream
	ok "rstream: its series" r_series rstream 127.0.0.1
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

	for size in 1 64 1000 65536 1000000 6000000; do
		ok "riostream: -S $size" short riostream -S "$size"
		ok "riostream: -S $size -T v" short riostream -S "$size" -T v
	done
	for how in a b n; do
		ok "riostream: -T $how -T v" short riostream -T "$how" -T v
	done
	ok "riostream: -B 100000" short riostream -B 100000
	ok "riostream: -b 127.0.0.1" bound_to 127.0.0.1 short riostream
	ok "riostream: -S all" r_all riostream
	ok "riostream: its series" r_series riostream 127.0.0.1
}

P_LIBRARY=$TOP/librdspreload.so${SHIM:+:$SHIM}

sockets() {
	both "$P_LIBRARY" rstream "$@" -T s && results 1
}

# The server is one of TCP, the client runs with rds-run.
mixed() {
	local host=$1 server status=0

	shift
	PORT=$((PORT + 1))
	run_alone timeout 60 rstream -p "$PORT" -T s "$@" \
		>"$SCRATCH/server" 2>&1 &
	server=$!
	ready
	rds_run timeout 60 rstream -p "$PORT" -s "$host" -T s "$@" \
		>"$SCRATCH/client" 2>&1 || status=$?
	wait "$server" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && results 1
}

# A child of the server serves the connection.
forking() {
	local server status=0

	PORT=$((PORT + 1))
	RDMAV_FORK_SAFE=1 rds_run timeout 60 rstream -p "$PORT" -T f -I 9 -C 9 \
		>"$SCRATCH/server" 2>&1 &
	server=$!
	ready
	RDMAV_FORK_SAFE=1 rds_run timeout 20 rstream -p "$PORT" -s 127.0.0.1 \
		-T s -I 9 -C 9 >"$SCRATCH/client" 2>&1 || status=$?
	wait "$server" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && results 1
}

test_rstream_sockets() {
	ok "rds-run rstream: -T s" sockets 127.0.0.1 -I 10 -C 10
	ok "rds-run rstream: -T s -T v -S 1000000" \
		sockets 127.0.0.1 -I 10 -C 10 -T v -S 1000000
	ok "rds-run rstream: -T s -T a -T v" \
		sockets 127.0.0.1 -I 10 -C 10 -T a -T v
	ok "rds-run rstream: -T s -T b -T v" \
		sockets 127.0.0.1 -I 10 -C 10 -T b -T v
	ok "rds-run rstream: -T s -f ipv6" bound_to ::1 \
		sockets ::1 -f ipv6 -I 10 -C 10
	ok "rds-run rstream: -T f" forking
	[ -n "$SHIM" ] || return 0
	ok "rds-run rstream: to a host without RDS" \
		mixed 127.0.0.9 -I 10 -C 10 -T v
	ok "rds-run rstream: to a host without RDS, -T a" \
		mixed 127.0.0.9 -I 10 -C 10 -T a -T v
	ok "rds-run rstream: to a host without streams, -T b" \
		mixed 127.0.0.8 -I 10 -C 10 -T b -T v
}

# fetch HOST COMMAND...: COMMAND prints a page of the server on this port. The
# server is one of TCP on hosts without streams, or one of streams.
fetch() {
	local host=$1 server said serve

	shift
	PORT=$((PORT + 1))
	serve=(python3 -m http.server "$PORT")
	[ "$host" != 127.0.0.1 ] || serve=("$HERE/run-rds" "${serve[@]}")
	(cd "$SCRATCH/www" && exec "${serve[@]}") >"$SCRATCH/server" 2>&1 &
	server=$!
	ready
	said=$(HOST=$host PORT=$PORT rds_run timeout 20 "$@" 2>&1)
	kill "$server"
	wait "$server" 2>"$SCRATCH/kill"
	case $said in
	*"a page"*) return 0 ;;
	esac
	echo "$said"
	cat "$SCRATCH/server"
	return 1
}

URLLIB='
import os, urllib.request
url = "http://%s:%s/page" % (os.environ["HOST"], os.environ["PORT"])
print(urllib.request.urlopen(url, timeout=10).read())'

ASYNCIO='
import asyncio, os
async def main():
    reader, writer = await asyncio.open_connection(
        os.environ["HOST"], int(os.environ["PORT"]))
    writer.write(b"GET /page HTTP/1.0\r\n\r\n")
    print(await reader.read())
asyncio.run(main())'

# shellcheck disable=SC2016 # the shell that is run expands it
DEV_TCP='exec 3<>"/dev/tcp/$HOST/$PORT"
printf "GET /page HTTP/1.0\r\n\r\n" >&3
cat <&3'

test_fetch() {
	local host hosts=(127.0.0.1)

	[ -z "$SHIM" ] || hosts+=(127.0.0.9 127.0.0.8)
	mkdir -p "$SCRATCH/www"
	echo "a page" >"$SCRATCH/www/page"
	for host in "${hosts[@]}"; do
		ok "rds-run python3: urllib, $host" \
			fetch "$host" python3 -c "$URLLIB"
		ok "rds-run python3: asyncio, $host" \
			fetch "$host" python3 -c "$ASYNCIO"
		ok "rds-run bash: /dev/tcp, $host" \
			fetch "$host" bash -c "$DEV_TCP"
	done
}

# iperf3 is a server and a client with many connections.
iperf() {
	local host=$1 server status=0

	shift
	PORT=$((PORT + 1))
	if [ "$host" = 127.0.0.1 ]; then
		rds_run timeout 60 iperf3 -s -1 -p "$PORT"
	else
		run_alone timeout 60 iperf3 -s -1 -p "$PORT"
	fi >"$SCRATCH/server" 2>&1 &
	server=$!
	ready
	rds_run timeout 30 iperf3 -c "$host" -p "$PORT" "$@" \
		>"$SCRATCH/client" 2>&1 || status=$?
	wait "$server" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && grep -q 'iperf Done' "$SCRATCH/client"
}

test_iperf() {
	ok "rds-run iperf3: 4 connections" iperf 127.0.0.1 -P 4 -n 20M
	ok "rds-run iperf3: the other direction" iperf 127.0.0.1 -R -n 20M
	[ -n "$SHIM" ] || return 0
	ok "rds-run iperf3: to a host without RDS" iperf 127.0.0.9 -n 20M
}

has() {
	command -v "$1" >"$SCRATCH/where"
}

test_programs() {
	settings
	if has rstream && has riostream; then
		test_rstream
		test_resolve
		test_riostream
		test_rstream_sockets
	else
		skip "rstream and riostream" "rdmacm-utils is not installed"
	fi
	test_fetch
	if has iperf3; then
		test_iperf
	else
		skip "iperf3" "it is not installed"
	fi
}
