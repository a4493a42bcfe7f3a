# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Find the lines in a kernel log that mean that something went wrong.

SPLATS='WARNING: |\bBUG: |\bBUG [A-Za-z0-9_-]+ |kernel BUG at|\bOops\b'
SPLATS+='|general protection fault|stack segment|Kernel panic|UBSAN: '
SPLATS+='|INFO: task .* blocked for more than|INFO: .*detected.* stall'
SPLATS+='|INFO: possible |INFO: trying to register non-static key'
SPLATS+='|refcount_t: |unregister_netdevice: waiting|ODEBUG: '
SPLATS+='|list_(add|del) corruption|usercopy: Kernel memory '
SPLATS+='|ref_tracker: .*leaked|leaked reference'
SPLATS+='|Object .*not freed|blocked for more than|nobody cared'
# Reports of kmemleak about itself, and about invalid calls
SPLATS+='|kmemleak: (Cannot |Failed |.*unknown object|Found object by alias)'
SPLATS+='|kmemleak: (Kernel memory leak detector disabled|Scan area larger)'
SPLATS+='|turning off the locking correctness validator'

# find_splats LOG: print such lines from the point where the guest is set up
# (or of the whole log, if it died before, or if the mark is lost).
find_splats() {
	local from

	from=$(grep -n 'rds-vm: set up' "$1" | tail -n 1 | cut -d : -f 1)
	tail -n "+${from:-1}" "$1" | tr -d '\r' | grep -E -e "$SPLATS"
}
