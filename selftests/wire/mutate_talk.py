# SPDX-License-Identifier: GPL-2.0
"""Talk: one recorded conversation said again with mistakes in it, for mutate.py."""
import random
import struct

import peer as wire
import roce
import sdp_decode as sdp
from mutate_model import (
    BASE, BUFS, CONSUMER_DEFINED, HOST, LENT, MASK, PEER_PORT, READS, REJ_REASONS, RKEY, Memory, Model,
    check, hello_ack_refused, hello_refused)
from mutate_kinds import KINDS, MORE, ONE, at_bound, edge, flip, put
from parrot import GREETING, PORT


class Talk:
    """One conversation, as a generator: it yields (what, condition) to wait."""

    def __init__(self, run, index, record=None):
        self.run, self.index, self.record = run, index, record
        self.r = random.Random(f'{run.seed}.{index}')
        self.mutations, self.told, self.said = 0, [], []
        self.model = Model(run.reads)
        self.echo, self.their_fin, self.their_abort = b'', False, False
        self.conn, self.over, self.told_heard = None, None, 0
        self.info = None        # SDP_INFO of the other side, if it took long
        self.aim = None         # at a bound: what is said before all else that is wrong
        self.port = 20000 + index % 40000
        # By IPv4 and IPv6 in turn; what else goes by the number goes by its last two bits.
        self.by(index >> 2 & 1)

    def by(self, v6):
        self.v6, self.peer, self.host = v6, self.run.peers[v6], HOST[v6]

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
            index, m = c._taken, sdp.read_message(c.qp.received[c._taken])
            c.qp.received[c._taken] = None
            c._taken += 1
            check(m.mseq == (c.heard + 1) & MASK, f'MSeq {m.mseq} after {c.heard}')
            check(m.len <= max(c.hello_rcvsz, 64), f'{m} is longer than our buffers')
            check(not self.their_fin or not m.payload, f'{m} behind DisConn')
            c.heard, c.their_bufs, c.their_ack = m.mseq, m.bufs, m.ack
            self.took(index, m)
            self.their_fin |= m.mid == sdp.DISCONN
            self.their_abort |= m.mid == sdp.ABORT_CONN
        if self.has_mad(sdp.DREQ):
            self.over = 'dreq'
        elif self.active and self.has_mad(sdp.REJ):
            self.over = 'rej'
        elif c.qp.nak is not None:
            self.over = 'nak'
        check(not c.qp.dead, 'our messages are not acknowledged')
        if not self.over and (c.heard - self.told_heard) & MASK >= 8 and c.credits() > 1:
            self.send(self.right(sdp.Message(sdp.DATA).pack()))

    def took(self, _, m):
        """A message of theirs."""
        self.echo += m.payload
        if m.mid == sdp.SEND_SM:
            self.model.hear_sendsm(m)
        elif m.mid == sdp.RDMA_RD_COMPL:
            self.model.hear_read(m)

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
        self.private = raw
        aimed = self.aim and self.aim[0] == raw[0]
        if not aimed and (self.run.record or self.aim or self.r.random() > 0.12):
            return raw
        self.mutations += 1
        new = self.private = self.hit(raw) if aimed else self.r.choice((
            lambda: flip(self.r, raw, 36), lambda: flip(self.r, raw, size),
            lambda: edge(self.r, raw, True), lambda: edge(self.r, raw, True)))()
        self.say(f'private data {raw[:68].hex()} as {new[:68].hex()}')
        return new

    def our_hello(self):
        return self.peer.hello(self.host, port=self.port)

    def our_ack(self):
        return sdp.Message(sdp.HELLO_ACK, bufs=BUFS, version=0x22, max_adverts=1,
                           rcvsz=wire.RCVSZ)

    def call(self):
        """We are the active side; True if there is a connection."""
        run = self.run
        raw = self.bend_private(self.our_hello().pack())
        refused = hello_refused(raw, self.peer.address, self.host)
        c = self.conn = self.fresh(4096)
        c.hello_rcvsz = struct.unpack_from('>I', raw, 24)[0]
        self.peer.port.send_mad(self.host, sdp.REQ, roce.req(
            c.id, c.qp.qpn, c.qp.expect_psn, self.peer.address, self.host, wire.SERVICE + PORT,
            raw), repeat=True)
        mad = yield 'REP', lambda: self.has_mad(sdp.REP, sdp.REJ)
        check((mad.attr == sdp.REJ) == bool(refused), f'{sdp.CM_NAMES[mad.attr]}: {refused}')
        if refused:
            check(mad.reason == REJ_REASONS[refused], f'REJ reason {mad.reason}, {refused}')
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
        raw = self.bend_private(self.our_ack().pack())
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

    def take_aim(self):
        """Every second one has a field to say at one of its bounds; those with one that
        reads begin with the last."""
        bounds = self.run.bounds[False]
        if not self.run.record and not self.index % 2:
            n = self.index // 2
            self.aim_at(bounds, n if self.index < READS else READS // 2 - n)
        return self.aim and self.aim[0]

    def aim_at(self, bounds, n):
        """They come round and round, each by IPv4 and IPv6 in turn."""
        lap, at = divmod(n, len(bounds))
        self.aim = bounds[at]
        self.by(lap + at & 1)

    def hit(self, raw):
        mid, at, size, which = self.aim
        self.run.hit[self.run.writes].add((self.v6, self.aim))
        self.aim = None
        self.say(f'{which} at {at} of {raw[:40].hex()}')
        return at_bound(raw, at, size, which)

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
        aim = self.take_aim()
        if self.record:
            self.active, script = self.record
        elif aim in (None, sdp.HELLO, sdp.HELLO_ACK):
            self.active = r.random() < 0.75 if aim is None else aim == sdp.HELLO
            script = r.choice(run.scripts)
        else:
            self.active = r.random() < 0.75
            script = r.choice([s for s in run.scripts if any(m[0] == aim for m in s)])
        if not (yield from (self.call() if self.active else self.answer())):
            return
        # Some get far, and some are all wrong.
        at, rate = 0, r.choice((0.9, 0.5, 0.25))
        while at < len(script) and not self.over and not self.is_fin():
            if run.record or self.aim or r.random() > rate:
                out, used = [self.right(script[at])], 1
                self.said += out
                if self.aim and self.aim[0] == out[0][0]:
                    out = [self.hit(out[0])]
                    self.mutations += 1
            else:
                out, used = self.bend(script, at)
            yield from self.step(out)
            at += used
        yield from self.finish()

    def last(self):
        return [self.right(sdp.Message(sdp.DISCONN).pack())]

    def is_fin(self):
        return self.model.fin()

    def why(self):
        """How it may have ended, which it has."""
        check(self.model.ends, f'it ended ({self.over}), and should not have: '
                               f'{self.model.states}')
        return set(self.model.ends)

    def finish(self):
        run, c = self.run, self.conn
        if not self.over and not self.is_fin():
            if not run.record and self.r.random() < 0.25:
                c.dreq(False)
                run.expect['resets'] += 1
                run.ends.append((self, {'ECONNRESET'}))
                yield 'DREP', lambda: self.has_mad(sdp.DREP, sdp.DREQ)
                return
            yield from self.step(self.last())
        if not self.over:
            # Both have said DisConn, we first: the DREQ is ours.
            run.ends.append((self, {'eof'}))
            c.dreq(False)
            yield 'DREP', lambda: self.has_mad(sdp.DREP, sdp.DREQ)
            return
        ends = self.why()
        # Whose RTU lies unread yet is told by a REJ that the device has ended it; all
        # other ends have a DREQ, which waits for the RTU.
        check(self.over == 'dreq' or 'lost' in ends, f'refused by a {self.over}')
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
