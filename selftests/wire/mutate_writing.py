# SPDX-License-Identifier: GPL-2.0
"""Writing: conversations about SinkAvail, of either side, for mutate.py."""
import struct
import time

import peer as wire
import sdp_decode as sdp
from mutate_model import (
    BASE, BUFS, COMBINED, LENGTH, LENT, MASK, MOST, OURS, PIPELINED, RKEY, ROOM, ROOM_KEY,
    ROOM_SIZE, WRITES, Memory, check)
from mutate_halves import Halves, Room, Said
from mutate_kinds import put
from mutate_talk import Talk
from parrot import GREETING, is_impatient
from roce import FACTOR
from sockets import pattern


class Item:
    """What is said in one step of those; some of it depends on what the other side says."""

    def __init__(self, mid, payload=b'', wait=None, fill=0, leave=False, nudge=False,
                 starve=False, **ext):
        self.message = sdp.Message(mid, payload, **ext)
        self.wait = wait        # for this of the other side first: ask, cancel, offer
        self.fill = fill        # bytes to write into its SinkAvail, or so many by Data
        self.leave = leave      # what it offers then is left to the next step
        self.nudge = nudge      # only if what was waited for has not come
        self.starve = starve    # it gets no credit to tell of what it writes then


def writings():
    """What a correct peer says: (name, whether the reader is impatient, items)."""
    data = pattern(9000, 3)

    def say(mid, payload=b'', **how):
        return Item(mid, payload, **how)

    def pipe():
        return say(sdp.MODE_CHANGE, mode=0x20, flags=sdp.REQ_PIPE)

    def fill(size, wait='ask', **how):
        return say(sdp.RDMA_WR_COMPL, wait=wait, fill=size, **how)

    def ask(size=LENGTH, **how):
        return say(sdp.SINK_AVAIL, size=size, rkey=ROOM_KEY, **how)

    def offer(size, **how):
        return say(sdp.SRC_AVAIL, size=size, rkey=RKEY, va=BASE, **how)

    def short(size, **how):
        return say(sdp.DATA, data[:size], **how)

    # Who slept before does not ask until he has come back.
    begun = [pipe(), short(20, wait='ask', nudge=True)]
    return [
        ('filled', False, [short(100)] + begun + [fill(LENGTH), fill(5000), fill(LENGTH - 1),
                           short(700), short(70), fill(1)]),
        ('written', False, begun + [fill(LENGTH), ask(), fill(LENGTH), ask(), ask(),
                            fill(LENGTH), fill(LENGTH)]),
        ('crosses', False, begun + [fill(LENGTH, leave=True), ask(wait='offer'),
                            fill(LENGTH, leave=True), ask(size=50000, wait='offer'),
                            short(50)]),
        ('told', False, begun + [fill(LENGTH, leave=True),
                         say(sdp.RDMA_RD_COMPL, wait='offer', size=1000, leave=True),
                         say(sdp.RDMA_RD_COMPL, size=30000), short(60),
                         fill(LENGTH, leave=True), say(sdp.SEND_SM, wait='offer'),
                         ask(), fill(LENGTH)]),
        ('killed', False, begun + [fill(LENGTH), ask(), short(80), ask(), ask(), short(5),
                           short(6), short(7), ask(), fill(LENGTH)]),
        ('taken back', False, begun + [fill(LENGTH), ask(), say(sdp.SINK_AVAIL_CANCEL), ask(),
                               ask(), say(sdp.SINK_AVAIL_CANCEL), fill(LENGTH),
                               say(sdp.SINK_AVAIL_CANCEL), ask(), fill(LENGTH)]),
        ('untold', False, begun + [fill(LENGTH), ask(), fill(LENGTH, starve=True),
                           say(sdp.SINK_AVAIL_CANCEL), ask(), ask(),
                           fill(LENGTH, starve=True), say(sdp.SINK_AVAIL_CANCEL), ask(),
                           fill(LENGTH, starve=True), ask(), fill(LENGTH)]),
        ('many', False, begun + [fill(LENGTH), ask()] + [ask() for _ in range(MOST - 1)] +
                 [fill(LENGTH)] * 2),
        ('offers', False, begun + [offer(4000, wait='ask'), fill(LENGTH), short(40),
                           offer(4000), offer(60000), say(sdp.SRC_AVAIL_CANCEL),
                           fill(LENGTH)]),
        ('modes', False, begun + [say(sdp.MODE_CHANGE, wait='ask', mode=0x10), short(300),
                          pipe(), fill(LENGTH), say(sdp.MODE_CHANGE, wait='ask', mode=0x10),
                          say(sdp.MODE_CHANGE, mode=0x00), short(30)]),
        ('urgent', False, begun + [short(40, wait='ask', flags=sdp.OOB_PRES), fill(LENGTH),
                           fill(100, flags=sdp.OOB_PEND), short(1, flags=sdp.OOB_PRES)]),
        ('ends', False, begun + [fill(LENGTH), ask(), ask(),
                         say(sdp.DISCONN, wait='ask')]),
        ('gives up', True, begun + [say(sdp.SINK_CANCEL_ACK, wait='cancel'), short(50),
                            fill(2000), say(sdp.SINK_CANCEL_ACK, wait='cancel')]),
        ('too late', True, begun + [fill(2000), fill(3000, wait='cancel'), fill(LENGTH),
                            short(30, wait='cancel'), offer(5000),
                            offer(5000, wait='cancel')]),
        ('ends late', True, begun + [say(sdp.DISCONN, wait='cancel')]),
        ('modes late', True, begun + [say(sdp.MODE_CHANGE, wait='cancel', mode=0x10),
                              short(9), pipe(), fill(LENGTH)]),
    ]


