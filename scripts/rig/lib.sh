# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the rig's shell scripts: where the cache is, how progress is shown,
# how one of several runs builds while the others wait, and how packages are
# fetched from the Debian archive without touching the machine's own apt state.

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

# mirror_of SUITE: the archive that this machine's apt takes SUITE (or its own
# release) from.
mirror_of() {
	local codename uri
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	uri=$(apt-get indextargets --no-release-info \
			--format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
			'Created-By: Packages' 2>/dev/null |
		awk -v s="${1:-$codename}" '$1 == s && $2 == "main" { print $3 }' |
		sort -u | { grep -m 1 -E '/debian(-security)?/?$' || true; })
	echo "${uri%/}"
}

# archive_sources RELEASE: the source entries that serve RELEASE.
archive_sources() {
	local codename main sec key=/usr/share/keyrings/debian-archive-keyring.gpg
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	main=$(mirror_of "$codename")
	[ -n "$main" ] || die "apt has no entry for $codename main on a Debian mirror" \
		"(looked at: apt-get indextargets); add one to /etc/apt/sources.list"
	[ -r $key ] || die "$key is missing: apt-get install debian-archive-keyring"
	echo "deb [signed-by=$key] $main $1 main"
	case $1 in
	sid | *-backports)	;;
	*)	sec=$(mirror_of "$codename-security")
		[ -n "$sec" ] || sec=${main%/debian}/debian-security
		echo "deb [signed-by=$key] $sec $1-security main" ;;
	esac
}

# apt_in RELEASE CMD...: an apt command that knows RELEASE only and keeps its
# lists in the cache.
apt_in() {
	local dir=$cache/apt/$1 cmd=$2

	shift 2
	"$cmd" -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o "Dir::State=$dir/state" -o "Dir::State::status=$dir/state/status" \
		-o "Dir::Cache=$dir/cache" -o APT::Sandbox::User= -o APT::Architecture=amd64 \
		-o APT::Architectures::=amd64 -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# apt_lists RELEASE: have package lists of RELEASE no older than an hour, whole:
# of two runs one fetches them, and the other reads them when they are there.
apt_lists() {
	local dir=$cache/apt/$1

	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	exec 8>"$dir/lock"
	flock 8
	if [ -z "$(find "$dir/updated" -mmin -60 2>/dev/null)" ]; then
		: >"$dir/state/status"
		archive_sources "$1" >"$dir/sources.list"
		apt_in "$1" apt-get update >"$dir/log" 2>&1 ||
			{ cat "$dir/log" >&2; die "cannot fetch the package lists of $1"; }
		touch "$dir/updated"
	fi
	exec 8>&-
}

# package_version RELEASE PACKAGE
package_version() {
	apt_in "$1" apt-cache policy "$2" | awk '$1 == "Candidate:" { print $2 }'
}

# fetch RELEASE DIR PACKAGE[=VERSION]...: put these packages into DIR.
fetch() {
	local rel=$1 dir=$2

	shift 2
	mkdir -p "$dir"
	(cd "$dir" && apt_in "$rel" apt-get download "$@") >"$dir/log" 2>&1 ||
		{ cat "$dir/log" >&2; die "cannot fetch $*"; }
}
