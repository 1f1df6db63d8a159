# SPDX-License-Identifier: GPL-2.0
"""Cases of zero copy: SrcAvail read by RDMA, both ways; imported by wire.py.

The peer's memory is Python's, and it sees each RDMA read of the kernel; what the
kernel offers it reads by RDMA, and tries to read beside it.
"""
import errno
import socket
import threading
import time

import peer as wire
import sdp_decode as sdp
from harness import BROKEN, FULL, case, until
from roce import FACTOR, must_be_refused
from sockets import pattern

MANY = 8                        # adverts that the kernel lets a peer have out
INLINE = 64                     # bytes that it puts into a combined SrcAvail
SIZE = 300000                   # of what is offered, two pieces to the kernel
PIECE = SIZE // 2 // 4096 * 4096 + 4096
OF = 32784                      # buffer size of a peer that takes one SrcAvail


def pipelined(c):
    c.send(sdp.MODE_CHANGE, mode=0x20)


def moved(t, before, *names):
    after = t.remote.counters()
    return tuple(after[n] - before[n] for n in names)


def small_rcvbuf(t, c, s, size):
    """SO_RCVBUF, which is in force from the next call on."""
    t.remote.option(s, 1, 8, size)
    c.send_data(b'x')
    t.reads(s, b'x')


def receives(c, want):
    """So many bytes by copy, with the credits that they take."""
    step = 2 * FULL
    for at in range(0, len(want), step):
        c.expect_data(want[at:at + step])
        # The other side may be slower than it says that it has buffers.
        if c.credits() > 1:
            c.send(sdp.DATA)


# ---- the kernel is the sink ----

@case(('64 of 5000', 64, 5000), ('1 of 40000', 1, 40000), ('all but 1', FULL - 17, FULL - 16),
      ('300000', 64, 300000), ipv=(4, 6), accept=1, src_avail=1)
def reads_combined(t, inlined, size):
    """Inline bytes first, then what was read; told in one message that asks for
    pipelined mode."""
    c, s = t.up()
    c.send_data(pattern(500, 1))
    data = pattern(size, 2)
    c.offer(data, inlined)
    told = c.expect_read(size - inlined)
    assert told.flags & sdp.REQ_PIPE, told
    t.reads(s, pattern(500, 1) + data)
    # The inline bytes are not read again, and nothing twice.
    assert c.qp.served[0][1] == inlined
    assert sum(r[2] for r in c.qp.served) == size - inlined
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(ipv=(4, 6), accept=1, src_avail=MANY)
def reads_pipelined(t):
    """As many as we announced, any length, then Data: all in order."""
    c, s = t.up()
    assert c.ack.max_adverts == MANY
    pipelined(c)
    sizes = [1, 70000, 4096, 12345, 262144, 3, 65536, 50000]
    c.qp.stall = True
    for i, size in enumerate(sizes):
        assert not c.await_credits()
        c.offer(pattern(size, i))
    until('the kernel reads', lambda: c.qp.served)
    c.qp.serve_stalled()
    for size in sizes:
        c.expect_read(size)
    c.send_data(pattern(1000, 99))
    for i, size in enumerate(sizes):
        t.reads(s, pattern(size, i))
    t.reads(s, pattern(1000, 99))
    assert t.remote.info(s)['mode_recv'] == 2
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1)
def reads_as_the_reader_does(t):
    """What is not read stays with the peer: the kernel takes no more than the
    socket's receive buffer."""
    c, s = t.up()
    small_rcvbuf(t, c, s, 50000)
    size = 2000000
    data = pattern(size)
    c.offer(data, 64)
    until('the kernel reads', lambda: sum(r[2] for r in c.qp.served) >= 65536)
    time.sleep(0.5 * FACTOR)
    assert sum(r[2] for r in c.qp.served) <= 200000
    t.reads(s, data)
    c.expect_read(size - 64)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def refuses_without_depth(t):
    """A peer that answers no RDMA reads is not asked to."""
    c, s = t.up(responder_resources=0)
    data = pattern(5000)
    c.offer(data, 64)
    c.expect(sdp.SEND_SM)
    c.send_data(data[64:])
    t.reads(s, data)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def cancel_while_reading(t):
    """What is being read may be read to the end; then SendSm for the rest.  The
    cancel is not acknowledged before (3.4)."""
    t.sysctl('ack_timeout', int(500 * FACTOR))  # that a read may take to be answered
    c, s = t.up()
    small_rcvbuf(t, c, s, 50000)
    data = pattern(1000000)
    c.qp.stall = True
    c.offer(data, 64)
    until('the kernel reads', lambda: c.qp.stalled)
    time.sleep(0.2 * FACTOR)
    cancel = c.send(sdp.SRC_AVAIL_CANCEL)
    time.sleep(0.2 * FACTOR)
    for _ in range(6):
        while c.credits() < 2:
            c.recv()
        c.send(sdp.DATA)
    c.drain()
    assert sdp.SEND_SM not in c.heard_mids and c.their_ack < cancel.mseq
    asked = sum(r[2] for r in c.qp.served)
    c.qp.serve_stalled()
    told = c.expect(sdp.RDMA_RD_COMPL)
    assert told.size == asked and told.ack == cancel.mseq - 1, told
    # Bufs counts from what is acknowledged: no credit is lost.
    assert c.credits() >= 1, c.credits()
    assert c.expect(sdp.SEND_SM).ack >= cancel.mseq
    assert sum(r[2] for r in c.qp.served) == asked
    t.reads(s, data[:64 + asked])
    c.send_data(data[64 + asked:64 + asked + 50000])
    t.reads(s, data[64 + asked:64 + asked + 50000])
    t.kernel_closes(c, s)


