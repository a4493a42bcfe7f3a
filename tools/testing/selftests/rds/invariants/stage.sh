# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the stages that run these programs in guests, and those of the directory
# above. Needs common.sh, tap.sh.

SELFTESTS=$RDS_TOP/tools/testing/selftests/rds
PROGRAMS=$RDS_BUILD/selftests

# build_programs: all of both directories, into one.
build_programs() {
	local dir

	mkdir -p "$PROGRAMS"
	for dir in "$SELFTESTS" "$SELFTESTS/invariants"; do
		make -s -j"$(nproc)" -C "$dir" OUTPUT="$PROGRAMS" \
			USERCFLAGS=-Werror KSRC="$RDS_CACHE/src/linux-6.1" ||
			return
	done
}

# build_programs_32 PROGRAM...: some of the directory above for 32-bit callers.
# The kselftest header takes addresses for 64-bit numbers.
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

# socket_programs: those of the directory above, of the socket interface.
socket_programs() {
	make -s -C "$SELFTESTS" KSRC="$RDS_CACHE/src/linux-6.1" programs
}

# results WHERE: the programs' results become this stage's, named after where
# they come from; a program that stopped early is one failure more.
results() {
	awk -v where="$1" '
	function result(good, text) {
		print (good ? "ok - " : "not ok - ") where " " program ": " text
		fflush()
		seen++
		if (!good)
			bad++
	}
	/^# program / { program = $3; plan = seen = bad = 0; next }
	/^1\.\./ { plan = substr($1, 4); next }
	/^ok / { result(1, substr($0, index($0, $3))); next }
	/^not ok / { result(0, substr($0, index($0, $4))); next }
	/^# status / {
		if (!plan || seen != plan || ($3 != 0 && !bad))
			result(0, "stopped after " seen + 0 " of " plan + 0 \
			       " tests, status " $3)
		print "# " where " " program " took " $5 - $4 " s"
		failed += bad
		next
	}
	/^TAP version/ || /^# +(RUN|OK) / { next }
	/^# (Starting|PASSED|FAILED|Totals)/ { next }
	{ sub(/^(# )?/, "# "); print; fflush() }
	END { exit failed > 0 }
	'
}

# guest WHERE OPTIONS PROGRAM...: run programs in one guest; what they go by in
# the environment is passed on.
guest() {
	local where=$1 options=$2 status=0 name

	shift 2
	for name in RDS_ROUNDS RDS_SECONDS RDS_SEED RDS_RDMA_PROGRAMS \
			RDS_VARIANTS; do
		[ -z "${!name-}" ] || options+=" --env $name=${!name}"
	done
	options+=" --env RDS_MODPROBE_D=$RDS_TOP/packaging/modprobe.d"
	tap_say "$where"
	# shellcheck disable=SC2016,SC2086 # the guest's; words are wanted
	{ "$RDS_TOP/scripts/vm/run" $options -- sh -c '
		cd "$0"
		for program; do
			echo "# program $program"
			read -r from rest </proc/uptime
			"./$program" 2>&1
			status=$?
			read -r to rest </proc/uptime
			echo "# status $status $from $to"
		done' "$PROGRAMS" "$@" || status=$?; } \
		> >(results "$where") 2>&1
	# shellcheck disable=SC2034 # tap.sh's
	wait "$!" || TAP_FAILED=1
	tap_is "$where: the guest ended well" 0 "$status"
}
