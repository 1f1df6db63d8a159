#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# with_peer.sh PROGRAM [ARGUMENT...]: a program of this directory where the
# Python peer can live (peer_up.sh), with a server for bystanders beside it.
cd "$(dirname "$(readlink -f "$0")")" || exit
export PYTHONDONTWRITEBYTECODE=1
factor=${SDP_TIME_FACTOR:-1}
program=$PWD/$1
shift
if ! command -v on >/dev/null || ! on h2 true; then
	echo "Bail out! ${program##*/} needs two hosts"
	exit 2
fi

cleanup() {
	kill "$server" 2>/dev/null
	on h2 ip netns del peer 2>/dev/null
	ip neigh del 10.9.0.77 dev eth0 2>/dev/null
	ip neigh del fd09::77 dev eth0 2>/dev/null
	echo "$reserved" > /proc/sys/net/ipv4/ip_local_reserved_ports
	wait
}

# Ports that the conversations of mutate.py name; no bystander gets one by chance.
reserved=$(cat /proc/sys/net/ipv4/ip_local_reserved_ports)
echo 20000-59999 > /proc/sys/net/ipv4/ip_local_reserved_ports || exit 2

# Bystanders have a server in the usual place, beside the peer's.
coproc on h2 python3 "$PWD/sockets.py" echo
server=$COPROC_PID
trap cleanup EXIT
if ! read -r -t "$((20 * ${factor%.*}))" line <&"${COPROC[0]}" || [ "$line" != ready ]; then
	echo "Bail out! the bystanders' server does not start"
	exit 2
fi
./peer_up.sh env SDP_TIME_FACTOR="$factor" python3 "$program" "$@"
