#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# layers.sh DIR: does any object, or header, lean on one that Kbuild lists below it?
#
# DIR holds the built objects (kernel/*/*.o).  The order of the objects in Kbuild
# is the architecture; a symbol that an object needs must be defined in one
# listed before it.  So is the order of the folders: the objects of one stand together, and
# a file includes headers of its own folder, of those before it, and of kernel/ itself.
# Also: nobody asks for the kernel's version, and sdp_compat.h alone
# for what its headers have, of what sdp_probe.c knows.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: layers.sh DIR-WITH-THE-OBJECTS}

objects=$(sed -n 's/^af_sdp-y += //p' "$top/Kbuild")
for o in $objects; do
	[ -f "$dir/$o" ] || { echo "layers: $dir/$o is not built" >&2; exit 2; }
	nm "$dir/$o" | awk -v o="$o" '
		$1 == "U" { print "U", $2, o; next }
		$2 ~ /^[A-Z]$/ { print "D", $3, o }'
done | awk -v objects="$objects" '
	BEGIN { n = split(objects, list, /[ \n]+/); for (i = 1; i <= n; i++) rank[list[i]] = i }
	$1 == "D" { home[$2] = $3 }
	$1 == "U" { need[++m] = $2; by[m] = $3 }
	END {
		for (i = 1; i <= m; i++)
			if (need[i] in home && rank[home[need[i]]] > rank[by[i]]) {
				print "layers: " by[i] " leans on " home[need[i]] " (" need[i] "), which is above it"
				bad = 1
			}
		exit bad
	}'

# Folders, in the order of Kbuild; kernel/ itself has what is below and above all.
folders=$(echo "$objects" | sed -n 's:^kernel/\([a-z]*\)/.*:\1:p' | uniq)
[ "$(echo "$folders" | sort -u | wc -l)" = "$(echo "$folders" | wc -l)" ] || {
	echo "layers: Kbuild names a folder, then others, then that one again:" $folders >&2
	exit 1
}
for d in "$top"/kernel/*/; do
	ls "$d"*.[ch] >/dev/null 2>&1 || continue	# what an earlier version left
	echo "$folders" | grep -qx "$(basename "$d")" || {
		echo "layers: kernel/$(basename "$d") is a folder that Kbuild has no object of" >&2
		exit 1
	}
done
(cd "$top/kernel" && grep -H '^#include "sdp_' */*.[ch]) | awk -F '[:"]' -v folders="$folders" -v top="$top" '
	BEGIN {
		n = split(folders, list, /[ \n]+/)
		for (i = 1; i <= n; i++) {
			rank[list[i]] = i
			cmd = "ls " top "/kernel/" list[i]
			while ((cmd | getline f) > 0)
				home[f] = list[i]
			close(cmd)
		}
	}
	{
		split($1, path, "/")
		if ($3 in home && rank[home[$3]] > rank[path[1]]) {
			print "layers: kernel/" $1 " includes " $3 " of kernel/" home[$3] ", which is above it"
			bad = 1
		}
		seen++
	}
	END { if (!seen) print "layers: found no include"; exit bad || !seen }' || exit 1

if grep -n 'LINUX_VERSION_CODE\|KERNEL_VERSION' "$top"/kernel/*.[ch] "$top"/kernel/*/*.[ch]; then
	echo "layers: distributions' versions say little: ask the headers, by kernel/sdp_probe.c" >&2
	exit 1
fi
if grep -n 'SDP_HAVE_' "$top"/kernel/*.[ch] "$top"/kernel/*/*.[ch] | grep -v '/sdp_\(compat\.h\|probe\.c\):'; then
	echo "layers: what a kernel has is the business of kernel/sdp_compat.h alone" >&2
	exit 1
fi
asked=$(grep -oh '^SDP_PROBE[A-Z_]*([A-Z0-9_]*' "$top/kernel/sdp_probe.c" | sed 's/.*(//' |
	grep -vx 'ANYTHING\|NOTHING' | sort -u)
used=$(grep -oh 'SDP_HAVE_[A-Z0-9_]*' "$top/kernel/sdp_compat.h" | sed 's/SDP_HAVE_//' | sort -u)
if [ "$asked" != "$used" ]; then
	printf 'layers: kernel/sdp_probe.c asks for\n%s\nand kernel/sdp_compat.h uses\n%s\n' "$asked" "$used" >&2
	exit 1
fi
echo "layers: $(echo "$objects" | wc -l) objects in $(echo "$folders" | wc -l) folders lean downwards only"
