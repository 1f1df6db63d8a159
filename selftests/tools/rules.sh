#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The rules of sdp.conf(5), as programs meet them: selftests/tools/rules.sh
# With two hosts the servers are on h2.  In guests only: it writes to /etc.
. "$(dirname "$0")/../lib/ktap.sh"

[ -d /run/rig ] || { echo "Bail out! rules.sh runs in a guest: scripts/vm"; exit 2; }

dir=$(mktemp -d)
shared=$(mktemp -d -p "${SDP_SHARE:-/tmp}")	# for both hosts
library=$(readlink -f "$tools/libsdp_preload.so")
conf=$dir/conf
trap clean_up EXIT
: >"$dir/servers"
chmod 755 "$dir"
cp "$bin/sdp_rules" "$dir/rule-a"
cp "$bin/sdp_rules" "$dir/rule-b"
cp "$bin/sdp_rules" "$shared/rule-a"
# No rules from outside, no name servers.
rm -rf /etc/sdp
cp /etc/nsswitch.conf "$dir/nsswitch.conf"
echo "hosts: files" >/etc/nsswitch.conf
unset SDP_CONFIG_FILE LIBSDP_CONFIG_FILE SDP_PRELOAD LD_PRELOAD

if two_hosts; then
	peer=h2 there="on h2" peer4=10.9.0.2 peer6=fd09::2
else
	peer="" there="" peer4=${SDP_ADDR4:-10.9.0.1} peer6=${SDP_ADDR6:-fd09::1}
fi

# Of a case; those for all of them are in $dir/common.
stop_servers() {
	local pid

	while read -r pid; do
		kill "$pid"
		until_true sh -c "! kill -0 $pid"
	done <"$dir/servers" 2>/dev/null
	: >"$dir/servers"
}

clean_up() {
	cat "$dir/common" >>"$dir/servers" 2>/dev/null
	stop_servers
	cp "$dir/nsswitch.conf" /etc
	rm -rf "$dir" "$shared"
}

# run_case, and nothing is left of the case
rules_case() {
	run_case "$@"
	stop_servers
	rm -rf /etc/sdp /etc/ld.so.preload
}

rules() { # LINE...: the rules from now on
	printf '%s\n' "$@" | tee "$conf" >"$shared/conf"
	export SDP_CONFIG_FILE=$conf
}

# serve LAUNCHER ADDRESS PORT...: started, and what it says is in $dir/serve; the
# rules of this moment are its own
serve() {
	local launcher=$1

	shift
	: >"$dir/serve"
	# shellcheck disable=SC2086 # words, or nothing
	$there ${SDP_CONFIG_FILE:+env SDP_CONFIG_FILE="$shared/conf"} \
		$launcher "$shared/rule-a" serve "$@" >"$dir/serve" 2>"$dir/serve.err" &
	echo $! >>"$dir/servers"
	until_true grep -q ready "$dir/serve"
}

listens() { # WORD...: what serve found
	[ "$(sed '/^ready/d' "$dir/serve" | xargs)" = "$*" ] || {
		cat "$dir/serve" "$dir/serve.err"
		why "expected the server to say $*"
	}
}

# goes WANT ADDRESS PORT [PROGRAM]: how a connection goes
goes() {
	local want=$1 got

	got=$(limit 30 "$run" "$dir/${4:-rule-a}" connect "$2" "$3" 2>"$dir/err") || true
	[ "$got" = "$want" ] || {
		cat "$dir/err"
		why "connect $2 $3 by ${4:-rule-a}: expected \"$want\", got \"$got\""
	}
}

silent() {
	[ ! -s "$dir/err" ] || { cat "$dir/err"; why "said something"; }
}

said() { # LINE...: all that was said, in $dir/err
	printf '%s\n' "$@" >"$dir/want"
	diff "$dir/want" "$dir/err" || why "said something else"
}

# joining 0|1: whether this host joins sockets inside it, until the case ends
joining() {
	# shellcheck disable=SC2064 # as it is now
	trap "sysctl -qw net.sdp.local=$(sysctl -n net.sdp.local)" EXIT
	sysctl -qw net.sdp.local="$1"
}

# What the module knows of: not to move where sockets are left alone.
attempts() {
	echo $(($(counter connect) + $(counter connect_fail) + $(counter accept)))
}

# ------------------------------------------------------------------- clients

# One server of SDP and TCP for all the client cases, without rules.
common_servers() {
	serve "$run" 0.0.0.0 7001 0.0.0.0 7002 0.0.0.0 7003 :: 7004 :: 7005
	listens sdp sdp sdp sdp sdp
	serve "" 0.0.0.0 7011 0.0.0.0 7012
	listens tcp tcp
	# By TCP, so that the neighbours know each other: the very first packets
	# of a connection over SDP may be lost to that, and then it falls back.
	"$dir/rule-a" connect "$peer4" 7001 >/dev/null
	"$dir/rule-a" connect "$peer6" 7004 >/dev/null
}

no_file() {
	goes "sdp sdp" "$peer4" 7001
	silent
	goes "sdp sdp" "$peer6" 7004
	goes "tcp tcp" "$peer4" 7011
	silent
}

client_by_port() {
	local before

	rules "use tcp client * *:7001" "use sdp client * *:7002-7011" \
		"use both client * *:7012"
	before=$(attempts)
	goes "tcp tcp" "$peer4" 7001
	[ "$(attempts)" = "$before" ] || why "the module was asked"
	goes "sdp sdp" "$peer4" 7002
	goes "sdp sdp" "$peer4" 7003
	goes "sdp sdp" "$peer6" 7005
	silent
	before=$(counter fallback)
	goes ECONNREFUSED "$peer4" 7011
	silent
	[ "$(counter fallback)" = "$before" ] || why "fell back"
	goes "tcp tcp" "$peer4" 7012
	[ "$(counter fallback)" = $((before + 1)) ] || why "did not fall back"
	silent
}

