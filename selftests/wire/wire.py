#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the module does with a peer that is not the module: see wire.sh.

Runs on h2, in the namespace where the Python peer lives, and steers sockets of
h1, the host under test.  harness.py has what the cases share.  Here are those of
whole conversations; the others are in whatever file here has a @case.

    wire.py [PART OF A NAME...]         KTAP
"""
import errno
import glob
import importlib
import os
import select
import socket
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
import peer as wire  # noqa: E402
import roce  # noqa: E402
import sdp_decode as sdp  # noqa: E402
from adverts import MANY  # noqa: E402
from roce import FACTOR, LIMIT  # noqa: E402
from sockets import pattern  # noqa: E402
from harness import CONSUMER_DEFINED, FULL, PEER_PORT, PORT, case, main, until  # noqa: E402

# ---- a correct conversation ----

@case(ipv=(4, 6), accept=1)
def active(t):
    c, s = t.up()
    peer, _ = t.remote.names(s)[::-1]
    assert peer == [t.peer.address, c.hello.port], f'getpeername: {peer}'
    for size in 1, 15, 4096, FULL, FULL + 1, 100000:
        t.talk(c, s, size)
    t.kernel_closes(c, s)


@case(ipv=(4, 6), connect=1)
def passive(t):
    c, s = t.begin()
    h = c.hello
    assert (h.flags, h.mseq, h.ack, h.len) == (0, 0, 0, 92)
    assert h.bufs >= 4 and h.max_adverts == MANY and h.version == 0x22
    assert c.service == wire.SERVICE + PEER_PORT
    c.establish()
    assert t.remote.connected(s) == 0
    assert [sdp.hello_address(h.src, h.ipv_cap), h.port] == t.remote.names(s)[0]
    assert [sdp.hello_address(h.dst, h.ipv_cap), PEER_PORT] == t.remote.names(s)[1]
    for size in 1, 4096, FULL + 1, 100000:
        t.talk(c, s, size)
    t.kernel_closes(c, s)


@case(ipv=(4, 6), accept=1)
def kernel_half_closes(t):
    c, s = t.up()
    t.sent(s, 5000)
    t.remote.shutdown(s)
    c.expect_data(pattern(5000))
    c.expect(sdp.DISCONN)
    c.send_data(pattern(60000, 3))
    t.reads(s, pattern(60000, 3))
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    c.expect_dreq()


@case(ipv=(4, 6), accept=1)
def peer_half_closes(t):
    """We closed first, so the DREQ is ours to send."""
    c, s = t.up()
    c.send_data(pattern(5000))
    c.send(sdp.DISCONN)
    t.reads(s, pattern(5000))
    assert t.remote.ended(s) == 'eof'
    t.sent(s, 60000, 3)
    c.expect_data(pattern(60000, 3))
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


@case(accept=1)
def both_close_at_once(t):
    c, s = t.up()
    c.send(sdp.DISCONN)
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


def closes_behind_us(t, c, s, keep):
    """We have closed first, and the kernel too; @keep: its user still has the socket."""
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    if keep:
        t.remote.shutdown(s)
    else:
        t.close(s)
    c.expect(sdp.DISCONN)


@case(('by close', False), ('by shutdown', True), accept=1)
def last_closer_waits_then_asks(t, keep):
    """A first closer that never sends its DREQ gets one after fin_timeout,
    whether the socket is still there or not."""
    t.sysctl('fin_timeout', int(500 * FACTOR))
    c, s = t.up()
    closes_behind_us(t, c, s, keep)
    c.expect_dreq()


@case(ipv=(4, 6), accept=1, resets=1)
def peer_aborts(t):
    """A DREQ without DisConn: what arrived before it is still read."""
    c, s = t.up()
    c.send_data(pattern(3000))
    c.taken()
    c.dreq()
    t.reads(s, pattern(3000))
    assert t.remote.ended(s) == errno.ECONNRESET
    assert t.remote.hung_up(s)


@case(ipv=(4, 6), accept=1, aborts=1)
def kernel_aborts(t):
    c, s = t.up()
    t.talk(c, s, 100)
    t.close(s, 0)
    c.expect_dreq()
    c.drain()


@case(accept=1, aborts=1)
def kernel_aborts_after_its_disconn(t):
    """Then there is an AbortConn in front of the DREQ (6.3)."""
    c, s = t.up()
    t.remote.shutdown(s)
    c.expect(sdp.DISCONN)
    c.taken()
    t.close(s, 0)
    c.expect(sdp.ABORT_CONN)
    c.expect_dreq()


@case(accept=1, aborts=1)
def kernel_closes_with_unread_data(t):
    c, s = t.up()
    c.send_data(pattern(3000))
    until('it arrives', lambda: t.remote.info(s)['inq'] == 3000)
    t.close(s)
    c.expect_dreq()


@case(('256', 256), ('1024', 1024), accept=1)
def small_packets(t, mtu):
    """The path's MTU is what the REQ says; messages come in many packets."""
    c, s = t.up(mtu=mtu)
    t.talk(c, s, 50000)
    t.kernel_closes(c, s)


