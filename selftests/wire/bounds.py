# SPDX-License-Identifier: GPL-2.0
"""Cases of every field of every message at its bounds and beyond them, by tables;
imported by wire.py.  Those of Hello and HelloAck are in hellos.py.

What ends a connection is said by one that says nothing else wrong; what does not
is said one after the other.
"""
import errno
import os
import socket
import time

import sdp_decode as sdp
from adverts import (INLINE, PIECE, peer_that_takes, pipelined, reads_pipelined, small_rcvbuf,
                     wants)
from harness import BROKEN, FULL, PORT, case, until
from mutate_model import MASK
from roce import FACTOR
from sockets import pattern
from writes import has_read, reader, wants_write

AT_ONCE = 8             # connections
FAR = 1 << 31           # half the numbers away
TOP = (1 << 64) - 1


def edges(most, *valid):
    """The bounds of a field, and what is next to right."""
    beside = {v + by for v in valid for by in (-1, 0, 1)}
    return sorted({0, 1, most - 1, most} | {v for v in beside if 0 <= v <= most})


def connected(t, n, **hello):
    """[(connection, the kernel's socket)]"""
    conns = [t.peer.request(t.host, PORT, t.peer.hello(t.host, **hello)) for _ in range(n)]
    t.conns += conns
    for c in conns:
        c.answer()
        c.rtu()
    socks = dict(t.remote.accept_all(t.listeners[t.ipv], n))
    t.open += socks.values()
    return [(c, socks[c.hello.port]) for c in conns]


def prepared(t, n):
    """Connections that have heard two messages of the kernel's and acknowledged one, so
    that MSeq 3 is next and MSeqAck 1 or 2: [(connection, the kernel's socket)]"""
    pairs = connected(t, n)
    for ack in 0, 1:
        for c, _ in pairs:
            c.send(sdp.CH_RCV_BUF, size=65536, ack=ack)
        for c, _ in pairs:
            c.expect(sdp.CH_RCV_BUF_ACK)
    return pairs


def refused(t, said):
    """Each of these ends a connection of its own: (mid, payload, fields)."""
    for i in range(0, len(said), AT_ONCE):
        some = said[i:i + AT_ONCE]
        pairs = prepared(t, len(some))
        for (c, _), (mid, payload, field) in zip(pairs, some):
            c.send(mid, payload, **field)
        for (c, s), what in zip(pairs, some):
            try:
                c.expect_dreq()
            except TimeoutError:
                raise AssertionError(f'it goes on after {what}') from None
            got = t.remote.ended(s)
            assert got == errno.ECONNRESET, f'read gave {got} after {what}'
            t.close(s)


def hears(c, mid):
    """The next of these that comes."""
    n = c.heard_mids.count(mid)
    while c.heard_mids.count(mid) == n:
        c.recv()


# What is owed for one, when there are credits.
ANSWERS = {sdp.CH_RCV_BUF: sdp.CH_RCV_BUF_ACK, sdp.SUSP_COMM: sdp.SUSP_COMM_ACK,
           sdp.SRC_AVAIL: sdp.SEND_SM}


def goes_on(c, mid, payload, field):
    """That, and it still answers; nothing is under way then."""
    while c.credits() < 3:
        c.recv()
    c.send(mid, payload, **field)
    c.send(sdp.DATA)
    if mid in ANSWERS:
        hears(c, ANSWERS[mid])
    c.send(sdp.CH_RCV_BUF, size=65536)
    hears(c, sdp.CH_RCV_BUF_ACK)


# ---- the header ----

