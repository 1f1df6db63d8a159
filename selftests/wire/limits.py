# SPDX-License-Identifier: GPL-2.0
"""Cases of what a peer may take from us, and for how long; imported by wire.py."""
import errno
import os
import struct
import time

import sdp_decode as sdp
from harness import BROKEN, case, until
from hellos import rejected
from roce import FACTOR, RETH
from sockets import pattern
from writes import reader

DREQ_SECONDS = 5        # that a DREP may take: SDP_IB_DREQ_MS
A_DAY = {'timeout': 31, 'retries': 15}  # what a REQ may say of our CM's patience


@case(accept=1, aborts=1)
def dreq_is_not_answered_for_a_day(t):
    """Our CM would repeat the DREQ for as long as the peer's REQ says."""
    c, s = t.up(**A_DAY)
    c.port.answer_dreq = False
    c.send_data(pattern(100))
    t.heard(c, s)
    t.close(s)                          # with unread data: a reset
    c.expect_dreq()
    until('the connection goes', lambda: not t.ours(), DREQ_SECONDS + 5 * FACTOR)


@case(accept=1, **BROKEN)
def write_with_immediate(t):
    """It uses a receive up, and its length is not of what is in there."""
    c, s, asked = reader(t)
    c.qp._request(sdp.WRITE_ONLY_IMM, RETH.pack(asked.va, asked.rkey, 3000) +
                  struct.pack('>I', 1) + pattern(3000), 1)
    c.expect_dreq()
    assert bytes.fromhex(t.remote.has_read(s)).decode() == os.strerror(errno.ECONNRESET)
    t.verdict = 'short'                 # not what the old bytes of the buffer are
    t.close(s)


@case(accept=1, clock=True)
def unread_in_large_buffers(t):
    """Nobody reads, and the peer says little, again and again: what it asked for is
    not had for each message."""
    c, s = t.up(t.peer.hello(t.host, des_rcvsz=16384, rcvsz=4096))
    c.send(sdp.CH_RCV_BUF, size=16384)
    until('larger buffers', lambda: t.remote.info(s)['rcv_size'] > 4096)
    said = 0
    end = time.monotonic() + 3
    while time.monotonic() < end:
        c.drain()
        if c.credits() >= 3:
            c.send(sdp.DATA, pattern(1500, said))
            c.send(sdp.DATA)
            said += 1
        time.sleep(0.11)                # each time a lull
    mem = t.remote.info(s)['mem']
    assert mem <= 200 * 1024, f'{mem // 1024} KiB for {said} messages'
    for i in range(said):
        t.reads(s, pattern(1500, i))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('of memory', 'mem_max'), ('of connections', 'max_conns'),
      ('of the user', 'max_conns_user'), ipv=(4, 6), accept=2, reject_limit=1)
def at_a_limit(t, name):
    """Who asks is told to ask again, and it is counted; who is there goes on."""
    c, s = t.up()
    was = t.remote.sysctl(name, 0)
    try:
        rejected(t, t.peer.hello(t.host))
    finally:
        t.remote.sysctl(name, int(was))
    t.talk(c, s)
    t.kernel_closes(c, s)
    c, s = t.up()
    t.talk(c, s)
    t.kernel_closes(c, s)
