#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The kernel's kselftest runner runs the socket suite (make -C selftests run_tests), and
# tells what became of it.  On the machine itself, which starts a guest; the runner is that
# of the newest Linux whose source the rig has unpacked: selftests/tree/kselftest.sh
. "$(dirname "$0")/../lib/ktap.sh"

scripts=$(readlink -f "$selftests/../scripts")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset MAKEFLAGS MFLAGS	# of make check

# guest COMMAND: with a function "runner [ARGUMENT...]": those of sdp_socket
guest() {
	local ksft

	ksft=$(printf '%s\n' "${SDP_CACHE:-$HOME/.cache/af-sdp}"/src/linux-*/tools/testing/selftests | sort -V | tail -n 1)
	[ -e "$ksft/lib.mk" ] || why "no source of Linux is unpacked: scripts/vm --kernel uml -- true"
	"$scripts/vm" --kernel uml --hosts 1 --timeout 300 -- bash -c "
		runner() {
			KSELFTEST_SOCKET_SH_ARGS=\"\$*\" make -s -C '$selftests' O='$(readlink -f "$bin")' \
				KSFT='$ksft' run_tests
		}
		$1"
}

runs() {
	guest 'echo without; rmmod af_sdp && runner -t ping_pong || exit
		insmod /run/rig/modules/af_sdp.ko || exit
		echo well; runner -t ping_pong -t sizes -v tcp-v4 -v ulp-v4
		echo wrong; runner -t no_such_case' >"$dir/said" 2>&1
}

# said WORD LINE: it is among what was said after the word
said() {
	sed -n "/^$1\$/,/^w[a-z]*\$/p" "$dir/said" | grep -qxE "$2" || { cat "$dir/said"; why "no line \"$2\" after $1"; }
}

suite="selftests: [^ ]*: socket\.sh"
begin
runs	# what the cases read
run_case kselftest.skipped_without_the_module said without "ok 1 $suite # SKIP"
run_case kselftest.cases_are_shown said well '# ok 4 - ping_pong.ulp-v4'
run_case kselftest.passed said well "ok 1 $suite"
run_case kselftest.failure_is_told said wrong "not ok 1 $suite # exit=1"
finish
