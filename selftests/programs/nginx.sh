# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# nginx: workers that each have a listening socket of their own (SO_REUSEPORT),
# sendfile, bodies of requests, and a reload while clients come and go.

# shellcheck source=selftests/programs/lib-web.sh
. "$here/lib-web.sh"

nginx_server() {
	nginx_files
	nginx_conf 8080 "$there" >"$SDP_SHARE/case.conf"
	on h2 mkdir -m 777 "$there/case.root"
	server nginx -p "$there" -e stderr -c "$SDP_SHARE/case.conf"
	listening 8080
}

nginx_load() {
	nginx_server
	wrk_load 1k "$(amount 1 5)" "$(amount 20 200)"
	wrk_load 1M "$(amount 1 5)" 4
}

# New connections all the time, and from either worker.
nginx_workers() {
	nginx_server
	wrk_load 1k "$(amount 1 5)" 16 -H 'Connection: close'
	# shellcheck disable=SC2016 # awk's
	on h2 awk '$2 == 200 { n[$1]++ } END { for (w in n) print "# worker", w, "served", n[w] }' \
		"$there/case.log" >"$dir/workers"
	cat "$dir/workers"
	[ "$(wc -l <"$dir/workers")" = 2 ] || why "not both workers served"
}

workers() {
	on h2 sh -c "pgrep -P \$(cat '$there/case.pid')"
}

two_workers() {
	[ "$(workers | wc -l)" = 2 ]
}

no_worker_of() { # WORKERS: those have ended
	on h2 sh -c "! ps -p '$*' >/dev/null"
}

logged() {
	on h2 sh -c "wc -l <'$there/case.log'"
}

logged_so_many() {
	[ "$(logged)" -ge "$1" ]
}

more_answers() {
	until_true logged_so_many $(($(logged) + 16))
}

nginx_reload() {
	local old i began

	nginx_server
	wrk_start 1k 600 8 -H 'Connection: close'
	for ((i = 0; i < 2; i++)); do
		more_answers
		began=$SECONDS
		old=$(workers)
		on h2 sh -c "kill -HUP \$(cat '$there/case.pid')"
		# shellcheck disable=SC2086 # words
		until_true no_worker_of $old
		until_true two_workers
		echo "# reload: $((SECONDS - began)) s"
	done
	more_answers
	wrk_end now
	[ "$wrk_good" -gt 8 ] || why "only $wrk_good answers"
}

nginx_files_whole() {
	local size range by_sendfile

	nginx_server
	size=$(stat -c %s "$SDP_SHARE/file")
	by_sendfile=$(moved_by sendfile "$(workers)" client 120 curl -sS --fail -o "$dir/got" http://h2:8080/file)
	cmp "$dir/got" "$SDP_SHARE/file"
	echo "# $by_sendfile bytes by sendfile"
	[ "$by_sendfile" = "$size" ] || why "not all of the file's $size bytes"
	client 120 curl -sS --fail -o "$dir/got" http://h2:8080/file
	cmp "$dir/got" "$SDP_SHARE/file"
	client 120 curl -6 -sS --fail -o "$dir/got" http://h2:8080/file
	cmp "$dir/got" "$SDP_SHARE/file"
	range=$((size / 3))-$((size / 2))
	client 120 curl -sS --fail -r $range -o "$dir/got" http://h2:8080/file
	cmp -n $((size / 2 - size / 3 + 1)) "$dir/got" "$SDP_SHARE/file" 0 $((size / 3))
	# To the server, and back.
	client 120 curl -sS --fail -T "$SDP_SHARE/file" http://h2:8080/put/file
	on h2 cmp "$there/case.root/put/file" "$SDP_SHARE/file"
	# Several at once in one process, one connection used again.
	client 120 curl -sS --fail --no-progress-meter -Z --parallel-max 8 -o "$dir/got.#1" "http://h2:8080/1M?[1-16]"
	for f in "$dir"/got.*; do
		cmp "$f" "$SDP_SHARE/1M"
	done
	# Clients that go away do not matter to those that come.
	for f in 1 2 3; do
		client 20 curl -s --max-time 0.3 --limit-rate 100K -o /dev/null http://h2:8080/file || true
	done
	client 120 curl -sS --fail -o "$dir/got" http://h2:8080/1M
	cmp "$dir/got" "$SDP_SHARE/1M"
	carried $((4 * size + 17 * 1048576))
}

in_manners nginx.files nginx_files_whole
more in_manners nginx.load nginx_load
more in_manners nginx.workers nginx_workers
in_all_manners nginx.reload nginx_reload