client_by_address() {
	rules "use tcp client * $peer4:*" "use sdp client * [$peer6]:*"
	goes "tcp tcp" "$peer4" 7001
	goes "sdp sdp" "$peer6" 7004
	goes "tcp tcp" "::ffff:$peer4" 7001
	rules "use tcp client * ${peer4%.*}.0/24:*"
	goes "tcp tcp" "$peer4" 7001
	goes "tcp tcp" "::ffff:$peer4" 7001
	goes "sdp sdp" "$peer6" 7004
	rules "use tcp client * [${peer6%::*}::]/64:*"
	goes "tcp tcp" "$peer6" 7004
	goes "sdp sdp" "$peer4" 7001
	goes "sdp sdp" "::ffff:$peer4" 7001
	rules "use tcp client * ${peer4%.*}.128/25:*" "use tcp server * *:*"
	goes "sdp sdp" "$peer4" 7001
}

client_by_program() {
	rules "use tcp client rule-a *:*"
	goes "tcp tcp" "$peer4" 7001 rule-a
	goes "sdp sdp" "$peer4" 7001 rule-b
	rules "use sdp client rule-[b-z] *:*" "use tcp client rule-* *:*"
	goes "tcp tcp" "$peer4" 7001 rule-a
	goes "sdp sdp" "$peer4" 7001 rule-b
	rules "use tcp client nothing-of-this-name *:*"
	goes "sdp sdp" "$peer4" 7001 rule-a
	silent
}

first_match_wins() {
	rules "use tcp client * *:7001" "use sdp client * *:7001"
	goes "tcp tcp" "$peer4" 7001
	rules "use sdp client * *:7001" "use tcp client * *:7001"
	goes "sdp sdp" "$peer4" 7001
}

host_names() {
	local name=${peer:-h1}

	rules "use tcp client * $name:*"
	goes "tcp tcp" "$peer4" 7001
	goes "tcp tcp" "$peer6" 7004
	silent
	rules "use tcp client * no-such-host.invalid:*" "use sdp client * *:7002"
	goes "sdp sdp" "$peer4" 7002
	grep -q "^libsdp_preload: $conf:1:18: no-such-host.invalid: .*: the rule matches nothing\$" \
		"$dir/err" || { cat "$dir/err"; why "the name is not reported"; }
	[ "$(wc -l <"$dir/err")" = 1 ] || why "more than that"
	# Names of rules for others are not looked up.
	rules "use tcp client rule-b no-such-host.invalid:*"
	goes "sdp sdp" "$peer4" 7002
	silent
}

# A look-up that itself connects: left alone, and no endless depth.
look_ups_are_left_alone() {
	rules "use sdp client * connecting.test:*"
	SDP_LOOKUP="$peer4 7003" goes "lookup:tcp sdp sdp" "$peer4" 7001
	silent
}

# A socket that is used again is decided on again, as far as it can.
again() {
	rules "use tcp client * *:7099" "use both client * *:*"
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7001)" = "ECONNREFUSED sdp sdp" ]
	rules "use sdp client * *:7099" "use both client * *:*"
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7001)" = "ECONNREFUSED sdp sdp" ]
	# By "sdp" it stays so, by "both" it is TCP again, to be decided on anew.
	rules "use sdp client * *:7099" "use tcp client * *:*"
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7001)" = "ECONNREFUSED sdp sdp" ]
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7011)" = "ECONNREFUSED ECONNREFUSED" ]
	rules "use both client * *:7099" "use tcp client * *:*"
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7001)" = "ECONNREFUSED tcp tcp" ]
	rules "use both client * *:7099" "use sdp client * *:*"
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7011)" = "ECONNREFUSED ECONNREFUSED" ]
}

default_file() {
	unset SDP_CONFIG_FILE
	mkdir -p /etc/sdp
	echo "use tcp client * *:7001" >/etc/sdp/sdp.conf
	goes "tcp tcp" "$peer4" 7001
	goes "sdp sdp" "$peer4" 7002
	# Another one instead, and the historic name for it.
	rules "use tcp client * *:7002"
	goes "sdp sdp" "$peer4" 7001
	goes "tcp tcp" "$peer4" 7002
	unset SDP_CONFIG_FILE
	LIBSDP_CONFIG_FILE=$conf goes "tcp tcp" "$peer4" 7002
	echo "use tcp client * *:7003" >"$dir/other"
	SDP_CONFIG_FILE=$dir/other LIBSDP_CONFIG_FILE=$conf goes "tcp tcp" "$peer4" 7003
	SDP_CONFIG_FILE="" goes "tcp tcp" "$peer4" 7001
	SDP_CONFIG_FILE=/dev/null goes "sdp sdp" "$peer4" 7001
	silent
}

# A program, or its child, may change its directory.
relative_file() {
	local name

	cd "$dir" || return
	for name in SDP_CONFIG_FILE LIBSDP_CONFIG_FILE; do
		rules "use tcp client * *:7001"
		unset SDP_CONFIG_FILE
		[ "$(env $name=conf "$run" sh -c 'cd /; "$@"' sh "$dir/rule-a" connect "$peer4" 7001 \
			2>"$dir/err")" = "tcp tcp" ] || why "$name is lost"
		silent
	done
	cp "$library" "$run" .
	[ "$(SDP_PRELOAD_LIB=libsdp_preload.so SDP_CONFIG_FILE=conf ./sdp_run \
		sh -c 'cd /; "$@"' sh "$run" "$dir/rule-a" connect "$peer4" 7001 2>"$dir/err")" = "tcp tcp" ]
	silent
}

