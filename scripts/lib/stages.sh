# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Running the stages of scripts/check and scripts/soak. A stage is an
# executable NN-name whose head has the lines
#
#   # title: what it is
#   # budget: MINUTES
#
# and which prints its results in TAP, one per line from the first column,
# among whatever else it has to say. One that keeps one processor busy, and does
# not mind others, may also say
#
#   # aside: yes
#
# Then it runs beside those that follow, up to the first that does not say so,
# and tells its results when that has ended.

PASSED=0
FAILED=0
SKIPPED=0
TABLE=()
RAN=()
STAGE=
ASIDE=()

# stage_head FILE NAME: a value from its head.
stage_head() {
	sed -n "1,20s/^# $2: *//p" "$1" | head -n 1
}

# minutes SECONDS
minutes() {
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# count_lines REGEX FILE
count_lines() {
	grep -cE -- "$1" "$2" || :
}

# stop_stage: for a trap; timeout passes the signal on to all of the stage.
stop_stage() {
	local job pids=$STAGE

	for job in "${ASIDE[@]}"; do
		pids+=" ${job%% *}"
	done
	# shellcheck disable=SC2086 # words are wanted
	[ -z "$pids" ] || { kill -TERM $pids && wait $pids; } || :
}

# stream LOG SECONDS COMMAND...: run it in the background, so that signals are
# heard at once, with its output to the terminal and to LOG.
stream() {
	local log=$1 seconds=$2 out status=0 tee

	shift 2
	exec {out}> >(trap '' INT; exec tee "$log")
	tee=$!
	timeout -k 30 "$seconds" "$@" >&"$out" 2>&1 &
	STAGE=$!
	exec {out}>&-
	wait "$STAGE" || status=$?
	STAGE=
	wait "$tee" || :
	return "$status"
}

# seconds_left: until everything stops; at least one
seconds_left() {
	local left=$((HARD_STOP * 60 - SECONDS))

	say $((left > 0 ? left : 1))
}

# run_stage NAME TITLE BUDGET COMMAND...: run it, count its results, take its
# time.
run_stage() {
	local name=$1 title=$2 budget=$3 status=0 start=$SECONDS

	shift 3
	say "=== $name: $title (budget $budget min)"
	mkdir -p "$RDS_BUILD/log"
	stream "$RDS_BUILD/log/$name" "$(seconds_left)" "$@" || status=$?
	count_stage "$name" "$budget" "$status" $((SECONDS - start))
}

# begin_aside NAME TITLE BUDGET COMMAND...: run it in the background.
begin_aside() {
	local name=$1 title=$2 budget=$3 log=$RDS_BUILD/log/$1

	shift 3
	say "=== $name: $title (budget $budget min); beside what follows"
	mkdir -p "$RDS_BUILD/log"
	rm -f "$log.took"
	# shellcheck disable=SC2016 # for the inner shell
	timeout -k 30 "$(seconds_left)" bash -c '
		took=$0
		SECONDS=0
		# Whoever is told to stop waits for it.
		trap : TERM
		"$@" && status=0 || status=$?
		echo "$SECONDS" >"$took"
		exit "$status"' "$log.took" "$@" >"$log" 2>&1 &
	ASIDE+=("$! $name $budget")
}

# await_aside: tell the results of all that is in the background.
await_aside() {
	local job pid name budget status log

	for job in "${ASIDE[@]}"; do
		read -r pid name budget <<<"$job"
		log=$RDS_BUILD/log/$name
		status=0
		wait "$pid" || status=$?
		say "=== $name, which ran beside"
		cat "$log"
		count_stage "$name" "$budget" "$status" \
			"$(cat "$log.took" 2>/dev/null || say 0)"
		rm -f "$log.took"
	done
	ASIDE=()
}

# count_stage NAME BUDGET STATUS SECONDS: add the results in its log to all.
count_stage() {
	local name=$1 budget=$2 status=$3 took=$4 log=$RDS_BUILD/log/$1
	local ok bad skip late=

	RAN+=("$name")
	skip=$(count_lines '^ok .*# SKIP' "$log")
	ok=$(($(count_lines '^ok ' "$log") - skip))
	bad=$(count_lines '^not ok ' "$log")
	if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		say "not ok - $name: exit status $status" | tee -a "$log"
	fi
	if [ $((ok + bad + skip)) -eq 0 ] && [ "$name" != 00-setup ]; then
		bad=1
		say "not ok - $name: no results" | tee -a "$log"
	fi
	if [ "$took" -gt $((budget * 60)) ]; then
		late="over budget"
		warn "$name took $(minutes "$took"), its budget is $budget min"
	fi
	PASSED=$((PASSED + ok))
	FAILED=$((FAILED + bad))
	SKIPPED=$((SKIPPED + skip))
	TABLE+=("$(printf '%-20s %6d %6d %7d %7s %6d:00  %s' "$name" "$ok" \
		"$bad" "$skip" "$(minutes "$took")" "$budget" "$late")")
}

# run_stages DIR PATTERN: those whose name matches.
run_stages() {
	local stage name budget run

	for stage in "$1"/[0-9][0-9]-*; do
		name=${stage##*/}
		budget=$(stage_head "$stage" budget)
		[[ $name =~ $2 ]] || continue
		if [ "$SECONDS" -ge $((HARD_STOP * 60)) ]; then
			FAILED=$((FAILED + 1))
			say "not ok - $name: no time left" |
				tee "$RDS_BUILD/log/$name"
			RAN+=("$name")
			continue
		fi
		run=run_stage
		[ -z "$(stage_head "$stage" aside)" ] || run=begin_aside
		"$run" "$name" "$(stage_head "$stage" title)" \
			"${budget:-5}" "$stage"
		[ "$run" = begin_aside ] || await_aside
	done
	await_aside
}

# summary: the table and the last line. Returns non-zero if anything failed.
summary() {
	say
	if [ "$FAILED" -gt 0 ]; then
		say "Failed:"
		(cd "$RDS_BUILD/log" &&
			grep -HE '^not ok ' -- "${RAN[@]}") || :
		say
	fi
	printf '%-20s %6s %6s %7s %7s %9s\n' \
		stage passed failed skipped took budget
	printf '%s\n' "${TABLE[@]}"
	say
	say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}
