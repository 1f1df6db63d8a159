#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The cases of sdp_link, with the server on h2: selftests/link/link.sh [ARGUMENT...] (those of
# sdp_link: -t CASE, -v VARIANT).
SDP_PAIR=sdp_link exec "$(dirname "$(readlink -f "$0")")/../pair/pair.sh" "$@"
