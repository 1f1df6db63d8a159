# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# curl and wget with Python's server, a thread for each connection.

python_server() {
	need python3 curl wget
	server python3 -m http.server --bind :: --directory "$SDP_SHARE" 8000
	listening 8000
}

# curl_get CURL-OPTION...
curl_get() {
	local i

	random file "$(amount 2 256)"
	python_server
	for i in 1 2 3; do
		client 120 curl -sS --fail -o "$dir/got" "$@" http://h2:8000/file
		cmp "$dir/got" "$SDP_SHARE/file"
	done
	# Errors are errors still.
	! client 60 curl -sS --fail -o /dev/null "$@" http://h2:8000/nonesuch ||
		why "a file that is not there was served"
	stop
	! client 60 curl -sS -o /dev/null "$@" http://h2:8000/file 2>"$dir/err" || why "served by nobody"
	grep -qi "refused\|connect to" "$dir/err" || { cat "$dir/err"; why "another error"; }
	carried $((i * $(stat -c %s "$SDP_SHARE/file")))
}

# A tree by following links; the rest of a file that was cut off.
wget_tree() {
	local i size

	mkdir -p "$SDP_SHARE/case.tree/sub"
	for ((i = 0; i < 20; i++)); do
		head -c $((i * 9973)) /dev/urandom >"$SDP_SHARE/case.tree/sub/file.$i"
	done
	random file "$(amount 2 256)"
	size=$(stat -c %s "$SDP_SHARE/file")
	python_server
	client 120 wget -q -r -np -nH -P "$dir/got" -R 'index.html*' --cut-dirs=1 http://h2:8000/case.tree/
	diff -r "$SDP_SHARE/case.tree" "$dir/got"
	client 120 wget -q -O "$dir/file" http://h2:8000/file
	cmp "$dir/file" "$SDP_SHARE/file"
	carried "$size"
}

in_all_manners curl.v4 curl_get -4
more in_manners curl.v6 curl_get -6
besides run_case curl.off in_manner off curl_get -4
in_manners wget.tree wget_tree
