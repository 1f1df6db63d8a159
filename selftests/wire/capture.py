#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Three witnesses of the same connections: see capture.sh.

    capture.py record DIR       traffic between h1 and h2; DIR gets the capture,
                                what the trace points of both hosts said, and
                                what the programs know
    capture.py compare DIR      each check_* below in turn: what NAME has to say is in
                                DIR/NAME.said, and DIR/NAME.right is there if it passed
    capture.py serve DIR N      the other side, run by "record" on h2

DIR is seen by both hosts.  One connection after the other, so that each is
found in all three by its queue pair numbers, which SDP_INFO tells.
"""
import contextlib
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'lib'))
import sdp_decode as sdp  # noqa: E402

FACTOR = float(os.environ.get('SDP_TIME_FACTOR', 1))
LIMIT = 30 * FACTOR
TRACE = '/sys/kernel/tracing'
PORT = 7171
IPPROTO_SDP, SOL_SDP, SDP_INFO = 257, 1025, 1
ADDRESS = {4: '10.9.0.2', 6: 'fd09::2'}
# A datagram to the discard service says that nothing more comes.
MARK_PORT, MARK = 9, b'the capture ends here'

# What one message holds beside its header, at the default buffer size; and the
# size of the first buffers.
FULL = 16384 - 16
START = 4096
ADVERTS = 8             # MaxAdverts of both sides
INVALIDATE = 1                  # the Cap of both sides

# (bytes up, bytes down, end).  Sizes around a packet, a message, and more than
# the credits of a new connection can carry.
PLANS = (
    ([1], [1], 'client'),
    ([1, 15, 16, 17, 4095, 4096, 4097, FULL - 1, FULL, FULL + 1, 100], [70000, 3], 'client'),
    ([], [1, FULL, 200000], 'server'),
    ([300000], [300000], 'server'),
    ([5000], [], 'client'),
    ([9], [40000], 'abort'),
    ([40000], [9], 'abort after shutdown'),
    # Long blocking calls, taking turns: without copies, one way or the other.
    ([300000, 100000, 100000, 700000], [100000, 300000, 100000, 700000], 'turns'),
)
CONNECTIONS = [(ipv, plan) for ipv in (4, 6) for plan in PLANS]


def data_of(n, up, sizes):
    return random.Random(f'{n} {up}').randbytes(sum(sizes))


# ---- the two programs ----

def know(s):
    """What SDP_INFO tells: id in the trace, own and peer's queue pair."""
    info = s.getsockopt(SOL_SDP, SDP_INFO, 256)
    assert info[0] == 1, 'not carried by SDP'
    ident, _, _, _, _, qpn, peer = struct.unpack_from('<IIIHHII', info, 8)
    return {'id': ident, 'qpn': qpn, 'peer_qpn': peer,
            'name': s.getsockname()[:2], 'peer': s.getpeername()[:2]}


def new_socket(ipv):
    s = socket.socket(socket.AF_INET6 if ipv == 6 else socket.AF_INET,
                      socket.SOCK_STREAM, IPPROTO_SDP)
    s.settimeout(LIMIT)
    return s


def send_all(s, data, sizes):
    at = 0
    for size in sizes:
        s.sendall(data[at:at + size])
        at += size


def expect(s, data):
    got = b''
    while len(got) < len(data):
        piece = s.recv(len(data) - len(got))
        assert piece, f'end of file after {len(got)} of {len(data)} bytes'
        got += piece
    assert got == data, 'other bytes than were sent'


def expect_end(s):
    assert s.recv(1) == b'', 'data behind the end'


def expect_reset(s):
    try:
        while s.recv(1):
            raise AssertionError('data behind the end')
        # After an end of file the reset shows as the socket's error.
        end = time.monotonic() + LIMIT
        while not s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            assert time.monotonic() < end, 'no reset'
            time.sleep(0.05)
    except (ConnectionResetError, BrokenPipeError):
        pass                # the latter, as TCP has it, after the peer's DisConn


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()


