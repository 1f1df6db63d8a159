# SPDX-License-Identifier: GPL-2.0
"""Cases of write zero copy: SinkAvail filled by RDMA, both ways; imported by wire.py.

The kernel writes into the memory of the peer, and the peer into that of a reader
of the kernel's, or beside it.
"""
import errno
import os
import time

import sdp_decode as sdp
from adverts import PIECE, SIZE, moved, peer_that_takes, pipelined, reads_pipelined, wants
from harness import BROKEN, case, until
from roce import FACTOR, must_be_refused
from sockets import pattern


# ---- the kernel is the source ----

def wants_write(t, **hello):
    """A connection whose kernel source is in pipelined mode: (c, s, NonDiscards)."""
    c, s = peer_that_takes(t, **hello)
    reads_pipelined(t, c, s)
    t.remote.send_meanwhile(s, PIECE, 1)
    wants(c, sdp.MODE_CHANGE)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL), 0) == pattern(PIECE, 1)
    assert t.remote.sent_meanwhile(s) == PIECE
    return c, s, 0


def written(t, c, size):
    """RdmaWrCompl for so many bytes."""
    msg = c.expect(sdp.RDMA_WR_COMPL)
    assert msg.size == size, f'{msg}, not {size}'
    return msg


def all_sent(t, c, s, got):
    """What the peer got is what the caller sent, all of it; the connection closes."""
    assert got == pattern(SIZE, 3)
    assert t.remote.sent_meanwhile(s) == SIZE
    t.kernel_closes(c, s)


