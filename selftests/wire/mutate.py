#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Recorded conversations, said again with mistakes in them: see mutate.sh.

    mutate.py [COUNT [SEED [INDEX]]]    COUNT mutations (default 500); with INDEX
                                        only that conversation of SEED, told

First a correct peer talks to the module of h1, as the active and as the passive
side: data, SrcAvail, cancels, ModeChange, ChRcvBuf, SuspComm, urgent data,
DisConn, and at the end of some what this module refuses, SinkAvail among it.
What the peer sent is the recording.  Then it is said again, many connections at
once, with sequence numbers and credits of the new connection, and most messages
are mutated: bits, fields at their bounds, cut, lengthened, twice, in the wrong
order, with another's length, the head of one and the tail of another, and the
Hello and HelloAck as well.  RoCE below stays right, so that all of it reaches
SDP.

One half is with a module that refuses what is offered, the other with one that reads
it, from memory that is there if the SrcAvail names it rightly.

After each a correct message asks whether the connection is still there, and it
must be, or must have ended, as the protocol text says.  Model says which: a
second reading of the text, as all states that the other side can be in (a
SendSm may have gone out or not when the next message comes).  Whatever was
said, the program on h1 says back each byte that it was given, and these must be
the bytes of the messages that count.

Every so many mutations all is brought to rest and counted: the counters of h1
are those of the verdicts, one protocol error and one trace point for each
connection that broke the protocol, no more; the bystander (parrot.py) has read
what it wrote all the time, no connection is left, the kernel's log is not
longer.

