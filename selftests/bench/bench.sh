#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench.sh two|one [OPTION...] [-- OPTION...]: run sdp_bench in the rig, from h1 to
# h2 or from h1 to itself.  Options go to the client; for those behind "--" there
# is another run, with another server.  Two are for this script: --set NAME=VALUE
# sets net.sdp.NAME on both hosts from that run on, and --as NAME is what sdp is
# called in the figures of that run.  On one host perftest's ib_send_lat -e
# is measured too: there its clock, the guest's cycle counter, counts instructions.
set -uo pipefail
where=$1
shift
bench=$(cd "$(dirname "$0")/../.." && pwd)/build/selftests/sdp_bench
over=tcp,sdp,fallback,rsockets,verbs
case $where in
two)	server=h2 ;;
one)	server=h1 over=$over,unix ;;
*)	echo "usage: bench.sh two|one [OPTION...]" >&2; exit 2 ;;
esac
# A connection is a descriptor, and --idle opens many.
ulimit -n 16384
address=$(getent ahostsv4 $server | awk 'NR == 1 { print $1 }')
status=0

# NAME=VALUE: of both hosts
set_both() {
	local host

	for host in h1 $server; do
		on "$host" sysctl -qw "net.sdp.$1" || status=1
	done
}

# OPTION...
session() {
	local word last='' as=sdp client=()

	for word; do
		case $last in
		--set)	set_both "$word" ;;
		--as)	as=$word ;;
		*)	case $word in --set | --as) ;; *) client+=("$word") ;; esac ;;
		esac
		last=$word
	done
	on $server sh -c "ulimit -n 16384; exec $bench --serve --over $over,verbs-write,verbs-read,tcp-zerocopy,sdp-zerocopy" &
	for _ in $(seq 300); do
		on $server sh -c "ss -Hltn 'sport = :9900' | grep -q ." && break
		sleep 0.1
	done
	"$bench" --host "$address" --over $over "${client[@]}" |
		sed "s/^\(@\t[a-z]*\t[0-9]*\t\)sdp\t/\1$as\t/" || status=1
	on $server pkill -x sdp_bench
	wait
}

# SIZE NS COUNT: one line of perftest's, turned into thousand instructions of NS ns
perftest() {
	ib_send_lat -e -F -s "$1" -n "$3" > /dev/null 2>&1 &
	for _ in $(seq 300); do
		ss -Hltn 'sport = :18515' | grep -q . && break
		sleep 0.1
	done
	# SIZE ITERATIONS LEAST GREATEST TYPICAL: microseconds of half a round trip
	ib_send_lat -e -F -s "$1" -n "$3" "$address" 2>&1 |
		awk -v ns="$2" -v count="$3" -v OFS='\t' '$2 == count && NF >= 7 {
			k = 2 / ns; unit = "thousand instructions a round trip"
			print "ib_send_lat -e, " $1 " B: " $5 * k " (" $3 * k ".." $4 * k ") " unit
			print "@", "ping", $1, "ib_send_lat -e", unit, $5 * k, $3 * k, $4 * k
			seen = 1
		}
		END { exit !seen }' || { echo "ib_send_lat gave no figure" >&2; status=1; }
	wait
}

ns='' divide=1 options=() last=''
for word; do
	case $last in
	--insn)		ns=$word ;;
	--divide)	divide=$word ;;
	esac
	last=$word
	if [ "$word" = -- ]; then
		session "${options[@]}"
		options=()
	else
		options+=("$word")
	fi
done
session "${options[@]}"
if [ "$where" = one ] && [ -n "$ns" ]; then
	for size in 1 64 1024 65536; do
		perftest $size "$ns" $((1000 / divide))
	done
fi
exit $status
