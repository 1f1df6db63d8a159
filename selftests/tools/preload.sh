#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The preload library, the launcher and sdpstat: selftests/tools/preload.sh
. "$(dirname "$0")/../lib/ktap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect STATUS COMMAND...: standard error goes to $dir/err
expect() {
	local want=$1 status=0

	shift
	"$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ $status = "$want" ] || {
		cat "$dir/out" "$dir/err"
		why "expected exit status $want, got $status: $*"
	}
}

says() { # TEXT, in standard error
	grep -qF -e "$1" "$dir/err" || { cat "$dir/err"; why "did not say \"$1\""; }
}

silent() {
	[ ! -s "$dir/err" ] || { cat "$dir/err"; why "said something"; }
}

# joined_case 0|1 NAME FUNCTION...: run_case, with net.sdp.local so
joined_case() {
	local kept

	kept=$(sysctl -n net.sdp.local)
	sysctl -qw net.sdp.local="$1"
	shift
	run_case "$@"
	sysctl -qw net.sdp.local="$kept"
}

cases() { # MODE: the cases of sdp_preload, each in its own line
	SDP_PRELOAD=$1 "$run" "$bin/sdp_preload" 2>&1 || return
}

passes_status() {
	expect 7 "$run" sh -c 'exit 7'
	silent
	expect 0 "$run" true
	expect 143 "$run" sh -c 'kill $$; sleep 5'
}

options() {
	expect 0 "$run" --help
	grep -q Usage "$dir/out"
	expect 0 "$run" --version
	expect 125 "$run"
	expect 125 "$run" --nonesuch true
	expect 0 "$run" echo --require -x
	[ "$(cat "$dir/out")" = "--require -x" ]
}

program_missing() {
	expect 127 "$run" nonesuch-program
	says "not found"
	expect 127 "$run" ./nonesuch-program
	expect 127 sh -c '"$1" ./nonesuch-program 2>&-' sh "$run"
	expect 126 "$run" /etc/passwd
	says "not executable"
	expect 126 "$run" /tmp
	printf '#!/nonesuch/interpreter\n' >"$dir/script"
	chmod +x "$dir/script"
	expect 126 "$run" "$dir/script"
	says "interpreter is missing"
}

scripts() {
	printf '#!/bin/sh\necho script "$@"\n' >"$dir/script"
	chmod +x "$dir/script"
	expect 0 "$run" "$dir/script" one two
	[ "$(cat "$dir/out")" = "script one two" ]
	silent
	printf 'echo no first line\n' >"$dir/script"
	expect 0 "$run" "$dir/script"
}

warns_static() {
	expect 0 "$run" busybox true
	says "statically linked"
	expect 125 "$run" --require busybox true
	says "is statically linked: the library cannot reach it, and SDP is required: use a dynamically"
	SDP_PRELOAD=require expect 125 "$run" busybox true
	SDP_PRELOAD=off expect 0 "$run" busybox true
	silent
	# The dynamic linker itself, in place of the kernel.
	linker=$(ldd /bin/true | sed -n 's,^[[:space:]]*\(/[^ ]*\) .*,\1,p')
	expect 0 "$run" --require "$linker" /bin/true
	silent
	expect 0 "$run" "$bin/static_pie"
	says "statically linked"
	expect 125 "$run" --require "$bin/static_pie"
	says "statically linked"
}

# Dynamic, and the library cannot reach it all the same.
warns_go() {
	expect 0 "$run" "$bin/go_note"
	says "warning: $bin/go_note is a Go program, which makes its system calls itself"
	expect 125 "$run" --require "$bin/go_note"
	says "is a Go program"
}

warns_setuid() {
	cp /bin/true "$dir/suid"
	chmod 755 "$dir"
	chown 1 "$dir/suid"
	chmod 4755 "$dir/suid"
	expect 0 "$run" "$dir/suid"
	says "setuid"
	expect 125 "$run" --require "$dir/suid"
	says "setuid"
	says "/etc/ld.so.preload"
	# A script's own bits are without effect.
	printf '#!/bin/sh\nexit 3\n' >"$dir/script"
	chown 1 "$dir/script"
	chmod 4755 "$dir/script"
	expect 3 "$run" --require "$dir/script"
	silent
	# File capabilities count for who has not all of them.
	cp /bin/true "$dir/caps"
	setcap cap_net_raw+ep "$dir/caps"
	expect 0 "$run" --require "$dir/caps"
	expect 125 setpriv --reuid 1000 --clear-groups "$run" --require "$dir/caps"
	says "file capabilities"
	expect 0 setpriv --reuid 1000 --clear-groups "$run" "$dir/caps"
	says "file capabilities"
}

