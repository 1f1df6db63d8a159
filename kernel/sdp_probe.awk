# SPDX-License-Identifier: GPL-2.0
# awk -f sdp_probe.awk sdp_probe.c MESSAGES Module.symvers: sdp_have.h, of what the
# compiler says of sdp_probe.c and of the kernel's list of exported symbols.
#
# An error in the lines of a probe is the answer to it.  An error anywhere else is one:
# the headers do not compile, or the compiler does not know its flags.

function stop(why)
{
	print "sdp_probe: " why > "/dev/stderr"
	failed = 1
	exit 1
}

FNR == 1 { file++ }

file == 1 && /^SDP_PROBE(_TYPE|_EXPORT)?\([A-Z0-9_]+, / {
	name = $0
	gsub(/^[^(]*\(|,.*/, "", name)
	names[++n] = name
	first[n] = FNR
	have[n] = 1
	if (/SDP_PROBE_EXPORT/) {
		have[n] = 0
		symbol = $0
		gsub(/.*, |\).*/, "", symbol)
		exported[symbol] = n
	}
}

file == 2 { said = $0 }
file == 2 && /: (fatal )?error: / {
	split($0, at, ":")
	sub(/.*\//, "", at[1])
	for (i = n; i > 0 && first[i] > at[2] + 0; i--)
		;
	if (at[1] != "sdp_probe.c" || i == 0 || /: fatal error: /)
		stop("this kernel's headers cannot be asked: " $0)
	have[i] = 0
}

file == 3 && ($2 in exported) { have[exported[$2]] = 1 }

END {
	if (failed)
		exit 1
	# Two have answers that are known.
	for (i = 1; i <= n; i++)
		if (names[i] == "ANYTHING" && !have[i] || names[i] == "NOTHING" && have[i])
			stop("the compiler does not answer: " said)
	print "/* What this kernel's headers have: sdp_probe.c asks, sdp_probe.awk writes. */"
	for (i = 1; i <= n; i++)
		print "#define SDP_HAVE_" names[i], have[i]
}
