# SPDX-License-Identifier: GPL-2.0
"""Cases of what a peer may take from us, and for how long; imported by wire.py."""
import errno
import os
import socket
import struct
import time

import sdp_decode as sdp
from adverts import MANY, pipelined
from harness import BROKEN, PORT, case, until
from hellos import UNSUPPORTED, let_in, rejected
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


# ---- what a connection holds that nobody has accepted, or nobody reads ----

OBJECTS = 8 * 1024      # what it is beside its buffers, and what describes each of those
UNREAD = 128 * 1024     # of a ring that nobody reads
ENOUGH = 2 << 20        # for a peer that nobody stops
KEEPS_LEFT = 2          # credits that a sender of data leaves
SMALL = {'des_rcvsz': 16384, 'rcvsz': 4096}     # of who asks when he wants larger buffers


def holds(t):
    """Bytes that the module has for the one connection without a socket."""
    (info,) = t.remote.without_socket()
    return info['mem']


def listens(t, rcvbuf):
    """A listener of the case's own: SO_RCVBUF is what the kernel has for a connection."""
    n = t.remote.listen(PORT + 6, t.ipv == 6)
    t.open.append(n)
    t.remote.option(n, socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf // 2)
    return n


def asks_in(t, hello):
    c = t.peer.connect(t.host, PORT + 6, t.peer.hello(t.host, **hello))
    t.conns.append(c)
    until('it is there', lambda: t.remote.without_socket())
    return c


def says_all(c, leaves):
    """As much as there are credits for, in full messages: the bytes."""
    sent = 0
    while sent < ENOUGH:
        if c.credits() > leaves:
            c.send(sdp.DATA, pattern(sent + c.snd_max)[sent:])
            sent += c.snd_max
            continue
        try:
            c.recv(0.5 * FACTOR)
        except TimeoutError:
            break
    return pattern(sent)


def is_had(t, c, n, data):
    """All of it, by who accepts; and it goes on."""
    s = let_in(t, n)
    t.reads(s, data)
    for i in range(20):
        c.send_data(pattern(2000, i))   # there may be room for little
        t.reads(s, pattern(2000, i))
    t.sent(s, 20000)
    c.expect_data(pattern(20000))
    return s


@case(('by the rules', 65536, KEEPS_LEFT, SMALL), ('with all credits', 65536, 0, SMALL),
      ('with all credits of large buffers', 1 << 18, 0, {}),
      ('and the listener has little', 16384, KEEPS_LEFT, {}), ipv=(4, 6), accept=1)
def data_before_accept(t, rcvbuf, leaves, hello):
    """No more than the listener's SO_RCVBUF, nor than TCP's first window, whoever
    sends; and buffers that are large from the beginning are no larger than that."""
    n = listens(t, rcvbuf)
    c = asks_in(t, hello)
    data = says_all(c, leaves)
    mem = holds(t)
    assert len(data) >= c.snd_max * 2
    assert mem <= min(rcvbuf, UNREAD) + OBJECTS, f'{mem} bytes for {len(data)}'
    t.kernel_closes(c, is_had(t, c, n, data))


@case(('by the rules', KEEPS_LEFT, {}), ('with all credits', 0, {}),
      ('with all credits of small buffers', 0, SMALL), accept=1)
def data_that_nobody_reads(t, leaves, hello):
    """The same behind accept(), where no SO_RCVBUF was set; and two buffers more are
    posted."""
    c, s = t.up(t.peer.hello(t.host, **hello))
    data = says_all(c, leaves)
    mem = t.remote.info(s)['mem']
    assert mem <= UNREAD + 2 * (c.snd_max + 16) + OBJECTS, f'{mem} bytes for {len(data)}'
    t.reads(s, data)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def larger_buffers_before_accept(t):
    """What is asked for is had by who accepts."""
    n = listens(t, 425984)
    c = asks_in(t, SMALL)
    c.send(sdp.CH_RCV_BUF, size=16384)
    data = says_all(c, KEEPS_LEFT)
    assert c.ack.rcvsz == 4096 and sdp.CH_RCV_BUF_ACK not in c.heard_mids
    assert holds(t) <= UNREAD + OBJECTS
    s = let_in(t, n)
    t.reads(s, data)
    while sdp.CH_RCV_BUF_ACK not in c.heard_mids:
        t.tell(c, s, 4000)
        c.drain()
    assert t.remote.info(s)['rcv_size'] == 16384 - 16
    c.snd_max = 16384 - 16
    t.talk(c, s, 100000)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=MANY)
