#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The cases of sdp_pair, with the server on h2: selftests/pair.sh [ARGUMENT...]
# (those of sdp_pair: -t CASE, -v VARIANT); SDP_PAIR=sdp_link: those of that.
. "$(dirname "$0")/lib/ktap.sh"

rm -f "$log"
two_hosts || { echo "Bail out! pair.sh needs two hosts"; exit 2; }
pair=${SDP_PAIR:-sdp_pair}
on h2 "$bin/$pair" --server &
server=$!
trap 'kill $server 2>/dev/null' EXIT
"$bin/$pair" "$@"
status=$?
"$bin/$pair" --quit
wait $server || { echo "# the server ended with status $?"; status=1; }
exit $status
