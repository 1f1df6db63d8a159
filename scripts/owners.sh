#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# owners.sh: nobody touches a member of another owner's.
#
# The state of a connection stands in sub-objects, each with one owner: the file that is
# named after its struct, or that its comment in sdp_conn.h names.  Whoever else wants to know
# or change something calls a function of the owner's.  A line for each place in kernel/
# where that is not so; ends with 1 then, also if a table below names what is not there.
# The socket layer knows a connection by functions alone, but for what it is called and
# how it stands in the socket layer's own lists.
# And no more than 35 members are left to the send part itself (struct ... tx).
set -u
cd "$(dirname "$(readlink -f "$0")")/.." || exit
bad=0

# MEMBER OWNER...: the files, without sdp_ and their ending
owners() {
	cat <<-EOF
	timers		timers
	peer_ring	peer_ring
	cork		cork
	session		session
	ring		ring
	stats		conn_stats
	post_wait	post_wait
	spare		buf conn
	found		rx
	zpolicy		zpolicy
	zsrc		zcopy zsrc zsrc_push
	zsrc_async	zcopy zsrc_async
	zsink		zcopy zsink
	EOF
}

# Members that are set in one place and read anywhere.
constant() {
	cat <<-EOF
	caps		session
	EOF
}

wrong() {
	echo "$*"
	bad=1
}

check() { # MEMBER PATTERN OWNER...
	local member=$1 pattern=$2 file name hits
	shift 2
	grep -qE "^	struct sdp_[a-z_]+ $member;" kernel/conn/sdp_conn.h ||
		wrong "kernel/conn/sdp_conn.h has no sub-object $member: owners.sh names it"
	for file in kernel/*/sdp_*.[ch]; do
		name=${file##*/sdp_}
		[[ " $* " == *" ${name%.*} "* ]] && continue
		hits=$(grep -nE "(->|\.)$member\.$pattern" "$file" | grep -v '^[0-9]*:[[:space:]/]*\*')
		[ -z "$hits" ] || while read -r hit; do
			wrong "$file:$hit: that is $1's"
		done <<< "$hits"
	done
}

while read -r member own; do
	check "$member" '[a-z_]' $own
done < <(owners)
while read -r member own; do
	check "$member" '[a-z_.]+ (=|\+=|-=|\|=)[^=]' $own
done < <(constant)

# The socket layer's files, without sdp_ and their ending; and what they may name of a
# connection: what it was given at its birth, the listener's members, the wait queue.
socket_layer="ulp port sk_conn wait send recv conn_stream inherit listen connect opt sock family diag"
named="id|active|probe|limit_ms|family|uid|net|sn|local|remote|ifindex|mark|tos|reason|wq"
named+="|accept_node|acceptq_node|acceptable|aside|deferred|defer_until|silent_at"
for name in $socket_layer; do
	for file in kernel/*/sdp_$name.[ch]; do
		[ -f "$file" ] || continue
		# A sub-object may be passed to its owner's function.
		hits=$(grep -nE "conn->[a-z_]" "$file" | grep -v '^[0-9]*:[[:space:]/]*\*' | sed 's:/\*.*\*/::' |
			sed -E "s/\b(ssk->|r->)?conn->($named)\b/NAMED/g; s/&(ssk->|r->)?conn->[a-z_]+\b([^.]|$)/SUB\2/g" |
			grep -E "conn->[a-z_]")
		[ -z "$hits" ] || while read -r hit; do
			wrong "$file:$hit: the socket layer reads the inside of a connection"
		done <<< "$hits"
	done
done
[ -n "${file:-}" ] || wrong "owners.sh found no file of the socket layer"

members=$(awk '/^	struct {$/ { n = 0; on = 1; next }
	on && /^	} tx;/ { print n; exit }
	on && /^	} / { on = 0 }
	on && /;/ { n++ }' kernel/conn/sdp_conn.h)
[ "${members:-99}" -le 35 ] || wrong "kernel/conn/sdp_conn.h: tx has ${members:-no} members of its own: 35 at most"
exit $bad
