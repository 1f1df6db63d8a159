# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# iperf3: a control connection and streams; its own count says what arrived.

# iperf_bytes FILE: what was received
iperf_bytes() {
	python3 - "$1" <<-END
		import json, sys
		r = json.load(open(sys.argv[1]))
		if 'error' in r: sys.exit(r['error'])
		e = r['end']
		print(sum(e[k]['bytes'] for k in ('sum_received', 'sum_received_bidir_reverse') if k in e))
	END
}

# iperf LEAST OPTION...: more than so many MiB arrive.  Its receiver stops when
# the client says so, with TCP too: what it counts is less than was sent, by up to
# ten MiB of each stream (tcp_rmem and tcp_wmem).
iperf() {
	iperf_served "" 5201 "$@"
}

# iperf_served SERVER-OPTIONS PORT LEAST OPTION...: the same
iperf_served() {
	local port=$2 least=$(($3 << 20)) got

	# shellcheck disable=SC2086 # options are words
	server iperf3 -s -1 $1
	shift 3
	listening "$port"
	client 120 iperf3 -c h2 -p "$port" --json "$@" >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	got=$(iperf_bytes "$dir/iperf")
	echo "# iperf3: $got bytes received"
	[ "$got" -gt $least ] || why "$got bytes received, expected more than $least"
	carried "$got"
}

# A file as the source; what is put where it is received is not the file, with
# TCP neither (of iperf3 3.12).
iperf_file() {
	random file 16
	iperf 4 -F "$SDP_SHARE/file" "$@"
}

# Datagrams beside a control connection: only that one can be SDP's.
iperf_udp() {
	server iperf3 -s -1 -V
	listening 5201
	client 120 iperf3 -c h2 -u -b 20M -n 2M --json "$@" >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	[ "$(python3 -c "import json; print(json.load(open('$dir/iperf'))['end']['sum']['bytes'])")" -gt 1000000 ]
	carried 100
}

# Users and passwords go through the control connection.
iperf_login() {
	openssl genrsa -out "$dir/private" 2048
	openssl rsa -in "$dir/private" -outform PEM -pubout -out "$dir/public"
	cp "$dir/private" "$SDP_SHARE/case.private"
	printf 'user,%s\n' "$(printf '{user}word' | sha256sum | cut -d' ' -f1)" >"$SDP_SHARE/case.users"
	server iperf3 -s -1 --rsa-private-key-path "$SDP_SHARE/case.private" \
		--authorized-users-path "$SDP_SHARE/case.users" --time-skew-threshold 60
	listening 5201
	IPERF3_PASSWORD=word client 60 iperf3 -c h2 -n 4M --json --username user \
		--rsa-public-key-path "$dir/public" >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	carried "$(iperf_bytes "$dir/iperf")"
}

# What is said to people, and to a file: OPTION...
iperf_said() {
	server iperf3 -s -1 "$@"
	listening 5201
	client 120 iperf3 -c h2 -n 32M "$@" >"$dir/iperf" 2>&1 || { cat "$dir/iperf"; why "iperf3 failed"; }
	grep -q ' receiver$' "$dir/iperf"
	# The server may say it after its client has gone.
	until_true grep -q ' receiver$' "$dir/out.0"
	stop
	carried $((16 << 20))
}

iperf_logfile() {
	server iperf3 -s -1 --logfile "$there/case.said"
	listening 5201
	client 120 iperf3 -c h2 -n 32M --logfile "$dir/case.said" || why "iperf3 failed"
	grep -q ' receiver$' "$dir/case.said"
	on h2 grep -q ' receiver$' "$there/case.said"
	carried $((16 << 20))
}

iperf_daemon() {
	# shellcheck disable=SC2086 # a launcher with its option, or nothing
	on h2 $serve iperf3 -s -1 -D -I "$there/case.pid"
	until_true on h2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	on h2 sh -c "grep -q iperf3 /proc/\$(tr -d '\\0' <'$there/case.pid')/comm"
	client 120 iperf3 -c h2 -n 32M --json -I "$dir/case.pid" >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	carried "$(iperf_bytes "$dir/iperf")"
	until_true on h2 sh -c "! pgrep -x iperf3"
}

# A server that nobody asks begins anew, and then is asked.
iperf_idle() {
	server iperf3 -s --idle-timeout 1 --forceflush -d
	until_true grep -q 'Server restart .* in idle state' "$dir/out.0"
	until client 120 iperf3 -c h2 -n 32M --json >"$dir/iperf"; do
		# It was between two.
		grep -q 'Connection refused' "$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	done
	carried "$(iperf_bytes "$dir/iperf")"
}

# More than the server allows is ended by it.
iperf_limited() {
	server iperf3 -s -1 --server-bitrate-limit 1M/1
	listening 5201
	! client 120 iperf3 -c h2 -t 30 -b 100M >"$dir/iperf" 2>&1 || why "it was not ended"
	until_true grep -q 'larger than server limit' "$dir/out.0"
	carried 1
}