@case(accept=1, src_avail=2, sendsm=1)
def cancel_of_what_nobody_reads(t):
    """The buffer is full, the second advert not begun: SendSm for it."""
    c, s = t.up()
    small_rcvbuf(t, c, s, 4096)
    pipelined(c)
    first, second = pattern(100000, 1), pattern(5000, 2)
    c.offer(first)
    c.offer(second)
    until('the kernel reads', lambda: c.qp.served)
    time.sleep(0.2 * FACTOR)
    cancel = c.send(sdp.SRC_AVAIL_CANCEL)
    asked = sum(r[2] for r in c.qp.served)
    assert 0 < asked < 100000
    c.expect_read(asked)
    assert c.expect(sdp.SEND_SM).ack == cancel.mseq
    t.reads(s, first[:asked])
    rest = (first + second)[asked:]
    for at in range(0, len(rest), FULL):
        c.send_data(rest[at:at + FULL])
        t.reads(s, rest[at:at + FULL])
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1)
def cancel_crosses_the_end(t):
    """All was read: RdmaRdCompl is the answer, and no SendSm."""
    c, s = t.up()
    c.qp.stall = True
    data = pattern(5000)
    c.offer(data, 64)
    until('the kernel reads', lambda: c.qp.stalled)
    c.send(sdp.SRC_AVAIL_CANCEL)
    c.qp.serve_stalled()
    c.expect_read(5000 - 64)
    t.quiet(c)
    t.reads(s, data)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('no such key', {'rkey': 1, 'va': 0}), accept=1, src_avail=1, resets=1)
def offers_what_it_has_not(t, field):
    """The peer's device refuses: that connection is lost, no byte is invented."""
    c, s = t.up()
    c.send(sdp.SRC_AVAIL, pattern(64), size=5000, **field)
    t.reads(s, pattern(64))
    assert t.remote.ended(s) == errno.ECONNRESET
    t.close(s)


@case(accept=1, src_avail=1, resets=1)
def read_is_not_answered(t):
    """The device gives up after ack_timeout and its repetitions."""
    t.sysctl('ack_timeout', 8)
    t.sysctl('ack_retries', 1)
    c, s = t.up()
    c.qp.stall = True
    c.offer(pattern(5000), 64)
    t.reads(s, pattern(64))
    assert t.remote.ended(s, 20 * FACTOR) == errno.ETIMEDOUT
    t.close(s)


@case(accept=1, src_avail=1, aborts=1)
def closes_with_an_unread_advert(t):
    """Unread data, as any other: the connection is reset."""
    c, s = t.up()
    c.qp.stall = True
    c.offer(pattern(5000), 64)
    t.reads(s, pattern(64))
    until('the kernel reads', lambda: c.qp.stalled)
    t.close(s)
    c.expect_dreq()


@case(accept=1, src_avail=1)
def end_behind_an_advert(t):
    """DisConn behind what was read: all of it, then the end."""
    c, s = t.up()
    data = pattern(SIZE)
    c.offer(data, 64)
    c.expect_read(SIZE - 64)
    c.send(sdp.DISCONN)
    t.reads(s, data)
    assert t.remote.ended(s) == 'eof'
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


# ---- the kernel is the source ----

def wants(c, mid, size=None):
    """The next message, a SrcAvail of so many bytes perhaps."""
    msg = c.expect(mid)
    assert size is None or msg.size == size, f'{msg}, not {size}'
    return msg