# The library is for one kind of program.
warns_class() {
	cp /bin/true "$dir/class"
	printf '\1' | dd of="$dir/class" bs=1 seek=4 conv=notrunc status=none
	expect 125 "$run" --require "$dir/class"
	says "another kind of machine"
	says "SDP_PRELOAD_LIB"
	# Whatever the kernel makes of it.
	"$run" "$dir/class" >/dev/null 2>"$dir/err" || true
	says "warning: $dir/class is for another kind of machine"
}

environment() {
	local lib

	lib=$(readlink -f "$tools/libsdp_preload.so")
	# Behind what others put there, and where it is if it is there.
	LD_PRELOAD=libm.so.6 expect 0 "$run" sh -c 'echo $LD_PRELOAD $SDP_PRELOAD'
	[ "$(cat "$dir/out")" = "libm.so.6:$lib" ] || why "LD_PRELOAD is $(cat "$dir/out")"
	LD_PRELOAD="libm.so.6 $lib:libdl.so.2" expect 0 "$run" sh -c 'echo $LD_PRELOAD'
	[ "$(cat "$dir/out")" = "libm.so.6 $lib:libdl.so.2" ] ||
		why "LD_PRELOAD is $(cat "$dir/out")"
	LD_PRELOAD="/nonesuch$lib" expect 0 "$run" sh -c 'echo $LD_PRELOAD'
	[ "$(cat "$dir/out")" = "/nonesuch$lib:$lib" ] || why "LD_PRELOAD is $(cat "$dir/out")"
	expect 0 "$run" "$run" sh -c 'echo $LD_PRELOAD'
	[ "$(cat "$dir/out")" = "$lib" ] || why "LD_PRELOAD is $(cat "$dir/out")"
	expect 0 "$run" --require sh -c 'echo $SDP_PRELOAD'
	[ "$(cat "$dir/out")" = require ]
	SDP_PRELOAD=off expect 0 "$run" --require sh -c 'echo $SDP_PRELOAD'
	[ "$(cat "$dir/out")" = off ]
	says "--require has no effect"
	SDP_PRELOAD=off expect 0 "$run" --require --explain 10.9.0.2:80
	grep -q "^answer: tcp" "$dir/out"
	SDP_PRELOAD=nonsense expect 0 "$run" true
	says "neither off nor require"
}

# Answers are for scripts: what was not written is no success.
answers_nowhere() {
	expect 125 sh -c '"$1" --explain 10.9.0.2:80 >/dev/full' sh "$run"
	says "cannot write to standard output: No space left on device"
	expect 125 sh -c '"$1" --help >/dev/full' sh "$run"
	expect 1 sh -c '"$1" -a >/dev/full' sh "$tools/sdpstat"
	says "cannot write to standard output: No space left on device"
	expect 1 sh -c '"$1" -s >/dev/full' sh "$tools/sdpstat"
	# It would go on for ever.
	expect 1 sh -c '"$1" -i 0.1 >/dev/full' sh "$tools/sdpstat"
}

library_missing() {
	cp "$run" "$dir/sdp_run"
	if [ -e /usr/local/lib/libsdp_preload.so ]; then
		return
	fi
	expect 125 "$dir/sdp_run" true
	says "libsdp_preload.so is missing"
	SDP_PRELOAD_LIB=$dir/none expect 125 "$run" true
	says "no such library"
	SDP_PRELOAD_LIB=$tools/libsdp_preload.so expect 0 "$dir/sdp_run" true
	# installed: bin and lib side by side
	mkdir -p "$dir/bin" "$dir/lib"
	cp "$run" "$dir/bin"
	cp "$tools/libsdp_preload.so" "$dir/lib"
	expect 0 "$dir/bin/sdp_run" true
	silent
}

