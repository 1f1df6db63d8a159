# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# PostgreSQL: a process for each connection, run as another user; pgbench's
# sums; COPY both ways; cancel, whose second connection is opened by a signal
# handler; a backend that is terminated.

pg=/usr/lib/postgresql/15/bin

as_postgres() {
	on h2 setpriv --reuid=postgres --regid=postgres --init-groups "$@"
}

# Once for all manners.
postgres_data() {
	need $pg/initdb $pg/pgbench
	on h2 test ! -e "$there/pg" || return 0
	on h2 install -d -o postgres -m 700 "$there/pg"
	as_postgres $pg/initdb -D "$there/pg" --no-sync --auth=trust --encoding=UTF8 \
		--no-locale >"$dir/initdb" 2>&1 || { cat "$dir/initdb"; why "initdb failed"; }
	on h2 sh -c "printf 'host all all 0.0.0.0/0 trust\nhost all all ::0/0 trust\n' >>'$there/pg/pg_hba.conf'"
}

postgres_server() {
	postgres_data
	# shellcheck disable=SC2086
	launch h2 setpriv --reuid=postgres --regid=postgres --init-groups $serve \
		$pg/postgres -D "$there/pg" -c listen_addresses='*' -c port=5433 \
		-c unix_socket_directories= -c fsync=off -c shared_buffers=32MB \
		-c max_connections=100 -c client_min_messages=warning
	listening 5433
	until_true client 20 $pg/pg_isready -h h2 -p 5433
}

sql() { # COMMAND...: what it selects
	client 300 $pg/psql -X -h h2 -p 5433 -U postgres -v ON_ERROR_STOP=1 -Atqc "$@"
}

bench() {
	client 600 $pg/pgbench -h h2 -p 5433 -U postgres "$@" postgres >"$dir/bench" 2>&1 || {
		cat "$dir/bench"
		why "pgbench failed"
	}
}

postgres_load() { # CLIENTS TRANSACTIONS
	local all=$(($1 * $2)) sums sent

	postgres_server
	bench -i -s 1 -q
	bench -n -c "$1" -j 2 -t "$2"
	grep -q "actually processed: $all/$all" "$dir/bench" || { cat "$dir/bench"; why "not all were processed"; }
	grep -q 'failed transactions: 0' "$dir/bench" || { cat "$dir/bench"; why "transactions failed"; }
	# What pgbench does keeps these equal.
	sums=$(sql 'select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers),
		(select sum(bbalance) from pgbench_branches), (select sum(delta) from pgbench_history),
		(select count(*) from pgbench_history)')
	echo "# sums: $sums"
	[ "$(tr '|' '\n' <<<"$sums" | head -n 4 | uniq | wc -l)" = 1 ] || why "the sums differ: $sums"
	[ "${sums##*|}" = $all ] || why "history has other rows: $sums"
	# A connection for each transaction, and prepared statements.
	bench -n -C -c 4 -t 10 -S
	bench -n -M prepared -c 4 -t 50 -S
	# A table out, into another, and the same.
	sql '\copy pgbench_accounts to stdout' >"$dir/table"
	sent=$(stat -c %s "$dir/table")
	sql 'drop table if exists again; create table again (like pgbench_accounts)'
	sql '\copy again from stdin' <"$dir/table"
	[ "$(sql 'select count(*) from (table again except all table pgbench_accounts) x')" = 0 ]
	[ "$(sql 'select count(*) from again')" = 100000 ]
	# A row of megabytes.
	[ "$(sql "select repeat('0123456789', 1000000)" | md5sum)" = \
		"$(yes 0123456789 | head -n 1000000 | tr -d '\n' | cat - <(echo) | md5sum)" ]
	carried $((2 * sent + 10000000))
	stop INT
}

active() { # WORD: a backend runs a query with it
	[ "$(sql "select count(*) from pg_stat_activity where state = 'active' and query like '%$1(600)%' and pid <> pg_backend_pid()")" = 1 ]
}

postgres_cancel() {
	local pid start=$SECONDS

	postgres_server
	# shellcheck disable=SC2086
	$use $pg/psql -X -h h2 -p 5433 -U postgres -c 'select pg_sleep(600)' >"$dir/cancel" 2>&1 &
	pid=$!
	until_true active sleep
	kill -INT $pid
	wait $pid && why "a cancelled query succeeded"
	grep -q 'canceling statement due to user request' "$dir/cancel" || { cat "$dir/cancel"; why "not cancelled"; }
	# shellcheck disable=SC2086
	$use $pg/psql -X -h h2 -p 5433 -U postgres -c 'select pg_sleep(600)' >"$dir/cancel" 2>&1 &
	pid=$!
	until_true active sleep
	[ "$(sql "select pg_terminate_backend(pid) from pg_stat_activity where query like '%sleep(600)%' and pid <> pg_backend_pid()")" = t ]
	wait $pid && why "a terminated session succeeded"
	grep -q 'terminating connection due to administrator command' "$dir/cancel" || { cat "$dir/cancel"; why "not terminated"; }
	[ $((SECONDS - start)) -lt 300 ] || why "it took $((SECONDS - start)) s"
	carried 500
	stop INT
}

in_manners postgres.pgbench postgres_load "$(amount 8 20)" "$(amount 10 500)"
in_manners postgres.cancel postgres_cancel
