# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What in a kernel log means that something went wrong.

SPLATS='WARNING: |\bBUG: |\bBUG [A-Za-z0-9_-]+ |kernel BUG at|\bOops\b'
SPLATS+='|general protection fault|stack segment|Kernel panic|UBSAN: '
SPLATS+='|INFO: task .* blocked for more than|INFO: .*detected.* stall'
SPLATS+='|INFO: possible |INFO: trying to register non-static key'
SPLATS+='|refcount_t: |unregister_netdevice: waiting|ODEBUG: '
SPLATS+='|list_(add|del) corruption|usercopy: Kernel memory '
SPLATS+='|ref_tracker: .*leaked|leaked reference'
SPLATS+='|Object .*not freed|blocked for more than|nobody cared'

# find_splats LOG: lines from the start mark on (or of the whole log, if the
# guest died before or the mark is lost) that tell of trouble.
find_splats() {
	local from

	from=$(grep -n 'rds-vm: start' "$1" | tail -n 1 | cut -d : -f 1)
	tail -n "+${from:-1}" "$1" | tr -d '\r' | grep -E -e "$SPLATS"
}
