# SPDX-License-Identifier: GPL-2.0
"""Cases of credits, and of the size and number of receive buffers; imported by wire.py."""
import errno
import socket
import time

import peer as wire
import sdp_decode as sdp
from harness import BROKEN, FULL, case, until
from roce import FACTOR, LIMIT
from sockets import pattern

# ---- credits ----

@case(('0', 0), ('1', 1), ('2', 2), ipv=(4, 6), connect=1)
def starts_without_credits(t, bufs):
    """No data goes with fewer than 3 buffers (3.2); then it does."""
    c, s = t.down(bufs=bufs)
    t.sent(s, 1000)
    t.quiet(c)
    c.post(32)
    c.expect_data(pattern(1000))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(connect=1)
def withholds_credits(t):
    """The kernel uses all but two, waits as long as it takes, loses nothing."""
    c, s = t.down(bufs=6)
    t.sent(s, 10 * FULL)
    got = b''.join(c.expect(sdp.DATA).payload for _ in range(4))
    t.quiet(c, seconds=1)
    c.post(32)
    c.expect_data(pattern(10 * FULL)[len(got):])
    assert got == pattern(10 * FULL)[:len(got)]
    t.kernel_closes(c, s)


@case(connect=1)
def one_credit_at_a_time(t):
    c, s = t.down(bufs=3)
    t.sent(s, 6 * FULL)
    for i in range(6):
        m = c.expect(sdp.DATA)
        assert m.payload == pattern(6 * FULL)[i * FULL:(i + 1) * FULL]
        t.quiet(c, seconds=0.1)
        c.send(sdp.DATA)
    t.kernel_closes(c, s)


@case(connect=1)
def disconn_needs_two(t):
    """Control goes with 2 credits, and not with 1."""
    c, s = t.down(bufs=1)
    t.close(s)
    t.quiet(c)
    c.bufs = 2
    c.send(sdp.DATA)
    c.expect(sdp.DISCONN)
    c.send(sdp.DISCONN)
    c.expect_dreq()


@case(connect=1)
def last_credit_for_an_update(t):
    """With one credit left the kernel can still tell of its new buffers."""
    c, s = t.down(bufs=1)
    for i in range(c.their_bufs):
        c.send(sdp.DATA, pattern(10, i))
    t.reads(s, b''.join(pattern(10, i) for i in range(c.their_bufs)))
    m = c.recv()
    # The first of them is not read yet, or is: with three one more may come.
    assert m.mid == sdp.DATA and not m.payload and m.bufs >= 3
    t.quiet(c)
    c.post(32)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def updates_come_to_rest(t):
    """Two sides with three buffers or fewer (here nobody reads) do not answer
    each other's updates for ever."""
    t.sysctl('rcvbuf_count', 4)
    c, s = t.up(t.peer.hello(t.host, bufs=3))
    c.send(sdp.DATA, pattern(FULL))
    c.send(sdp.DATA, pattern(FULL))
    until('both arrive', lambda: t.remote.info(s)['inq'] == 2 * FULL)
    assert t.remote.info(s)['posted'] <= 3
    c.send(sdp.DATA)
    answers = 0
    end = time.monotonic() + 1
    while time.monotonic() < end:
        with c.port.changed:
            m = c._new()
        if m:
            answers += 1
            c.send(sdp.DATA)
        else:
            time.sleep(0.01)
    print(f'# {answers} updates answered')
    assert answers < 8, f'{answers} updates answered'
    t.reads(s, pattern(FULL) * 2)
    c.post(32)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def reader_does_not_read(t):
    """The credits stop us; when he reads again they come back."""
    c, s = t.up()
    sent = 0
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if c.credits() >= 3:
            c.send(sdp.DATA, pattern(sent + FULL)[sent:])
            sent += FULL
            continue
        try:
            c.recv(0.5 * FACTOR)
        except TimeoutError:
            break
    assert sent >= 4 * FULL, sent
    t.reads(s, pattern(sent))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def overruns_its_credits(t):
    """No buffer is posted for what we may not send: the device asks us to try
    again (RNR) until the reader makes room, and nothing is lost."""
    c, s = t.up()
    sent = 0
    while True:
        if c.credits() > 0:
            c.send(sdp.DATA, pattern(sent + FULL)[sent:])
            sent += FULL
            continue
        try:
            c.recv(0.5 * FACTOR)
        except TimeoutError:
            break
    c.taken()
    c.send(sdp.DATA, b'x')
    c.port.wait('RNR', lambda: c.qp.rnr > 2)
    t.quiet(c)
    assert t.remote.recv(s, sent) == pattern(sent).hex()
    t.reads(s, b'x')
    t.talk(c, s)
    t.kernel_closes(c, s)


