# SPDX-License-Identifier: GPL-2.0
"""RoCE version 2 in an ordinary UDP socket: as much as a peer of SDP needs.

The tests want a peer that can be wrong in every bit, which no driver and no
card will do for them.  So this is a queue pair and a connection manager in
Python, over UDP port 4791, in a network namespace where no soft-RoCE owns that
port.  What stands opposite is a real one: it checks CRCs, sequence numbers and
addresses.

    Port        the socket; a thread that reads it and repeats what was not
                answered
    Qp          one reliable connection: sends cut into packets, acknowledged,
                repeated; sends received, put together, acknowledged, or turned
                away (RNR); RDMA reads both ways, and an RDMA write
    Cm          connection manager's datagrams, as dictionaries of their fields

Layouts are those of lib/sdp_decode.py, which reads them.
"""
import ipaddress
import os
import random
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'lib'))
import sdp_decode as sdp  # noqa: E402

FACTOR = float(os.environ.get('SDP_TIME_FACTOR', 1))
LIMIT = 8 * FACTOR              # nothing that must come takes longer, s
REPEAT = 0.5 * FACTOR           # an acknowledgement that does not come, s
PKEY = 0xffff
MTU_CODE = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}

# AETH syndromes
ACK_OK, RNR_NAK, NAK = 0x1f, 0x20, 0x60
RETH = struct.Struct('>QII')            # address, key, length
NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS = 0, 1, 2
RNR_DELAY = 20                  # 10 ms until it may be tried again


