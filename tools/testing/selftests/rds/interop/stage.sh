# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the stages that have two guests talk under faults. Needs common.sh,
# tap.sh. TRANSPORT, set before, is tcp or ib.

INTEROP=$RDS_TOP/tools/testing/selftests/rds/interop
PROGRAMS=$RDS_BUILD/interop-$TRANSPORT
# How many pairs of guests at a time: they wait more than they compute.
INTEROP_JOBS=${INTEROP_JOBS:-2}

build_programs() {
	mkdir -p "$PROGRAMS"
	make -s -C "$INTEROP" OUTPUT="$PROGRAMS" USERCFLAGS=-Werror \
		KSRC="$RDS_CACHE/src/linux-6.1"
}

# kernel_of RDS OTHER: the kernel of a guest with that RDS, which is "ours" or a
# version, when the other one has OTHER. Ours runs on more than one.
kernel_of() {
	case $1-$2 in
	ours-6.12 | ours-newest) say "stock-$2" ;;
	ours-*) say stock-6.1 ;;
	*) say "stock-$1" ;;
	esac
}

# rds_of RDS: as scripts/vm/run calls it.
rds_of() {
	if [ "$1" = ours ]; then
		say ours
	else
		say stock
	fi
}

# missing_kernel PAIRING: the first of its kernels that is not there, if any.
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

# Cases in which paths are dropped. RDS other than ours may then lose and
# reorder messages, and those too short to say which they are cannot be told
# from one another. CONTROL are those of them for two guests without ours: what
# becomes of others when their RDMA device goes is not asked.
# shellcheck disable=SC2034 # for the stages
case $TRANSPORT in
tcp) LOSSY='killed|buffers|address|reloaded|rebooted' CONTROL=$LOSSY ;;
ib) LOSSY='loss|cut|link|device|address|route|reloaded|rebooted'
    CONTROL='loss|cut|reloaded|rebooted' ;;
esac

# run_pairing PAIRING OPTIONS...: results, output and exit status go below
# $PROGRAMS. PAIRING may have more to it, behind a plus; if that is siw, it goes
# over soft-iWARP, which only the debug kernel has.
run_pairing() {
	local pair=${1%%+*} name=$1 dir=$PROGRAMS/$1 status=0
	local a=${pair%-*} b=${pair#*-} kernel_a kernel_b
	local guest="/usr/bin/python3 $INTEROP/guest.py"

	shift
	kernel_a=$(kernel_of "$a" "$b") kernel_b=$(kernel_of "$b" "$a")
	if [ "${name#*+}" = siw ]; then
		kernel_a=debug kernel_b=debug
		set -- --env RDS_RDMA=siw "$@"
	elif [ "$TRANSPORT" = ib ] || [ "$pair" != ours-ours ]; then
		# Soft-RoCE of 6.1 is reliable with one CPU only. With more, if
		# it begins to send again just when an acknowledgment comes, it
		# counts wrongly: a message arrives twice, or not at all. Over
		# TCP, two of ours meet with two CPUs; with others one takes a
		# third less of the host's time.
		set -- --smp 1 "$@"
	fi
	[ "$name" = ours-ours ] || set -- --env "RDS_WHOLE=$LOSSY" "$@"
	[ "$pair" != ours-ours ] || set -- --env RDS_OURS=1 "$@"
	# Of others RDMA operations are not asked where theirs is the kernel of
	# 6.12, on which soft-RoCE comes to a stop now and then.
	case $TRANSPORT-$name in
	ib-ours-ours | ib-ours-ours+siw | ib-ours-6.1 | tcp-ours-*)
		set -- --env RDS_REACH="$PROGRAMS/reach" "$@" ;;
	esac
	# Not over RDMA devices: the third host is a namespace, and they are
	# for the first one.
	[ "$name-$TRANSPORT" != ours-ours-tcp ] ||
		set -- --env RDS_FAILOVER=1 "$@"
	# shellcheck disable=SC2086 # words are wanted
	"$RDS_TOP/scripts/vm/run" --pair --reboot-b --modules rds \
		--kernel "$kernel_a" --rds "$(rds_of "$a")" \
		--kernel-b "$kernel_b" --rds-b "$(rds_of "$b")" \
		--env RDS_TRANSPORT="$TRANSPORT" \
		--env RDS_FLOWS="$PROGRAMS/flows" --results "$dir" "$@" \
		-- $guest --- $guest >"$dir.log" 2>&1 || status=$?
	say "$status" >"$dir.status"
}

# pairing PAIRING OPTIONS...: as above in the background, when there is room.
pairing() {
	rm -rf "${PROGRAMS:?}/$1" "$PROGRAMS/$1.status"
	while [ "$(jobs -rp | wc -l)" -ge "$INTEROP_JOBS" ]; do
		wait -n
	done
	run_pairing "$@" </dev/null &
}

# report PAIRING: how the guests themselves fared.
report() {
	tap_say "$(cat "$PROGRAMS/$1.log")"
	tap_is "$1: the guests ended well" 0 "$(cat "$PROGRAMS/$1.status")"
}

# judge_controlled "OPTION..." PAIRING...: the results become this stage's. Where
# others lost something, two of theirs are run to see what these lose alone, of
# the same kernel and in the same cases.
judge_controlled() {
	local options=$1 kernel cases controls=()

	shift
	while read -r kernel cases; do
		tap_say "$kernel-$kernel is run for what was lost: $cases"
		# shellcheck disable=SC2086 # words are wanted
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

# judge PAIRING... [--control PAIRING...]: the results become this stage's.
judge() {
	# shellcheck disable=SC2034 # tap.sh's
	judge_with "$@" || TAP_FAILED=1
}

# judge_with WORD...: judge.py, told where each pairing's results are.
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
