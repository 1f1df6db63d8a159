# SPDX-License-Identifier: GPL-2.0
"""Cases of setting up: Hellos right and wrong, answers of all kinds and none, limits,
and who asks before he connects; imported by wire.py.
"""
import errno
import select
import socket
import threading
import time

import peer as wire
import roce
import sdp_decode as sdp
from harness import (CONSUMER_DEFINED, HOST, INVALID_GID, INVALID_SERVICE_ID, PEER_PORT, PORT,
                     STALE_CONN, STATES, UNSUPPORTED, case, until)
from roce import FACTOR, LIMIT
from sockets import pattern

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
    rejected(t, h, UNSUPPORTED)


HEADS = [(f'{name} {v}', {name: v}) for name, values in (
    ('flags', (1, 0xfe, 0xff)), ('mseq', (1, 0xfffffffe, 0xffffffff)),
    ('ack', (1, 0xfffffffe, 0xffffffff)), ('bufs', (0, 1, 33, 0xfffe, 0xffff))) for v in values]


@case(('minor version 15', {'version': 0x2f}), ('Cap 1', {'ipv_cap': 0x41}),
      ('Cap and ExtMaxAdverts', {'ipv_cap': 0x43, 'ext_max_adverts': 300}),
      ('MaxAdverts 255', {'max_adverts': 255}), ('reserved bits', {'reserved4': b'\xff' * 24}),
      ('ExtMaxAdverts 1', {'ipv_cap': 0x42, 'ext_max_adverts': 1}),
      ('ExtMaxAdverts 65535', {'ipv_cap': 0x42, 'ext_max_adverts': 0xffff}),
      ('DesRemRcvSz 0', {'des_rcvsz': 0}), ('DesRemRcvSz 1', {'des_rcvsz': 1}),
      ('DesRemRcvSz 2^32-1', {'des_rcvsz': 0xffffffff}),
      ('buffers of 2^32-2', {'rcvsz': 0xfffffffe}), ('buffers of 2^32-1', {'rcvsz': 0xffffffff}),
      ('port 1', {'port': 1}), ('port 65535', {'port': 0xffff}), *HEADS, accept=1)
def hello_accepted(t, field):
    """What a Hello has no use for is not looked at; Bufs are what they like."""
    c, s = t.up(t.peer.hello(t.host, **field))
    if c.bufs < 32:
        c.post(32)
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
    rejected(t, t.peer.hello(t.host, **{field: address(text)}), INVALID_GID)


@case(('other source', 'src', 'fd09::99'), ('source is IPv4', 'src', '::ffff:10.9.0.77'),
      ('source is the link-local one', 'src', 'fe80::5054:ff:fe09:77'),
      ('other destination', 'dst', 'fd09::2'), ('destination ::', 'dst', '::'),
      ('destination is IPv4', 'dst', '::ffff:10.9.0.1'),
      ipv=(6,), reject_path=1)
def forged_address6(t, field, text):
    rejected(t, t.peer.hello(t.host, **{field: address(text)}), INVALID_GID)


@case(reject_path=1)
def forged_family(t):
    """Addresses of the other family, each right in itself; where there is one."""
    rejected(t, t.peer.hello(t.host, ipv_cap=0x60, src=address('fd09::77'),
                             dst=address('fd09::1')), INVALID_GID)


@case(reject_path=1, ipv=(6,))
def forged_family6(t):
    rejected(t, t.peer.hello(t.host, ipv_cap=0x40, src=address('10.9.0.77'),
                             dst=address('10.9.0.1')), INVALID_GID)


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
@case(('no queue pair', 1), ('invalid id', 6), ('service id', 8), ('invalid GID', 12),
      ('unknown reason', 999), ipv=(4, 6), connect_fail=1)
def connect_rejected(t, reason):
    c, s = t.begin()
    c.reject(reason)
    got = t.remote.connected(s)
    assert got == errno.ECONNREFUSED, f'connect gave {got}'


def asks_again(t):
    return t.remote.counters()['connect_again']


@case(('no room', CONSUMER_DEFINED), ('stale', STALE_CONN), ipv=(4, 6), connect=1)
def rejected_for_now(t, reason):
    """A full backlog is asked again, by the same queue pair, as TCP's is; and so is
    one who takes it for that of a connection before, which he ends then."""
    before = asks_again(t)
    c, s = t.begin()
    qpn, hello = c.qp.peer_qpn, vars(c.hello)
    for _ in range(4):
        c.reject(reason)
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


