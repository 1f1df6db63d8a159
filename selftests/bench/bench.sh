#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench.sh two|one [OPTION...] [-- OPTION...]: run sdp_bench in the rig, from h1 to
# h2 or from h1 to itself.  Options go to the client; for those behind "--" there
# is another run, with another server.  Two are for this script: --set NAME=VALUE
# sets net.sdp.NAME on both hosts from that run on, and --as NAME is what sdp, or
# sdp-zerocopy or local where those are measured alone, is called in the figures of that run.
# On one host a run over "local" has net.sdp.local 1, and all others 0: with 1 a socket
# would not go by the device there.  So "local" is beside tcp and unix alone.
# --pieces SIZE makes one of what each step of lending costs instead: a stream of writes
# of SIZE, by ftrace's function graph; --steps one of what a connection asks of the device.
# On one host perftest's ib_send_lat -e is measured beside "verbs": there its clock, the
# guest's cycle counter, counts instructions.
set -uo pipefail
where=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
bench=$top/build/selftests/sdp_bench
library=${SDP_TOOLS:-$top/build/userspace}/libsdp_preload.so
over=tcp,sdp,fallback,library,rsockets,verbs
case $where in
two)	server=h2 ;;
one)	server=h1 over=$over,unix ;;
*)	echo "usage: bench.sh two|one [OPTION...]" >&2; exit 2 ;;
esac
# A connection is a descriptor, and --idle opens many.
ulimit -n 16384
address=$(getent ahostsv4 $server | awk 'NR == 1 { print $1 }')
status=0
verbs=''

# NAME=VALUE: of both hosts
set_both() {
	local host

	for host in h1 $server; do
		on "$host" sysctl -qw "net.sdp.$1" || status=1
	done
}

# Those that are closed are gone, and not for a minute part of what comes after them.
no_time_wait() {
	local host

	for host in h1 $server; do
		on "$host" sysctl -qw net.ipv4.tcp_max_tw_buckets=0 || status=1
	done
}

# OPTION...
session() {
	local word last='' as='' over_one='sdp' client=() both=() beside=$over to=$address joined=0

	for word; do
		case $last in
		--set)	set_both "$word" ;;
		--as)	as=$word ;;
		--over)	case $word in
			sdp-zerocopy | local) over_one=$word ;;
			esac
			beside=$word client+=("$word") ;;
		*)	case $word in
			--set | --as) ;;
			--idle)	no_time_wait
				client+=("$word") ;;
			--huge | --epoll)
				both+=("$word") client+=("$word") ;;
			*)	client+=("$word") ;;
			esac ;;
		esac
		last=$word
	done
	case ,$beside, in
	*,verbs,*)	verbs=1 ;;
	*,local,*)	joined=1 to=127.0.0.1 ;;
	esac
	if [ $joined = 0 ]; then
		both+=(--over "$over,verbs-write,verbs-read,tcp-zerocopy,sdp-zerocopy")
	elif [ "$where" = one ] && [[ $beside =~ ^((tcp|unix|local),?)+$ ]]; then
		both+=(--over "tcp,unix,local")
	else
		echo "bench.sh: $where, $beside: \"local\" is of one host, beside tcp and unix" >&2
		status=2
		return
	fi
	[ "$where" = two ] || set_both local=$joined
	on $server sh -c "ulimit -n 16384; exec $bench --serve ${both[*]}" &
	for _ in $(seq 300); do
		on $server sh -c "ss -Hltn 'sport = :9900' | grep -q ." && break
		sleep 0.1
	done
	"$bench" --host "$to" --library "$library" --over $over "${client[@]}" |
		sed "s/^\(@\t[a-z-]*\t[0-9]*\t\)$over_one\t/\1${as:-$over_one}\t/" || status=1
	on $server pkill -x sdp_bench
	wait
}

# What is done for each piece that is lent: function, and what it is.
piece="sdp_umem_pin=pin pin_user_pages_fast=the_kernel's_part_of_that
sdp_ib_lend=map,_choose_key sdp_qp_post_send=register,_post_SrcAvail
sdp_qp_post_invalidate=post_invalidation sdp_ib_dereg=unmap sdp_umem_unpin=unpin"

