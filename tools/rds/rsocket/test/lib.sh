# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the tests of rsockets need to compile, to run and to report.

# ok NAME COMMAND...: COMMAND must succeed.
ok() {
	local name=$1

	shift
	COUNT=$((COUNT + 1))
	if "$@" >"$SCRATCH/said" 2>&1; then
		echo "ok $COUNT - $name"
	else
		echo "not ok $COUNT - $name"
		sed 's/^/# /' "$SCRATCH/said" | tail -n 40
		FAILED=$((FAILED + 1))
	fi
}

skip() {
	COUNT=$((COUNT + 1))
	SKIPPED=$((SKIPPED + 1))
	echo "ok $COUNT - $1 # SKIP $2"
}

# skip_because REASON: for a command of ok_or_skip, which then returns.
skip_because() {
	echo "$1" >"$SCRATCH/reason"
	return 1
}

# ok_or_skip NAME COMMAND...: as ok, but COMMAND may call skip_because.
ok_or_skip() {
	local name=$1

	shift
	rm -f "$SCRATCH/reason"
	"$@" >"$SCRATCH/first" 2>&1
	set -- "$?"
	if [ -e "$SCRATCH/reason" ]; then
		skip "$name" "$(cat "$SCRATCH/reason")"
	else
		ok "$name" test "$1" = 0
	fi
}

# from NAME COMMAND...: print the results of a program of this test as ours.
# One more result tells that it did not stop early.
from() {
	local name=$1 status=0 line

	shift
	timeout -k 5 120 "$@" >"$SCRATCH/results" 2>&1 </dev/null || status=$?
	while IFS= read -r line; do
		case $line in
		"ok - "*)
			COUNT=$((COUNT + 1))
			echo "ok $COUNT - $name: ${line#ok - }"
			;;
		"not ok - "*)
			COUNT=$((COUNT + 1))
			FAILED=$((FAILED + 1))
			echo "not ok $COUNT - $name: ${line#not ok - }"
			;;
		"# end") ;;
		*) echo "# ${line#\# }" ;;
		esac
	done <"$SCRATCH/results"
	if [ "$status" -gt 1 ] || ! grep -qx '# end' "$SCRATCH/results"; then
		COUNT=$((COUNT + 1))
		FAILED=$((FAILED + 1))
		echo "not ok $COUNT - $name: stopped early, status $status"
	fi
}

# gives STATUS COMMAND...: COMMAND must end with STATUS; its output is kept.
gives() {
	local wanted=$1 status=0

	shift
	timeout -k 5 60 "${@/#rds_run/$HERE/run-rds}" >"$SCRATCH/out" \
		2>"$SCRATCH/err" </dev/null || status=$?
	[ "$status" = "$wanted" ] && return 0
	echo "status $status, not $wanted: $*"
	cat "$SCRATCH/out" "$SCRATCH/err"
	return 1
}

has_line() {
	grep -qE -- "$2" "$1" && return 0
	echo "not said: $2"
	cat "$SCRATCH/out" "$SCRATCH/err"
	return 1
}

# says PATTERN: check that the output of the last gives() has such a line.
says() {
	has_line "$SCRATCH/out" "$1"
}

says_error() {
	has_line "$SCRATCH/err" "$1"
}

# says_all LINE...: check that these are its only lines.
says_all() {
	diff "$SCRATCH/out" <(printf '%s\n' "$@")
}

# lacks_line PATTERN COMMAND...: COMMAND prints lines, and none is such.
lacks_line() {
	local pattern=$1

	shift
	"$@" >"$SCRATCH/lines" && [ -s "$SCRATCH/lines" ] &&
		! grep -E -- "$pattern" "$SCRATCH/lines"
}

FLAGS=(-std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wshadow
	-Wno-unused-result -I "$TOP/../../../include/uapi")

shared() {
	local out=$1

	shift
	(cd "$HERE" && cc "${FLAGS[@]}" -shared -fPIC -o "$SCRATCH/$out" "$@" \
		-ldl) || exit 1
}

# program NAME [FILE...]: -rdynamic lets a program replace a call that the
# library makes.
program() {
	local name=$1

	shift
	(cd "$HERE" && cc "${FLAGS[@]}" -rdynamic -o "$SCRATCH/$name" \
		"$name.c" "$@" check.c -L"$TOP" -lrdsocket -pthread) || exit 1
}

# compiles LANGUAGE TEXT
compiles() {
	local standard=gnu11

	[ "$1" = c ] || standard=gnu++17
	printf '%s\nint main(void) { return rsocket(0, 0, 0) + SOL_RDMA; }\n' \
		"$2" | cc -x "$1" -std=$standard -Wall -Wextra -Werror \
		-fsyntax-only -I "$TOP" -
}

# The guard of the other header keeps what is declared twice away.
both_headers() {
	[ -e /usr/include/rdma/rsocket.h ] || return 0
	printf '#include "%s"\n%s\n%s\n' /usr/include/rdma/rsocket.h \
		'#include <rdsocket.h>' \
		'int main(void) { return repoll_create(RDMA_ROUTE); }' |
		cc -x c -Wall -Werror -fsyntax-only -I "$TOP" -
}

# names_of LIBRARY: print the names that it defines.
names_of() {
	local flag=-D

	case $1 in
	*.a) flag=-g ;;
	esac
	nm "$flag" "$TOP/$1" | awk 'NF == 3 { print $3 }' | sort
}

same_names() {
	diff <(names_of librdsocket.so) <(names_of librdsocket.a)
}

static_program() {
	cc "${FLAGS[@]}" -o "$SCRATCH/static" "$HERE/show.c" \
		"$TOP/librdsocket.a" -pthread &&
		! ldd "$SCRATCH/static" | grep librdsocket &&
		"$HERE/run-shim" static | grep -q '^sqsize [0-9]'
}

run_shim() {
	"$HERE/run-shim" "$@"
}

# run_alone COMMAND...: run a program of TCP.
run_alone() {
	env -u LD_PRELOAD "$@"
}

rds_run() {
	"$HERE/run-rds" "$@"
}

# serve COMMAND...: start a server on HOST. Its process here is SERVER. On a busy
# host a minute may pass until its client has started.
serve() {
	"${FAR[@]}" timeout -k 5 600 env "$@" >"$SCRATCH/server" 2>&1 &
	SERVER=$!
}

# ready [KIND]: wait until the server has PORT: for streams, or for KIND of
# Internet sockets.
ready() {
	local kind=stream

	[ -z "$SHIM" ] || kind=tcp
	"${FAR[@]}" "$HERE/ready" "${1:-$kind}" "$PORT" && return 0
	cat "$SCRATCH/server"
	return 1
}

# The shell reports that the server was killed.
stop_server() {
	kill "$SERVER"
	wait "$SERVER" 2>"$SCRATCH/kill"
}

has() {
	command -v "$1" >"$SCRATCH/where"
}

# settings: none. setting NAME VALUE: one more.
settings() {
	rm -f "$RDS_RSOCKET_DIR"/*
}

setting() {
	echo "$2" >"$RDS_RSOCKET_DIR/$1"
}
