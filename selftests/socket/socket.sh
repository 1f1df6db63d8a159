#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The socket suite: selftests/socket/socket.sh [ARGUMENT...] (those of sdp_socket: -t CASE,
# -v VARIANT).  The kernel's own runner runs it too, see the Makefile.  Ends with 4, which
# is KTAP's "skipped", where what it needs is not there.
here=$(dirname "$(readlink -f "$0")")

skip() {
	echo "# $*"
	exit 4
}

for bin in "${SDP_SELFTESTS:-$here}" "$here/../../build/selftests"; do
	[ ! -x "$bin/sdp_socket" ] || break
done
[ -x "$bin/sdp_socket" ] || { echo "Bail out! $bin/sdp_socket is missing: make -C selftests"; exit 1; }
[ "$(id -u)" = 0 ] || skip "this needs root"
[ -e /proc/net/sdpstat ] || modprobe -q af_sdp || skip "there is no module af_sdp"
[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] || skip "there is no RDMA device"
[ -d /run/rig ] || [ -n "${SDP_ADDR4:-}" ] ||
	skip "SDP_ADDR4 does not say which address of this host an RDMA device has (SDP_ADDR6, the other)"

# An attempt may take its time, and what one case finds of a port is nothing to the next.
was=$(sysctl net.sdp.connect_timeout net.sdp.cache_timeout | tr -d ' ')
# shellcheck disable=SC2086 # words
trap 'sysctl -qw $was' EXIT
factor=${SDP_TIME_FACTOR:-1}
sysctl -qw net.sdp.connect_timeout="${SDP_PATIENCE:-$((10000 * ${factor%.*}))}" \
	net.sdp.cache_timeout=0
# Another status is no failure to kselftest: 2 is one that was expected.
"$bin/sdp_socket" "$@" || exit 1
