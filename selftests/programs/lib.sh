# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # run, factor, tools, how: ../lib/ktap.sh, programs.sh
# shellcheck disable=SC2119,SC2120 # stop: its arguments are given elsewhere
# Sourced by programs.sh: one workload in several manners, a server on h2 and a
# client on h1.
#
#	in_manners NAME FUNCTION [ARGUMENT...]
#
# runs FUNCTION once in each manner, as case NAME.MANNER:
#
#	tcp		both plain: the oracle
#	sdp		both under "sdp_run --require"
#	plain_client	the server under sdp_run, the client plain
#	plain_server	the other way round
#
# FUNCTION starts what serves by "server" and what asks by "client", checks what
# comes out, and calls "carried BYTES": so many bytes of the user's, at least,
# went between the hosts.  When it is over, the counters of module, TCP and
# RDMA device on both hosts must tell the same: all by SDP and not one TCP
# connection, or nothing by SDP and the reason on record.
#
# A quick run leaves the two mixed ones to in_all_manners, and more() says what
# is for a full run.  SDP_MANNERS in the environment selects manners.

all_manners=${SDP_MANNERS:-tcp sdp plain_client plain_server}
tracing=/sys/kernel/tracing
servers=()

# What the whole suite shares: $dir on h1, $there on h2, both as /tmp is;
# $SDP_SHARE is the same on both, and "share" in each of the two directories is
# the same again, for users who may not go by its own path.
prepare() {
	dir=$(mktemp -d)
	there=$(on h2 mktemp -d)
	trap tidy EXIT
	mkdir "$dir/share"
	chmod 755 "$dir"
	mount --bind "$SDP_SHARE" "$dir/share"
	on h2 sh -c "chmod 755 '$there' && mkdir '$there/share' &&
		mount --bind '$SDP_SHARE' '$there/share'"
}

tidy() {
	umount "$dir/share" && rm -rf "$dir"
	on h2 sh -c "umount '$there/share' && rm -rf '$there'"
}

need() { # PROGRAM...
	local p

	for p; do
		command -v "$p" >/dev/null || why "$p is not installed: run scripts/setup --programs"
	done
}

# amount QUICK FULL: that of the size this run has
amount() {
	case $how in
	full)	echo "$2" ;;
	*)	echo "$1" ;;
	esac
}

# random NAME MIB: a file of that size in $SDP_SHARE, the same for all cases
random() {
	[ -e "$SDP_SHARE/$1" ] || {
		head -c $(($2 << 20)) /dev/urandom >"$SDP_SHARE/$1.new"
		mv "$SDP_SHARE/$1.new" "$SDP_SHARE/$1"
	}
}

# tune SYSCTL=VALUE: on both hosts, until the case ends
tune() {
	local h

	for h in h1 h2; do
		echo "$h ${1%=*}=$(on $h sysctl -n "${1%=*}")" >>"$dir/tuned"
		on $h sysctl -qw "$1"
	done
}

# ---- processes ----

# launch HOST COMMAND...: in the background, until the case ends
launch() {
	local host=$1

	shift
	on "$host" "$@" >"$dir/out.${#servers[@]}" 2>&1 </dev/null &
	servers+=($!)
}

# server COMMAND...: on h2, as the manner has it
server() {
	# shellcheck disable=SC2086 # a launcher with its option, or nothing
	launch h2 $serve "$@"
}

# client SECONDS COMMAND...
client() {
	local s=$1

	shift
	# shellcheck disable=SC2086
	limit "$s" $use "$@"
}

# listening PORT [HOST]: wait until the server started last does
listening() {
	local end=$((SECONDS + 60 * factor)) host=${2:-h2}

	until on "$host" sh -c "ss -Hltn 'sport = :$1' | grep -q ."; do
		kill -0 "${servers[-1]}" 2>/dev/null || why "the server ended before it listened"
		[ $SECONDS -lt $end ] || why "nobody listens at port $1 of $host"
		sleep 0.1
	done
}

