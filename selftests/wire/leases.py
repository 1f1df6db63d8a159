# SPDX-License-Identifier: GPL-2.0
"""Cases of memory that stays lent when the call has returned; imported by wire.py.

The kernel's user sends with MSG_ZEROCOPY and does not wait; the peer reads what
is offered, or does not, or says where it wants it.
"""
import errno

import sdp_decode as sdp
from adverts import INLINE, PIECE, SIZE, moved, peer_that_takes, reads_pipelined, wants
from harness import case
from roce import FACTOR, must_be_refused
from sockets import pattern


def lends(t, s, size, seed):
    got = t.remote.lend(s, size, seed)
    assert got == size, f'{got} of {size}'


def told(t, s, first, last, copied):
    """Of these calls, in one message or several."""
    while first <= last:
        got = t.remote.told(s)
        assert got and got[0] == first and copied in (None, got[2]), \
            f'{got}, not {first} to {last}, copied: {copied}'
        first = got[1] + 1


def comes(c, want):
    """So many bytes by copy, in messages of whatever length."""
    got = b''
    while len(got) < len(want):
        got += c.expect(sdp.DATA).payload
        if c.credits() > 2:
            c.send(sdp.DATA)
    assert got == want, f'{len(got)} bytes, not those of {len(want)}'


def lessor(t, wait=5000, **hello):
    """A connection whose kernel source is in pipelined mode, one call lent."""
    c, s = peer_that_takes(t, wait, **hello)
    reads_pipelined(t, c, s)
    lends(t, s, PIECE, 1)
    wants(c, sdp.MODE_CHANGE)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, PIECE), 0) == pattern(PIECE, 1)
    told(t, s, 0, 0, False)
    return c, s


def two_out(t, part):
    """Three calls lent, two of them offered and so much of the first read: and the
    first offer."""
    c, s = lessor(t, max_adverts=2)
    for seed in (2, 3, 4):
        lends(t, s, 70000, seed)
    first = wants(c, sdp.SRC_AVAIL, 70000)
    wants(c, sdp.SRC_AVAIL, 70000)
    if part:
        assert c.qp.read(first.va, first.rkey, part) == pattern(part, 2)
        c.send(sdp.RDMA_RD_COMPL, size=part)
    return c, s, first


@case(ipv=(4, 6), accept=1)
def leases(t):
    """Each call returns at once; what it sent is offered in turn, with what was
    copied between; its user is told when it was read."""
    c, s = peer_that_takes(t)
    before = t.remote.counters()
    lends(t, s, PIECE, 3)
    assert t.remote.told(s, 0.1 * FACTOR) is None
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, PIECE), INLINE) == pattern(PIECE, 3)
    told(t, s, 0, 0, False)
    lends(t, s, 70000, 4)
    t.sent(s, 100, 5)
    lends(t, s, 65536, 6)
    wants(c, sdp.MODE_CHANGE)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, 70000), 0) == pattern(70000, 4)
    c.expect_data(pattern(100, 5))
    offer = wants(c, sdp.SRC_AVAIL, 65536)
    told(t, s, 1, 1, False)
    assert t.remote.info(s)['outq'] >= 65536
    assert c.take_offer(offer, 0) == pattern(65536, 6)
    told(t, s, 2, 2, False)
    assert moved(t, before, 'bytes_lent') == (PIECE + 70000 + 65536,)
    # What is copied is told of after what was lent before it.
    lends(t, s, 65536, 7)
    t.remote.lend(s, 1000, 8)
    assert t.remote.told(s, 0.1 * FACTOR) is None
    assert c.take_offer(wants(c, sdp.SRC_AVAIL), 0) == pattern(65536, 7)
    c.expect_data(pattern(1000, 8))
    told(t, s, 3, 4, None)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('at once', 0), ('after a part', 10000), accept=1)
def lease_refused(t, part):
    """SendSm: the rest comes by copy, before what is queued behind; that is offered
    as if nothing had been."""
    before = t.remote.counters()
    c, s, first = two_out(t, part)
    t.sent(s, 100, 5)
    t.quiet(c)
    c.send(sdp.SEND_SM)
    comes(c, (pattern(70000, 2) + pattern(70000, 3))[part:])
    # In time: a notification that nobody has fetched swallows those behind it.
    told(t, s, 1, 2, True)
    assert moved(t, before, 'copied_refused', 'copied_late', 'copied_habit') == (2, 0, 0)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, 70000), 0) == pattern(70000, 4)
    c.expect_data(pattern(100, 5))
    told(t, s, 3, 3, False)
    # The keys lead nowhere any more.
    must_be_refused(lambda: c.qp.read(first.va + 20000, first.rkey, 100), 'a late read')
    t.counted_by_case = {'resets'}