# ---- more buffers promised than there are ----

LOT = 1000000                   # more than a sender may have waiting


def promises(t, bufs, posts):
    """A peer that says BUFS, and whose device turns away what is behind POSTS messages:
    RNR, which ours repeats for ever."""
    t.rnr_lasts(4 * FACTOR)
    c, s = t.up(t.peer.hello(t.host, bufs=bufs))
    c.qp.posts = posts
    return c, s


def turned_away(c, times=3):
    """It has been tried again meanwhile."""
    n = c.qp.turned_away + times
    c.port.wait('it is turned away', lambda: c.qp.turned_away >= n)


PROMISES = ('32', 32), ('65535', 65535)


@case(*PROMISES, accept=1)
def has_buffers_later(t, bufs):
    """It waits there as it would for a credit, and nothing is lost or said twice."""
    c, s = promises(t, bufs, 2)
    t.sent(s, 10 * FULL)
    turned_away(c)
    assert t.remote.info(s)['credits'] >= bufs - 12
    assert len(c.qp.received) == 2, f'{len(c.qp.received)} messages taken'
    c.qp.posts = 1
    turned_away(c)
    assert len(c.qp.received) == 3, f'{len(c.qp.received)} messages taken'
    c.qp.posts = None
    c.expect_data(pattern(10 * FULL))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(*PROMISES, accept=1, aborts=1, clock=True)
def promises_too_much(t, bufs):
    """The sender waits as before a closed window, as long as he likes, and others go on."""
    c, s = promises(t, bufs, 2)
    t.remote.send_meanwhile(s, LOT)
    turned_away(c)
    t.others_go_on()
    assert t.remote.sent_meanwhile(s, 0.3 * FACTOR) is None, 'he does not wait'
    start = time.monotonic()
    t.remote.option(s, socket.IPPROTO_TCP, 18, int(500 * FACTOR))       # TCP_USER_TIMEOUT
    sent = t.remote.sent_meanwhile(s)
    took = time.monotonic() - start
    assert sent and sent < LOT, sent
    assert t.remote.error(s) == errno.ETIMEDOUT
    assert took < 3 * FACTOR, f'{took:.1f} s'
    c.expect_dreq()


@case(*PROMISES, accept=1, clock=True)
def promises_too_much_and_nobody_waits(t, bufs):
    """Nobody is left to end it but fin_timeout."""
    t.sysctl('fin_timeout', int(500 * FACTOR))
    c, s = promises(t, bufs, 2)
    t.sent(s, 10 * FULL)
    turned_away(c)
    start = time.monotonic()
    t.close(s)
    c.expect_dreq()
    until('the connection goes', lambda: not t.ours())
    took = time.monotonic() - start
    assert 0.5 * FACTOR <= took < 2.5 * FACTOR, f'{took:.1f} s'


@case(accept=1, clock=True)
def time_to_close_begins_with_the_last_byte(t):
    """What close() left is on its way for most of fin_timeout: the peer has all of it to
    close, from then on."""
    limit = FACTOR
    t.sysctl('fin_timeout', int(1000 * limit))
    c, s = promises(t, 32, 2)
    t.sent(s, 10 * FULL)
    turned_away(c)
    t.close(s)
    time.sleep(0.7 * limit)
    c.qp.posts = None
    c.expect_data(pattern(10 * FULL))
    c.expect(sdp.DISCONN)
    start = time.monotonic()
    c.expect(sdp.ABORT_CONN)
    took = time.monotonic() - start
    assert 0.9 * limit <= took < 2.5 * limit, f'{took:.1f} s'
    c.expect_dreq()