unreadable_file() {
	SDP_CONFIG_FILE=$dir/none goes "sdp sdp" "$peer4" 7001
	said "libsdp_preload: SDP_CONFIG_FILE=$dir/none: No such file or directory: going on without rules"
	SDP_CONFIG_FILE=$dir goes "sdp sdp" "$peer4" 7001
	said "libsdp_preload: SDP_CONFIG_FILE=$dir: not a regular file: going on without rules"
	mkfifo "$dir/fifo"
	LIBSDP_CONFIG_FILE=$dir/fifo goes "sdp sdp" "$peer4" 7001
	said "libsdp_preload: LIBSDP_CONFIG_FILE=$dir/fifo: not a regular file: going on without rules"
}

precedence() {
	rules "use tcp client * *:7001" "use sdp client * *:7002"
	SDP_PRELOAD=off goes "tcp tcp" "$peer4" 7002
	SDP_PRELOAD=require goes "tcp tcp" "$peer4" 7001
	SDP_PRELOAD=require goes ECONNREFUSED "$peer4" 7011
	rules "use both client * *:*"
	SDP_PRELOAD=require goes ECONNREFUSED "$peer4" 7011
	goes "tcp tcp" "$peer4" 7011
	SDP_CONFIG_FILE=$dir/wrong SDP_PRELOAD=off goes "tcp tcp" "$peer4" 7001
	silent
}

# Inside this host the rules decide as elsewhere, where sockets are joined.
loopback_joined() {
	local before

	joining 1
	rules "use tcp connect * 127.0.0.0/8:7025" "use tcp client * 0.0.0.0:7026" \
		"use tcp client * [::1]:7027" "use sdp client * *:7021-7028" \
		"use tcp listen * 127.0.0.0/8:7028"
	there="" serve "$run" 127.0.0.1 7024 0.0.0.0 7025 0.0.0.0 7026 :: 7027 127.0.0.1 7028
	listens sdp sdp sdp sdp tcp
	before=$(counter local_joins)
	goes "sdp sdp" 127.0.0.1 7024
	goes "sdp sdp" 127.0.0.1 7026
	goes "sdp sdp" 127.0.0.2 7026
	goes "sdp sdp" 127.0.0.1 7027
	goes "sdp sdp" ::ffff:127.0.0.1 7026
	goes "sdp sdp" 0.0.0.0 7025
	goes "sdp sdp" :: 7027
	[ "$(counter local_joins)" = $((before + 7)) ] || why "not joined"
	goes "tcp tcp" 127.0.0.1 7025
	goes "tcp tcp" ::ffff:127.0.0.1 7025
	goes "tcp tcp" 0.0.0.0 7026
	goes "tcp tcp" ::ffff:0.0.0.0 7026
	goes "tcp tcp" ::1 7027
	silent
	# "sdp" is SDP or an error here too.
	[ "$("$run" "$dir/rule-a" connect 127.0.0.1 7028)" != "tcp tcp" ] || why "by TCP"
	unset SDP_CONFIG_FILE
	goes "tcp tcp" 127.0.0.1 7028
	SDP_PRELOAD=off goes "tcp tcp" 127.0.0.1 7024
	[ "$(counter local_joins)" = $((before + 7)) ] || why "joined"
}

# Where they are not it is TCP's by any rule.
loopback_not_joined() {
	local before

	joining 0
	rules "use sdp client * *:*" "use sdp server * 127.0.0.0/8:*" "use sdp server * [::1]:*" \
		"log min-level 7"
	there="" serve "$run" 127.0.0.1 7021 ::1 7022 :: 7023
	listens sdp sdp sdp
	before=$(counter local_joins)
	goes "tcp tcp" 127.0.0.1 7021
	said "libsdp_preload: connect 127.0.0.1:7021: sdp, and it is tcp: inside this host, and net.sdp.local is 0, by $conf:1"
	grep -qxF "libsdp_preload: listen [::1]:7022: sdp, and it is tcp: inside this host, and net.sdp.local is 0, by $shared/conf:3" \
		"$dir/serve.err"
	goes "tcp tcp" ::1 7022
	goes "tcp tcp" 0.0.0.0 7023
	goes "tcp tcp" :: 7023
	goes ECONNREFUSED 127.0.0.1 9
	SDP_PRELOAD=require goes "tcp tcp" 127.0.0.1 7021
	export SDP_PRELOAD=off
	goes "tcp tcp" 127.0.0.1 7021
	[ "$(counter local_joins)" = "$before" ] || why "joined"
}

# -------------------------------------------------------------------- servers

server_kinds() {
	rules "use tcp server * *:7021" "use sdp server * *:7022" "use both server * *:7023"
	serve "$run" 0.0.0.0 7021 0.0.0.0 7022 :: 7023 :: 7024
	listens tcp sdp sdp sdp
	unset SDP_CONFIG_FILE
	goes "tcp tcp" "$peer4" 7021
	goes "sdp sdp" "$peer4" 7022
	goes "sdp sdp" "$peer6" 7023
	goes "sdp sdp" "$peer6" 7024
	# Plain TCP clients.
	export SDP_PRELOAD=off
	goes "tcp tcp" "$peer4" 7021
	goes ECONNRESET "$peer4" 7022
	goes "tcp tcp" "$peer4" 7023
	goes "tcp tcp" "$peer6" 7024
	unset SDP_PRELOAD
	stop_servers
}

server_by_address() {
	rules "use tcp server * $peer4:*" "use tcp server * [$peer6]:7033" \
		"use tcp server * 0.0.0.0/0:7034" "use sdp client * *:*"
	serve "$run" "$peer4" 7031 0.0.0.0 7032 "$peer6" 7033 0.0.0.0 7034 :: 7035 \
		"$peer6" 7036 "::ffff:$peer4" 7037 127.0.0.1 7038
	listens tcp sdp tcp tcp sdp sdp tcp sdp
	stop_servers
	rules "use tcp server * 0.0.0.0:7041" "use tcp server * [::]:7042"
	serve "$run" :: 7041 :: 7042 0.0.0.0 7043
	listens tcp tcp sdp
	stop_servers
}

