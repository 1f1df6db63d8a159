# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# fio's net engine: the receiver verifies each block's checksum and place.

# Each side tells the other that it closes; the receiver asks for more than comes,
# so that it hears that and does not close with it unread, which resets the
# sender (of fio 3.33, with TCP too).  Much more: of a block that comes in parts, fio
# counts the whole, then what is left after the first part, and so on, against the
# size; in parts of a packet each that is ninety times what comes, with 256 KiB.
fio_net() { # BLOCK OPTION...: of both sides
	local mib pid both reads short

	need fio
	mib=$(amount 16 1024)
	# The options of an engine come after its name.
	both=(--bs="$1" --port=8888 --protocol=tcp --verify=crc32c --verify_state_save=0
		--thread "${@:2}")
	server fio --name=receiver --ioengine=net --listen --rw=read --size=$((128 * mib))M "${both[@]}"
	pid=${servers[0]}
	listening 8888
	client 300 fio --name=sender --ioengine=net --hostname=h2 --rw=write --size="${mib}M" \
		--do_verify=0 "${both[@]}" >"$dir/fio" || { cat "$dir/fio"; why "the sender failed"; }
	until_true gone "$pid"
	wait "$pid" || why "the receiver failed: what arrived is not what was sent"
	# A block that came in parts counts as short, once for each part before the last.
	read -r reads short < <(sed -n 's/.*issued rwts: total=\([0-9]*\),.*short=\([0-9]*\),.*/\1 \2/p' "$dir/out.0")
	[ $((reads - short)) = $(((mib << 10) / ${1%k})) ] || {
		cat "$dir/out.0"
		why "$((reads - short)) blocks arrived"
	}
	carried $((mib << 20))
}

in_manners fio.4k fio_net 4k
more in_manners fio.256k fio_net 256k --nodelay=1
more in_manners fio.window fio_net 64k --window_size=131072
