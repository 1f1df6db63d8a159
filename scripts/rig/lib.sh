# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the rig's shell scripts: where the cache is, how progress is shown, and
# how one of several runs builds while the others wait.

set -euo pipefail
export LC_ALL=C
rig=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cache=${SDP_CACHE:-${HOME:?HOME is not set: set it, or SDP_CACHE}/.cache/af-sdp}
mkdir -p "$cache"
cache=$(readlink -f "$cache")
phase="" phase_start=0 phase_pid=""

say() { echo "$*" >&2; }

die() {
	phase_stop
	say "${0##*/}: $*"
	exit 1
}

# phase_begin TEXT [LOG [PATTERN]]: announce a long step.  On a terminal its
# elapsed time, and how many lines of LOG match PATTERN, are kept up to date.
phase_begin() {
	phase=$1 phase_start=$SECONDS
	if [ -t 2 ]; then
		(
			trap 'exit 0' TERM
			while :; do
				phase_line "${2:-}" "${3:-}" '\r'
				sleep 1 & wait $!
			done
		) &
		phase_pid=$!
	else
		say "$phase ..."
	fi
}

phase_line() { # LOG PATTERN PREFIX
	local n=""

	[ -n "$1" ] && n=" $(grep -cE "$2" "$1" 2>/dev/null || true) objects,"
	printf "$3%s ...%s %d s " "$phase" "$n" $((SECONDS - phase_start)) >&2
}

phase_stop() {
	[ -z "$phase_pid" ] && return 0
	kill "$phase_pid" 2>/dev/null || true
	wait "$phase_pid" 2>/dev/null || true
	phase_pid=""
	say ""
}

phase_end() { # [WHAT IS NOTEWORTHY]
	local tty=$phase_pid

	phase_stop
	[ -n "$tty" ] || say "$phase: done in $((SECONDS - phase_start)) s${1:+, $1}"
}

# with_lock NAME: from here to the end of the script (or to unlock) no other
# run holds the same name.
with_lock() {
	mkdir -p "$cache/lock"
	exec 9>"$cache/lock/$1"
	if ! flock -n 9; then
		say "waiting for another run that prepares $1"
		flock 9
	fi
}

unlock() { exec 9>&-; }