server_by_program() {
	rules "use tcp server rule-a *:*"
	serve "$run" 0.0.0.0 7051
	listens tcp
	stop_servers
	rules "use tcp server rule-b *:*" "use tcp client * *:*"
	serve "$run" 0.0.0.0 7051
	listens sdp
	stop_servers
}

# --------------------------------------------------------------------- errors

wrong_lines() {
	rules "use tcp client * *:7001" "use tcp client * *:70O2" "# comment" \
		"use sdp client * 10.0.0.0/33:*" "uze sdp client * *:*" \
		"use tcp client * *:7003"
	# Errors are told once, and the other lines hold.
	[ "$("$run" "$dir/rule-a" again "$peer4" 7099 7001 2>"$dir/err")" = "ECONNREFUSED tcp tcp" ]
	said "libsdp_preload: $conf:2:22: \"O2\": expected the end of the rule" \
		"libsdp_preload: $conf:4:27: prefix length 33: at most 32 is possible here" \
		"libsdp_preload: $conf:5:1: \"uze\": a line begins with \"use\", \"log\" or \"#\""
	goes "sdp sdp" "$peer4" 7002
	goes "tcp tcp" "$peer4" 7003
	serve "$run" "$peer4" 7061
	listens sdp
	grep -q "$shared/conf:5:1" "$dir/serve.err"
	stop_servers
	# Who opens no connection has nothing to say.
	"$run" sh -c 'ls / >/dev/null; date >/dev/null' 2>"$dir/err"
	silent
	for _ in {1..15}; do echo x; done >"$conf"
	goes "sdp sdp" "$peer4" 7001
	[ "$(wc -l <"$dir/err")" = 11 ] || { cat "$dir/err"; why "not cut"; }
	grep -qxF "libsdp_preload: $conf: more errors, 15 in all: sdp_run --check-config shows them" "$dir/err"
}

log_levels() {
	rules "use tcp client ssh *:*" "use tcp client * *:7001" "use both client * *:*" \
		"log min-level 7"
	goes "tcp tcp" "$peer4" 7001
	said "libsdp_preload: connect $peer4:7001: tcp, by $conf:2"
	goes "sdp sdp" "$peer6" 7004
	said "libsdp_preload: connect [$peer6]:7004: both, by $conf:3"
	sed -i 's/min-level 7/min-level 4/; 3d' "$conf"
	goes "tcp tcp" "$peer4" 7001
	said "libsdp_preload: connect $peer4:7001: $conf:2: matches: use tcp client * *:7001" \
		"libsdp_preload: connect $peer4:7001: tcp, by $conf:2"
	goes "sdp sdp" "$peer4" 7002
	said "libsdp_preload: connect $peer4:7002: both, by no rule"
	sed -i 's/min-level 4/min-level 3/' "$conf"
	goes "tcp tcp" "$peer4" 7001
	said "libsdp_preload: connect $peer4:7001: $conf:1: another program: use tcp client ssh *:*" \
		"libsdp_preload: connect $peer4:7001: $conf:2: matches: use tcp client * *:7001" \
		"libsdp_preload: connect $peer4:7001: tcp, by $conf:2"
	cp "$conf" "$shared/conf"
	serve "$run" "$peer4" 7071
	grep -qxF "libsdp_preload: listen $peer4:7071: both, by no rule" "$dir/serve.err"
	stop_servers
	rules "use sdp client * 10.1.1.1/8:7001"
	goes "sdp sdp" "$peer4" 7001
	silent
	echo "log min-level 8" >>"$conf"
	goes "sdp sdp" "$peer4" 7001
	said "libsdp_preload: $conf:1:18: there is more in the address than its prefix covers: read as 10.0.0.0/8"
}

line='^[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9:]{8}Z rule-a\[[0-9]+\]: libsdp_preload: connect '

log_file() {
	local file=/var/log/sdp-rules-test.log now

	rm -rf "$file" /tmp/sdp-rules-test.log.1000 "$dir/user.1000"
	rules "log min-level 7 destination file ${file#/var/log/}" "use tcp client * *:*"
	now=$(date -u +%Y-%m-%dT%H)
	goes "tcp tcp" "$peer4" 7001
	silent
	grep -Eq "$line" "$file" || { cat "$file"; why "no message"; }
	[ "$(cut -c1-13 "$file")" = "$now" ] || [ "$(cut -c1-13 "$file")" = "$(date -u +%Y-%m-%dT%H)" ] ||
		{ cat "$file"; why "it is $now"; }
	[ "$(stat -c %a "$file")" = 600 ] || why "others may read it"
	goes "tcp tcp" "$peer4" 7001
	[ "$(wc -l <"$file")" = 2 ] || why "not appended"
	for now in 0 951782400 951868799 951868800 1709164800 1735689599 1735689600 4107542400; do
		SDP_CLOCK=$now goes "tcp tcp" "$peer4" 7001
		[ "$(tail -n 1 "$file" | cut -c1-20)" = "$(date -u -d @$now +%FT%TZ)" ] ||
			{ tail -n 1 "$file"; why "that was $(date -u -d @$now)"; }
		sed -i '$d' "$file"
	done
	# Of a path root takes the name.
	rules "log min-level 7 destination file $dir/${file##*/}" "use tcp client * *:*"
	goes "tcp tcp" "$peer4" 7001
	[ "$(wc -l <"$file")" = 3 ] || why "not in /var/log"
	# Another user.
	rules "log min-level 7 destination file ${file##*/}" "use tcp client * *:*"
	run="setpriv --reuid 1000 --clear-groups $run"
	[ "$($run "$dir/rule-a" connect "$peer4" 7001)" = "tcp tcp" ]
	grep -Eq "$line" /tmp/sdp-rules-test.log.1000/log
	[ "$(stat -c %a%u /tmp/sdp-rules-test.log.1000)" = 7001000 ]
	chmod 777 "$dir"
	rules "log min-level 7 destination file $dir/user" "use tcp client * *:*"
	[ "$($run "$dir/rule-a" connect "$peer4" 7001)" = "tcp tcp" ]
	grep -Eq "$line" "$dir/user.1000/log"
	chmod 755 "$dir"
	rm -r "$file" /tmp/sdp-rules-test.log.1000
}