@case(accept=1)
def message_before_rtu(t):
    """The first message does what the RTU would (1.5)."""
    c = t.peer.request(t.host, PORT)
    t.conns.append(c)
    c.answer()
    assert not t.remote.acceptable(t.listeners[4], 0.2)
    c.send_data(pattern(100))
    s = t.accept()
    t.reads(s, pattern(100))
    t.talk(c, s)
    c.port.mads.clear()
    c.mad('REP again', sdp.REP)
    c.rtu()
    t.kernel_closes(c, s)


@case(accept=1, ipv=(4, 6))
def end_before_rtu(t):
    """Both have said all they have to; the DREQ waits for the RTU, as a CM that has had
    none takes no DREQ."""
    c = t.peer.request(t.host, PORT)
    t.conns.append(c)
    c.answer()
    c.send_data(pattern(100))
    s = t.accept()
    t.reads(s, pattern(100))
    t.close(s)
    c.expect(sdp.DISCONN)
    c.send(sdp.DISCONN)
    t.quiet(c)
    assert not c.port.has_mad(lambda m: m.attr == sdp.DREQ)
    c.rtu()
    c.expect_dreq()


def no_rtu(t, end=None, **hello):
    """A message has come, and no RTU until the CM has given up its REP: (connection, the
    kernel's socket).  @end: what the user does before that."""
    # A slow machine is to have its message out before that.
    c = t.peer.request(t.host, PORT, t.peer.hello(t.host, **hello), retries=5,
                       timeout=12 + int(FACTOR).bit_length() - 1)
    t.conns.append(c)
    c.answer()
    c.send_data(pattern(100))
    s = t.accept()
    t.reads(s, pattern(100))
    if end:
        end(s)
    c.port.wait('the last REP', lambda: sum(m.attr == sdp.REP for m in c.port.mads) == 5)
    time.sleep(0.3 * FACTOR)
    return c, s


def no_dreq(c):
    assert not c.port.has_mad(lambda m: m.attr == sdp.DREQ)


@case(accept=1, clock=True)
def no_rtu_at_all(t):
    """The CM has repeated our REP in vain, and knows no connection any more; by messages
    it has come about, lives and ends."""
    c, s = no_rtu(t)
    t.talk(c, s)
    t.close(s)
    c.expect(sdp.DISCONN)
    c.send(sdp.DISCONN)
    until('it is gone', lambda: not t.ours())
    c.dreq()
    no_dreq(c)


@case(ipv=(4, 6), accept=1, resets=1)
def no_rtu_and_gone(t):
    """Nor is a DREQ heard then, which is answered: he who made it is gone.  So one who
    reads, and sends nothing, asks the peer's device, though no keepalive was set."""
    t.sysctl('ack_timeout', int(50 * FACTOR))
    c, s = no_rtu(t)
    before = t.remote.counters()['keepalives']
    until('it asks', lambda: t.remote.counters()['keepalives'] >= before + 2)
    t.talk(c, s)
    c.dreq()
    assert t.remote.ended(s) == errno.ETIMEDOUT
    assert t.remote.hung_up(s)


@case(accept=1)
def no_rtu_and_peer_closes(t):
    """An end to which both have said all they had to is no error, though he is not heard
    of any more."""
    t.sysctl('ack_timeout', int(50 * FACTOR))
    t.sysctl('fin_timeout', int(4000 * FACTOR))
    c, s = no_rtu(t)
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    t.remote.shutdown(s)
    c.expect(sdp.DISCONN)
    c.dreq()
    assert t.remote.hung_up(s)
    assert t.remote.error(s) == 0