def take_turns(s, mine, theirs, sizes_mine, sizes_theirs, first):
    """Each waits for what the other sends, and answers it."""
    s.settimeout(None)
    for a, b in zip(sizes_mine, sizes_theirs):
        for sends in (first, not first):
            if sends:
                assert s.send(mine[:a]) == a
                mine = mine[a:]
            else:
                assert s.recv(b, socket.MSG_WAITALL) == theirs[:b], 'other bytes than were sent'
                theirs = theirs[b:]
    s.settimeout(LIMIT)


def client_side(n, s, up, down, end):
    sent, answer = data_of(n, True, up), data_of(n, False, down)
    if end == 'turns':
        take_turns(s, sent, answer, up, down, True)
        s.shutdown(socket.SHUT_WR)
        expect_end(s)
        s.close()
        return
    if end == 'server':
        expect(s, answer)
        expect_end(s)
        send_all(s, sent, up)
        s.close()
        return
    send_all(s, sent, up)
    if end == 'client':
        s.shutdown(socket.SHUT_WR)
        expect(s, answer)
        expect_end(s)
        s.close()
        return
    expect(s, answer)
    if end == 'abort after shutdown':
        s.shutdown(socket.SHUT_WR)
        # Only what has a DisConn before it is an AbortConn, and it is the
        # server's word that the DisConn has arrived.
        expect(s, b'!')
    reset(s)


def server_side(n, s, up, down, end):
    sent, answer = data_of(n, True, up), data_of(n, False, down)
    if end == 'turns':
        take_turns(s, answer, sent, down, up, False)
        expect_end(s)
        s.close()
        return
    if end == 'server':
        send_all(s, answer, down)
        s.shutdown(socket.SHUT_WR)
        expect(s, sent)
        expect_end(s)
        s.close()
        return
    expect(s, sent)
    if end == 'client':
        expect_end(s)
        send_all(s, answer, down)
        s.close()
        return
    send_all(s, answer, down)
    if end == 'abort after shutdown':
        expect_end(s)
        s.sendall(b'!')
    expect_reset(s)
    s.close()


def listener(ipv):
    s = new_socket(ipv)
    if ipv == 6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind(('::' if ipv == 6 else '0.0.0.0', PORT))
    s.listen(1)
    return s


def serve(directory):
    listeners = {ipv: listener(ipv) for ipv in (4, 6)}
    print('ready', flush=True)
    known = []
    for n, (ipv, plan) in enumerate(CONNECTIONS):
        s, _ = listeners[ipv].accept()
        s.settimeout(LIMIT)
        known.append(know(s))
        server_side(n, s, *plan)
    with open(f'{directory}/h2.json', 'w') as f:
        json.dump(known, f)


# ---- recording ----

def until(what, check):
    end = time.monotonic() + LIMIT
    while not check():
        if time.monotonic() > end:
            sys.exit(f'not in time: {what}')
        time.sleep(0.05)


def on(host, command):
    subprocess.run(['on', host, 'sh', '-c', command], check=True, stdin=subprocess.DEVNULL)


def freed(host, known, directory):
    """Has the module let go of all connections there?  Then nothing follows."""
    on(host, f'cat {TRACE}/trace >{directory}/{host}.trace')
    with open(f'{directory}/{host}.trace') as f:
        gone = set(re.findall(r'sdp_cm: conn=(\d+) freed', f.read()))
    return all(str(k['id']) in gone for k in known)


def answers(address):
    return subprocess.run(['ping', '-n', '-c', '1', '-W', '1', address], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL).returncode == 0