# What it receives goes to the server's file, and what it sends comes from there.
iperf_server_file() {
	random file 16
	server iperf3 -s -1 -F "$there/case.file"
	listening 5201
	client 120 iperf3 -c h2 -n 16M --json >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	[ "$(on h2 stat -c %s "$there/case.file")" -gt $((4 << 20)) ]
	carried "$(iperf_bytes "$dir/iperf")"
	stop
	iperf_served "-F $SDP_SHARE/file" 5201 4 -R
}

# iperf_rate OPTION: at 4 Mbit/s, 1 MB in two seconds.  --fq-rate is SO_MAX_PACING_RATE,
# which SDP takes and does nothing about.
iperf_rate() {
	server iperf3 -s -1
	listening 5201
	client 120 iperf3 -c h2 --json -t 2 -l 16K "$1" 4M >"$dir/iperf" || { cat "$dir/iperf"; why "iperf3 failed"; }
	got=$(iperf_bytes "$dir/iperf")
	echo "# $1 4M for 2 s: $got bytes"
	if [ "$manner $1" = "sdp --fq-rate" ]; then
		[ "$got" -gt 4000000 ] || why "it has an effect: docs/compatibility.md says that it has none"
	else
		[ "$got" -lt 2000000 ] || why "it has no effect"
	fi
	carried "$got"
}

iperf_options() {
	local o all

	# Each line is one run's: more than so many MiB must arrive; options.  How much
	# does in a given time is not asked.
	mapfile -t all <<-END
		16 -n 32M -N
		16 -n 32M -Z
		16 -n 32M -Z -R
		16 -n 32M -w 128K
		16 -n 32M -M 1000
		16 -n 32M -S 0x10
		16 -n 32M -C reno
		16 -n 32M -l 1M
		0 -n 50K -l 1
		1 -n 16M -l 1000
		1 -k 400 -l 64K
		0 -t 1 -b 80M
		0 -t 2 -O 1
		0 -t 1 -i 0.2
		16 -n 32M -4 -B 10.9.0.1
		16 -n 32M --cport 6001
		16 -n 32M -6 -L 5
		0 -t 1 --fq-rate 80M
		16 -n 32M --repeating-payload
		1 -n 16M --extra-data text -T title
		1 -n 16M --get-server-output
		1 -n 16M --connect-timeout 5000
		1 -n 16M -R --rcv-timeout 20000
		1 -n 16M --snd-timeout 20000
		16 -n 32M --bind-dev eth0
		16 -n 32M --dscp af21
		16 -n 32M --cport 6002 -A 0,0
		0 -t 1 -b 80M/4
		0 -t 1 -b 80M --pacing-timer 5000
		16 -n 128M -P 8 --bidir -Z -N
		16 -n 384M -P 32
	END
	for o in "${all[@]}"; do
		# shellcheck disable=SC2086 # options are words
		in_manners "iperf3.${o#* }" iperf $o
	done
}

# Only the kernel's own view of the processes: unmodified, and by SDP.
iperf_seen() {
	server iperf3 -s -1
	listening 5201
	on h2 "$tools/sdpstat" -l | grep -q ':5201.*iperf3/'
	# shellcheck disable=SC2086
	$use iperf3 -c h2 -t 100 >"$dir/iperf" 2>&1 &
	pid=$!
	until_true sh -c "'$tools/sdpstat' | grep -q 'ESTABLISHED.*:5201.*rxe0.*iperf3/$pid'"
	on h2 "$tools/sdpstat" | grep -q 'ESTABLISHED.*rxe0.*iperf3/'
	kill $pid
	wait $pid || true
	carried 1
}

in_all_manners iperf3.forward iperf 16 -n 32M -4
more in_manners iperf3.reverse iperf 16 -n 32M -4 -R
more in_manners iperf3.parallel_v6 iperf 16 -n 64M -6 -P 4
in_manners iperf3.bidir_v6 iperf 16 -n 64M -6 -P 4 --bidir
besides run_case iperf3.off in_manner off iperf 16 -n 32M -4
run_case iperf3.seen_by_sdpstat in_manner sdp iperf_seen
more in_manners iperf3.parallel_v6_reverse iperf 16 -n 64M -6 -P 4 -R
more in_manners iperf3.file iperf_file
more in_manners iperf3.file_zerocopy iperf_file -Z
more in_manners iperf3.login iperf_login
more in_manners iperf3.udp iperf_udp
more in_manners iperf3.udp_64bit iperf_udp --udp-counters-64bit --dont-fragment
more in_manners iperf3.rate iperf_rate -b
more in_manners iperf3.fq_rate iperf_rate --fq-rate
more in_manners iperf3.server_bound iperf_served "-B 10.9.0.2 -A 0" 5201 16 -n 32M -4
more in_manners iperf3.server_device iperf_served "--bind-dev eth0" 5201 16 -n 32M
more in_manners iperf3.port iperf_served "-p 5202" 5202 16 -n 32M
more in_manners iperf3.server_file iperf_server_file
more in_manners iperf3.daemon iperf_daemon
more in_manners iperf3.idle iperf_idle
more in_manners iperf3.limited iperf_limited
more in_manners iperf3.said iperf_said -V -f m -i 0.1 --forceflush
more in_manners iperf3.timestamps iperf_said --timestamps
more in_manners iperf3.debug iperf_said -d
more in_manners iperf3.logfile iperf_logfile
more iperf_options