@case(('later', False), ('before', True), accept=1, aborts=1)
def no_rtu_and_aborted(t, before):
    """By a DREQ the peer cannot be told of our end either: an AbortConn tells him, though
    there is no DisConn in front of it."""
    c, s = no_rtu(t, lambda s: t.close(s, 0) if before else None)
    if not before:
        t.talk(c, s)
        t.close(s, 0)
    c.expect(sdp.ABORT_CONN)
    no_dreq(c)
    c.dreq()
    until('it is gone', lambda: not t.ours())


@case(('for a while', True), ('for ever', False), accept=1, aborts=1)
def no_rtu_and_abort_waits(t, there):
    """The AbortConn is repeated, as it is the only word; who has no room for it is not
    waited for longer than for the answer to a DREQ."""
    t.sysctl('ack_timeout', 1000)       # no other end before that of five seconds
    c, s = no_rtu(t, bufs=32 if there else 1)
    c.port.silent = there
    t.close(s, 0)
    time.sleep(1)                       # a DREQ would follow by then
    assert t.ours()
    c.port.silent = False
    if there:
        c.expect(sdp.ABORT_CONN)
    until('it is gone', lambda: not t.ours(), LIMIT + 5)
    t.quiet(c)
    c.qp.close()


@case(('shutdown', True), ('close', False), connect=1)
def rejected_after_both_disconns(t, keep):
    """A server whose host has not had our RTU ends by a REJ what others end by a DREQ."""
    c, s = t.down()
    closes_behind_us(t, c, s, keep)
    c.taken()
    c.reject(CONSUMER_DEFINED, 1)
    if not keep:
        until('it is gone', lambda: not t.ours())
        return
    assert t.remote.hung_up(s)
    assert t.remote.error(s) == 0
    assert t.remote.ended(s) == 'eof'


@case(('DREQ', lambda c: c.dreq()), ('REJ', lambda c: c.reject(CONSUMER_DEFINED, 1)),
      connect=1, resets=1)
def ended_before_our_data_went(t, end):
    """The same words, while there is no credit for what the kernel has to say: that is
    lost, and its user is told, as by TCP's RST in LAST_ACK."""
    c, s = t.down(bufs=2)
    t.sent(s, 1000)
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    t.remote.shutdown(s)
    end(c)
    # Both directions are shut: poll() says HUP before the end is heard, too.
    until('the user is told', lambda: t.remote.error(s) == errno.ECONNRESET)


@case(connect=1, resets=1)
def rejected_after_data(t):
    """What arrived before it is still read, then there is an error."""
    c, s = t.down()
    c.send_data(pattern(3000))
    c.taken()
    c.reject(CONSUMER_DEFINED, 1)
    t.reads(s, pattern(3000))
    assert t.remote.ended(s) == errno.ECONNRESET
    assert t.remote.hung_up(s)


@case(accept=1)
def request_twice(t):
    """A REQ that is repeated makes one connection, and its REP is repeated."""
    h = t.peer.hello(t.host)
    c = t.peer.request(t.host, PORT, h, repeat=False)
    t.conns.append(c)
    again = roce.req(c.id, c.qp.qpn, c.qp.expect_psn, t.peer.address, t.host,
                     wire.SERVICE + PORT, h.pack())
    c.answer()
    c.port.send_mad(t.host, sdp.REQ, again)
    c.mad('REP again', sdp.REP)
    c.rtu()
    s = t.accept()
    assert not t.remote.acceptable(t.listeners[4], 0.2)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def acknowledgements_late(t):
    """The kernel's device repeats what we do not acknowledge; nothing is lost."""
    c, s = t.up()
    c.qp.mute = True
    t.sent(s, 50000)
    time.sleep(1.2)
    c.qp.mute = False
    c.expect_data(pattern(50000))
    t.kernel_closes(c, s)


@case(accept=1)
def reader_sees_what_was_sent(t):
    """All places for control messages are taken until our device acknowledges
    them.  The event of that comes to nobody but the reader, who sleeps: he
    has to send what waits for a place."""
    t.sysctl('ack_timeout', int(500 * FACTOR))  # that we may be mute
    c, s = t.up()
    t.remote.read_meanwhile(s, 1000)
    sent = t.remote.info(s)['msgs_sent']
    c.qp.mute = True
    for n in range(1, 10):
        c.send(sdp.CH_RCV_BUF, size=65536)
        until('it is answered, or held back', lambda: t.remote.info(s)['msgs_sent'] ==
              sent + min(n, 8))
        c.taken()
    c.qp.mute = False
    for n in range(9):
        assert c.expect(sdp.CH_RCV_BUF_ACK).size == wire.RCVSZ
    c.send_data(pattern(1000))
    assert t.remote.has_read(s) == pattern(1000).hex()
    t.kernel_closes(c, s)


