#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# make install and uninstall of what people use, into a directory of its own, with
# the host's compiler: selftests/tree/install.sh
. "$(dirname "$0")/../lib/ktap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
to=$dir/root
unset MAKEFLAGS MFLAGS	# of make check

# userspace TARGET [VARIABLE=VALUE]...
userspace() {
	make -s -C "$selftests/../userspace" O="$dir/build" DESTDIR="$to" "$@"
}

elsewhere=(PREFIX=/opt/sdp LIBDIR=/opt/lib/multi MANDIR=/opt/man SYSCONFDIR=/opt/etc)

installs() {
	userspace install PREFIX=/usr
	cmp "$selftests/../packaging/sdp.conf" "$to/etc/sdp/sdp.conf"
	"$to/usr/bin/sdp_run" --help >/dev/null
	[ "$(find "$to" -type f -printf '%P\n' | sort | xargs)" = "etc/sdp/sdp.conf \
usr/bin/sdp_perf usr/bin/sdp_run usr/bin/sdpstat usr/include/linux/sdp.h \
usr/lib/libsdp_preload.so usr/share/man/man1/sdp_perf.1 usr/share/man/man1/sdp_run.1 usr/share/man/man5/sdp.conf.5 usr/share/man/man7/af_sdp.7 \
usr/share/man/man8/sdpstat.8" ]
}

keeps_rules() {
	echo "use tcp client * *:*" >"$to/etc/sdp/sdp.conf"
	userspace install PREFIX=/usr
	[ "$(cat "$to/etc/sdp/sdp.conf")" = "use tcp client * *:*" ] || why "overwritten"
	userspace uninstall PREFIX=/usr >"$dir/out"
	[ "$(find "$to" -type f)" = "$to/etc/sdp/sdp.conf" ] || { find "$to"; why "left"; }
	grep -qx "$to/etc/sdp/sdp.conf was changed, and stays" "$dir/out"
	rm -r "$to"
}

# What was built for other directories is not taken for these.
builds_anew() {
	userspace install "${elsewhere[@]}" VERSION=7.5
	[ "$("$to/opt/sdp/bin/sdp_run" --version)" = "sdp_run (AF_SDP) 7.5" ]
	[ "$("$to/opt/sdp/bin/sdpstat" --version)" = "sdpstat (AF_SDP) 7.5" ]
	[ "$("$to/opt/sdp/bin/sdp_perf" --version)" = "sdp_perf (AF_SDP) 7.5" ]
	"$to/opt/sdp/bin/sdp_run" --help | grep -q "the rules of /opt/etc/sdp/sdp.conf"
	"$to/opt/sdp/bin/sdp_run" --help | grep -q "nor in /opt/lib/multi"
	grep -q /opt/etc/sdp/sdp.conf "$to/opt/lib/multi/libsdp_preload.so"
	# And nothing is built for nothing.
	touch "$dir/built"
	userspace all "${elsewhere[@]}" VERSION=7.5
	[ -z "$(find "$dir/build" -type f -newer "$dir/built")" ] || why "built without a reason"
}

leaves_nothing() {
	userspace uninstall "${elsewhere[@]}" >"$dir/out"
	[ ! -s "$dir/out" ] || { cat "$dir/out"; why "said something"; }
	[ -z "$(find "$to" ! -type d)" ] || { find "$to"; why "left"; }
	[ ! -e "$to/opt/etc/sdp" ] || why "left a directory"
}

# Who lacks the library of JSON, or headers, has all but the benchmark, and is told.
leaves_perf_out() {
	printf '#!/bin/sh\ncase " $* " in *" -ljson-c "*) exit 1 ;; esac\nexec cc "$@"\n' >"$dir/cc"
	chmod +x "$dir/cc"
	userspace install PREFIX=/usr CC="$dir/cc" O="$dir/without" 2>"$dir/out"
	grep -qx "sdp_perf is left out: it needs libjson-c-dev libibverbs-dev librdmacm-dev" "$dir/out"
	"$to/usr/bin/sdpstat" --version >/dev/null
	[ -z "$(find "$to" -name '*sdp_perf*')" ] || { find "$to"; why "installed"; }
	userspace uninstall PREFIX=/usr
	[ -z "$(find "$to" ! -type d)" ] || { find "$to"; why "left"; }
}

compiles() { # CFLAGS
	userspace all CFLAGS="$1"
}

echo "TAP version 13"
run_case install.installs installs
run_case install.keeps_rules keeps_rules
run_case install.builds_anew builds_anew
run_case install.leaves_nothing leaves_nothing
run_case install.leaves_perf_out leaves_perf_out
for flags in -O0 -Os -O3; do
	run_case "install.compiles_with.$flags" compiles $flags
done
finish