def is_tcp(t, listener, s, why):
    """And the socket and a trace point tell why."""
    assert t.remote.connected(s) == 0
    got = t.remote.why_tcp(s)
    assert got == why, f'IP_SDP_INFO: {got}, not {why}'
    lines = t.remote.traced('sdp_fallback')
    assert len(lines) == 1 and lines[0].endswith(f' reason={why} tcp'), lines
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
        is_tcp(t, listener, s, why)
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
      ('Cap', {'reserved1': 0x41}), ('reserved bits', {'reserved3': b'\xff' * 172}),
      ('buffers of 2^32-2', {'rcvsz': 0xfffffffe}), ('buffers of 2^32-1', {'rcvsz': 0xffffffff}),
      *HEADS, connect=1)
def hello_ack_accepted(t, field):
    c, s = t.down(**field)
    if c.bufs < 32:
        c.post(32)
    t.talk(c, s)
    t.kernel_closes(c, s)


# ---- silence ----

@case(('REQ', False), ('REQ, TCP not there', True), connect_fail=1, clock=True)
def no_answer(t, ulp):
    """Who asked for SDP hears that; who may fall back, what TCP has to say then."""
    t.patience(int(700 * FACTOR))
    start = time.monotonic()
    s = t.remote.connect(t.peer.address, PEER_PORT, ulp)
    t.open.append(s)
    got = t.remote.connected(s)
    took = time.monotonic() - start
    assert got == (errno.ECONNREFUSED if ulp else errno.ETIMEDOUT), f'connect gave {got}'
    assert 0.6 * FACTOR < took < LIMIT, took
    assert t.moved()['fallback'] == ulp
    t.counted_by_case = {'fallback'}


@case(connect_fail=1, clock=True)
def answer_comes_late(t):
    """The attempt has been given up: the REP is not taken, no ghost stays."""
    t.patience(int(500 * FACTOR))
    c, s = t.begin()
    assert t.remote.connected(s) == errno.ETIMEDOUT
    c.reply()
    time.sleep(0.3)
    assert not c.port.has_mad(lambda m: m.attr == sdp.RTU)


@case(accept=1, resets=1, clock=True)
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


@case(accept=1, clock=True)
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


@case(accept=1, clock=True)
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


@case(accept=1, clock=True)
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


@case(accept=1, resets=1)
def half_open(t):
    """A request whose sender is gone does not hold its place for ever, however long the
    REQ asks the CM to wait."""
    t.patience(int(2000 * FACTOR))
    c = t.peer.request(t.host, PORT, timeout=31)
    t.conns.append(c)
    c.answer()
    until('it is admitted', lambda: len(t.ours()) == 1)
    c.qp.peer_qpn = None                # not ours to end
    until('it is gone', lambda: not t.ours(), 30 * FACTOR)
    assert not t.remote.acceptable(t.listeners[4])


@case(('for now', CONSUMER_DEFINED), ('for good', UNSUPPORTED), accept=2, resets=1)
def rep_rejected(t, reason):
    """Whoever closes with our REP in its hands is gone at once: its place in the backlog
    is another's.  A CM says "consumer defined" then, as for a lack of room."""
    t.patience(600000)                  # it is not the time that ends it
    n = t.remote.listen(PORT + 4, False, 0)
    t.open.append(n)
    c = t.peer.request(t.host, PORT + 4)
    t.conns.append(c)
    c.answer()
    until('it is admitted', lambda: len(t.ours()) == 1)
    c.reject(reason, 1)
    until('it is gone', lambda: not t.ours())
    t.conns.append(t.peer.connect(t.host, PORT + 4))
    s = t.remote.accept(n)[0]
    t.open.append(s)
    t.kernel_closes(t.conns[-1], s)


@case(accept=5, proto_errors=5, aborts=5, ipv=(4, 6))
def wrong_before_the_rtu(t):
    """A first message that ends what it has established, and no RTU, though the REQ asks
    for fifteen REPs in four seconds each.  Our REP is taken back after five; the CM id,
    and a worker of the module, would be kept for a minute."""
    conns = [t.peer.request(t.host, PORT, timeout=20) for _ in range(5)]
    t.conns.extend(conns)
    for c in conns:
        c.answer()
        c.send(sdp.DATA, mseq=77)
        t.close(t.accept())
    for c in conns:
        rej = c.mad('REJ', sdp.REJ, limit=5 + LIMIT)
        assert rej.reason == CONSUMER_DEFINED, f'REJ reason {rej.reason}'
        c.qp.close()
    until('the connections go', lambda: not t.ours())