def record(directory):
    # Right after boot a neighbour cannot be asked for: the link-local address
    # is still being tried out.
    for address in ADDRESS.values():
        until(f'{address} answers', lambda: answers(address))
    for host in 'h1', 'h2':
        # A clock that keeps the order of events on several processors.
        on(host, f'echo 16384 >{TRACE}/buffer_size_kb; echo counter >{TRACE}/trace_clock; '
                 f'echo 1 >{TRACE}/events/sdp/enable; '
                 'sysctl -qw net.sdp.zcopy_wait=60000')      # who is late is waited for
    errors = open(f'{directory}/tcpdump', 'w+')
    dump = subprocess.Popen(
        ['tcpdump', '-i', os.environ.get('SDP_NETDEV', 'eth0'), '-B', '65536', '-s', '9600', '-U',
         '--immediate-mode', '-w', f'{directory}/cap',
         f'udp port {sdp.ROCE_PORT} or udp dst port {MARK_PORT}'],
        stderr=errors, stdin=subprocess.DEVNULL)
    server = None
    try:
        until('tcpdump listens',
              lambda: 'listening on' in open(f'{directory}/tcpdump').read())
        server = subprocess.Popen(
            ['on', 'h2', sys.executable, os.path.realpath(__file__), 'serve', directory],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert server.stdout.readline() == 'ready\n', 'the server does not start'
        known = []
        for n, (ipv, plan) in enumerate(CONNECTIONS):
            s = new_socket(ipv)
            s.connect((ADDRESS[ipv], PORT))
            known.append(know(s))
            client_side(n, s, *plan)
        assert server.wait(LIMIT) == 0, 'the server failed'
        with open(f'{directory}/h1.json', 'w') as f:
            json.dump(known, f)
        for host in 'h1', 'h2':
            known = json.load(open(f'{directory}/{host}.json'))
            until(f'connections of {host} are gone', lambda: freed(host, known, directory))
        # tcpdump may be far behind, and ends where it stands.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(MARK, (ADDRESS[4], MARK_PORT))
        until('tcpdump has seen it all', lambda: MARK in open(f'{directory}/cap', 'rb').read())
    finally:
        if server and server.poll() is None:
            server.terminate()
        dump.terminate()
        dump.wait()
        for host in 'h1', 'h2':
            on(host, f'echo 0 >{TRACE}/events/sdp/enable')


# ---- what each witness says ----

class Evidence:
    """Everything of DIR, joined: one entry per connection."""

    def __init__(self, directory):
        self.directory = directory
        self.capture = sdp.Capture(f'{directory}/cap')
        self.known = {h: json.load(open(f'{directory}/{h}.json')) for h in ('h1', 'h2')}
        self.trace = {h: Trace(f'{directory}/{h}.trace') for h in ('h1', 'h2')}
        self.connections = self.capture.connections

    def each(self):
        """number, captured connection, id in h1's trace, id in h2's"""
        for n, c in enumerate(self.connections):
            yield n, c, self.known['h1'][n]['id'], self.known['h2'][n]['id']

    def halves(self):
        """number, half, who posted it: (host, id), who heard it: (host, id)"""
        for n, c, one, two in self.each():
            yield f'{n} up', c.up, ('h1', one), ('h2', two)
            yield f'{n} down', c.down, ('h2', two), ('h1', one)


class Trace:
    """The trace of one host: per connection what it posted, heard and said."""
    EVENT = re.compile(r'\] \S+ +[\d.]+: (sdp_\w+): conn=(\d+) (.*)')
    MSG = re.compile(r'(\w+) flags=(\w+) bufs=(\d+) len=(\d+) mseq=(\d+) ack=(\d+)')
    MIDS = {name: mid for mid, name in sdp.NAMES.items()}

    def __init__(self, path):
        self.posted, self.heard, self.bufs, self.states = {}, {}, {}, {}
        self.rdma = {}          # ('read' or 'write', id) -> [(bytes, R_Key)]
        self.lent = {}          # id -> [(bytes, R_Key, to be what)]
        self.moved = {}         # id -> [(bytes, R_Key, to be what, of them by RDMA or inline)]
        buffers = {}
        with open(path) as f:
            text = f.read()
        have, written = re.search(r'entries-in-buffer/entries-written: (\d+)/(\d+)', text).groups()
        assert have == written, f'{path}: trace buffer too small, {have} of {written}'
        for event, ident, rest in self.EVENT.findall(text):
            ident = int(ident)
            if event in ('sdp_post', 'sdp_heard'):
                word, flags, *numbers = self.MSG.fullmatch(rest).groups()
                head = (self.MIDS[word], int(flags, 16), *map(int, numbers))
                where = self.posted if event == 'sdp_post' else self.heard
                where.setdefault(ident, []).append(head)
            elif event in ('sdp_read', 'sdp_write'):
                size, key = re.match(r'bytes=(\d+) rkey=(\w+)', rest).groups()
                self.rdma.setdefault((event[4:], ident), []).append((int(size), int(key, 16)))
            elif event == 'sdp_reg':
                size, key, what = re.match(r'bytes=(\d+) .* rkey=(\w+) to be (\w+)',
                                           rest).groups()
                self.lent.setdefault(ident, []).append((int(size), int(key, 16), what))
            elif event == 'sdp_dereg':
                size, moved, key = re.match(r'bytes=(\d+) moved=(\d+) rkey=(\w+)', rest).groups()
                # Keys come again, but only one piece at a time has each.
                what = next(w for _, k, w in reversed(self.lent[ident]) if k == int(key, 16))
                self.moved.setdefault(ident, []).append(
                    (int(size), int(key, 16), what, int(moved)))
            elif event == 'sdp_post_recv':
                buffers[ident] = int(rest.split('posted=')[1])
            elif event == 'sdp_cm' and rest.startswith(('send REQ', 'send REP')):
                self.bufs[ident] = buffers[ident]


def lists_equal(what, a, b, name_a, name_b):
    """Message by message; a list of what is not the same."""
    wrong = []
    for i in range(max(len(a), len(b))):
        x = a[i] if i < len(a) else None
        y = b[i] if i < len(b) else None
        if x != y:
            wrong.append(f'connection {what}, message {i + 1}: {name_a} {x}, {name_b} {y}')
    return wrong[:5]


# ---- checks: each returns what is wrong ----

def check_capture(e):
    """Nothing dropped, nothing with a wrong ICRC, every connection there."""
    said = open(f'{e.directory}/tcpdump').read()
    print(f'# {e.capture.count} packets, {len(e.connections)} connections, '
          f'{sum(len(h.messages) for _, h, _, _ in e.halves())} messages, '
          f'{sum(len(h.repeated) for _, h, _, _ in e.halves())} packets sent again')
    wrong = []
    if '\n0 packets dropped by kernel' not in said:
        wrong.append('tcpdump: ' + said)
    if e.capture.bad_icrc:
        wrong.append(f'wrong ICRC: frames {e.capture.bad_icrc}')
    if len(e.connections) != len(CONNECTIONS):
        wrong.append(f'{len(e.connections)} connections captured, {len(CONNECTIONS)} made')
    for n, c, _, _ in e.each():
        one, two = e.known['h1'][n], e.known['h2'][n]
        if (c.client_qpn, c.server_qpn) != (one['qpn'], two['qpn']) or \
                (c.client_qpn, c.server_qpn) != (two['peer_qpn'], one['peer_qpn']):
            wrong.append(f'connection {n}: queue pairs {c.client_qpn}, {c.server_qpn}; '
                         f'SDP_INFO {one}, {two}')
    return wrong


def hello_wanted(e, n, client_id):
    """The Hello as it must be: the sockets' names and what was posted."""
    one = e.known['h1'][n]
    ipv = CONNECTIONS[n][0]
    return {
        'mid': sdp.HELLO, 'flags': 0, 'bufs': e.trace['h1'].bufs[client_id], 'len': 92,
        'mseq': 0, 'ack': 0, 'majv': 2, 'minv': 2, 'ipv': ipv, 'cap': INVALIDATE,
        'maxadverts': ADVERTS,
        'desremrcvsz': FULL + 16, 'localrcvsz': START, 'localport': one['name'][1],
        'src_ip': sdp.address_to_hello(one['name'][0]),
        'dst_ip': sdp.address_to_hello(one['peer'][0]), 'extmaxadverts': 0,
    }


def hello_decoded(m):
    return {
        'mid': m.mid, 'flags': m.flags, 'bufs': m.bufs, 'len': m.len, 'mseq': m.mseq,
        'ack': m.ack, 'majv': m.version >> 4, 'minv': m.version & 15, 'ipv': m.ipv_cap >> 4,
        'cap': m.ipv_cap & 15, 'maxadverts': m.max_adverts, 'desremrcvsz': m.des_rcvsz,
        'localrcvsz': m.rcvsz, 'localport': m.port, 'src_ip': m.src, 'dst_ip': m.dst,
        'extmaxadverts': m.ext_max_adverts,
    }


def check_hello(e):
    """Hello and HelloAck, every field, by our decoder."""
    wrong = []
    for n, c, one, two in e.each():
        want, got = hello_wanted(e, n, one), hello_decoded(c.hello)
        wrong += [f'connection {n}: Hello {k} is {got[k]}, must be {want[k]}'
                  for k in want if got[k] != want[k]]
        if any((c.hello.reserved1, c.hello.reserved2, c.hello.reserved3, *c.hello.reserved4)):
            wrong.append(f'connection {n}: reserved bytes of the Hello are not 0')
        if c.service_id != 0x10000 + PORT:
            wrong.append(f'connection {n}: service id {c.service_id:#x}')
        ack = (*c.ack.head(), c.ack.version, c.ack.reserved1, c.ack.max_adverts, c.ack.rcvsz)
        must = (sdp.HELLO_ACK, 0, e.trace['h2'].bufs[two], 196, 0, 0, 0x22, INVALIDATE, ADVERTS,
                START)
        if ack != must or any((c.ack.reserved2, *c.ack.reserved3)):
            wrong.append(f'connection {n}: HelloAck {ack}, must be {must}')
        # An orderly end and an abort both end in this; who asks may differ.
        if c.cm[:3] != ['REQ', 'REP', 'RTU'] or not {'DREQ', 'DREP'} <= set(c.cm[3:]):
            wrong.append(f'connection {n}: the CM said {c.cm}')
    return wrong


def check_posted(e):
    """What was on the wire is what was posted, and nothing else."""
    wrong = []
    for what, half, (host, ident), _ in e.halves():
        wrong += lists_equal(what, [m.head() for m in half.messages],
                             e.trace[host].posted.get(ident, []), 'wire', 'posted')
    return wrong


def check_heard(e):
    """What the other side took is what was on the wire.

    At the end of a connection messages may arrive that nobody hears any more:
    the last of what was posted may be missing, if its half carries no data.  In an
    abort the CM's DREQ ends it, which overtakes: an answer about buffers may be late, too.
    """
    wrong = []
    for what, half, _, (host, ident) in e.halves():
        aborted = CONNECTIONS[int(what.split()[0])][1][2] == 'abort'
        wire = [m.head() for m in half.messages]
        heard = e.trace[host].heard.get(ident, [])
        unheard = half.messages[len(heard):]
        wrong += lists_equal(what, wire[:len(heard)], heard, 'wire', 'heard')
        late = {sdp.DATA, sdp.CH_RCV_BUF_ACK} if aborted else {sdp.DATA}
        wrong += [f'connection {what}: not heard: {m}' for m in unheard
                  if m.mid not in late or m.payload]
    return wrong


def check_streams(e):
    """The payloads in a row are the bytes that the programs wrote."""
    wrong = []
    for n, c, _, _ in e.each():
        up, down, end = CONNECTIONS[n][1]
        mark = b'!' if end == 'abort after shutdown' else b''
        if c.up.stream() != data_of(n, True, up):
            wrong.append(f'connection {n}: other bytes up')
        if c.down.stream() != data_of(n, False, down) + mark:
            wrong.append(f'connection {n}: other bytes down')
    return wrong


def check_ends(e):
    """DisConn from both, AbortConn behind a DisConn, neither in an abort."""
    wrong = []
    for n, c, _, _ in e.each():
        end = CONNECTIONS[n][1][2]
        if end == 'turns':
            continue                    # see check_zero_copy()
        want = {'client': ((sdp.DISCONN,), (sdp.DISCONN,)),
                'server': ((sdp.DISCONN,), (sdp.DISCONN,)),
                'abort': ((), ()),
                'abort after shutdown': ((sdp.DISCONN, sdp.ABORT_CONN), ())}[end]
        other = sdp.DATA, sdp.CH_RCV_BUF, sdp.CH_RCV_BUF_ACK
        got = tuple(tuple(m.mid for m in h.messages if m.mid not in other)
                    for h in (c.up, c.down))
        if got != want:
            wrong.append(f'connection {n}, {end}: {got}, must be {want}')
    return wrong


def check_buffers(e):
    """Who sends much asks for larger buffers once, and gets them; no message is
    longer than what it was given before."""
    wrong, asked = [], 0
    for n, c, _, _ in e.each():
        for name, half, back in ('up', c.up, c.down), ('down', c.down, c.up):
            asks = [m.size for m in half.messages if m.mid == sdp.CH_RCV_BUF]
            acks = [m.size for m in back.messages if m.mid == sdp.CH_RCV_BUF_ACK]
            asked += len(asks)
            if asks not in ([], [FULL + 16]) or acks not in ([], asks):
                wrong.append(f'connection {n} {name}: asked for {asks}, given {acks}')
            # A longer one was sent by who had heard the answer: its MSeqAck says so.
            given = [m.mseq for m in back.messages if m.mid == sdp.CH_RCV_BUF_ACK]
            for m in half.messages:
                if m.len > START and not (given and m.ack >= given[0]):
                    wrong.append(f'connection {n} {name}: message {m.mseq} of {m.len} bytes')
    if not asked:
        wrong.append('nobody asked')
    return wrong


def keys_ended(what, back, offers, rooms, half):
    """Whose RdmaRdCompl or RdmaWrCompl says that all is done of an advert has its key
    forgotten, and nobody else."""
    wrong, want = [], {}
    left = [[m.rkey, m.size - len(m.payload)] for m in offers]
    for m in back.messages:
        if m.mid == sdp.RDMA_RD_COMPL and left:
            left[0][1] -= m.size
            if not left[0][1]:
                want[m.mseq] = left.pop(0)[0]
    told = {m.mseq for m in back.messages if m.mid == sdp.RDMA_RD_COMPL}
    got = {n: key for n, key in back.ended.items() if n in told}
    # What a SinkAvail takes back of the offers is told of in part.
    if got != want and not rooms:
        wrong.append(f'connection {what}: keys ended by {got}, must be {want}')
    if set(half.ended.values()) - {m.rkey for m in rooms} - \
            {m.rkey for m in back.messages if m.mid == sdp.SRC_AVAIL}:
        wrong.append(f'connection {what}: {half.ended} ended keys of nobody')
    writes = [m.mseq for m in half.messages if m.mid == sdp.RDMA_WR_COMPL]
    if any(n not in half.ended for n in writes):
        wrong.append(f'connection {what}: RdmaWrCompl {writes}, ended {half.ended}')
    return wrong


def lent(what, trace, ident, adverts, done):
    """Every advert is in the trace as what was lent, and all of it came back."""
    wrong = []
    mine = trace.lent.get(ident, [])
    for m in adverts:
        if (m.size, m.rkey, done) not in mine:
            wrong.append(f'connection {what}: {m} is not in the trace: {mine}')
    if sorted(mine) != sorted(x[:3] for x in trace.moved.get(ident, [])):
        wrong.append(f'connection {what}: lent {mine}, came back {trace.moved.get(ident)}')
    return wrong


def check_zero_copy(e):
    """Where nothing is copied the wire has it so: what is offered is read, no more,
    and told; what is asked for is written, inside, and told."""
    wrong, offered, asked = [], 0, 0
    for what, half, (host, ident), (other_host, other_ident) in e.halves():
        back = half.other
        offers = [m for m in half.messages if m.mid == sdp.SRC_AVAIL]
        told = [m.size for m in back.messages if m.mid == sdp.RDMA_RD_COMPL]
        read = sum(r[3] for m in offers for r in half.reads_of(m))
        rooms = [m for m in back.messages if m.mid == sdp.SINK_AVAIL]
        # Nothing beside what was offered.
        if read != sum(r[3] for r in back.reads):
            wrong.append(f'connection {what}: {read} bytes read of offers, of {back.reads}')
        # A SinkAvail that crosses them takes offers back.
        if read != sum(told) or \
                not rooms and read != sum(m.size - len(m.payload) for m in offers):
            wrong.append(f'connection {what}: {read} bytes read, told {told}, of {offers}')
        written = [m.size for m in half.messages if m.mid == sdp.RDMA_WR_COMPL]
        for va, rkey, data in half.writes:
            if not any(m.rkey == rkey and m.va <= va and va + len(data) <= m.va + m.size
                       for m in rooms):
                wrong.append(f'connection {what}: {len(data)} bytes written beside {rooms}')
        if sum(len(w[2]) for w in half.writes) != sum(written):
            wrong.append(f'connection {what}: {len(half.writes)} writes, told {written}')
        wrong += keys_ended(what, back, offers, rooms, half)
        # Each request is in the trace of who asked for it.
        for name, trace, where, requests in (
                ('write', e.trace[host], ident, [(len(w[2]), w[1]) for w in half.writes]),
                ('read', e.trace[other_host], other_ident, [(r[3], r[2]) for r in back.reads])):
            wrong += lists_equal(what, requests, trace.rdma.get((name, where), []),
                                 'wire', name)
        wrong += lent(what, e.trace[host], ident, offers, 'read')
        wrong += lent(what, e.trace[other_host], other_ident, rooms, 'written')
        if not rooms:
            gone = sum(moved for _, _, done, moved in e.trace[host].moved.get(ident, [])
                       if done == 'read')
            if gone != sum(m.size for m in offers):
                wrong.append(f'connection {what}: {gone} bytes of what was lent have gone, {offers}')
        offered += len(offers)
        asked += len(rooms)
        if what.endswith('up'):
            print(f'# {what}: {len(offers)} offers, {read} bytes read, {len(rooms)} asks, '
                  f'{sum(written)} bytes written') if offers or rooms else None
    if not offered or not asked:
        wrong.append(f'{offered} SrcAvails, {asked} SinkAvails')
    return wrong


# What Wireshark's dissector (4.0) makes of SDP, and what it does not:
#  - It knows SDP conversations by the REQ's service id, so all of them here.
#  - The Hello: every field.  The HelloAck: its BSDH only.
#  - A message of several packets is not put together: it reads a BSDH out of
#    the first packet, rightly, and out of each later one, from user data.  So
#    only SEND First and SEND Only are asked.
#  - All other private data of the CM (RTU, DREQ, DREP) it takes for a Hello of
#    zeros.  So only REQ and REP are asked.
#  - A message of 16 bytes is "malformed" to it, as it looks for data behind the
#    header; the header's fields are right.
#  - Extended headers and payload: not read.  Those our decoder alone reads, by
#    the golden vectors.
BSDH_FIELDS = ('mid', 'flags', 'bufs', 'len', 'mseq', 'mseqack')
HH_FIELDS = ('majv', 'minv', 'ipv', 'cap', 'maxadverts', 'desremrcvsz', 'localrcvsz',
             'localport', 'src_ip', 'dst_ip', 'extmaxadverts')


def tshark(e):
    """frame -> (opcode or None, CM attribute or None, BSDH, Hello fields)"""
    if hasattr(e, 'rows'):
        return e.rows
    fields = (['frame.number', 'infiniband.bth.opcode', 'infiniband.mad.attributeid'] +
              [f'infiniband_sdp.bsdh.{f}' for f in BSDH_FIELDS] +
              [f'infiniband_sdp.hh.{f}' for f in HH_FIELDS])
    words = ['tshark', '-2', '-n', '-r', f'{e.directory}/cap', '-T', 'fields']
    for f in fields:
        words += ['-e', f]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, text=True).stdout
    e.rows = {}
    for line in out.splitlines():
        number, opcode, attr, *rest = line.split('\t')
        if not opcode:
            continue                    # the last one, see MARK
        bsdh, hh = rest[:len(BSDH_FIELDS)], rest[len(BSDH_FIELDS):]
        e.rows[int(number)] = (int(opcode, 0), int(attr, 0) if attr else None,
                               tuple(int(x, 0) for x in bsdh) if all(bsdh) else None, hh)
    return e.rows