# What a connection asks of the device, and what it would ask if nothing were kept.
connection="ib_create_qp_kernel=make_a_queue_pair ib_modify_qp=change_its_state
ib_destroy_qp_user=destroy_it __ib_create_cq=make_a_completion_queue
ib_destroy_cq_user=destroy_it_(completion_queue) ib_alloc_mr=make_a_registration
ib_dereg_mr_user=destroy_it_(registration)"

tracing=/sys/kernel/tracing

# STEPS OPTION...: a session, and the time that each call of these functions took
traced() {
	local steps=$1 step

	shift
	mountpoint -q $tracing || mount -t tracefs tracefs $tracing
	for step in $steps; do
		echo "${step%%=*}"
	done > $tracing/set_ftrace_filter || { status=1; return 1; }
	echo 8192 > $tracing/buffer_size_kb
	echo 1 > $tracing/options/funcgraph-tail
	# What others run while a function sleeps is not its own.
	echo 0 > $tracing/options/sleep-time
	echo function_graph > $tracing/current_tracer || { status=1; return 1; }
	session --over sdp "$@" > /dev/null
	sleep "$idle"
	echo 0 > $tracing/tracing_on
}

untraced() {
	echo nop > $tracing/current_tracer
	echo > $tracing/set_ftrace_filter
	echo 1 > $tracing/tracing_on
}

# SHAPE SIZE NAME=WHAT NS [PER]: its cost each time, and with PER, a function that is called
# twice for each of what is counted, how often for each
cost() {
	# "CPU) TIME us | name [module]();", or at its end "} /* name [module] */"
	awk -v shape="$1" -v size="$2" -v f="${3%%=*}" -v what="${3#*=}" -v ns="$4" -v per="${5:-}" \
		-v OFS='\t' '
		!match($0, /[0-9.]+ us/) { next }
		index($0, f) { t += substr($0, RSTART, RLENGTH - 3); n++ }
		per && index($0, per) { pairs++ }
		END {
			if (!n || (per && !pairs)) { print f ": not in the trace" > "/dev/stderr"; exit 1 }
			gsub(/_/, " ", what)
			k = t / n / ns
			unit = "thousand instructions each time"
			print what ", " size ": " k " " unit " (" n " times)"
			print "@", shape, size, what, unit, k
			if (per)
				print "@", shape, size, what, "times for each", 2 * n / pairs
		}' $tracing/trace || status=1
}

# SIZE NS OPTION...: the stream, and the profile
pieces() {
	local size=$1 ns=$2 step idle=0

	shift 2
	traced "$piece" --stream "$size" --ping none "$@" || return
	for step in $piece; do
		cost piece $((${size%k} * 1024)) "$step" "$ns"
	done
	untraced
}

# NS OPTION...: connections, of which some lend, and what is kept is destroyed; the profile
steps() {
	local ns=$1 step idle=25

	shift
	traced "$connection" --connect --stream 64k --ping none "$@" || return
	for step in $connection; do
		cost step 0 "$step" "$ns" "${connection%%=*}"
	done
	untraced
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

run_options() {
	case ${options[0]:-} in
	--pieces)	pieces "${options[1]}" "$ns" "${options[@]:2}" ;;
	--steps)	steps "$ns" "${options[@]:1}" ;;
	*)		session "${options[@]}" ;;
	esac
}

ns='' divide=1 options=() last=''
for word; do
	case $last in
	--insn)		ns=$word ;;
	--divide)	divide=$word ;;
	esac
	last=$word
	if [ "$word" = -- ]; then
		run_options
		options=()
	else
		options+=("$word")
	fi
done
run_options
if [ "$where" = one ] && [ -n "$ns" ] && [ -n "$verbs" ]; then
	for size in 1 64 1024 65536; do
		perftest $size "$ns" $((1000 / divide))
	done
fi
exit $status
