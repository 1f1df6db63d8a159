#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# docs/compatibility.md is what selftests/lib/compat.c says, and the cases that it names are
# there: selftests/tree/compat.sh, behind make -C selftests.  That the tables tell the truth is
# shown by the cases state_*, in a guest.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit
table=build/selftests/compat_table bad=0

diff -u docs/compatibility.md <("$table") ||
	{ echo "docs/compatibility.md is not what lib/compat.c says: $table > docs/compatibility.md"; bad=1; }
for name in $("$table" cases | sort -u); do
	pattern=$(printf %s "$name" | sed 's/\*$/[a-z0-9_]*/')
	grep -rqE "^([A-Z_]+\($pattern[,)]|def $pattern\(|$pattern\(\))" \
		--include='*.c' --include='*.py' --include='*.sh' selftests ||
		{ echo "no case is called $name"; bad=1; }
done
exit $bad
