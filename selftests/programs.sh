#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unmodified programs between h1 and h2, and the proof of how their bytes went:
# the counters of the module and of the RDMA device.  selftests/programs.sh
. "$(dirname "$0")/lib/ktap.sh"

amount=${SDP_PROGRAM_BYTES:-32M}
dir=$(mktemp -d)
trap 'rm -rf "$dir"; kill $(jobs -p) 2>/dev/null' EXIT

# moved BYTES COMMAND...: SDP carried at least BYTES meanwhile, in packets of
# the device too; BYTES "counted": what COMMAND wrote into $dir/bytes; 0: none.
moved() {
	local want=$1 bytes packets

	shift
	bytes=$(sdp_bytes)
	packets=$(rdma_packets)
	"$@"
	bytes=$(($(sdp_bytes) - bytes))
	packets=$(($(rdma_packets) - packets))
	[ "$want" != counted ] || want=$(cat "$dir/bytes")
	echo "# $bytes bytes by SDP, $packets packets of rxe0, $want expected"
	if [ "$want" = 0 ]; then
		[ $bytes = 0 ] || why "$bytes bytes went by SDP, expected none"
	else
		[ $bytes -ge "$want" ] || why "$bytes bytes went by SDP, expected $want"
		# A packet carries 4 KiB at most.
		[ $packets -ge $((want / 4096)) ] || why "only $packets packets of rxe0"
	fi
}

in_bytes() {
	case $1 in
	*M)	echo $((${1%M} << 20)) ;;
	*K)	echo $((${1%K} << 10)) ;;
	*)	echo "$1" ;;
	esac
}

# iperf LAUNCHER OPTION...
iperf() {
	local launcher=$1 server

	shift
	# shellcheck disable=SC2086 # nothing, or a launcher
	on h2 $launcher iperf3 -s -1 >"$dir/server" 2>&1 &
	server=$!
	# Looked for by name: a connection would be the one test it serves.
	until_true on h2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	# shellcheck disable=SC2086
	limit 60 $launcher iperf3 -c h2 -n "$amount" --json "$@" >"$dir/iperf" || {
		cat "$dir/iperf" "$dir/server"
		kill $server
		return 1
	}
	wait $server
	# Its server stops reading when the client says so: what it counted as
	# received is less than was sent, with TCP too.
	python3 - "$dir/iperf" >"$dir/bytes" <<-END
		import json, sys
		e = json.load(open(sys.argv[1]))['end']
		print(sum(e[k]['bytes'] for k in ('sum_received', 'sum_received_bidir_reverse') if k in e))
	END
	echo "# iperf3: $(cat "$dir/bytes") bytes received"
	[ "$(cat "$dir/bytes")" -ge $(($(in_bytes "$amount") / 2)) ]
}

iperf_sdp() {
	moved counted iperf "$run" "$@"
}

iperf_off() {
	SDP_PRELOAD=off moved 0 iperf "$run" -4
}

iperf_plain() {
	moved 0 iperf "" -4
}

# A server of SDP serves a client of plain TCP, and the other way round.
iperf_plain_client() {
	local server

	on h2 "$run" iperf3 -s -1 >"$dir/server" 2>&1 &
	server=$!
	until_true on h2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	moved 0 limit 60 iperf3 -c h2 -n "$amount"
	wait $server
}

iperf_plain_server() {
	local server fallbacks

	fallbacks=$(counter fallback)
	on h2 iperf3 -s -1 >"$dir/server" 2>&1 &
	server=$!
	until_true on h2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	moved 0 limit 60 "$run" iperf3 -c h2 -n "$amount"
	wait $server
	[ "$(counter fallback)" -gt "$fallbacks" ] || why "the counter fallback did not rise"
}

# qperf opens family 27 by itself; that has no IPv6, so no name.
qperf_native() {
	local server

	on h2 qperf >"$dir/server" 2>&1 &
	server=$!
	until_true on h2 sh -c "ss -Hltn 'sport = :19765' | grep -q ."
	limit 60 qperf 10.9.0.2 -t 2 sdp_bw sdp_lat >"$dir/qperf" 2>&1 || {
		cat "$dir/qperf" "$dir/server"
		kill $server
		return 1
	}
	kill $server
	sed 's/^/# /' "$dir/qperf"
	grep -q 'bw  *=' "$dir/qperf"
	grep -q 'latency  *=' "$dir/qperf"
}

make_file() {
	[ -e "$SDP_SHARE/file" ] ||
		head -c "$(in_bytes "$amount")" /dev/urandom >"$SDP_SHARE/file"
}

# http LAUNCHER CURL-OPTION...
http() {
	local launcher=$1 server

	shift
	# shellcheck disable=SC2086
	on h2 $launcher python3 -m http.server --bind :: --directory "$SDP_SHARE" 8000 \
		>"$dir/server" 2>&1 &
	server=$!
	until_true on h2 sh -c "ss -Hltn 'sport = :8000' | grep -q ."
	for _ in 1 2 3; do
		# shellcheck disable=SC2086
		limit 60 $launcher curl -sS --fail -o "$dir/got" "$@" http://h2:8000/file || {
			cat "$dir/server"
			kill $server
			return 1
		}
		cmp "$dir/got" "$SDP_SHARE/file"
	done
	# Errors are errors still.
	if $launcher curl -sS --fail -o /dev/null "$@" http://h2:8000/nonesuch 2>/dev/null; then
		why "a file that is not there was served"
	fi
	kill $server
	wait $server || true
	until_true on h2 sh -c "! ss -Hltn 'sport = :8000' | grep -q ."
	if $launcher curl -sS -o /dev/null "$@" http://h2:8000/file 2>"$dir/err"; then
		why "served by nobody"
	fi
	grep -qi "refused\|connect to" "$dir/err" || { cat "$dir/err"; return 1; }
}

http_sdp() {
	make_file
	moved $((3 * $(in_bytes "$amount"))) http "$run" "$@"
}

http_off() {
	make_file
	SDP_PRELOAD=off moved 0 http "$run" -4
}

# Only the kernel's own view of the processes: unmodified, and by SDP.
seen_by_sdpstat() {
	local server client

	on h2 "$run" iperf3 -s -1 >"$dir/server" 2>&1 &
	server=$!
	until_true on h2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	on h2 "$tools/sdpstat" -l | grep -q ':5201.*iperf3/'
	"$run" iperf3 -c h2 -t 100 >"$dir/iperf" 2>&1 &
	client=$!
	until_true sh -c "'$tools/sdpstat' | grep -q 'ESTABLISHED.*:5201.*rxe0.*iperf3/$client'"
	on h2 "$tools/sdpstat" | grep -q 'ESTABLISHED.*rxe0.*iperf3/'
	kill $client $server
	wait $client $server || true
}

begin
two_hosts || { echo "Bail out! programs.sh needs two hosts"; exit 2; }
check iperf3.forward iperf_sdp -4
check iperf3.reverse iperf_sdp -4 -R
check iperf3.parallel_v6 iperf_sdp -6 -P 4
check iperf3.parallel_v6_reverse iperf_sdp -6 -P 4 -R
check iperf3.bidir_v6 iperf_sdp -6 -P 4 --bidir
check iperf3.off iperf_off
check iperf3.without_launcher iperf_plain
check iperf3.plain_client iperf_plain_client
check iperf3.plain_server iperf_plain_server
check iperf3.seen_by_sdpstat seen_by_sdpstat
check qperf.native moved 1000000 qperf_native
check http.v4 http_sdp -4
check http.v6 http_sdp -6
check http.off http_off
finish
