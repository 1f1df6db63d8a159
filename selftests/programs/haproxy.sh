# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# haproxy on h2 between wrk and curl on h1 and nginx on h1: it accepts and
# connects, checks its server's health, and moves bytes by splice.
# shellcheck source=selftests/programs/lib-web.sh
. "$here/lib-web.sh"

haproxy_server() {
	need haproxy nginx
	nginx_files
	nginx_conf 8083 "$dir" >"$SDP_SHARE/case.nginx"
	# shellcheck disable=SC2086
	launch h1 $use nginx -p "$dir" -e stderr -c "$SDP_SHARE/case.nginx"
	listening 8083 h1
	cat >"$SDP_SHARE/case.haproxy" <<-END
		global
			maxconn 500
			nbthread 2
			stats socket $there/case.stats level admin
		defaults
			timeout connect 10s
			timeout client 60s
			timeout server 60s
			timeout check 10s
			option splice-request
			option splice-response
		frontend web
			mode http
			bind *:8080
			bind :::8080 v6only
			default_backend web
		backend web
			mode http
			option httpchk GET /echo
			server s1 10.9.0.1:8083 check inter 200ms
		listen bytes
			mode tcp
			bind *:8082
			server s1 10.9.0.1:8083
	END
	server haproxy -W -db -p "$there/case.pid" -f "$SDP_SHARE/case.haproxy"
	listening 8080
	listening 8082
}

haproxy_load() {
	local size port by_splice

	haproxy_server
	wrk_load 1k "$(amount 1 5)" 10
	wrk_load 1k "$(amount 1 5)" 10 -H 'Connection: close'
	more wrk_load 1M 5 4
	size=$(stat -c %s "$SDP_SHARE/file")
	for port in 8080 8082; do
		by_splice=$(moved_by splice "$(on h2 sh -c "pgrep -P \$(cat '$there/case.pid')")" \
			client 120 curl -sS --fail -o "$dir/got" "http://h2:$port/file")
		cmp "$dir/got" "$SDP_SHARE/file"
		echo "# port $port: $by_splice bytes by splice, both ways"
		[ "$by_splice" -gt "$size" ] || why "not most of the file's $size bytes, into a pipe and out of it"
	done
	# Each byte went twice, from h1 to h2 and back.
	carried $((4 * size))
	# Its check sees a server that goes away.
	kill "${servers[0]}"
	until_true gone "${servers[0]}"
	until_true sh -c "[ \"\$($use curl -s -o /dev/null -w '%{http_code}' http://h2:8080/1k)\" = 503 ]"
}

in_manners haproxy.between haproxy_load
