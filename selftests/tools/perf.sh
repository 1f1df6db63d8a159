#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The benchmark that is installed: selftests/tools/perf.sh
#
# Each mode and option runs over each transport, TCP with the others, inside this host and, if
# there is another, between two; perf_judge.py says whether what comes of it is whole.  No
# figure is judged: how fast anything is depends on what else the machine does.
. "$(dirname "$0")/../lib/ktap.sh"

perf=$tools/sdp_perf
judge=$selftests/tools/perf_judge.py
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case ${SDP_HOST:-h1} in
h1)	own=${SDP_ADDR4:-10.9.0.1} ;;
*)	own=${SDP_ADDR4:-10.9.0.2} ;;
esac
peer=10.9.0.2
# Little of everything.
few="--repeat 2 --count 20"
short="--repeat 2 --ms 1"
# Figures of bw that options ask for.
unasked="send_us send_p99_us compute_share"

# expect STATUS COMMAND...: standard output goes to $dir/out, standard error to $dir/err
expect() {
	local want=$1 status=0

	shift
	limit 120 "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ $status = "$want" ] || {
		head -c 3000 "$dir/out"
		cat "$dir/err"
		why "expected exit status $want, got $status: $*"
	}
}

says() { # TEXT, in standard error
	grep -qF -e "$1" "$dir/err" || { cat "$dir/err"; why "did not say \"$1\""; }
}

silent() {
	[ ! -s "$dir/err" ] || { cat "$dir/err"; why "said something"; }
}

# judged FORM MODE TRANSPORTS SIZES MAY-LACK OPTION...: FORM is json or csv
# shellcheck disable=SC2086 # options and figures are words
judged() {
	local form=$1 mode=$2 transports=$3 sizes=$4 lacks=$5 command=$2

	shift 5
	[ "$mode" != connections ] || command="bw --connections"
	expect 0 "$perf" $command --over "$transports" --$form "$@"
	silent
	python3 "$judge" $form "$dir/out" "$mode" "$transports" "$sizes" $lacks
}

# The same in each form, and as a table.
judged_forms() {
	local mode=$1 transports=$2 sizes=$3 command=$1

	judged json "$@"
	judged csv "$@"
	shift 4
	[ "$mode" != connections ] || command="bw --connections"
	# shellcheck disable=SC2086
	expect 0 "$perf" $command --over "$transports" "$@"
	silent
	table_is_whole "$transports" "$sizes"
}

