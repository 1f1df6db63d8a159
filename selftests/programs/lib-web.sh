# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# shellcheck disable=SC2119,SC2120 # wrk_end: its argument is given elsewhere
# Sourced by those that serve by nginx and ask by wrk.

nginx_conf() { # PORT DIRECTORY, that has "share"
	cat <<-END
		worker_processes 2;
		user nobody nogroup;
		daemon off;
		pid $2/case.pid;
		error_log stderr warn;
		events { worker_connections 512; }
		http {
			sendfile on;
			tcp_nopush on;
			log_format workers '\$pid \$status';
			access_log $2/case.log workers;
			client_body_temp_path $2/case.body;
			client_max_body_size 0;
			proxy_temp_path $2/case.p1;
			fastcgi_temp_path $2/case.p2;
			uwsgi_temp_path $2/case.p3;
			scgi_temp_path $2/case.p4;
			server {
				listen $1 reuseport backlog=511;
				listen [::]:$1 ipv6only=on reuseport backlog=511;
				root $2/share;
				location /put/ {
					root $2/case.root;
					dav_methods PUT DELETE;
					create_full_put_path on;
				}
				location /echo {
					return 200 "\$request_id";
				}
			}
		}
	END
}

nginx_files() {
	need nginx wrk curl
	random 1M 1
	random file "$(amount 6 256)"
	[ -e "$SDP_SHARE/1k" ] || head -c 768 "$SDP_SHARE/1M" | base64 -w0 >"$SDP_SHARE/1k"
	chmod 644 "$SDP_SHARE"/{1k,1M,file}
}

# wrk_load NAME SECONDS CONNECTIONS OPTION...: each body is compared.  A slow machine
# is asked again, for longer, until there are more answers than connections.
wrk_load() {
	local name=$1 s=$2 answers=0 end=$((SECONDS + 60 * factor))

	shift 2
	while
		wrk_start "$name" "$s" "$@"
		wrk_end
		answers=$((answers + wrk_good))
		[ $answers -le "$1" ]
	do
		[ $SECONDS -lt $end ] || why "only $answers answers"
		s=$((2 * s))
	done
}

wrk_start() {
	local name=$1 s=$2 c=$3

	shift 3
	wrk_name=$name wrk_s=$s
	# shellcheck disable=SC2086
	$use env WANT="$SDP_SHARE/$name" wrk -t 2 -c "$c" -d "$s" --timeout 20s \
		-s "$selftests/programs/wrk.lua" "$@" "http://h2:8080/$name" >"$dir/wrk" 2>&1 &
	wrk=$!
}

# wrk_end [now]: wrk_good says how many answers there were
wrk_end() {
	local bad size end=$((SECONDS + wrk_s + 60 * factor))

	if [ -n "${1:-}" ]; then
		kill -0 "$wrk" || why "the load ended by itself"
		kill -INT "$wrk"
	fi
	until gone "$wrk"; do
		[ $SECONDS -lt $end ] || why "wrk does not end"
		sleep 0.1
	done
	wait "$wrk" || { cat "$dir/wrk"; why "wrk failed"; }
	size=$(stat -c %s "$SDP_SHARE/$wrk_name")
	wrk_good=$(sed -n 's/^bodies right: //p' "$dir/wrk")
	bad=$(sed -n 's/^bodies wrong: //p' "$dir/wrk")
	echo "# wrk $wrk_name: $wrk_good right, $bad wrong, $(grep 'Socket errors' "$dir/wrk" || echo no errors)"
	! grep -q 'Socket errors\|Non-2xx' "$dir/wrk" || { cat "$dir/wrk"; why "errors"; }
	[ "$bad" = 0 ] || why "$bad bodies are not the file"
	carried $((wrk_good * size))
}
