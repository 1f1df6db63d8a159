# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by what takes packages from the Debian archive: stock-kernel, qemu,
# kernel-source.  The packages go into the cache, and the machine's own apt state
# is left alone.
#
# The archive changes several times a day, and not all at once: headers come
# without their image, one package of a set is newer than the others, a list names
# what is gone already.  So nobody asks for one version.  take() tries sets of
# packages, the newest first, until one is whole and serves; then what the cache
# holds; and it says which it took, and why not the newest.  Who calls it says by
# four functions what a set is:
#
#   sets		print the sets that the lists know, the newest first, a line each:
#			"take VERSION PACKAGE=VERSION..." or, of what is not
#			whole, "not VERSION WHY"
#   ready VERSION	is it in the cache, ready for use?
#   prepare VERSION DIR	make it ready from the packages in DIR; if they do not
#			serve, say why on standard output, and fail
#   kept		print the versions that the cache has, ready or as packages
#			that keep_packages() kept, the newest first

# shellcheck source=lib.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

debian_key=/usr/share/keyrings/debian-archive-keyring.gpg

# entry_of SUITE: "URI FILE:LINE" of this machine's apt entry for SUITE main.
entry_of() {
	apt-get indextargets --no-release-info \
			--format '$(RELEASE) $(COMPONENT) $(REPO_URI) $(SOURCESENTRY)' \
			'Created-By: Packages' 2>/dev/null |
		awk -v s="$1" '$1 == s && $2 == "main" { print $3, $4 }' |
		sort -u | { grep -m 1 -E '/debian(-security)?/? ' || true; }
}

# options_of FILE:LINE: whose signature that entry takes.
options_of() {
	local file=${1%:*} line=${1##*:} options

	case $file in
	*.sources)
		options=$(sed -n "$line,/^[[:space:]]*\$/p" "$file" |
			sed -n 's,^[Ss]igned-[Bb]y: *\(/.*\),signed-by=\1,p; s/^[Tt]rusted: *yes *$/trusted=yes/p') ;;
	*)
		options=$(sed -n "${line}p" "$file" | { grep -oE '(signed-by=/|trusted=yes)[^] ]*' || true; }) ;;
	esac
	echo ${options:-signed-by=$debian_key}
}