module_missing() {
	expect 0 "$run" true
	says "af_sdp is not loaded"
	SDP_PRELOAD=off expect 0 "$run" true
	silent
	expect 125 "$run" --require true
	says "af_sdp is not loaded"
	# Loaded by hand, without the launcher: one message, however many attempts.
	LD_PRELOAD=$tools/libsdp_preload.so SDP_PRELOAD=require \
		expect 1 bash -c "exec 3<>/dev/tcp/$own/9 || exec 3<>/dev/tcp/$own/9"
	says "af_sdp is not loaded"
	[ "$(grep -c libsdp_preload: "$dir/err")" = 1 ] || why "said more than once"
	grep -q "Network is unreachable" "$dir/err"
	expect 1 "$tools/sdpstat"
	says "not loaded"
	expect 1 "$tools/sdpstat" -s
	says "not loaded"
}

no_pollution() {
	# Programs that know nothing of sockets, and many of them.
	expect 0 "$run" sh -c 'for i in 1 2 3 4 5 6 7 8; do ls /; date; done'
	silent
}

interposes_three() {
	[ "$(nm -D --defined-only "$tools/libsdp_preload.so" | awk '{ print $3 }' | xargs)" = \
		"connect dlopen listen" ]
}

# A library whose calls would be bound past ours: PHP loads each extension so.
deepbind() {
	local pid

	"$run" python3 - "$own" <<-END &
		import socket, sys
		l = socket.create_server((sys.argv[1], 9838))
		kept = [l.accept() for i in range(9)]
	END
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' -l | grep -q :9838"
	expect 0 "$run" --require "$bin/deepbind" "$own" 9838
	[ "$(cat "$dir/out")" = sdp ] || why "by $(cat "$dir/out")"
	SDP_PRELOAD=off expect 0 "$run" "$bin/deepbind" "$own" 9838
	[ "$(cat "$dir/out")" = tcp ] || why "by $(cat "$dir/out")"
	kill $pid
	trap - EXIT
}

echoed=$((5 + 2 * (1 + 100 + 4096 + 70000 + 300000)))	# bytes of echo.py, both ways

# echoes LAUNCHER LAUNCHER ADDRESS [ADDRESS]: a server at the first address, and a client to
# the second or the same.  Sets what the counters have gained.
echoes() {
	local joins sent pid

	joins=$(counter local_joins) sent=$(counter local_bytes_sent)
	: >"$dir/server"
	# shellcheck disable=SC2086 # words, or nothing
	$1 python3 "$selftests/tools/echo.py" server "$3" 9841 >"$dir/server" 2>&1 &
	pid=$!
	until_true grep -q ready "$dir/server"
	# shellcheck disable=SC2086
	limit 30 $2 python3 "$selftests/tools/echo.py" client "${4:-$3}" 9841 ||
		why "the client to ${4:-$3} failed"
	wait $pid || { cat "$dir/server"; why "the server at $3 failed"; }
	joins=$(($(counter local_joins) - joins)) sent=$(($(counter local_bytes_sent) - sent))
	gained="$joins joined, $sent bytes"
}

# gains JOINS BYTES ARGUMENT...: of echoes
gains() {
	local want="$1 joined, $2 bytes"

	shift 2
	echoes "$@"
	[ "$gained" = "$want" ] || why "echoes $*: expected $want, got $gained"
}

# Every address of this host, in the words of programs.
local_addresses() {
	gains 1 $echoed "$run" "$run" 127.0.0.1
	gains 1 $echoed "$run" "$run" ::1
	gains 1 $echoed "$run" "$run" localhost
	gains 1 $echoed "$run" "$run" 127.0.0.1 localhost
	gains 1 $echoed "$run" "$run" 0.0.0.0
	gains 1 $echoed "$run" "$run" 0.0.0.0 127.0.0.7
	gains 1 $echoed "$run" "$run" ::
	gains 1 $echoed "$run" "$run" "$own"
	gains 1 $echoed "$run" "$run" 0.0.0.0 "$own"
	gains 1 $echoed "$run" "$run" "$own6"
	gains 1 $echoed "$run --require" "$run" "$own"
}

# With one end of ours it is TCP, and each byte is right.
local_one_side() {
	local before

	before=$(counter fallback_local)
	gains 0 0 "" "$run" 127.0.0.1
	gains 0 0 "" "$run" ::1
	gains 0 0 "" "$run" 0.0.0.0 "$own"
	[ "$(counter fallback_local)" = $((before + 3)) ] || why "the reason is not counted"
	before=$(counter tcp_accept)
	gains 0 0 "$run" "" 127.0.0.1
	gains 0 0 "$run" "" :: ::1
	gains 0 0 "$run" "" 0.0.0.0 "$own"
	[ "$(counter tcp_accept)" = $((before + 3)) ] || why "plain clients are not counted"
	SDP_PRELOAD=off gains 0 0 "$run" "$run" 127.0.0.1
}