What is mutated, and how, depends on SEED and the number of the conversation; they
go by IPv4 and IPv6 in turn.
"""
import atexit
import ipaddress
import os
import random
import struct
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import peer as wire  # noqa: E402
import roce  # noqa: E402
import sdp_decode as sdp  # noqa: E402
import sockets  # noqa: E402
from parrot import GREETING, PORT  # noqa: E402
from roce import FACTOR, LIMIT  # noqa: E402
from sockets import pattern  # noqa: E402

PEER_PORT = 5002        # where the kernel finds us
HOST = '10.9.0.1', 'fd09::1'
PEER = '10.9.0.77', 'fd09::77'
OTHER = '10.9.0.2'
BUFS = 32
UNSEEN = 2 * BUFS       # more messages than the kernel can have under way
AT_ONCE = 8             # conversations
STRETCH = 2000          # mutations between two counts
LOG_LINES = 3           # of the kernel's log, in that time
CONSUMER_DEFINED = 28
COUNTED = ('connect accept connect_fail fallback reject_hello reject_path reject_listener '
           'reject_backlog reject_limit tcp_accept tcp_reset proto_errors resets aborts '
           'device_gone no_buffer timeouts').split()
MASK = 0xffffffff
COMBINED, PIPELINED, BUFFERED = 1, 2, 0
RKEY, BASE, LENT = 0x1234, 0x7f0000001000, pattern(70000, 6)    # what is offered
READS = 500000          # conversations from this number on are with one that reads


def is_experimental(mid):
    return 0x40 <= mid <= 0x7f


def signed(number):
    """A difference of sequence numbers."""
    number &= MASK
    return number - (1 << 32) if number >> 31 else number


# ---- what the text says ----

def hello_refused(raw, src, dst):
    """The counter that such a Hello moves; None if it is taken (1.4)."""
    try:
        m = sdp.read_message(raw, True)
    except sdp.Malformed:
        return 'reject_hello'
    if m.mid != sdp.HELLO or m.rcvsz < 64 or not m.port or \
            m.ipv_cap & 2 and not m.ext_max_adverts:
        return 'reject_hello'
    want = [ipaddress.ip_address(a).packed for a in (src, dst)]
    got = [a[12:] if m.ipv_cap >> 4 == 4 else a for a in (m.src, m.dst)]
    return None if got == want else 'reject_path'


def hello_ack_refused(raw):
    mid, _, _, length = struct.unpack_from('>BBHI', raw)
    rcvsz = struct.unpack_from('>I', raw, 20)[0]
    return (mid != sdp.HELLO_ACK or length < 24 or length > len(raw) and length != 204 or
            raw[16] >> 4 != 2 or rcvsz < 64)


class Memory(dict):
    """What may be read of us, for a whole conversation: a key that the other side ends
    is there for the next advert that names it."""

    def pop(self, key, default=None):
        return self.get(key, default)


class Advert:
    """A SrcAvail that is not answered; its bytes as they are told to be read."""

    def __init__(self, m):
        self.mseq, self.ack, self.rkey = m.mseq, m.ack, m.rkey
        self.at, self.left = m.va + len(m.payload) - BASE, m.size - len(m.payload)
        self.bytes = bytearray()

    def is_ours(self):
        return self.rkey == RKEY and 0 <= self.at and self.at + self.left <= len(LENT)

    def told(self, size):
        check(0 < size <= self.left, f'{size} bytes told of {self.left}')
        self.bytes += LENT[self.at:self.at + size]
        self.at += size
        self.left -= size


class Model:
    """The half of a connection that we send to.

    states: what may be so: (mode, an advert is unanswered, DisConn was heard).
    ends: how it may have ended instead.  A message changes both; what is
    observed then narrows them.  reads: what is offered is read, not refused.
    """

    def __init__(self, reads):
        self.reads = reads
        self.states = {(COMBINED, False, False)}
        self.ends = set()
        self.mseq = 0           # of the last message
        self.acked = 0          # newest MSeqAck said
        self.credits = BUFS     # that it has at most
        self.stream = []        # what the reader must see
        self.held = []          # adverts that want an answer,
        self.dropped = []       # or wanted one that may be under way all the same,
        self.dropped_by = 0     # until this message is acknowledged
        self.cancelled = False  # what is held is to be read no further
        self.refused = None     # MSeq of the newest SendSm heard
        self.had_fin = False    # DisConn may have been heard

    def hear(self, raw, heard):
        """heard: messages that we know the other side has sent."""
        if not self.states:
            return None                 # nothing after an error counts
        # It may have answered meanwhile, if it had the credits (3.2).
        if self.held and self.credits >= 2:
            self.states |= {(mode, False, fin) for mode, _, fin in self.states}
        if len(raw) > wire.RCVSZ:
            return self.over('lost')
        try:
            m = sdp.read_message(raw)
        except (sdp.Malformed, struct.error):
            return self.over('proto')
        if m.mseq != (self.mseq + 1) & MASK:
            return self.over('proto')
        ahead, known = signed(m.ack - self.acked), signed(heard - self.acked)
        if ahead < 0 or ahead > known + UNSEEN or m.bufs < known - ahead:
            return self.over('proto')
        if ahead > known or m.bufs < BUFS:
            self.ends.add('proto')      # it depends on what we have not heard yet
        after = set()
        crossed = self.crossed(m)
        for before in self.states:
            for void in crossed:
                state = before if void and before[0] == PIPELINED else None
                state = self.meaning(m, *before, state)
                if isinstance(state, str):
                    self.ends.add(state)
                else:
                    after.add(state)
        if self.reads and self.held:
            # Of what is being read nothing may be known (4.2, 4.6).
            if m.mid == sdp.SRC_AVAIL and self.cancelled or m.mid == sdp.MODE_CHANGE:
                self.ends.add('proto')
        self.states = after
        if not after:
            return None
        self.mseq, self.acked = m.mseq, m.ack
        self.credits = m.bufs - max(known - ahead, 0)
        self.had_fin |= any(fin for _, _, fin in after)
        if m.mid in (sdp.DATA, sdp.SRC_AVAIL):
            self.stream.append(m.payload)
        if m.mid == sdp.SRC_AVAIL and not len(m.payload) == m.size > 0 and \
                not (all(crossed) and all(s[0] == PIPELINED for s in after)):
            self.held.append(Advert(m))
            self.stream.append(self.held[-1].bytes)
            self.lose()
        if m.mid == sdp.SRC_AVAIL_CANCEL:
            self.cancelled = bool(self.held)
        if m.mid == sdp.MODE_CHANGE and self.held and all(s[0] == COMBINED for s in after):
            self.dropped += self.held           # 4.2: nobody need answer it
            self.held, self.dropped_by = [], m.mseq
        return None

    def lose(self):
        """What is not there is not read: the device ends that connection."""
        if self.reads and not all(a.is_ours() for a in self.held):
            self.ends.add('lost')

    def crossed(self, m):
        """Whether a pipelined SrcAvail crossed a SendSm, which ends it at its source
        (4.3); or both, where one may be under way."""
        if m.mid != sdp.SRC_AVAIL:
            return [False]
        if self.held or self.dropped:
            return [False, True]
        return [self.refused is not None and signed(m.ack - self.refused) < 0]

    def over(self, how):
        self.states = set()
        self.ends.add(how)

    def meaning(self, m, mode, advert, fin, void=None):
        """The next state, or how it ends (4.1 to 4.6, 5, 6).  @void: the state after a
        SrcAvail that is right, and does not count."""
        if is_experimental(m.mid):
            return mode, advert, fin
        data = m.mid == sdp.DATA and m.payload
        if (data or m.mid == sdp.SRC_AVAIL) and fin:
            return 'proto'
        if data:
            return 'proto' if advert else (mode, advert, fin)
        if m.mid == sdp.DATA:
            return mode, advert, fin
        if m.mid == sdp.SRC_AVAIL:
            inline = bool(m.payload)
            # No conversation here has as many as our MaxAdverts.
            if advert and mode != PIPELINED or mode == BUFFERED or not m.size or \
                    inline != (mode == COMBINED):
                return 'proto'
            return void or (mode, not inline or len(m.payload) < m.size, fin)
        if m.mid == sdp.MODE_CHANGE:
            to = {0x00: BUFFERED, 0x10: COMBINED, 0x20: PIPELINED}.get(m.mode & 0xf0)
            if to is None or (to == COMBINED) != (mode == PIPELINED) or mode == BUFFERED or \
                    to == BUFFERED and advert:
                return 'proto'
            return to, advert and to != COMBINED, fin
        if m.mid == sdp.DISCONN:
            return 'proto' if fin or advert else (mode, advert, True)
        if m.mid == sdp.ABORT_CONN:
            return 'reset'
        if m.mid == sdp.SRC_AVAIL_CANCEL:
            return mode, advert, fin
        if m.mid in (sdp.CH_RCV_BUF, sdp.SUSP_COMM, sdp.SEND_SM, sdp.SINK_AVAIL_CANCEL):
            return mode, advert, fin
        return 'proto'

    def answered(self):
        if not self.held:
            self.cancelled = False
            self.states = {(mode, False, fin) for mode, _, fin in self.states}

    def hear_sendsm(self, m):
        """It refuses what it acknowledges; what crossed it, it has ended too."""
        self.refused = m.mseq
        self.held = [a for a in self.held
                     if signed(m.ack - a.mseq) < 0 and signed(a.ack - m.mseq) >= 0]
        self.answered()

    def hear_read(self, m):
        """So much of the oldest has been read (4.3)."""
        if self.dropped and signed(m.ack - self.dropped_by) >= 0:
            self.dropped = []
        advert = next((a for a in self.dropped + self.held if a.left), None)
        check(advert and self.reads, f'{m}, and nothing is offered')
        advert.told(m.size)
        self.held = [a for a in self.held if a.left]
        self.answered()

    def settled(self):
        """All that was said is acknowledged, and what was said before that, heard."""
        self.dropped = []
        self.ends.clear()
        self.lose()

    def fin(self):
        return bool(self.states) and all(s[2] for s in self.states)


# ---- recordings ----

def recordings():
    """What a correct peer says, one list of messages for each conversation."""
    data = pattern(5000, 3)
    big = pattern(wire.RCVSZ - 16, 4)
    avail = {'rkey': RKEY, 'va': BASE}

    def plain(say):
        for size in 1, 5, 100, 1460, 4096:
            say(sdp.DATA, data[:size])
        say(sdp.DATA)
        say(sdp.DATA, big)

    def combined(say):
        say(sdp.DATA, data[:100])
        say(sdp.SRC_AVAIL, data[:64], size=1000, **avail)
        say(sdp.DATA, data[64:1000])
        say(sdp.SRC_AVAIL, data[:8], size=8, **avail)
        say(sdp.SRC_AVAIL, data[:200], size=70000, flags=sdp.REQ_PIPE, **avail)
        say(sdp.SRC_AVAIL_CANCEL)
        say(sdp.DATA, data[200:900])

    def pipelined(say):
        say(sdp.MODE_CHANGE, mode=0x20)
        say(sdp.SRC_AVAIL, size=4000, **avail)
        say(sdp.DATA, data[:4000])
        say(sdp.SRC_AVAIL, size=4000, **avail)
        say(sdp.SRC_AVAIL_CANCEL)
        say(sdp.MODE_CHANGE, mode=0x10)
        say(sdp.DATA, data[:300])

    def buffered(say):
        say(sdp.DATA, data[:10])
        say(sdp.MODE_CHANGE, mode=0x00)
        say(sdp.DATA, data[:900])
        say(sdp.DATA, data[:20], flags=sdp.OOB_PEND | sdp.OOB_PRES)

    def control(say):
        say(sdp.CH_RCV_BUF, size=65536)
        say(sdp.SUSP_COMM, sid=0x1c001)
        say(sdp.SEND_SM)
        say(sdp.SINK_AVAIL_CANCEL)
        say(0x50, data[:40])
        say(sdp.DATA, data[:40], flags=sdp.OOB_PRES)
        say(sdp.SRC_AVAIL_CANCEL)

    def sink(say):
        say(sdp.DATA, data[:700])
        say(sdp.MODE_CHANGE, mode=0x20)
        say(sdp.SINK_AVAIL, size=100000, non_discards=1, **avail)

    def answers(mid, **ext):
        def what(say):
            say(sdp.DATA, data[:70])
            say(mid, **ext)
        what.__name__ = sdp.NAMES[mid]
        return what

    out = []
    for what in (plain, combined, pipelined, buffered, control, sink,
                 answers(sdp.RDMA_RD_COMPL, size=936), answers(sdp.RDMA_WR_COMPL, size=936),
                 answers(sdp.SINK_CANCEL_ACK), answers(sdp.CH_RCV_BUF_ACK, size=32768),
                 answers(sdp.SUSP_COMM_ACK), answers(sdp.ABORT_CONN), answers(sdp.DISCONN)):
        script = []
        what(lambda mid, payload=b'', script=script, **field: script.append(
            sdp.Message(mid, payload, **field).pack()))
        out.append((what.__name__, script))
    return out


# ---- mutations ----

EDGES = [0, 1, 2, 3, 15, 16, 17, 20, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
         1 << 31, (1 << 31) - 1, MASK, MASK - 1, 1 << 63, (1 << 64) - 1]
HEAD = ((0, 1), (1, 1), (2, 2), (4, 4), (8, 4), (12, 4))


def fields(raw, private=False):
    """(offset, size) of each, by the message identifier."""
    out = list(HEAD)
    if len(raw) < 16:
        return [f for f in out if f[0] + f[1] <= len(raw)]
    if private or raw[0] > sdp.HELLO_ACK:
        at = 16
        for spec in sdp._specs(sdp.EXT.get(raw[0], ((), '>'))[1]):
            size = struct.calcsize('>' + spec)
            if size <= 8:
                out.append((at, size))
            at += size
    return [f for f in out if f[0] + f[1] <= len(raw)]


def put(raw, at, size, value):
    return raw[:at] + (value & ((1 << 8 * size) - 1)).to_bytes(size, 'big') + raw[at + size:]


def flip(r, raw, end):
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        if not raw:
            break
        bit = r.randrange(8 * min(len(raw), end))
        raw = put(raw, bit // 8, 1, raw[bit // 8] ^ 1 << bit % 8)
    return raw


def edge(r, raw, private=False):
    if not raw:
        return b'\0'
    at, size = r.choice(fields(raw, private))
    now = int.from_bytes(raw[at:at + size], 'big')
    return put(raw, at, size, r.choice(EDGES + [now + 1, now - 1, now ^ 1 << 8 * size - 1] * 3))


def cut(r, raw):
    return raw[:r.choice((r.randrange(len(raw)), r.randrange(min(len(raw), 40)),
                          len(raw) - 1))] if raw else raw


def lengthen(r, raw):
    # Rarely more than the buffer holds: then it is the device that says no.
    n = r.choice((1, 4, 16, r.randrange(1, 200)) * 8 + (wire.RCVSZ,))
    return raw + pattern(n, 5)


def splice(r, raw, other):
    a, b = r.choice((16, 16, r.randrange(len(raw) + 1))), r.choice((16, r.randrange(len(other) + 1)))
    return raw[:a] + other[b:]


def alien(r, raw, other):
    """The identifier of another, or one that nobody has."""
    return put(raw, 0, 1, r.choice((other[0], r.randrange(256), r.choice((
        0x00, 0x01, 0x0f, 0x3f, 0x40, 0x7f, 0x80, 0xfc)))))


ONE = [(6, 'bits', lambda r, raw, other: flip(r, raw, 36)),
       (1, 'payload', lambda r, raw, other: flip(r, raw, 1 << 16)),
       (8, 'bound', lambda r, raw, other: edge(r, raw)),
       (2, 'cut', lambda r, raw, other: cut(r, raw)),
       (2, 'lengthened', lambda r, raw, other: lengthen(r, raw)),
       (3, 'spliced', splice), (2, 'identifier', alien)]
MORE = [(2, 'twice'), (2, 'swapped'), (1, 'lengths swapped'), (1, 'left out'), (1, 'pushed in'),
        (2, 'starved')]
KINDS = [w for w, *_ in ONE] + [w for w, *_ in MORE]


# ---- conversations ----

class Wrong(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Wrong(what)


class Talk:
    """One conversation, as a generator: it yields (what, condition) to wait."""

    def __init__(self, run, index, record=None):
        self.run, self.index, self.record = run, index, record
        self.r = random.Random(f'{run.seed}.{index}')
        self.mutations, self.told, self.said = 0, [], []
        self.model = Model(run.reads)
        self.echo, self.their_fin, self.their_abort = b'', False, False
        self.conn, self.over, self.told_heard = None, None, 0
        self.port = 20000 + index % 40000
        # By IPv4 and IPv6 in turn.
        self.peer, self.host = run.peers[index & 1], HOST[index & 1]

    def say(self, what):
        self.told.append(what)

    # ---- beneath ----

    def has_mad(self, *attrs):
        for m in self.peer.port.mads:
            if m.remote_id == self.conn.id and m.attr in attrs:
                self.peer.port.mads.remove(m)
                return m
        return None

    def pump(self):
        """Take what came; keep the other side in credits."""
        c = self.conn
        while c._taken < len(c.qp.received):
            m = sdp.read_message(c.qp.received[c._taken])
            c.qp.received[c._taken] = None
            c._taken += 1
            check(m.mseq == (c.heard + 1) & MASK, f'MSeq {m.mseq} after {c.heard}')
            check(m.len <= max(c.hello_rcvsz, 64), f'{m} is longer than our buffers')
            check(not self.their_fin or not m.payload, f'{m} behind DisConn')
            c.heard, c.their_bufs, c.their_ack = m.mseq, m.bufs, m.ack
            self.echo += m.payload
            if m.mid == sdp.SEND_SM:
                self.model.hear_sendsm(m)
            elif m.mid == sdp.RDMA_RD_COMPL:
                self.model.hear_read(m)
            self.their_fin |= m.mid == sdp.DISCONN
            self.their_abort |= m.mid == sdp.ABORT_CONN
        if self.has_mad(sdp.DREQ):
            self.over = 'dreq'
        elif c.qp.nak is not None:
            self.over = 'nak'
        check(not c.qp.dead, 'our messages are not acknowledged')
        if not self.over and (c.heard - self.told_heard) & MASK >= 8 and c.credits() > 1:
            self.send(self.right(sdp.Message(sdp.DATA).pack()))

    def right(self, raw, ahead=0):
        """The same with numbers and credits of this connection."""
        if len(raw) < 16:
            return raw
        c = self.conn
        return put(put(put(raw, 8, 4, c.mseq + 1 + ahead), 12, 4, c.heard), 2, 2, BUFS)

    def send(self, raw):
        c = self.conn
        self.model.hear(raw, c.heard)
        self.told_heard = c.heard
        c.mseq = (c.mseq + 1) & MASK
        c.qp.send(raw)

    def pumped(self, condition):
        def look():
            self.pump()
            return self.over or condition()
        return look

    def fresh(self, mtu):
        conn = wire.Conn(self.peer, self.host, mtu)
        conn.qp.memory = Memory({RKEY: (BASE, LENT)})
        return conn

    # ---- the Hello ----

    def bend_private(self, raw):
        size = len(raw)
        if self.run.record or self.r.random() > 0.12:
            return raw
        self.mutations += 1
        new = self.r.choice((lambda: flip(self.r, raw, 36), lambda: flip(self.r, raw, size),
                             lambda: edge(self.r, raw, True), lambda: edge(self.r, raw, True)))()
        self.say(f'private data {raw[:68].hex()} as {new[:68].hex()}')
        return new

    def call(self):
        """We are the active side; True if there is a connection."""
        run = self.run
        raw = self.bend_private(self.peer.hello(self.host, port=self.port).pack())
        refused = hello_refused(raw, self.peer.address, self.host)
        c = self.conn = self.fresh(4096)
        c.hello_rcvsz = struct.unpack_from('>I', raw, 24)[0]
        self.peer.port.send_mad(self.host, sdp.REQ, roce.req(
            c.id, c.qp.qpn, c.qp.expect_psn, self.peer.address, self.host, wire.SERVICE + PORT,
            raw), repeat=True)
        mad = yield 'REP', lambda: self.has_mad(sdp.REP, sdp.REJ)
        check((mad.attr == sdp.REJ) == bool(refused), f'{sdp.CM_NAMES[mad.attr]}: {refused}')
        if refused:
            check(mad.reason == CONSUMER_DEFINED, f'REJ reason {mad.reason}')
            run.expect[refused] += 1
            return False
        run.expect['accept'] += 1
        # A bent LocalPort is the name of this connection now.
        self.port = struct.unpack_from('>H', raw, 28)[0]
        c.their_id = mad.local_id
        c.ack = sdp.read_message(mad.private, True)
        c.limits(c.ack)
        c.qp.connect(mad.qpn, mad.psn)
        c.rtu()
        return True

    def answer(self):
        """We are the passive side."""
        run = self.run
        run.remote.dial(self.peer.address, PEER_PORT, self.port)

        def request():
            for m in self.peer.port.mads:
                if m.attr == sdp.REQ and sdp.read_message(m.private, True).port == self.port:
                    self.peer.port.mads.remove(m)
                    return m
            return None
        mad = yield 'REQ', request
        c = self.conn = self.fresh(mad.mtu)
        c.their_id, c.hello_rcvsz = mad.local_id, wire.RCVSZ
        hello = sdp.read_message(mad.private, True)
        check(not hello_refused(hello.pack(), self.host, self.peer.address),
              f'a Hello that is none: {hello}')
        c.limits(hello)
        c.qp.connect(mad.qpn, mad.psn)
        raw = self.bend_private(sdp.Message(sdp.HELLO_ACK, bufs=BUFS, version=0x22,
                                            max_adverts=1, rcvsz=wire.RCVSZ).pack())
        refused = hello_ack_refused(raw)
        c.hello_rcvsz = struct.unpack_from('>I', raw, 20)[0]
        self.peer.port.send_mad(self.host, sdp.REP, roce.rep(
            c.id, c.their_id, c.qp.qpn, c.qp.expect_psn, raw), True, mad.tid)
        mad = yield 'RTU', lambda: self.has_mad(sdp.RTU, sdp.REJ)
        check((mad.attr == sdp.REJ) == refused, f'{sdp.CM_NAMES[mad.attr]}: refused is {refused}')
        if refused:
            check(mad.reason == CONSUMER_DEFINED, f'REJ reason {mad.reason}')
            run.expect['connect_fail'] += 1
            run.ends.append((self, {'connect ECONNREFUSED'}))
            return False
        run.expect['connect'] += 1
        return True

    # ---- the messages ----

    def bend(self, script, at):
        """What is sent instead of script[at], and how many of the script that was."""
        r, raw = self.r, self.right(script[at])
        # Any message that was said, or any kind of message.
        other = r.choice(r.choice((self.run.all_messages, self.run.one_of_each)))
        following = script[at + 1] if at + 1 < len(script) else other
        kind = r.choices(range(len(KINDS)), KINDS)[0]
        if raw[0] == sdp.SRC_AVAIL and r.random() < 0.3:
            kind = len(KINDS) - 1       # what is behind an advert is the question
        numbered = r.random() < 0.6
        used = 1
        if kind < len(ONE):
            _, name, change = ONE[kind]
            new = change(r, raw, other)
            if name == 'bits' and r.random() < 0.3:
                new = flip(r, new, 36)
            if len(new) >= 16 and r.random() < 0.5:
                new = put(new, 4, 4, len(new))
            out = [self.right(new) if numbered else new]
            plain = [raw]
        else:
            name = MORE[kind - len(ONE)][1]
            second = self.right(following, 1)
            if name == 'twice':
                out = [raw, self.right(raw, 1) if numbered else raw]
            elif name == 'swapped':
                used = 2 if following is not other else 1
                out = [self.right(following), self.right(raw, 1)] if numbered else [second, raw]
            elif name == 'lengths swapped':
                used = 2 if following is not other else 1
                a, b = raw[4:8], second[4:8]
                out = [raw[:4] + b + raw[8:], second[:4] + a + second[8:]]
            elif name == 'left out':
                used = 2 if following is not other else 1
                out = [self.right(following) if numbered else second]
            elif name == 'pushed in':
                out = [raw, self.right(other, 1) if numbered else other]
            else:
                # No credit but one: what it owes, it cannot say in between.
                second = self.right(r.choice((following, r.choice(self.run.one_of_each))), 1)
                out = [put(m, 2, 2, 1) for m in (raw, second)]
            plain = [raw] + [second] * (used - 1)
        if out == plain:
            return out, used            # nothing has changed
        self.mutations += 1
        self.run.kinds[name] = self.run.kinds.get(name, 0) + 1
        self.say(f'{name}{", numbered" if numbered else ""}: '
                 f'{" | ".join(p[:40].hex() for p in plain)} as '
                 f'{" | ".join(p[:40].hex() + (f"... {len(p)}" if len(p) > 40 else "") for p in out)}')
        return out, used

    def step(self, out):
        """Say that, and find out what became of it."""
        c = self.conn
        yield 'credits', self.pumped(lambda: c.credits() > len(out))
        if self.over:
            return
        for raw in out:
            self.send(raw)
        probe = self.right(sdp.Message(sdp.CH_RCV_BUF, size=65536).pack())
        mark = (c.mseq + 1) & MASK
        self.send(probe)
        yield (f'an answer, or the end; {self.model.states} {self.model.ends}',
               self.pumped(lambda: not (c.their_ack - mark) & 1 << 31))
        if self.over:
            return
        check(self.model.states, f'it goes on, and should have ended: {self.model.ends}')
        self.model.settled()
        yield ('the rest', self.pumped(
            lambda: not self.model.held and len(self.echo) >= len(self.expected()) and
            (self.their_fin or not self.model.fin())))
        check(self.over or self.echo == self.expected(), 'other bytes came back')

    def expected(self):
        return (b'' if self.active else GREETING) + b''.join(self.model.stream)

    def conversation(self):
        run, r = self.run, self.r
        self.active = self.record[0] if self.record else r.random() < 0.75
        if self.record:
            script = self.record[1]
        else:
            script = r.choice(run.scripts)
        if not (yield from (self.call() if self.active else self.answer())):
            return
        # Some get far, and some are all wrong.
        at, rate = 0, r.choice((0.9, 0.5, 0.25))
        while at < len(script) and not self.over and not self.model.fin():
            if run.record or r.random() > rate:
                out, used = [self.right(script[at])], 1
                self.said += out
            else:
                out, used = self.bend(script, at)
            yield from self.step(out)
            at += used
        yield from self.finish()

    def finish(self):
        run, c = self.run, self.conn
        if not self.over and not self.model.fin():
            if not run.record and self.r.random() < 0.25:
                c.dreq(False)
                run.expect['resets'] += 1
                run.ends.append((self, {'ECONNRESET'}))
                yield 'DREP', lambda: self.has_mad(sdp.DREP, sdp.DREQ)
                return
            yield from self.step([self.right(sdp.Message(sdp.DISCONN).pack())])
        if not self.over:
            # Both have said DisConn, we first: the DREQ is ours.
            run.ends.append((self, {'eof'}))
            c.dreq(False)
            yield 'DREP', lambda: self.has_mad(sdp.DREP, sdp.DREQ)
            return
        check(self.model.ends, f'it ended ({self.over}), and should not have: '
                               f'{self.model.states}')
        ends = set(self.model.ends)
        check(self.over != 'nak' or 'lost' in ends, 'refused by the device')
        if len(ends) > 1:
            run.unsure += 1
        elif ends == {'proto'}:
            run.expect['proto_errors'] += 1
            run.expect['aborts'] += 1
        else:
            run.expect['resets'] += 1
        # Who had seen the end of the stream may have closed before.  And if no
        # message counted and the RTU came behind, there was no connection yet.
        allowed = {'ECONNRESET', 'EPIPE', 'eof'} if self.model.had_fin else {'ECONNRESET'}
        if self.active and 'lost' in ends and not self.model.mseq:
            allowed.add('nothing')
        run.ends.append((self, allowed))


# ---- running them ----

class Run:
    def __init__(self, seed):
        self.seed = seed
        self.remote = sockets.Remote('h1', os.path.join(os.path.dirname(
            os.path.realpath(__file__)), 'parrot.py'))
        for name in 'connect_timeout', 'require_timeout':
            self.remote.sysctl(name, int(30000 * FACTOR))
        self.remote.sysctl('cache_timeout', 0)
        # A ChRcvBuf is answered at once by who has large buffers; growing from
        # small ones is a matter of wire.py.
        was = self.remote.sysctl('rcvbuf_start', 16384)
        atexit.register(self.remote.sysctl, 'rcvbuf_start', int(was))
        thresh = self.remote.sysctl('zcopy_thresh', 0)
        atexit.register(self.remote.sysctl, 'zcopy_thresh', int(thresh))
        self.reads, self.repeated = False, 0
        self.remote.start(OTHER)
        self.changed = threading.Condition(threading.RLock())
        self.peers = [wire.Peer(address, self.changed) for address in PEER]
        self.record, self.scripts, self.all_messages, self.one_of_each = False, [], [], []
        self.kinds, self.mutations, self.results, self.failed = {}, 0, 0, 0
        self.more = True
        self.counters = self.remote.counters()
        self.remote.logged()
        self.files = self.remote.files()
        self.rounds = self.remote.take()[2]
        self.fresh()

    def fresh(self):
        self.expect, self.unsure, self.ends, self.wrong = dict.fromkeys(COUNTED, 0), 0, [], []

    def go(self, talks):
        """Run all, AT_ONCE at a time, each as far as it comes."""
        talks, going = iter(talks), []
        while True:
            while len(going) < AT_ONCE and len(self.wrong) < 5:
                talk = next(talks, None)
                if not talk:
                    break
                going.append(Going(talk))
                going[-1].resume(None)
            with self.changed:
                for error in [p.port.error for p in self.peers if p.port.error]:
                    raise error
                for g in going:
                    g.look()
                if not any(g.over for g in going):
                    self.changed.wait(0.05)
            for g in [g for g in going if g.over]:
                going.remove(g)
                self.gone(g)
            if not going and (len(self.wrong) >= 5 or not self.more):
                return

    def gone(self, g):
        talk, conn = g.talk, g.talk.conn
        self.mutations += talk.mutations
        if g.wrong:
            self.wrong.append((talk, g.wrong))
            if conn and conn.qp.peer_qpn and not talk.over:
                conn.dreq(False)
        if conn:
            conn.qp.close()
            port = talk.peer.port
            with self.changed:
                port.mads = [m for m in port.mads if m.remote_id != conn.id]

    def set_reads(self, reads):
        """Whether what is offered from now on is read, or refused."""
        self.remote.sysctl('zcopy_thresh', 65536 if reads else 0)
        self.reads = reads

    # ---- counting ----

    def left(self):
        """Connections with the peer that the module still has."""
        mine = {'::ffff:' + PEER[0], PEER[1]}
        return [c for c in self.remote.connections() if c[3] in mine]

    def until(self, what, condition, limit=40 * FACTOR):
        end = time.monotonic() + limit
        while not condition():
            check(time.monotonic() < end, f'not in {limit:g} s: {what}')
            time.sleep(0.05)

    def users(self):
        """How each connection ended for its user."""
        ends, waiting, links = {}, list(self.ends), 1

        def seen(talk, allowed):
            # He may look at his connect() when all is over, as with TCP.
            how = ends.get(talk.port, [])
            hit = next((h for h in how if h in allowed or h == 'connect ECONNRESET' and
                        'ECONNRESET' in allowed and not talk.active), None)
            if hit:
                how.remove(hit)
            return hit

        def gather():
            nonlocal waiting, links
            new, links, _ = self.remote.take()
            for key, how in new:
                ends.setdefault(key, []).append(how)
            waiting = [w for w in waiting if not seen(*w)]
            return not links and all('nothing' in allowed for _, allowed in waiting)
        try:
            self.until('every user has seen the end', gather)
        except Wrong:
            rest = {k: v for k, v in ends.items() if v}
            for talk, allowed in waiting:
                print(f'# conversation {talk.index}, port {talk.port}: the user saw no end, must '
                      f'be {allowed}')
                print(''.join(f'#   {line}\n' for line in talk.told), end='')
            print(f'# seen by nobody\'s user: {rest}; {links} connections open')
            raise
        rest = {k: v for k, v in ends.items() if v}
        check(not rest, f'sockets of nobody: {rest}')

    def reads_on(self):
        ends, _, now = self.remote.take()
        check(not ends, f'sockets of nobody: {ends}')
        before, self.rounds = self.rounds, now
        return now > before

    def settle(self):
        """Nothing is under way: everything must add up."""
        self.users()
        self.until('the module lets go of its connections', lambda: not self.left())
        now = self.remote.counters()
        moved = {k: now[k] - self.counters[k] for k in COUNTED}
        read = now['rdma_reads'] - self.counters['rdma_reads']
        self.counters = now
        check(not read if not self.reads else read or len(self.ends) < 100,
              f'{read} RDMA reads')
        odd = {k: moved[k] - self.expect[k] for k in COUNTED if moved[k] != self.expect[k]}
        # Who waits long for an answer says his REQ again, and is refused again.
        again = sum(p.port.repeated for p in self.peers) - self.repeated
        self.repeated += again
        for k in 'reject_hello', 'reject_path':
            if 0 < odd.get(k, 0) <= again:
                again -= odd.pop(k)
        # Where the end was to be of one kind or another, either is right.
        if self.unsure:
            proto, reset = odd.pop('proto_errors', 0), odd.pop('resets', 0)
            check(proto >= 0 and reset >= 0 and proto + reset == self.unsure and
                  odd.pop('aborts', 0) == proto, f'{self.unsure} were one or the other, '
                  f'counted: {proto} and {reset}')
        check(not odd, 'counters moved by ' + ', '.join(
            f'{k} {moved[k]} instead of {self.expect[k]}' for k in odd))
        lines = self.remote.traced()
        told = [line for line in lines if line.endswith(' received')]
        check(len(told) == moved['proto_errors'],
              f'{len(told)} trace points of {moved["proto_errors"]} protocol errors')
        log = self.remote.logged()
        check(len(log) < LOG_LINES, f'the log of h1 has {len(log)} new lines: {log[:5]}')
        # It may have moved before, and must still.
        self.reads_on()
        self.until('the bystander reads on', self.reads_on)
        files = self.remote.files()
        check(files <= self.files, f'{files} files open, {self.files} at the beginning')

    def stretch(self, name, talks):
        """One case of KTAP."""
        start, before = time.monotonic(), self.mutations
        self.fresh()
        self.more = True
        try:
            self.go(talks)
            if not self.wrong:
                self.settle()
        except Exception:
            self.wrong.append((None, traceback.format_exc()))
        for talk, what in self.wrong:
            if talk:
                print(f'# conversation {talk.index}, to see it again: mutate.sh 1 {self.seed} '
                      f'{talk.index}')
                print(''.join(f'#   {line}\n' for line in talk.told), end='')
            print('# ' + what.strip().replace('\n', '\n# '))
        if self.wrong:
            print('# the last that h1 says of failures: ', self.remote.traced()[-AT_ONCE:])
        self.results += 1
        self.failed += bool(self.wrong)
        took = time.monotonic() - start
        ended = {k: v for k, v in self.expect.items() if v}
        print(f'# {self.mutations - before} mutations, {took:.1f} s, {ended}')
        print(f'{"not " if self.wrong else ""}ok {self.results} - mutate.{name}', flush=True)


class Going:
    """A conversation under way."""

    def __init__(self, talk):
        self.talk, self.generator = talk, talk.conversation()
        self.what, self.condition, self.end = '', None, 0.0
        self.over, self.wrong = False, None

    def resume(self, value, error=None):
        try:
            self.what, self.condition = self.generator.throw(error) if error else \
                self.generator.send(value)
            self.end = time.monotonic() + LIMIT
        except StopIteration:
            self.over = True
        except Exception:
            self.over, self.wrong = True, traceback.format_exc()

    def look(self):
        """As far as it comes without waiting."""
        while not self.over:
            try:
                got = self.condition()
            except Exception as e:
                self.resume(None, e)
                continue
            if not got:
                if time.monotonic() > self.end:
                    self.resume(None, Wrong(f'not in {LIMIT:g} s: {self.what}'))
                    continue
                return
            self.resume(got)


def main():
    count, seed, only = (sys.argv[1:] + [None] * 3)[:3]
    count, seed = int(count or 500), int(seed or 1)
    run = Run(seed)
    print('TAP version 13')
    print(f'# {count} mutations, seed {seed}', flush=True)

    def record(active):
        for i, (what, say) in enumerate(recordings()):
            talk = Talk(run, i, (active, say))
            yield talk
            run.scripts.append(talk.said)
        run.more = False

    def mutated(until):
        while run.mutations < until:
            yield Talk(run, run.index)
            run.index += 1
        run.more = False

    run.record = True
    for name, active in ('recorded as the active side', True), ('as the passive side', False):
        run.stretch(name, record(active))
    run.record = False
    run.scripts = [s for s in run.scripts if s]
    run.all_messages = [m for s in run.scripts for m in s]
    run.one_of_each = list({m[0]: m for m in run.all_messages}.values())
    if only is not None:
        run.set_reads(int(only) >= READS)
        talk = Talk(run, int(only))

        def one():
            yield talk
            run.more = False
        run.stretch(f'conversation {only}', one())
        print(''.join(f'# {line}\n' for line in talk.told), end='')
    else:
        for reads in False, True:
            run.set_reads(reads)
            run.index, end = 100 + READS * reads, count if reads else count // 2
            while run.mutations < end and not run.failed:
                goal = min(run.mutations + STRETCH, end)
                run.stretch(f'{"reads" if reads else "refuses"}, up to {goal}', mutated(goal))
        print('# ' + ', '.join(f'{k}: {v}' for k, v in sorted(run.kinds.items())))
    print(f'1..{run.results}')
    print(f'# Totals: pass:{run.results - run.failed} fail:{run.failed} skip:0')
    sys.exit(bool(run.failed))


if __name__ == '__main__':
    main()
