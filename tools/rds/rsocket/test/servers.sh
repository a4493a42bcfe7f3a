# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Servers of TCP that others wrote, and their clients. Streams are required: no
# client becomes one of TCP.

# strict COMMAND...: run a client.
strict() {
	rds_run --strict timeout -k 5 120 "$@"
}

# serve_streams COMMAND...: start a server.
serve_streams() {
	serve "$HERE/run-rds" --strict "$@"
}

# clients COMMAND...: run COMMAND while the server runs, and stop the server.
clients() {
	ready && "$@"
	set -- "$?"
	stop_server
	[ "$1" = 0 ] || cat "$SCRATCH/server"
	return "$1"
}

make_pages() {
	mkdir -p "$SCRATCH/www"
	echo "a page" >"$SCRATCH/www/page"
	head -c 4000000 /dev/urandom >"$SCRATCH/www/large"
}

# fetch HOST COMMAND...: COMMAND prints a page of the server on this port. The
# server is one of TCP on hosts without streams, or one of streams.
fetch() {
	local host=$1 with=(-u LD_PRELOAD)

	shift
	PORT=$((PORT + 1))
	[ "$host" != "$HOST" ] || with=("$HERE/run-rds" --strict)
	serve "${with[@]}" python3 -m http.server "$PORT" -d "$SCRATCH/www"
	WHERE=$host clients fetched "$@"
}

fetched() {
	local said

	said=$(HOST=$WHERE PORT=$PORT rds_run timeout 120 "$@" 2>&1)
	case $said in
	*"a page"*) return 0 ;;
	esac
	tail -n 5 <<<"$said"
	return 1
}

URLLIB='
import os, urllib.request
url = "http://%s:%s/page" % (os.environ["HOST"], os.environ["PORT"])
print(urllib.request.urlopen(url, timeout=60).read())'

ASYNCIO='
import asyncio, os
async def main():
    reader, writer = await asyncio.open_connection(
        os.environ["HOST"], int(os.environ["PORT"]))
    writer.write(b"GET /page HTTP/1.0\r\n\r\n")
    print(await reader.read())
asyncio.run(main())'

# shellcheck disable=SC2016 # the shell that is run expands it
DEV_TCP='exec 3<>"/dev/tcp/$HOST/$PORT"
printf "GET /page HTTP/1.0\r\n\r\n" >&3
cat <&3'

test_python() {
	local host hosts=("$HOST")

	[ -z "$SHIM" ] || hosts+=(127.0.0.9 127.0.0.8)
	for host in "${hosts[@]}"; do
		ok "rds-run python3: urllib, $host" \
			fetch "$host" python3 -c "$URLLIB"
		[ -z "$QUICK" ] || continue
		ok "rds-run python3: asyncio, $host" \
			fetch "$host" python3 -c "$ASYNCIO"
		ok "rds-run bash: /dev/tcp, $host" \
			fetch "$host" bash -c "$DEV_TCP"
	done
}

# iperf HOST ARG...: iperf3, with a server of streams or, elsewhere, of TCP
iperf() {
	local host=$1 status=0 with=(-u LD_PRELOAD)

	shift
	PORT=$((PORT + 1))
	[ "$host" != "$HOST" ] || with=("$HERE/run-rds" --strict)
	serve "${with[@]}" iperf3 -s -1 -p "$PORT"
	ready || return
	rds_run timeout 120 iperf3 -c "$host" -p "$PORT" "$@" \
		>"$SCRATCH/client" 2>&1 || status=$?
	wait "$SERVER" || status=$?
	cat "$SCRATCH/server" "$SCRATCH/client"
	[ "$status" = 0 ] && grep -q 'iperf Done' "$SCRATCH/client"
}

test_iperf() {
	ok "rds-run iperf3: 4 connections" iperf "$HOST" -P 4 -n 20M
	ok "rds-run iperf3: IPv6" iperf6
	[ -z "$QUICK" ] || return 0
	ok "rds-run iperf3: the other direction" iperf "$HOST" -R -n 20M
	ok "rds-run iperf3: both at once" iperf "$HOST" --bidir -t 2
	[ -n "$SHIM" ] || return 0
	ok "rds-run iperf3: to a host without RDS" iperf 127.0.0.9 -n 20M
}

iperf6() {
	HOST=$HOST6 iperf "$HOST6" -n 5M
}

nginx_config() {
	cat <<-END
	user root;
	daemon off;
	worker_processes 2;
	pid $SCRATCH/nginx.pid;
	events { worker_connections 256; }
	http {
		access_log off;
		sendfile on;
		tcp_nopush on;
		client_body_temp_path $SCRATCH/nginx-body;
		proxy_temp_path $SCRATCH/nginx-proxy;
		fastcgi_temp_path $SCRATCH/nginx-fastcgi;
		uwsgi_temp_path $SCRATCH/nginx-uwsgi;
		scgi_temp_path $SCRATCH/nginx-scgi;
		server {
			listen $PORT;
			root $SCRATCH/www;
			location /through/ {
				proxy_pass http://$HOST:$PORT/;
			}
		}
	}
	END
}

start_nginx() {
	PORT=$((PORT + 1))
	nginx_config >"$SCRATCH/nginx.conf"
	serve_streams nginx -p "$SCRATCH" -c "$SCRATCH/nginx.conf" -e stderr
	ready
}

# curl_gets PAGE ARG...: curl has to get it undamaged.
curl_gets() {
	local page=$1

	shift
	strict curl -sS "$@" "http://$HOST:$PORT/$page" >"$SCRATCH/got" &&
		cmp "$SCRATCH/got" "$SCRATCH/www/${page##*/}"
}

