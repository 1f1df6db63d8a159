#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two defects without our module, one of soft-RoCE and one of the RDMA core: what is
# left of a table that found no memory.  Their tables of objects are xarrays.  An
# xarray that has to grow by several nodes, and gets but some of them, keeps those,
# empty, until an index beside them is used; both take a table for empty only if it has
# no node, warn when the device goes, and leak them.  A table is asked for a node twice,
# by __xas_nomem() the second time: that is why the fault cases spare it.
# It takes some minutes and ends with two warnings in the log; make check-all asks for
# them:
#
#	scripts/vm --hosts 1 --kernel uml-debug --timeout 900 -- selftests/device/softroce_nodes.sh
#
# Ends with 0 when the warnings have come, and the rig with 99 for them.
cd "$(dirname "$(readlink -f "$0")")" || exit
bin=${SDP_SELFTESTS:-../../build/selftests}
failslab=/sys/kernel/debug/failslab
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug

# strike FUNCTION NODES: it gets so many nodes, and not the leaf, nor when that is tried
# a second time.
strike() {
	local range node name value
	# Where the function begins, and where the next one does.
	range=$(sort /proc/kallsyms | awk -v name="$1" '$3 == name { from = $1 }
		from && $1 > from { print "0x" from, "0x" $1; exit }')
	[ "$(cat $failslab/probability)" = 0 ] || [ "$(cat $failslab/times)" = 0 ] ||
		{ echo "the faults before were not met"; exit 2; }
	[ -n "$range" ] || { echo "no $1() in /proc/kallsyms"; exit 2; }
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
		space $(($2 * node + node / 2))
		times 2
		probability 100
	END
}

if [ "${1:-}" = strike ]; then
	strike "$2" "$3"
	exit
fi
[ -w $failslab/times ] || { echo "this kernel cannot inject faults: use uml-debug"; exit 2; }
rmmod af_sdp || exit
netdev=$(rdma link show rxe0/1 | sed 's/.* netdev \([^ ]*\).*/\1/')
# A table of low numbers alone grows by two nodes for the height and one beside them;
# the core's is as high as the number of the special queue pair asks from the beginning.
# What the device has no place for gets a lower number in the end: so that comes last.
"$bin/softroce_nodes" rxe0 "$PWD/softroce_nodes.sh strike rdma_restrack_add 1" \
	"$PWD/softroce_nodes.sh strike __rxe_add_to_pool 3" || exit
echo 0 >$failslab/probability
rdma link del rxe0
rdma link add rxe0 type rxe netdev "$netdev"
for f in rdma_restrack_clean rxe_pool_cleanup; do
	dmesg | grep -A 25 "WARNING: .*$f" || { echo "no warning of $f()"; exit 1; }
done