# archive_sources SUITES: the source entries that serve them: where this machine's
# apt takes its own release from, the others are too.
archive_sources() {
	local codename main security at suite

	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	main=$(entry_of "$codename")
	[ -n "$main" ] || die "apt has no entry for $codename main on a Debian mirror" \
		"(looked at: apt-get indextargets); add one to /etc/apt/sources.list"
	[ -r $debian_key ] || die "$debian_key is missing: apt-get install debian-archive-keyring"
	security=$(entry_of "$codename-security")
	[ -n "$security" ] || security="$(sed 's,/debian/\? ,/debian-security ,' <<<"$main")"
	for suite in $1; do
		at=$main
		[[ $suite != *-security ]] || at=$security
		echo "deb [$(options_of "${at#* }")] ${at% *} $suite main"
	done
}

# $arch, of who sources this: another architecture whose packages are known too.
apt_dir() { echo "$cache/apt/${1// /+}${arch:++$arch}"; }	# SUITES

# apt_in SUITES CMD...: an apt command that knows these suites only and keeps its
# lists in the cache.
apt_in() {
	local dir cmd=$2

	dir=$(apt_dir "$1")
	shift 2
	# shellcheck disable=SC2086 # two words
	"$cmd" -q -o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o "Dir::State=$dir/state" -o "Dir::State::status=$dir/state/status" \
		-o "Dir::Cache=$dir/cache" -o APT::Sandbox::User= -o APT::Architecture=amd64 \
		-o APT::Architectures::=amd64 ${arch:+-o "APT::Architectures::=$arch"} -o Acquire::Languages=none -o Acquire::Retries=2 \
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}

# apt_lists SUITES MINUTES: have lists of SUITES no older than that, whole: of two
# runs one fetches them, and the other reads them when they are there.  If the
# archive does not give those of a suite, go on with what is there from before.
# $asked says whether the archive was asked.
apt_lists() {
	local dir

	dir=$(apt_dir "$1")
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	exec 8>"$dir/lock"
	flock 8
	if [ -z "$(find "$dir/updated" -mmin "-$2" 2>/dev/null)" ]; then
		: >"$dir/state/status"
		archive_sources "$1" >"$dir/sources.list"
		rm -f "$dir/updated"
		asked=y
		if apt_in "$1" apt-get update -o APT::Update::Error-Mode=any >"$dir/log" 2>&1; then
			touch "$dir/updated"
		else
			phase_stop
			say "the archive does not give the package lists of" \
				"$(awk '$1 ~ /^Err:/ { print $3 }' "$dir/log" | sed 's,/main$,,' | sort -u | paste -sd, | sed 's/,/, /g')" \
				"($(why_not "$dir/log")): going on with those from before, if there are any"
		fi
	fi
	exec 8>&-
}

# why_not LOG: the first reason that apt gave.
why_not() {
	sed -nE 's/^[EW]: (Failed to fetch [^ ]* *)?//p' "$1" | head -n 1 | sed 's/ *\[IP: [^]]*\]//; s/  */ /g'
}

# packages SUITES PATTERN: name, version and dependencies, separated by tabs, of each
# package that the lists have by such a name, a line each.
packages() {
	local list

	apt_in "$1" apt-get indextargets --format '$(FILENAME)' 'Created-By: Packages' |
		while read -r list; do
			[ ! -e "$list" ] || { /usr/lib/apt/apt-helper cat-file "$list"; echo; }
		done | awk -v pattern="$2" -v OFS='\t' '
			$1 == "Package:" { name = $2; version = depends = "" }
			$1 == "Version:" { version = $2 }
			$1 == "Depends:" { depends = substr($0, 10) }
			/^$/ { if (name != "" && name ~ pattern) print name, version, depends; name = "" }'
}

# not_older V W: is V the same version as W, or newer?
not_older() { dpkg --compare-versions "$1" ge "$2"; }

# fetch SUITES DIR PACKAGE=VERSION...: put these packages into DIR, which holds all of
# them or does not exist.  1: the archive does not have them; 2: it does not answer.
fetch() {
	local suites=$1 dir=$2 new

	shift 2
	[ ! -d "$dir" ] || return 0
	new=$(dirname "$dir")/.new.$(basename "$dir")
	rm -rf "$new"
	mkdir -p "$new"
	if (cd "$new" && apt_in "$suites" apt-get download "$@") >"$dir.log" 2>&1; then
		mv "$new" "$dir"
		rm -f "$dir.log"
		return 0
	fi
	rm -rf "$new"
	! grep -qE 'Could not (connect|resolve|handshake)|Connection (failed|timed out)|Unable to connect|Temporary failure' \
		"$dir.log" || return 2
	return 1
}

# keep_packages NAME VERSION: of the packages by that name keep those of this version,
# for the day when the archive has none.
keep_packages() {
	find "$cache/debs" -maxdepth 1 -name "$1_*" ! -name "$1_$2" -exec rm -rf {} +
}

# because VERSION WHY: a set is not taken.  The first that is told of is the newest.
because() { [ -n "$newest" ] || newest=$1 why=$2; }

# try VERSION DIR [PACKAGE=VERSION...]: make it ready, from packages in DIR or in the
# archive.  1: it does not serve; 2: the archive does not answer; 3: nor has it them.
try() {
	local version=$1 dir=$2 said
	shift 2

	if ready "$version"; then
		return 0
	fi
	fetch "$suites" "$dir" "$@" || {
		said=$?
		because "$version" "$(why_not "$dir.log")"
		return $((4 - said))
	}
	said=$(prepare "$version" "$dir") || {
		because "$version" "$said"
		rm -rf "$dir"
		return 1
	}
}

# take NAME SUITES: make the newest set ready that can be had; $taken is its version.
take() {
	local name=$1 suites=$2 minutes newest="" why="" from="" verdict version want status asked=""

	taken=""
	mkdir -p "$cache/debs"
	for minutes in 60 0; do
		apt_lists "$suites" $minutes
		status=3	# lists that know of nothing at all are old, too
		while read -r verdict version want <&7; do
			status=1
			if [ "$verdict" = not ]; then
				because "$version" "$want"
				continue
			fi
			status=0
			# shellcheck disable=SC2086 # one word each
			try "$version" "$cache/debs/${name}_$version" $want || status=$?
			case $status in
			0)	taken=$version; break ;;
			1)	;;
			2)	break ;;
			3)	[ -n "$asked" ] || break ;;
			esac
		done 7< <(sets)
		# What lists name and the archive has not is read in newer ones.
		[ $status = 3 ] && [ -z "$asked" ] || break
		newest="" why=""
	done
	for version in $(kept); do
		[ -z "$taken" ] || break
		if ready "$version" || { [ -d "$cache/debs/${name}_$version" ] &&
					 try "$version" "$cache/debs/${name}_$version"; }; then
			taken=$version from=" from the cache"
		fi
	done
	if [ -z "$taken" ]; then
		phase_stop
		say "$name: there is none in the archive${newest:+ ($newest: $why)}, and none in the cache." \
			"Try again when the archive answers, or name a mirror in this machine's apt sources"
		return 1
	fi
	phase_end
	[ -n "$newest" ] && [ "$newest" != "$taken" ] || why=""
	say "$name: taking $taken$from${why:+, not $newest: $why}"
}
