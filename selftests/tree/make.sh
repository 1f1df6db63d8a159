#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Makefile as people use it on a host, with the headers of Debian 12's kernel:
# selftests/tree/make.sh
. "$(dirname "$0")/../lib/ktap.sh"

top=$(readlink -f "$selftests/..")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset MAKEFLAGS MFLAGS	# of make check
kdir=$("$top/scripts/rig/stock-kernel" --headers 6.1) || exit
mkdir -p "$dir/src" "$dir/a b" "$dir/a"
cp -r "$top"/{Makefile,Kbuild,kernel,uapi,userspace,packaging,man} "$dir/src"
cp "$top/Makefile" "$dir/a b"

in_src() { make -s -C "$dir/src" KDIR="$kdir" O=out "$@"; }
module=$dir/src/out/module

# Where modprobe looks: by the name that the module is made for.
installs_where_it_is_sought() {
	local ko
	in_src -j2 install DESTDIR=../root
	ko=$(find "$dir/root" -name af_sdp.ko)
	[ "$ko" = "$dir/root/lib/modules/$(modinfo -F vermagic "$ko" | cut -d' ' -f1)/updates/af_sdp.ko" ] ||
		why "it is $ko, for $(modinfo -F vermagic "$ko")"
	in_src uninstall DESTDIR=../root
	[ -z "$(find "$dir/root" -type f)" ] || { find "$dir/root"; why "left"; }
}

# As unpacked from an archive, over a tree that was built later.
takes_what_looks_old() {
	sed -i 's/^MODULE_DESCRIPTION(.*/MODULE_DESCRIPTION("another");/' "$dir"/src/kernel/*.c
	touch -d "1 year ago" "$dir"/src/kernel/*.c
	touch "$dir/src/kernel/product.o"	# of one who built it there
	in_src -j2 module
	[ "$(modinfo -F description "$module"/*/af_sdp.ko)" = another ] || why "the old one"
	[ -z "$(find "$module" -name product.o)" ] || why "took a product"
	touch "$dir/built"
	in_src module
	[ -z "$(find "$module" -name '*.o' -newer "$dir/built")" ] || why "built without a reason"
}

# Neither is there a way to say such a path to Kbuild.
refuses_a_blank() {
	touch "$dir/a/precious"
	! make -C "$dir/a b" clean 2>"$dir/out" || why "took it"
	grep -q "no path with a blank" "$dir/out" || { cat "$dir/out"; why "said something else"; }
	[ -e "$dir/a/precious" ] || why "removed another directory"
}

# To be cleaned one day.
refuses_its_sources() {
	local o
	for o in . .. "$dir" "$dir/x y" ""; do
		! make -C "$dir/src" O="$o" clean 2>/dev/null || why "took O=$o"
	done
	[ -e "$dir/src/Makefile" ] || why "removed the sources"
}

echo "TAP version 13"
run_case make.installs_where_it_is_sought installs_where_it_is_sought
run_case make.takes_what_looks_old takes_what_looks_old
run_case make.refuses_a_blank refuses_a_blank
run_case make.refuses_its_sources refuses_its_sources
finish
