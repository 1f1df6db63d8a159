#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Recorded conversations with the module on h1, said again with mistakes in them:
# see wire/mutate.py.  selftests/mutate.sh [COUNT [SEED [INDEX]]]
exec "$(dirname "$(readlink -f "$0")")/wire/with_peer.sh" mutate.py "$@"
