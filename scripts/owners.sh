#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# owners.sh: nobody touches a member of another owner's.
#
# The state of a connection stands in sub-objects, each with one owner: the file that is
# named after its struct, or that its comment in sdp_conn.h names.  Whoever else wants to know
# or change something calls a function of the owner's.  A line for each place in kernel/
# where that is not so; ends with 1 then, also if a table below names what is not there.
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
	ring		ring
	stats		conn_stats
	reg		reg_order session
	spare		buf conn
	found		rx
	zpolicy		zpolicy
	zsrc		zcopy zsrc
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
	grep -qE "^	struct sdp_[a-z_]+ $member;" kernel/sdp_conn.h ||
		wrong "kernel/sdp_conn.h has no sub-object $member: owners.sh names it"
	for file in kernel/sdp_*.[ch]; do
		name=${file#kernel/sdp_}
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

members=$(awk '/^	struct {$/ { n = 0; on = 1; next }
	on && /^	} tx;/ { print n; exit }
	on && /^	} / { on = 0 }
	on && /;/ { n++ }' kernel/sdp_conn.h)
[ "${members:-99}" -le 35 ] || wrong "kernel/sdp_conn.h: tx has ${members:-no} members of its own: 35 at most"
exit $bad
