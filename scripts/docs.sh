#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# docs.sh: what the texts say of this tree is there.
#
#   - README.md is read in two minutes: 120 lines at most;
#   - files that a text names exist, and what it links to, headings too;
#   - tests that stand under "shown by" exist: a case by its name (* for any letters), a file,
#     a part or a step of scripts/check, a target of make;
#   - sections of the protocol text that the sources cite exist in docs/protocol.md.
# One line for each that is not so; ends with 1 then.
set -u
cd "$(dirname "$(readlink -f "$0")")/.." || exit
texts=(README.md CONTRIBUTING.md docs/*.md selftests/README.md)
bad=0

wrong() {
	echo "$*"
	bad=1
}

# anchors FILE: its headings, as links name them
anchors() {
	grep '^#' "$1" | sed 's/^#* *//' | tr '[:upper:]' '[:lower:]' | tr -cd 'a-z0-9 _\n-' | tr ' ' -
}

# exists PATH: a file of the tree, or some, by a pattern
exists() {
	compgen -G "$1" > /dev/null
}

# all_cases: whatever a test calls a case
all_cases() {
	grep -rhoE '^[A-Z_]+\([a-z0-9_]+[,)]' --include='*.c' selftests kernel/*/kunit | sed 's/.*(//; s/[,)]$//'
	grep -rhoE '^static void [a-z0-9_]+__[a-z0-9_]+\(' --include='*.c' kernel/*/kunit |
		sed 's/.* //; s/($//'
	grep -rhoE '^(async )?def [a-z0-9_]+\(' --include='*.py' selftests | sed 's/.*def //; s/($//'
	grep -rhoE '^[a-z0-9_]+\(\)' --include='*.sh' selftests | sed 's/()$//'
	# capture.NAME and sdpstat.NAME of the shell tests
	grep -rhoE '\b(capture|sdpstat)\.[a-z_]+\b' --include='*.sh' --include='*.py' selftests
	# parts and steps
	scripts/check list | awk '{ print $1 }'
	grep -oE '^	step "?[a-z0-9.$-]+' scripts/check | sed 's/.*step "*//'
}

[ "$(wc -l < README.md)" -le 120 ] || wrong "README.md has $(wc -l < README.md) lines: 120 at most"

for text in "${texts[@]}"; do
	dir=$(dirname "$text")
	# [words](file#heading)
	while read -r link; do
		file=${link%%#*}
		target=$dir/${file:-$(basename "$text")}
		[ -e "$target" ] || { wrong "$text links to $file, which is not there"; continue; }
		[ "$link" = "$file" ] || anchors "$target" | grep -qxF -- "${link#*#}" ||
			wrong "$text links to $link, and $target has no such heading"
	done < <(grep -oE '\]\([^)]*\)' "$text" | sed 's/^](//; s/)$//' | grep -v '^https*:')
	while read -r path; do
		exists "$path" || wrong "$text names $path, which is not there"
	done < <(grep -oE '`(kernel|selftests|scripts|userspace|uapi|docs|man|packaging)/[^` ]*' "$text" | tr -d '`' | sort -u)
done

cases=$(all_cases | sort -u)
targets=$(sed -n 's/^\.PHONY: //p' Makefile)
for text in docs/status.md docs/design.md; do
	while read -r name; do
		case $name in
		make\ *)
			[[ " $targets " == *" ${name#make } "* ]] || wrong "$text: make has no target ${name#make }"
			;;
		*/* | *.c | *.py | *.sh)
			exists "$name" || exists "selftests/$name" || exists "selftests/wire/$name" ||
				wrong "$text names $name, which is not there"
			;;
		*)
			grep -qxE -- "$(printf %s "$name" | sed 's/[.]/\\./g; s/\*/[a-z0-9_]*/g')" <<< "$cases" ||
				wrong "$text says that $name shows it, and no case, part or step is called so"
			;;
		esac
	done < <(awk -F'|' '
		/^\|.*shown by/	{ shown = 1; next }
		!/^\|/		{ shown = 0 }
		shown		{ print $(NF - 1) }' "$text" | sed 's/\[[^]]*\]([^)]*)//g' |
		grep -oE '`[^`]*`' | tr -d '`' | sort -u)
done

sections=$(grep -oE '^#+ [0-9]+(\.[0-9]+)*' docs/protocol.md | sed 's/^#* //')
while IFS=: read -r file line cited; do
	for n in $(grep -oE '[0-9]+(\.[0-9]+)*' <<< "$cited"); do
		grep -qxF "$n" <<< "$sections" || wrong "$file:$line cites section $n, which docs/protocol.md has not"
	done
done < <(grep -rnoE '\([1-9]\.[1-9]\)|protocol text, [0-9](\.[0-9])?|[Ss]ections? [0-9]+(\.[0-9]+)?' kernel selftests \
	--include='*.[ch]' --include='*.py' --include='*.sh' --include='*.awk')
exit $bad