@case(ipv=(4, 6), accept=1)
def writes(t):
    """A long send() into a reader's buffer: in pieces, told once, and nothing is
    offered."""
    c, s, ns = wants_write(t)
    before = t.remote.counters()
    for round in range(3):
        room = c.ask(SIZE + 70000, ns)
        t.heard(c, s)
        t.remote.send_meanwhile(s, SIZE, round)
        written(t, c, SIZE)
        assert t.remote.sent_meanwhile(s) == SIZE
        assert room[:SIZE] == pattern(SIZE, round) and not any(room[SIZE:])
    assert moved(t, before, 'rdma_writes', 'bytes_written', 'offers') == (6, 3 * SIZE, 0)
    t.quiet(c)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def writes_and_offers(t):
    """What has no room is offered."""
    c, s, ns = wants_write(t)
    room = c.ask(200000, ns)
    t.heard(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    written(t, c, 200000)
    got = bytes(room)
    while len(got) < SIZE:
        got += c.take_offer(wants(c, sdp.SRC_AVAIL), 0)
    all_sent(t, c, s, got)


@case(accept=1)
def fills_one_after_the_other(t):
    """Two SinkAvails, used in order."""
    c, s, ns = wants_write(t)
    first, second = c.ask(PIECE, ns), c.ask(SIZE, ns)
    t.heard(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    written(t, c, PIECE)
    written(t, c, SIZE - PIECE)
    all_sent(t, c, s, bytes(first) + bytes(second[:SIZE - PIECE]))


@case(('at once', 0), ('after a part', 10000), accept=1)
def sink_avail_crosses(t, part):
    """A valid SinkAvail takes the SrcAvails back (4.5): they are written."""
    c, s = peer_that_takes(t)
    reads_pipelined(t, c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    wants(c, sdp.MODE_CHANGE)
    first = wants(c, sdp.SRC_AVAIL)
    wants(c, sdp.SRC_AVAIL)
    got = b''
    if part:
        got = c.qp.read(first.va, first.rkey, part)
        c.send(sdp.RDMA_RD_COMPL, size=part)
    room = c.ask(SIZE, 0)
    written(t, c, SIZE - part)
    all_sent(t, c, s, got + bytes(room[:SIZE - part]))


def copied(c, data):
    """The next bytes come by copy; how many messages brought them."""
    got, n = b'', 0
    while len(got) < len(data):
        payload = c.expect(sdp.DATA).payload
        got += payload
        n += bool(payload)
    assert got == data
    return n


@case(accept=1)
def data_kills_one(t):
    """What is short goes by copy and makes one void: the next is filled."""
    c, s, ns = wants_write(t)
    c.ask(100000, ns)
    room = c.ask(SIZE, ns)
    t.heard(c, s)
    t.sent(s, 100, 5)
    assert copied(c, pattern(100, 5)) == 1
    t.remote.send_meanwhile(s, SIZE, 3)
    written(t, c, SIZE)
    all_sent(t, c, s, room)


@case(accept=1)
def data_kills_all(t):
    """Of many messages two kill and the others count: one that has NonDiscards
    right is filled."""
    c, s, ns = wants_write(t)
    c.ask(100000, ns)
    c.ask(SIZE, ns)
    t.heard(c, s)
    sent = t.remote.send(s, 5 * c.snd_max, 5)   # who does not wait is copied
    n = copied(c, pattern(sent, 5))
    assert n > 2 and not c.qp.written
    room = c.ask(SIZE, ns + n - 2)
    t.heard(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    written(t, c, SIZE)
    assert room == pattern(SIZE, 3)
    t.kernel_closes(c, s)


@case(('nothing written', 1), ('two of them', 2), accept=1)
def sink_cancel(t, adverts):
    """SinkCancelAck, once; and the stream goes on."""
    c, s, ns = wants_write(t)
    for _ in range(adverts):
        c.ask(100000, ns)
    c.send(sdp.SINK_AVAIL_CANCEL)
    c.expect(sdp.SINK_CANCEL_ACK)
    t.quiet(c)
    t.talk(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    got = b''
    while len(got) < SIZE:
        got += c.take_offer(wants(c, sdp.SRC_AVAIL), 0)
    assert got == pattern(SIZE, 3)
    t.kernel_closes(c, s)


@case(accept=1)
def sink_cancel_crosses_its_end(t):
    """It is told already, or void: nothing is to be answered."""
    c, s, ns = wants_write(t)
    room = c.ask(SIZE, ns)
    t.heard(c, s)
    t.remote.send_meanwhile(s, PIECE, 3)
    written(t, c, PIECE)
    assert room[:PIECE] == pattern(PIECE, 3)
    c.send(sdp.SINK_AVAIL_CANCEL)
    t.quiet(c)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('the only one', 1), ('and one more', 2), accept=1)
def sink_cancel_while_written(t, adverts):
    """RdmaWrCompl for what was; SinkCancelAck only for what was not begun.  The
    rest of the send goes another way."""
    t.sysctl('zcopy_adverts', 1)
    t.sysctl('ack_timeout', int(500 * FACTOR))      # the device waits for a late peer
    c, s, ns = wants_write(t)
    rooms = [c.ask(SIZE, ns) for _ in range(adverts)]
    t.heard(c, s)
    # The first piece is not acknowledged, so no second.  A credit update before it
    # is: where registrations wait for an empty queue nothing would be written.
    c.qp.late_with_writes = True
    t.remote.send_meanwhile(s, SIZE, 3)
    until('the kernel writes', lambda: c.qp.written)
    time.sleep(0.1 * FACTOR)
    assert sdp.RDMA_WR_COMPL not in c.heard_mids
    c.send(sdp.SINK_AVAIL_CANCEL)
    written(t, c, PIECE)
    if adverts > 1:
        c.expect(sdp.SINK_CANCEL_ACK)
    c.qp.acknowledge()
    got = bytes(rooms[0][:PIECE])
    got += c.take_offer(wants(c, sdp.SRC_AVAIL), 0)
    all_sent(t, c, s, got)


@case(accept=1)
def stale_sink_avail(t):
    """Data has crossed it: it is dropped, and the next one counts."""
    c, s, ns = wants_write(t)
    t.sent(s, 100, 2)           # Ns is 1
    c.ask(SIZE, ns)             # and here it is not heard of yet
    c.expect_data(pattern(100, 2))
    room = c.ask(SIZE, ns)      # NonDiscards: 1 for the Data, less one killed
    t.heard(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    written(t, c, SIZE)
    assert room == pattern(SIZE, 3)
    t.kernel_closes(c, s)


@case(accept=1)
def room_for_little(t):
    """A SinkAvail that is too short for a write is used up by a copy."""
    c, s, ns = wants_write(t)
    c.ask(1, ns)
    t.heard(c, s)
    t.remote.send_meanwhile(s, SIZE, 3)
    got = c.expect(sdp.DATA).payload
    while len(got) < SIZE:
        msg = c.recv()
        if msg.mid == sdp.SRC_AVAIL:
            got += c.take_offer(msg, len(msg.payload))
        else:
            got += msg.payload
        if c.credits() >= 2:
            c.send(sdp.DATA)
    assert got == pattern(SIZE, 3) and not c.qp.written
    assert t.remote.sent_meanwhile(s) == SIZE
    t.kernel_closes(c, s)


@case(('no such key', 1, 0), ('less room than it said', 0, SIZE - 5), accept=1, resets=1)
def asks_for_what_it_has_not(t, other, size):
    """The peer's device refuses: the caller hears of it."""
    c, s, ns = wants_write(t)
    room = c.ask(SIZE, ns)
    (rkey, (va, _)), = c.qp.room.items()
    c.qp.room = {rkey ^ other: (va, bytearray(size or len(room)))}
    time.sleep(0.1 * FACTOR)
    t.remote.send_meanwhile(s, SIZE, 3)
    assert t.remote.sent_meanwhile(s) in (PIECE, -errno.ECONNRESET)
    assert t.remote.hung_up(s)
    t.close(s)


@case(accept=1)
def write_is_not_answered(t):
    """The device gives up, and the memory is the caller's again."""
    t.sysctl('ack_timeout', int(50 * FACTOR))
    t.sysctl('ack_retries', 3)
    c, s, ns = wants_write(t)
    c.ask(SIZE, ns)
    t.heard(c, s)
    c.qp.mute = True
    t.remote.send_meanwhile(s, SIZE, 3)
    got = t.remote.sent_meanwhile(s, 20 * FACTOR)
    assert got == -errno.ETIMEDOUT, got
    t.counted_by_case = {'resets'}
    t.close(s)


# ---- the kernel is the sink ----

def reader(t, size=100000, wait=5000, **how):
    """A connection with a reader who waits for that much: (c, s, SinkAvail)."""
    t.sysctl('zcopy_wait', int(wait * FACTOR))
    c, s = t.up(t.peer.hello(t.host, max_adverts=4))
    pipelined(c)
    t.heard(c, s)
    time.sleep(0.1 * FACTOR)
    t.remote.read_meanwhile(s, size, *how.values())
    asked = wants(c, sdp.SINK_AVAIL, size)
    assert asked.non_discards == 0
    return c, s, asked


def has_read(t, s, data):
    got = bytes.fromhex(t.remote.has_read(s))
    assert got == data, f'{len(got)} bytes read, not the {len(data)} that were sent'


@case(('all of it', 100000, 256), ('less', 70000, 0), ipv=(4, 6), accept=1)
def asks(t, size, flags):
    """A reader waits with a large buffer: it is written, and he has it."""
    before = t.remote.counters()
    c, s, asked = reader(t, flags=flags)
    c.qp.write(asked.va, asked.rkey, pattern(size, 1)[:30000])
    c.qp.write(asked.va + 30000, asked.rkey, pattern(size, 1)[30000:])
    c.send(sdp.RDMA_WR_COMPL, size=size)
    has_read(t, s, pattern(size, 1))
    assert moved(t, before, 'asks', 'asks_cancelled', 'bytes_filled',
                 'bytes_received')[:3] == (1, 0, size)
    # Its key leads nowhere any more, and where it was nobody can guess.
    assert asked.va >> 32
    t.talk(c, s)
    must_be_refused(lambda: c.qp.write(asked.va, asked.rkey, b'late'), 'a write behind its end')
    t.counted_by_case = {'resets'}


@case(accept=1)
def asks_for_the_rest(t):
    """MSG_WAITALL: again for what is missing, if it is long enough."""
    c, s, asked = reader(t, 200000)
    data = pattern(200000, 1)
    c.qp.write(asked.va, asked.rkey, data[:100000])
    c.send(sdp.RDMA_WR_COMPL, size=100000)
    asked = wants(c, sdp.SINK_AVAIL, 100000)
    c.qp.write(asked.va, asked.rkey, data[100000:198000])
    c.send(sdp.RDMA_WR_COMPL, size=98000)
    t.quiet(c)
    c.send_data(data[198000:])
    has_read(t, s, data)
    t.kernel_closes(c, s)


@case(accept=1)
def data_comes_instead(t):
    """It is void then, on both sides; where that happens it is asked less."""
    c, s, asked = reader(t, flags=0)
    for i in range(12):
        c.send_data(pattern(100 + i, i))
        has_read(t, s, pattern(100 + i, i))
        t.remote.read_meanwhile(s, 100000, 0)
        time.sleep(0.1 * FACTOR)
    c.send_data(b'the end')
    has_read(t, s, b'the end')
    c.drain()
    # After the 1st, 1 goes by, then 3, then 7.
    assert c.heard_mids.count(sdp.SINK_AVAIL) == 3, c.heard_mids
    assert sdp.SINK_AVAIL_CANCEL not in c.heard_mids
    must_be_refused(lambda: c.qp.write(asked.va, asked.rkey, b'late'), 'a write behind its end')
    t.counted_by_case = {'resets'}


@case(accept=1, src_avail=1)
def src_avail_crosses(t):
    """It is dropped without a word; the source takes it back."""
    c, s, asked = reader(t)
    c.offer(pattern(100000, 9))
    time.sleep(0.2 * FACTOR)
    assert not c.qp.served
    c.qp.write(asked.va, asked.rkey, pattern(100000, 1))
    c.send(sdp.RDMA_WR_COMPL, size=100000)
    has_read(t, s, pattern(100000, 1))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('and gets an answer', True), ('that crosses a write', False), accept=1)
def asks_back(t, drop):
    """Nothing comes for zcopy_wait: the buffer is asked back, once in a call; the
    reader waits on."""
    c, s, asked = reader(t, 100000, 100, flags=0)
    c.expect(sdp.SINK_AVAIL_CANCEL)
    if drop:
        c.send(sdp.SINK_CANCEL_ACK)
        t.quiet(c)
        c.send_data(pattern(5000, 1))
    else:
        c.qp.write(asked.va, asked.rkey, pattern(5000, 1))
        c.send(sdp.RDMA_WR_COMPL, size=5000)
    has_read(t, s, pattern(5000, 1))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('and it is written', True), ('and data comes instead', False), accept=1)
def reader_gives_up(t, write):
    """SO_RCVTIMEO: he does not leave before the peer has given it back."""
    c, s, asked = reader(t, 100000, 5000, flags=0, timeout=0.2 * FACTOR)
    c.expect(sdp.SINK_AVAIL_CANCEL)
    if write:
        c.qp.write(asked.va, asked.rkey, pattern(3000, 1))
        c.send(sdp.RDMA_WR_COMPL, size=3000)
    else:
        c.send_data(pattern(3000, 1))
    has_read(t, s, pattern(3000, 1))
    t.kernel_closes(c, s)


@case(accept=1, aborts=1)
def cancel_gets_no_answer(t):
    """Not when it was asked back, nor when the reader's time is over: he leaves in
    bounded time, and with him the peer's right to write."""
    c, s, asked = reader(t, 100000, 100, flags=0, timeout=0.5 * FACTOR)
    c.expect(sdp.SINK_AVAIL_CANCEL)
    c.qp.write(asked.va, asked.rkey, b'still allowed')
    got = bytes.fromhex(t.remote.has_read(s, 60 * FACTOR)).decode()
    assert got == os.strerror(errno.ETIMEDOUT), got
    t.close(s)


@case(accept=1)
def end_while_asked(t):
    """DisConn gives it back."""
    c, s, asked = reader(t)
    c.send(sdp.DISCONN)
    has_read(t, s, b'')
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


@case(accept=1)
def end_before_he_asked(t):
    """He waits for a credit to tell of his buffer, and DisConn brings it: nobody
    would write there, nor answer when it is asked back."""
    t.sysctl('zcopy_wait', int(5000 * FACTOR))
    c, s = t.up(t.peer.hello(t.host, max_adverts=4))
    pipelined(c)
    t.heard(c, s)
    c.bufs, room = 1, c.bufs
    c.send(sdp.DATA)
    t.heard(c, s)
    t.remote.read_meanwhile(s, 100000)
    time.sleep(0.1 * FACTOR)
    t.quiet(c)
    c.bufs = room
    c.send(sdp.DISCONN)
    has_read(t, s, b'')
    assert sdp.SINK_AVAIL not in c.heard_mids
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


@case(('more than there is room for', 100001), accept=1, **BROKEN)
def written_too_much(t, size):
    c, s, asked = reader(t)
    c.send(sdp.RDMA_WR_COMPL, size=size)
    got = bytes.fromhex(t.remote.has_read(s)).decode()
    assert got == os.strerror(errno.ECONNRESET), got
    c.expect_dreq()
    t.close(s)


@case()
def writes_beside_it(t):
    """A peer may write where the reader wants it, and nowhere else."""
    for attempt in range(4):
        c, s, asked = reader(t, 66000)
        what = [lambda: c.qp.write(asked.va - 1, asked.rkey, b'xx'),
                lambda: c.qp.write(asked.va + 65999, asked.rkey, b'xx'),
                lambda: c.qp.write(asked.va, asked.rkey ^ 1, b'xx'),
                lambda: c.qp.read(asked.va, asked.rkey, 100)][attempt]
        must_be_refused(what, f'attempt {attempt}')
        got = bytes.fromhex(t.remote.has_read(s)).decode()
        assert got == os.strerror(errno.ECONNRESET), got
        t.close(s)
    t.counted_by_case = {'accept', 'resets', 'aborts'}


@case(('never', 0, 100000, 4), ('not for little', 1, 60000, 4),
      ('nor one who takes one advert', 1, 100000, 1), accept=1)
def does_not_ask(t, on, size, adverts):
    """Where it is switched off, for who wants little, of who may not know it."""
    t.sysctl('zcopy_write', on)
    c, s = t.up(t.peer.hello(t.host, max_adverts=adverts))
    pipelined(c)
    t.heard(c, s)
    time.sleep(0.1 * FACTOR)
    t.remote.read_meanwhile(s, size, 0)
    t.quiet(c)
    c.send_data(pattern(100, 1))
    has_read(t, s, pattern(100, 1))
    t.kernel_closes(c, s)