# ---- small writes (3.5) ----

def waiting(t, c, s, writes=5):
    """The kernel has sent "first" and nothing of some small writes after it."""
    c.qp.late = True
    t.sent(s, 100, 1)
    assert c.recv().payload == pattern(100, 1)
    sent = t.remote.info(s)['msgs_sent']
    for n in range(writes):
        assert t.remote.send(s, 10, 2, 10 * n) == 10
    assert t.remote.info(s)['msgs_sent'] == sent, 'a small message did not wait'
    return pattern(10 * writes, 2)


@case(accept=1)
def small_waits_for_completion(t):
    """As long as our device has not acknowledged a small message, small writes
    are collected; then they come as one."""
    c, s = t.up()
    rest = waiting(t, c, s)
    c.qp.acknowledge()
    assert c.recv().payload == rest
    t.kernel_closes(c, s)


@case(accept=1)
def small_waits_for_mseq_ack(t):
    """The same, and the peer says that it has it before its device does."""
    c, s = t.up()
    rest = waiting(t, c, s)
    c.send_data(b'x')
    assert c.recv().payload == rest
    t.reads(s, b'x')
    c.qp.acknowledge()
    t.kernel_closes(c, s)


@case(accept=1)
def small_goes_before_fin(t):
    """Nothing comes behind it any more, so it does not wait."""
    c, s = t.up()
    rest = waiting(t, c, s)
    t.remote.shutdown(s)
    assert c.recv().payload == rest
    c.expect(sdp.DISCONN)
    c.qp.acknowledge()
    c.send(sdp.DISCONN)
    c.expect_dreq()
    t.close(s)


@case(accept=1)
def full_does_not_hold_small(t):
    """The tail of a large write goes at once: only small ones hold it back."""
    c, s = t.up()
    c.qp.late = True
    t.sent(s, FULL + 10)
    c.expect_data(pattern(FULL + 10))
    c.qp.acknowledge()
    t.kernel_closes(c, s)


