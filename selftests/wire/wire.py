#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the module does with a peer that is not the module: see wire.sh.

Runs on h2, in the namespace where the Python peer lives, and steers sockets of
h1, the host under test.  harness.py has what the cases share, adverts.py those
of zero copy.

    wire.py [PART OF A NAME...]         KTAP
"""
import errno
import os
import select
import socket
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import peer as wire  # noqa: E402
import roce  # noqa: E402
import sdp_decode as sdp  # noqa: E402
import sockets  # noqa: E402
from roce import FACTOR, LIMIT  # noqa: E402
from sockets import pattern  # noqa: E402
from harness import (  # noqa: E402
    BROKEN, CONSUMER_DEFINED, FULL, HOST, INVALID_SERVICE_ID, PEER_PORT, PORT, case, main, until)

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
    assert h.bufs >= 4 and h.max_adverts == adverts.MANY and h.version == 0x22
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


@case(('by close', False), ('by shutdown', True), accept=1)
def last_closer_waits_then_asks(t, keep):
    """A first closer that never sends its DREQ gets one after fin_timeout,
    whether the socket is still there or not."""
    t.sysctl('fin_timeout', int(500 * FACTOR))
    c, s = t.up()
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    if keep:
        t.remote.shutdown(s)
    else:
        t.close(s)
    c.expect(sdp.DISCONN)
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
    t.kernel_closes(c, s)


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


@case(accept=1)
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


@case(('idle', True), ('not asked for', False), accept=1)
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


@case(('default', 500, 6), ('shorter', 50, 3), accept=1, resets=1)
def dead_link(t, timeout, retries):
    """How long a connection with data under way survives is what the sysctls
    say: each try waits at least that long."""
    t.sysctl('ack_timeout', timeout)
    t.sysctl('ack_retries', retries)
    c, s = t.up()
    c.port.silent = True
    try:
        t.sent(s, 100)
        took = lost(t, s)
        least = timeout * (retries + 1) / 1000
        print(f'# lost after {took:.1f} s')
        # Twice, as devices have powers of two; and their timers are lazy.
        assert 0.9 * least < took < 4 * least + 2 * FACTOR, f'{took:.1f} s, not {least:.1f}'
    finally:
        c.port.silent = False


@case(('no credits', False), ('no answer', True), accept=1)
def user_timeout(t, silent):
    """TCP_USER_TIMEOUT: what was sent makes no progress for so long."""
    c, s = t.up()
    t.counted_by_case = {'aborts', 'resets'}
    t.remote.option(s, socket.IPPROTO_TCP, 18, int(800 * FACTOR))
    start = time.monotonic()
    c.port.silent = silent
    try:
        # Full for a moment is not for ever, as long as there are credits.
        while t.remote.poll(s) & select.POLLOUT or \
                not silent and t.remote.info(s)['credits'] > 2:
            if t.remote.poll(s) & select.POLLOUT:
                t.remote.send(s, 50000)
            if not silent:
                start = time.monotonic()        # that was progress, perhaps
        lost(t, s)
        took = time.monotonic() - start
        assert 0.7 * FACTOR < took < 3 * FACTOR, f'{took:.1f} s'
    finally:
        c.port.silent = False
    if not silent:
        c.expect_dreq()


# ---- Hellos ----

def rejected(t, hello, reason=CONSUMER_DEFINED, port=PORT, **req):
    c = t.peer.request(t.host, port, hello, **req)
    t.conns.append(c)
    try:
        c.answer()
    except wire.Rejected as e:
        assert e.reason == reason, f'REJ reason {e.reason}, must be {reason}'
        return
    raise AssertionError(f'accepted: {c.ack}')


@case(('version 1.1', {'version': 0x11}), ('version 3.2', {'version': 0x32}),
      ('version 0', {'version': 0}),
      ('HelloAck', {'mid': sdp.HELLO_ACK, 'len': 92, 'raw': bytes(76)}),
      ('Data', {'mid': sdp.DATA, 'len': 92, 'raw': bytes(76)}),
      ('Len 91', {'len': 91}), ('Len 93', {'len': 93}), ('Len 0', {'len': 0}),
      ('Len 2^32-1', {'len': 0xffffffff}),
      ('IPV 5', {'ipv_cap': 0x50}), ('IPV 0', {'ipv_cap': 0}), ('IPV 15', {'ipv_cap': 0xf0}),
      ('MaxAdverts 0', {'max_adverts': 0}),
      ('ExtMaxAdverts 0', {'ipv_cap': 0x42, 'ext_max_adverts': 0}),
      ('buffers of 0', {'rcvsz': 0}), ('buffers of 15', {'rcvsz': 15}),
      ('buffers of 16', {'rcvsz': 16}), ('buffers of 63', {'rcvsz': 63}), ('port 0', {'port': 0}),
      reject_hello=1)
def hello_refused(t, field):
    h = t.peer.hello(t.host)
    for name, value in field.items():
        if name in h.ext:
            h.ext[name] = value
        else:
            setattr(h, name, value)
    rejected(t, h)


@case(('minor version 15', {'version': 0x2f}), ('Cap 1', {'ipv_cap': 0x41}),
      ('Cap and ExtMaxAdverts', {'ipv_cap': 0x43, 'ext_max_adverts': 300}),
      ('MaxAdverts 255', {'max_adverts': 255}), ('reserved bits', {'reserved4': b'\xff' * 24}),
      ('DesRemRcvSz 0', {'des_rcvsz': 0}), ('buffers of 2^32-1', {'rcvsz': 0xffffffff}),
      accept=1)
def hello_accepted(t, field):
    c, s = t.up(t.peer.hello(t.host, **field))
    c.snd_max = FULL
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def hello_with_small_buffers(t):
    """No message is larger than the peer's buffers are."""
    c, s = t.up(t.peer.hello(t.host, rcvsz=64))
    assert t.remote.info(s)['snd_size'] == 48
    t.sent(s, 5000)
    got = b''
    while len(got) < 5000:
        m = c.expect(sdp.DATA)
        assert m.len <= 64
        got += m.payload
        # Before it runs out of credits, and only if we have one.
        if m.mseq % 16 == 0 and c.credits() > 0:
            c.send(sdp.DATA)
    assert got == pattern(5000)
    t.kernel_closes(c, s)