def peer_that_takes(t, wait=5000, **hello):
    """A connection to a peer that takes what is offered; ms that it may take."""
    t.sysctl('zcopy_wait', int(wait * FACTOR))
    return t.up(t.peer.hello(t.host, **{'max_adverts': 4, **hello}))


def reads_pipelined(t, c, s):
    """The peer asks for several SrcAvails at a time; the kernel knows."""
    c.send(sdp.DATA, flags=sdp.REQ_PIPE)
    t.heard(c, s)


@case(ipv=(4, 6), accept=1)
def offers(t):
    """A long blocking send: first combined, and as the peer asks for it, several
    at a time without inline bytes; send() returns when all is read."""
    c, s = peer_that_takes(t)
    before = t.remote.counters()
    t.remote.send_meanwhile(s, SIZE, 3)
    first = wants(c, sdp.SRC_AVAIL, PIECE)
    assert not t.remote.sent_meanwhile(s, 0.1 * FACTOR)
    got = c.take_offer(first, INLINE)
    second = wants(c, sdp.SRC_AVAIL, SIZE - PIECE)
    got += c.take_offer(second, INLINE)
    assert t.remote.sent_meanwhile(s) == SIZE
    assert got == pattern(SIZE, 3)
    # Where it is nobody can guess who was not told, nor learn where it was.
    assert first.va >> 12 != second.va >> 12 and first.va >> 32 and second.va >> 32
    t.remote.send_meanwhile(s, 6 * PIECE, 4, None, 6)
    assert wants(c, sdp.MODE_CHANGE).mode == 0x20
    out = [wants(c, sdp.SRC_AVAIL) for _ in range(4)]
    t.quiet(c)                                  # as many as we announced
    got = b''
    while out:
        got += c.take_offer(out.pop(0), 0)
        if len(got) + sum(o.size for o in out) < 6 * PIECE:
            out.append(wants(c, sdp.SRC_AVAIL))
    assert t.remote.sent_meanwhile(s) == 6 * PIECE
    assert got == pattern(6 * PIECE, 4)
    assert t.remote.info(s)['mode_send'] == 2
    offers, lent = moved(t, before, 'offers', 'bytes_lent')
    assert offers >= 6 and lent == SIZE + 6 * PIECE
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('one advert, buffers of 16384', 1, wire.RCVSZ), ('one advert, 32768', 1, 32768),
      accept=1)
def offers_nothing(t, adverts, rcvsz):
    """Peers that may take a SrcAvail for data (section 7)."""
    c, s = t.up(t.peer.hello(t.host, max_adverts=adverts, rcvsz=rcvsz, des_rcvsz=rcvsz))
    t.remote.send_meanwhile(s, SIZE, 3)
    c.expect_data(pattern(SIZE, 3))
    assert t.remote.sent_meanwhile(s) == SIZE
    t.kernel_closes(c, s)


@case(accept=1)
def offers_one_at_a_time(t):
    """A peer that takes them, but one: combined mode for ever."""
    c, s = peer_that_takes(t, max_adverts=1, rcvsz=OF, des_rcvsz=OF)
    t.remote.send_meanwhile(s, 3 * PIECE, 3)
    got = b''
    while len(got) < 3 * PIECE:
        got += c.take_offer(wants(c, sdp.SRC_AVAIL), INLINE)
    assert t.remote.sent_meanwhile(s) == 3 * PIECE and got == pattern(3 * PIECE, 3)
    t.kernel_closes(c, s)


@case(('below the threshold', 65535, None), ('never', SIZE, 0), accept=1)
def copies(t, size, thresh):
    """Nothing is offered."""
    if thresh is not None:
        t.sysctl('zcopy_thresh', thresh)
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, size, 3)
    c.expect_data(pattern(size, 3))
    assert t.remote.sent_meanwhile(s) == size
    t.kernel_closes(c, s)


