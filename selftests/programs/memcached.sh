# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# memcached: threads share its connections; it drops root.

memcached_load() { # CLIENTS ROUNDS
	need memcached
	server memcached -u nobody -p 11211 -U 0 -t 4 -m 256 -c 1024
	listening 11211
	client "$(amount 300 1200)" python3 "$selftests/programs/memcached.py" h2 11211 "$@" >"$dir/bytes"
	echo "# $(cat "$dir/bytes") bytes written and read back"
	carried "$(cat "$dir/bytes")"
}

in_manners memcached.load memcached_load "$(amount 8 50)" "$(amount 40 400)"