class Port:
    """One address of ours; everything it receives is handled by its thread.

    Ports that share @changed can be waited for together.
    """

    def __init__(self, address, changed=None):
        self.address = str(ipaddress.ip_address(address))
        self.v6 = ':' in self.address
        s = socket.socket(socket.AF_INET6 if self.v6 else socket.AF_INET, socket.SOCK_DGRAM)
        if not self.v6:
            # "Do not fragment": then the IP identification, which the CRC
            # covers, is 0.
            s.setsockopt(socket.IPPROTO_IP, 10, 2)      # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        else:
            # RoCE's UDP checksum is 0; IPv6 allows that only on request.
            s.setsockopt(socket.IPPROTO_UDP, 102, 1)    # UDP_NO_CHECK6_RX
        # What an RDMA read of a quarter megabyte brings comes at once.
        s.setsockopt(socket.SOL_SOCKET, 33, 4 << 20)        # SO_RCVBUFFORCE
        s.bind((self.address, sdp.ROCE_PORT))
        self.socket = s
        self.changed = changed or threading.Condition(threading.RLock())
        self.qps, self.mads, self.error = {}, [], None
        self.silent = False             # hear, but never answer anything
        self.answer_dreq = True
        self._next_qpn = random.randrange(0x1000, 0x800000)
        self._next_id = random.randrange(1 << 31)
        self._mad_psn = 0
        self._answers = {}              # (peer, its id, attribute) -> our last MAD
        self._known = {}                # our id -> MAD to repeat, when, how often
        self.repeated = 0               # how many REQs were
        threading.Thread(target=self._run, daemon=True).start()

    def fresh(self):
        """A QPN and a communication id that were not used before."""
        with self.changed:
            self._next_qpn += 1
            self._next_id += 1
            return self._next_qpn & 0xffffff, self._next_id

    # ---- packets ----

    def transmit(self, dst, opcode, qpn, psn, body, ack_req=False, solicited=False):
        pad = -len(body) & 3
        rest = sdp.BTH.pack(opcode, (0x80 if solicited else 0) | pad << 4, PKEY, qpn,
                            psn & 0xffffff | (1 << 31 if ack_req else 0)) + body + bytes(pad)
        length = 8 + len(rest) + 4
        src = ipaddress.ip_address(self.address).packed
        to = ipaddress.ip_address(dst).packed
        if self.v6:
            head = struct.pack('>IHBB', 6 << 28, length, 17, 64) + src + to
        else:
            head = struct.pack('>BBHHHBBH', 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0) + src + to
        head += struct.pack('>HHHH', sdp.ROCE_PORT, sdp.ROCE_PORT, length, 0)
        crc = struct.pack('<I', sdp.icrc(head, rest))
        self.socket.sendto(rest + crc, (dst, sdp.ROCE_PORT))

    def _run(self):
        # For receiving alone: a busy machine may let a sender wait for longer.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 0, 50000))
        try:
            while True:
                try:
                    data, (src, *_) = self.socket.recvfrom(8192)
                except BlockingIOError:
                    data = None
                with self.changed:
                    if data and not self.silent:
                        self._take(data, src)
                    self._repeat()
                    self.changed.notify_all()
        except Exception as e:          # the test must hear of it
            with self.changed:
                self.error = e
                self.changed.notify_all()
            raise

    def _take(self, data, src):
        p = sdp.Packet(0, src, self.address, b'\x45' + bytes(27), data)
        if p.dest_qp == 1:
            self._take_mad(sdp.Mad(p.body[8:]), src)
        elif p.dest_qp in self.qps:
            self.qps[p.dest_qp].take(p)

    def wait(self, what, check, limit=LIMIT):
        """Until check() gives something true; its value."""
        end = time.monotonic() + limit
        with self.changed:
            while True:
                got = check()
                if got:
                    return got
                if self.error:
                    raise self.error
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f'not in {limit:g} s: {what}')
                self.changed.wait(left)

    # ---- connection manager ----

    def send_mad(self, dst, attr, cm, repeat=False, tid=None):
        """A datagram of the CM; repeat: until something comes back."""
        mad = sdp.MAD.pack(1, sdp.CM_CLASS, 2, 3, 0, 0, tid or random.getrandbits(64),
                           attr, 0, 0) + cm.ljust(232, b'\0')
        with self.changed:
            self._emit(dst, mad)
            ours, theirs = struct.unpack_from('>II', cm)
            if attr != sdp.REQ:
                self._answers[dst, theirs, attr] = mad
            if repeat:
                self._known[ours] = [dst, mad, time.monotonic() + REPEAT, 8, attr]

    def _emit(self, dst, mad):
        self._mad_psn += 1
        deth = struct.pack('>II', sdp.CM_QKEY, 1)
        self.transmit(dst, sdp.UD_SEND_ONLY, 1, self._mad_psn, deth + mad)

    def _take_mad(self, mad, src):
        mad.src = src
        self._known.pop(mad.remote_id, None)
        # Said again because our answer was lost: so is the answer.
        for asked, answers in ((sdp.REQ, (sdp.REP, sdp.REJ)), (sdp.REP, (sdp.RTU,)),
                               (sdp.DREQ, (sdp.DREP,))):
            for attr in answers:
                if mad.attr == asked and (src, mad.local_id, attr) in self._answers:
                    self._emit(src, self._answers[src, mad.local_id, attr])
                    return
        if mad.attr == sdp.DREQ and self.answer_dreq:
            self.send_mad(src, sdp.DREP, struct.pack('>II', mad.remote_id, mad.local_id),
                          tid=mad.tid)
        if mad.attr == sdp.REQ and any(m.attr == sdp.REQ and m.local_id == mad.local_id
                                       for m in self.mads):
            return
        self.mads.append(mad)

    def _repeat(self):
        now = time.monotonic()
        for ours, item in list(self._known.items()):
            if now >= item[2]:
                self._emit(item[0], item[1])
                self.repeated += item[4] == sdp.REQ
                item[2], item[3] = now + REPEAT, item[3] - 1
                if not item[3]:
                    del self._known[ours]
        for qp in list(self.qps.values()):
            qp.repeat(now)

    def mad(self, what, check, limit=LIMIT):
        """The next datagram for which check() is true; it is taken away."""
        def found():
            for m in self.mads:
                if check(m):
                    self.mads.remove(m)
                    return m
            return None
        return self.wait(what, found, limit)

    def has_mad(self, check):
        with self.changed:
            return any(check(m) for m in self.mads)


def u24(value, low=0):
    return struct.pack('>I', value << 8 | low)


def req(ours, qpn, psn, src, dst, service_id, private, mtu=4096, responder_resources=4,
        initiator_depth=4, timeout=17, retries=15, ack_timeout=17):
    """The REQ's body; timeouts are 4.096 us * 2^n."""
    gid = [ipaddress.ip_address(a) for a in (src, dst)]
    gid = [g.packed if g.version == 6 else b'\0' * 10 + b'\xff\xff' + g.packed for g in gid]
    return (struct.pack('>IIQQII', ours, 0, service_id, 0x525400fffe090077, 0, 0) +
            u24(qpn, responder_resources) + u24(0, initiator_depth) +
            u24(0, timeout << 3 | 1) +                  # RC, end-to-end flow control
            u24(psn, timeout << 3 | 7) +                # 7 retries
            struct.pack('>HBB', PKEY, MTU_CODE[mtu] << 4 | 7, retries << 4) +
            struct.pack('>HH', 0xffff, 0xffff) + gid[0] + gid[1] +
            struct.pack('>IBBBB', 3, 0, 64, 0x08, ack_timeout << 3) +
            bytes(44) + private)


