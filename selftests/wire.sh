#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A foreign peer, in Python over UDP, that says right and wrong things to the
# module on h1: wire/wire.py has the cases.  selftests/wire.sh [PART OF A NAME...]
cd "$(dirname "$(readlink -f "$0")")" || exit
export PYTHONDONTWRITEBYTECODE=1
factor=${SDP_TIME_FACTOR:-1}
if ! command -v on >/dev/null || ! on h2 true; then
	echo "Bail out! wire.sh needs two hosts"
	exit 2
fi

cleanup() {
	kill "$server" 2>/dev/null
	on h2 ip netns del peer 2>/dev/null
	ip neigh del 10.9.0.77 dev eth0 2>/dev/null
	ip neigh del fd09::77 dev eth0 2>/dev/null
	wait
}

# Bystanders have a server in the usual place, beside the peer's.
coproc on h2 python3 "$PWD/wire/sockets.py" echo
server=$COPROC_PID
trap cleanup EXIT
if ! read -r -t "$((20 * ${factor%.*}))" line <&"${COPROC[0]}" || [ "$line" != ready ]; then
	echo "Bail out! the bystanders' server does not start"
	exit 2
fi
wire/peer_up.sh env SDP_TIME_FACTOR="$factor" python3 "$PWD/wire/wire.py" "$@"
