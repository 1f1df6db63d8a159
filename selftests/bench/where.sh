#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where.sh: where the instructions of a connection go, those of both its ends and of
# soft-RoCE, as a table that adds up.  In a guest whose clock counts them (2 minutes):
#
#	scripts/vm --kernel 6.1 --icount --hosts 1 -- selftests/bench/where.sh
#
# sdp_bench opens and closes connections one after another, first as they are, then with
# the functions below traced by function_graph.  A function has what it took less what those
# of the list took that ran within it, as it called them or an interrupt did; while it
# sleeps it takes nothing.  The trace's own cost is taken off: what the least call took of
# each, and what is missing then to the difference of both runs of whatever was around it.
# "the rest" is where none of them was: scheduler, system calls but for the socket's, the
# program.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
bench=$top/build/selftests/sdp_bench
address=$(getent ahostsv4 h1 | awk 'NR == 1 { print $1 }')
tracing=/sys/kernel/tracing
ns=2

# Both ends are on this host, and are to go by the device.
sysctl -qw net.sdp.local=0

# GROUP FUNCTION [SIDE]; what runs within a function of a side is of that side.
functions="qp ib_create_qp_kernel
qp ib_modify_qp
qp ib_destroy_qp_user
cq sdp_cq_get
cq sdp_cq_put
buffers sdp_rx_start
buffers sdp_buf_purge
cm ib_create_cm_id
cm ib_send_cm_req client
cm ib_send_cm_rep server
cm ib_send_cm_rtu client
cm ib_send_cm_dreq
cm ib_send_cm_drep
cm ib_destroy_cm_id
cm ib_cm_init_qp_attr
cm cm_work_handler
cm ib_mad_recv_done
cm ib_mad_send_done
cm timeout_sends
address sdp_ib_route_source client
address __rdma_create_kernel_id client
address rdma_resolve_addr client
address rdma_resolve_route client
address rdma_destroy_id client
address process_one_req client
address cma_work_handler client
device rxe_do_task
device rxe_post_send
module sdp_ib_work
module sdp_rx_work
module sdp_verbs_open
module sdp_ib_try_req client
module sdp_ib_rep client
module sdp_ib_try_build server
module sdp_ib_req server
socket __x64_sys_socket client
socket __x64_sys_connect client
socket __x64_sys_accept server
socket __x64_sys_recvfrom client
socket ____fput"

# Thousand instructions of one, by the bench's own account
connections() {
	"$bench" --serve --over sdp &
	for _ in $(seq 300); do
		ss -Hltn 'sport = :9900' | grep -q . && break
		sleep 0.1
	done
	"$bench" --host "$address" --over sdp --insn $ns --rounds 1 --ping none \
		--stream none --connect --tsv 2> /dev/null |
		awk -F'\t' '$1 == "@" && $2 == "connect" { print $6 }'
	kill %%
	wait
}

plain=$(connections)
mountpoint -q $tracing || mount -t tracefs tracefs $tracing
while read -r _ f _; do
	echo "$f" || { echo "$f: this kernel cannot trace it" >&2; exit 1; }
done <<< "$functions" > $tracing/set_ftrace_filter
echo 65536 > $tracing/buffer_size_kb
echo 1 > $tracing/options/funcgraph-tail
echo 1 > $tracing/options/funcgraph-proc
echo 0 > $tracing/options/sleep-time
echo function_graph > $tracing/current_tracer || exit
traced=$(connections)
echo 0 > $tracing/tracing_on
awk -v plain="$plain" -v traced="$traced" -v ns=$ns '
	# What is known of functions comes first, then the trace.
	NR == FNR { group[$2] = $1; side[$2] = $3; next }
	# " CPU) COMM-PID | [MARK] TIME us | NAME [MODULE]() {", "...();", "} /* NAME [MODULE] */"
	!match($0, /-[0-9]+ +\|/) { next }
	{
		task = substr($0, RSTART + 1, RLENGTH - 2) + 0
		rest = substr($0, RSTART + RLENGTH)
		us = match(rest, /[0-9.]+ us/) ? substr(rest, RSTART, RLENGTH - 3) : ""
		sub(/^[^|]*\| */, "", rest)
	}
	rest ~ /\{$/ { begin(task, word(rest)) }
	rest ~ /;$/ { begin(task, word(rest)); end(task, us); if (!least || us < least) least = us }
	rest ~ /^\}/ && depth[task] { end(task, us) }
	function word(s) { sub(/^[^_a-zA-Z]*/, "", s); sub(/[^_a-zA-Z0-9].*/, "", s); return s }
	# The state that a queue pair goes to is known by where it does.
	function begin(task, f,    d, up) {
		d = ++depth[task]
		up = d > 1 ? name[task, d - 1] : ""
		of[task, d] = side[f] ? side[f] : d > 1 ? of[task, d - 1] : "either"
		if (f == "ib_modify_qp") {
			f = f (up == "sdp_verbs_open" ? ", INIT" : state[task, up]++ % 2 ? ", RTS" : ", RTR")
			group[f] = "qp"
		}
		name[task, d] = f
		inner[task, d] = 0
		within[task, d] = 0
	}
	function end(task, us,    d, key) {
		d = depth[task]--
		key = name[task, d] SUBSEP of[task, d]
		calls[key]++
		all++
		self[key] += us - inner[task, d]
		around[key] += within[task, d]
		if (d > 1) {
			inner[task, d - 1] += us
			within[task, d - 1]++
		}
	}
	END {
		for (key in calls)
			if (key ~ /^sdp_ib_try_req/)
				n += calls[key]
		# Thousand instructions: what a call costs more, and what of that it has itself.
		more = (traced - plain) * n / all
		own = least * 1000 / ns / 1000
		for (key in calls) {
			split(key, k, SUBSEP)
			f = k[1]
			cost = (self[key] / ns - calls[key] * own - around[key] * (more - own)) / n
			sum[group[f]] += cost
			by[group[f], k[2]] += cost
			total += cost
			line[f] += cost
			times[f] += calls[key] / n
		}
		printf "%d connections: %.1f thousand instructions each, %.1f traced; ", n, plain, traced
		printf "a traced call %.2f more, %.2f of them its own\n\n", more, own
		printf "%-28s %8s %8s %8s %8s\n", "", "times", "thousand", "share", ""
		for (f in line)
			printf "%-28s %8.2f %8.2f %7.1f%% %s\n", f, times[f], line[f],
				100 * line[f] / plain, group[f] | "sort -k5,5 -k3,3nr"
		close("sort -k5,5 -k3,3nr")
		printf "\n%-28s %8s %8s %8s %8s %8s\n", "", "thousand", "share", "client", "server", "either"
		for (g in sum)
			printf "%-28s %8.1f %7.1f%% %8.1f %8.1f %8.1f\n", g, sum[g],
				100 * sum[g] / plain, by[g, "client"], by[g, "server"], by[g, "either"]
		printf "%-28s %8.1f %7.1f%%\n", "the rest", plain - total, 100 * (1 - total / plain)
	}' <(echo "$functions") $tracing/trace
status=$?
echo nop > $tracing/current_tracer
echo > $tracing/set_ftrace_filter
echo 1 > $tracing/tracing_on
exit $status