@case(accept=1, resets=1, ipv=(4, 6))
def lost_before_the_rtu(t):
    """What our device ends then is over at once, and a REJ says so: no DREQ waits for
    the RTU."""
    c = t.peer.request(t.host, PORT, timeout=20)
    t.conns.append(c)
    c.answer()
    c.send_data(pattern(10))
    s = t.accept()
    t.reads(s, pattern(10))
    c.qp.send(bytes(wire.RCVSZ + 1))
    assert t.remote.ended(s) == errno.ECONNRESET
    t.close(s)
    until('it is gone', lambda: not t.ours(), 4)
    rej = c.mad('REJ', sdp.REJ)
    assert rej.reason == CONSUMER_DEFINED, f'REJ reason {rej.reason}'
    c.qp.close()


@case(('DREQ', lambda c: c.dreq(False)), ('REJ', lambda c: c.reject(CONSUMER_DEFINED, 1)),
      ipv=(4, 6))
def ended_before_the_rtu(t, end):
    """And who says at once that he is gone, in words of the CM, is gone, whether those
    or his message are heard first: nor is a REP repeated to him.  If the module's worker
    is no further than the REP itself, nothing was accepted; but there was room."""
    t.counted_by_case |= {'accept', 'resets', 'aborts'}
    for _ in range(20):
        c = t.peer.request(t.host, PORT, timeout=20)
        t.conns.append(c)
        c.answer()
        c.send_data(pattern(10))
        end(c)
        while t.remote.acceptable(t.listeners[t.ipv], 0.05):
            t.close(t.accept())
    until('the connections go', lambda: not t.ours())


@case(ipv=(4, 6))
def taken_back(t):
    """The server has no room after all, and says so right behind its answer: who asked
    asks again, as one does who got no answer.  Unless he is so fast that he is
    connected, and reset; he has another processor then.  In between his queue pair is
    at work and cannot ask again: he is told, as of a backlog full for all his time."""
    t.counted_by_case |= {'connect', 'connect_fail', 'resets'}
    processors = []

    def failed():
        return t.remote.counters()['connect_fail']

    for _ in range(20):
        c, s = t.begin()
        before = failed()
        busy = threading.Thread(target=lambda: processors.append(t.remote.hog(200)))
        busy.start()
        time.sleep(0.05)
        c.reply()
        c.reject(CONSUMER_DEFINED, 1)
        busy.join()
        until('a REQ or RTU, or that connect() fails', lambda: c.port.has_mad(
            lambda m: m.attr in (sdp.REQ, sdp.RTU)) or failed() > before)
        if c.port.has_mad(lambda m: m.attr == sdp.REQ):
            break
        t.conns.remove(c)
        if failed() > before:
            got = t.remote.connected(s)
            assert got == errno.ETIMEDOUT, f'connect gave {got}'
            t.close(s)
            continue
        c.mad('RTU', sdp.RTU)
        assert t.remote.hung_up(s)      # or it would be aborted
        t.close(s)
        if processors.pop() > 1:
            print('# so fast')
            return
    c = t.peer.accept()
    t.conns.append(c)
    c.establish()
    assert t.remote.connected(s) == 0
    t.talk(c, s, 100)


def fill_backlog(t, port, timeout=17):
    """A listener with one place: whoever has it, and of whom no RTU comes.  His REQ asks
    to hear a REP again after 4.096 us * 2^timeout."""
    n = t.remote.listen(port, False, 0)
    t.open.append(n)
    # Both are on their way before either is answered: the place is young.
    asked = [t.peer.request(t.host, port, timeout=timeout) for _ in range(2)]
    t.conns.extend(asked)
    admitted = []
    for c in asked:
        try:
            c.answer()
            admitted.append(c)
        except wire.Rejected as e:
            assert e.reason == CONSUMER_DEFINED, f'REJ reason {e.reason}'
    assert len(admitted) == 1, f'{len(admitted)} of two have the one place'
    return n, admitted[0]


def backlog_rejects(t):
    return t.remote.counters()['reject_backlog']


def let_in(t, n):
    s = t.remote.accept(n)[0]
    t.open.append(s)
    return s


