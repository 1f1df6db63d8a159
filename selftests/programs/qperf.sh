# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# qperf opens family 27 by itself, with no library; that family has no IPv6, so
# an address and no name.  Its control connection is TCP's.

qperf_native() {
	local before

	launch h2 qperf
	listening 19765
	before=$(sdp_bytes)
	limit 60 qperf 10.9.0.2 -t 2 sdp_bw sdp_lat >"$dir/qperf"
	sed 's/^/# /' "$dir/qperf"
	grep -q 'bw  *=' "$dir/qperf"
	grep -q 'latency  *=' "$dir/qperf"
	[ $(($(sdp_bytes) - before)) -ge 1000000 ] || why "$(($(sdp_bytes) - before)) bytes went by SDP"
	stop
}

native() { # FUNCTION...
	trap clean EXIT
	"$@"
}

run_case qperf.native native qperf_native