# Standard error as a pipe that nobody reads, or that is full: no message, no harm.
log_into_nothing() {
	rules "log min-level 7"
	python3 - "$run" "$dir/rule-a" "$peer4" $((30 * factor)) <<-'END'
		import os, subprocess, sys
		run, program, peer, seconds = sys.argv[1:]
		def goes(w):
		    r = subprocess.run([run, program, 'connect', peer, '7001'], stderr=w,
		                       stdout=subprocess.PIPE, timeout=float(seconds))
		    assert (r.returncode, r.stdout) == (0, b'sdp sdp\n'), r
		r, w = os.pipe()
		os.set_blocking(w, False)
		try:
		    while True:
		        os.write(w, bytes(4096))
		except BlockingIOError:
		    os.set_blocking(w, True)
		goes(w)
		r, w = os.pipe()
		os.close(r)
		goes(w)
	END
	# A file that is as long as files may be.
	head -c 1024 /dev/zero >"$dir/long"
	[ "$(ulimit -f 1; "$run" "$dir/rule-a" connect "$peer4" 7001 2>>"$dir/long")" = "sdp sdp" ]
	[ "$(stat -c %s "$dir/long")" = 1024 ]
}

# A file that took standard error's number is the program's own.
log_not_into_data() {
	rules "log min-level 7" "wrong"
	SDP_DATA=$dir/data goes "sdp sdp" "$peer4" 7001
	silent
	[ "$(stat -c %s "$dir/data")" = 0 ] || { cat "$dir/data"; why "wrote there"; }
	# There was none at the start.
	rm "$dir/data"
	[ "$(SDP_DATA=$dir/data "$run" "$dir/rule-a" connect "$peer4" 7001 2>&-)" = "sdp sdp" ]
	[ "$(stat -c %s "$dir/data")" = 0 ] || { cat "$dir/data"; why "wrote there"; }
}

# Where somebody else may have laid something: errors go to standard error.
log_file_is_not_ours() {
	local d=/tmp/sdp-rules-test.log.1000

	rm -rf $d "$dir/victim"
	rules "log destination file sdp-rules-test.log" "wrong"
	mkdir -m 700 "$dir/victim"
	chown 1000 "$dir/victim"
	ln -s "$dir/victim" $d
	run="setpriv --reuid 1000 --clear-groups $run"
	# shellcheck disable=SC2086 # a command
	expect_error() {
		$run "$dir/rule-a" connect "$peer4" 7001 >/dev/null 2>"$dir/err"
		said "libsdp_preload: $conf:2:1: \"wrong\": a line begins with \"use\", \"log\" or \"#\""
	}
	expect_error
	[ -z "$(ls "$dir/victim")" ] || why "followed a link"
	rm $d
	mkdir -m 777 $d
	expect_error
	[ -z "$(ls $d)" ] || why "wrote where everybody may"
	chown 1000 $d
	expect_error
	chmod 700 $d
	ln -s "$dir/victim/log" $d/log
	expect_error
	[ -z "$(ls "$dir/victim")" ] || why "followed a link to a file"
	rm $d/log
	mkfifo $d/log
	expect_error
	rm $d/log
	$run "$dir/rule-a" connect "$peer4" 7001 >/dev/null 2>"$dir/err"
	silent
	grep -q wrong $d/log
	rm -r $d
}

log_syslog() {
	local pid

	rules "log destination syslog min-level 7" "use tcp client * *:7001" "wrong"
	# Nobody takes it: errors are not lost.
	rm -f /dev/log
	goes "tcp tcp" "$peer4" 7001
	said "libsdp_preload: $conf:3:1: \"wrong\": a line begins with \"use\", \"log\" or \"#\""
	python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
s.settimeout(60)
for i in range(2):
	print(s.recv(2000).decode(), flush=True)' >"$dir/syslog" &
	pid=$!
	until_true test -S /dev/log
	goes "tcp tcp" "$peer4" 7001
	silent
	wait $pid
	rm -f /dev/log
	grep -Eq "^<11>rule-a\[[0-9]+\]: libsdp_preload: $conf:3:1: \"wrong\"" "$dir/syslog"
	grep -Eq "^<14>rule-a\[[0-9]+\]: libsdp_preload: connect $peer4:7001: tcp, by $conf:2\$" \
		"$dir/syslog"
}

# Threads that pthread_cancel() was called for end in connect() only, and leave nothing.
cancelled_threads() {
	rules "log destination syslog min-level 7"
	rm -f /dev/log
	[ "$("$dir/rule-a" cancelled "$peer4" 9 20)" = "20 0 0" ] || why "not as without the library"
	got=$(LD_PRELOAD=$library "$dir/rule-a" cancelled "$peer4" 9 20 2>"$dir/err") || true
	[ "$got" = "20 0 0" ] || why "by the library: $got"
	silent
}

# Where a connection goes is asked after another library has sent it elsewhere: to this
# host.
redirected() {
	there="" serve "" 127.0.0.1 7091
	listens tcp
	rules "use tcp client * 127.0.0.0/8:*" "use sdp client * *:*"
	LD_PRELOAD=$bin/redirect.so goes "tcp tcp" "$peer4" 7091
	silent
}

