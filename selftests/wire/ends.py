# SPDX-License-Identifier: GPL-2.0
"""Cases of Send-with-Invalidate: who has done with an advert has the other device
forget its key; imported by wire.py.
"""
import sdp_decode as sdp
from adverts import INLINE, PIECE, SIZE, moved, pipelined, reads_pipelined, receives, wants
from harness import BROKEN, case
from roce import FACTOR, must_be_refused
from sockets import pattern
from writes import has_read

INVALIDATE = 1                  # of the Hello's Cap, and of ours in the HelloAck


def able(t, cap=INVALIDATE, **hello):
    """A connection to a peer that says that it takes it."""
    t.sysctl('zcopy_wait', int(5000 * FACTOR))
    ipv = 6 if t.peer.port.v6 else 4
    return t.up(t.peer.hello(t.host, **{'max_adverts': 4, 'ipv_cap': ipv << 4 | cap, **hello}))


@case(('all at once', 100000), ('piece by piece', 2000000), ipv=(4, 6), accept=1, src_avail=2)
def ends_what_it_has_read(t, size):
    """The RdmaRdCompl that tells of the last byte, and no other."""
    c, s = able(t)
    assert c.ack.reserved1 == INVALIDATE
    for turn in range(2):
        offer = c.offer(pattern(size, turn), 64)
        t.reads(s, pattern(size, turn))
        left = size - 64
        while left:
            told = c.expect(sdp.RDMA_RD_COMPL)
            left -= told.size
            assert told.ends == (None if left else offer.rkey), told.ends
    assert len(c.qp.ended) == 2
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('is not able', 0, 1), ('is, and we are not', INVALIDATE, 0), accept=1, src_avail=1)
def ends_nothing(t, cap, ours):
    """Who did not say that he takes it is not sent it; nor where it is off."""
    t.sysctl('zcopy_invalidate', ours)
    c, s = able(t, cap)
    assert c.ack.reserved1 == ours
    c.offer(pattern(SIZE, 1), 64)
    t.reads(s, pattern(SIZE, 1))
    c.expect_read(SIZE - 64)
    assert not c.qp.ended
    t.kernel_closes(c, s)


@case(('all of it', SIZE), ('less', 200000), accept=1)
def ends_what_it_has_written(t, size):
    c, s = able(t)
    reads_pipelined(t, c, s)
    t.remote.send_meanwhile(s, PIECE, 1)
    wants(c, sdp.MODE_CHANGE)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL), 0) == pattern(PIECE, 1)
    assert t.remote.sent_meanwhile(s) == PIECE
    room = c.ask(SIZE, 0)
    t.heard(c, s)
    t.remote.send_meanwhile(s, size, 2)
    assert c.expect(sdp.RDMA_WR_COMPL).size == size
    assert t.remote.sent_meanwhile(s) == size
    assert room[:size] == pattern(size, 2)
    assert c.qp.ended == list(c.qp.asked)
    t.kernel_closes(c, s)


@case(ipv=(4, 6), accept=1)
def is_ended_by_who_has_read(t):
    """Its memory is the sender's at once; what is ended leads nowhere."""
    before = t.remote.counters()
    c, s = able(t)
    for turn in range(4):
        t.remote.send_meanwhile(s, PIECE, turn)
        if turn == 1:
            wants(c, sdp.MODE_CHANGE)
        offer = wants(c, sdp.SRC_AVAIL)
        # Not all of them: both ways go side by side.
        assert c.take_offer(offer, 0 if turn else INLINE, offer.rkey if turn else None) == \
            pattern(PIECE, turn)
        assert t.remote.sent_meanwhile(s) == PIECE
    assert moved(t, before, 'keys_ended', 'bytes_lent') == (3, 4 * PIECE)
    t.talk(c, s)
    must_be_refused(lambda: c.qp.read(offer.va, offer.rkey, 100), 'a read of what was ended')
    t.close(s)
    t.counted_by_case = {'resets', 'aborts'}


@case(accept=1)
def is_ended_by_who_has_written(t):
    before = t.remote.counters()
    c, s = able(t)
    pipelined(c)
    t.heard(c, s)
    for turn in range(2):
        t.remote.read_meanwhile(s, 100000, 256)
        asked = wants(c, sdp.SINK_AVAIL, 100000)
        c.qp.write(asked.va, asked.rkey, pattern(100000, turn))
        c.send(sdp.RDMA_WR_COMPL, size=100000, ends=asked.rkey)
        has_read(t, s, pattern(100000, turn))
    assert moved(t, before, 'keys_ended', 'bytes_filled') == (2, 200000)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def is_ended_too_soon(t):
    """By a message that says nothing of it: it is the peer's own loss."""
    c, s = able(t)
    t.remote.send_meanwhile(s, PIECE, 1)
    offer = wants(c, sdp.SRC_AVAIL)
    c.send(sdp.DATA, ends=offer.rkey)
    t.heard(c, s)
    assert not t.remote.sent_meanwhile(s, 0.1 * FACTOR)
    c.send(sdp.RDMA_RD_COMPL, size=PIECE - INLINE)
    assert t.remote.sent_meanwhile(s) == PIECE
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=2, **BROKEN)
def ends_what_is_lent_to_another(t):
    """Keys are the device's: it obeys.  Who does that has no connection any more."""
    c, s = able(t)
    other, of_other = able(t)
    t.remote.send_meanwhile(of_other, PIECE, 1)
    offer = wants(other, sdp.SRC_AVAIL)
    c.send(sdp.DATA, ends=offer.rkey)
    t.reset(c, s)
    # The other cannot read it any more; it is copied to who asks for that.
    other.send(sdp.SEND_SM)
    receives(other, pattern(PIECE, 1)[INLINE:])
    assert t.remote.sent_meanwhile(of_other) == PIECE
    t.kernel_closes(other, of_other)