local_off() {
	local before

	before=$(counter fallback_loopback)
	gains 0 0 "$run" "$run" 127.0.0.1
	gains 0 0 "$run" "$run" ::1
	gains 0 0 "$run" "$run" localhost
	gains 0 0 "$run" "$run" 0.0.0.0
	[ "$(counter fallback_loopback)" -ge $((before + 4)) ] || why "the reason is not counted"
	# Between addresses that a device has it is SDP.
	before=$(counter bytes_sent)
	gains 0 0 "$run" "$run" "$own"
	[ $(($(counter bytes_sent) - before)) -ge $echoed ] || why "not by SDP"
}

# A rule leaves it to TCP, by either end.
local_ruled() {
	export SDP_CONFIG_FILE=$dir/conf

	echo "use tcp connect python3* 127.0.0.0/8:*" >"$SDP_CONFIG_FILE"
	gains 0 0 "$run" "$run" 127.0.0.1
	gains 1 $echoed "$run" "$run" ::1
	gains 1 $echoed "$run" "$run" "$own"
	echo "use tcp listen * 127.0.0.1:9841" >"$SDP_CONFIG_FILE"
	gains 0 0 "$run" "$run" 127.0.0.1
	gains 1 $echoed "$run" "$run" 0.0.0.0 127.0.0.1
	echo "use tcp client sshd *:*" >"$SDP_CONFIG_FILE"
	gains 1 $echoed "$run" "$run" 127.0.0.1
}

sdpstat_options() {
	expect 0 "$tools/sdpstat" --help
	expect 0 "$tools/sdpstat" --version
	expect 2 "$tools/sdpstat" --nonesuch
	expect 2 "$tools/sdpstat" word
	expect 1 "$tools/sdpstat" -i nonsense
}

sdpstat_counters() {
	expect 0 "$tools/sdpstat" -s
	[ "$(awk '{ print $1, $2 }' "$dir/out")" = "$(awk '{ print $1, $2 }' /proc/net/sdpstat)" ]
	expect 0 "$tools/sdpstat" -s --json
	python3 -m json.tool "$dir/out" >/dev/null
	expect 0 "$tools/sdpstat" -i 0.1 2
	[ "$(grep -c '^in 0' "$dir/out")" = 2 ]
	expect 0 "$tools/sdpstat" -i 0.1 1 --json
	python3 -m json.tool "$dir/out" >/dev/null
}

# A stream that runs meanwhile is listed with its process, on both sides.
sdpstat_sockets() {
	local pid

	"$bin/sdp_stream" --self --via family --port 9833 --bytes 100g --limit 60 \
		>/dev/null &
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' | grep -q ESTABLISHED"
	expect 0 "$tools/sdpstat" -l
	grep -E "^LISTEN .*:9833 .*sdp_stream/" "$dir/out"
	[ "$(wc -l <"$dir/out")" = 2 ]
	expect 0 "$tools/sdpstat" -n
	[ "$(grep -c ESTABLISHED "$dir/out")" = 2 ]
	grep -E "^ESTABLISHED .*$own:9833 +$own:[0-9]+ +(combined|pipelined)/(combined|pipelined) +none +[0-9]+ +rxe0 +sdp_stream/" \
		"$dir/out"
	grep -E "^ESTABLISHED .*$own:[0-9]+ +$own:9833 .*sdp_stream/$pid\$" "$dir/out"
	expect 0 "$tools/sdpstat" -a
	[ "$(wc -l <"$dir/out")" = 4 ]
	expect 0 "$tools/sdpstat" -a --json
	python3 - "$dir/out" <<-END
		import json, sys
		a = json.load(open(sys.argv[1]))
		assert len(a) == 3, a
		l = [s for s in a if s['state'] == 'LISTEN'][0]
		assert l['local_port'] == 9833 and l['backlog'] == 64, l
		c = [s for s in a if s['state'] == 'ESTABLISHED']
		assert len(c) == 2 and all(s['transport'] == 'ib' for s in c), c
		assert {s['qp_num'] for s in c} == {s['peer_qp_num'] for s in c}, c
		assert all(s['inode'] and s['processes'][0]['name'] == 'sdp_stream' for s in c), c
	END
	kill $pid
	trap - EXIT
	until_true sh -c "! '$tools/sdpstat' | grep -q ESTABLISHED"
}

