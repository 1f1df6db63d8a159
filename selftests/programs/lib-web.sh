# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
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
	random file "$(amount 16 256)"
	[ -e "$SDP_SHARE/1k" ] || head -c 768 "$SDP_SHARE/1M" | base64 -w0 >"$SDP_SHARE/1k"
	chmod 644 "$SDP_SHARE"/{1k,1M,file}
}

# wrk_load NAME SECONDS CONNECTIONS OPTION...: each body is compared
wrk_load() {
	local name=$1 s=$2 c=$3 good bad size

	shift 3
	size=$(stat -c %s "$SDP_SHARE/$name")
	client $((s + 60)) env WANT="$SDP_SHARE/$name" wrk -t 2 -c "$c" -d "$s" --timeout 20s \
		-s "$selftests/programs/wrk.lua" "$@" "http://h2:8080/$name" >"$dir/wrk" 2>&1 || {
		cat "$dir/wrk"
		why "wrk failed"
	}
	good=$(sed -n 's/^bodies right: //p' "$dir/wrk")
	bad=$(sed -n 's/^bodies wrong: //p' "$dir/wrk")
	echo "# wrk $name${*:+ }$*: $good right, $bad wrong, $(grep 'Socket errors' "$dir/wrk" || echo no errors)"
	! grep -q 'Socket errors\|Non-2xx' "$dir/wrk" || { cat "$dir/wrk"; why "errors"; }
	[ "$good" -gt "$c" ] || why "only $good answers"
	[ "$bad" = 0 ] || why "$bad bodies are not the file"
	carried $((good * size))
}
