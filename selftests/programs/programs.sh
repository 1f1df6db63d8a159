#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unmodified programs between h1 and h2, by SDP, by TCP and one side plain:
#
#	selftests/programs/programs.sh [quick|full] [PROGRAM...]
#
# PROGRAM: a file of this folder (default: all).  What a case is: lib.sh.
# SDP_PROGRAMS in the environment names them where no argument can.
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/lib/ktap.sh
. "$here/../lib/ktap.sh"
# shellcheck source=selftests/programs/lib.sh
. "$here/lib.sh"

# shellcheck disable=SC2034 # the programs look at it
how=quick
case ${1:-} in
quick | full)
	# shellcheck disable=SC2034 # the same
	how=$1
	shift ;;
esac
# shellcheck disable=SC2086 # names are words
[ $# -gt 0 ] || set -- ${SDP_PROGRAMS:-}
if [ $# = 0 ]; then
	for f in "$here"/*.sh; do
		f=${f##*/}
		[[ $f == lib*.sh || $f == programs.sh ]] || set -- "$@" "${f%.sh}"
	done
fi

begin
two_hosts || { echo "Bail out! programs.sh needs two hosts"; exit 2; }
prepare
for p; do
	[ -e "$here/$p.sh" ] || { echo "Bail out! no program $p in $here"; exit 2; }
	# shellcheck source=/dev/null # each in its turn
	. "$here/$p.sh"
done
finish