# Both ends of what is joined are listed, what is unread with it.
sdpstat_joined() {
	local server client

	mkfifo "$dir/never"
	"$run" python3 "$selftests/tools/echo.py" server 127.0.0.1 9841 >"$dir/server" &
	server=$!
	trap 'kill $server' EXIT
	until_true grep -q ready "$dir/server"
	"$run" bash -c "exec 3<>/dev/tcp/127.0.0.1/9841; echo hi >&3; : <'$dir/never'" &
	client=$!
	trap 'kill $server $client' EXIT
	# Greeted, and answered.
	until_true sh -c "'$tools/sdpstat' | grep -q ' 8 .* 127.0.0.1:9841 '"
	expect 0 "$tools/sdpstat"
	grep -E "^ESTABLISHED +8 +0 127.0.0.1:[0-9]+ +127.0.0.1:9841 +local +- +- +- +bash/$client\$" "$dir/out"
	grep -E "^ESTABLISHED +0 +0 127.0.0.1:9841 +127.0.0.1:[0-9]+ +local +- +- +- +python3[^/]*/$server\$" \
		"$dir/out"
	[ "$(wc -l <"$dir/out")" = 3 ]
	expect 0 "$tools/sdpstat" --json
	python3 - "$dir/out" <<-END
		import json, sys
		s, c = sorted(json.load(open(sys.argv[1])), key=lambda s: s['inq'])
		assert s['local_port'] == c['peer_port'] == 9841 and s['peer_port'] == c['local_port'], (s, c)
		assert all(e['transport'] == 'local' and e['reason'] == 'none' and e['door3'] for e in (s, c)), (s, c)
		assert all(e['state'] == 'ESTABLISHED' and e['family'] == 'ipv4' for e in (s, c)), (s, c)
		assert s['bytes_sent'] == c['inq'] == 8 and c['bytes_received'] == c['outq'] == 0, (s, c)
		assert [e['processes'][0]['pid'] for e in (s, c)] == [$server, $client], (s, c)
		assert c['device'] == '' and c['mem'] > 0, c
	END
	# It is TCP's too, whose tool names us.
	expect 0 ss -Htni "dport = :9841"
	grep -q "tcp-ulp-sdp" "$dir/out" || { cat "$dir/out"; why "ss does not know it"; }
	kill $server $client
	trap - EXIT
	until_true sh -c "! '$tools/sdpstat' | grep -q local"
}

# What is counted as it is now falls again.
sdpstat_falls() {
	local pid watch

	"$bin/sdp_stream" --self --via family --port 9833 --bytes 100g --limit 60 \
		>/dev/null &
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' | grep -q ESTABLISHED"
	"$tools/sdpstat" -i 0.1 --json >"$dir/watch" &
	watch=$!
	trap 'kill $pid $watch' EXIT
	until_true test -s "$dir/watch"
	kill $pid
	trap 'kill $watch' EXIT
	until_true grep -Eq '"conns":-[12],' "$dir/watch"
	grep -Eq '"mem_kib":-[0-9]+[,}]' "$dir/watch"
	kill $watch
	trap - EXIT
}

# listens_as PORT NAME: in the background, in a process that calls itself so
listens_as() {
	python3 - "$own" "$1" "$2" <<-END &
		import os, socket, sys, time
		l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 257)
		l.bind((sys.argv[1], int(sys.argv[2])))
		open('/proc/self/comm', 'wb').write(os.fsencode(sys.argv[3]))
		l.listen()
		time.sleep(60)
	END
}

# A process may call itself anything.
sdpstat_names() {
	local pid

	listens_as 9835 $'\x1b[31m"\xc3\xa9\xc2\x9b\xff\xed\xa0\x80'
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' -l | grep -aq ':9835 .*/$pid'"
	expect 0 "$tools/sdpstat" -l
	LC_ALL=C grep -qaF $'?[31m"\xc3\xa9?????/'$pid "$dir/out" || { cat -v "$dir/out"; why "not escaped"; }
	expect 0 "$tools/sdpstat" -l --json
	python3 - "$dir/out" <<-END
		import json, sys
		a = json.loads(open(sys.argv[1], 'rb').read().decode())
		a = [s['processes'][0]['name'] for s in a if s['local_port'] == 9835]
		assert a == ['\x1b[31m"\xe9\x9b' + 4 * '\ufffd'], a
	END
	! LC_ALL=C grep -qa $'\x9b\|\x1b' "$dir/out" || why "a control character as it is"
	kill $pid
	trap - EXIT
}

