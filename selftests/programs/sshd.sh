# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154
# sshd re-executes itself for each connection, puts a child under seccomp and
# chroot before login, and changes its user after; ssh, scp and rsync beside it,
# and rsync by its own daemon.

# What this machine's root has each session's shell do takes its time, and is not ours.
without_dotfiles() {
	# shellcheck disable=SC2016 # h2's
	on h2 sh -c 'cd "$(getent passwd root | cut -d: -f6)" || exit
		for f in .bashrc .zshenv .ssh/rc .ssh/environment; do
			[ ! -s "$f" ] || mount --bind /dev/null "$f" || exit
		done'
}

sshd_server() {
	need /usr/sbin/sshd ssh scp rsync
	without_dotfiles
	on h2 ssh-keygen -q -t ed25519 -N '' -f "$there/case.host"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
	cp "$dir/key.pub" "$SDP_SHARE/case.authorized"
	cat >"$SDP_SHARE/case.sshd" <<-END
		Port 2222
		HostKey $there/case.host
		PidFile none
		AuthorizedKeysFile $SDP_SHARE/case.authorized
		StrictModes no
		UsePAM no
		UseDNS no
		PermitRootLogin prohibit-password
		PasswordAuthentication no
		AllowTcpForwarding yes
		MaxStartups 100
		Subsystem sftp /usr/lib/openssh/sftp-server
	END
	server /usr/sbin/sshd -D -e -f "$SDP_SHARE/case.sshd"
	listening 2222
	ssh_options=(-F none -i "$dir/key" -o StrictHostKeyChecking=no -o LogLevel=ERROR
		-o UserKnownHostsFile=/dev/null -o ConnectTimeout=60)
}

big() {
	random big "$(amount 8 1024)"
	size=$(stat -c %s "$SDP_SHARE/big")
}

sshd_scp() {
	local size

	sshd_server
	big
	client 600 scp "${ssh_options[@]}" -P 2222 "$SDP_SHARE/big" "h2:$SDP_SHARE/case.got"
	cmp "$SDP_SHARE/big" "$SDP_SHARE/case.got"
	rm "$SDP_SHARE/case.got"
	client 600 scp "${ssh_options[@]}" -P 2222 "h2:$SDP_SHARE/big" "$SDP_SHARE/case.got"
	cmp "$SDP_SHARE/big" "$SDP_SHARE/case.got"
	carried $((2 * size))
}

# Through a shell: standard input, half close, exit status, many at once.
sshd_shell() {
	local size i status=0 pids=()

	sshd_server
	random 1M 1
	[ "$(client 60 ssh "${ssh_options[@]}" -p 2222 h2 md5sum <"$SDP_SHARE/1M")" = \
		"$(md5sum <"$SDP_SHARE/1M")" ]
	client 60 ssh "${ssh_options[@]}" -p 2222 h2 'exit 7' || status=$?
	[ $status = 7 ] || why "exit status $status, expected 7"
	for ((i = 0; i < $(amount 5 20); i++)); do
		client 120 ssh "${ssh_options[@]}" -p 2222 h2 "echo $i; cat $SDP_SHARE/1M" >"$dir/out$i" &
		pids+=($!)
	done
	for ((i = 0; i < ${#pids[@]}; i++)); do
		wait "${pids[i]}" || why "ssh number $i failed"
		{ echo $i; cat "$SDP_SHARE/1M"; } | cmp - "$dir/out$i"
	done
	carried $((1048576 * (i + 1)))
}

# make_tree DIRECTORY
make_tree() {
	local i

	mkdir -p "$1/sub/sub"
	for ((i = 0; i < 50; i++)); do
		head -c $((i * 997)) /dev/urandom >"$1/sub/small.$i"
	done
	ln -s small.1 "$1/sub/link"
	cp "$SDP_SHARE/big" "$1/sub/sub/big"
}

# rsync_tree DESTINATION OPTION...: all, then what changed
rsync_tree() {
	local to=$1 size

	shift
	big
	make_tree "$SDP_SHARE/case.tree"
	client 600 rsync -a "$@" "$SDP_SHARE/case.tree/" "$to/"
	diff -r --no-dereference "$SDP_SHARE/case.tree" "$SDP_SHARE/case.copy"
	rm "$SDP_SHARE/case.tree/sub/small."*9
	printf changed | dd of="$SDP_SHARE/case.tree/sub/sub/big" bs=1 seek=1000000 conv=notrunc status=none
	# Of the same length: by its time alone rsync knows, and that in seconds.
	touch -d '5 seconds' "$SDP_SHARE/case.tree/sub/sub/big"
	client 600 rsync -a --delete --no-whole-file "$@" "$SDP_SHARE/case.tree/" "$to/"
	diff -r --no-dereference "$SDP_SHARE/case.tree" "$SDP_SHARE/case.copy"
	# And from there.
	client 600 rsync -a "$@" "$to/" "$SDP_SHARE/case.back/"
	diff -r --no-dereference "$SDP_SHARE/case.tree" "$SDP_SHARE/case.back"
	carried $((2 * size))
}

sshd_rsync() {
	sshd_server
	rsync_tree "h2:$SDP_SHARE/case.copy" -e "ssh ${ssh_options[*]} -p 2222"
}

rsync_daemon() {
	mkdir "$SDP_SHARE/case.copy"
	cat >"$SDP_SHARE/case.rsyncd" <<-END
		uid = root
		gid = root
		use chroot = yes
		[copy]
		path = $SDP_SHARE/case.copy
		read only = no
	END
	server rsync --daemon --no-detach --port=8730 --config="$SDP_SHARE/case.rsyncd" \
		--log-file=/dev/stderr
	listening 8730
	rsync_tree rsync://h2:8730/copy
}

# A login session's environment is made anew: what is started in it has no
# library, and is plain.
sshd_session() {
	local env

	sshd_server
	env=$(client 60 ssh "${ssh_options[@]}" -p 2222 h2 env)
	! grep -q '^LD_PRELOAD=' <<<"$env" || why "the session has the library after all"
	carried 1000
}

more in_manners sshd.shell sshd_shell
in_manners sshd.scp sshd_scp
more in_manners sshd.rsync sshd_rsync
in_manners rsync.daemon rsync_daemon
run_case sshd.session_is_plain in_manner sdp sshd_session
