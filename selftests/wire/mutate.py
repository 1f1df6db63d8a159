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

One third is with a module that refuses what is offered, one with one that reads it,
from memory that is there if the SrcAvail names it rightly.  In the last one what can
goes by SinkAvail and RDMA Write, both ways: readers on h1 sleep in a long recv(),
some not for long, and what they have read is sent by a long send().  There what we
write is mutated as well, and what is said that nobody waits for; and instead of
Model, which knows what may be, there are Halves, which know what was: all that
crosses tells how (mutate_model.py, mutate_halves.py; mutate_talk.py and
mutate_writing.py say what is said).

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
go by IPv4 and IPv6 in turn.  Every second one has a field to say at one of its bounds,
before anything else is wrong, so that of many none is left to chance: in the first two
thirds of all messages, wherever they stand in the recordings, and in the last one of
those that are said there, where they are right.  None is left out by 20,000 mutations,
and few by one of IPv4 and IPv6, or the run fails.
"""
import atexit
import os
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import peer as wire  # noqa: E402
import sdp_decode as sdp  # noqa: E402
import sockets  # noqa: E402
from mutate_model import (  # noqa: E402
    AT_ONCE, BASE, COUNTED, HOST, LOG_LINES, OTHER, PEER, READS, RKEY, STRETCH, THRESH, WRITES,
    Wrong, check)
from mutate_kinds import bounds  # noqa: E402
from mutate_talk import Talk  # noqa: E402
from mutate_writing import Writing, writings  # noqa: E402
from roce import FACTOR, LIMIT  # noqa: E402
from sockets import pattern  # noqa: E402

SLOW = LIMIT / 8        # s, of one that waits unusually long
FULL = 20000            # mutations, by which every field must have been at its bounds

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
        # Sixteen of this peer's connections at once, in Python, on a machine that is
        # busy with others: an acknowledgement may take seconds.
        was = self.remote.sysctl('ack_timeout', min(int(2000 * FACTOR), 8000))
        atexit.register(self.remote.sysctl, 'ack_timeout', int(was))
        thresh = self.remote.sysctl('zcopy_thresh', 0)
        atexit.register(self.remote.sysctl, 'zcopy_thresh', int(thresh))
        for name, value in ('zcopy_wait', 60000), ('zcopy_adapt', 0):
            was = self.remote.sysctl(name, value)
            atexit.register(self.remote.sysctl, name, int(was))
        self.reads, self.writes, self.repeated = False, False, 0
        self.remote.start(OTHER)
        self.changed = threading.Condition(threading.RLock())
        self.peers = [wire.Peer(address, self.changed) for address in PEER]
        self.record, self.scripts, self.recorded = False, [], ([], [])
        self.kinds, self.mutations, self.results, self.failed = {}, 0, 0, 0
        self.more = True
        # Of every field, without SinkAvail and with it; those that were said.
        self.bounds, self.hit = ([], []), (set(), set())
        self.written = {}       # the latter, by whether the reader is impatient
        self.counters = self.remote.counters()
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
            self.look(talk)
            self.wrong.append((talk, g.wrong))
            if conn and conn.qp.peer_qpn and not talk.over:
                conn.dreq(False)
        if conn:
            conn.qp.close()
            port = talk.peer.port
            with self.changed:
                port.mads = [m for m in port.mads if m.remote_id != conn.id]

    def find(self, talk):
        """One waits long: h1 may not have it any more when its time is over."""
        if talk.conn:
            talk.info = self.remote.find(talk.conn.qp.qpn)
            talk.say(f'after {SLOW:g} s h1 had: {talk.info}')

    def look(self, talk):
        """What both sides know of one that went wrong; it is told with it."""
        c = talk.conn
        if not c:
            return
        mads = [sdp.CM_NAMES.get(m.attr, m.attr) for m in talk.peer.port.mads
                if m.remote_id == c.id]
        talk.say(f'the peer: over {talk.over}, QP {c.qp.qpn}, {len(c.qp.unacked)} packets not '
                 f'acknowledged, MSeq {c.mseq}, heard {c.heard}, read from {c.qp.served}, '
                 f'refused {c.qp.refused}, NAK {c.qp.nak}, datagrams {mads}')
        info = self.remote.find(c.qp.qpn)
        talk.say(f'h1 has: {info}')
        info = info or talk.info
        for line in self.remote.look(info['id']) if info else ():
            talk.say(f'h1: {line}')

    def set_kind(self, first):
        """Whether what is offered from now on is refused, or read, or also written to:
        by the number of the first such conversation."""
        self.reads, self.writes = first >= READS, first >= WRITES
        self.remote.sysctl('zcopy_thresh', THRESH if self.writes else 65536 if self.reads else 0)
        self.remote.sleep(self.writes)
        self.all_messages = [m for said in self.recorded[self.writes] for m in said]
        self.one_of_each = list({m[0]: m for m in self.all_messages}.values())
        self.talk = Writing if self.writes else Talk

    def aim(self):
        """Every field of every message of the recordings, at each of its bounds."""
        one_of_each = {m[0]: m for said in self.recorded[False] for m in said}
        hello = self.peers[0].hello(HOST[0]).pack()
        ack = sdp.Message(sdp.HELLO_ACK).pack()
        for impatient in False, True:
            items = [i for _, how, items in writings() if how == impatient for i in items]
            self.written[impatient] = bounds(
                {i.message.mid: i.message.pack() for i in items}.values())
        self.bounds = (bounds([hello, ack], True) + bounds(one_of_each.values()),
                       list(dict.fromkeys(self.written[False] + self.written[True])))

    def tell_hits(self, full):
        for every, hit, where in zip(self.bounds, self.hit, ('', ', with SinkAvail')):
            by = [{b for v6, b in hit if v6 == i} for i in (0, 1)]
            missed = [b for b in every if b not in by[0] | by[1]]
            print(f'# {len(every) - len(missed)} of {len(every)} bounds of fields were said'
                  f'{where}: {len(by[0])} by IPv4 and {len(by[1])} by IPv6')
            if not full:
                continue
            for mid, at, size, which in missed:
                print(f'# never said: {which} in the {size} bytes at {at} of '
                      f'{sdp.NAMES.get(mid, hex(mid))}')
            # What an impatient reader is told is told if he gives up in time.
            bad = missed or any(len(b) < 0.9 * len(every) for b in by)
            self.results += 1
            self.failed += bool(bad)
            print(f'{"not " if bad else ""}ok {self.results} - '
                  f'mutate.every field at its bounds{where}')

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
        by_rdma = {k: now[k] - self.counters[k] for k in
                   ('asks', 'asks_cancelled', 'bytes_filled', 'offers', 'rdma_writes')}
        self.counters = now
        check(not read if not self.reads else read or len(self.ends) < 100,
              f'{read} RDMA reads')
        check(not any(by_rdma.values()) if not self.writes else
              all(by_rdma.values()) or len(self.ends) < 100, f'by RDMA: {by_rdma}')
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
        lines = self.remote.traced('sdp_fail')
        check(not odd, ''.join(f'{line}\n' for line in lines if not line.endswith(' received')) +
              'counters moved by ' + ', '.join(
            f'{k} {moved[k]} instead of {self.expect[k]}' for k in odd))
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

    def forget(self):
        """What a case that failed left is not the next one's."""
        try:
            self.until('what failed is over', lambda: not self.left())
        except Wrong as e:
            print(f'# {e}')
        self.remote.take()
        self.counters = self.remote.counters()
        self.repeated = sum(p.port.repeated for p in self.peers)

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
            print('# the last that h1 says of failures: ', self.remote.traced('sdp_fail')[-AT_ONCE:])
            self.forget()
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
        self.over, self.wrong, self.slow = False, None, False

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
                if not self.slow and time.monotonic() > self.end - LIMIT + SLOW:
                    self.slow = True
                    self.talk.run.find(self.talk)
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
            talk = Talk(run, 4 * i, (active, say))
            yield talk
            run.scripts.append(talk.said)
            run.recorded[False].append(talk.said)   # which grows yet
        run.more = False

    def record_writes(active):
        for i, (what, impatient, items) in enumerate(writings()):
            # By who reads it: see is_impatient().
            index = WRITES + 4 * i + (0 if impatient else 1)
            talk = Writing(run, index, (active, items))
            yield talk
            run.recorded[True].append(talk.said)
        run.more = False

    def mutated(until):
        while run.mutations < until:
            yield run.talk(run, run.index)
            run.index += 1
        run.more = False

    run.record = True
    for name, active in ('recorded as the active side', True), ('as the passive side', False):
        run.stretch(name, record(active))
    run.set_kind(WRITES)
    for name, active in ('recorded with SinkAvail', True), ('that as the passive side', False):
        run.stretch(name, record_writes(active))
    run.record = False
    run.scripts = [s for s in run.scripts if s]
    run.aim()
    kinds = {0: 'refuses', READS: 'reads', WRITES: 'writes'}
    if only is not None:
        run.set_kind(int(only))
        talk = run.talk(run, int(only))

        def one():
            yield talk
            run.more = False
        run.stretch(f'conversation {only}', one())
        print(''.join(f'# {line}\n' for line in talk.told), end='')
    else:
        for n, (first, name) in enumerate(kinds.items()):
            run.set_kind(first)
            run.index, end = 100 + first, count * (n + 1) // len(kinds)
            while run.mutations < end and not run.failed:
                goal = min(run.mutations + STRETCH, end)
                run.stretch(f'{name}, up to {goal}', mutated(goal))
        print('# ' + ', '.join(f'{k}: {v}' for k, v in sorted(run.kinds.items())))
        run.tell_hits(count >= FULL and not run.failed)
    print(f'1..{run.results}')
    print(f'# Totals: pass:{run.results - run.failed} fail:{run.failed} skip:0')
    sys.exit(bool(run.failed))


if __name__ == '__main__':
    main()