# moved_by CALL PIDS COMMAND...: so many bytes those processes of h2 moved by that
# system call during COMMAND
moved_by() {
	local call=$1 pids said

	pids=$(xargs <<<"$2")
	shift 2
	launch h2 strace -f -e trace="$call" -o "$there/case.calls" -p "${pids// /,}"
	said=$dir/out.$((${#servers[@]} - 1))
	until_true sh -c "[ \$(grep -c attached '$said') = $(wc -w <<<"$pids") ]"
	"$@"
	kill -INT "${servers[-1]}"
	until_true gone "${servers[-1]}"
	unset 'servers[-1]'
	# shellcheck disable=SC2016 # awk's
	on h2 awk '/ = [0-9]+$/ { bytes += $NF } END { print bytes + 0 }' "$there/case.calls"
}

gone() { # PID
	! kill -0 "$1" 2>/dev/null
}

# stop [SIGNAL]: the servers end when asked to
stop() {
	local pid

	for pid in "${servers[@]}"; do
		kill -"${1:-TERM}" "$pid" 2>/dev/null || true
	done
	for pid in "${servers[@]}"; do
		until_true gone "$pid"
	done
	servers=()
}

# At the end of a case, however it ended: "on" takes its command along.
clean() {
	local status=$? pid f host setting

	set +e
	trap - ERR
	for pid in $(jobs -p); do
		kill -KILL "$pid" 2>/dev/null
	done
	wait
	[ ! -d "$tracing/instances/programs" ] || rmdir "$tracing/instances/programs"
	if [ $status != 0 ]; then
		for f in "$dir"/out.*; do
			[ ! -s "$f" ] || { echo "--- a server said:"; tail -n 20 "$f"; }
		done
	fi
	if [ -e "$dir/tuned" ]; then
		while read -r host setting; do
			on "$host" sysctl -qw "$setting" </dev/null
		done <"$dir/tuned"
	fi
	find "${dir:?}" -mindepth 1 -maxdepth 1 ! -name share -exec rm -rf {} +
	rm -rf "${SDP_SHARE:?}"/case.*
	on h2 sh -c "rm -rf '$there'/case.*"
}

# ---- how the bytes went ----

look() { # NAME: note the counters of both hosts
	local h

	for h in h1 h2; do
		on $h cat /proc/net/snmp >"$dir/$1.$h"
		# Plain programs need no module.
		[ "$manner" = tcp ] || on $h cat /proc/net/sdpstat >>"$dir/$1.$h"
	done
	if [ "$manner" = tcp ]; then
		echo 0 >"$dir/$1.packets"
	else
		rdma_packets >"$dir/$1.packets"
	fi
}

reading() { # COUNTER FILE; tcp_opens: connections opened and accepted by TCP
	# As it stands: awk's own numbers end at 2^31 in some.
	awk -v n="$1" '$1 == n { got = $2 }
		n == "tcp_opens" && $1 == "Tcp:" && $2 ~ /^[0-9]/ { got = $6 + $7 }
		END { print got == "" ? 0 : got }' "$2"
}

gained() { # COUNTER HOST
	echo $(($(reading "$1" "$dir/after.$2") - $(reading "$1" "$dir/before.$2")))
}

carried() { # BYTES
	echo $(($(cat "$dir/carried") + $1)) >"$dir/carried"
}

# Why connect() was not SDP, from here on.
watch_reasons() {
	mkdir "$tracing/instances/programs"
	echo 1 >"$tracing/instances/programs/events/sdp/sdp_fallback/enable"
}

reasons() {
	sed -n 's/.* sdp_fallback: .*reason=\([a-z_]*\).*/\1/p' \
		"$tracing/instances/programs/trace" | sort | uniq -c
}

judge() {
	local by_sdp opens want h packets

	by_sdp=$(($(gained bytes_sent h1) + $(gained bytes_received h1) +
		  $(gained bytes_sent h2) + $(gained bytes_received h2)))
	by_sdp=$((by_sdp / 2))
	# Each connection between the hosts has an end here; what a program opens
	# to itself on h2 is loopback's, and TCP.
	opens=$(gained tcp_opens h1)
	want=$(cat "$dir/carried")
	packets=$(($(cat "$dir/after.packets") - $(cat "$dir/before.packets")))
	echo "# $want bytes expected, $by_sdp by SDP, $packets packets of rxe0, $opens TCP connections, $((SECONDS - began)) s"
	[ "$want" -gt 0 ] || why "the case does not say how many bytes it moved"
	for h in h1 h2; do
		[ "$(gained proto_errors $h)" = 0 ] || why "proto_errors rose on $h"
	done
	if [ "$manner" = sdp ]; then
		[ "$by_sdp" -ge "$want" ] || why "$by_sdp bytes went by SDP, expected $want"
		# A packet carries 4 KiB at most.
		[ "$packets" -ge $((want / 4096)) ] || why "only $packets packets of rxe0"
		[ "$opens" = 0 ] || why "$opens connections were TCP"
		return
	fi
	[ "$by_sdp" = 0 ] || why "$by_sdp bytes went by SDP, expected none"
	[ "$opens" -gt 0 ] || why "no TCP connection was opened"
	case $manner in
	plain_client)
		[ "$(gained tcp_accept h2)" -gt 0 ] || why "tcp_accept did not rise on h2" ;;
	plain_server)
		[ "$(gained fallback h1)" -gt 0 ] || why "fallback did not rise on h1"
		reasons >"$dir/reasons"
		sed 's/^ */# fallen back, reason: /' "$dir/reasons"
		grep -q refused "$dir/reasons" || why "no reason on record"
		# A plain server that is a client itself comes to one of ours (haproxy's).
		! grep -qv ' refused$\| tcp_client$' "$dir/reasons" ||
			why "for another reason than refused" ;;
	esac
}

in_manner() { # MANNER FUNCTION [ARGUMENT...]
	manner=$1
	shift
	case $manner in
	tcp)		serve='' use='' ;;
	off)		serve=$run use=$run
			export SDP_PRELOAD=off ;;
	sdp)		serve="$run --require" use=$serve ;;
	plain_client)	serve=$run use='' ;;
	plain_server)	serve='' use=$run ;;
	*)		why "no manner $manner" ;;
	esac
	trap clean EXIT
	set -E
	trap 'echo "line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND"' ERR
	echo 0 >"$dir/carried"
	[ "$manner" != plain_server ] || watch_reasons
	look before
	began=$SECONDS
	"$@"
	stop
	look after
	judge
}

in_manners() { # NAME FUNCTION [ARGUMENT...]
	local name=$1 m

	shift
	for m in ${SDP_MANNERS:-$(amount "tcp sdp" "$all_manners")}; do
		run_case "$name.$m" in_manner "$m" "$@"
	done
}

in_all_manners() { # NAME FUNCTION [ARGUMENT...]
	local name=$1 m

	shift
	for m in ${SDP_MANNERS:-$all_manners}; do
		run_case "$name.$m" in_manner "$m" "$@"
	done
}

# besides COMMAND...: unless the environment names manners
besides() {
	[ -n "${SDP_MANNERS:-}" ] || "$@"
}

# more COMMAND...: in a full run only
more() {
	[ "$how" != full ] || "$@"
}
