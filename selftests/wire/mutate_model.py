# SPDX-License-Identifier: GPL-2.0
"""What mutate.py shares, and Model: what the text says of a conversation by
SendSm, SrcAvail and RDMA Read, as all states that the other side can be in.
"""
import ipaddress
import struct

import peer as wire
import sdp_decode as sdp
from parrot import BUFFER
from sockets import pattern

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
# Of a REJ, by the counter that hello_refused() names.
REJ_REASONS = {'reject_hello': 5, 'reject_path': 12}
COUNTED = ('connect accept connect_fail fallback reject_hello reject_path reject_listener '
           'reject_backlog reject_limit tcp_accept tcp_reset proto_errors resets aborts '
           'device_gone timeouts').split()
MASK = 0xffffffff
COMBINED, PIPELINED, BUFFERED = 1, 2, 0
RKEY, BASE, LENT = 0x1234, 0x7f0000001000, pattern(70000, 6)    # what is offered
READS = 500000          # conversations from this number on are with one that reads,
WRITES = 1000000        # and from this one, with one that is written to, and writes
LENGTH = BUFFER         # of what goes so, and what is shorter than this is copied:
THRESH = 32768
OURS, MOST = 4, 8       # MaxAdverts, ours and that of the other side
ROOM_KEY, ROOM, ROOM_SIZE = 0x4321, 0x7e0000002000, 1 << 20     # where it may write


class Wrong(Exception):
    pass


def check(ok, what):
    if not ok:
        raise Wrong(what)


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
