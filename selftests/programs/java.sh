# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# OpenJDK 17: sockets and selectors, by the library, and by its own rules
# (com.sun.sdp.conf), with which it opens family 27 itself.

java_build() {
	need java javac
	[ -e "$SDP_SHARE/java/Echo.class" ] ||
		javac -d "$SDP_SHARE/java" "$selftests/programs/Echo.java"
	java=(java -Xmx96m -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$SDP_SHARE/java")
}

java_ask() { # CLIENTS ROUNDS
	"${launcher[@]}" "${java[@]}" "${rules[@]}" Echo ask 10.9.0.2 8085 "$@" >"$dir/bytes" ||
		why "the client failed"
	echo "# $(cat "$dir/bytes") bytes there and back"
	carried "$(cat "$dir/bytes")"
}

java_preload() { # serve | select, CLIENTS ROUNDS
	local role=$1 launcher=(client 120) rules=()

	shift
	java_build
	server "${java[@]}" Echo "$role" 8085
	listening 8085
	java_ask "$@"
}

# What is said by the rules stands for the launcher: a listener and a connection
# of theirs are SDP; those of the other side plain as net.sdp.fallback allows.
java_native() { # serve | select, CLIENTS ROUNDS
	local role=$1 launcher=(limit 120) rules=(-Djava.net.preferIPv4Stack=true) of_server=()

	shift
	java_build
	printf 'bind * 8085\nconnect 10.9.0.2 8085\n' >"$SDP_SHARE/case.sdp"
	of_server=("${rules[@]}")
	case $manner in
	sdp | plain_client)	of_server+=(-Dcom.sun.sdp.conf="$SDP_SHARE/case.sdp") ;;
	esac
	case $manner in
	sdp | plain_server)	rules+=(-Dcom.sun.sdp.conf="$SDP_SHARE/case.sdp") ;;
	esac
	case $manner in
	plain_*)		tune net.sdp.fallback=1 ;;
	esac
	launch h2 "${java[@]}" "${of_server[@]}" Echo "$role" 8085
	listening 8085
	java_ask "$@"
}

more in_manners java.preload_threads java_preload serve "$(amount 4 50)" "$(amount 20 200)"
in_manners java.preload_selector java_preload select "$(amount 4 50)" "$(amount 20 200)"
in_manners java.native_threads java_native serve "$(amount 4 50)" "$(amount 20 200)"
more in_manners java.native_selector java_native select "$(amount 4 50)" "$(amount 20 200)"