# Each block has a line for each size, and a figure in it for each transport.
table_is_whole() { # TRANSPORTS SIZES
	awk -v names="${1//,/ }" -v sizes="${2//,/ }" '
		BEGIN { nsizes = split(sizes, size, " "); nnames = split(names, name, " ") }
		/^[a-z_]+: / { about[$1] = 1 }
		$1 == "bytes" {
			blocks++
			at = 0
			for (i = 1; i <= nnames; i++)
				seen = seen + (index($0, name[i]) > 0)
			next
		}
		blocks && /^ +[0-9]/ && $1 == size[++at] {
			gsub(/ \([0-9.]+/, "")
			lines++
			fields += NF - 1
		}
		END {
			split("sdp_perf: measured: date: parameters: client: server: carried_by:", want, " ")
			for (i in want)
				if (!(want[i] in about)) { print "no line " want[i]; exit 1 }
			if (size[1] == 0)	# of connections there is none
				exit 0
			if (!blocks || lines != blocks * nsizes || seen != blocks * nnames ||
			    fields != lines * nnames) {
				print blocks, "blocks,", lines, "lines,", fields, "figures"
				exit 1
			}
		}' "$dir/out" || { cat "$dir/out"; why "the table is not whole"; }
}

# COMMAND...: in a subshell that ends at the first failure, its status in $status; in a list
# of "||" it would not end.
apart() {
	set +e
	( set -e; "$@" )
	status=$?
	set -e
}

# With "sysctl net.sdp.NAME=VALUE" meanwhile.
with_tunable() { # NAME VALUE COMMAND...
	local name=net.sdp.$1 was status

	was=$(sysctl -n "$name")
	sysctl -qw "$name=$2"
	shift 2
	apart "$@"
	sysctl -qw "$name=$was"
	return $status
}

with_local() { # N COMMAND...
	with_tunable local "$@"
}

# A server at a port of its own, for as long as COMMAND runs; $server is its process.
with_server() { # ADDRESS PORT COMMAND...
	local address=$1 port=$2 status

	shift 2
	"$perf" server -p "$port" "$address" >"$dir/server" 2>&1 &
	server=$!
	until_true grep -q "serving at port $port" "$dir/server"
	apart "$@"
	kill $server 2>/dev/null
	wait $server 2>/dev/null || true
	return $status
}

# The same on the other host.
with_peer() { # PORT COMMAND...
	local port=$1 status

	shift
	on h2 "$perf" server -p "$port" >"$dir/server" 2>&1 &
	until_true on h2 sh -c "ss -Hltn 'sport = :$port' | grep -q ."
	apart "$@"
	on h2 pkill -x sdp_perf || true
	wait
	return $status
}

# ---- the command line

prints_its_help() {
	expect 0 "$perf" --help
	grep -q "^Usage: sdp_perf server" "$dir/out"
	silent
	expect 0 "$perf" latency --help
	grep -q "^Usage: sdp_perf server" "$dir/out"
	expect 0 "$perf" --version
	grep -q "^sdp_perf (AF_SDP) [0-9]" "$dir/out"
	expect 1 sh -c '"$1" --help >/dev/full' sh "$perf"
	says "cannot write to standard output: No space left on device"
}

# wrong TEXT ARGUMENT...: it is said, in one line and where to read on, and nothing is done
wrong() {
	local text=$1

	shift
	expect 2 "$perf" "$@"
	says "$text"
	says "Try 'sdp_perf --help'."
	[ "$(wc -l <"$dir/err")" = 2 ] || { cat "$dir/err"; why "more than that: $*"; }
	[ ! -s "$dir/out" ] || why "went on: $*"
}

refuses_bad_lines() {
	wrong "what is to be done? Say server, latency or bw"
	wrong '"ping" is no command: say server, latency or bw' ping
	wrong "unrecognized option '--nonesuch'" latency --nonesuch
	wrong "requires an argument" latency --size
	wrong '"one" and "two": one host' bw one two
	wrong '"one" and "two": one address' server one two
	for value in 0 65536 9960x ""; do
		wrong "--port $value: it takes a number from 1 to 65535" latency -p "$value"
	done
	for value in 0 -5 99999999999; do
		wrong "--repeat $value: it takes a number from 1 to" latency --repeat "$value"
		wrong "--count $value: it takes a number from 1 to" latency --count "$value"
		for option in ms window streams clients compute-us touch; do
			wrong "--$option $value: it takes a number from 1 to" bw --$option "$value"
		done
	done
	for value in 0 -1 17m 1g 16777217 "4k," x; do
		wrong ": a size is from 1 to 16777216 bytes, as 64, 4k, 1m" latency --size "$value"
	done
	for value in nonesuch tcp,nonesuch "tcp," ""; do
		wrong ": it takes a list of tcp, unix, sdp, local, rsocket, verbs" bw --over "$value"
	done
	wrong "--wait long: it takes asleep, poll or epoll" latency --wait long
	wrong "--csv and --json: one of them" latency --csv --json
	wrong "--size and --streams: 65 messages of 16777216 bytes are more than 1 GiB" \
		bw --size 16m,1 --streams 65
	wrong "--self and --port:" bw --self --port 9
	wrong "--both and --window:" bw --both --window 4
	for option in "--compute-us 5" "--touch 3" --send-time; do
		# shellcheck disable=SC2086
		wrong "--both: --compute-us, --touch and --send-time are for one way only" \
			bw --both $option
	done
	for option in "--window 4" --both "--streams 2" "--clients 2" "--ms 5" --connections \
		"--compute-us 5" "--touch 3" --send-time; do
		# shellcheck disable=SC2086
		wrong "is not for latency, but for bw" latency $option
	done
	for option in "--window 4" --both "--streams 2" "--compute-us 5" "--touch 3" --send-time \
		--verify "--size 5"; do
		# shellcheck disable=SC2086
		wrong "is not for bw --connections, but for" bw --connections $option
	done
	wrong "--count is not for bw, but for latency" bw --count 5
	wrong "--json is not for server, but for latency and bw" server --json
}

answers_nowhere() {
	expect 1 sh -c '"$1" latency --over tcp --size 1 --count 5 >/dev/full' sh "$perf"
	says "cannot write to standard output: No space left on device"
}

# ---- inside this host

every_way_here() { # TRANSPORTS
	judged_forms latency "$1" 1,5000 "p99_us p99_9_us" --size 1,5000 $few --self "$own"
	judged_forms bw "$1" 64,65536 "$unasked" --size 64,64k $short --self "$own"
	judged_forms connections "${1%,verbs}" 0 connection_p99_us $short --self "$own"
}

# Every size of the default, and as many samples as the rarest figure takes.
default_sizes() {
	local sizes

	sizes=$(seq -s , 16),24,32,48,64,96,128,256,512,1024,2048,4096,8192,16384,32768,65536
	judged json latency tcp "$sizes" "p99_us p99_9_us" --repeat 1 --count 1
	judged json latency tcp 1 "" --repeat 2 --count 500 --size 1
	judged json bw tcp 64,1024,4096,16384,65536,262144,1048576 "$unasked" \
		--repeat 1 --ms 1
}

# What works is found, and what does not has its reason.
finds_transports() {
	expect 0 "$perf" latency --size 1 $few --json --self "$own"
	python3 "$judge" json "$dir/out" latency tcp,unix,sdp,rsocket,verbs 1 p99_us p99_9_us
	python3 - "$dir/out" <<-END
		import json, sys
		left = json.load(open(sys.argv[1]))['left_out']
		assert [l['transport'] for l in left] == ['local'], left
		assert left[0]['reason'] == 'server: net.sdp.local is 0: sysctl net.sdp.local=1', left
	END
}

finds_local() {
	# 127.0.0.1 has no RDMA device.
	expect 0 "$perf" latency --size 1 $few --json
	python3 "$judge" json "$dir/out" latency tcp,unix,local 1 p99_us p99_9_us
	expect 0 "$perf" latency --size 1 $few --json --self ::1
	python3 "$judge" json "$dir/out" latency tcp,unix,local 1 p99_us p99_9_us
}

# refused TRANSPORT TEXT OPTION...: it was asked for, so that it is an error
refused() {
	local transport=$1 text=$2

	shift 2
	expect 1 "$perf" "$@" --over "tcp,$transport"
	says "sdp_perf: $transport: "
	says "$text"
	[ ! -s "$dir/out" ] || { cat "$dir/out"; why "went on"; }
}

refuses_by_reason() {
	refused local "net.sdp.local is 0: sysctl net.sdp.local=1" latency --self "$own"
	refused sdp "TCP carries it: loopback: 127.0.0.0/8 and ::1 have no RDMA device" latency
	refused rsocket "is there an RDMA device with this address?" latency
	refused verbs "RDMA device" bw
	refused rsocket "epoll knows only those" latency --wait epoll --self "$own"
	refused verbs "the cost of its connections is not measured" bw --connections --self "$own"
	with_local 1 refused sdp "memory carries it, as net.sdp.local is 1: sysctl net.sdp.local=0" \
		latency --self "$own"
}

# What the library makes SDP's is not TCP's.
refuses_false_tcp() {
	expect 1 "$run" "$perf" latency --over tcp --self "$own"
	says "sdp_perf: tcp: "
	says "SDP carries it: run sdp_perf without sdp_run and libsdp_preload.so"
	SDP_PRELOAD=off expect 0 "$run" "$perf" latency --over tcp --size 1 $few --self "$own"
}

no_module() {
	expect 1 "$perf" latency --over sdp --self "$own"
	says "the kernel module af_sdp is not loaded (modprobe af_sdp)"
	expect 1 "$perf" latency --over local --self "$own"
	says "the kernel module af_sdp is not loaded (modprobe af_sdp)"
	expect 0 "$perf" latency --size 1 $few --json --self "$own"
	python3 "$judge" json "$dir/out" latency tcp,unix,rsocket,verbs 1 p99_us p99_9_us
}

# Who has no RDMA has the other transports.
no_libraries() {
	! ldd "$perf" | grep "rdmacm\|ibverbs" || why "it needs them"
	# shellcheck disable=SC2016
	expect 0 unshare -m sh -c '
		for lib in librdmacm libibverbs; do
			mount --bind /dev/null "$(readlink -f "$(ldconfig -p |
				awk -v l=$lib.so.1 "\$1 == l { print \$NF; exit }")")" || exit 9
		done
		exec "$@"' sh "$perf" latency --size 1 $few --json --self "$own"
	python3 "$judge" json "$dir/out" latency tcp,unix,sdp 1 p99_us p99_9_us
	grep -q "librdmacm.so.1: .*: install librdmacm1" "$dir/out"
	grep -q "libibverbs.so.1: .*: install libibverbs1" "$dir/out"
}

# The module's own count says by which way the bytes went.
carried_as_told() {
	local transport counter was now by_memory

	for transport in tcp sdp local; do
		by_memory=0
		[ $transport != local ] || by_memory=1
		for counter in bytes_sent local_bytes_sent; do
			was=$(counter $counter)
			with_local $by_memory expect 0 "$perf" bw --over $transport --size 64k $short --self "$own"
			now=$(counter $counter)
			case $transport.$counter in
			sdp.bytes_sent | local.local_bytes_sent)
				[ $((now - was)) -ge 131072 ] ||
					why "$transport: $counter rose by $((now - was))" ;;
			*)	[ "$now" = "$was" ] ||
					why "$transport: $counter rose by $((now - was))" ;;
			esac
		done
	done
}