@case(accept=1)
def lease_written(t):
    """The peer says where it wants it: written there if it fits, or copied."""
    c, s = lessor(t)
    before = t.remote.counters()
    room = c.ask(SIZE, 0)
    t.heard(c, s)
    lends(t, s, 70000, 2)
    msg = c.expect(sdp.RDMA_WR_COMPL)
    assert msg.size == 70000, msg
    assert bytes(room[:70000]) == pattern(70000, 2) and not any(room[70000:])
    told(t, s, 1, 1, False)
    room = c.ask(70000, 0)
    t.heard(c, s)
    lends(t, s, 70001, 3)
    comes(c, pattern(70001, 3))
    told(t, s, 2, 2, True)
    assert not any(room)
    assert moved(t, before, 'rdma_writes', 'bytes_written') == (1, 70000)
    # Payload has killed the SinkAvail: the next is offered.
    lends(t, s, 70000, 4)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, 70000), 0) == pattern(70000, 4)
    told(t, s, 3, 3, False)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('at once', 0), ('after a part', 10000), accept=1)
def lease_crossed(t, part):
    """A valid SinkAvail takes what is offered back (4.5): it is copied, and what is
    queued behind it is offered."""
    c, s, _ = two_out(t, part)
    room = c.ask(SIZE, 0)
    comes(c, (pattern(70000, 2) + pattern(70000, 3))[part:])
    assert not any(room)
    told(t, s, 1, 2, True)
    assert c.take_offer(wants(c, sdp.SRC_AVAIL, 70000), 0) == pattern(70000, 4)
    told(t, s, 3, 3, False)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def lease_not_read(t):
    """A peer that does nothing: after zcopy_wait the kernel takes it back; what
    waited behind it is not kept either."""
    before = t.remote.counters()
    c, s = lessor(t, 1000, max_adverts=2, bufs=8)
    c.bufs = 8
    for seed in (2, 3, 4):
        lends(t, s, 70000, seed)
    wants(c, sdp.SRC_AVAIL, 70000)
    wants(c, sdp.SRC_AVAIL, 70000)
    wants(c, sdp.SRC_AVAIL_CANCEL)
    c.send(sdp.SEND_SM)
    # There are no credits for all of it, so the third's turn does not come.
    told(t, s, 1, 3, True)
    assert moved(t, before, 'copied_refused', 'copied_late', 'copied_habit') == (0, 3, 0)
    comes(c, pattern(70000, 2) + pattern(70000, 3) + pattern(70000, 4))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('', True), ('nor let through', False), accept=1, aborts=1)
def lease_cancel_is_not_answered(t, may):
    """Pages are not held for ever for a peer that does not say what it does, or lets
    nothing through by which they could be asked back."""
    c, s = lessor(t)
    t.sysctl('zcopy_wait', int(1000 * FACTOR))
    lends(t, s, 70000, 2)
    wants(c, sdp.SRC_AVAIL, 70000)
    if may:
        wants(c, sdp.SRC_AVAIL_CANCEL)
    else:
        c.bufs = 1
        c.send(sdp.DATA)
    got = t.remote.told(s, 60 * FACTOR)
    assert got and got[:2] == [1, 1], got
    assert t.remote.error(s) == errno.ETIMEDOUT
    assert (sdp.SRC_AVAIL_CANCEL in c.heard_mids) == may
    t.close(s)


@case(accept=1, aborts=1)
def lease_is_not_had_back(t):
    """Nor for one that reads all of it, and has no buffer for what is before the request
    to our device that ends its key."""
    t.rnr_lasts(20 + 2 * FACTOR)
    c, s = lessor(t)
    t.sysctl('zcopy_wait', int(1000 * FACTOR))
    lends(t, s, 70000, 2)
    offer = wants(c, sdp.SRC_AVAIL, 70000)
    c.qp.posts = 0
    c.send(sdp.CH_RCV_BUF, size=65536)
    c.port.wait('the answer is turned away', lambda: c.qp.turned_away)
    assert c.take_offer(offer, 0) == pattern(70000, 2)
    assert t.remote.told(s, 0.3 * FACTOR) is None
    got = t.remote.told(s, 60 * FACTOR)
    assert got and got[:2] == [1, 1], got
    assert t.remote.error(s) == errno.ETIMEDOUT
    t.close(s)


@case(('read', True), ('refused', False), accept=1)
def lease_then_close(t, read):
    """What was sent before close() comes before the DisConn."""
    c, s = lessor(t)
    lends(t, s, 70000, 2)
    offer = wants(c, sdp.SRC_AVAIL, 70000)
    t.close(s)
    t.quiet(c)
    if read:
        assert c.take_offer(offer, 0) == pattern(70000, 2)
    else:
        c.send(sdp.SEND_SM)
        comes(c, pattern(70000, 2))
    c.expect(sdp.DISCONN)
    c.send(sdp.DISCONN)
    c.expect_dreq()
