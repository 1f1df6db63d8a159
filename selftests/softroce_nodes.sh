#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A defect of soft-RoCE, without our module: what is left of a table that found no
# memory.  Its tables of objects are xarrays.  An xarray that has to grow by several
# nodes, and gets but some of them, keeps those, empty, until an index beside them is
# used; soft-RoCE takes a table for empty only if it has no node, warns when the
# device goes, and leaks them.  That is why lib/inject.c spares __rxe_add_to_pool().
# It takes two minutes and ends with a warning in the log; make check-all asks for both:
#
#	scripts/vm --hosts 1 --kernel uml-debug --timeout 400 -- selftests/softroce_nodes.sh
#
# Ends with 0 when the warning has come, and the rig with 99 for it.
cd "$(dirname "$(readlink -f "$0")")" || exit
bin=${SDP_SELFTESTS:-../build/selftests}
failslab=/sys/kernel/debug/failslab
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug

if [ "${1:-}" = strike ]; then
	# Where the function begins, and where the next one does.
	range=$(sort /proc/kallsyms | awk '$3 == "__rxe_add_to_pool" { from = $1 }
		from && $1 > from { print "0x" from, "0x" $1; exit }')
	# Three nodes are made, two for the height and one beside them.  The leaf is
	# not, nor when it is tried a second time.
	node=$(cat /sys/kernel/slab/radix_tree_node/slab_size)
	while read -r name value; do
		echo "$value" >$failslab/"$name" || exit
	done <<-END
		ignore-gfp-wait N
		task-filter N
		stacktrace-depth 32
		require-start ${range% *}
		require-end ${range#* }
		interval 1
		space $((3 * node + node / 2))
		times 2
		probability 100
	END
	exit
fi

[ -w $failslab/times ] || { echo "this kernel cannot inject faults: use uml-debug"; exit 2; }
rmmod af_sdp || exit
netdev=$(rdma link show rxe0/1 | sed 's/.* netdev \([^ ]*\).*/\1/')
"$bin/softroce_nodes" rxe0 "$PWD/softroce_nodes.sh strike" || exit
echo 0 >$failslab/probability
echo "faults left: $(cat $failslab/times)"
rdma link del rxe0
rdma link add rxe0 type rxe netdev "$netdev"
dmesg | grep -A 25 'WARNING: .*rxe_pool_cleanup'
