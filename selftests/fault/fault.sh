#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that is not there, and devices that have no more of something:
# selftests/fault/fault.sh [ARGUMENT...] (those of sdp_fault: -t CASE, -v VARIANT).
# One host talks to itself: the faults are then at both ends.
. "$(dirname "$0")/../lib/ktap.sh"

rm -f "$log"
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
# As run.sh has it: an attempt may take its time, and nothing is remembered.
sysctl -qw "net.sdp.connect_timeout=$((10000 * factor))" net.sdp.cache_timeout=0 \
	net.sdp.local=0
exec "$bin/sdp_fault" "$@"
