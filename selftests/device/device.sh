#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the link cases allow soft-RoCE and not TCP, without our module: ib_send_bw and
# rping are the verbs programs, iperf3 TCP beside them.  A packet that is lost is
# repeated; one that the network device refuses, as it does when it is down, when its
# queue is full or is just being replaced, is to soft-RoCE the end of the queue pair, be
# it the connection manager's own.  And a peer that has no buffers is to soft-RoCE of
# Linux 6.1 one that does not answer.  Where one of these cases fails soft-RoCE has
# become better than that, and the link and wire cases can ask more of it.
. "$(dirname "$0")/../lib/ktap.sh"

begin
two_hosts || { echo "Bail out! device.sh needs two hosts"; exit 2; }
dev=${SDP_NETDEV:-eth0}
server=10.9.0.2

# The queue is there before there is traffic: it is only changed then.  Another
# suite's may be there, of another kind, which cannot become this one.
queue_made() {
	tc qdisc delete dev "$dev" root 2>/dev/null || :	# or none
	tc qdisc add dev "$dev" root handle 1: netem limit 100000
}

losing()	{ tc qdisc change dev "$dev" root handle 1: netem limit 100000 loss 100%; }
refusing()	{ tc qdisc change dev "$dev" root handle 1: netem limit 0; }
well()		{ tc qdisc change dev "$dev" root handle 1: netem limit 100000; }
down()		{ ip link set dev "$dev" down; }
up()		{ ip link set dev "$dev" up; }

listens() { # HOST
	on "$1" rdma resource show cm_id | grep -q LISTEN
}

listens_tcp() { # HOST PORT
	on "$1" ss -Hltn "sport = :$2" | grep -q .
}

# sent BYTES: has this host sent as much since $sent_before?
sent() {
	[ $(($(cat "/sys/class/net/$dev/statistics/tx_bytes") - sent_before)) -ge "$1" ]
}

# transfer PORT SERVER -- CLIENT: with $lasting seconds of $begin to $end in the middle
# of it; what became of the client.
transfer() {
	local port=$1 server=$2 client status=0

	shift 3
	# shellcheck disable=SC2086 # words
	on h2 timeout 120 $server >"$log.server" 2>&1 </dev/null &
	until_true listens_tcp h2 "$port"
	sent_before=$(cat "/sys/class/net/$dev/statistics/tx_bytes")
	timeout 60 "$@" >"$log.client" 2>&1 </dev/null &
	client=$!
	until_true sent 1000000
	$begin
	sleep "$lasting"
	$end
	wait $client || status=$?
	on h2 pkill -x "${server%% *}"
	wait
	case $status in
	0)	echo well ;;
	124)	echo stuck ;;
	*)	echo ended ;;
	esac
}

# in_trouble BEGIN END OUTCOME [LASTING]: of verbs and of TCP
in_trouble() {
	local begin=$1 end=$2 lasting=${4:-1} verbs tcp

	queue_made
	verbs=$(transfer 18515 "ib_send_bw -F -b -u 18 -D 8" -- ib_send_bw -F -b -u 18 -D 8 h2)
	tcp=$(transfer 5201 "iperf3 -s -1" -- iperf3 -c h2 -t 8)
	echo "# verbs $verbs, TCP $tcp"
	[ "$verbs $tcp" = "$3" ]
}

# Whether a new connection comes about.
connects() {
	local status=0

	on h2 timeout 60 rping -s -C 3 -a "$server" >/dev/null 2>&1 </dev/null &
	until_true listens h2
	timeout $((5 * factor)) rping -c -C 3 -a "$server" >"$log.client" 2>&1 </dev/null || status=$?
	on h2 pkill -x rping
	wait
	return $status
}

lost() {
	in_trouble losing well "well well"
}

# Linux 6.1 says it again until it is taken.
refused() {
	case ${SDP_KERNEL:-} in
	6.1)	in_trouble refusing well "well well" ;;
	*)	in_trouble refusing well "ended well" ;;
	esac
}

# Each answer that there is no buffer is an answer, except to Linux 6.1.
no_buffers() {
	local verbs must=well

	[ "${SDP_KERNEL:-}" = 6.1 ] && must=ended
	verbs=$("$bin/softroce_rnr" rxe0)
	echo "# verbs $verbs"
	[ "$verbs" = $must ]
}

# Neither data nor answers come, so that there may be nothing to send but what is
# repeated: after 1.07 s (-u 18), while it is down.
set_down() {
	in_trouble down up "ended well" 3
}

# The RDMA core says good-bye while the interface is down.  A new device alone helps.
set_down_under_the_cm() {
	queue_made
	connects || why "rping does not connect before anything was wrong"
	on h2 timeout 120 rping -s -P -C 100000000 -a "$server" >/dev/null 2>&1 </dev/null &
	until_true listens h2
	timeout 120 rping -c -C 100000000 -a "$server" >/dev/null 2>&1 </dev/null &
	sleep 2
	down
	pkill -x rping || :	# or it has ended by itself
	sleep 2
	up
	on h2 pkill -x rping || :
	wait
	! connects || why "rping connects again: soft-RoCE's QP1 has outlived it"
	rdma link delete rxe0
	rdma link add rxe0 type rxe netdev "$dev"
	connects || why "rping does not connect by a new device"
}

unload
on h2 rmmod af_sdp
run_case device.packets_lost lost
run_case device.packets_refused refused
run_case device.no_buffers no_buffers
run_case device.interface_down set_down
run_case device.interface_down_under_the_cm set_down_under_the_cm
up	# whatever ended a case
tc qdisc delete dev "$dev" root
on h2 insmod "$module"
insmod "$module"
rm -f "$log".*
finish
