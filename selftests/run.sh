#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# All socket tests, inside a guest of two hosts:
#
#	make -C selftests; make -C userspace
#	scripts/vm --kernel uml --hosts 2 -- selftests/run.sh [quick|full] [SUITE...]
#
# SUITE: socket, pair, link, device, stream, preload (and the rules), perf, programs, capture,
# wire, mutate, module, fault (default: all that the number of hosts and the kernel allow, but
# link and device).  "full" moves gigabytes, and says 20,000 mutated messages where quick says 500.
# Output is KTAP, suite by suite; the last line is "N passed, N failed".
#
# In the environment:
#
#	SDP_TIME_FACTOR		how much slower than usual this machine is (default: by SDP_KERNEL)
#	SDP_BY_CLOCK		"no" leaves out what goes by the clock, which a busy machine disturbs
#	SDP_CASES		patterns of cases of the socket suite (default: all)
#	SDP_VARIANTS		patterns of its variants (lib/variants.def; default: all)
#	SDP_MODULE_VARIANTS	of the variants of the module suite
#	SDP_STREAM_BYTES	what each connection of the stream suite moves in each direction
#	SDP_PART		"1/2" is every second case of the wire suite, "2/2" the others
#	SDP_PROGRAMS		those of programs/ that the programs suite runs (default: all)
#	SDP_SEED		of the mutated messages (default: 1, and the date for "full")

cd "$(dirname "$(readlink -f "$0")")" || exit
how=quick
case ${1:-} in
quick|full)
	how=$1
	shift ;;
esac
case ${SDP_KERNEL:-} in
5.10 | 6.1 | 6.12 | newest)	default_factor=8 ;;
uml-debug | uml-smp)	default_factor=4 ;;
*)		default_factor=1 ;;
esac
export SDP_TIME_FACTOR=${SDP_TIME_FACTOR:-$default_factor}

suites=${*:-}
if [ -z "$suites" ]; then
	suites="socket stream preload perf module"
	if command -v on >/dev/null && on h2 true 2>/dev/null; then
		suites="socket pair stream preload perf programs capture wire mutate module"
	else
		echo "# one host: pair, programs, capture, wire and mutate are left out"
	fi
	if [ -e /proc/self/fail-nth ]; then
		suites+=" fault"
	else
		echo "# this kernel cannot inject faults: fault is left out"
	fi
fi

if [ $how = full ]; then
	stream_args="${SDP_STREAM_BYTES:-256m} 1 2"
	# Others each day; the log says which, and so does each that goes wrong.
	mutations="20000 ${SDP_SEED:-$(date +%Y%m%d)}"
else
	stream_args="${SDP_STREAM_BYTES:-16m} 1"
	mutations="500 ${SDP_SEED:-1}"
fi
variants=
set -f
for v in ${SDP_VARIANTS:-}; do
	variants+=" -v $v"
done
for v in ${SDP_CASES:-}; do
	variants+=" -t $v"
done
module_variants=
for v in ${SDP_MODULE_VARIANTS:-}; do
	module_variants+=" -v $v"
done
bin=${SDP_SELFTESTS:-../build/selftests}
passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# An attempt over SDP may take its time: a machine may be slow, and the RDMA core
# at the other end may wait a second for an IPv6 neighbour that has answered.
# What one case finds of a port number is nothing to the next one that gets it.
# A host that speaks to itself is to do so by SDP; whoever means it otherwise says so.
# Before each suite, since some load the module anew.
patience=${SDP_PATIENCE:-$(awk "BEGIN { print int(10000 * $SDP_TIME_FACTOR) }")}
be_patient() {
	local h

	command -v on >/dev/null || return
	for h in h1 h2; do
		on $h true 2>/dev/null &&
			on $h sysctl -qw "net.sdp.connect_timeout=$patience" net.sdp.cache_timeout=0 \
				net.sdp.local=0
	done
}

suite() { # NAME COMMAND...
	local name=$1 status p f start=$SECONDS

	shift
	be_patient
	echo "# suite $name: $*"
	"$@" | tee "$out"
	status=${PIPESTATUS[0]}
	p=$(grep -c '^ok ' "$out")
	f=$(grep -c '^not ok ' "$out")
	# It ended early, or says so itself: that is a failure, if no case was.
	if [ "$status" != 0 ] && [ "$f" = 0 ]; then
		echo "not ok - suite $name ended with status $status"
		f=1
	elif ! grep -q '^# Totals' "$out"; then
		echo "not ok - suite $name ended before its end"
		f=$((f + 1))
	fi
	echo "# suite $name: $p passed, $f failed, $((SECONDS - start)) s"
	passed=$((passed + p)) failed=$((failed + f))
}

# shellcheck disable=SC2086 # stream_args, variants, module_variants, mutations
for s in $suites; do
	case $s in
	socket)		suite socket socket/socket.sh $variants ;;
	pair)		suite pair pair/pair.sh ;;
	link)		suite link link/link.sh ;;
	device)		suite device device/device.sh ;;
	stream)		suite stream stream/stream.sh $stream_args ;;
	preload)	suite preload tools/preload.sh
			suite rules tools/rules.sh ;;
	perf)		suite perf tools/perf.sh ;;
	programs)	suite programs programs/programs.sh $how ;;
	capture)	suite capture wire/capture.sh ;;
	wire)		suite wire wire/wire.sh ;;
	mutate)		suite mutate wire/mutate.sh $mutations ;;
	module)		suite module "$bin/sdp_module" $module_variants ;;
	fault)		suite fault fault/fault.sh ;;
	*)		echo "not ok - no suite $s"; failed=$((failed + 1)) ;;
	esac
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
