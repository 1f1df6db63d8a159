#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Integrity between two hosts (or of one with itself), every byte compared:
#
#	selftests/stream/stream.sh [BYTES [SEED...]]	all cases; BYTES for each connection
#						and direction (default 16m)
#	selftests/stream/stream.sh --OPTION...		one case with these options of sdp_stream
. "$(dirname "$0")/../lib/ktap.sh"

transfer() { # OPTION...
	"$bin/sdp_stream" --self "$@"
}

between() { # OPTION...: the same on both sides
	local server status=0

	on h2 "$bin/sdp_stream" --server "$@" &
	server=$!
	# Else SDP may be refused and TCP, a moment later, not: it would fall back.
	until_true on h2 sh -c "ss -Hltn 'sport = :9800' | grep -q ."
	"$bin/sdp_stream" --client "$@" || {
		status=$?
		# The server has said why by now, or is waiting for ever.
		sleep 1
		kill $server 2>/dev/null
	}
	wait $server || status=$?
	return $status
}

# THRESHOLD WAIT: from how many bytes on sends are offered, and for how many ms
offer() {
	local host

	for host in $hosts; do
		on "$host" sysctl -qw net.sdp.zcopy_thresh="$1" net.sdp.zcopy_wait="$2"
	done
}

# Short sends are offered too, and taken back as soon as nobody reads.
storm() { # OPTION...
	local thresh wait status=0

	thresh=$(sysctl -n net.sdp.zcopy_thresh)
	wait=$(sysctl -n net.sdp.zcopy_wait)
	offer 5000 5
	$way "$@" --storm || status=$?
	offer "$thresh" "$wait"
	return $status
}

hosts=h1
one=transfer
two_hosts && one=between hosts="h1 h2"
begin
case ${1:-} in
--*)
	run_case "stream $*" $one "$@"
	finish ;;
esac

bytes=${1:-16m}
shift
for seed in "${@:-1}"; do
	for via in $(sed 's/-.*//' <<<"$variants" | uniq); do
		set -- --via "$via" --seed "$seed" --bytes "$bytes"
		way=$one
		# Both ends are on this host then, and are to be joined.
		[ "$via" != join ] || way=transfer
		sysctl -qw net.sdp.local=$([ "$via" = join ] && echo 1 || echo 0)
		joins=$(counter local_joins)
		run_case "stream.$via.v4.seed$seed" $way "$@" --conns 4 --both
		! grep -qx "$via-v6" <<<"$variants" ||
			run_case "stream.$via.v6.seed$seed" $way "$@" -6 --conns 3 --both
		run_case "stream.$via.one_way.seed$seed" $way "$@" --conns 1
		run_case "stream.$via.storm.seed$seed" storm "$@" --conns 3 --both
		run_case "stream.$via.tiny.seed$seed" $way "$@" --bytes 200k --max 100 --conns 2 --both
		run_case "stream.$via.many_short.seed$seed" $way "$@" --bytes 30k --conns 60 --threads 8
		[ "$via" != join ] ||
			run_case "stream.join.joined.seed$seed" test "$(counter local_joins)" -gt "$joins"
		[ $way = transfer ] ||
			run_case "stream.$via.own_host.seed$seed" transfer "$@" --conns 2 --both
	done
done
finish