@case(('at once', 0), ('after a part', 10000), accept=1)
def refused(t, part):
    """SendSm: what was not read comes by copy, once, and in order."""
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, SIZE, 3)
    offer = wants(c, sdp.SRC_AVAIL, PIECE)
    got = offer.payload
    if part:
        got += c.qp.read(offer.va + INLINE, offer.rkey, part)
        c.send(sdp.RDMA_RD_COMPL, size=part)
    c.send(sdp.SEND_SM)
    c.expect_data(pattern(SIZE, 3)[len(got):])
    assert t.remote.sent_meanwhile(s) == SIZE and got == pattern(SIZE, 3)[:len(got)]
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def refused_again_and_again(t):
    """A peer that refuses is asked less and less; one that reads, each time."""
    c, s = peer_that_takes(t)
    offered = []
    for i in range(13):
        t.remote.send_meanwhile(s, PIECE, i)
        first = c.recv()
        while first.mid != sdp.SRC_AVAIL and not first.payload:
            first = c.recv()
        offered.append(first.mid == sdp.SRC_AVAIL)
        if offered[-1]:
            c.send(sdp.SEND_SM)
        c.expect_data(pattern(PIECE, i)[len(first.payload):])
        assert first.payload == pattern(PIECE, i)[:len(first.payload)]
        assert t.remote.sent_meanwhile(s) == PIECE
        c.send(sdp.DATA)
    # One goes by after the first, three after the second, seven after that.
    assert [i for i, o in enumerate(offered) if o] == [0, 2, 6], offered
    t.kernel_closes(c, s)


@case(accept=1)
def refused_all(t):
    """One SendSm ends all that is out."""
    c, s = peer_that_takes(t)
    reads_pipelined(t, c, s)
    t.remote.send_meanwhile(s, 8 * PIECE, 3, None, 8)
    wants(c, sdp.MODE_CHANGE)
    out = [wants(c, sdp.SRC_AVAIL) for _ in range(4)]
    got = c.take_offer(out[0], 0)
    wants(c, sdp.SRC_AVAIL)                     # in its place
    c.send(sdp.SEND_SM)
    receives(c, pattern(8 * PIECE, 3)[len(got):])
    assert t.remote.sent_meanwhile(s) == 8 * PIECE
    t.kernel_closes(c, s)


@case(accept=1)
def not_read(t):
    """A peer that does nothing: after zcopy_wait the kernel takes it back, and
    sends it by copy as it would have without."""
    c, s = peer_that_takes(t, 100)
    t.remote.send_meanwhile(s, SIZE, 3)
    offer = wants(c, sdp.SRC_AVAIL, PIECE)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    assert t.remote.sent_meanwhile(s, 0.3 * FACTOR) is None
    c.send(sdp.SEND_SM)
    c.expect_data(pattern(SIZE, 3)[INLINE:])
    assert t.remote.sent_meanwhile(s) == SIZE
    # And the key leads nowhere any more.
    must_be_refused(lambda: c.qp.read(offer.va + INLINE, offer.rkey, 100), 'a late read')
    t.counted_by_case = {'resets'}


@case(accept=1, clock=True)
def not_read_under_traffic(t):
    """What the peer sends meanwhile, and the kernel says to that, is no progress."""
    c, s = peer_that_takes(t, 500)
    t.remote.send_meanwhile(s, SIZE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    noise = 0
    end = time.monotonic() + 6 * FACTOR
    while sdp.SRC_AVAIL_CANCEL not in c.heard_mids:
        assert time.monotonic() < end, 'it is not taken back'
        c.drain()
        if c.credits() >= 3:
            c.send(sdp.DATA, b'noise')
            noise += 1
        time.sleep(0.05 * FACTOR)
    c.send(sdp.SEND_SM)
    c.expect_data(pattern(SIZE, 3)[INLINE:])
    assert t.remote.sent_meanwhile(s) == SIZE
    t.reads(s, noise * b'noise')
    t.kernel_closes(c, s)


@case(accept=1)
def cancel_crosses_the_read(t):
    """It is read when the cancel comes: RdmaRdCompl answers it."""
    c, s = peer_that_takes(t, 100)
    t.remote.send_meanwhile(s, PIECE, 3)
    offer = wants(c, sdp.SRC_AVAIL, PIECE)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    assert c.take_offer(offer, INLINE) == pattern(PIECE, 3)
    assert t.remote.sent_meanwhile(s) == PIECE
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1, aborts=1)
def cancel_is_not_answered(t):
    """The caller leaves in bounded time, and with him the peer's right to read."""
    c, s = peer_that_takes(t, 100)
    t.remote.send_meanwhile(s, SIZE, 3)
    offer = wants(c, sdp.SRC_AVAIL, PIECE)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    assert c.qp.read(offer.va, offer.rkey, 100) == pattern(100, 3)
    assert t.remote.sent_meanwhile(s, 60 * FACTOR) == INLINE
    assert t.remote.error(s) == errno.ETIMEDOUT
    t.close(s)


KILLED = 5                      # s that who is being killed waits for such an answer


