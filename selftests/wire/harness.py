# SPDX-License-Identifier: GPL-2.0
"""What the cases of wire.py have in common: how one is declared, what it has in
hand, and what must be true after each.

A case says what it does to the counters of h1; all others of COUNTED must stay
as they are.  After each case the module must have let go of everything, a
bystander's connection between h1 and h2 must still work, and so must a new one.
"""
import errno
import os
import sys
import time
import traceback

import peer as wire
import sdp_decode as sdp
import sockets
from roce import FACTOR, LIMIT
from sockets import pattern

PORT = 7000             # where the kernel listens
PEER_PORT = 5001        # where the peer does
HOST = {4: '10.9.0.1', 6: 'fd09::1'}
PEER = {4: '10.9.0.77', 6: 'fd09::77'}
OTHER = {4: '10.9.0.2', 6: 'fd09::2'}
FULL = wire.RCVSZ - 16
STATES = ('CLOSED SYN_SENT SYN_RECV ESTABLISHED FIN_WAIT_1 FIN_WAIT_2 CLOSING CLOSE_WAIT '
          'LAST_ACK TIME_WAIT_1 TIME_WAIT_2').split()

# How errors show: a REJ's reasons, and what counters a broken connection moves.
UNSUPPORTED, INVALID_SERVICE_ID, STALE_CONN, INVALID_GID, CONSUMER_DEFINED = 5, 8, 10, 12, 28
BROKEN = {'proto_errors': 1, 'aborts': 1}

# Not no_buffer: what a ring could do without it does not get where memory is scattered.
COUNTED = ('connect accept connect_fail fallback reject_hello reject_path reject_listener '
           'reject_backlog reject_limit tcp_accept tcp_reset src_avail sendsm proto_errors resets '
           'aborts device_gone shrinks').split()

CASES = []


def case(*args, ipv=(4,), clock=False, **counters):
    """A case, once per address family, and per argument list if there are.  One that goes
    by the clock (something must take so long, or not longer) is left out where SDP_BY_CLOCK is
    "no": others may use the machine."""
    def add(function):
        if clock and os.environ.get('SDP_BY_CLOCK') == 'no':
            return function
        name = function.__name__
        for v in ipv:
            for a in args or [()]:
                label = '.'.join([name, *map(str, a[:1])] + ['v6'] * (v == 6))
                CASES.append((label, v, function, a[1:], counters))
        return function
    return add


def until(what, check, limit=LIMIT):
    end = time.monotonic() + limit
    while not check():
        assert time.monotonic() < end, f'not in {limit:g} s: {what}'
        time.sleep(0.02)


PATIENCE = 'connect_timeout', 'require_timeout'


