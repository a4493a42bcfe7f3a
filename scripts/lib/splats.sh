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
# What kmemleak says of itself, and of what it was told that makes no sense
SPLATS+='|kmemleak: (Cannot |Failed |.*unknown object|Found object by alias)'
SPLATS+='|kmemleak: (Kernel memory leak detector disabled|Scan area larger)'
SPLATS+='|turning off the locking correctness validator'

# find_splats LOG: lines from where the guest is set up on (or of the whole log,
# if it died before or the mark is lost) that tell of trouble.
find_splats() {
	local from

	from=$(grep -n 'rds-vm: set up' "$1" | tail -n 1 | cut -d : -f 1)
	tail -n "+${from:-1}" "$1" | tr -d '\r' | grep -E -e "$SPLATS"
}
