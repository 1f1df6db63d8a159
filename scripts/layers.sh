#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# layers.sh DIR: does any object lean on one that Kbuild lists below it?
#
# DIR holds the built objects (kernel/*.o).  The order of the objects in Kbuild
# is the architecture; a symbol that an object needs must be defined in one
# listed before it.  Also: LINUX_VERSION_CODE stands in sdp_compat.h alone.
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

if grep -ln 'LINUX_VERSION_CODE\|KERNEL_VERSION' "$top"/kernel/*.[ch] | grep -v 'sdp_compat.h$'; then
	echo "layers: kernel versions belong into kernel/sdp_compat.h alone" >&2
	exit 1
fi
echo "layers: $(echo "$objects" | wc -l) objects lean downwards only"
