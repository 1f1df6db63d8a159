#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# variants.sh [WORD]: the variants of variants.def, a line each; with a word those that are
# so called: "variants.sh ulp" says ulp-v4 and ulp-v6.
sed -n "s/^VARIANT(.*, \(${1:-.*}\), \([46]\))\$/\1-v\2/p" "$(dirname "$(readlink -f "$0")")/variants.def"