SRC = {'size': 1000, 'rkey': 1, 'va': 0}
MESSAGES = {
    'Data': (sdp.DATA, b'hello', {}), 'update': (sdp.DATA, b'', {}),
    'DisConn': (sdp.DISCONN, b'', {}), 'AbortConn': (sdp.ABORT_CONN, b'', {}),
    'SendSm': (sdp.SEND_SM, b'', {}), 'ModeChange': (sdp.MODE_CHANGE, b'', {'mode': 0x20}),
    'SrcAvail': (sdp.SRC_AVAIL, b'hello', SRC),
    'SrcAvailCancel': (sdp.SRC_AVAIL_CANCEL, b'', {}),
    'SinkAvailCancel': (sdp.SINK_AVAIL_CANCEL, b'', {}),
    'ChRcvBuf': (sdp.CH_RCV_BUF, b'', {'size': 65536}),
    'SuspComm': (sdp.SUSP_COMM, b'', {'sid': 0x1c001}),
    'experimental': (0x40, b'hello', {}),
}
ONCE = sdp.DISCONN, sdp.ABORT_CONN, sdp.MODE_CHANGE


@case(*[(name, *what) for name, what in MESSAGES.items()])
def header(t, mid, payload, ext):
    """Len is what there is, MSeq the next, MSeqAck never more than was sent nor less
    than before, and Bufs not less than is under way; more, and Flags, are as they like."""
    t.sysctl('zcopy_thresh', 0)         # what is offered is refused
    size = len(sdp.Message(mid, payload, **ext).pack())
    wrong = [('len', v) for v in edges(MASK, size) if v != size]
    wrong += [('mseq', v) for v in edges(MASK, 3) if v != 3]
    wrong += [('ack', v) for v in edges(MASK, 1, 2) if v not in (1, 2)]
    wrong = [{field: v} for field, v in wrong] + [{'bufs': 0, 'ack': 1}]
    refused(t, [(mid, payload, {**ext, **field}) for field in wrong])
    right = [{'bufs': 1, 'ack': 1}, {}] + [{'bufs': v} for v in edges(0xffff)] + \
        [{'flags': v} for v in edges(0xff, 1, 2, 4, 7)]
    if mid in ONCE:
        right = [{'ack': 1, 'bufs': 0xffff, 'flags': 0xff}]
    (c, s), = prepared(t, 1)
    if mid == sdp.ABORT_CONN:
        c.send(mid, **right[0])
        c.expect_dreq()
    else:
        t.remote.option(s, socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        for field in right:
            goes_on(c, mid, payload, {**ext, **field})
            t.reads(s, payload if mid in (sdp.DATA, sdp.SRC_AVAIL) else b'')
        t.close(s, 0)
        c.expect_dreq()
    moved = t.moved()
    assert moved['accept'] == len(wrong) + 1 and moved['proto_errors'] == len(wrong), moved
    assert moved['aborts'] + moved['resets'] == len(wrong) + 1, moved
    t.counted_by_case = {'accept', 'src_avail', 'sendsm', *BROKEN, 'resets'}


# ---- the header of what is right only where something else was said before ----

LEFT = PIECE - INLINE           # of what is offered, to be told of
ROOM = 66000                    # of who asks
LONG = 60000                    # ms that nothing is asked back in; no more may be set


def spoken(t, n, **hello):
    """Each has acknowledged one message of the kernel's, of 10 bytes."""
    pairs = connected(t, n, **hello)
    for _, s in pairs:
        t.sent(s, 10)
    for c, _ in pairs:
        c.expect_data(pattern(10))
        c.send(sdp.DATA)
    for c, s in pairs:
        t.heard(c, s)
    return pairs


def has_offered(t, n):
    """A SrcAvail of the kernel's is out; its MSeq is 2."""
    t.sysctl('zcopy_wait', LONG)
    pairs = spoken(t, n, max_adverts=4)
    for _, s in pairs:
        t.remote.send_meanwhile(s, PIECE, 3)
    for c, _ in pairs:
        wants(c, sdp.SRC_AVAIL, PIECE)
    return pairs


def has_asked(t, n, wait=LONG):
    """A SinkAvail of the kernel's is out, and was written to."""
    t.sysctl('zcopy_wait', wait)
    pairs = spoken(t, n, max_adverts=4)
    for c, _ in pairs:
        pipelined(c)
    for c, s in pairs:
        t.heard(c, s)
    time.sleep(0.1 * FACTOR)
    for c, s in pairs:
        t.remote.read_meanwhile(s, ROOM, 0)
    for c, _ in pairs:
        ask = wants(c, sdp.SINK_AVAIL, ROOM)
        c.qp.write(ask.va, ask.rkey, pattern(ROOM, 1))
    return pairs


def has_asked_back(t, n):
    pairs = has_asked(t, n, int(100 * FACTOR))
    for c, _ in pairs:
        c.expect(sdp.SINK_AVAIL_CANCEL)
    return pairs


def may_be_asked(t, n):
    """The kernel is a source in pipelined mode.  What it said first counts as one
    payload message."""
    t.sysctl('zcopy_wait', LONG)
    pairs = spoken(t, n, max_adverts=4)
    for c, s in pairs:
        reads_pipelined(t, c, s)
        t.remote.send_meanwhile(s, PIECE, 1)
    for c, s in pairs:
        wants(c, sdp.MODE_CHANGE)
        c.take_offer(wants(c, sdp.SRC_AVAIL), 0)
        assert t.remote.sent_meanwhile(s) == PIECE
        c.send(sdp.CH_RCV_BUF, size=65536)
        c.expect(sdp.CH_RCV_BUF_ACK)
    return pairs


def wants_larger(t, n):
    """The kernel has asked for larger buffers than of 4096 bytes, of which there are four."""
    pairs = spoken(t, n, rcvsz=4096, bufs=4)
    for _, s in pairs:
        t.sent(s, 40000)
    for c, _ in pairs:
        hears(c, sdp.CH_RCV_BUF)
    return pairs


def told_sender(t, c, s, field):
    """One that knows nothing of the SrcAvail is of an earlier one, and ignored (4.5)."""
    if 'ack' in field:
        assert t.remote.sent_meanwhile(s, 0) is None
        c.send(sdp.RDMA_RD_COMPL, size=LEFT)
    assert t.remote.sent_meanwhile(s) == PIECE


def told_reader(t, c, s, field):
    has_read(t, s, pattern(ROOM, 1))


def refused_reader(t, c, s, field):
    """He waits on: no payload has come before this."""
    c.send_data(b'x')
    has_read(t, s, b'x')


def is_asked(t, c, s, field):
    c.send(sdp.SINK_AVAIL_CANCEL)
    c.expect(sdp.SINK_CANCEL_ACK)


def has_larger(t, c, s, field):
    assert t.remote.info(s)['snd_size'] == FULL


def fails_sender(t, s):
    got = t.remote.sent_meanwhile(s)
    assert got in (INLINE, -errno.ECONNRESET), f'send gave {got}'


def fails_reader(t, s):
    got = bytes.fromhex(t.remote.has_read(s))
    assert got == os.strerror(errno.ECONNRESET).encode(), f'read gave {got[:40]}'


def fails_next(t, s):
    got = t.remote.ended(s)
    assert got == errno.ECONNRESET, f'read gave {got}'


# Where it is right, the message, what comes of it there, and who hears that it was wrong.
THERE = {
    'RdmaRdCompl': (has_offered, sdp.RDMA_RD_COMPL, {'size': LEFT}, told_sender, fails_sender),
    'RdmaWrCompl': (has_asked, sdp.RDMA_WR_COMPL, {'size': ROOM}, told_reader, fails_reader),
    'SinkAvail': (may_be_asked, sdp.SINK_AVAIL,
                  {'size': 1000, 'rkey': 1, 'va': 0, 'non_discards': 1}, is_asked, fails_next),
    'SinkCancelAck': (has_asked_back, sdp.SINK_CANCEL_ACK, {}, refused_reader, fails_reader),
    'ChRcvBufAck': (wants_larger, sdp.CH_RCV_BUF_ACK, {'size': FULL + 16}, has_larger,
                    fails_next),
}


def heads(c, size):
    """What is wrong in the header of the next message of this one, and what is right."""
    new, last, told = c.mseq + 1, c.heard, c.acked
    wrong = [('len', v) for v in edges(MASK, size) if v != size]
    wrong += [('mseq', v) for v in edges(MASK, new) if v != new]
    wrong += [('ack', v) for v in edges(MASK, told, last) if not told <= v <= last]
    wrong = [{field: v} for field, v in wrong] + [{'bufs': last - told - 1, 'ack': told}]
    right = [{'bufs': last - told, 'ack': told}, {}] + \
        [{'bufs': v} for v in edges(0xffff, last - told)] + \
        [{'flags': v} for v in edges(0xff, 1, 2, 4, 7)]
    return [(field, False) for field in wrong] + [(field, True) for field in right]


def is_still_there(c):
    c.post(32)                  # who was told of 65535 may have used more than 4
    c.send(sdp.SUSP_COMM, sid=1)
    hears(c, sdp.SUSP_COMM_ACK)


@case(*[(name, *what) for name, what in THERE.items()])
def header_of_answer(t, before, mid, ext, comes, fails):
    """As header(), each where that message is right, and each on a connection of its
    own.  The size that RdmaRdCompl, RdmaWrCompl, SinkAvail and ChRcvBufAck tell, and all
    else that SinkAvail does, is below and in credits.py."""
    pairs = before(t, 1)
    todo = heads(pairs[0][0], len(sdp.Message(mid, **ext).pack()))
    numbers = {(c.mseq, c.heard, c.acked) for c, _ in pairs}
    count, wrong = len(todo), sum(not right for _, right in todo)
    while pairs:
        assert {(c.mseq, c.heard, c.acked) for c, _ in pairs} == numbers
        some, todo = todo[:len(pairs)], todo[len(pairs):]
        for (c, _), (field, _) in zip(pairs, some):
            c.send(mid, **{**ext, **field})
        for (c, s), (field, right) in zip(pairs, some):
            try:
                if right:
                    is_still_there(c)
                    comes(t, c, s, field)
                    t.close(s, 0)
                    c.expect_dreq()
                    continue
                c.expect_dreq()
            except Exception as e:
                raise AssertionError(f'{field}, which is {"right" if right else "wrong"}') from e
            fails(t, s)
            t.close(s)
        pairs = before(t, min(AT_ONCE, len(todo))) if todo else []
    moved = t.moved()
    assert moved['accept'] == count and moved['proto_errors'] == wrong, moved
    assert moved['aborts'] + moved['resets'] == count, moved
    t.counted_by_case = {'accept', *BROKEN, 'resets'}


@case()
def susp_comm_ack(t):
    """The kernel never says SuspComm, so there is no place where this is right, whatever
    its header says; nor when the peer has said it, and has his answer."""
    size = len(sdp.Message(sdp.SUSP_COMM_ACK).pack())
    refused(t, [(sdp.SUSP_COMM_ACK, b'', field) for field in [
        {}, {'bufs': 1, 'ack': 1}, {'bufs': 0, 'ack': 1}] +
        [{'len': v} for v in edges(MASK, size)] + [{'mseq': v} for v in edges(MASK, 3)] +
        [{'ack': v} for v in edges(MASK, 1, 2)] + [{'bufs': v} for v in edges(0xffff)] +
        [{'flags': v} for v in edges(0xff, 1, 2, 4, 7)]])
    (c, s), = prepared(t, 1)
    c.send(sdp.SUSP_COMM, sid=1)
    hears(c, sdp.SUSP_COMM_ACK)
    c.send(sdp.SUSP_COMM_ACK)
    t.reset(c, s)
    moved = t.moved()
    assert moved['accept'] == moved['proto_errors'], moved
    t.counted_by_case = {'accept', *BROKEN}


@case(('SinkCancelAck', has_asked_back, sdp.SINK_CANCEL_ACK, {}, fails_reader),
      ('ChRcvBufAck', wants_larger, sdp.CH_RCV_BUF_ACK, {'size': FULL + 16}, fails_next),
      accept=1, **BROKEN)
def answered_twice(t, before, mid, ext, fails):
    """Each is for one question."""
    (c, s), = before(t, 1)
    for _ in range(2):
        c.send(mid, **ext)
    c.expect_dreq()
    fails(t, s)
    t.close(s)


# ---- what comes behind it ----

@case()
def src_avail_fields(t):
    """Key and address are the peer's own; Len is no less than what is inline."""
    t.sysctl('zcopy_thresh', 0)
    inline = pattern(INLINE)
    short = [v for v in edges(MASK, INLINE) if v < INLINE]
    refused(t, [(sdp.SRC_AVAIL, inline, {**SRC, 'size': v}) for v in short])
    right = [('size', v) for v in edges(MASK, INLINE, FAR) if v >= INLINE] + \
        [('rkey', v) for v in edges(MASK)] + [('va', v) for v in edges(TOP, FAR, 1 << 63)]
    (c, s), = prepared(t, 1)
    for field, value in right:
        while c.credits() < 3:
            c.recv()
        c.send(sdp.SRC_AVAIL, inline, **{**SRC, field: value})
        if (field, value) != ('size', INLINE):
            c.expect(sdp.SEND_SM)
        t.reads(s, inline)
    t.talk(c, s)
    t.kernel_closes(c, s)
    assert t.moved()['proto_errors'] == len(short)
    t.counted_by_case = {'accept', 'src_avail', 'sendsm', *BROKEN}


@case(('and is there', 1000, True), ('and is not', 300000, False), accept=1, src_avail=1)
def src_avail_wraps(t, size, there):
    """Its last byte has a lower address than its first: whether it can be read is for the
    peer's device to say."""
    c, s = t.up()
    data = pattern(size, 2)
    c.offer(data, INLINE, va=TOP - 99)
    if there:
        c.expect_read(size - INLINE)
        t.reads(s, data)
        t.talk(c, s)
        t.kernel_closes(c, s)
        return
    c.port.wait('it is refused', lambda: c.qp.refused)
    assert c.qp.refused[0][1] < size, c.qp.refused
    t.reads(s, data[:INLINE + c.qp.served[0][2]])
    t.reset(c, s)
    t.counted_by_case = {'resets'}


@case(accept=1, src_avail=1, aborts=1)
def src_avail_of_4_gib(t):
    """It is read as the reader does."""
    c, s = t.up()
    small_rcvbuf(t, c, s, 50000)
    data, key = pattern(300000, 2), 0x1234
    c.qp.memory[key] = (0, data)
    c.send(sdp.SRC_AVAIL, data[:INLINE], size=MASK, rkey=key, va=0)
    t.reads(s, data[:100000])
    assert sum(r[2] for r in c.qp.served) <= 250000 and not c.qp.refused
    t.close(s)
    c.expect_dreq()


@case()
def mode_change_fields(t):
    """Four bits of the first byte count, and the other three bytes do not."""
    modes = edges(0xff, 0x10, 0x20, 0x2f, 0x40, 0x70, 0x80)
    right = [v for v in modes if v >> 4 in (0, 2)]
    wrong = [v for v in modes if v not in right]
    refused(t, [(sdp.MODE_CHANGE, b'', {'mode': v}) for v in wrong])
    pairs = prepared(t, len(right))
    for (c, s), mode in zip(pairs, right):
        goes_on(c, sdp.MODE_CHANGE, b'', {'mode': mode, 'reserved': b'\xff' * 3})
        assert t.remote.info(s)['mode_recv'] == mode >> 4
        t.close(s, 0)
        c.expect_dreq()
    assert t.moved()['proto_errors'] == len(wrong)
    t.counted_by_case = {'accept', *BROKEN}


@case(accept=1, aborts=1)
def control_fields(t):
    """A size or an identifier is only a wish."""
    (c, s), = prepared(t, 1)
    for size in edges(MASK, 16384, FAR):
        goes_on(c, sdp.CH_RCV_BUF, b'', {'size': size})
    for sid in edges(TOP, FAR, 1 << 63):
        goes_on(c, sdp.SUSP_COMM, b'', {'sid': sid})
    t.close(s, 0)
    c.expect_dreq()


@case(('0', 0), ('1', 1), ('half the numbers', FAR), ('all but one', MASK))
def sink_avail_refused(t, value):
    """A room of 0, and NonDiscards that are ahead."""
    c, s, ns = wants_write(t)
    field = {'size': 0, 'non_discards': ns} if not value else \
        {'size': 100000, 'non_discards': (ns + value) & MASK}
    if value == MASK:           # behind: stale, and with payload no message at all
        c.send(sdp.SINK_AVAIL, b'x', rkey=1, va=0, **field)
    else:
        c.send(sdp.SINK_AVAIL, rkey=1, va=0, **field)
    t.reset(c, s)
    t.counted_by_case = {'accept', *BROKEN}


@case(accept=1)
def sink_avail_fields(t):
    """Any room, key and address; NonDiscards that are behind make it void."""
    c, s, ns = wants_write(t)
    for field in [{'size': v} for v in (1, FAR, MASK - 1, MASK)] + \
            [{'rkey': v} for v in edges(MASK)] + [{'va': v} for v in edges(TOP)]:
        c.send(sdp.SINK_AVAIL, **{'size': 1000, 'rkey': 1, 'va': 0, 'non_discards': ns, **field})
        c.send(sdp.SINK_AVAIL_CANCEL)
        c.expect(sdp.SINK_CANCEL_ACK)
    for by in 1, 2, FAR - 2:
        c.send(sdp.SINK_AVAIL, size=1000, rkey=1, va=0, non_discards=(ns - by) & MASK)
        ns -= 1                 # payload has killed it, as far as he knows
        c.send(sdp.SINK_AVAIL_CANCEL)
        t.quiet(c, seconds=0.1)
    c.send(sdp.SINK_AVAIL, size=1000, rkey=1, va=0, non_discards=ns & MASK)
    c.send(sdp.SINK_AVAIL_CANCEL)
    c.expect(sdp.SINK_CANCEL_ACK)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('one more', LEFT + 1), ('2^32-2', MASK - 1), ('2^32-1', MASK), accept=1, **BROKEN)
