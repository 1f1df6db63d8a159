#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Kernels whose version says little: the module built against headers that say another
# version than they are of, as distributions' do, and loaded by the kernel that they are
# of.  On the machine itself, which starts guests: selftests/tree/versions.sh
. "$(dirname "$0")/../lib/ktap.sh"

scripts=$selftests/../scripts
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# known KO: what Kbuild has found out of the kernel that it was built for
known() { cat "$(dirname "$1")"/../../tree/kernel/sdp_have.h; }

# loads KERNEL SAYS
loads() {
	local honest lying

	honest=$("$scripts/build-module" --w1 --werror "$1" | tail -n 1)
	lying=$("$scripts/build-module" --w1 --werror "--says=$2" "$1" | tail -n 1)
	grep -q "says-$2" <<<"$lying" || why "not built apart: $lying"
	known "$honest" >"$dir/honest"
	known "$lying" >"$dir/lying"
	diff "$dir/honest" "$dir/lying" || why "other answers"
	"$scripts/vm" --kernel "$1" --hosts 1 --no-module --timeout 300 -- sh -c "
		for m in ib_cm rdma_cm; do modprobe \$m || exit; done
		insmod $lying && $bin/sdp_socket -v tcp-v4 -v ulp-v4 -t ping_pong -t sizes &&
		rmmod af_sdp"
}

begin
run_case versions.6.12_says_5.14.0-503.el9 loads 6.12 5.14.0-503.el9
run_case versions.6.1_says_6.8.0 loads 6.1 6.8.0
finish