def check_tshark_hello(e):
    """The dissector's Hello, every field, and the HelloAck's header."""
    wrong = []
    rows = tshark(e)
    for n, c, one, two in e.each():
        want = hello_wanted(e, n, one)
        _, attr, bsdh, hh = rows[c.hello_frame]
        head = tuple(want[k] for k in ('mid', 'flags', 'bufs', 'len', 'mseq', 'ack'))
        if attr != sdp.REQ or bsdh != head:
            wrong.append(f'connection {n}: Hello {bsdh}, must be {head}')
        for name, text in zip(HH_FIELDS, hh):
            got = socket.inet_pton(socket.AF_INET6, text) if name.endswith('_ip') and text else \
                int(text or '-1', 0)
            if got != want[name]:
                wrong.append(f'connection {n}: Hello {name} is {got}, must be {want[name]}')
        _, attr, bsdh, _ = rows[c.ack_frame]
        head = (sdp.HELLO_ACK, 0, e.trace['h2'].bufs[two], 196, 0, 0)
        if attr != sdp.REP or bsdh != head:
            wrong.append(f'connection {n}: HelloAck {bsdh}, must be {head}')
    return wrong


def check_tshark_messages(e):
    """The dissector's BSDH of every message is the one that was posted."""
    wrong = []
    rows = tshark(e)
    mine = set()
    for what, half, (host, ident), _ in e.halves():
        mine.update(half.frames, half.repeated)
        wrong += lists_equal(what, [rows[f][2] for f in half.frames],
                             e.trace[host].posted.get(ident, []), 'tshark', 'posted')
    starts = {f for f, (opcode, _, bsdh, _) in rows.items()
              if bsdh and opcode in sdp.SENDS_BEGIN}
    if starts - mine:
        wrong.append(f'SDP to tshark, unknown to us: frames {sorted(starts - mine)}')
    return wrong


def compare(directory):
    """All in one process: on an emulated machine reading the evidence takes most of it."""
    e = Evidence(directory)
    for name, check in list(globals().items()):
        if not name.startswith('check_'):
            continue
        name = name[len('check_'):]
        with open(f'{directory}/{name}.said', 'w') as said, contextlib.redirect_stdout(said):
            try:
                wrong = check(e)
                print('\n'.join(wrong))
            except Exception:           # the others may know more
                wrong = traceback.format_exc()
                print(wrong)
        if not wrong:
            with open(f'{directory}/{name}.right', 'w'):
                pass


def main():
    what, directory = sys.argv[1:3]
    {'record': record, 'serve': serve, 'compare': compare}[what](directory)


if __name__ == '__main__':
    main()