class Writing(Talk):
    """One of them."""

    WAIT = 0.3 * FACTOR     # s, for what need not come
    probe = sdp.Message(sdp.CH_RCV_BUF, size=65536).pack()      # it is answered

    def __init__(self, run, index, record=None):
        super().__init__(run, index, record)
        self.slot, self.reading, self.leave = 0, None, set()
        self.names = []         # what the other side may read or write: key, address, size

    def our_hello(self):
        return self.peer.hello(self.host, port=self.port, max_adverts=OURS)

    def our_ack(self):
        return sdp.Message(sdp.HELLO_ACK, bufs=BUFS, version=0x22, max_adverts=OURS,
                           rcvsz=wire.RCVSZ)

    def fresh(self, mtu):
        conn = super().fresh(mtu)
        self.room = Room(conn.qp)
        conn.qp.room = Memory({ROOM_KEY: (ROOM, self.room)})
        return conn

    # ---- beneath ----

    def took(self, index, m):
        """A message of theirs."""
        n = next((i for i, w in enumerate(self.room.log) if w[0] > index), len(self.room.log))
        written, self.room.log[:n] = [w[1:] for w in self.room.log[:n]], []
        self.say(f'heard {m}, {sum(len(w[1]) for w in written)} bytes written')
        self.model.answer(m, written)

    @staticmethod
    def shown(rdma):
        return ''.join(f', behind a {what} of {len(data)} bytes at {va:#x}, key {key:#x}'
                       for what, key, va, data in rdma)

    def send(self, raw, rdma=()):
        c = self.conn
        for what, key, va, data in rdma:
            if what == 'read':
                c.qp.post_read(va, key, len(data))
            else:
                c.qp.post_write(va, key, data)
        c.mseq = (c.mseq + 1) & MASK
        self.say(f'said {raw[:40].hex()}, {len(raw)} bytes{self.shown(rdma)}')
        self.model.say(Said(c.mseq, raw, rdma))
        self.told_heard = c.heard
        self.named(raw)
        c.qp.send(raw)

    def named(self, raw):
        """What it may read or write of ours from now on, be it there or not."""
        try:
            m = sdp.read_message(raw)
        except (sdp.Malformed, struct.error):
            return
        if m.mid in (sdp.SRC_AVAIL, sdp.SINK_AVAIL):
            self.names.append((m.rkey, m.va, m.size))

    def resolve(self, item):
        """That message as it is right now, and what is to be written before."""
        m, model = item.message, self.model
        rdma = []
        if item.nudge and model.asks or \
                m.mid == sdp.SINK_AVAIL and model.their_mode != PIPELINED:
            m = sdp.Message(sdp.DATA)
        elif m.mid == sdp.RDMA_WR_COMPL:
            if not model.asks:
                m = sdp.Message(sdp.DATA, pattern(min(item.fill, 1000), self.index & 0xff),
                                flags=m.flags)
            else:
                ask = model.asks[0]
                size = min(item.fill, ask.size)
                data, half = pattern(size, self.r.randrange(256)), size // 2
                rdma = [('write', ask.key, ask.va + at, part) for at, part in
                        ((0, data[:half]), (half, data[half:])) if part]
                m = sdp.Message(m.mid, flags=m.flags, size=size)
        elif m.mid == sdp.SINK_AVAIL:
            self.slot = (self.slot + 1) % (ROOM_SIZE // 65536)
            m = sdp.Message(m.mid, flags=m.flags, **{
                **m.ext, 'va': ROOM + 65536 * self.slot, 'non_discards': model.ns & MASK})
        elif m.mid == sdp.SINK_CANCEL_ACK and not model.asked_back or \
                m.mid == sdp.RDMA_RD_COMPL and not model.offers:
            m = sdp.Message(sdp.DATA, pattern(10, 8))
        elif m.mid == sdp.RDMA_RD_COMPL:
            m = sdp.Message(m.mid, size=min(m.size, model.offers[0].left))
        elif m.mid == sdp.SRC_AVAIL and model.mode != PIPELINED:
            m = sdp.Message(m.mid, LENT[:64], **m.ext)
        return self.right(m.pack()), rdma

    # ---- mistakes ----

    def take_aim(self):
        """Every second one has a field to say at one of its bounds, of a message that such
        a reader is told."""
        if not self.run.record and not self.index % 2:
            self.aim_at(self.run.written[is_impatient(self.port)], (self.index - WRITES) // 4)
        return self.aim and self.aim[0]

    def is_aimed(self, raw, rest):
        """Is it this one?  The script may have more of them."""
        return self.aim and self.aim[0] == raw[0] and (
            self.r.random() < 0.5 or all(i.message.mid != raw[0] for i in rest))

    def bend(self, script, at):
        first, rdma = self.resolve(script[at])
        plain = [first] + [self.resolve(i)[0] for i in script[at + 1:at + 2]]
        if self.r.random() < (0.5 if rdma else 0.05 if self.model.gone else 0):
            return self.bend_rdma(first, rdma), 1
        if self.r.random() < (0.5 if first[0] == sdp.SINK_AVAIL_CANCEL else 0):
            # It owes an answer, and has no credit for it.
            return [(put(m, 2, 2, 1), ()) for m, _ in [(first, ())] + self.too_many(1, 1)], 1
        # As many as there may be, and one more, when there are credits for them.
        more = MOST + 1 - len(self.model.spaces)
        if more < self.conn.credits() - 1 and self.r.random() < 0.5:
            return self.too_many(more), 1
        if self.r.random() < 0.3:
            return self.unasked(first, rdma), 1
        out, used = super().bend(plain, 0)
        return [(raw, rdma if not i else ()) for i, raw in enumerate(out)], used

    def bend_rdma(self, raw, rdma):
        """The message is right, and what is written before it, or behind it, is not."""
        r, model = self.r, self.model
        late = ()
        kinds = ['gone'] if not rdma else ['nowhere', 'short', 'key', 'before', 'beyond',
                                           'too long', 'late', 'read', 'all', 'one']
        kind = r.choice(kinds)
        if kind == 'gone':
            ask = r.choice(model.gone)
            size = r.choice((1, ask.size))
            rdma = [('write', ask.key, ask.va, bytes(ask.bytes[:size]))]
        else:
            _, key, va, data = rdma[0]
            ask, by = model.asks[0], r.choice((1, 2, 4096))
            if kind == 'nowhere':
                rdma = []
            elif kind == 'short':
                rdma = rdma[:1]
            elif kind == 'key':
                rdma = [('write', key ^ 1 << r.randrange(32), va, data)]
            elif kind == 'before':
                rdma = [('write', key, va - by, data)]
            elif kind == 'beyond':
                rdma = [('write', key, va + ask.size - len(data) + by, data)] + rdma
            elif kind == 'too long':
                rdma = [('write', key, va, pattern(ask.size + by, 1))]
            elif kind == 'late':
                late = rdma
            elif kind == 'read':
                rdma = rdma + [('read', key, va, data)]
            elif kind == 'all':
                rdma = rdma + [('write', key, va + ask.size - 1, b'!')]
            else:
                rdma = [('write', key, va + i, data[i:i + 1]) for i in range(3)]
        self.mutations += 1
        self.run.kinds[f'RDMA {kind}'] = self.run.kinds.get(f'RDMA {kind}', 0) + 1
        self.say(f'RDMA {kind}: {raw[:40].hex()}{self.shown(rdma)}')
        out = [(raw, rdma)]
        if late:
            out.append((self.right(sdp.Message(sdp.DATA).pack(), 1), late))
        return out

    def unasked(self, raw, rdma):
        """A message of these matters that is right in itself, and that nobody waits for;
        instead of the right one, before it or behind it."""
        r, model = self.r, self.model
        size = r.choice([0, 1, LENGTH, LENGTH + 1, 100000] +
                        [a.size for a in model.asks + model.spaces] +
                        [o.left + 1 for o in model.offers] + [o.left for o in model.offers])
        at = {'rkey': ROOM_KEY, 'va': ROOM + 65536 * r.randrange(ROOM_SIZE // 65536 - 1)}
        kind = r.choice((
            sdp.RDMA_WR_COMPL, sdp.RDMA_WR_COMPL, sdp.SINK_CANCEL_ACK, sdp.RDMA_RD_COMPL,
            sdp.SINK_AVAIL, sdp.SINK_AVAIL, sdp.SINK_AVAIL_CANCEL, sdp.SEND_SM, sdp.SRC_AVAIL,
            sdp.SRC_AVAIL_CANCEL, sdp.MODE_CHANGE, sdp.DATA, sdp.DISCONN))
        m = sdp.Message(kind)
        if kind in (sdp.RDMA_WR_COMPL, sdp.RDMA_RD_COMPL):
            m = sdp.Message(kind, size=size)
        elif kind == sdp.SINK_AVAIL:
            m = sdp.Message(kind, size=size, **at, non_discards=(
                model.ns + r.choice((0, 0, 0, 1, -1))) & MASK)
        elif kind == sdp.SRC_AVAIL:
            inline = LENT[:64] if model.mode == COMBINED else b''
            m = sdp.Message(kind, inline, size=r.choice((100, 70000, 70001)), rkey=RKEY, va=BASE)
        elif kind == sdp.MODE_CHANGE:
            m = sdp.Message(kind, mode=r.choice((0x00, 0x10, 0x20, 0x90, 0xa0)))
        elif kind == sdp.DATA:
            m = sdp.Message(kind, pattern(r.choice((1, 2000)), 2))
        self.mutations += 1
        self.run.kinds['unasked'] = self.run.kinds.get('unasked', 0) + 1
        self.say(f'unasked: {m}, and {raw[:40].hex()}')
        how = r.randrange(3)
        if how == 0:
            return [(self.right(m.pack()), rdma)]
        if how == 1:
            return [(self.right(m.pack()), rdma), (self.right(raw, 1), ())]
        return [(raw, rdma), (self.right(m.pack(), 1), ())]

    def too_many(self, n, ahead=0):
        self.mutations += 1
        self.run.kinds['too many'] = self.run.kinds.get('too many', 0) + 1
        self.say(f'{n} times SinkAvail')
        raw = sdp.Message(sdp.SINK_AVAIL, size=LENGTH, rkey=ROOM_KEY, va=ROOM,
                          non_discards=self.model.ns & MASK).pack()
        return [(self.right(raw, ahead + i), ()) for i in range(n)]

    # ---- steps ----

    def until(self, what):
        """Wait for that of the other side; it need not come."""
        model, end = self.model, time.monotonic() + self.WAIT
        if what == 'cancel' and not model.asks or model.most < 2 or \
                what == 'ask' and model.mode != PIPELINED:
            end = 0
        yield what, self.pumped(lambda: {
            'ask': model.asks, 'cancel': model.asked_back,
            'offer': model.offers and model.offers[0].bytes is not None}[what] or
            time.monotonic() > end)

    def starved(self, raw, rdma):
        """Say that with one credit: it may write then, and has to wait with RdmaWrCompl."""
        c, end = self.conn, time.monotonic() + self.WAIT
        yield 'credits', self.pumped(lambda: c.credits() > 2)
        if not self.over:
            self.send(put(raw, 2, 2, 1), rdma)
            yield 'RDMA writes', self.pumped(lambda: self.room.log or time.monotonic() > end)

    def step(self, out):
        c, model = self.conn, self.model
        yield 'credits', self.pumped(lambda: c.credits() > len(out))
        if self.over:
            return
        for raw, rdma in out:
            self.send(raw, rdma)
        mark = (c.mseq + 1) & MASK
        self.send(self.right(self.probe))
        yield (f'an answer, or the end; {len(model.pending)} not heard',
               self.pumped(lambda: not (c.their_ack - mark) & 1 << 31))
        if self.over:
            return
        yield f'the rest; {self.how()}', self.pumped(self.rests)
        if not self.over:
            check(model.want().startswith(model.said_back()), 'other bytes came back')

    def how(self):
        m = self.model
        return (f'{len(m.said_back())} of {len(m.want())} bytes; {len(m.adverts)} offered, '
                f'{len(m.offers)} of theirs, {len(m.asks)} asked{" back" * m.asked_back}, '
                f'{len(m.spaces)}+{len(m.back)} of ours')

    def rests(self):
        """Do what a correct peer does; true if there is nothing more."""
        c, model = self.conn, self.model
        if c.credits() < 3 or model.doom:
            return False
        # What there is to be done is known when it has heard what was said last.
        if model.pending:
            if model.pending[-1].raw[:1] != self.probe[:1]:
                self.send(self.right(self.probe))
            return False
        leave = set() if model.fin else self.leave
        if model.asked_back and 'cancel' not in leave:
            self.send(self.right(sdp.Message(sdp.SINK_CANCEL_ACK).pack()))
            return False
        if not self.read_offers():
            return False
        if model.offers and 'offer' not in leave:
            self.send(self.right(sdp.Message(sdp.RDMA_RD_COMPL, flags=sdp.REQ_PIPE,
                                             size=model.offers[0].left).pack()))
            return False
        if model.adverts or model.back or model.fin and not model.their_fin:
            return False
        if len(model.said_back()) < len(model.want()):
            return bool(model.offers)
        check(model.said_back() == model.want(), 'other bytes came back')
        model.rested()
        return True

    def read_offers(self):
        """Read what it offers; true if all is read."""
        qp = self.conn.qp
        if self.reading:
            offer, wanted = self.reading
            if qp.has_read(wanted) is None:
                return False
            offer.bytes, self.reading = qp.has_read(wanted), None
        for offer in self.model.offers:
            if offer.bytes is None:
                self.reading = offer, qp.post_read(offer.va, offer.key, offer.left)
                return False
        return True

    def conversation(self):
        run, r = self.run, self.r
        aim = self.take_aim()
        self.active = self.record[0] if self.record else r.random() < 0.75
        script = self.record[1] if self.record else r.choice(
            [s for _, impatient, s in writings() if impatient == is_impatient(self.port) and
             (not aim or any(i.message.mid == aim for i in s))])
        if not (yield from (self.call() if self.active else self.answer())):
            return
        self.begins()
        # Where mistakes begin, and how many there are: some get far.
        first = r.choice((0, r.randrange(len(script)), r.randrange(len(script))))
        at, rate = 0, r.choice((0.9, 0.5, 0.25))
        while at < len(script) and not self.over and not self.is_fin():
            if script[at].wait:
                self.leave |= {script[at].wait}
                yield from self.until(script[at].wait)
                if self.over:
                    break
            self.leave = {'offer'} if script[at].leave else set()
            if script[at + 1:] and script[at + 1].wait == 'cancel':
                self.leave.add('cancel')
            if run.record or self.aim or at < first or r.random() > rate:
                out, used = [self.resolve(script[at])], 1
                self.said += [raw for raw, _ in out]
                if self.is_aimed(out[0][0], script[at + 1:]):
                    out = [(self.hit(out[0][0]), out[0][1])]
                    self.mutations += 1
                elif script[at].starve:
                    yield from self.starved(*out[0])
                    at += 1
                    continue
            else:
                out, used = self.bend(script, at)
            yield from self.step(out)
            at += used
        self.leave = set()
        check(not run.record or not self.over, 'what is right ended it')
        yield from self.finish()

    def begins(self):
        """What the Hello, or HelloAck, of each side said."""
        c = self.conn
        most = self.private[19] or 1
        if self.active and self.private[17] & 2:
            most, = struct.unpack_from('>H', self.private, 66)
        self.model = Halves(most, c.snd_max, b'' if self.active else GREETING)

    def last(self):
        return [(self.right(sdp.Message(sdp.DISCONN).pack()), ())]

    def is_fin(self):
        return self.model.fin

    def why(self):
        ends = self.model.why()
        # What we wrote may have been refused before it heard what was wrong before.
        if self.over == 'nak' and any(said.rdma for said in self.model.pending):
            ends.add('lost')
        for key, va, size in self.conn.qp.refused:
            check(any(k == key and v <= va and va + size <= v + s for k, v, s in self.names),
                  f'it wants {size} bytes at {va:#x}, key {key:#x}, and was told of '
                  f'{self.names}')
            ends.add('lost')
        check(ends, f'it ended ({self.over}), and should not have: {self.how()}')
        return ends
