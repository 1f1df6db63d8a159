#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Zero copy on devices that are stricter than soft-RoCE: selftests/socket/card.sh, in a guest of
# scripts/vm --rxe.
. "$(dirname "$0")/../lib/ktap.sh"

begin
insmod "$(dirname "$module")/verbs_local.ko" || {
	echo "Bail out! there is no verbs_local: scripts/vm --rxe"
	exit 2
}
limit 900 "$bin/sdp_socket" -t 'zcopy_*' -t 'lease_*' -v family-v4 -v ulp-v6 || failed=1
run_case card.looks_at_local_addresses test "$(cat /sys/module/verbs_local/parameters/looked)" -gt 100
finish
