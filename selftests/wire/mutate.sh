#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Recorded conversations with the module on h1, said again with mistakes in them:
# see mutate.py.  selftests/wire/mutate.sh [COUNT [SEED [INDEX]]]
exec "$(dirname "$(readlink -f "$0")")/with_peer.sh" mutate.py "$@"