# set-user-ID: the environment belongs to somebody else.
privileged() {
	mkdir -p /etc/sdp
	echo "use tcp client * *:7001" >/etc/sdp/sdp.conf
	rules "use tcp client * *:7002"
	cp "$bin/sdp_rules" "$dir/rule-s"
	chmod 4755 "$dir/rule-s"
	echo "$library" >/etc/ld.so.preload
	as_user() { # PORT
		setpriv --reuid 1000 --clear-groups "$dir/rule-s" connect "$peer4" "$1"
	}
	[ "$(as_user 7001)" = "tcp tcp" ] || why "its own file is not read"
	[ "$(as_user 7002)" = "sdp sdp" ] || why "the user's file is read"
	[ "$(SDP_PRELOAD=off as_user 7002)" = "sdp sdp" ] || why "the user switched it off"
	# The same program without its privileges.
	chmod 755 "$dir/rule-s"
	[ "$(as_user 7002)" = "tcp tcp" ] || why "the user's file is not read"
}

module_missing() {
	rules "use sdp client * $peer4:*" "use sdp server * *:7081" "use tcp client * *:*"
	export LD_PRELOAD=$library
	connect() {
		"$dir/rule-a" connect "$@" 2>"$dir/err" || true
	}
	[ "$(connect "$peer4" 9)" = ENETUNREACH ]
	said "libsdp_preload: $conf:1: use sdp client * $peer4:*, but the kernel module af_sdp is not loaded (modprobe af_sdp)"
	[ "$("$dir/rule-a" again "$peer4" 9 10 2>"$dir/err")" = "ENETUNREACH ENETUNREACH" ]
	[ "$(wc -l <"$dir/err")" = 1 ] || why "told twice"
	[ "$(connect "$peer6" 9)" = ECONNREFUSED ]
	silent
	own=$peer4
	[ -z "$peer" ] || own=10.9.0.1
	: >"$dir/serve"
	"$dir/rule-a" serve "$own" 7081 "$own" 7082 >"$dir/serve" 2>"$dir/err" &
	echo $! >>"$dir/servers"
	until_true grep -q ready "$dir/serve"
	listens EOPNOTSUPP tcp
	said "libsdp_preload: $conf:2: use sdp server * *:7081, but the kernel module af_sdp is not loaded (modprobe af_sdp)"
	stop_servers
	echo "log min-level 7" >"$conf"
	[ "$(connect "$peer4" 9)" = ECONNREFUSED ]
	said "libsdp_preload: connect $peer4:9: both, and it is tcp: the module is not loaded or the socket not suitable, by no rule"
}

# What the kernel is asked for: modprobe is a script of ours in a case of its own.
modprobe_is() { # LINE of the script
	modprobe=$(cat /proc/sys/kernel/modprobe)
	trap 'echo "$modprobe" >/proc/sys/kernel/modprobe' EXIT
	printf '#!/bin/sh\necho "$*" >>%s\n%s\n' "$dir/asked" "$1" >"$dir/modprobe"
	chmod 755 "$dir/modprobe"
	: >"$dir/asked"
	echo "$dir/modprobe" >/proc/sys/kernel/modprobe
}

asked() { # HOW OFTEN
	[ "$(wc -l <"$dir/asked")" = "$1" ] || {
		cat "$dir/asked"
		why "expected the kernel to ask for modules $1 times"
	}
	: >"$dir/asked"
}

# By the kernel, for each time that we ask: for the name of TCP_ULP, which an ordinary
# user does not get, and twice for the protocol.
asks_for_the_module() {
	local _

	modprobe_is "exit 1"
	export LD_PRELOAD=$library SDP_CLOCK=0
	for _ in 1 2 3 4 5 6 7 8; do /bin/true; done
	rules "use tcp client * *:*"
	"$dir/rule-a" often "$peer4" 9 20
	asked 0
	rules "use both client * *:*"
	[ "$("$dir/rule-a" often "$peer4" 9 20)" = ECONNREFUSED ]
	asked 3
	[ "$(SDP_TICK=1 "$dir/rule-a" often "$peer4" 9 11)" = ECONNREFUSED ]
	asked 9
	rules "use sdp client * *:*"
	[ "$("$dir/rule-a" often "$peer4" 9 20 2>/dev/null)" = ENETUNREACH ]
	asked 3
	[ "$(setpriv --reuid 1000 --clear-groups --inh-caps=-all "$dir/rule-a" often "$peer4" 9 20 \
		2>/dev/null)" = ENETUNREACH ]
	asked 2
}

# An ordinary user's first connection has the module already: what would be TCP is
# refused, where without the module the network is unreachable.
loads_the_module() {
	modprobe_is "exec insmod $module"
	rules "use sdp client * *:*"
	[ "$(LD_PRELOAD=$library setpriv --reuid 1000 --clear-groups "$dir/rule-a" often \
		"$peer4" 9 2)" = ECONNREFUSED ]
	asked 1
	# Who finds it does not ask.
	[ "$(LD_PRELOAD=$library "$dir/rule-a" often "$peer4" 9 2)" = ECONNREFUSED ]
	asked 0
	unload
}

# -------------------------------------------------------------------- sdp_run

explained() { # WANT ARGUMENT...
	local want=$1

	shift
	"$run" --explain "$@" >"$dir/out" 2>"$dir/err"
	silent
	answered "$want" "$@"
}

explained_unread() { # WANT FILE-AND-ERROR ARGUMENT...
	local want=$1 error=$2

	shift 2
	SDP_CONFIG_FILE=${error%%: *} "$run" --explain "$@" >"$dir/out" 2>"$dir/err"
	said "sdp_run: SDP_CONFIG_FILE=$error: going on without rules"
	answered "$want" "$@"
	[ "$want" = tcp ] || grep -qxF "  ${error%%: *}: not read: what sdp_run starts tries SDP" "$dir/out"
}

answered() { # WANT ARGUMENT...
	local want=$1

	shift
	[ "$(sed -n 's/^answer: \([a-z]*\):.*/\1/p' "$dir/out")" = "$want" ] || {
		cat "$dir/out"
		why "--explain $*: expected $want"
	}
}