@case(('soon', 16, 0, 1.2), ('later', 20, 1.5, 4.4), accept=2, clock=True)
def silent_gives_way(t, timeout, early, at_last):
    """Whose REP is not answered for a second loses his place in a full backlog to the
    next who asks, be it that his REJ was lost or that he means no good.  Whose REP is
    not repeated within that second may be silent for four.  If he is there after all he
    gets in."""
    t.patience(600000)                  # it is not the time that ends it
    t.counted_by_case |= {'reject_backlog'}
    was = backlog_rejects(t)
    n, c = fill_backlog(t, PORT + 5, timeout)
    time.sleep(early)
    if early:
        rejected(t, t.peer.hello(t.host), port=PORT + 5)
    time.sleep(at_last - early)
    t.conns.append(t.peer.connect(t.host, PORT + 5))
    s = let_in(t, n)
    assert backlog_rejects(t) - was == 1 + bool(early)
    c.rtu()
    t.kernel_closes(c, let_in(t, n))
    t.kernel_closes(t.conns[-1], s)


# Three times as long as until the REP is repeated, and a quarter of how long it is.
SILENT = 1.8


def request_silently(t):
    """Who asks, has the REP, and says nothing more for SILENT seconds."""
    c = t.peer.request(t.host, PORT + 5, timeout=17)
    t.conns.append(c)
    c.answer()
    return c


def told_reset(c):
    rej = c.mad('REJ', sdp.REJ)
    assert rej.reason == CONSUMER_DEFINED, f'REJ reason {rej.reason}'
    c.qp.peer_qpn = None                # not ours to end


def traced_child(t, what):
    """A trace point tells of one child, with the listener's port."""
    lines = t.remote.traced(f'sdp_child_{what}')
    assert len(lines) == 1 and f' port={PORT + 5} ' in lines[0], f'sdp_child_{what}: {lines}'


@case(accept=3, aborts=1, clock=True)
def silent_for_too_long(t):
    """As many are waited for without a place as there are places: here one."""
    t.patience(600000)
    t.counted_by_case |= {'reject_backlog'}
    was = backlog_rejects(t)
    n, first = fill_backlog(t, PORT + 5, 17)
    time.sleep(SILENT)
    second = request_silently(t)
    assert backlog_rejects(t) - was == 1
    traced_child(t, 'aside')
    time.sleep(SILENT)
    t.conns.append(t.peer.connect(t.host, PORT + 5))
    told_reset(first)
    assert backlog_rejects(t) - was == 2
    traced_child(t, 'evicted')
    s = let_in(t, n)
    second.rtu()
    child = let_in(t, n)
    traced_child(t, 'back')
    t.kernel_closes(second, child)
    t.kernel_closes(t.conns[-1], s)


@case(accept=1, reject_backlog=2, clock=True)
def slow_keeps_its_place(t):
    """Who has said by an MRA that he is there is waited for."""
    t.patience(600000)
    n, c = fill_backlog(t, PORT + 5, 15)
    c.mra()
    time.sleep(1.2)
    rejected(t, t.peer.hello(t.host), port=PORT + 5)
    c.rtu()
    s = t.remote.accept(n)[0]
    t.open.append(s)
    t.kernel_closes(c, s)


@case(accept=2, clock=True)
def slow_keeps_its_wait(t):
    """So is he who said it when his place was another's: then nobody else has one."""
    t.patience(600000)
    t.counted_by_case |= {'reject_backlog'}
    n, first = fill_backlog(t, PORT + 5, 17)
    time.sleep(SILENT)
    second = request_silently(t)
    was = backlog_rejects(t)
    first.mra()
    time.sleep(SILENT)
    rejected(t, t.peer.hello(t.host), port=PORT + 5)
    assert backlog_rejects(t) - was == 1
    for c in first, second:
        c.rtu()
        t.kernel_closes(c, let_in(t, n))


@case(accept=5, aborts=2, clock=True)
def backlog_made_smaller(t):
    """Then so many are waited for without a place as there are places now."""
    t.patience(600000)
    t.counted_by_case |= {'reject_backlog'}
    n = t.remote.listen(PORT + 5, False, 1)
    t.open.append(n)
    before = [request_silently(t) for _ in range(2)]
    time.sleep(SILENT)
    after = [request_silently(t) for _ in range(2)]
    t.remote.listen_again(n, 0)
    time.sleep(SILENT)
    rejected(t, t.peer.hello(t.host), port=PORT + 5)
    told_reset(before[0])
    after.append(request_silently(t))
    told_reset(before[1])
    for c in after:
        c.rtu()
        t.kernel_closes(c, let_in(t, n))


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
    for i in range(2):
        t.conns.append(t.peer.connect(t.host, PORT + 3))
        # Who is heard of later is accepted later, be it that he asked first.
        until('its RTU is heard',
              lambda: [STATES[c[0]] for c in t.ours()].count('ESTABLISHED') == i + 1)
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