def address(text):
    return sdp.address_to_hello(text)


@case(('other source', 'src', '10.9.0.99'), ('source is the listener', 'src', '10.9.0.1'),
      ('source 0', 'src', '0.0.0.0'), ('source is multicast', 'src', '224.0.0.1'),
      ('source is loopback', 'src', '127.0.0.1'),
      ('other destination', 'dst', '10.9.0.2'), ('destination is the peer', 'dst', '10.9.0.77'),
      ('destination 0', 'dst', '0.0.0.0'), ('destination is loopback', 'dst', '127.0.0.1'),
      reject_path=1)
def forged_address(t, field, text):
    rejected(t, t.peer.hello(t.host, **{field: address(text)}))


@case(('other source', 'src', 'fd09::99'), ('source is IPv4', 'src', '::ffff:10.9.0.77'),
      ('source is the link-local one', 'src', 'fe80::5054:ff:fe09:77'),
      ('other destination', 'dst', 'fd09::2'), ('destination ::', 'dst', '::'),
      ('destination is IPv4', 'dst', '::ffff:10.9.0.1'),
      ipv=(6,), reject_path=1)
def forged_address6(t, field, text):
    rejected(t, t.peer.hello(t.host, **{field: address(text)}))


@case(('v6 by v4', 4, {'ipv_cap': 0x60, 'src': address('fd09::77'), 'dst': address('fd09::1')}),
      ('v4 by v6', 6, {'ipv_cap': 0x40, 'src': address('10.9.0.77'), 'dst': address('10.9.0.1')}),
      reject_path=1)
def forged_family(t, ipv, field):
    """Addresses of the other family, each right in itself."""
    t.peer, t.host = t.peers[ipv], HOST[ipv]
    rejected(t, t.peer.hello(t.host, **field))


@case()
def nobody_listens(t):
    """No listener of the service: the CM answers for itself."""
    rejected(t, t.peer.hello(t.host), INVALID_SERVICE_ID, PORT + 1)


@case(reject_listener=1)
def listener_of_the_other_family(t):
    """As if nobody listened at all: to ask again would be in vain."""
    n = t.remote.listen(PORT + 2, True)
    t.open.append(n)
    rejected(t, t.peer.hello(t.host), INVALID_SERVICE_ID, PORT + 2)


# ---- answers to the kernel's Hello ----

# Not reason 4, time-out: ib_cm looks for its id elsewhere in that REJ.
@case(('no queue pair', 1), ('invalid id', 6), ('service id', 8), ('stale', 10),
      ('invalid GID', 13), ('unknown reason', 999), ipv=(4, 6), connect_fail=1)
def connect_rejected(t, reason):
    c, s = t.begin()
    c.reject(reason)
    got = t.remote.connected(s)
    assert got == errno.ECONNREFUSED, f'connect gave {got}'


def asks_again(t):
    return t.remote.counters()['connect_again']


@case(ipv=(4, 6), connect=1)
def rejected_for_now(t):
    """A full backlog is asked again, by the same queue pair, as TCP's is."""
    before = asks_again(t)
    c, s = t.begin()
    qpn, hello = c.qp.peer_qpn, vars(c.hello)
    for _ in range(4):
        c.reject(CONSUMER_DEFINED)
        c = t.peer.accept()
        assert (c.qp.peer_qpn, vars(c.hello)) == (qpn, hello)
    t.conns.append(c)
    c.establish()
    assert t.remote.connected(s) == 0
    assert asks_again(t) == before + 4
    t.talk(c, s)
    t.kernel_closes(c, s)


def rejects_all(t, c):
    """Until no more REQ comes; how many came after the first."""
    for n in range(1000):
        c.reject(CONSUMER_DEFINED)
        try:
            c = t.peer.accept(1.5 * FACTOR)
        except TimeoutError:
            return n
    raise AssertionError('REQ after REQ')


@case(connect_fail=1)
def rejected_for_long(t):
    """Not beyond its time, and less often the longer it lasts."""
    t.patience(int(1200 * FACTOR))
    c, s = t.begin()
    n = rejects_all(t, c)
    assert 3 <= n <= 8 + FACTOR, n
    got = t.remote.connected(s)
    assert got == errno.ETIMEDOUT, f'connect gave {got}'