@case(connect=1, **BROKEN, clock=True)
def closes_while_it_aborts(t):
    """AbortConn waits 200 ms for a credit; a close() meanwhile is no reason to wait for
    fin_timeout, a minute."""
    c, s = t.down(bufs=2)
    t.remote.shutdown(s)
    c.expect(sdp.DISCONN)
    c.send_raw(b'nonsense')
    until('the kernel aborts', lambda: t.moved()['proto_errors'])
    start = time.monotonic()
    t.close(s)
    c.expect_dreq(5 * FACTOR)
    print(f'# {time.monotonic() - start:.2f} s')


# ---- receive buffers (5.1) ----

@case(accept=1)
def change_of_receive_buffers(t):
    """Refused by acknowledging the size that is used anyway (5.1)."""
    c, s = t.up()
    for size in 65536, 0x80000000, 0xffffffff:
        c.send(sdp.CH_RCV_BUF, size=size)
        assert c.expect(sdp.CH_RCV_BUF_ACK).size == wire.RCVSZ
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('to what is asked', 8192, 8192), ('to the limit', 65536, wire.RCVSZ), accept=1)
def receive_buffers_grow(t, asked, given):
    """Small for who will ask; larger ones behind those that are posted, and the
    answer when the last small one has been used (5.1)."""
    c, s = t.up(t.peer.hello(t.host, des_rcvsz=wire.RCVSZ, rcvsz=8192))
    small = c.ack.rcvsz
    assert small == 4096 and c.their_bufs == 4, (small, c.their_bufs)
    c.send(sdp.CH_RCV_BUF, size=asked)
    c.send_data(pattern(2 * small)[:2 * (small - 16)])
    t.reads(s, pattern(2 * small)[:2 * (small - 16)])
    t.quiet(c, seconds=0.2)
    assert c.heard_mids.count(sdp.CH_RCV_BUF_ACK) == 0
    c.send_data(b'x')
    m = c.expect(sdp.CH_RCV_BUF_ACK)
    assert m.size == given, m.size
    assert t.remote.info(s)['rcv_size'] == given - 16
    t.reads(s, b'x')
    c.snd_max = given - 16
    t.talk(c, s, 100000)
    t.kernel_closes(c, s)


@case(('for data', b'x'), ('not for what only tells of buffers', b''), accept=1)
def receive_buffers_double(t, payload):
    """While messages go that tell of new ones and of nothing else; the peer is
    never short of them here."""
    c, s = t.up()
    t.remote.read_meanwhile(s, 2000)
    said = 0

    def say(n):
        nonlocal said
        for _ in range(n):
            c.send(sdp.DATA, payload)
        said += n

    while payload and c.their_bufs < 8:
        say(2)
        c.recv()
    while c.their_bufs < 16 and said < 1000:
        c.drain()
        # Half as many again have to be told of (3.3).
        if 2 * (c.their_bufs - c.credits()) < c.credits():
            say(1)
        else:
            c.recv()
    assert c.their_bufs >= 16 if payload else c.their_bufs == 4, c.their_bufs
    while said < 2000:
        while c.credits() < 3:
            c.recv()
        say(1)
    if not payload:
        c.send_data(b'x' * 2000)
    assert t.remote.has_read(s) == (b'x' * 2000).hex()
    t.talk(c, s, 50000)
    t.kernel_closes(c, s)


@case(('to what is asked', 8192, 8192), ('to the least', 4096, 4096), ('nonsense', 0, 4096),
      accept=1)