class Test:
    """What a case has in hand."""

    def __init__(self, remote, peers, listeners, bystanders):
        self.remote, self.peers, self.listeners = remote, peers, listeners
        self.bystanders = bystanders
        self.ipv = 4

    def start(self, ipv):
        self.ipv = ipv
        self.peer, self.host = self.peers[ipv], HOST[ipv]
        self.conns, self.sysctls, self.open = [], {}, []
        self.counted_by_case = set()
        self.verdict = None             # of the trace point on what was malformed

    # ---- shorthand ----

    def sysctl(self, name, value):
        was = self.remote.sysctl(name, value)
        self.sysctls.setdefault(name, was)

    def patience(self, ms):
        """How long an attempt lasts, whether TCP may come after it or not."""
        for name in PATIENCE:
            self.sysctl(name, ms)

    def rnr_lasts(self, seconds):
        """For a connection whose peer will have no buffers for so long: to soft-RoCE of
        Linux 6.1 each ack_timeout of that is one without an answer, and there are six
        repetitions (device/device.sh: no_buffers)."""
        self.sysctl('ack_timeout', int(seconds * 1000 / 6))

    def up(self, hello=None, accept=True, **req):
        """We are the active side: (connection, the kernel's socket)"""
        c = self.peer.connect(self.host, PORT, hello, **req)
        self.conns.append(c)
        return c, self.accept() if accept else None

    def accept(self):
        s = self.remote.accept(self.listeners[self.ipv])[0]
        self.open.append(s)
        return s

    def begin(self, **how):
        """The kernel is the active side: (connection with its REQ, socket)"""
        s = self.remote.connect(self.peer.address, PEER_PORT, *how.values())
        self.open.append(s)
        c = self.peer.accept()
        self.conns.append(c)
        return c, s

    def down(self, **ack):
        c, s = self.begin()
        c.establish(**ack)
        assert self.remote.connected(s) == 0
        return c, s

    def close(self, s, *linger):
        self.open.remove(s)
        self.remote.close(s, *linger)

    def heard(self, c, s):
        """The kernel knows all that the peer has said; what its device has acknowledged
        may still lie there."""
        until('the kernel hears', lambda: self.remote.info(s)['msgs_received'] == c.mseq)

    def moved(self):
        """What the case has counted by now."""
        now = self.remote.counters()
        return {k: now[k] - self.before[k] for k in COUNTED}

    def sent(self, s, size, seed=0):
        """The kernel sends that much; it has room for it."""
        got = self.remote.send(s, size, seed)
        assert got == size, f'room for {got} of {size}'

    def reads(self, s, data):
        got = bytes.fromhex(self.remote.recv(s, len(data)))
        assert got == data, f'{len(got)} bytes read, not the {len(data)} that were sent'

    def tell(self, c, s, size):
        """The peer sends that much; the reader follows, as its buffers are few."""
        data = pattern(size, 1)
        for at in range(0, size, 2 * FULL):
            c.send_data(data[at:at + 2 * FULL])
            self.reads(s, data[at:at + 2 * FULL])

    def talk(self, c, s, size=20000):
        """Both directions work."""
        self.tell(c, s, size)
        self.sent(s, size, 2)
        c.expect_data(pattern(size, 2))

    def kernel_closes(self, c, s):
        """Orderly, the kernel first: it sends the DREQ."""
        self.close(s)
        c.expect(sdp.DISCONN)
        c.send(sdp.DISCONN)
        c.expect_dreq()

    def reset(self, c, s, want=errno.ECONNRESET):
        """The kernel ended the connection: DREQ to us, an error to its user."""
        got = self.remote.ended(s)
        assert got == want, f'read gave {got}, not {want}'
        assert self.remote.hung_up(s)
        c.expect_dreq()
        self.close(s)

    def quiet(self, c, s=None, seconds=0.3):
        """Nothing but updates arrives meanwhile; if s: the connection works
        after it."""
        end = time.monotonic() + seconds * FACTOR
        while time.monotonic() < end:
            with c.port.changed:
                msg = c._new()
            assert not msg or msg.mid == sdp.DATA and not msg.payload, f'there came {msg}'
            if not msg:
                time.sleep(0.02)
        if s:
            self.talk(c, s, 100)

    def ours(self):
        mine = {'::ffff:' + PEER[4], PEER[6]}
        return [c for c in self.remote.connections() if c[3] in mine]

    # ---- around a case ----

    def tell_state(self, before):
        """How things stand, when they should not."""
        try:
            now = self.remote.counters()
            print('#', {k: now[k] - before[k] for k in now if now[k] != before[k]})
            for s in self.open:
                print('#', self.remote.info(s))
        except (OSError, RuntimeError) as e:
            print(f'# and its sockets cannot be asked: {e}')
        for c in self.conns:
            print(f'# the peer said {c.mseq}, acknowledged {c.their_ack}, has {c.credits()} '
                  f'credits; heard {c.heard}: {c.heard_mids[-8:]}, '
                  f'{len(c.qp.received) - c._taken} more; {len(c.qp.unacked)} packets out, '
                  f'RNR {c.qp.rnr}, NAK {c.qp.nak}, {c.qp.turned_away} turned away; '
                  f'datagrams {[m.attr for m in c.port.mads]}')

    def finish(self):
        """Nothing may be left, whatever the case did."""
        for s in self.open:
            self.remote.close(s)
        for c in self.conns:
            if c.qp.peer_qpn and c.qp.qpn in c.port.qps:
                c.dreq(False)           # never mind who should have
        for n in self.listeners.values():
            while self.remote.acceptable(n):
                self.remote.close(self.remote.accept(n)[0], 0)
        for name, value in self.sysctls.items():
            self.remote.sysctl(name, value)
        for p in self.peers.values():
            p.port.silent, p.port.answer_dreq = False, True
        try:
            until('the module lets go of its connections', lambda: not self.ours(), 40 * FACTOR)
        finally:
            print('#', [[STATES[c[0]], *c[1:]] for c in self.ours()]) if self.ours() else None
            for c in self.conns:
                c.qp.close()
            for p in self.peers.values():
                with p.port.changed:
                    p.port.mads.clear()
                    p.port._known.clear()

    def others_go_on(self):
        for b in self.bystanders.values():
            assert self.remote.echo(b), 'the bystander'

    def healthy(self):
        self.others_go_on()
        for ipv in self.bystanders:
            n = self.remote.bystander(OTHER[ipv])
            assert self.remote.echo(n), 'a new connection'
            self.remote.close(n)
        # The next case may count.
        until('only the bystanders are left',
              lambda: len(self.remote.connections()) == len(self.bystanders))


