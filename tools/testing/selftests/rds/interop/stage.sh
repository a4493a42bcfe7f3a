# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Functions for the stages in which two guests exchange messages under faults.
# Needs common.sh, tap.sh. TRANSPORT, set before, is tcp or ib.

INTEROP=$RDS_TOP/tools/testing/selftests/rds/interop
PROGRAMS=$RDS_BUILD/interop-$TRANSPORT
# How many pairs of guests run at a time: they wait more than they compute.
INTEROP_JOBS=${INTEROP_JOBS:-2}

build_programs() {
	mkdir -p "$PROGRAMS"
	make -s -C "$INTEROP" OUTPUT="$PROGRAMS" USERCFLAGS=-Werror \
		KSRC="$RDS_CACHE/src/linux-6.1"
}

# kernel_of RDS OTHER: print the kernel of a guest with that RDS, which is
# "ours" or a version, when the other guest has OTHER. Ours runs on more than
# one.
kernel_of() {
	case $1-$2 in
	ours-6.12 | ours-newest) say "stock-$2" ;;
	ours-*) say stock-6.1 ;;
	*) say "stock-$1" ;;
	esac
}

# rds_of RDS: print the name by which scripts/vm/run calls it.
rds_of() {
	if [ "$1" = ours ]; then
		say ours
	else
		say stock
	fi
}

# missing_kernel PAIRING: print the first of its kernels that is missing, if
# any.
missing_kernel() {
	local pair=${1%%+*} kernel
	local a=${pair%-*} b=${pair#*-}

	for kernel in "$(kernel_of "$a" "$b")" "$(kernel_of "$b" "$a")"; do
		[ -f "$RDS_CACHE/kernels/$kernel/manifest" ] || {
			say "$kernel"
			return
		}
	done
}

# LOSSY are cases in which paths are dropped. Other implementations may then
# lose and reorder messages, and messages too short to carry their number
# cannot be told apart. CONTROL are those of the cases that two guests without
# ours also run. A removal of the RDMA device is not among them.
# shellcheck disable=SC2034 # for the stages
case $TRANSPORT in
tcp) LOSSY='killed|buffers|address|reloaded|rebooted' CONTROL=$LOSSY ;;
ib) LOSSY='loss|cut|link|device|address|route|reloaded|rebooted'
    CONTROL='loss|cut|reloaded|rebooted' ;;
esac

# run_pairing PAIRING OPTIONS...: results, output and exit status go below
# $PROGRAMS. PAIRING may have a suffix after a plus. If this is siw, the pair
# runs over soft-iWARP, which only the debug kernel has. If it is points, ours
# has the debug kernel, for which alone its modules can fail at points.
run_pairing() {
	local pair=${1%%+*} name=$1 dir=$PROGRAMS/$1 status=0
	local a=${pair%-*} b=${pair#*-} kernel_a kernel_b
	local guest="/usr/bin/python3 $INTEROP/guest.py"

	shift
	kernel_a=$(kernel_of "$a" "$b") kernel_b=$(kernel_of "$b" "$a")
	if [ "${name#*+}" = points ]; then
		[ "$a" != ours ] || kernel_a=debug
		[ "$b" != ours ] || kernel_b=debug
		set -- --smp 1 "$@"
	elif [ "${name#*+}" = siw ]; then
		kernel_a=debug kernel_b=debug
		set -- --env RDS_RDMA=siw "$@"
	elif [ "$TRANSPORT" = ib ] || [ "$pair" != ours-ours ]; then
		# Soft-RoCE of 6.1 is reliable with one CPU only. With more, if
		# it begins to send again just when an acknowledgment arrives,
		# it counts wrongly: a message arrives twice, or not at all.
		# Over TCP, two guests with ours have two CPUs. With other
		# implementations, one CPU takes a third less of the host's
		# time.
		set -- --smp 1 "$@"
	fi
	[ "$name" = ours-ours ] || set -- --env "RDS_WHOLE=$LOSSY" "$@"
	[ "$pair" != ours-ours ] || set -- --env RDS_OURS=1 "$@"
	# Over RDMA devices, operations on memory are not tested with the RDS
	# of 6.12, because soft-RoCE of that kernel sometimes stops.
	case $TRANSPORT-$name in
	ib-ours-ours | ib-ours-ours+siw | ib-ours-6.1 | tcp-ours-*)
		set -- --env RDS_REACH="$PROGRAMS/reach" "$@" ;;
	esac
	# Not over RDMA devices: the third host is a namespace, and the devices
	# belong to the first one.
	[ "$name-$TRANSPORT" != ours-ours-tcp ] ||
		set -- --env RDS_FAILOVER=1 "$@"
	# shellcheck disable=SC2086 # $guest is two words
	"$RDS_TOP/scripts/vm/run" --pair --reboot-b --modules rds \
		--kernel "$kernel_a" --rds "$(rds_of "$a")" \
		--kernel-b "$kernel_b" --rds-b "$(rds_of "$b")" \
		--env RDS_TRANSPORT="$TRANSPORT" \
		--env RDS_FLOWS="$PROGRAMS/flows" --results "$dir" "$@" \
		-- $guest --- $guest >"$dir.log" 2>&1 || status=$?
	say "$status" >"$dir.status"
}