def receive_buffers_shrink(t, asked, given):
    """When the peer has heard the answer, and what was posted has been used."""
    c, s = t.up()
    t.talk(c, s, 100000)
    before = t.remote.info(s)
    many = before['posted']
    assert many >= 8 and before['rcv_size'] == wire.RCVSZ - 16, before
    c.send(sdp.CH_RCV_BUF, size=asked)
    assert c.expect(sdp.CH_RCV_BUF_ACK).size == given
    # Not heard yet, as far as the kernel knows: still as long as before.
    c.send(sdp.DATA, payload=pattern(wire.RCVSZ - 16), ack=c.heard - 1)
    t.reads(s, pattern(wire.RCVSZ - 16))
    assert t.remote.info(s)['rcv_size'] == wire.RCVSZ - 16
    c.send(sdp.DATA)
    until('it shrinks', lambda: t.remote.info(s)['rcv_size'] == given - 16)
    for _ in range(many):
        while c.credits() < 3:
            c.expect(sdp.DATA)
        c.send(sdp.DATA)
    until('few are posted', lambda: t.remote.info(s)['posted'] == 4)
    after = t.remote.info(s)
    assert before['mem'] - after['mem'] >= many * wire.RCVSZ - 4 * given, (before, after)
    c.taken()
    c.snd_max = given - 16
    t.talk(c, s, 50000)
    # And back again, as for a fresh connection.
    c.send(sdp.CH_RCV_BUF, size=wire.RCVSZ)
    acks = c.heard_mids.count(sdp.CH_RCV_BUF_ACK)
    t.tell(c, s, 300000)  # all the small ones, however many there are
    while c.heard_mids.count(sdp.CH_RCV_BUF_ACK) == acks:
        c.recv()
    until('it grows', lambda: t.remote.info(s)['rcv_size'] == wire.RCVSZ - 16)
    c.snd_max = wire.RCVSZ - 16
    t.talk(c, s, 100000)
    t.kernel_closes(c, s)


@case(accept=1, resets=1)
def longer_than_was_promised(t):
    """Who asked for smaller buffers and sends as if he had not is cut off."""
    c, s = t.up()
    c.send(sdp.CH_RCV_BUF, size=4096)
    assert c.expect(sdp.CH_RCV_BUF_ACK).size == 4096
    for _ in range(t.remote.info(s)['posted'] + 1):
        while c.credits() < 3:
            c.expect(sdp.DATA)
        c.send(sdp.DATA)
    until('small ones are posted', lambda: t.remote.info(s)['mem'] < 24 * 1024)
    c.send(sdp.DATA, payload=pattern(wire.RCVSZ - 16))
    t.reset(c, s)


def idle(t):
    """The kernel has sent, is idle, and asks for smaller buffers: (c, s)."""
    t.sysctl('shrink_after', int(400 * FACTOR))
    c, s = t.down(bufs=4)
    t.sent(s, 3000)
    c.expect_data(pattern(3000))
    c.bufs = 20
    c.send(sdp.DATA)
    m = c.recv()
    while m.mid != sdp.CH_RCV_BUF:
        assert m.mid == sdp.DATA and not m.payload, m
        m = c.recv()
    assert m.size == 4096, m
    return c, s


@case(('given', 4096), ('less', 8192), ('refused', wire.RCVSZ), connect=1, shrinks=1, clock=True)
def asks_for_less_when_idle(t, answer):
    c, s = idle(t)
    c.bufs = 19
    c.send(sdp.CH_RCV_BUF_ACK, size=answer)
    if answer < wire.RCVSZ:
        # What is posted for it is used up, as far as the credits go.
        for n in range(17):
            m = c.recv()
            assert m.mid == sdp.DATA and not m.payload, m
        t.quiet(c, seconds=0.2)
        c.bufs = 4
        c.send(sdp.DATA)
        for n in range(2):
            m = c.recv()
            assert m.mid == sdp.DATA and not m.payload, m
    # It is over, or will not be had: it does not ask again.
    t.quiet(c, seconds=1.5)
    assert c.heard_mids.count(sdp.CH_RCV_BUF) == 1
    c.post(32)
    until('it is told', lambda: t.remote.info(s)['peer_bufs'] == 32)
    t.sent(s, wire.RCVSZ - 16)
    m = c.recv()
    while not m.payload:
        assert m.mid == sdp.DATA, m
        m = c.recv()
    assert len(m.payload) == min(answer, wire.RCVSZ) - 16, len(m.payload)
    if len(m.payload) < wire.RCVSZ - 16:
        c.expect_data(pattern(wire.RCVSZ - 16)[len(m.payload):])
    t.kernel_closes(c, s)


