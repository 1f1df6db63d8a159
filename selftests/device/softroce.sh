#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A defect of soft-RoCE, without our module: a device that goes while datagrams
# come for its QP1.  ib_mad destroys that queue pair without emptying it first,
# and soft-RoCE goes on to use it.  The kernel warns, in one place or another:
# that is why scripts/rig/logcheck.py knows one of them.  No part of any check,
# since it takes minutes and ends with a warning in the log:
#
#	scripts/vm --kernel 6.12 --timeout 700 -- selftests/device/softroce.sh [SECONDS]
#
# Ends with 0 when the warning has come, and the rig with 99 for it.  It came in
# round 35 once, and not in 235 rounds another time.
cd "$(dirname "$(readlink -f "$0")")" || exit
bin=$(readlink -f "${SDP_SELFTESTS:-../../build/selftests}")
end=$((SECONDS + ${1:-500}))
export PYTHONDONTWRITEBYTECODE=1

# Datagrams that the connection manager has nothing to say to.
../wire/peer_up.sh python3 "$PWD/../wire/datagrams.py" "$SDP_SHARE/datagrams"
[ -s "$SDP_SHARE/datagrams" ] || { echo "no datagrams were made"; exit 2; }
for h in h1 h2; do
	on $h rmmod af_sdp || exit
done
on h2 ip netns exec peer timeout 600 "$bin/softroce_flood" "$SDP_SHARE/datagrams" 10.9.0.77 10.9.0.1 &
sleep 2
for ((round = 1; SECONDS < end; round++)); do
	rdma link del rxe0
	rdma link add rxe0 type rxe netdev eth0
	sleep 0.2
	if dmesg | grep -q 'WARNING: .*rdma_rxe'; then
		echo "round $round, af_sdp not loaded:"
		dmesg | grep -A 25 'WARNING: .*rdma_rxe'
		exit 0
	fi
done
echo "$round rounds and no warning"
exit 1
