#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The cases of sdp_pair, with the server on h2: selftests/pair/pair.sh [ARGUMENT...]
# (those of sdp_pair: -t CASE, -v VARIANT).  link/link.sh has it run sdp_link.
. "$(dirname "$0")/../lib/ktap.sh"

rm -f "$log"
two_hosts || { echo "Bail out! pair.sh needs two hosts"; exit 2; }
pair=${SDP_PAIR:-sdp_pair}
# The queues that sdp_link's cases lose and delay packets in are there from the
# beginning: what is sent while a queue is put in the place of another is refused,
# and soft-RoCE takes that for the end of the queue pair, be it the CM's own.
if [ "$pair" = sdp_link ]; then
	dev=${SDP_NETDEV:-eth0}
	for h in h1 h2; do
		on $h tc qdisc replace dev "$dev" root handle 1: prio bands 3 \
			priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 &&
			on $h tc qdisc replace dev "$dev" parent 1:1 handle 11: netem limit 100000 &&
			on $h tc qdisc replace dev "$dev" parent 1:3 handle 13: netem limit 100000 ||
			{ echo "Bail out! no queues on $h"; exit 2; }
	done
fi
on h2 "$bin/$pair" --server &
server=$!
trap 'kill $server 2>/dev/null' EXIT
"$bin/$pair" "$@"
status=$?
"$bin/$pair" --quit
wait $server || { echo "# the server ended with status $?"; status=1; }
exit $status