explain() {
	unset SDP_CONFIG_FILE
	explained both 10.9.0.2:80
	grep -q "/etc/sdp/sdp.conf: no such file" "$dir/out"
	rules "use tcp client ssh *:*" "use sdp client * 10.9.0.0/24:80-90" "" \
		"use sdp server web* *:80" "use tcp client * [fd09::]/64:*"
	explained sdp 10.9.0.2:80 curl
	cat >"$dir/want" <<-END
		client curl, 10.9.0.2:80
		answer: sdp: SDP or an error
		  $conf:1: use tcp client ssh *:* -- another program
		  $conf:2: use sdp client * 10.9.0.0/24:80-90 -- this one decides
	END
	diff "$dir/want" "$dir/out"
	explained tcp client 10.9.0.2:80 /usr/bin/ssh
	explained both 10.9.0.2:91 curl
	cat >"$dir/want" <<-END
		client curl, 10.9.0.2:91
		answer: both: SDP is tried, then TCP
		  $conf:1: use tcp client ssh *:* -- another program
		  $conf:2: use sdp client * 10.9.0.0/24:80-90 -- another port
		  $conf:4: use sdp server web* *:80 -- another role
		  $conf:5: use tcp client * [fd09::]/64:* -- another address
		  no rule matches: "both"
	END
	diff "$dir/want" "$dir/out"
	explained tcp '[fd09::7]:1'
	grep -qF "$conf:1: use tcp client ssh *:* -- decides for the programs it names" "$dir/out"
	explained sdp server '*:80' webd
	explained both server '*:80'
	grep -qF "decides for the programs it names" "$dir/out"
	# A pattern that does not match itself hides nothing.
	rules "use tcp client net[ps]erf* 10.8.0.0/16:80" "use tcp client net[ps]erf* *:81" \
		"use tcp client net[ps]erf* *:80"
	explained both 10.9.0.2:80
	cat >"$dir/want" <<-END
		client (any program), 10.9.0.2:80
		answer: both: SDP is tried, then TCP
		  $conf:1: use tcp client net[ps]erf* 10.8.0.0/16:80 -- another address
		  $conf:2: use tcp client net[ps]erf* *:81 -- another port
		  $conf:3: use tcp client net[ps]erf* *:80 -- decides for the programs it names
		  no rule matches: "both"
	END
	diff "$dir/want" "$dir/out"
	rules "use sdp client * 10.9.0.0/24:80-90" "use tcp client * [fd09::]/64:*"
	SDP_PRELOAD=off explained tcp 10.9.0.2:80
	SDP_PRELOAD=require explained sdp 10.9.0.2:91
	# What cannot be read is as no rules, to the library too (unreadable_file).
	explained_unread both "$dir/none: No such file or directory" 10.9.0.2:80
	explained_unread both "$dir: not a regular file" 10.9.0.2:80 curl
	explained_unread both "$conf/none: Not a directory" server '*:80'
	SDP_PRELOAD=require explained_unread sdp "$dir/none: No such file or directory" 10.9.0.2:80
	# One answer for each address of a host.
	[ "$("$run" --explain "${peer:-h1}:80" | sed -n 's/^answer: \([a-z]*\):.*/\1/p' | sort | xargs)" = "sdp tcp" ]
	"$run" --require --explain 10.9.0.2:91 | grep -q "^answer: sdp"
	wrong_question "" "takes [client|server] ADDRESS:PORT [PROGRAM]"
	wrong_question "client" "takes [client|server] ADDRESS:PORT [PROGRAM]"
	wrong_question "10.9.0.2:80 a b" "takes [client|server] ADDRESS:PORT [PROGRAM]"
	wrong_question "10.9.0.2" 'expected ":" and a port'
	wrong_question "10.9.0.2:http" '"http": expected a port'
	wrong_question "10.9.0.2:1-2" "one port, not several"
	wrong_question "10.9.0.0/24:1" "one address, not a network"
	wrong_question "*:1" "one address, not all"
	wrong_question "no-such-host.invalid:1" "no-such-host.invalid: "
}

# The answer, and what else is said, of the first rule or of none.
explained_here() { # WANT TEXT ARGUMENT...
	local want=$1 text=$2

	shift 2
	explained "$want" "$@"
	if [ -n "$text" ]; then
		grep -qxF "  $text" "$dir/out"
	else
		! grep -q "inside this host" "$dir/out"
	fi || { cat "$dir/out"; why "--explain $*: expected \"$text\""; }
}

explain_joined() {
	local server="local: joined by a pipe inside this host if the server is ours"
	local client="local: joined by a pipe inside this host if the client is ours"
	local own=$peer4

	[ -z "$peer" ] || own=10.9.0.1
	joining 1
	rules "use tcp client * 127.0.0.1:81" "use sdp client * [::1]:*" "use tcp server * *:81"
	explained_here both "$server" 127.0.0.1:80
	explained_here both "$server" 127.99.0.1:81
	explained_here both "$server" 0.0.0.0:80
	explained_here both "$server" '[::]:80'
	explained_here both "$server" ::ffff:127.0.0.1:80
	explained_here both "$server" "$own:80"
	explained_here sdp "$server" '[::1]:80'
	SDP_PRELOAD=require explained_here sdp "$server" 127.0.0.1:80
	explained_here both "$client" server 127.0.0.1:80
	explained_here tcp "" server 127.0.0.1:81
	explained_here tcp "" 127.0.0.1:81
	explained_here tcp "" ::ffff:127.0.0.1:81
	grep -qxF "  $conf:1: use tcp client * 127.0.0.1:81 -- this one decides" "$dir/out"
	explained_here both "" 10.9.0.9:80
	SDP_PRELOAD=off explained_here tcp "" 127.0.0.1:80
	unset SDP_CONFIG_FILE
	explained_here both "$server" 127.0.0.1:80
}

