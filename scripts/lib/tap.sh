# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Print results in TAP, for stages that are scripts. Needs common.sh.

TAP_NUMBER=0
TAP_FAILED=0
TAP_ASIDE=()

# tap_say TEXT: print a comment; each line is marked as one.
tap_say() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

tap_ok() {
	TAP_NUMBER=$((TAP_NUMBER + 1))
	say "ok $TAP_NUMBER - $*"
}

tap_not_ok() {
	TAP_NUMBER=$((TAP_NUMBER + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	say "not ok $TAP_NUMBER - $*"
}

# tap_is NAME WANTED GOT
tap_is() {
	if [ "$2" = "$3" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1"
		tap_say "wanted '$2', got '$3'"
	fi
}

# tap_run NAME COMMAND...: print a result, and after a failure the output of
# COMMAND. COMMAND ends at the first of its commands that fails: this is why it
# is not run in a condition, which would switch this off.
tap_run() {
	local name=$1 said status

	shift
	set +e
	said=$(set -e; "$@" 2>&1)
	status=$?
	set -e
	if [ "$status" -eq 0 ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name"
		tap_say "$(printf '%s\n' "$said" | tail -n 40)"
	fi
}

# tap_aside FILE COMMAND...: run COMMAND, which prints results, in the
# background. They are kept in FILE until tap_await prints them.
tap_aside() {
	local said=$1

	shift
	mkdir -p "$(dirname "$said")"
	# shellcheck disable=SC2030 # it has its own
	{
		TAP_FAILED=0
		"$@"
		[ "$TAP_FAILED" -eq 0 ]
	} >"$said" 2>&1 &
	TAP_ASIDE+=("$! $said")
}

# tap_await: print the results of all that runs in the background.
tap_await() {
	local job pid said

	for job in "${TAP_ASIDE[@]}"; do
		read -r pid said <<<"$job"
		# shellcheck disable=SC2031
		wait "$pid" || TAP_FAILED=$((TAP_FAILED + 1))
		awk -v n="$TAP_NUMBER" '
			/^(not )?ok / {
				sub(/ok ([0-9]+ )?-/, "ok " ++n " -")
			}
			{ print }' "$said"
		TAP_NUMBER=$((TAP_NUMBER +
			      $(grep -cE '^(not )?ok ' "$said" || :)))
	done
	TAP_ASIDE=()
}

# tap_results WHERE [PROGRAM...]: read the programs' output in TAP, and print
# their results as results of this stage, named after where they come from. A
# line "# program NAME" precedes the output of a program, and "# status STATUS
# [BEGIN END]" follows it, with times in seconds. Without these lines, all is the
# output of one program. If a program stopped early, or if a PROGRAM was not run,
# one more failure is reported. Returns non-zero if anything failed.
tap_results() {
	awk -v where="$1" -v expected="${*:2}" '
	function result(good, text) {
		print (good ? "ok - " : "not ok - ") name ": " text
		fflush()
		seen++
		bad += !good
		failed += !good
	}
	# The harness leaves out the name of a test that was skipped.
	function text_from(field,   text) {
		text = substr($0, index($0, $field))
		sub(/^- /, "", text)
		return (text ~ /^# SKIP/ ? test " " : "") text
	}
	function ended(status) {
		if (!plan || seen != plan || (status != "0" && !bad))
			result(0, "stopped after " seen + 0 " of " plan + 0 \
			       " tests, status " status)
		running = 0
	}
	BEGIN { name = where; running = 1 }
	/^# program / {
		# The status of the one before is lost.
		if (running && tagged)
			ended("unknown")
		tagged = 1
		begun[$3]
		name = where " " $3
		plan = seen = bad = 0
		running = 1
		next
	}
	/^# status/ {
		ended(NF < 3 ? "unknown" : $3)
		if (NF >= 5)
			print "# " name " took " $5 - $4 " s"
		next
	}
	/^1\.\./ { plan = substr($1, 4) + 0; next }
	/^ok / { result(1, text_from(3)); next }
	/^not ok / { result(0, text_from(4)); next }
	/^# +RUN / { test = $3; next }
	/^$/ || /^TAP version/ || /^# +(OK|FAIL) / { next }
	/^# (Starting|PASSED|FAILED|Totals)/ { next }
	{ sub(/^(# )?/, "# "); print; fflush() }
	END {
		if (running)
			ended(tagged ? "unknown" : 0)
		nr = split(expected, programs, " ")
		for (i = 1; i <= nr; i++) {
			name = where " " programs[i]
			if (!(programs[i] in begun))
				result(0, "was not run")
		}
		exit failed > 0
	}
	'
}

# tap_from WHERE WHAT COMMAND...: run COMMAND, which prints the input of
# tap_results. One more result reports whether COMMAND, called WHAT, succeeded.
# The programs named in TAP_PROGRAMS, if it is set, must be run.
tap_from() {
	local where=$1 what=$2 status=0

	shift 2
	# shellcheck disable=SC2086 # several words
	{ "$@" || status=$?; } > >(tap_results "$where" ${TAP_PROGRAMS-}) 2>&1
	wait "$!" || TAP_FAILED=$((TAP_FAILED + 1))
	tap_is "$where: $what ended well" 0 "$status"
}

# tap_done: print the plan. Returns non-zero if anything failed.
tap_done() {
	say "1..$TAP_NUMBER"
	[ "$TAP_FAILED" -eq 0 ]
}
