# SPDX-License-Identifier: GPL-2.0
"""Halves: what the text says of both halves of a connection when one is filled by
RDMA Write; the module's acknowledgments tell what it had heard, so there is one
state.  Used by mutate.py.
"""
import copy
import struct

import peer as wire
import sdp_decode as sdp
from mutate_model import (
    BUFFERED, BUFS, COMBINED, MASK, MOST, PIPELINED, ROOM, ROOM_SIZE, UNSEEN, Advert, Wrong,
    check, is_experimental, signed)


class Ask:
    """A SinkAvail of the other side; what was written to it is kept."""

    def __init__(self, m):
        self.va, self.key, self.size, self.bytes = m.va, m.rkey, m.size, bytearray(m.size)
        self.told, self.dead = 0, False     # when it is over

    def has(self, key, va, size):
        return key == self.key and self.va <= va and va + size <= self.va + self.size


class Offer:
    """A SrcAvail of the other side, and its bytes when we have read them."""

    def __init__(self, m):
        self.mseq, self.key = m.mseq, m.rkey
        self.va, self.left = m.va + len(m.payload), m.size - len(m.payload)
        self.bytes = None


class Space:
    """A SinkAvail of ours that the other side has; what it has written there."""

    def __init__(self, m):
        self.va, self.key, self.size, self.bytes = m.va, m.rkey, m.size, b''


class Room:
    """The memory behind those: what was written, and how many messages came before."""

    def __init__(self, qp):
        self.qp, self.log = qp, []

    def __len__(self):
        return ROOM_SIZE

    def __setitem__(self, where, data):
        self.log.append((len(self.qp.received), ROOM + where.start, data))


class Said:
    """Of what we have said: RDMA of ours, and the message behind it."""

    def __init__(self, mseq, raw, rdma):
        self.mseq, self.raw, self.rdma = mseq, raw, rdma
        self.dead = set()       # keys that lead nowhere

    def __str__(self):
        return f'{self.mseq}: {self.raw[:40].hex()}'