# The second page comes by the connection of the first.
curl_repeats() {
	strict curl -sS -w '%{num_connects}\n' -o "$SCRATCH/got" \
		-o "$SCRATCH/got" "http://$HOST:$PORT/page" \
		"http://$HOST:$PORT/page" >"$SCRATCH/connects" &&
		[ "$(paste -sd ' ' "$SCRATCH/connects")" = "1 0" ]
}

# ab_does REQUESTS ARG...: the requests of ab, ten at a time, must not fail.
ab_does() {
	local requests=$1

	shift
	strict ab -q -c 10 -n "$requests" "$@" "http://$HOST:$PORT/page" \
		>"$SCRATCH/ab" 2>&1
	grep -qE "^Complete requests: +$requests\$" "$SCRATCH/ab" &&
		grep -qE '^Failed requests: +0$' "$SCRATCH/ab" && return 0
	cat "$SCRATCH/ab"
	return 1
}

test_nginx_all() {
	ok "rds-run curl and nginx: a page" curl_gets page
	ok "rds-run curl: two pages of one connection" curl_repeats
	ok "rds-run ab and nginx: a connection for each request" ab_does 200
	ok "rds-run ab and nginx: many requests" ab_does 1000 -k
}

test_nginx() {
	if ! has nginx; then
		skip "nginx" "it is not installed"
		return
	fi
	ok "rds-run nginx: it listens" start_nginx
	ok "rds-run curl and nginx: 4 MB" curl_gets large
	ok "rds-run nginx: a proxy" curl_gets through/large
	ok "rds-run ab and nginx: connections that stay" ab_does 100 -k
	[ -n "$QUICK" ] || test_nginx_all
	stop_server
}

# The server needs a user of its own and a directory in /run, both of which this
# process alone sees; but in a guest, where $SCRATCH is in /run, that stays.
# shellcheck disable=SC2016 # the shell that is run expands it
SSHD='mount --bind "$SCRATCH/passwd" /etc/passwd || exit
case $SCRATCH in
/run/*) ;;
*) mount -t tmpfs none /run || exit ;;
esac
mkdir -p /run/sshd && exec "$@"'

sshd_config() {
	cat <<-END
	Port $PORT
	HostKey $SCRATCH/key
	AuthorizedKeysFile $SCRATCH/key.pub
	StrictModes no
	UsePAM no
	PermitRootLogin yes
	AllowTcpForwarding yes
	END
}

make_key() {
	[ -e "$SCRATCH/key" ] ||
		ssh-keygen -q -t ed25519 -N '' -f "$SCRATCH/key"
	{
		grep -v '^sshd:' /etc/passwd
		echo 'sshd:x:65534:65534::/run/sshd:/usr/sbin/nologin'
	} >"$SCRATCH/passwd"
}

start_sshd() {
	PORT=$((PORT + 1))
	make_key
	sshd_config >"$SCRATCH/sshd.conf"
	serve unshare -m sh -c "$SSHD" sh "$HERE/run-rds" --strict \
		"$(command -v sshd)" -D -e -f "$SCRATCH/sshd.conf"
	ready
}

# ssh_runs COMMAND: run it on the host.
ssh_runs() {
	strict ssh -F none -p "$PORT" -i "$SCRATCH/key" -o BatchMode=yes \
		-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o LogLevel=ERROR "root@$HOST" "$@"
}

ssh_says() {
	[ "$(ssh_runs 'echo one two')" = "one two" ] && return 0
	cat "$SCRATCH/server"
	return 1
}

ssh_status() {
	ssh_runs 'exit 7'
	[ $? = 7 ]
}

ssh_copies() {
	ssh_runs cat <"$SCRATCH/www/large" | cmp - "$SCRATCH/www/large"
}

test_ssh_all() {
	ok "rds-run ssh and sshd: a command" ssh_says
	ok "rds-run ssh and sshd: its status" ssh_status
}

test_ssh() {
	if ! has sshd; then
		skip "ssh" "sshd is not installed"
		return
	fi
	ok "rds-run sshd: it listens" start_sshd
	ok "rds-run ssh and sshd: 4 MB there and back" ssh_copies
	[ -n "$QUICK" ] || test_ssh_all
	stop_server
}

# socat_and LISTEN COMMAND...: run COMMAND while socat serves.
socat_and() {
	local action=$1

	shift
	PORT=$((PORT + 1))
	serve_streams socat "TCP-LISTEN:$PORT,reuseaddr,fork" "$action"
	clients "$@"
}

# The end of what is sent does not end what is received.
socat_echo() {
	strict socat -t 60 - "TCP:$HOST:$PORT" <"$SCRATCH/www/large" |
		cmp - "$SCRATCH/www/large"
}

# A second server passes on what the first one answers.
socat_relay() {
	local first=$SERVER

	socat_and "TCP:$HOST:$PORT" socat_echo
	set -- "$?"
	SERVER=$first
	return "$1"
}

test_socat() {
	if ! has socat; then
		skip "socat" "it is not installed"
		return
	fi
	ok "rds-run socat: 4 MB there and back" socat_and EXEC:cat socat_echo
	[ -z "$QUICK" ] || return 0
	ok "rds-run socat: a relay" socat_and EXEC:cat socat_relay
}

test_servers() {
	make_pages
	test_python
	if has iperf3; then
		test_iperf
	else
		skip "iperf3" "it is not installed"
	fi
	test_nginx
	test_ssh
	test_socat
}
