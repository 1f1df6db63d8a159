#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A foreign peer, in Python over UDP, that says right and wrong things to the
# module on h1: the files of Python here have the cases.  selftests/wire/wire.sh [PART OF A NAME...]
exec "$(dirname "$(readlink -f "$0")")/with_peer.sh" wire.py "$@"
