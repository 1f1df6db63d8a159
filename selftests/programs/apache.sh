# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# apache, prefork: a process for each connection, accepting in turn; graceful
# restart.

# A client with 40 connections on a busy machine may be late with the next request
# of one: after the usual 5 s apache would have closed it, and ab, told of that when
# it has asked, would count a failure, by TCP as well.
apache_server() {
	local modules=/usr/lib/apache2/modules

	need apache2 ab curl
	random 1M 1
	random file "$(amount 6 256)"
	chmod 644 "$SDP_SHARE"/{1M,file}
	cat >"$SDP_SHARE/case.conf" <<-END
		ServerRoot $there
		ServerName h2
		PidFile $there/case.pid
		DefaultRuntimeDir $there
		Mutex pthread
		Listen 8081
		User nobody
		Group nogroup
		ErrorLog /proc/self/fd/2
		LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		StartServers 4
		MaxRequestWorkers 64
		MaxConnectionsPerChild 200
		KeepAlive On
		KeepAliveTimeout 60
		MaxKeepAliveRequests 0
		EnableSendfile On
		DocumentRoot $there/share
	END
	server apache2 -d "$there" -f "$SDP_SHARE/case.conf" -DFOREGROUND
	listening 8081
}

# ab_load REQUESTS CONNECTIONS OPTION...
ab_load() {
	local n=$1 c=$2

	shift 2
	client 300 ab -q -s 60 -n "$n" -c "$c" "$@" http://h2:8081/1M >"$dir/ab" 2>&1 || {
		cat "$dir/ab"
		why "ab failed"
	}
	grep -q "^Complete requests: *$n\$" "$dir/ab" || { cat "$dir/ab"; why "not all are complete"; }
	grep -q '^Failed requests: *0$' "$dir/ab" || { cat "$dir/ab"; why "some failed"; }
	! grep -q '^Non-2xx\|^Write errors: *[1-9]' "$dir/ab" || { cat "$dir/ab"; why "errors"; }
	grep -q "^HTML transferred: *$((n << 20)) " "$dir/ab" || { cat "$dir/ab"; why "other bytes"; }
	carried $((n << 20))
}

apache_load() {
	local old

	apache_server
	ab_load "$(amount 10 2000)" 10
	ab_load "$(amount 10 2000)" "$(amount 10 40)" -k
	client 120 curl -sS --fail -o "$dir/got" http://h2:8081/file
	cmp "$dir/got" "$SDP_SHARE/file"
	# Children end when they have served, and at once when they are idle; the
	# parent wakes those by connections to itself.
	old=$(on h2 sh -c "pgrep -P \$(cat '$there/case.pid')")
	on h2 sh -c "kill -USR1 \$(cat '$there/case.pid')"
	until_true on h2 sh -c "! ps -p '${old//$'\n'/,}' >/dev/null"
	ab_load "$(amount 10 2000)" 10
	client 120 curl -sS --fail -o "$dir/got" http://h2:8081/file
	cmp "$dir/got" "$SDP_SHARE/file"
}

in_manners apache.prefork apache_load