# By memory until there is none for the pipe: then TCP has it, which is not "local".
leaves_local() {
	with_tunable mem_max 1 refused local "went by memory, and TCP carried the others" \
		bw --size 1m $short --self "$own"
}

# ---- bytes

# A byte in the middle is seen by who compares all, the last one by anybody.
sees_wrong_bytes() { # TRANSPORTS
	local transport

	for transport in ${1//,/ }; do
		for mode in latency bw; do
			FLIP="5000 2500" LD_PRELOAD=$bin/flip.so expect 1 "$perf" $mode -p 9841 \
				--over $transport --size 5000 --repeat 1 --verify "$own"
			says "sdp_perf: $transport: server: the bytes are not those that were sent: at "
		done
		FLIP="5000 4999" LD_PRELOAD=$bin/flip.so expect 1 "$perf" latency -p 9841 \
			--over $transport --size 5000 --repeat 1 "$own"
		says "sdp_perf: $transport: server: the bytes are not those that were sent: at 4999 "
		FLIP="4999 2500" LD_PRELOAD=$bin/flip.so expect 0 "$perf" latency -p 9841 \
			--over $transport --size 5000 $few --verify "$own"
	done
}

# ---- interruptions

# interrupt SIGNAL PATTERN STATUS COMMAND...: when its progress says so, on a terminal
interrupt() {
	local signal=$1 pattern=$2 want=$3 status=0

	shift 3
	limit 120 python3 - "$signal" "$pattern" "$dir/out" "$@" <<-END || status=$?
		import os, pty, re, signal, subprocess, sys
		name, pattern, out = sys.argv[1:4]
		ours, theirs = pty.openpty()
		with open(out, 'wb') as f:
		    p = subprocess.Popen(sys.argv[4:], stdout=f, stderr=theirs)
		os.close(theirs)
		said = b''
		while not re.search(pattern.encode(), said):
		    said += os.read(ours, 4096)
		p.send_signal(getattr(signal, name))
		sys.exit(p.wait())
	END
	[ $status = "$want" ] || why "expected exit status $want, got $status: $*"
}

tells_what_there_is() { # TRANSPORTS
	interrupt SIGINT "latency: 3 of 1000000, 1 bytes over tcp" 130 \
		"$perf" latency --over "$1" --size 1,64 --count 20 --repeat 1000000 --json --self "$own"
	python3 "$judge" json "$dir/out" latency "$1" 1,64 p99_us p99_9_us
	grep -q '"interrupted": true' "$dir/out"
	interrupt SIGTERM "bw: 2 of 1000000, 64 bytes over tcp" 143 \
		"$perf" bw --over "$1" --size 64,64k --ms 1 --repeat 1000000 --csv --self "$own"
	python3 "$judge" csv "$dir/out" bw "$1" 64,65536 $unasked
	interrupt SIGINT "bw: 2 of 1000000, 64 bytes over tcp" 130 \
		"$perf" bw --over "$1" --size 64,64k --ms 1 --repeat 1000000 --self "$own"
	table_is_whole "$1" 64,65536
	# Before there is anything.
	interrupt SIGINT "latency: 1 of 1," 130 \
		"$perf" latency --over "$1" --count 10000000 --repeat 1 --json --self "$own"
	grep -q '"interrupted": true' "$dir/out"
	python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["results"] == []' "$dir/out"
}


# Nobody is served any more.
no_sessions() {
	! pgrep -P "$server"
}

# The session has had its turn so often that round trips are under way.
in_the_midst() {
	awk '/ctxt_switches/ { n += $2 } END { exit n < 300 }' "/proc/$(pgrep -P "$server")/status"
}

# A run that does not end by itself, and is under way; $client is its process.
under_way() { # OPTION...
	"$perf" latency -p 9842 --size 1 --repeat 1 --count 10000000 "$@" "$own" \
		>"$dir/out" 2>"$dir/err" &
	client=$!
	until_true pgrep -P "$server"
	until_true in_the_midst
}

# Nobody waits for an end that has gone, in whatever it waits.
other_end_goes() { # TRANSPORTS
	local transport wait client status

	for transport in ${1//,/ }; do
		for wait in asleep poll; do
			under_way --over $transport --wait $wait
			pkill -KILL -P "$server"
			status=0
			limit 60 tail --pid=$client -f /dev/null
			wait $client || status=$?
			[ $status = 1 ] || why "$transport, $wait: status $status"
			says "sdp_perf: $transport: "
			until_true no_sessions
		done
		under_way --over $transport
		kill -KILL $client
		wait $client 2>/dev/null || true
		until_true no_sessions
	done
}

# ---- who else may be at the other end

no_server() {
	expect 1 "$perf" latency -p 9843 "$own"
	says "no server at $own, port 9843: Connection refused: run \"sdp_perf server\" there"
	expect 1 "$perf" latency no-such-host.invalid
	says "no-such-host.invalid: "
	expect 1 "$perf" latency --self 192.0.2.1
	says "that is no address of this host"
}

port_is_taken() {
	expect 1 "$perf" server -p 9844 "$own"
	says "port 9844 of $own: Address already in use: is another server there? -p has another port"
}

# says_this TEXT STATUS-TEXT: a server that says the one, and what the client makes of it
says_this() {
	local pid

	python3 - "$own" "$1" <<-END &
		import socket, sys
		l = socket.create_server((sys.argv[1], 9845))
		c, _ = l.accept()
		c.recv(1000)
		c.sendall(sys.argv[2].encode().decode('unicode_escape').encode('latin1'))
		try:
		    c.recv(1000)
		except ConnectionResetError:
		    pass
	END
	pid=$!
	until_true sh -c "ss -Hltn 'sport = :9845' | grep -q ."
	expect 1 "$perf" latency -p 9845 "$own"
	wait $pid
	says "$2"
}

strange_servers() {
	says_this '{"version":99}\n' "that is an sdp_perf of another version"
	says_this '{}\n' "that is an sdp_perf of another version"
	says_this 'SSH-2.0-x\n' "control: what came is no JSON object: is that sdp_perf?"
	says_this '[1]\n' "control: what came is no JSON object: is that sdp_perf?"
	says_this '{"error":"full up"}\n' "sdp_perf: full up"
	says_this "$(printf 'x%.0s' $(seq 70000))" "a line of more than 65536 bytes: is that sdp_perf?"
}

# What a client may say, and a server has to stand; it serves the next one.
strange_clients() {
	python3 - "$own" <<-'END'
		import json, socket, sys
		def ask(*lines):
		    s = socket.create_connection((sys.argv[1], 9846))
		    s.settimeout(60)
		    for l in lines:
		        try:
		            s.sendall(l if isinstance(l, bytes) else json.dumps(l).encode() + b'\n')
		        except OSError:
		            pass
		    said = b''
		    while said.count(b'\n') < 1:
		        try:
		            more = s.recv(100000)
		        except ConnectionResetError:
		            break
		        if not more:
		            break
		        said += more
		    return json.loads(said.split(b'\n')[0] or b'{"error":"none"}')
		plan = {'do': 'plan', 'over': 'tcp', 'wait': 'asleep', 'mode': 0, 'largest': 1, 'streams': 1}
		assert ask({'do': 'hello', 'version': 1})['version'] == 1
		assert 'port' in ask(plan)
		for wrong in (b'\n', b'x\n', b'[]\n', b'null\n', b'{\n', b'x' * 100000, {}, {'do': 5},
		              {'do': 'format'}, {'do': 'task'}, {'do': 'plan'}, {**plan, 'over': 'udp'},
		              {**plan, 'over': None}, {**plan, 'wait': 'x'}, {**plan, 'mode': 3},
		              {**plan, 'mode': -1}, {**plan, 'largest': 0}, {**plan, 'largest': 2**31},
		              {**plan, 'largest': 2**32 + 1}, {**plan, 'largest': '1e9'},
		              {**plan, 'streams': 0}, {**plan, 'streams': 10**6},
		              {**plan, 'streams': 2**64}, {**plan, 'streams': 65, 'largest': 2**24},
		              {**plan, 'window': -1}, {**plan, 'touch': 2**33}):
		    answer = ask(wrong)
		    assert 'error' in answer and 'port' not in answer, (wrong, answer)
		socket.create_connection((sys.argv[1], 9846)).close()
	END
	expect 0 "$perf" latency -p 9846 --over tcp --size 1 $few "$own"
	until_true no_sessions
}

# Two at a time, and one of them with several processes.
several_clients() {
	local one two

	"$perf" bw -p 9847 --over tcp,unix --size 64 $short "$own" >"$dir/one" &
	one=$!
	"$perf" bw -p 9847 --over tcp,unix --size 64 $short --clients 3 "$own" >"$dir/two" &
	two=$!
	wait $one
	wait $two
	until_true no_sessions
}

# ---- between two hosts

every_way_there() {
	local all=tcp,sdp,rsocket,verbs option

	judged json latency $all 1,5000 "p99_us p99_9_us" -p 9848 --size 1,5000 $few --verify $peer
	judged csv latency $all 1,5000 "p99_us p99_9_us" -p 9848 --size 1,5000 $few --wait poll $peer
	judged json latency tcp,sdp,verbs 1,5000 "p99_us p99_9_us" -p 9848 --size 1,5000 $few \
		--wait epoll fd09::2
	# Longer than one SEND of verbs.
	judged json bw $all 64,2097152 "$unasked" -p 9848 --size 64,2m --repeat 1 --ms 1 $peer
	judged json connections tcp,sdp,rsocket 0 connection_p99_us -p 9848 $short $peer
	for option in "--both" "--window 3" "--touch 2" "--streams 3" "--clients 2 --both"; do
		# shellcheck disable=SC2086
		judged json bw $all 5000,70000 "$unasked" -p 9848 --size 5000,70000 --repeat 1 --ms 1 \
			--verify $option $peer
	done
	judged json bw $all 64,65536 send_p99_us -p 9848 --size 64,64k $short --compute-us 50 \
		--send-time $peer
}

refuses_there() {
	refused unix "the server is on another host, or in another network namespace" \
		latency -p 9848 $peer
	refused local "the server is on another host, or in another network namespace" \
		latency -p 9848 $peer
	expect 0 "$perf" latency -p 9848 --size 1 $few --json $peer
	python3 "$judge" json "$dir/out" latency tcp,sdp,rsocket,verbs 1 p99_us p99_9_us
	on h2 sysctl -qw net.sdp.enable=0
	expect 1 "$perf" latency -p 9848 --over sdp $peer || true
	on h2 sysctl -qw net.sdp.enable=1
	says "sdp_perf: sdp: "
}

begin
[ -x "$perf" ] || {
	echo "Bail out! $perf is missing: scripts/setup; make -C userspace"
	exit 2
}
run_case perf.prints_its_help prints_its_help
run_case perf.refuses_bad_lines refuses_bad_lines
run_case perf.answers_nowhere answers_nowhere
run_case perf.every_way_here with_local 0 every_way_here tcp,unix,sdp,rsocket,verbs
run_case perf.every_way_here_local with_local 1 every_way_here tcp,unix,local
run_case perf.default_sizes default_sizes
run_case perf.finds_transports with_local 0 finds_transports
run_case perf.finds_local with_local 1 finds_local
run_case perf.refuses_by_reason with_local 0 refuses_by_reason
run_case perf.refuses_false_tcp with_local 0 refuses_false_tcp
run_case perf.no_module without_module no_module
run_case perf.no_libraries with_local 0 no_libraries
run_case perf.carried_as_told carried_as_told
run_case perf.leaves_local with_local 1 leaves_local
run_case perf.sees_wrong_bytes with_local 0 with_server "$own" 9841 sees_wrong_bytes tcp,unix,sdp
run_case perf.sees_wrong_bytes_local with_local 1 with_server "$own" 9841 sees_wrong_bytes local
run_case perf.tells_what_there_is with_local 0 tells_what_there_is tcp,unix,sdp
run_case perf.tells_what_there_is_local with_local 1 tells_what_there_is tcp,local
run_case perf.other_end_goes with_local 0 with_server "$own" 9842 \
	other_end_goes tcp,unix,sdp,rsocket,verbs
run_case perf.other_end_goes_local with_local 1 with_server "$own" 9842 other_end_goes local
run_case perf.no_server no_server
run_case perf.port_is_taken with_server "$own" 9844 port_is_taken
run_case perf.strange_servers strange_servers
run_case perf.strange_clients with_server "$own" 9846 strange_clients
run_case perf.several_clients with_server "$own" 9847 several_clients
if two_hosts; then
	run_case perf.every_way_there with_peer 9848 every_way_there
	run_case perf.refuses_there with_peer 9848 refuses_there
fi
finish