# pairing PAIRING OPTIONS...: run it in the background, as soon as a slot is
# free. What tap_aside runs has a slot, too.
pairing() {
	rm -rf "${PROGRAMS:?}/$1" "$PROGRAMS/$1.status"
	while [ "$(jobs -rp | wc -l)" -ge "$INTEROP_JOBS" ]; do
		wait -n || :
	done
	run_pairing "$@" </dev/null &
}

# report PAIRING: report how the guests themselves ended.
report() {
	tap_say "$(cat "$PROGRAMS/$1.log")"
	tap_is "$1: the guests ended well" 0 "$(cat "$PROGRAMS/$1.status")"
}

# stream_guests OPTION...: run the tests of streams in two guests with ours, and
# report the results as those of this stage. They have one CPU, because of
# soft-RoCE as above, and because they wait more than they compute.
# RDS_STREAM_CASES is a regular expression of the tests (all).
stream_guests() {
	local guest="/usr/bin/python3 $INTEROP/streams.py"

	# shellcheck disable=SC2086 # $guest is two words
	tap_from streams "the guests" run_streams --smp 1 --mem 1024 "$@" \
		-- $guest --- $guest
}

# run_streams WORD...: run scripts/vm/run with these, and print what guest a
# does. What guest b and the run itself say is no result.
run_streams() {
	"$RDS_TOP/scripts/vm/run" --pair --reboot-b --modules rds \
		--env RDS_TRANSPORT="$TRANSPORT" \
		--env RDS_STREAMS="$PROGRAMS/streams" \
		--env "RDS_STREAM_CASES=${RDS_STREAM_CASES:-.}" "$@" 2>&1 |
		sed -u 's/^a| //'
	return "${PIPESTATUS[0]}"
}

# judge_controlled "OPTION..." PAIRING...: report the results as those of this
# stage. If a pairing with another implementation has lost something, two
# guests of the same kernel without ours run the same cases, to see how much
# these lose.
judge_controlled() {
	local options=$1 kernel cases controls=()

	shift
	while read -r kernel cases; do
		tap_say "$kernel-$kernel is run for what was lost: $cases"
		# shellcheck disable=SC2086 # OPTION is several words
		pairing "$kernel-$kernel" $options --env "RDS_CASES=$cases"
		controls+=("$kernel-$kernel")
	done < <(judge_with "$@" --lossy "$CONTROL")
	wait
	[ ${#controls[@]} -eq 0 ] || report_all "${controls[@]}"
	judge "$@" --control "${controls[@]}"
}

# report_all PAIRING...
report_all() {
	local name

	for name; do
		report "$name"
	done
}

# judge PAIRING... [--control PAIRING...]: report the results as those of this
# stage.
judge() {
	# shellcheck disable=SC2034 # used by tap.sh
	judge_with "$@" || TAP_FAILED=1
}

# judge_with WORD...: run judge.py with the directories of the results.
judge_with() {
	local word words=()

	for word; do
		case $word in
		--* | "$CONTROL") words+=("$word") ;;
		*) words+=("$word=$PROGRAMS/$word") ;;
		esac
	done
	"$INTEROP/judge.py" --transport "$TRANSPORT" "${words[@]}"
}
