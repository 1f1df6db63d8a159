#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench.sh two|one [OPTION...]: run sdp_bench in the rig, from h1 to h2 or from
# h1 to itself.  Options go to the client.
set -u
where=$1
shift
bench=$(cd "$(dirname "$0")/../.." && pwd)/build/selftests/sdp_bench
over=tcp,sdp,rsockets,verbs
case $where in
two)	server=h2 ;;
one)	server=h1 over=$over,unix ;;
*)	echo "usage: bench.sh two|one [OPTION...]" >&2; exit 2 ;;
esac
on $server "$bench" --serve --over $over &
for _ in $(seq 300); do
	on $server sh -c "ss -Hltn 'sport = :9900' | grep -q ." && break
	sleep 0.1
done
"$bench" --host "$(getent ahostsv4 $server | awk 'NR == 1 { print $1 }')" --over $over "$@"
status=$?
on $server pkill -x sdp_bench
wait
exit $status