@case(accept=1)
def nodelay_does_not_wait(t):
    """TCP_NODELAY: each goes by itself, until many are under way."""
    c, s = t.up()
    t.remote.option(s, socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sent = t.remote.info(s)['msgs_sent']
    c.qp.late = True
    for n in range(12):
        assert t.remote.send(s, 10, 2, 10 * n) == 10
    assert t.remote.info(s)['msgs_sent'] == sent + 8
    for n in range(8):
        assert c.recv().payload == pattern(120, 2)[10 * n:10 * n + 10]
    c.qp.acknowledge()
    assert c.recv().payload == pattern(120, 2)[80:]
    t.kernel_closes(c, s)


@case(accept=1)
def nodelay_pushes(t):
    """TCP_NODELAY, set while small writes wait: they go."""
    c, s = t.up()
    rest = waiting(t, c, s)
    t.remote.option(s, socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    assert c.recv().payload == rest
    c.qp.acknowledge()
    t.kernel_closes(c, s)


# ---- a peer that is not there any more (3.6) ----

def keep_alive(t, s, idle=1):
    t.remote.option(s, socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    t.remote.option(s, socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle)


def lost(t, s, want=errno.ETIMEDOUT):
    """Its seconds from now on."""
    start = time.monotonic()
    got = t.remote.ended(s, 40 * FACTOR)
    assert got == want, f'read gave {got}, not {want}'
    assert t.remote.hung_up(s)
    return time.monotonic() - start


@case(accept=1, clock=True)
def keepalive_answered(t):
    """Our device answers, we see nothing of it, and the connection stays."""
    c, s = t.up()
    before = t.remote.counters()['keepalives']
    keep_alive(t, s)
    until('three keepalives', lambda: t.remote.counters()['keepalives'] >= before + 3)
    t.quiet(c, s)
    # With messages under way none are needed, unless one of us stands still so long.
    idle = int(FACTOR) + 1
    keep_alive(t, s, idle)
    t.talk(c, s, 100)
    before = t.remote.counters()['keepalives']
    end = time.monotonic() + 2 * idle + 1
    while time.monotonic() < end:
        t.talk(c, s, 100)
        time.sleep(0.1)
    assert t.remote.counters()['keepalives'] == before
    t.kernel_closes(c, s)


@case(('idle', True), ('not asked for', False), accept=1, clock=True)
def keepalive_unanswered(t, asked_for):
    """A peer that vanishes is noticed only by who asks."""
    t.sysctl('ack_timeout', int(50 * FACTOR))
    c, s = t.up()
    before = t.remote.counters()
    if asked_for:
        t.counted_by_case = {'resets'}
        keep_alive(t, s)
    c.port.silent = True
    try:
        if asked_for:
            print(f'# lost after {lost(t, s):.1f} s')
            assert t.remote.counters()['timeouts'] == before['timeouts'] + 1
            assert t.remote.counters()['resets'] == before['resets'] + 1
        else:
            time.sleep(3 * FACTOR)
            assert not t.remote.poll(s) & select.POLLIN
            assert t.remote.counters()['keepalives'] == before['keepalives']
    finally:
        c.port.silent = False
    if not asked_for:
        t.kernel_closes(c, s)


@case(('default', 500, 6), ('shorter', 50, 3), accept=1, resets=1, clock=True)
def dead_link(t, timeout, retries):
    """How long a connection with data under way survives is what the sysctls
    say: each try waits at least that long."""
    t.sysctl('ack_timeout', timeout)
    t.sysctl('ack_retries', retries)
    c, s = t.up()
    c.port.silent = True
    try:
        start = time.monotonic()
        t.sent(s, 100)
        lost(t, s)
        took = time.monotonic() - start
        least = timeout * (retries + 1) / 1000
        print(f'# lost after {took:.1f} s')
        # Twice, as devices have powers of two; and their timers are lazy.
        assert 0.9 * least < took < 4 * least + 2 * FACTOR, f'{took:.1f} s, not {least:.1f}'
    finally:
        c.port.silent = False


@case(('no credits', False), ('no answer', True), accept=1, clock=True)
def user_timeout(t, silent):
    """TCP_USER_TIMEOUT: what was sent makes no progress for so long."""
    t.sysctl('ack_timeout', int(500 * FACTOR))      # the device's end comes later
    c, s = t.up()
    t.counted_by_case = {'aborts', 'resets'}
    t.remote.option(s, socket.IPPROTO_TCP, 18, int(800 * FACTOR))
    # It would grow to megabytes without credits, and not be full before the time is over.
    t.remote.option(s, socket.SOL_SOCKET, socket.SO_SNDBUF, 100000)
    # The last progress comes between the two.
    least = most = time.monotonic()
    c.port.silent = silent
    try:
        # Full for a moment is not for ever, as long as there are credits.
        while True:
            now = time.monotonic()
            room = t.remote.poll(s) & select.POLLOUT
            credits = not silent and t.remote.info(s)['credits'] > 2
            if credits:
                least = now             # a message is yet to go
            if not room and not credits:
                break
            if room:
                t.remote.send(s, 50000)
            if not silent:
                most = time.monotonic()         # that was progress, perhaps
        lost(t, s)
        end = time.monotonic()
        assert 0.7 * FACTOR < end - least, f'{end - least:.1f} s'
        assert end - most < 3 * FACTOR, f'{end - most:.1f} s'
    finally:
        c.port.silent = False
    if not silent:
        c.expect_dreq()


@case(accept=1, clock=True)
def user_timeout_of_a_keepalive(t):
    """The time is for the answer to what an idle peer is asked as well."""
    t.sysctl('ack_timeout', int(500 * FACTOR))      # the device's end comes later
    c, s = t.up()
    t.remote.option(s, socket.IPPROTO_TCP, 18, int(800 * FACTOR))
    t.counted_by_case = {'aborts', 'resets'}
    before = t.remote.counters()['keepalives']
    keep_alive(t, s)
    until('it is asked, and answers', lambda: t.remote.counters()['keepalives'] >= before + 2)
    c.port.silent = True
    try:
        took = lost(t, s)
        print(f'# lost after {took:.1f} s')
        assert 0.7 * FACTOR < took < 3 * FACTOR + 1, f'{took:.1f} s'
    finally:
        c.port.silent = False


# Their cases come behind these: whatever file of this folder has some.
for path in sorted(glob.glob(os.path.join(HERE, '*.py'))):
    name = os.path.basename(path)[:-len('.py')]
    with open(path, encoding='utf-8') as source:
        if name != 'wire' and '\n@case' in source.read():
            importlib.import_module(name)

if __name__ == '__main__':
    main()