explain_not_joined() {
	local off="inside this host, and net.sdp.local is 0: \"sysctl -w net.sdp.local=1\" makes it "

	joining 0
	rules "use tcp client * 127.0.0.1:81" "use sdp client * [::1]:*"
	explained_here tcp "$off\"both\"" 127.0.0.1:80
	explained_here tcp "$off\"both\"" ::ffff:0.0.0.0:80
	explained_here tcp "$off\"sdp\"" '[::1]:80'
	explained_here tcp "$off\"both\"" server '[::1]:80'
	explained_here tcp "" 127.0.0.1:81
	explained_here both "" "$peer4:80"
	explained_here both "" server 0.0.0.0:80
}

explain_here_without_module() {
	local none="inside this host, and the kernel module af_sdp is not loaded, or too old to join sockets"

	explained_here tcp "$none" 127.0.0.1:80
	explained_here tcp "$none" '[::]:80'
	explained_unread tcp "$dir/none: No such file or directory" 127.0.0.1:80
	rules "use tcp client * *:*"
	explained_here tcp "" 127.0.0.1:80
}

wrong_question() { # ARGUMENTS TEXT
	local status=0

	set -f
	# shellcheck disable=SC2086 # words
	"$run" --explain $1 >"$dir/out" 2>"$dir/err" || status=$?
	set +f
	[ $status = 125 ] || why "--explain $1: status $status"
	grep -qF -- "$2" "$dir/err" || { cat "$dir/err"; why "--explain $1: did not say $2"; }
}

# What is explained is what happens.
explained_is_done() {
	local port program want got

	rules "use tcp client rule-b *:7001-7002" "use sdp client * $peer4:7002" \
		"use both client rule-? *:7011" "use sdp client * *:7012"
	for port in 7001 7002 7003 7011 7012; do
		for program in rule-a rule-b; do
			want=$("$run" --explain "$peer4:$port" $program | sed -n 's/^answer: \([a-z]*\):.*/\1/p')
			got=$("$run" "$dir/$program" connect "$peer4" $port)
			case $want,$port in
			tcp,*)		want="tcp tcp" ;;
			sdp,701*)	want=ECONNREFUSED ;;
			both,701*)	want="tcp tcp" ;;
			*)		want="sdp sdp" ;;
			esac
			[ "$got" = "$want" ] || why "$program $port: \"$got\""
		done
	done
}

check_config() {
	local status=0

	rules "use both client * *:*" "log min-level 9"
	"$run" --check-config >"$dir/out" 2>"$dir/err"
	silent
	[ "$(cat "$dir/out")" = "$conf: 1 rule, 0 errors" ]
	printf 'use both client * *:x\nuse tcp client * 10.1.1.1/8:*\n' >"$dir/other"
	"$run" --check-config "$dir/other" >"$dir/out" 2>"$dir/err" || status=$?
	[ $status = 1 ] || why "status $status"
	said "$dir/other:1:21: \"x\": expected a port, 0 to 65535, or \"*\"" \
		"$dir/other:2:18: warning: there is more in the address than its prefix covers: read as 10.0.0.0/8"
	[ "$(cat "$dir/out")" = "$dir/other: 1 rule, 1 error" ]
	status=0
	"$run" --check-config "$dir/none" 2>"$dir/err" || status=$?
	[ $status = 125 ] || why "status $status"
	said "sdp_run: $dir/none: No such file or directory"
	"$run" --check-config "$selftests/../packaging/sdp.conf"
}

# ----------------------------------------------- the library's own cases, ruled

cases() { # USE EXPECTED
	rules "# the same by rules" "use tcp client nobody *:*" \
		"use $1 client sdp_pre* *:*" "use $1 server sdp_preload *:*"
	SDP_EXPECT=$2 LD_PRELOAD=$library "$bin/sdp_preload" 2>&1
}

begin
common_servers
mv "$dir/servers" "$dir/common"
: >"$dir/servers"
rules_case client.no_file no_file
rules_case client.by_port client_by_port
rules_case client.by_address client_by_address
rules_case client.by_program client_by_program
rules_case client.first_match_wins first_match_wins
rules_case client.host_names host_names
rules_case client.look_ups_are_left_alone look_ups_are_left_alone
rules_case client.same_socket_again again
rules_case file.default default_file
rules_case file.relative relative_file
rules_case file.unreadable unreadable_file
rules_case file.wrong_lines wrong_lines
rules_case file.privileged_programs privileged
rules_case precedence precedence
rules_case loopback.joined loopback_joined
rules_case loopback.not_joined loopback_not_joined
rules_case server.kinds server_kinds
rules_case server.by_address server_by_address
rules_case server.by_program server_by_program
rules_case log.levels log_levels
rules_case log.file log_file
rules_case log.into_nothing log_into_nothing
rules_case log.not_into_data log_not_into_data
rules_case log.file_is_not_ours log_file_is_not_ours
rules_case log.syslog log_syslog
rules_case library.cancelled_threads cancelled_threads
rules_case library.behind_others redirected
rules_case run.explain explain
rules_case run.explain_joined explain_joined
rules_case run.explain_not_joined explain_not_joined
rules_case run.explained_is_done explained_is_done
rules_case run.check_config check_config
mv "$dir/common" "$dir/servers"
stop_servers
rules_case run.explain_without_module without_module explain
rules_case run.explain_here_without_module without_module explain_here_without_module
rules_case library.module_missing without_module module_missing
rules_case library.asks_for_the_module without_module asks_for_the_module
rules_case library.loads_the_module without_module loads_the_module
for use in "both on" "sdp require" "tcp off"; do
	# shellcheck disable=SC2086 # two words
	rules_case "library.cases.$use" cases $use
done
finish