@case(aborts=1)
def rejected_for_now_and_closed(t):
    c, s = t.begin()
    c.reject(CONSUMER_DEFINED)
    c = t.peer.accept()
    c.reject(CONSUMER_DEFINED)
    t.close(s)


def tcp_server(t):
    s = socket.socket(socket.AF_INET6 if t.ipv == 6 else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((t.peer.address, PEER_PORT))
    s.listen(1)
    s.settimeout(LIMIT)
    return s


def is_tcp(t, listener, s):
    assert t.remote.connected(s) == 0
    with listener, listener.accept()[0] as tcp:
        tcp.settimeout(LIMIT)
        tcp.sendall(pattern(1000))
        t.reads(s, pattern(1000))
        t.close(s)
        assert tcp.recv(1) == b''


@case(('REJ', 'reject'), ('bad HelloAck', 'bad'), ('silence', 'silent'), ('no room', 'busy'),
      ipv=(4, 6), connect_fail=1, fallback=1)
def falls_back(t, how):
    """A socket that came by TCP_ULP goes by TCP instead."""
    if how in ('silent', 'busy'):
        t.patience(int(500 * FACTOR))
    why = {'reject': 'refused', 'bad': 'protocol', 'silent': 'timeout'}.get(how, how)
    before = t.remote.counters()['fallback_' + why]
    with tcp_server(t) as listener:
        c, s = t.begin(ulp=True)
        if how == 'reject':
            c.reject(INVALID_SERVICE_ID)
        elif how == 'busy':
            rejects_all(t, c)
        elif how == 'bad':
            c.reply(version=0x11)
        is_tcp(t, listener, s)
    assert t.remote.counters()['fallback_' + why] == before + 1


@case(('version 1.1', {'version': 0x11}), ('Hello', {'mid': sdp.HELLO, 'raw': bytes(76)}),
      ('Data', {'mid': sdp.DATA}), ('Len 23', {'len': 23}), ('Len 197', {'len': 197}),
      ('Len 0', {'len': 0}), ('buffers of 0', {'rcvsz': 0}), ('buffers of 63', {'rcvsz': 63}),
      connect_fail=1)
def hello_ack_refused(t, field):
    """ECONNREFUSED to the user, and a REJ to us."""
    c, s = t.begin()
    if 'mid' in field:
        send_rep(c, **field)
    else:
        c.reply(**field)
    got = t.remote.connected(s)
    assert got == errno.ECONNREFUSED, f'connect gave {got}'
    rej = c.mad('REJ', sdp.REJ)
    assert (rej.rejected, rej.reason) == (1, CONSUMER_DEFINED), (rej.rejected, rej.reason)


def send_rep(c, mid, raw=bytes(180)):
    """What is no HelloAck in the place of one."""
    c.port.send_mad(c.host, sdp.REP, roce.rep(
        c.id, c.their_id, c.qp.qpn, c.qp.expect_psn,
        sdp.Message(mid, bufs=32, raw=raw).pack()), tid=c.tid)


@case(('Len 204', {'len': 204}), ('Len 24', {'len': 24}), ('MaxAdverts 0', {'max_adverts': 0}),
      ('MaxAdverts 255', {'max_adverts': 255}), ('version 2.0', {'version': 0x20}),
      ('Cap', {'reserved1': 0x41}), ('reserved bits', {'reserved3': b'\xff' * 172}), connect=1)
def hello_ack_accepted(t, field):
    c, s = t.down(**field)
    t.talk(c, s)
    t.kernel_closes(c, s)


# ---- foreign, but legal: what is offered is refused here, and read in adverts.py ----

@case(('64 of 5000', 64, 5000), ('1 of 40000', 1, 40000), ('all but 1', FULL - 17, FULL - 16),
      ipv=(4, 6), accept=1, src_avail=1, sendsm=1)
def src_avail(t, inlined, size):
    """SendSm, and the data comes by copy: the inline bytes once, and first."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up()
    c.send_data(pattern(500, 1))
    data = pattern(size, 2)
    m = c.send(sdp.SRC_AVAIL, data[:inlined], size=size, rkey=0x1234, va=0x1000)
    assert c.expect(sdp.SEND_SM).ack == m.mseq
    c.send_data(data[inlined:])
    t.reads(s, pattern(500, 1) + data)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=20, sendsm=20)
def src_avail_many(t):
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up()
    for i in range(20):
        data = pattern(3000, i)
        while c.credits() < 3:
            c.recv()
        c.send(sdp.SRC_AVAIL, data[:100], size=3000, rkey=1, va=0)
        c.expect(sdp.SEND_SM)
        c.send_data(data[100:])
        t.reads(s, data)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1)
def src_avail_all_inline(t):
    """Data by another name: no SendSm is owed (section 7)."""
    c, s = t.up()
    c.send(sdp.SRC_AVAIL, pattern(300), size=300, rkey=1, va=0)
    t.reads(s, pattern(300))
    t.quiet(c, s)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def src_avail_cancel(t):
    """The SendSm ends the advert; a cancel behind it finds nothing."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up()
    c.send(sdp.SRC_AVAIL, pattern(100), size=1000, rkey=1, va=0)
    c.send(sdp.SRC_AVAIL_CANCEL)
    c.expect(sdp.SEND_SM)
    t.quiet(c)
    c.send_data(pattern(1000)[100:])
    t.reads(s, pattern(1000))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def src_avail_of_an_older_kind(t):
    """A source that does not count the inline bytes as sent may not do so at
    64 or more (4.6); what we answer is the same."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up()
    t.sent(s, 1000)
    c.send(sdp.SRC_AVAIL, pattern(64), flags=sdp.REQ_PIPE, size=2000, rkey=1, va=0)
    c.expect_data(pattern(1000))
    c.expect(sdp.SEND_SM)
    c.send_data(pattern(2000)[64:])
    t.reads(s, pattern(2000))
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def pipelined(t):
    """After ModeChange SrcAvails have no inline bytes; SendSm all the same."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up()
    assert t.remote.info(s)['mode_recv'] == 1
    c.send(sdp.MODE_CHANGE, mode=0x20)
    c.send(sdp.SRC_AVAIL, size=4000, rkey=1, va=0)
    c.expect(sdp.SEND_SM)
    assert t.remote.info(s)['mode_recv'] == 2
    c.send_data(pattern(4000))
    t.reads(s, pattern(4000))
    c.send(sdp.MODE_CHANGE, mode=0x10)
    t.talk(c, s)
    assert t.remote.info(s)['mode_recv'] == 1 and t.remote.info(s)['mode_send'] == 1
    t.kernel_closes(c, s)


@case(accept=1)
def buffered(t):
    c, s = t.up()
    c.send(sdp.MODE_CHANGE, mode=0x00)
    t.talk(c, s)
    assert t.remote.info(s)['mode_recv'] == 0 and t.remote.info(s)['mode_send'] == 1
    t.kernel_closes(c, s)


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
    t.tell(c, s, 100000)
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


@case(('given', 4096), ('less', 8192), ('refused', wire.RCVSZ), connect=1, shrinks=1)
def asks_for_less_when_idle(t, answer):
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
    c.bufs = 32
    c.send(sdp.DATA)
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


@case(('as asked', wire.RCVSZ, wire.RCVSZ), ('more', 1 << 31, 32768), ('refused', 4096, 4096),
      ('nonsense', 0, 4096), connect=1)
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


@case(accept=1)
def suspend(t):
    """Acknowledged and nothing more: the connection stays (5.2)."""
    c, s = t.up()
    c.send(sdp.SUSP_COMM, sid=0x1c001)
    c.expect(sdp.SUSP_COMM_ACK)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(('SendSm', sdp.SEND_SM), ('SrcAvailCancel', sdp.SRC_AVAIL_CANCEL),
      ('SinkAvailCancel', sdp.SINK_AVAIL_CANCEL), ('update', sdp.DATA),
      ('experimental 0x40', 0x40), ('experimental 0x7f', 0x7f), accept=1)
def ignored(t, mid):
    c, s = t.up()
    c.send(mid)
    t.quiet(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def experimental_with_payload(t):
    """Nobody knows what it is, so it is no data; its credits count."""
    c, s = t.up()
    c.send(0x50, pattern(500))
    t.quiet(c, s)
    t.kernel_closes(c, s)


@case(('PRES', sdp.OOB_PRES), ('PEND', sdp.OOB_PEND), ('both', sdp.OOB_PRES | sdp.OOB_PEND),
      ('REQ_PIPE', sdp.REQ_PIPE), ('reserved', 0xf8), accept=1)
def flags(t, flags):
    """Inline no byte of urgent data is lost, whatever was announced."""
    c, s = t.up()
    t.remote.option(s, socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    c.send(sdp.DATA, pattern(100, 5), flags=flags)
    c.send_data(pattern(100, 6))
    t.reads(s, pattern(100, 5) + pattern(100, 6))
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1)
def urgent_heard(t):
    """A signal with the first word of it, and no second with the byte."""
    c, s = t.up()
    t.remote.watch_urgent(s)
    signals = 0
    for announce in 'data', 'update', 'itself', 'never':
        if announce == 'data':
            c.send(sdp.DATA, b'12', flags=sdp.OOB_PEND)
            t.reads(s, b'12')
        elif announce == 'update':
            c.send(sdp.DATA, flags=sdp.OOB_PEND)
        signals += 1
        if announce not in ('itself', 'never'):
            until('a signal', lambda: t.remote.signals() == signals)
            assert t.remote.recv_urgent(s) == errno.EAGAIN
            assert not t.remote.poll(s) & select.POLLPRI
        c.send(sdp.DATA, b'abcX', flags=sdp.OOB_PRES | (
            sdp.OOB_PEND if announce == 'itself' else 0))
        t.reads(s, b'abc')
        until('POLLPRI', lambda: t.remote.poll(s) & select.POLLPRI)
        assert t.remote.recv_urgent(s) == 'X'
        assert t.remote.recv_urgent(s) == errno.EINVAL
        assert t.remote.signals() == signals, f'{announce}: {t.remote.signals()} signals'
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(connect=1)
def urgent_sent(t):
    """Announced by what goes first, once each, and at the end of its message."""
    def sends():
        m = c.expect(sdp.DATA)
        c.send(sdp.DATA)
        return m.payload, m.flags

    c, s = t.down(bufs=3)
    assert t.remote.send_urgent(s, 'abX') == 3
    t.sent(s, 2 * FULL)                 # waits for credits
    assert t.remote.send_urgent(s, 'Y') == 1
    assert t.remote.send_urgent(s, 'Z') == 1
    t.sent(s, 4)
    got = [sends() for _ in range(6)]
    pend, pres = sdp.OOB_PEND, sdp.OOB_PRES
    assert [f for _, f in got] == [pend | pres, pend, pend, pres, pres, 0], got
    assert [p for p, _ in got] == [b'abX', pattern(2 * FULL)[:FULL], pattern(2 * FULL)[FULL:],
                                   b'Y', b'Z', pattern(4)]
    t.kernel_closes(c, s)


@case(accept=1, resets=1)
def abort_conn(t):
    c, s = t.up()
    c.send_data(pattern(100))
    c.send(sdp.ABORT_CONN)
    c.expect_dreq()
    t.reads(s, pattern(100))
    assert t.remote.ended(s) == errno.ECONNRESET


@case(accept=1, resets=1)
def abort_conn_after_disconn(t):
    """The reader has seen the end; a writer hears EPIPE, as with TCP."""
    c, s = t.up()
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    c.send(sdp.ABORT_CONN)
    c.expect_dreq()
    until('the error', lambda: t.remote.error(s) == errno.EPIPE)


# ---- illegal ----

SRC, SINK = {'size': 1000, 'rkey': 1, 'va': 0}, {'size': 100000, 'rkey': 1, 'va': 0}


@case(('reserved 0x0f', 0x0f), ('reserved 0x3f', 0x3f), ('reserved 0x80', 0x80),
      ('reserved 0xfc', 0xfc), ('Hello', sdp.HELLO), ('HelloAck', sdp.HELLO_ACK),
      ('RdmaWrCompl', sdp.RDMA_WR_COMPL), ('RdmaRdCompl', sdp.RDMA_RD_COMPL),
      ('SinkCancelAck', sdp.SINK_CANCEL_ACK), ('ChRcvBufAck', sdp.CH_RCV_BUF_ACK),
      ('SuspCommAck', sdp.SUSP_COMM_ACK), accept=1, **BROKEN)
def not_expected(t, mid):
    c, s = t.up()
    c.send(mid)
    t.reset(c, s)


@case(('in combined mode', ()), ('in pipelined mode', (0x20,)), ('in buffered mode', (0x00,)),
      accept=1, **BROKEN)
def sink_avail(t, modes):
    """Our half never leaves combined mode, where there is no SinkAvail.  The
    mode of the other half makes no difference."""
    c, s = t.up()
    for mode in modes:
        c.send(sdp.MODE_CHANGE, mode=mode)
    c.send(sdp.SINK_AVAIL, non_discards=0, **SINK)
    t.reset(c, s)


@case(('no inline bytes', (), b''), ('inline in pipelined mode', (0x20,), b'x'),
      ('in buffered mode', (0x00,), b'x'), accept=1, src_avail=1, **BROKEN)
def src_avail_in_the_wrong_mode(t, modes, inline):
    c, s = t.up()
    for mode in modes:
        c.send(sdp.MODE_CHANGE, mode=mode)
    c.send(sdp.SRC_AVAIL, inline, **SRC)
    t.reset(c, s)


@case(('longer than its buffer', 100, 99), ('buffer of 0', 1, 0), accept=1, **BROKEN)
def src_avail_contradicts_itself(t, inlined, size):
    c, s = t.up()
    c.send(sdp.SRC_AVAIL, pattern(inlined), size=size, rkey=1, va=0)
    t.reset(c, s)


@case(('combined to combined', (0x10,)), ('buffered to pipelined', (0x00, 0x20)),
      ('buffered to combined, by the source', (0x00, 0x10)),
      ('pipelined to buffered', (0x20, 0x00)), ('pipelined twice', (0x20, 0x20)),
      ('mode 3', (0x30,)), ('mode 7', (0x70,)), ('sink: combined', (0x90,)),
      ('sink: buffered', (0x80,)), ('sink: pipelined', (0xa0,)), accept=1, **BROKEN)
def mode_change(t, modes):
    """Transitions that 4.2 does not have."""
    c, s = t.up()
    for mode in modes:
        c.send(sdp.MODE_CHANGE, mode=mode)
    t.reset(c, s)


@case(('Len one less', {'payload': b'hello', 'len': 20}),
      ('Len one more', {'payload': b'hello', 'len': 22}),
      ('Len 0', {'payload': b'hello', 'len': 0}), ('Len huge', {'payload': b'hello', 'len': 1 << 31}),
      ('DisConn with payload', {'mid': sdp.DISCONN, 'raw': b'x'}),
      ('ModeChange cut', {'mid': sdp.MODE_CHANGE, 'raw': b'\x20'}),
      ('SrcAvail cut', {'mid': sdp.SRC_AVAIL, 'raw': bytes(15)}),
      ('ChRcvBuf too long', {'mid': sdp.CH_RCV_BUF, 'raw': bytes(5)}), accept=1, **BROKEN)
def malformed(t, field):
    c, s = t.up()
    c.send(**{'mid': sdp.DATA, **field})
    t.reset(c, s)


@case(('0 bytes', 0), ('1 byte', 1), ('15 bytes', 15), accept=1, **BROKEN)
def too_short(t, size):
    c, s = t.up()
    c.send_raw(b'\xff' * size)
    t.reset(c, s)


@case(accept=1, resets=1)
def too_long(t):
    """More than the posted buffer holds: the device says no, and the
    connection is lost."""
    c, s = t.up()
    c.send(sdp.DATA, bytes(FULL + 1))
    c.port.wait('the NAK', lambda: c.qp.nak is not None)
    print(f'# NAK {c.qp.nak}')
    assert t.remote.ended(s) == errno.ECONNRESET
    t.close(s)


@case(('repeated', 0), ('one left out', 2), ('far ahead', 1 << 31), ('0', -1), accept=1, **BROKEN)
def wrong_mseq(t, step):
    c, s = t.up()
    c.send_data(pattern(10))
    c.send(sdp.DATA, b'x', mseq=c.mseq + step)
    t.reads(s, pattern(10))
    t.reset(c, s)


@case(('of the future', 1), ('far ahead', 1 << 31), ('gone back', -1), accept=1, **BROKEN)
def wrong_mseq_ack(t, step):
    c, s = t.up()
    t.sent(s, 10)
    c.expect_data(pattern(10))
    c.send(sdp.DATA)
    c.send(sdp.DATA, ack=c.heard + step)
    t.reset(c, s)


@case(accept=1, **BROKEN)
def credits_taken_back(t):
    """Fewer buffers than messages are under way: the credits are negative."""
    c, s = t.up()
    for i in range(3):
        t.sent(s, 10, i)
        c.expect_data(pattern(10, i))
    c.send(sdp.DATA, bufs=2, ack=0)
    t.reset(c, s)


@case(('data', sdp.DATA, b'x'), ('DisConn', sdp.DISCONN, b''), accept=1, **BROKEN)
def after_disconn(t, mid, payload):
    """Nothing of the stream comes behind its end.  The reader has seen that
    end, so the error is EPIPE, and a writer's."""
    c, s = t.up()
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    c.send(mid, payload)
    c.expect_dreq()
    assert t.remote.hung_up(s)
    until('the error', lambda: t.remote.error(s) in (errno.ECONNRESET, errno.EPIPE))


@case(accept=1)
def update_after_disconn(t):
    """An update and answers of the other half are still heard (6.1)."""
    c, s = t.up()
    c.send(sdp.DISCONN)
    assert t.remote.ended(s) == 'eof'
    c.send(sdp.DATA)
    c.send(sdp.CH_RCV_BUF, size=65536)
    c.expect(sdp.CH_RCV_BUF_ACK)
    t.sent(s, 100000)
    c.expect_data(pattern(100000))
    t.close(s)
    c.expect(sdp.DISCONN)
    c.dreq()


@case(('Data', sdp.DATA, b'x'), ('DisConn', sdp.DISCONN, b''), accept=1, src_avail=1, **BROKEN)
def behind_src_avail(t, mid, payload):
    """What belongs behind an advert may not come before its rest: no gap is
    delivered.  With one credit the kernel cannot say SendSm yet."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up(t.peer.hello(t.host, bufs=1))
    c.send(sdp.SRC_AVAIL, pattern(64), **SRC)
    c.send(mid, payload)
    t.reads(s, pattern(64))
    t.reset(c, s)


@case(('combined', b'x', (), 1), ('pipelined', b'', (0x20,), 8), accept=1, **BROKEN)
def too_many_adverts(t, inline, modes, many):
    """One in combined mode; in pipelined as many as we said we hold."""
    t.counted_by_case = {'src_avail'}
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up(t.peer.hello(t.host, bufs=1))
    for mode in modes:
        c.send(sdp.MODE_CHANGE, mode=mode)
    for _ in range(many):
        c.send(sdp.SRC_AVAIL, inline, **SRC)
    t.reads(s, inline)
    t.quiet(c)
    c.send(sdp.SRC_AVAIL, inline, **SRC)
    t.reset(c, s)


@case(accept=1, src_avail=1, **BROKEN)
def buffered_with_an_advert(t):
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up(t.peer.hello(t.host, bufs=1))
    c.send(sdp.SRC_AVAIL, b'x', **SRC)
    c.send(sdp.MODE_CHANGE, mode=0x00)
    t.reads(s, b'x')
    t.reset(c, s)


@case(accept=1, src_avail=1)
def back_to_combined_with_an_advert(t):
    """The source takes its advert back itself, so what follows is in order."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up(t.peer.hello(t.host, bufs=1))
    c.send(sdp.MODE_CHANGE, mode=0x20)
    c.send(sdp.SRC_AVAIL, **SRC)
    c.send(sdp.MODE_CHANGE, mode=0x10)
    c.send(sdp.DATA, pattern(1000))
    t.reads(s, pattern(1000))
    # The answer that was owed, and had no credit, is not any more.
    c.bufs = 32
    c.send(sdp.DATA)
    t.talk(c, s)
    t.kernel_closes(c, s)


@case(accept=1, src_avail=1, sendsm=1)
def send_sm_waits_for_a_credit(t):
    """It is not forgotten: the source is not left waiting."""
    t.sysctl('zcopy_thresh', 0)
    c, s = t.up(t.peer.hello(t.host, bufs=1))
    c.send(sdp.SRC_AVAIL, pattern(64), **SRC)
    t.reads(s, pattern(64))
    t.quiet(c)
    c.bufs = 32
    c.send(sdp.DATA)
    c.expect(sdp.SEND_SM)
    c.send_data(pattern(1000)[64:])
    t.reads(s, pattern(1000)[64:])
    t.talk(c, s)
    t.kernel_closes(c, s)


# ---- credits ----

@case(('0', 0), ('1', 1), ('2', 2), ipv=(4, 6), connect=1)
def starts_without_credits(t, bufs):
    """No data goes with fewer than 3 buffers (3.2); then it does."""
    c, s = t.down(bufs=bufs)
    t.sent(s, 1000)
    t.quiet(c)
    c.bufs = 32
    c.send(sdp.DATA)
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
    c.bufs = 32
    c.send(sdp.DATA)
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
    c.bufs = 32
    c.send(sdp.DATA)
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
    c.bufs = 32
    c.send(sdp.DATA)
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


# ---- silence ----

@case(('REQ', False), ('REQ, TCP not there', True), connect_fail=1)
def no_answer(t, ulp):
    t.patience(int(700 * FACTOR))
    start = time.monotonic()
    s = t.remote.connect(t.peer.address, PEER_PORT)
    t.open.append(s)
    got = t.remote.connected(s)
    took = time.monotonic() - start
    assert got == errno.ETIMEDOUT, f'connect gave {got}'
    assert 0.6 * FACTOR < took < LIMIT, took


@case(connect_fail=1)
def answer_comes_late(t):
    """The attempt has been given up: the REP is not taken, no ghost stays."""
    t.patience(int(500 * FACTOR))
    c, s = t.begin()
    assert t.remote.connected(s) == errno.ETIMEDOUT
    c.reply()
    time.sleep(0.3)
    assert not c.port.has_mad(lambda m: m.attr == sdp.RTU)


@case(accept=1, resets=1)
def never_acknowledges(t):
    """The device gives up after its retries; the user hears of it."""
    c, s = t.up()
    c.qp.mute = True
    c.port.answer_dreq = False
    t.sent(s, 100)
    start = time.monotonic()
    assert t.remote.hung_up(s, 30 * FACTOR)
    print(f'# lost after {time.monotonic() - start:.1f} s')
    assert t.remote.error(s) == errno.ETIMEDOUT


@case(accept=1)
def dreq_is_not_answered(t):
    """The close was orderly; what is left of it goes in bounded time."""
    c, s = t.up()
    c.port.answer_dreq = False
    t.close(s)
    c.expect(sdp.DISCONN)
    c.send(sdp.DISCONN)
    c.expect_dreq()
    start = time.monotonic()
    until('the connection goes', lambda: not t.ours(), 30 * FACTOR)
    print(f'# gone after {time.monotonic() - start:.1f} s')


@case(accept=1)
def disconn_is_not_answered(t):
    """fin_timeout; then AbortConn, since our DisConn has gone, and DREQ."""
    t.sysctl('fin_timeout', int(500 * FACTOR))
    c, s = t.up()
    t.close(s)
    c.expect(sdp.DISCONN)
    c.expect(sdp.ABORT_CONN)
    c.expect_dreq()


@case(accept=1)
def peer_is_gone(t):
    """Neither DisConn nor acknowledgement nor DREP: all of it is bounded."""
    t.sysctl('fin_timeout', 500)        # before the device gives up, after 4 s
    c, s = t.up()
    t.talk(c, s, 100)
    c.port.silent = True
    t.close(s)
    start = time.monotonic()
    until('the connection goes', lambda: not t.ours(), 40 * FACTOR)
    print(f'# gone after {time.monotonic() - start:.1f} s')


@case(accept=1)
def peer_is_gone_later(t):
    """The same after its device has acknowledged our DisConn."""
    t.sysctl('fin_timeout', int(500 * FACTOR))
    c, s = t.up()
    t.close(s)
    c.expect(sdp.DISCONN)
    c.port.silent = True
    start = time.monotonic()
    until('the connection goes', lambda: not t.ours(), 40 * FACTOR)
    print(f'# gone after {time.monotonic() - start:.1f} s')


@case(accept=2, resets=2)
def half_open(t):
    """Requests whose sender is gone, or never was where it said: Hello and REQ
    agree on an address that is not ours, so the answer goes there.  They do
    not hold their places for ever, however long the REQ asks the CM to wait."""
    t.patience(int(2000 * FACTOR))
    c = t.peer.request(t.host, PORT, timeout=31)
    t.conns.append(c)
    c.answer()
    forged = wire.Conn(t.peer, t.host, 4096)
    t.conns.append(forged)
    h = t.peer.hello(t.host, src=address('10.9.0.99'))
    t.peer.port.send_mad(t.host, sdp.REQ, roce.req(
        forged.id, forged.qp.qpn, forged.qp.expect_psn, '10.9.0.99', t.host,
        wire.SERVICE + PORT, h.pack(), timeout=31))

    def there():
        return [x for x in t.remote.connections() if x[2] in (c.hello.port, h.port)]
    until('both are admitted', lambda: len(there()) == 2)
    c.qp.peer_qpn = None                # not ours to end
    until('both are gone', lambda: not there(), 30 * FACTOR)
    assert not t.remote.acceptable(t.listeners[4])
    assert not t.peer.port.has_mad(lambda m: m.remote_id == forged.id), 'an answer came here'


# ---- limits ----

@case(reject_limit=1)
def max_conns(t):
    t.sysctl('max_conns', len(t.remote.connections()))
    rejected(t, t.peer.hello(t.host))


@case(reject_limit=1)
def max_conns_user(t):
    t.sysctl('max_conns_user', len(t.remote.connections()))
    rejected(t, t.peer.hello(t.host))


@case(('max_conns', 'max_conns'), ('max_conns_user', 'max_conns_user'), connect_fail=1)
def limit_of_connect(t, name):
    t.sysctl(name, len(t.remote.connections()))
    try:
        s = t.remote.connect(t.peer.address, PEER_PORT)
        t.open.append(s)
        got = t.remote.connected(s)
    except OSError as e:
        got = e.errno
    assert got == errno.EUSERS, f'connect gave {got}'


@case(accept=3, reject_limit=1, aborts=1)
def limit_is_given_back(t):
    t.sysctl('max_conns', len(t.remote.connections()) + 2)
    (c1, s1), (c2, s2) = t.up(), t.up()
    rejected(t, t.peer.hello(t.host))
    t.close(s1, 0)
    c1.expect_dreq()
    until('its place is free', lambda: len(t.ours()) == 1)
    c3, s3 = t.up()
    t.kernel_closes(c2, s2)
    t.kernel_closes(c3, s3)


@case(accept=2, reject_backlog=1)
def backlog(t):
    """As with TCP one more than the number given."""
    n = t.remote.listen(PORT + 3, False, 1)
    t.open.append(n)
    for _ in range(2):
        t.conns.append(t.peer.connect(t.host, PORT + 3))
    rejected(t, t.peer.hello(t.host), port=PORT + 3)
    for c in t.conns[:2]:
        s = t.remote.accept(n)[0]
        t.open.append(s)
        t.kernel_closes(c, s)


@case(reject_listener=1)
def disabled(t):
    t.sysctl('enable', 0)
    rejected(t, t.peer.hello(t.host), INVALID_SERVICE_ID)


# ---- who asks before he connects (SIDR) ----

def asked(t, port):
    """The kernel's word on whether this port takes SDP."""
    ours = t.peer.port.fresh()[1]
    t.peer.port.send_mad(t.host, sdp.SIDR_REQ, roce.sidr_req(ours, wire.SERVICE + port))
    return t.peer.port.mad('SIDR REP', lambda m: m.attr == sdp.SIDR_REP and
                           m.remote_id == ours).status


@case()
def asked_whether(t):
    """A question is answered by who listens, and nothing comes of it."""
    assert asked(t, PORT) == 0
    assert asked(t, PORT + 900) == 1
    t.sysctl('enable', 0)
    assert asked(t, PORT) == 2
    assert not t.remote.acceptable(t.listeners[4], 0.2)
    assert not t.ours()


@case(('yes', 0), ('no', 1), ('refused', 2), ('nonsense', 77), ('silence', None))
def asks_first(t, status):
    """net.sdp.learn: who may fall back asks us, and goes by TCP meanwhile (where
    nobody listens here)."""
    t.patience(int(1500 * FACTOR))
    t.sysctl('cache_timeout', 600000)
    t.sysctl('learn', 1)
    before = t.remote.counters()

    def moved(name):
        return t.remote.counters()[name] - before[name]

    def by_tcp():
        s = t.remote.connect(t.peer.address, t.port, True)
        t.open.append(s)
        assert t.remote.connected(s) == errno.ECONNREFUSED
        t.close(s)

    t.port = PEER_PORT + 1 + (100 if status is None else status)  # not known yet
    by_tcp()
    q = t.peer.port.mad('SIDR REQ', lambda m: m.attr == sdp.SIDR_REQ)
    assert q.service_id == wire.SERVICE + t.port
    by_tcp()
    assert (moved('fallback_learning'), moved('fallback'), moved('probes')) == (2, 2, 1)
    t.counted_by_case = {'fallback', 'connect'}
    if status is not None:
        t.peer.port.send_mad(t.host, sdp.SIDR_REP,
                             roce.sidr_rep(q.local_id, q.service_id, status), tid=q.tid)
    if status == 0:
        c = None
        end = time.monotonic() + LIMIT
        s = t.remote.connect(t.peer.address, t.port, True)
        t.open.append(s)
        while not c:
            assert time.monotonic() < end, 'no REQ comes'
            try:
                c = t.peer.accept(0.5)
            except TimeoutError:
                # Still by TCP; or else the REQ of this one is on its way.
                if t.remote.is_ready(s, select.POLLOUT):
                    t.close(s)
                    s = t.remote.connect(t.peer.address, t.port, True)
                    t.open.append(s)
        t.conns.append(c)
        c.establish()
        assert t.remote.connected(s) == 0
        assert moved('connect') == 1
        t.talk(c, s)
        t.kernel_closes(c, s)
    else:
        until('the answer is known', lambda: (by_tcp(), moved('fallback_cached') > 0)[1],
              20 * FACTOR)
        assert moved('probes') == 1 and not moved('connect')
        assert not t.peer.port.has_mad(lambda m: m.attr == sdp.REQ), 'a REQ came'


import adverts  # noqa: E402,F401  their cases come behind these
import leases  # noqa: E402,F401
import writes  # noqa: E402,F401
import ends  # noqa: E402,F401

if __name__ == '__main__':
    main()
