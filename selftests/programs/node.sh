# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# node.js: http in an event loop, bodies both ways, kept and new connections.

node_http() { # REQUESTS AT-ONCE
	need node
	server node "$selftests/programs/node.js" serve 8084
	listening 8084
	client 300 node "$selftests/programs/node.js" ask h2 8084 "$@" >"$dir/bytes"
	echo "# $(cat "$dir/bytes") bytes there and back"
	carried "$(cat "$dir/bytes")"
}

in_manners node.http node_http "$(amount 80 5000)" "$(amount 20 200)"