def rep(ours, theirs, qpn, psn, private, responder_resources=4, initiator_depth=4):
    return (struct.pack('>III', ours, theirs, 0) + u24(qpn) + u24(0) + u24(psn) +
            bytes([responder_resources, initiator_depth, 14 << 3 | 1, 7 << 5]) +
            struct.pack('>Q', 0x525400fffe090077) + private)


def sidr_req(ours, service_id):
    return struct.pack('>IHHQ', ours, PKEY, 0, service_id)


def sidr_rep(theirs, service_id, status):
    """status: 0 it is there, 1 it is not, 2 refused"""
    return struct.pack('>IBBHIQI', theirs, status, 0, 0, 0, service_id, 0)


def rej(ours, theirs, rejected, reason, private=b''):
    """rejected: 0 a REQ, 1 a REP, 2 no message"""
    return struct.pack('>IIBBH', ours, theirs, rejected << 6, 0, reason) + bytes(72) + private


def mra(ours, theirs, of, timeout):
    """of: 0 a REQ, 1 a REP; timeout: 4.096 us * 2^n"""
    return struct.pack('>IIBB', ours, theirs, of << 6, timeout << 3)


def must_be_refused(what, name):
    """An RDMA request that the other device refuses."""
    try:
        what()
    except PermissionError:
        return
    assert False, f'{name} was not refused'


