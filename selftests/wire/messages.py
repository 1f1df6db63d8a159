# SPDX-License-Identifier: GPL-2.0
"""Cases of single messages, legal and not; imported by wire.py.

What is offered is refused here, and read in adverts.py.
"""
import errno
import select
import socket

import sdp_decode as sdp
from harness import BROKEN, FULL, case, until
from sockets import pattern

# ---- foreign, but legal ----

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
    c.post(32)
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
    c.post(32)
    c.expect(sdp.SEND_SM)
    c.send_data(pattern(1000)[64:])
    t.reads(s, pattern(1000)[64:])
    t.talk(c, s)
    t.kernel_closes(c, s)
