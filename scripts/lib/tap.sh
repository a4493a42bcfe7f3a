# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Results in TAP, for stages that are scripts. Needs common.sh.

TAP_NUMBER=0
TAP_FAILED=0
TAP_ASIDE=()

# tap_say TEXT: a remark, each line marked as one.
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

# tap_run NAME COMMAND...: a result, and after a failure what COMMAND said.
# COMMAND ends at the first of its commands that fails: this is why it is not
# run in a condition, which would switch that off.
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

# tap_aside FILE COMMAND...: COMMAND, which prints results, in the background.
# They are kept in FILE, for tap_await to tell.
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

# tap_await: tell the results of all that is in the background.
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

# tap_done: the plan. Returns non-zero if anything failed.
tap_done() {
	say "1..$TAP_NUMBER"
	[ "$TAP_FAILED" -eq 0 ]
}
