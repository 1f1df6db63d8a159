# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# socat: half close both ways, a child for each connection, options by name.

# socat_echo OPTIONS: what goes in comes out, after the writer has closed
socat_echo() {
	local size

	need socat
	random file "$(amount 6 256)"
	size=$(stat -c %s "$SDP_SHARE/file")
	server socat -T 60 "TCP6-LISTEN:9000,fork,reuseaddr,ipv6only=0,backlog=100$1" EXEC:cat
	listening 9000
	client "$(amount 120 900)" socat -T 60 -t 60 - "TCP:h2:9000$1" <"$SDP_SHARE/file" >"$dir/got"
	cmp "$dir/got" "$SDP_SHARE/file"
	client "$(amount 120 900)" socat -T 60 -t 60 -b 1000 - "TCP6:h2:9000$1" <"$SDP_SHARE/file" >"$dir/got"
	cmp "$dir/got" "$SDP_SHARE/file"
	# Nothing at all, and the end of it.
	client 60 socat -t 60 - "TCP4:10.9.0.2:9000$1" </dev/null >"$dir/got"
	[ ! -s "$dir/got" ]
	carried $((4 * size))
}

in_manners socat.echo socat_echo ''
more in_manners socat.options socat_echo ,nodelay,keepalive,linger=5,sndbuf=100000,rcvbuf=100000,tos=16