class Halves:
    """Both halves of a connection, as the other side knows them.

    Here nothing is guessed.  Each message of the other side tells how much of ours it
    had heard, and what it does of its own accord (SinkAvail and its cancel, and what
    its user sends) it tells of.  So what we say waits until it has been heard, and is
    then judged in the order in which it met what crossed it.  Only when the connection
    has ended it is not known what was under way: see why().
    """

    def __init__(self, most, least, greeting):
        self.greeting = greeting
        self.most = most        # adverts that it may have out
        self.least = least      # bytes of a SinkAvail that it may send
        self.pending = []       # not heard yet, as far as we know
        self.mseq = self.acked = self.posted = 0
        self.ends = set()       # how it may have ended, if it has
        self.lags = False       # its MSeqAck is not what it has heard (3.4)
        self.doom = None        # why it must end, and has answered that at most
        self.had_fin = self.fin = False
        self.req_pipe = False
        self.expected, self.echo = [], []   # bytes of the two streams
        # The half whose source we are.
        self.mode, self.nr = COMBINED, 0
        self.adverts = []       # of ours
        self.cancelled = False  # and are to be read no further
        self.refused = None     # MSeq of its newest SendSm
        self.asks, self.asked_back, self.gone = [], False, []
        # That whose sink we are.
        self.their_mode, self.ns = COMBINED, 0
        self.offers, self.ended = [], False
        self.spaces, self.back = [], []     # of ours, that it has, and has to give back
        self.their_fin = False

    # ---- what we say ----

    def say(self, said):
        said.dead = {a.key for a in self.gone if a.dead}
        self.pending.append(said)

    def catch_up(self, ack):
        """So far it has heard, and goes on; or of what ended it, that it has heard it."""
        while self.pending and signed(ack - self.pending[0].mseq) >= 0:
            check(not self.doom, f'it goes on, and should have ended: {self.doom}')
            said = self.pending.pop(0)
            self.ends.clear()
            end = self.heard(said)
            if end:
                self.doom = f'{end} by {said}'
                self.ends.add(end)
            elif not self.pending:
                self.lags = False

    def why(self):
        """It has ended: how may that be?  What it did last we have not heard, and it may
        have made right what is wrong in what we know."""
        for said in [] if self.doom else self.pending:
            end = self.heard(said, True)
            if end:
                self.ends.add(end)
                break
        return self.ends

    def heard(self, said, guess=False):
        """It hears that: the end that follows, or None."""
        for what in said.rdma:
            if not self.reaches(*what, said.dead):
                return 'lost'
        raw = said.raw
        if len(raw) > wire.RCVSZ:
            return 'lost'
        try:
            m = sdp.read_message(raw)
        except (sdp.Malformed, struct.error):
            return 'proto'
        unseen = signed(self.posted - m.ack)
        if m.mseq != (self.mseq + 1) & MASK or signed(m.ack - self.acked) < 0 or \
                unseen < -UNSEEN or m.bufs < unseen and not self.lags:
            return 'proto'
        if guess and (unseen < 0 or m.bufs < BUFS):
            self.ends.add('proto')      # by what it has said meanwhile
        elif unseen < 0:
            return 'proto'
        self.mseq, self.acked = m.mseq, m.ack
        end = None if is_experimental(m.mid) else self.meaning(m)
        if end == 'proto' and guess and self.is_right_soon(m):
            self.ends.add(end)
            return None
        if not is_experimental(m.mid) and not end:
            self.req_pipe |= bool(m.flags & sdp.REQ_PIPE)
        return end

    def is_right_soon(self, m):
        """Is that wrong only as long as it has not said something first?"""
        if m.mid in (sdp.DATA, sdp.SRC_AVAIL, sdp.MODE_CHANGE, sdp.DISCONN):
            return bool(self.adverts)                       # it is read, or refused
        if m.mid == sdp.RDMA_WR_COMPL:
            return not self.asks and self.mode == PIPELINED
        if m.mid == sdp.SINK_CANCEL_ACK:
            return self.mode == PIPELINED
        # Its user sends, or it owes an answer.
        return m.mid in (sdp.SINK_AVAIL, sdp.RDMA_RD_COMPL)

    def reaches(self, what, key, va, data, dead):
        """Does our RDMA reach memory that it may?"""
        ask = next((a for a in self.asks if a.has(key, va, len(data))), None)
        if what == 'write' and ask:
            ask.bytes[va - ask.va:va - ask.va + len(data)] = data
            return True
        # It has taken the key back, or is about to.
        if what == 'write' and key not in dead and \
                any(a.has(key, va, len(data)) for a in self.gone):
            self.ends.add('lost')
            return True
        return False

    def meaning(self, m):
        """4.1 to 4.6, 5, 6."""
        if m.mid in (sdp.DATA, sdp.SRC_AVAIL) and self.fin and \
                (m.payload or m.mid == sdp.SRC_AVAIL):
            return 'proto'
        if m.mid == sdp.DATA:
            return self.hears_data(m) if m.payload else None
        if m.mid == sdp.SRC_AVAIL:
            return self.hears_offer(m)
        if m.mid == sdp.MODE_CHANGE:
            return self.hears_mode(m)
        if m.mid == sdp.RDMA_WR_COMPL:
            if not self.asks or m.size > self.asks[0].size:
                return 'proto'
            self.expected.append(self.asks[0].bytes[:m.size])
            self.ask_ends(m.size)
            return None
        if m.mid == sdp.SINK_CANCEL_ACK:
            if not self.asked_back:
                return 'proto'
            self.all_asks_end()
            return None
        if m.mid == sdp.RDMA_RD_COMPL:
            return self.hears_read(m)
        if m.mid == sdp.SEND_SM:
            if self.offers and signed(m.ack - self.offers[0].mseq) >= 0:
                self.offers, self.ended = [], True
            return None
        if m.mid == sdp.SINK_AVAIL:
            return self.hears_ask(m)
        if m.mid == sdp.SINK_AVAIL_CANCEL:
            if self.spaces:
                self.back, self.spaces = self.spaces, []
            return None
        if m.mid == sdp.DISCONN:
            if self.fin or self.adverts:
                return 'proto'
            self.fin = self.had_fin = True
            self.all_asks_end()
            return None
        if m.mid == sdp.ABORT_CONN:
            return 'reset'
        if m.mid == sdp.SRC_AVAIL_CANCEL:
            self.cancelled = bool(self.adverts)
            return None
        return None if m.mid in (sdp.CH_RCV_BUF, sdp.SUSP_COMM) else 'proto'

    def ask_ends(self, told):
        self.asks[0].told = told
        self.gone.append(self.asks.pop(0))
        self.asked_back &= bool(self.asks)

    def all_asks_end(self):
        while self.asks:
            self.ask_ends(0)

    def hears_data(self, m):
        """Payload kills a SinkAvail, or is counted (4.4)."""
        if self.adverts:
            return 'proto'
        if self.asks:
            self.ask_ends(len(m.payload))
        else:
            self.nr += 1
        self.expected.append(m.payload)
        return None

    def hears_offer(self, m):
        inline = len(m.payload)
        if self.mode == BUFFERED or not m.size or (inline > 0) != (self.mode == COMBINED) or \
                self.adverts and self.mode == COMBINED:
            return 'proto'
        if self.cancelled:
            self.ends.add('proto')      # if any of it was being read (4.6)
        if self.mode == PIPELINED and (self.asks or self.refused is not None and
                                       signed(m.ack - self.refused) < 0):
            return None                 # void: it crossed what ends it (4.5)
        if inline:
            self.nr += 1
            self.expected.append(m.payload)
        if inline < m.size:
            self.adverts.append(Advert(m))
            self.expected.append(self.adverts[-1].bytes)
        return None

    def hears_mode(self, m):
        to = {0x00: BUFFERED, 0x10: COMBINED, 0x20: PIPELINED}.get(m.mode & 0xf0)
        if to is None or (to == COMBINED) != (self.mode == PIPELINED) or \
                self.mode == BUFFERED or to == BUFFERED and self.adverts:
            return 'proto'
        if self.adverts and to == COMBINED:
            self.ends.add('proto')      # if any of it was being read
            self.adverts, self.cancelled = [], False
        self.mode = to
        if to == COMBINED:
            self.all_asks_end()
        return None

    def hears_read(self, m):
        if not self.offers:
            return None if self.ended else 'proto'
        offer = self.offers[0]
        if signed(m.ack - offer.mseq) < 0:
            return None                 # of an earlier one
        if m.size > offer.left:
            return 'proto'
        # We have read it before, or it is not for us to say what it was.
        self.echo.append(offer.bytes[:m.size] if offer.bytes is not None else m.size)
        offer.bytes = offer.bytes[m.size:] if offer.bytes is not None else None
        offer.left -= m.size
        offer.va += m.size
        if not offer.left:
            self.offers.pop(0)
        return None

    def hears_ask(self, m):
        # Half the numbers away is ahead: nothing so old can be under way.
        # How short it may be is for the module to say: what is too short for an RDMA
        # Write it uses up by a copy (writes.room_for_little).
        if self.their_mode != PIPELINED or not m.size or self.back or \
                len(self.spaces) >= MOST or signed(self.ns - m.non_discards) < 0:
            return 'proto'
        # Its payload is of our half (2.3), and whether it counts is unclear (4.4): it may
        # be refused, but then aloud.
        if m.payload:
            self.ends.add('proto')
            self.expected.append(m.payload)
        if signed(self.ns - m.non_discards):
            self.ns -= 1                # stale: payload has killed it
            return None
        if self.their_fin:
            return None
        self.ended |= bool(self.offers)
        self.offers = []
        self.spaces.append(Space(m))
        return None

    # ---- what it says ----

    def answer(self, m, written):
        """A message of its; @written: what it wrote to us before, (address, bytes)."""
        cancel = self.pending and len(self.pending[0].raw) >= 16 and \
            self.pending[0].raw[0] == sdp.SRC_AVAIL_CANCEL and \
            signed(self.pending[0].mseq - 1 - m.ack) == 0
        self.catch_up(m.ack)
        self.lags |= bool(cancel)
        while not self.doom:
            before = copy.deepcopy(self) if cancel else None
            try:
                return self.says(m, written)
            except Wrong as e:
                if 'proto' in self.ends:
                    self.doom = f'the last, since {e}'      # so that has ended it
                    return
                # While a cancel is being answered it has heard more, perhaps.
                if not before or not before.pending:
                    raise
                vars(self).update(vars(before))
                self.lags = True
                self.catch_up(self.pending[0].mseq)

    def says(self, m, written):
        self.posted = m.mseq
        for va, data in written:
            space = (self.back or self.spaces or [None])[0]
            check(space, f'it writes {len(data)} bytes to {va:#x}, and was not asked to')
            check(va == space.va + len(space.bytes) and
                  len(space.bytes) + len(data) <= space.size,
                  f'it writes {len(data)} bytes to {va:#x}')
            space.bytes += data
        check(not self.their_fin or not m.payload, f'{m} behind DisConn')
        if m.mid == sdp.DATA and m.payload:
            self.says_data(m)
        elif m.mid == sdp.SRC_AVAIL:
            self.says_offer(m)
        elif m.mid == sdp.MODE_CHANGE:
            check(m.mode == 0x20 and self.their_mode == COMBINED and self.req_pipe and
                  self.most > 1, f'{m} in mode {self.their_mode}')
            self.their_mode = PIPELINED
        elif m.mid == sdp.RDMA_WR_COMPL:
            spaces = self.back or self.spaces
            check(spaces and 0 < m.size == len(spaces[0].bytes),
                  f'{m}, and it has written {len(spaces[0].bytes) if spaces else None}')
            self.echo.append(spaces.pop(0).bytes)
        elif m.mid == sdp.SINK_CANCEL_ACK:
            check(self.back and not self.back[0].bytes, f'{m}, of {len(self.back)}')
            self.back = []
        elif m.mid == sdp.SINK_AVAIL:
            check(self.mode == PIPELINED and not self.adverts and not self.asked_back and
                  not self.fin and self.out() < self.most > 1, f'{m} must not be')
            check(m.size >= self.least and not m.payload and m.non_discards == self.nr,
                  f'{m}, and it has {self.nr}')
            self.asks.append(Ask(m))
            # The reader has the others back, or this would not be his.
            for ask in self.gone:
                ask.dead = True
        elif m.mid == sdp.SINK_AVAIL_CANCEL:
            check(self.asks and not self.asked_back, f'{m}, and nothing is asked')
            self.asked_back = True
        elif m.mid == sdp.SEND_SM:
            check(self.adverts, f'{m}, and nothing is offered')
            self.refused, self.adverts, self.cancelled = m.mseq, [], False
        elif m.mid == sdp.RDMA_RD_COMPL:
            check(self.adverts, f'{m}, and nothing is offered')
            self.adverts[0].told(m.size)
            if not self.adverts[0].left:
                self.adverts.pop(0)
            self.cancelled &= bool(self.adverts)
        elif m.mid == sdp.SRC_AVAIL_CANCEL:
            check(self.offers, f'{m}, and nothing is offered')
        elif m.mid == sdp.DISCONN:
            check(not self.their_fin and not self.offers and not self.back and
                  not any(s.bytes for s in self.spaces), f'{m}, and something is left')
            self.their_fin, self.spaces = True, []

    def out(self):
        return len(self.asks) + len(self.offers)

    def says_data(self, m):
        check(not self.offers and not self.back, f'{m} stands before what is older')
        if self.spaces:
            check(not self.spaces[0].bytes, f'{m}, and what it has written is not told')
            self.spaces.pop(0)
        else:
            self.ns += 1
        self.echo.append(m.payload)

    def says_offer(self, m):
        inline = len(m.payload)
        check(not self.spaces and not self.back and self.out() < self.most, f'{m} must not be')
        check((inline > 0) == (self.their_mode == COMBINED) and inline < m.size and
              not (self.offers and inline), f'{m} in mode {self.their_mode}')
        self.ns += inline > 0
        if inline:
            self.echo.append(m.payload)
        self.ended = False
        self.offers.append(Offer(m))

    # ---- how it stands ----

    def said_back(self):
        """Its stream; what was not ours to read is taken to be right."""
        got, want = b'', self.want()
        for piece in self.echo:
            got += want[len(got):len(got) + piece] if isinstance(piece, int) else piece
        return got

    def want(self):
        return self.greeting + b''.join(self.expected)

    def rested(self):
        """All of it has been said back: so no reader waits in what he was asked for."""
        for ask in self.gone:
            ask.dead |= ask.told > 0
