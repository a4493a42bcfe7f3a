# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Run the stages of scripts/check and scripts/soak. A stage is an
# executable NN-name whose head has the lines
#
#   # title: what it is
#   # budget: MINUTES
#
# and which prints its results in TAP, one per line from the first column,
# among other output.

PASSED=0
FAILED=0
SKIPPED=0
TABLE=()
RAN=()
STAGE=

# stage_head FILE NAME: print a value from its head.
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

# guest_times FILE: print a summary of what scripts/vm/run has noted there:
# boots, seconds that guests booted, and seconds that they ran then; guests
# that run at the same time count twice.
guest_times() {
	awk '{ booting += $2; running += $3 }
	     END { printf "%5d %7d %7d", NR, booting, running }' "$1"
}

# busy_seconds: print how long processors have worked for what this shell has
# started and waited for.
busy_seconds() {
	awk -v hz="$(getconf CLK_TCK)" \
		'{ sub(/.*\) /, ""); print int(($14 + $15) / hz) }' /proc/$$/stat
}

# share SECONDS BUSY: print which share of all processors BUSY is, in percent.
share() {
	local all=$(($1 * $(nproc)))

	echo $(($2 * 100 / (all > 0 ? all : 1)))
}

# claim_tree: let no other run of stages begin in this checkout until this one
# ends, because some stages build the modules in another way for themselves.
# A stage may run stages. Stages do not inherit the lock, so that a guest that is
# left holds up nobody.
claim_tree() {
	[ "${RDS_CLAIMED-}" != "$RDS_BUILD" ] || return 0
	mkdir -p "$RDS_BUILD"
	exec 7>"$RDS_BUILD/stages.lock"
	flock -n 7 || die "stages of this checkout run already"
	export RDS_CLAIMED=$RDS_BUILD
}

# stop_stage: used by a trap; timeout passes the signal on to all of the stage.
stop_stage() {
	[ -z "$STAGE" ] || { kill -TERM "$STAGE" && wait "$STAGE"; } || :
}

# stream LOG SECONDS COMMAND...: run it in the background, so that signals are
# handled at once, with its output to the terminal and to LOG.
stream() {
	local log=$1 seconds=$2 out status=0 tee

	shift 2
	exec {out}> >(trap '' INT; exec tee "$log" 7>&-)
	tee=$!
	timeout -k 30 "$seconds" "$@" >&"$out" 2>&1 7>&- &
	STAGE=$!
	exec {out}>&-
	wait "$STAGE" || status=$?
	STAGE=
	wait "$tee" || :
	return "$status"
}

# run_stage NAME TITLE BUDGET COMMAND...: run it, count its results, and
# measure its time.
run_stage() {
	local name=$1 title=$2 budget=$3 log=$RDS_BUILD/log/$1 status=0
	local start=$SECONDS busy left ok bad skip took late=

	shift 3
	left=$((HARD_STOP * 60 - SECONDS))
	[ "$left" -gt 0 ] || left=1
	say "=== $name: $title (budget $budget min)"
	mkdir -p "$RDS_BUILD/log"
	RAN+=("$name")
	export RDS_GUEST_TIMES=$log.guests
	: >"$RDS_GUEST_TIMES"
	busy=$(busy_seconds)
	stream "$log" "$left" "$@" || status=$?
	took=$((SECONDS - start))
	busy=$(($(busy_seconds) - busy))

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
	TABLE+=("$(printf '%-16s %6d %6d %7d %s %4d%% %6s %5d:00 %s' "$name" \
		"$ok" "$bad" "$skip" "$(guest_times "$RDS_GUEST_TIMES")" \
		"$(share "$took" "$busy")" "$(minutes "$took")" "$budget" \
		"$late")")
}

# run_stages DIR PATTERN: run those whose name matches.
run_stages() {
	local stage name budget

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
		run_stage "$name" "$(stage_head "$stage" title)" \
			"${budget:-5}" "$stage"
	done
}

# list_results TITLE REGEX: print such lines of all stages, if there are any.
list_results() {
	local lines

	[ ${#RAN[@]} -gt 0 ] || return 0
	lines=$(cd "$RDS_BUILD/log" && grep -HE -- "$2" "${RAN[@]}") || return 0
	say "$1:"
	say "$lines"
	say
}

# list_failures: print what failed, and the comments beside it: up to six before
# and four after.
list_failures() {
	[ "$FAILED" -gt 0 ] || return 0
	say "Failed:"
	(cd "$RDS_BUILD/log" && awk '
		FNR == 1 { nr = after = 0 }
		/^not ok / {
			print FILENAME ":" $0
			for (i = nr > 6 ? nr - 6 : 0; i < nr; i++)
				print "    " before[i]
			after = 4
		}
		/^ok / { after = 0 }
		/^(not )?ok / { nr = 0; next }
		/^#/ && after { print "    " $0; after--; next }
		/^#/ { before[nr++] = $0 }' "${RAN[@]}")
	say
}

# list_kernels: print the releases of the guests' kernels that are in the
# cache.
list_kernels() {
	local kernel

	for kernel in $RDS_GUEST_KERNELS; do
		[ ! -f "$RDS_CACHE/kernels/$kernel/manifest" ] ||
			printf '%-20s %s\n' "$kernel" "$(kernel_release "$kernel")"
	done
	say
}

# summary: print what was skipped and why, the kernels, the table, what failed,
# and the last line. Most readers look at the end of a log first. Returns
# non-zero if anything failed.
summary() {
	say
	list_results Skipped '^ok .*# SKIP'
	list_kernels
	printf '%-16s %6s %6s %7s %5s %7s %7s %5s %6s %8s\n' \
		stage passed failed skipped boots booting running busy took \
		budget
	printf '%s\n' "${TABLE[@]}"
	say
	list_failures
	say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}
