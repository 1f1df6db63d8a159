#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is on the wire is what the module says it sent, and what the protocol
# text says that means: connections between h1 and h2 are captured while the
# trace points of both hosts record every message, and each message must be the
# same to three readers: the trace points, Wireshark's dissector, and our own
# decoder (lib/sdp_decode.py).  For a link that loses nothing.
. "$(dirname "$0")/../lib/ktap.sh"

dir=$(mktemp -d "$SDP_SHARE/capture.XXXXXX")
trap 'rm -rf "$dir"' EXIT
export PYTHONDONTWRITEBYTECODE=1

witnesses() {
	limit "$1" python3 "$selftests/wire/capture.py" "$2" "$dir"
}

# What that check of capture.py had to say.
compare() {
	cat "$dir/$1.said" || {
		cat "$dir/compared"
		return 1
	}
	[ -e "$dir/$1.right" ]
}

vectors() {
	python3 "$selftests/lib/sdp_decode.py" --vectors
}

begin
two_hosts || { echo "Bail out! capture.sh needs two hosts"; exit 2; }
run_case capture.golden_vectors vectors
run_case capture.record witnesses 60 record
witnesses 300 compare > "$dir/compared" 2>&1
run_case capture.complete compare capture
run_case capture.hello compare hello
run_case capture.posted_is_on_the_wire compare posted
run_case capture.wire_is_heard compare heard
run_case capture.streams compare streams
run_case capture.ends compare ends
run_case capture.buffers compare buffers
run_case capture.zero_copy compare zero_copy
run_case capture.tshark_hello compare tshark_hello
run_case capture.tshark_messages compare tshark_messages
finish
