#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# peer_up.sh COMMAND...: run COMMAND on h2 where the Python peer can live: in a
# network namespace with a macvlan of its own beside eth0.  soft-RoCE's UDP port
# belongs to the initial namespace, so it is free in this one.  Run on h1.
set -eu
mac=52:54:00:09:00:77

v6=''
if [ -d /proc/sys/net/ipv6 ]; then
	v6="
		sysctl -qw net.ipv6.conf.peer0.addr_gen_mode=1 net.ipv6.conf.peer0.accept_ra=0
		ip addr add fd09::77/64 dev peer0 nodad
		ip neigh replace fd09::1 lladdr 52:54:00:09:00:01 dev peer0 nud permanent"
fi

# Neighbours are not what is tested, and nobody waits for them.
on h2 sh -ec "
	ip netns add peer
	ip link add link eth0 name peer0 address $mac netns peer type macvlan mode bridge
	ip netns exec peer sh -ec '
		ip link set lo up
		ip link set peer0 mtu 4200 up
		ip addr add 10.9.0.77/24 dev peer0
		ip neigh replace 10.9.0.1 lladdr 52:54:00:09:00:01 dev peer0 nud permanent$v6'"
# h1 and h2 do not know each other either, right after boot.
for a in 10.9.0.2 ${v6:+fd09::2}; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		! ping -n -c 1 -W 1 $a >/dev/null || break
	done
done
ip neigh replace 10.9.0.77 lladdr $mac dev eth0 nud permanent
[ -z "$v6" ] || ip neigh replace fd09::77 lladdr $mac dev eth0 nud permanent
exec on h2 ip netns exec peer "$@"