class Qp:
    """One end of a reliable connection."""

    def __init__(self, port, peer, qpn, mtu=4096):
        self.port, self.peer, self.qpn, self.mtu = port, peer, qpn, mtu
        self.peer_qpn = None
        # Where the peer begins is our word, where we begin is the peer's.
        self.expect_psn = random.getrandbits(24)
        self.psn = None
        self.unacked, self.due, self.tries = [], 0.0, 0
        self.received, self.parts, self.msn = [], [], 0
        self.rnr, self.nak, self.dead = 0, None, False
        self.mute = False               # take no packets
        self.late = False               # take them, acknowledge nothing,
        self.late_with_writes = False   # from the first that is written on
        self.posts = None               # buffers for sends; None: for as many as come
        self.full, self.turned_away = False, 0  # there was none: right now; so often
        self.memory = {}                # key -> (address, bytes) that may be read
        self.served = []                # of it: (key, offset, length)
        self.refused = []               # what was not there: (key, address, length)
        self.stall = False              # do not answer reads yet
        self.stalled = []               # what was asked meanwhile
        self.got = {}                   # of our own reads: PSN -> bytes
        self.room = {}                  # key -> (address, bytearray) for writes
        self.writing = None             # where the next packet of one goes
        self.written = []               # of them: (key, offset, length)
        self.asked = []                 # keys of all rooms there were
        self.ended = []                 # keys that the other side had us forget,
        self.ends = {}                  # and by which message: index of received
        with port.changed:
            port.qps[qpn] = self

    def connect(self, peer_qpn, psn):
        self.peer_qpn, self.psn = peer_qpn, psn

    def close(self):
        with self.port.changed:
            self.dead = True
            self.unacked.clear()
            self.port.qps.pop(self.qpn, None)

    # ---- what we ask for ----

    def send(self, data, solicited=False, ends=None):
        """A send of any length; returns when the packets are out, not taken.
        @ends: a key that the other device is to forget; the send is short then."""
        with self.port.changed:
            if not self.unacked:
                self.due, self.tries = time.monotonic() + REPEAT, 0
            only = sdp.SEND_ONLY
            if ends is not None:
                data, only = struct.pack('>I', ends) + data, sdp.SEND_ONLY_INV
            for opcode, cut, last in self._cut(data, sdp.SEND_FIRST, sdp.SEND_MIDDLE,
                                               sdp.SEND_LAST, only):
                packet = (self.psn, opcode, cut, last, solicited and last)
                self.unacked.append(packet)
                self.psn = (self.psn + 1) & 0xffffff
                self._put(packet)

    def _cut(self, data, first, middle, last, only):
        """Packets of data: the opcode of each, its part, whether it is the last."""
        cuts = [data[i:i + self.mtu] for i in range(0, len(data), self.mtu)] or [b'']
        opcodes = [first, *[middle] * (len(cuts) - 2), last] if len(cuts) > 1 else [only]
        for i, (opcode, cut) in enumerate(zip(opcodes, cuts)):
            yield opcode, cut, i == len(cuts) - 1

    def read(self, va, rkey, length, limit=LIMIT):
        """RDMA read: the bytes; PermissionError if the device refuses."""
        with self.port.changed:
            self.nak = None
            wanted = self.post_read(va, rkey, length)
        self.port.wait('the read', lambda: self.nak is not None or self.has_read(wanted), limit)
        if self.nak is not None:
            raise PermissionError(f'NAK {self.nak}')
        return self.has_read(wanted)

    def post_read(self, va, rkey, length):
        """The same without waiting: what has_read() wants to know."""
        count = max(-(-length // self.mtu), 1)
        with self.port.changed:
            self.got.clear()
            first = self._request(sdp.READ_REQUEST, RETH.pack(va, rkey, length), count)
        return [(first + i) & 0xffffff for i in range(count)]

    def has_read(self, wanted):
        """The bytes, when all have come; or else None."""
        if not all(p in self.got for p in wanted):
            return None
        return b''.join(self.got[p] for p in wanted)

    def write(self, va, rkey, data, limit=LIMIT):
        """RDMA write of any length; PermissionError if the device refuses."""
        with self.port.changed:
            self.nak = None
            self.post_write(va, rkey, data)
        self.port.wait('the write', lambda: self.nak is not None or not self.unacked, limit)
        if self.nak is not None:
            raise PermissionError(f'NAK {self.nak}')

    def post_write(self, va, rkey, data):
        """The same without waiting."""
        reth = RETH.pack(va, rkey, len(data))
        with self.port.changed:
            for opcode, cut, _ in self._cut(data, sdp.WRITE_FIRST, sdp.WRITE_MIDDLE,
                                            sdp.WRITE_LAST, sdp.WRITE_ONLY):
                first = opcode in (sdp.WRITE_FIRST, sdp.WRITE_ONLY)
                self._request(opcode, reth + cut if first else cut, 1)

    def _request(self, opcode, body, count):
        if not self.unacked:
            self.due, self.tries = time.monotonic() + REPEAT, 0
        packet = (self.psn, opcode, body, True, False)
        self.unacked.append(packet)
        self.psn = (self.psn + count) & 0xffffff
        self._put(packet)
        return packet[0]

    def _put(self, packet):
        psn, opcode, body, last, solicited = packet
        self.port.transmit(self.peer, opcode, self.peer_qpn, psn, body, last, solicited)

    def repeat(self, now):
        if not self.unacked or now < self.due:
            return
        self.tries += 1
        if self.tries > 20:
            self.dead = True
            self.unacked.clear()
            return
        self.due = now + REPEAT
        for packet in self.unacked:
            self._put(packet)

    def acknowledged(self):
        return not self.unacked

    # ---- what comes ----

    def take(self, p):
        if p.opcode == sdp.ACKNOWLEDGE:
            self._answered(p.psn, p.body[0])
        elif p.opcode in sdp.RESPONSES:
            self._response(p)
        elif not self.mute and self.psn is not None:
            self._asked(p)

    def _response(self, p):
        has_aeth = p.opcode != sdp.READ_MIDDLE
        self.got[p.psn] = p.body[4 if has_aeth else 0:]
        if p.opcode in (sdp.READ_LAST, sdp.READ_ONLY):
            self._answered(p.psn, ACK_OK)

    def _answered(self, psn, syndrome):
        kind = syndrome & 0xe0
        # A NAK takes all before its packet, an ACK its packet too.
        done = (psn + (1 if kind == 0 else 0)) & 0xffffff
        while self.unacked and (self.unacked[0][0] - done) & 0x800000:
            self.unacked.pop(0)
            self.due, self.tries = time.monotonic() + REPEAT, 0
        if kind == RNR_NAK:
            self.rnr += 1
            self.due, self.tries = time.monotonic() + 0.02, 0
        elif kind == NAK and syndrome & 0x1f == NAK_SEQUENCE:
            self.due = 0
        elif kind == NAK:
            self.nak = syndrome & 0x1f
            self.unacked.clear()

    def _asked(self, p):
        ahead = (p.psn - self.expect_psn) & 0xffffff
        if ahead & 0x800000:
            if p.opcode == sdp.READ_REQUEST:
                self._serve(p.psn, *RETH.unpack(p.body[:16]))
            else:
                self._answer(self.expect_psn - 1, ACK_OK)       # had that already
            return
        if ahead:
            # What is behind one that was turned away will come again with it.
            if not self.full:
                self._answer(self.expect_psn, NAK | NAK_SEQUENCE)
            return
        self.full = p.opcode in sdp.SENDS_BEGIN and self.posts == 0
        if self.full:
            self.turned_away += 1
            self._answer(p.psn, RNR_NAK | RNR_DELAY)
            return
        if p.opcode in sdp.SENDS_BEGIN and self.posts:
            self.posts -= 1
        if p.opcode == sdp.READ_REQUEST:
            self._read_requested(p)
            return
        if p.opcode in (sdp.WRITE_FIRST, sdp.WRITE_MIDDLE, sdp.WRITE_LAST, sdp.WRITE_ONLY) and \
                not self._write_requested(p):
            self._answer(p.psn, NAK | NAK_ACCESS)
            return
        self.expect_psn = (self.expect_psn + 1) & 0xffffff
        if p.opcode in sdp.SENDS_BEGIN:
            self.parts = []
        if p.opcode in sdp.SENDS:
            self.parts.append(p.body)
        last = p.opcode in sdp.SENDS_END or p.opcode in (sdp.WRITE_LAST, sdp.WRITE_ONLY)
        if last:
            self.msn = (self.msn + 1) & 0xffffff
        if p.key is not None:
            self.ended.append(p.key)
            self.ends[len(self.received)] = p.key
            self.memory.pop(p.key, None)
            self.room.pop(p.key, None)
        if p.opcode in sdp.SENDS_END:
            self.received.append(b''.join(self.parts))
        if p.ack_req or last:
            self._answer(p.psn, ACK_OK)

    def _write_requested(self, p):
        """A packet of an RDMA write; false if it may not be."""
        body = p.body
        if p.opcode in (sdp.WRITE_FIRST, sdp.WRITE_ONLY):
            va, rkey, length = RETH.unpack(body[:16])
            body = body[16:]
            base, room = self.room.get(rkey, (va, b''))
            if va < base or va + length > base + len(room):
                self.refused.append((rkey, va, length))
                return False
            self.writing = rkey, va - base
            self.late |= self.late_with_writes
            if length:
                self.written.append((rkey, va - base, length))
        rkey, at = self.writing
        if body:
            self.room[rkey][1][at:at + len(body)] = body
        self.writing = rkey, at + len(body)
        return True

    def _read_requested(self, p):
        va, rkey, length = RETH.unpack(p.body[:16])
        self.expect_psn = (self.expect_psn + max(-(-length // self.mtu), 1)) & 0xffffff
        self.msn = (self.msn + 1) & 0xffffff
        if rkey in self.memory:
            self.served.append((rkey, va - self.memory[rkey][0], length))
        if self.stall:
            self.stalled.append((p.psn, va, rkey, length))
        else:
            self._serve(p.psn, va, rkey, length)

    def _serve(self, psn, va, rkey, length):
        """Answer an RDMA read, or refuse it."""
        if self.stall:
            return
        base, data = self.memory.get(rkey, (0, b''))
        if va < base or va + length > base + len(data):
            self.refused.append((rkey, va, length))
            self._answer(psn, NAK | NAK_ACCESS)
            return
        data = data[va - base:va - base + length]
        aeth = struct.pack('>I', ACK_OK << 24 | self.msn)
        for opcode, cut, _ in self._cut(data, sdp.READ_FIRST, sdp.READ_MIDDLE, sdp.READ_LAST,
                                        sdp.READ_ONLY):
            self.port.transmit(self.peer, opcode, self.peer_qpn, psn,
                               cut if opcode == sdp.READ_MIDDLE else aeth + cut)
            psn += 1

    def serve_stalled(self, count=None):
        """Answer what was asked while stalled, the first of it or all."""
        with self.port.changed:
            self.stall = False
            now = self.stalled[:count]
            self.stalled = self.stalled[len(now):]
            for asked in now:
                self._serve(*asked)
            self.stall = bool(self.stalled)

    def acknowledge(self):
        """All that was taken while late."""
        with self.port.changed:
            self.late = self.late_with_writes = False
            self._answer(self.expect_psn - 1, ACK_OK)

    def _answer(self, psn, syndrome):
        if self.late and syndrome == ACK_OK:
            return
        self.port.transmit(self.peer, sdp.ACKNOWLEDGE, self.peer_qpn, psn,
                           struct.pack('>I', syndrome << 24 | self.msn))