# Nor does it say by its name which processes there are.
sdpstat_forged_names() {
	local pid

	listens_as 9836 sshd/1,x
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' -l | grep -q ':9836 .*/$pid'"
	expect 0 "$tools/sdpstat" -l --json
	python3 - "$dir/out" $pid <<-END
		import json, sys
		a = [s['processes'] for s in json.load(open(sys.argv[1])) if s['local_port'] == 9836]
		assert a == [[{'name': 'sshd/1,x', 'pid': int(sys.argv[2])}]], a
	END
	kill $pid
	trap - EXIT
}

# One that TCP took over is listed with its reason and its process, and without
# a process when it is closed.
sdpstat_fallback() {
	local pid

	# By TCP_ULP as the library has it, but from a server that does without.
	python3 - "$own" <<-END &
		import socket, sys, time
		l = socket.create_server((sys.argv[1], 9834))
		c = socket.socket()
		c.setsockopt(socket.SOL_TCP, 31, b"sdp")	# TCP_ULP
		c.connect((sys.argv[1], 9834))
		time.sleep(60)
	END
	pid=$!
	trap 'kill $pid' EXIT
	until_true sh -c "'$tools/sdpstat' -f | grep -q ':9834 .*python'"
	expect 0 "$tools/sdpstat" -f
	grep -E "^TCP .* $own:[0-9]+ +$own:9834 +[0-9]+ s ago +refused .*python3[^/]*/$pid\$" "$dir/out"
	expect 0 "$tools/sdpstat" --fallback --json
	python3 - "$dir/out" <<-END
		import json, sys
		a = [s for s in json.load(open(sys.argv[1])) if s.get('peer_port') == 9834]
		assert len(a) == 1, a
		assert a[0]['transport'] == 'tcp' and a[0]['reason'] == 'refused', a
		assert a[0]['door3'] and a[0]['age'] < 600 and a[0]['processes'], a
	END
	# Not among those that SDP carries.
	expect 0 "$tools/sdpstat" -a
	[ "$(grep -c ^TCP "$dir/out")" = 0 ] || why "-a lists what fell back"
	kill $pid
	trap - EXIT
	until_true sh -c "'$tools/sdpstat' -f | grep -q ':9834 .* -\$'"
}

case ${SDP_HOST:-h1} in
h1)	own=${SDP_ADDR4:-10.9.0.1} own6=${SDP_ADDR6:-fd09::1} ;;
*)	own=${SDP_ADDR4:-10.9.0.2} own6=${SDP_ADDR6:-fd09::2} ;;
esac

begin
run_case run.exit_status passes_status
run_case run.options options
run_case run.program_missing program_missing
run_case run.scripts scripts
run_case run.warns_of_static_programs warns_static
run_case run.warns_of_go_programs warns_go
run_case run.warns_of_setuid_programs warns_setuid
run_case run.warns_of_another_class warns_class
run_case run.environment environment
run_case run.answers_nowhere answers_nowhere
run_case run.library_missing library_missing
run_case run.module_missing without_module module_missing
run_case library.interposes_three_functions interposes_three
joined_case 0 library.deepbind deepbind
run_case library.no_pollution no_pollution
for mode in on off require; do
	joined_case 0 "library.cases.$mode" cases $mode
	joined_case 1 "library.cases_joined.$mode" cases $mode
	run_case "library.cases_without_module.$mode" without_module \
		env SDP_PRELOAD=$mode LD_PRELOAD="$tools/libsdp_preload.so" "$bin/sdp_preload"
done
joined_case 1 local.addresses local_addresses
joined_case 1 local.one_side local_one_side
joined_case 0 local.off local_off
joined_case 1 local.ruled local_ruled
run_case sdpstat.options sdpstat_options
run_case sdpstat.counters sdpstat_counters
joined_case 0 sdpstat.sockets sdpstat_sockets
joined_case 0 sdpstat.gauges_fall sdpstat_falls
run_case sdpstat.names sdpstat_names
run_case sdpstat.forged_names sdpstat_forged_names
joined_case 1 sdpstat.joined sdpstat_joined
joined_case 0 sdpstat.fallback sdpstat_fallback
finish
