#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Integrity between two hosts (or of one with itself), every byte compared:
# selftests/stream.sh [BYTES [SEED...]]: for each connection and direction.
. "$(dirname "$0")/lib/ktap.sh"

bytes=${1:-16m}
shift
begin

transfer() { # OPTION...
	"$bin/sdp_stream" --self "$@" || return 1
}

between() { # OPTION...: the same on both sides
	local server

	on h2 "$bin/sdp_stream" --server "$@" &
	server=$!
	# The client tries again while nobody listens yet.
	"$bin/sdp_stream" --client "$@"
	wait $server
}

one=transfer
two_hosts && one=between
for seed in "${@:-1}"; do
	for proto in tcp door1 door2 door3; do
		set -- --proto "$proto" --seed "$seed" --bytes "$bytes"
		check "stream.$proto.v4.seed$seed" $one "$@" --conns 4 --both
		[ "$proto" = door1 ] ||
			check "stream.$proto.v6.seed$seed" $one "$@" -6 --conns 3 --both
		check "stream.$proto.one_way.seed$seed" $one "$@" --conns 1
		check "stream.$proto.tiny.seed$seed" $one "$@" --bytes 200k --max 100 --conns 2 --both
	done
done
finish
