# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the test scripts: cases that are shell functions, results as KTAP,
# where the programs are.
#
#	begin
#	run_case "name of the case" function [argument...]
#	finish
#
# A case runs in a subshell under "set -e"; it passes if it ends with 0.  What
# it prints is shown if it fails.  "why TEXT" prints why and fails.

set -u
selftests=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
bin=${SDP_SELFTESTS:-$selftests/../build/selftests}
tools=${SDP_TOOLS:-$selftests/../build/userspace}
module=${SDP_MODULE:-/run/rig/modules/af_sdp.ko}
variants=$("$selftests/lib/variants.sh")
factor=${SDP_TIME_FACTOR:-1}
factor=${factor%.*}
# Whatever rules this machine has are not the tests'.
export SDP_CONFIG_FILE=/dev/null
results=0 passed=0 failed=0
run=$tools/sdp_run
log=$(mktemp)

begin() {
	local f

	echo "TAP version 13"
	for f in "$bin/sdp_socket" "$run"; do
		[ -x "$f" ] || {
			echo "Bail out! $f is missing: make -C selftests; make -C userspace"
			exit 2
		}
	done
}

why() {
	echo "$*"
	exit 1
}

run_case() { # NAME FUNCTION [ARGUMENT...]
	local name=$1 status

	shift
	results=$((results + 1))
	( set -e; "$@" ) >"$log" 2>&1
	status=$?
	if [ $status = 0 ]; then
		passed=$((passed + 1))
		sed -n '/^# Totals/d; /^# /p' "$log"
		echo "ok $results - $name"
	else
		failed=$((failed + 1))
		sed 's/^# //; s/^/# /' "$log" | tail -n 60
		echo "# exit status $status"
		echo "not ok $results - $name"
	fi
}

finish() {
	rm -f "$log"
	echo "1..$results"
	echo "# Totals: pass:$passed fail:$failed skip:0"
	[ $failed = 0 ]
	exit
}

# limit SECONDS COMMAND...: with a limit that fits this machine
limit() {
	local s=$(($1 * factor))

	shift
	timeout -k 5 $s "$@" || {
		local status=$?

		[ $status != 124 ] || echo "no end after $s s: $*"
		return $status
	}
}

# until_true COMMAND...: look ten times a second, for 30 s
until_true() {
	local end=$((SECONDS + 30 * factor))

	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || why "not in time: $*"
		sleep 0.1
	done
}

two_hosts() {
	command -v on >/dev/null && on h2 true
}

unload() {
	# What earlier cases closed may take a moment to be over.
	until_true rmmod af_sdp
}

without_module() { # COMMAND...
	local status kept

	# What the whole run goes by is not its default.
	kept=$(sysctl net.sdp.connect_timeout net.sdp.cache_timeout net.sdp.local | tr -d ' ')
	unload
	# In a list of "||" nothing would end at its first failure.
	set +e
	( set -e; "$@" )
	status=$?
	set -e
	insmod "$module"
	sysctl -qw $kept
	return $status
}

counter() { # NAME [HOST]
	${2:+on "$2"} awk -v name="$1" '$1 == name { print $2 }' /proc/net/sdpstat
}

# Bytes that SDP carried at this host, in both directions.
sdp_bytes() {
	echo $(($(counter bytes_sent) + $(counter bytes_received)))
}

# Packets of the RDMA device, from the device itself.
rdma_packets() {
	local d=/sys/class/infiniband/rxe0/ports/1/hw_counters

	echo $(($(cat $d/sent_pkts) + $(cat $d/rcvd_pkts)))
}