def asked(t, port, ours=None, tid=None):
    """The kernel's word on whether this port takes SDP."""
    ours = ours or t.peer.port.fresh()[1]
    t.peer.port.send_mad(t.host, sdp.SIDR_REQ, roce.sidr_req(ours, wire.SERVICE + port), tid=tid)
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


@case()
def asked_again(t):
    """The answer was lost: the same question has the same answer, as often as it comes."""
    ours = t.peer.port.fresh()[1]
    for _ in range(3):
        assert asked(t, PORT, ours, 0x5d50) == 0
    assert not t.remote.acceptable(t.listeners[4], 0.2)
    assert not t.ours()


def moved(t, name):
    return t.remote.counters()[name] - t.before[name]


def by_tcp(t):
    """And TCP's answer is this."""
    s = t.remote.connect(t.peer.address, t.port, True)
    t.open.append(s)
    assert t.remote.connected(s) == t.tcp
    t.close(s)


def listens_by_tcp(t, port):
    """A refusal counts where TCP is not refused."""
    return socket.create_server((t.peer.address, port), backlog=1000)


def question(t):
    return t.peer.port.mad('SIDR REQ', lambda m: m.attr == sdp.SIDR_REQ)


def first_question(t, port, tcp=errno.ECONNREFUSED):
    """Of who may fall back to TCP, with net.sdp.learn; this port is not known yet."""
    t.patience(int(1500 * FACTOR))
    t.sysctl('cache_timeout', 600000)
    t.sysctl('learn', 1)
    t.counted_by_case = {'fallback', 'connect'}
    t.port, t.tcp = port, tcp
    by_tcp(t)
    q = question(t)
    assert q.service_id == wire.SERVICE + port
    return q


def answers(t, q, status):
    t.peer.port.send_mad(t.host, sdp.SIDR_REP,
                         roce.sidr_rep(q.local_id, q.service_id, status), tid=q.tid)


def goes_by_sdp(t):
    """As soon as it is known that SDP is there."""
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
    assert moved(t, 'connect') == 1
    t.talk(c, s)
    t.kernel_closes(c, s)


def no_answer_but_tcp(t):
    """That SDP is not there, or nothing is said of it, is known; and was asked once."""
    until('the answer is known', lambda: (by_tcp(t), moved(t, 'fallback_cached') > 0)[1],
          20 * FACTOR)
    assert moved(t, 'probes') == 1 and not moved(t, 'connect')
    assert not t.peer.port.has_mad(lambda m: m.attr == sdp.REQ), 'a REQ came'


@case(('yes', 0), ('no', 1), ('refused', 2), ('nonsense', 77), ('silence', None))
def asks_first(t, status):
    """net.sdp.learn: who may fall back asks us, and goes by TCP meanwhile."""
    port = PEER_PORT + 1 + (100 if status is None else status)
    with listens_by_tcp(t, port):
        q = first_question(t, port, 0)
        by_tcp(t)
        assert [moved(t, n) for n in ('fallback_learning', 'fallback', 'probes')] == [2, 2, 1]
        if status is not None:
            answers(t, q, status)
        if status == 0:
            goes_by_sdp(t)
        else:
            no_answer_but_tcp(t)


@case()
def asks_where_tcp_is_refused(t):
    """Nobody listens here, by TCP neither, and who comes later may do both."""
    q = first_question(t, PEER_PORT + 299)
    answers(t, q, 1)
    until('another question', lambda: (by_tcp(t), moved(t, 'probes') > 1)[1], 20 * FACTOR)
    assert not moved(t, 'fallback_cached')


@case(('once, and then yes', 0, 1), ('once, and then no', 1, 1), ('three times', 0, 3))
def question_is_lost(t, status, times):
    """It is repeated as the same question, and that is answered.  An answer that comes
    behind it, and says the contrary, is nobody's."""
    port = PEER_PORT + 200 + 2 * times + status
    with listens_by_tcp(t, port):
        q = first_question(t, port, 0)
        for _ in range(times):
            again = question(t)
            assert ((again.local_id, again.tid, again.service_id) ==
                    (q.local_id, q.tid, q.service_id))
        answers(t, again, status)
        answers(t, q, not status)
        if status == 0:
            goes_by_sdp(t)
        else:
            no_answer_but_tcp(t)
    assert moved(t, 'probes') == 1