# ---- running them ----

def quiet(t, broken):
    """So many connections broke the protocol: each is told of once by the trace point, and
    what any peer does is nothing for the log."""
    said = t.remote.traced('sdp_fail')
    lines = [line for line in said if line.endswith(' received')]
    assert not t.verdict or any(line.endswith(' ' + t.verdict) for line in said), said
    assert len(lines) == broken, f'{broken} protocol errors are traced as {lines}'
    log = t.remote.logged()
    assert not log, f'the log of h1 has {len(log)} new lines: {log[:5]}'


def run(t, label, ipv, function, args, counters):
    t.start(ipv)
    t.remote.traced('sdp_fail')         # of one that went wrong
    t.remote.logged()
    before = t.before = t.remote.counters()
    wrong = None
    try:
        try:
            function(t, *args)
        except Exception:
            t.tell_state(before)
            raise
        finally:
            t.finish()
        after = t.remote.counters()
        moved = {k: after[k] - before[k] for k in COUNTED if after[k] != before[k]}
        free = t.counted_by_case & moved.keys()
        moved = {k: v for k, v in moved.items() if k not in free}
        assert moved == counters, f'counters moved {moved}, must be {counters}'
        quiet(t, after['proto_errors'] - before['proto_errors'])
        t.healthy()
    except Exception:
        wrong = traceback.format_exc()
    return wrong


def main():
    remote = sockets.Remote('h1')
    for name in PATIENCE:
        remote.sysctl(name, int(10000 * FACTOR))
    remote.sysctl('cache_timeout', 0)
    remote.follow('wire', 'sdp_fail', 'sdp_fallback', 'sdp_child_aside', 'sdp_child_evicted',
                  'sdp_child_back')
    families = [6 if v6 else 4 for v6 in sockets.FAMILIES]
    listeners = {ipv: remote.listen(PORT, ipv == 6, 64) for ipv in families}
    t = Test(remote, {ipv: wire.Peer(PEER[ipv]) for ipv in families}, listeners,
             {ipv: remote.bystander(OTHER[ipv]) for ipv in families})
    words = sys.argv[1:]
    part, parts = map(int, os.environ.get('SDP_PART', '1/1').split('/'))
    passed = failed = 0
    print('TAP version 13', flush=True)
    for item in CASES[part - 1::parts]:
        if words and not any(w in item[0] for w in words):
            continue
        if item[1] not in families:
            continue
        start = time.monotonic()
        wrong = run(t, *item)
        took = time.monotonic() - start
        if wrong:
            failed += 1
            print('# ' + wrong.strip().replace('\n', '\n# '))
        else:
            passed += 1
        if took > 2:
            print(f'# {took:.1f} s')
        print(f'{"not " if wrong else ""}ok {passed + failed} - wire.{item[0]}', flush=True)
    print(f'1..{passed + failed}')
    print(f'# Totals: pass:{passed} fail:{failed} skip:0')
    sys.exit(bool(failed) or not passed)

