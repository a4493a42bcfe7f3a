# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the stages that have two guests talk under faults. Needs common.sh,
# tap.sh.

INTEROP=$RDS_TOP/tools/testing/selftests/rds/interop
PROGRAMS=$RDS_BUILD/interop
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
	ours-6.12) say stock-6.12 ;;
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
	local a=${1%-*} b=${1#*-} kernel

	for kernel in "$(kernel_of "$a" "$b")" "$(kernel_of "$b" "$a")"; do
		[ -f "$RDS_CACHE/kernels/$kernel/manifest" ] || {
			say "$kernel"
			return
		}
	done
}

# Cases in which paths are dropped. RDS other than ours may then lose and
# reorder messages, and those too short to say which they are cannot be told
# from one another.
LOSSY='killed|buffers|address|reloaded|rebooted'

# run_pairing PAIRING OPTIONS...: results, output and exit status go below
# $PROGRAMS.
run_pairing() {
	local name=$1 a=${1%-*} b=${1#*-} dir=$PROGRAMS/$1 status=0
	local guest="/usr/bin/python3 $INTEROP/guest.py"

	shift
	if [ "$name" = ours-ours ]; then
		set -- --env RDS_FAILOVER=1 "$@"
	else
		set -- --env "RDS_WHOLE=$LOSSY" "$@"
	fi
	# shellcheck disable=SC2086 # words are wanted
	"$RDS_TOP/scripts/vm/run" --pair --reboot-b --modules "rds rds_tcp" \
		--kernel "$(kernel_of "$a" "$b")" --rds "$(rds_of "$a")" \
		--kernel-b "$(kernel_of "$b" "$a")" --rds-b "$(rds_of "$b")" \
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
	run_pairing "$@" &
}

# report PAIRING: how the guests themselves fared.
report() {
	tap_say "$(cat "$PROGRAMS/$1.log")"
	tap_is "$1: the guests ended well" 0 "$(cat "$PROGRAMS/$1.status")"
}

# judge PAIRING... [--control PAIRING...]: the results become this stage's.
judge() {
	local word words=()

	for word; do
		case $word in
		--*) words+=("$word") ;;
		*) words+=("$word=$PROGRAMS/$word") ;;
		esac
	done
	# shellcheck disable=SC2034 # tap.sh's
	"$INTEROP/judge.py" "${words[@]}" || TAP_FAILED=1
}