def offers_before_accept(t):
    """What is offered is read into what is left of SO_RCVBUF; the rest when somebody
    has accepted."""
    n = listens(t, 196608)
    c = asks_in(t, {})
    pipelined(c)
    size, told = 100000, 0
    for i in range(MANY):
        told += c.await_credits()
        c.offer(pattern(size, i))
    until('the kernel reads', lambda: sum(r[2] for r in c.qp.served) >= 65536)
    time.sleep(0.5 * FACTOR)
    read, mem = sum(r[2] for r in c.qp.served), holds(t)
    assert read <= 196608 and mem <= 196608 + OBJECTS, f'{read} bytes read, {mem} held'
    s = let_in(t, n)
    until('more is read, with nobody in a call', lambda: sum(r[2] for r in c.qp.served) > read)
    for i in range(MANY):
        t.reads(s, pattern(size, i))
    c.expect_read(MANY * size - told)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('no room', 65536, None), ('little memory for all', 196608, 'mem_pressure'),
      accept=1, src_avail=1, sendsm=1)
def offer_refused_before_accept(t, rcvbuf, limit):
    """It is not read at all, and comes by copy then."""
    n = listens(t, rcvbuf)
    c = asks_in(t, {})
    was = limit and t.remote.sysctl(limit, 0)
    try:
        c.offer(pattern(200000), 64)
        c.expect(sdp.SEND_SM)
    finally:
        if limit:
            t.remote.sysctl(limit, int(was))
    assert not c.qp.served and holds(t) <= 65536 + OBJECTS
    s = let_in(t, n)
    t.reads(s, pattern(64))
    t.kernel_closes(c, s)


@case(ipv=(4, 6), accept=1)
def silent_holds_little(t):
    """Who has the REP, and says nothing; then he is there, and says nothing either."""
    n = listens(t, 1 << 18)
    c = t.peer.request(t.host, PORT + 6, t.peer.hello(t.host, **SMALL))
    t.conns.append(c)
    c.answer()
    assert holds(t) <= 16384 + OBJECTS
    c.rtu()
    s = let_in(t, n)
    assert t.remote.info(s)['mem'] <= 16384 + OBJECTS
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def closed_holds_no_more(t):
    """Whose socket is closed gets nothing more, but four larger buffers if it asks."""
    c, s = t.up(t.peer.hello(t.host, **SMALL))
    t.talk(c, s, 4000)
    t.close(s)
    c.expect(sdp.DISCONN)
    c.send(sdp.CH_RCV_BUF, size=16384)
    for _ in range(8):
        c.await_credits()       # of a busy host there may be none for a while
        c.send(sdp.DATA)
    c.taken()
    until('it is there', lambda: t.remote.without_socket())
    assert holds(t) <= 16384 + 65536 + OBJECTS
    c.send(sdp.DISCONN)
    c.expect_dreq()


@case(accept=4, reject_hello=1)
def remembers_nobody(t):
    """Who asks, right or wrong, is not among the destinations that are known, nor
    among those that fell back."""
    was = t.remote.remembered()
    for _ in range(4):
        t.kernel_closes(*t.up())
    rejected(t, t.peer.hello(t.host, version=0x11), UNSUPPORTED)
    assert t.remote.remembered() == was
