# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# redis: pipelined load, a child that saves while it serves, what was saved is
# what was served; a replica.

redis_cli() {
	client 60 redis-cli -h h2 "$@"
}

redis_server() {
	server redis-server --port 6379 --bind '*' '-::*' --protected-mode no --save '' \
		--dir "$there" --dbfilename case.rdb --enable-debug-command yes \
		--repl-diskless-sync-delay 0 --maxclients 2000
	listening 6379
	# It listens before it has loaded.
	until_true sh -c "$use redis-cli -h h2 ping | grep -q PONG"
}

redis_saving() { # 1 or 0
	redis_cli info persistence | grep -q "rdb_bgsave_in_progress:$1"
}

# redis_load CLIENTS REQUESTS
redis_load() {
	local clients=$1 requests=$2 size=$((4 << 20)) mass digest keys

	need redis-server redis-benchmark
	mass=$(amount 10000 50000)
	redis_server
	client 600 redis-benchmark -h h2 -P 16 -c "$clients" -n "$requests" -r 10000 -d 100 \
		-t set,get,incr,lpush,lrange_100 --csv >"$dir/bench" 2>"$dir/err" || {
		cat "$dir/bench" "$dir/err"
		why "redis-benchmark failed"
	}
	sed 's/^/# /' "$dir/bench"
	! grep -i "error" "$dir/bench" "$dir/err" || why "errors under load"
	for t in SET GET INCR LPUSH LRANGE_100; do
		grep -q "^\"$t" "$dir/bench" || why "no $t in the result"
	done
	# By mass: each reply is counted by the client, each key by the server.
	redis_cli flushall
	awk -v n="$mass" 'BEGIN { for (i = 0; i < n; i++) printf "SET key:%d value:%d\r\n", i, i }' \
		>"$dir/mass"
	redis_cli --pipe <"$dir/mass" >"$dir/out"
	grep -q "errors: 0, replies: $mass" "$dir/out" || { cat "$dir/out"; why "not all were set"; }
	[ "$(redis_cli dbsize)" = "$mass" ]
	[ "$(redis_cli get key:3141)" = value:3141 ]
	# A value of megabytes comes back as it went.
	random value 4
	head -c $((size * 3 / 4)) "$SDP_SHARE/value" | base64 -w0 >"$dir/value"
	redis_cli -x set big <"$dir/value" >/dev/null
	redis_cli get big | head -c $size | cmp - "$dir/value"
	# The child's copy is of one moment, while others write: it lives from before
	# the first of them until after the last.
	digest=$(redis_cli debug digest)
	keys=$(redis_cli dbsize)
	redis_cli config set rdb-key-save-delay $((4000000 * factor / keys)) >/dev/null
	redis_cli bgsave >/dev/null
	client 600 redis-benchmark -h h2 -P 16 -c 20 -n 2000 -r 10000 -d 100 -t set -q >"$dir/out" 2>&1 || {
		cat "$dir/out"
		why "redis-benchmark failed beside the child"
	}
	redis_saving 1 || why "the child had ended before those who wrote"
	echo "# $(($(redis_cli dbsize) - keys)) keys came while $keys were saved"
	[ "$(redis_cli dbsize)" -gt "$keys" ] || why "nobody wrote"
	[ "$(redis_cli debug digest)" != "$digest" ]
	until_true redis_saving 0
	redis_cli info persistence | grep -q 'rdb_last_bgsave_status:ok'
	on h2 redis-check-rdb "$there/case.rdb" | grep -q 'RDB looks OK'
	stop
	redis_server
	[ "$(redis_cli dbsize)" = "$keys" ]
	[ "$(redis_cli debug digest)" = "$digest" ] || why "what was saved is not what was there"
	carried $((2 * size + requests * 300))
}

# The other redis on h1 is the client here: it asks for all, and then follows.
redis_replica() {
	redis_server
	awk 'BEGIN { for (i = 0; i < 100000; i++) printf "SET key:%d value:%d\r\n", i, i }' \
		>"$dir/mass"
	redis_cli --pipe <"$dir/mass" >/dev/null
	# shellcheck disable=SC2086
	launch h1 $use redis-server --port 6380 --bind 127.0.0.1 --save '' --dir "$dir" \
		--replicaof h2 6379 --enable-debug-command yes --unixsocket "$dir/socket"
	until_true sh -c "redis-cli -s '$dir/socket' info replication | grep -q master_link_status:up"
	redis_cli set last one >/dev/null
	[ "$(redis_cli wait 1 10000)" = 1 ]
	[ "$(redis-cli -s "$dir/socket" debug digest)" = "$(redis_cli debug digest)" ] ||
		why "the replica is not a replica"
	carried 2000000
}

in_all_manners redis.load redis_load "$(amount 50 500)" "$(amount 2000 200000)"
more in_manners redis.replica redis_replica
