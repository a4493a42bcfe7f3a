#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Run a program whose sockets of TCP become streams of RDS: see rds-run(1).
set -eu

usage() {
	cat <<'END'
Usage: rds-run [OPTION...] PROGRAM [ARGUMENT...]

Run PROGRAM. Its sockets of TCP become streams of RDS, and become sockets of
TCP again if the peer has no streams.

  -s, --strict       do not become sockets of TCP again: report an error
  -p, --port LIST    only connections to these ports, and listeners on them:
                     ports and ranges, as 80,8000-8100
  -c, --config FILE  which programs and sockets, instead of
                     /etc/rdma/rsocket/preload_config
  -v, --verbose      report each socket that becomes one of TCP
  -h, --help         print this text
  -V, --version      print the version
END
}

fail() {
	echo "rds-run: $*" >&2
	exit 2
}

# The library stands beside this script before it is installed.
find_library() {
	library=$(cd "$(dirname "$0")" && pwd)/librdspreload.so
	[ -e "$library" ] || library=@libdir@/rds/librdspreload.so
	[ -e "$library" ] || fail "there is no $library"
}

# The library has room for 32 of them.
check_ports() {
	printf '%s\n' "$1" | awk -F, '
		NR > 1 || NF < 1 || NF > 32 { exit 1 }
		{
			for (i = 1; i <= NF; i++) {
				if ($i !~ /^[0-9]+(-[0-9]+)?$/)
					exit 1
				last = split($i, ends, "-")
				if (ends[1] + 0 > ends[last] + 0 ||
				    ends[last] > 65535)
					exit 1
			}
		}' || fail "bad ports: $1"
}

while [ $# -gt 0 ]; do
	case $1 in
	-s | --strict)
		export RDS_PRELOAD_STRICT=1
		;;
	-v | --verbose)
		export RDS_PRELOAD_VERBOSE=1
		;;
	-p | --port)
		[ $# -gt 1 ] || fail "$1 needs a list of ports"
		check_ports "$2"
		export RDS_PRELOAD_PORTS="$2"
		shift
		;;
	-c | --config)
		[ $# -gt 1 ] || fail "$1 needs a file"
		[ -r "$2" ] || fail "cannot read $2"
		case $2 in
		/*) export RDS_PRELOAD_CONFIG="$2" ;;
		*) export RDS_PRELOAD_CONFIG="$PWD/$2" ;;
		esac
		shift
		;;
	-h | --help)
		usage
		exit 0
		;;
	-V | --version)
		echo "rds-run @version@"
		exit 0
		;;
	--)
		shift
		break
		;;
	-*)
		usage >&2
		exit 2
		;;
	*)
		break
		;;
	esac
	shift
done

[ $# -gt 0 ] || { usage >&2; exit 2; }
find_library
export LD_PRELOAD="$library${LD_PRELOAD:+:$LD_PRELOAD}"
exec "$@"
