#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A foreign peer, in Python over UDP, that says right and wrong things to the
# module on h1: wire/ has the cases.  selftests/wire.sh [PART OF A NAME...]
exec "$(dirname "$(readlink -f "$0")")/wire/with_peer.sh" wire.py "$@"