@case(('before the cancel', 5000), ('behind it', 100), accept=1, aborts=1)
def sender_is_killed(t, wait):
    """He leaves much sooner than he who is not."""
    c, s = peer_that_takes(t, wait)
    pid = t.remote.send_by_child(s, SIZE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    if wait == 100:
        wants(c, sdp.SRC_AVAIL_CANCEL)
    took = t.remote.kill(pid, 60 * FACTOR)
    c.drain()
    assert c.heard_mids.count(sdp.SRC_AVAIL_CANCEL) == 1, c.heard_mids
    assert took and KILLED - 1 < took < KILLED + 3 * FACTOR, took
    assert t.remote.error(s) == errno.ETIMEDOUT
    c.expect_dreq()
    t.close(s)


@case(accept=1, aborts=1)
def sender_is_killed_and_told_of_bytes(t):
    """One after the other does not keep him: it is the cancel that has no answer."""
    c, s = peer_that_takes(t, 100)
    pid = t.remote.send_by_child(s, SIZE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    over = threading.Event()

    def tell():
        while not over.wait(1):
            c.send(sdp.RDMA_RD_COMPL, size=1)

    teller = threading.Thread(target=tell)
    teller.start()
    try:
        took = t.remote.kill(pid, 30 * FACTOR)
    finally:
        over.set()
        teller.join()
    assert took and took < KILLED + 3 * FACTOR, took
    c.expect_dreq()
    t.close(s)


@case(('for ever', None), ('SO_SNDTIMEO', 0.1), accept=1)
def waits_for_room_after_a_cancel(t, timeout):
    """Taken back, the bytes wait for credits as they would in TCP for a window."""
    c, s = peer_that_takes(t, 20, bufs=4)
    c.bufs = 4
    # Or all of it might be taken while the peer does not read.
    t.remote.option(s, socket.SOL_SOCKET, socket.SO_SNDBUF, 131072)
    t.remote.send_meanwhile(s, 8 * 262144, 3, timeout)
    wants(c, sdp.SRC_AVAIL)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    c.send(sdp.SEND_SM)
    time.sleep(0.5 * FACTOR)
    sent = t.remote.sent_meanwhile(s, 0)
    if timeout:
        assert 0 < sent < 8 * 262144, sent
    else:
        assert sent is None, sent
        sent = 8 * 262144
    receives(c, pattern(8 * 262144, 3)[INLINE:sent])
    t.kernel_closes(c, s)


@case()
def keys_last_for_one_transfer(t):
    """A peer may read what is offered, while it is, and nothing beside it."""
    for attempt in range(5):
        c, s = peer_that_takes(t)
        t.remote.send_meanwhile(s, PIECE, 3)
        offer = wants(c, sdp.SRC_AVAIL, PIECE)
        if attempt == 4:
            c.take_offer(offer, INLINE)
            assert t.remote.sent_meanwhile(s) == PIECE
        what = [lambda: c.qp.read((offer.va - 1) % 2**64, offer.rkey, 100),
                lambda: c.qp.read(offer.va + PIECE - 50, offer.rkey, 51),
                lambda: c.qp.read(offer.va, offer.rkey ^ 1, 100),
                lambda: c.qp.write(offer.va, offer.rkey, b'overwritten'),
                lambda: c.qp.read(offer.va, offer.rkey, 100)][attempt]
        must_be_refused(what, f'attempt {attempt}')
        if attempt < 4:
            assert t.remote.sent_meanwhile(s) in (INLINE, -errno.ECONNRESET)
        t.close(s)
    t.counted_by_case = {'accept', 'resets', 'aborts'}


@case(('more than is out', SIZE), accept=1, **BROKEN)
def told_too_much(t, size):
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, SIZE, 3)
    wants(c, sdp.SRC_AVAIL, PIECE)
    c.send(sdp.RDMA_RD_COMPL, size=size)
    assert t.remote.sent_meanwhile(s) in (INLINE, -errno.ECONNRESET)
    t.close(s)


@case(accept=1)
def shutdown_while_lent(t):
    """The sender's other thread ends the stream: what was not read is not sent."""
    c, s = peer_that_takes(t)
    t.remote.send_meanwhile(s, SIZE, 3)
    offer = wants(c, sdp.SRC_AVAIL, PIECE)
    got = offer.payload + c.qp.read(offer.va + INLINE, offer.rkey, 1000)
    c.send(sdp.RDMA_RD_COMPL, size=1000)
    t.remote.shutdown(s)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    c.send(sdp.SEND_SM)
    wants(c, sdp.DISCONN)
    assert t.remote.sent_meanwhile(s) == len(got)
    assert got == pattern(SIZE, 3)[:len(got)]
    c.send(sdp.DISCONN)
    c.expect_dreq()
    t.close(s)