def comes_small(c, want):
    """It comes in messages of no more than 4096 bytes."""
    got = b''
    while len(got) < len(want):
        m = c.recv()
        assert m.mid in (sdp.DATA, sdp.CH_RCV_BUF) and m.len <= 4096, m
        got += m.payload
        c.bufs = 20
        if c.credits() > 1 and (m.mid == sdp.CH_RCV_BUF or m.mseq % 4 == 0):
            c.send(sdp.DATA)
    assert got == want


@case(connect=1, shrinks=1)
def uses_up_what_was_posted_again(t):
    """What was under way when the peer answered has used a buffer that he may have posted
    again before he heard that his answer was: that one is as large."""
    c, s = idle(t)
    t.sent(s, 100)
    c.expect_data(pattern(100))
    c.bufs = 12
    c.send(sdp.CH_RCV_BUF_ACK, size=4096, ack=c.heard - 1)
    # It knows of 11, and leaves two; those twelve are what may be large.
    for n in range(9):
        m = c.recv()
        assert m.mid == sdp.DATA and not m.payload, m
    for more in 2, 1:
        t.quiet(c, seconds=0.2)
        c.bufs = 4
        c.send(sdp.DATA)
        for n in range(more):
            m = c.recv()
            assert m.mid == sdp.DATA and not m.payload, m
    t.quiet(c, seconds=1)
    t.kernel_closes(c, s)


@case(('for larger ones', None), ('for less, when idle', 400), connect=1, clock=True)
def change_is_not_answered(t, idle):
    """ChRcvBuf, and nobody answers: the stream goes on as before, or with what is certain
    to fit, and it is not asked again."""
    if idle:
        t.sysctl('shrink_after', int(idle * FACTOR))
        t.counted_by_case = {'shrinks'}
        c, s = t.down(bufs=4)
        t.sent(s, 3000)
        c.expect_data(pattern(3000))
        c.bufs = 20
        c.send(sdp.DATA)
        c.expect(sdp.CH_RCV_BUF)
    else:
        c, s = t.down(rcvsz=4096, bufs=4)
    for seed in 1, 2, 3:
        t.sent(s, 40000, seed)
        comes_small(c, pattern(40000, seed))
        if idle:
            t.quiet(c, seconds=1.5 * idle / 1000)
    assert c.heard_mids.count(sdp.CH_RCV_BUF) == 1, c.heard_mids
    t.kernel_closes(c, s)


@case(('as asked', wire.RCVSZ, wire.RCVSZ), ('more', 1 << 31, 32768), ('refused', 4096, 4096),
      ('nonsense', 0, 4096), ('1', 1, 4096), ('2^32-2', (1 << 32) - 2, 32768),
      ('2^32-1', (1 << 32) - 1, 32768), connect=1)
def asks_for_larger_buffers(t, answer, size):
    """Once, when it waits for credits with a full message."""
    c, s = t.down(rcvsz=4096, bufs=4)
    t.sent(s, 1000)                     # not with small ones
    assert c.expect(sdp.DATA).payload == pattern(1000)
    c.bufs = 5
    c.send(sdp.DATA)
    t.quiet(c, seconds=0.2)
    data = pattern(40000)
    t.sent(s, len(data))
    got = b''
    while True:
        m = c.recv()
        if m.mid == sdp.CH_RCV_BUF:
            break
        got += m.payload
    assert m.size == wire.RCVSZ and len(got) == 3 * 4080, (m.size, len(got))
    c.bufs = 32
    c.send(sdp.CH_RCV_BUF_ACK, size=answer)
    # What was built before stays as it was.
    while len(got) < len(data):
        got += c.expect(sdp.DATA).payload
    assert got == data
    t.sent(s, len(data), 3)
    m = c.expect(sdp.DATA)
    assert len(m.payload) == size - 16, len(m.payload)
    c.expect_data(pattern(len(data), 3)[size - 16:])
    t.talk(c, s)
    t.kernel_closes(c, s)