def rdma_rd_compl_beyond(t, size):
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, PIECE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    c.send(sdp.RDMA_RD_COMPL, size=size)
    assert t.remote.sent_meanwhile(s) in (INLINE, -errno.ECONNRESET)
    c.expect_dreq()
    t.close(s)


@case(accept=1)
def rdma_rd_compl_fields(t):
    """Of nothing, of a byte, and of the rest; it is not over before."""
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, PIECE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    for size in 0, 1, 0, LEFT - 2:
        c.send(sdp.RDMA_RD_COMPL, size=size)
    t.heard(c, s)
    assert t.remote.sent_meanwhile(s, 0) is None
    c.send(sdp.RDMA_RD_COMPL, size=1)
    assert t.remote.sent_meanwhile(s) == PIECE
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('one more', 100001), ('2^32-2', MASK - 1), ('2^32-1', MASK), accept=1, **BROKEN)
def rdma_wr_compl_beyond(t, size):
    c, s, _ = reader(t)
    c.send(sdp.RDMA_WR_COMPL, size=size)
    t.remote.has_read(s)
    c.expect_dreq()
    t.close(s)


@case(('0', 0), ('1', 1), ('all but one', 99999), ('all', 100000), accept=1)
def rdma_wr_compl_fields(t, size):
    """So many bytes are the reader's; of none he waits on."""
    c, s, asked = reader(t, flags=0)
    data = pattern(size, 1)
    if size:
        c.qp.write(asked.va, asked.rkey, data)
    c.send(sdp.RDMA_WR_COMPL, size=size)
    if not size:
        data = b'x'
        c.send(sdp.DATA, data)
    has_read(t, s, data)
    t.talk(c, s)
    t.kernel_closes(c, s)
