#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A second reading of the wire, written from the protocol text alone.

The module, its unit tests and a capture could all be wrong in the same way as
long as only the module's own code says what bytes mean.  This file knows
nothing of it: it turns a capture of RoCE version 2 into connections and
messages, layer by layer

    pcap -> Ethernet -> IPv4 or IPv6 -> UDP 4791 -> BTH
      -> UD to QP 1: the connection manager's MADs with Hello and HelloAck
      -> RC sends, put together by PSN -> BSDH, extended header, payload

and it writes messages too, for the peer of wire/, with every field free to be
wrong.  Sections cited are the protocol text's.

    sdp_decode.py FILE          print what a capture holds
    sdp_decode.py --vectors     the golden vectors of section 9, both ways
"""
import ipaddress
import struct
import sys
import zlib

ROCE_PORT = 4791
CM_QKEY = 0x80010000

# ---- SDP messages, section 2 ----

HELLO, HELLO_ACK, DISCONN, ABORT_CONN, SEND_SM = 0, 1, 2, 3, 4
RDMA_WR_COMPL, RDMA_RD_COMPL, MODE_CHANGE = 5, 6, 7
SRC_AVAIL_CANCEL, SINK_AVAIL_CANCEL, SINK_CANCEL_ACK = 8, 9, 10
CH_RCV_BUF, CH_RCV_BUF_ACK, SUSP_COMM, SUSP_COMM_ACK = 11, 12, 13, 14
SINK_AVAIL, SRC_AVAIL, DATA = 0xfd, 0xfe, 0xff

NAMES = {
    HELLO: 'Hello', HELLO_ACK: 'HelloAck', DISCONN: 'DisConn',
    ABORT_CONN: 'AbortConn', SEND_SM: 'SendSm', RDMA_WR_COMPL: 'RdmaWrCompl',
    RDMA_RD_COMPL: 'RdmaRdCompl', MODE_CHANGE: 'ModeChange',
    SRC_AVAIL_CANCEL: 'SrcAvailCancel', SINK_AVAIL_CANCEL: 'SinkAvailCancel',
    SINK_CANCEL_ACK: 'SinkCancelAck', CH_RCV_BUF: 'ChRcvBuf',
    CH_RCV_BUF_ACK: 'ChRcvBufAck', SUSP_COMM: 'SuspComm',
    SUSP_COMM_ACK: 'SuspCommAck', SINK_AVAIL: 'SinkAvail',
    SRC_AVAIL: 'SrcAvail', DATA: 'Data',
}

OOB_PRES, OOB_PEND, REQ_PIPE = 1, 2, 4

# Extended headers, 2.3: names of the fields and how they lie.
EXT = {
    HELLO: (('version', 'ipv_cap', 'reserved1', 'max_adverts', 'des_rcvsz', 'rcvsz',
             'port', 'reserved2', 'src', 'dst', 'reserved3', 'ext_max_adverts',
             'reserved4'), '>BBBBIIHH16s16sHH24s'),
    HELLO_ACK: (('version', 'reserved1', 'reserved2', 'max_adverts', 'rcvsz',
                 'reserved3'), '>BBBBI172s'),
    SRC_AVAIL: (('size', 'rkey', 'va'), '>IIQ'),
    SINK_AVAIL: (('size', 'rkey', 'va', 'non_discards'), '>IIQI'),
    RDMA_RD_COMPL: (('size',), '>I'),
    RDMA_WR_COMPL: (('size',), '>I'),
    MODE_CHANGE: (('mode', 'reserved'), '>B3s'),
    CH_RCV_BUF: (('size',), '>I'),
    CH_RCV_BUF_ACK: (('size',), '>I'),
    SUSP_COMM: (('sid',), '>Q'),
}
PAYLOAD = {DATA, SRC_AVAIL, SINK_AVAIL}
BSDH = struct.Struct('>BBHIII')


class Malformed(Exception):
    pass


class Message:
    """A message: BSDH, extended header as attributes, payload.

    Written, every field that is not given is what a correct sender would say;
    "raw" overrides all that stands behind the BSDH.
    """
    FIELDS = ('mid', 'flags', 'bufs', 'len', 'mseq', 'ack')

    def __init__(self, mid, payload=b'', flags=0, bufs=0, mseq=0, ack=0, len=None,
                 raw=None, **ext):
        self.mid, self.flags, self.bufs = mid, flags, bufs
        self.mseq, self.ack = mseq, ack
        self.payload, self.ext, self.raw = payload, ext, raw
        self.len = len

    def tail(self):
        if self.raw is not None:
            return self.raw
        names, form = EXT.get(self.mid, ((), ''))
        values = []
        for name, spec in zip(names, _specs(form)):
            values.append(self.ext.get(name, b'' if spec.endswith('s') else 0))
        return struct.pack(form, *values) + self.payload

    def pack(self):
        tail = self.tail()
        if self.len is None:
            self.len = BSDH.size + len(tail)
        return BSDH.pack(self.mid, self.flags, self.bufs, self.len,
                         self.mseq & 0xffffffff, self.ack & 0xffffffff) + tail

    def head(self):
        return tuple(getattr(self, f) for f in self.FIELDS)

    def __getattr__(self, name):
        try:
            return self.__dict__['ext'][name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self):
        ext = ''.join(f' {k}={v:#x}' for k, v in self.ext.items() if isinstance(v, int) and v)
        return (f'{NAMES.get(self.mid, hex(self.mid))} flags={self.flags:#04x} bufs={self.bufs} '
                f'len={self.len} mseq={self.mseq} ack={self.ack}{ext}')


def _specs(form):
    """'>BB16s' -> ['B', 'B', '16s']"""
    out, digits = [], ''
    for c in form[1:]:
        digits += c
        if not c.isdigit():
            out.append(digits)
            digits = ''
    return out


def read_message(data, private=False):
    """Bytes to a Message; Malformed if section 5.3 (or 1.4) would end there.

    private: the private data of a REQ or REP, where Hello and HelloAck stand
    and nothing else may; the CM pads it, so it may be longer than Len.
    """
    if len(data) < BSDH.size:
        raise Malformed(f'{len(data)} bytes')
    mid, flags, bufs, length, mseq, ack = BSDH.unpack_from(data)
    if private != (mid in (HELLO, HELLO_ACK)):
        raise Malformed(f'MID {mid:#04x} here')
    if mid not in NAMES and not 0x40 <= mid <= 0x7f:
        raise Malformed(f'MID {mid:#04x}')
    if private:
        data = data[:length]
    if length != len(data):
        raise Malformed(f'Len {length}, {len(data)} bytes')
    names, form = EXT.get(mid, ((), '>'))
    size = struct.calcsize(form)
    if len(data) < BSDH.size + size:
        raise Malformed(f'{NAMES[mid]} of {len(data)} bytes')
    ext = dict(zip(names, struct.unpack_from(form, data, BSDH.size)))
    payload = data[BSDH.size + size:]
    if payload and mid not in PAYLOAD and mid in NAMES:
        raise Malformed(f'{NAMES[mid]} with payload')
    msg = Message(mid, payload, flags, bufs, mseq, ack, length, **ext)
    if mid == HELLO:
        _check_hello(msg)
    elif mid == HELLO_ACK and msg.version >> 4 != 2:
        raise Malformed(f'version {msg.version:#x}')
    elif mid == SRC_AVAIL and msg.size < len(payload):
        raise Malformed('more inline bytes than the buffer has')
    return msg


def _check_hello(msg):
    if msg.len != 92:
        raise Malformed(f'Hello of {msg.len} bytes')
    if msg.version >> 4 != 2:
        raise Malformed(f'version {msg.version:#x}')
    if msg.ipv_cap >> 4 not in (4, 6):
        raise Malformed(f'IPV {msg.ipv_cap >> 4}')
    if not msg.max_adverts:
        raise Malformed('MaxAdverts 0')


def hello_address(raw, ipv_cap):
    """An address of the Hello as text, 1.2."""
    if ipv_cap >> 4 == 6:
        return str(ipaddress.IPv6Address(raw))
    return str(ipaddress.IPv4Address(raw[12:]))


def address_to_hello(text):
    return ipaddress.ip_address(text).packed.rjust(16, b'\0')


# ---- RoCE version 2 ----

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0x00, 0x01, 0x02, 0x04
SEND_LAST_IMM, SEND_ONLY_IMM = 0x03, 0x05
SEND_LAST_INV, SEND_ONLY_INV = 0x16, 0x17
SENDS_BEGIN = {SEND_FIRST, SEND_ONLY, SEND_ONLY_INV}
SENDS_END = {SEND_LAST, SEND_ONLY, SEND_LAST_INV, SEND_ONLY_INV}
SENDS = SENDS_BEGIN | SENDS_END | {SEND_MIDDLE}
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 0x06, 0x07, 0x08, 0x0a
WRITE_ONLY_IMM = 0x0b
READ_REQUEST = 0x0c
READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 0x0d, 0x0e, 0x0f, 0x10
ACKNOWLEDGE = 0x11
UD_SEND_ONLY = 0x64
RESPONSES = {READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACKNOWLEDGE}

BTH = struct.Struct('>BBHII')


def icrc(ip_and_udp, rest):
    """The invariant CRC: all that no router changes, the rest taken for ones.

    ip_and_udp: both headers as they go; rest: BTH to the padding.
    """
    head = bytearray(ip_and_udp)
    if head[0] >> 4 == 4:
        head[1] = 0xff                          # TOS
        head[8] = 0xff                          # TTL
        head[10:12] = b'\xff\xff'               # checksum
    else:
        head[0] |= 0x0f                         # traffic class, flow label
        head[1:4] = b'\xff\xff\xff'
        head[7] = 0xff                          # hop limit
    head[-2:] = b'\xff\xff'                     # UDP checksum
    rest = bytearray(rest)
    rest[4] = 0xff                              # BTH, reserved (FECN, BECN)
    # 8 bytes of ones stand for InfiniBand's local route header.
    return zlib.crc32(bytes(8 * [0xff]) + head + rest)


class Packet:
    """One RoCE packet; body is what stands between BTH and padding."""

    def __init__(self, number, src, dst, head, data):
        self.number, self.src, self.dst = number, src, dst
        op, flags, pkey, qpn, psn = BTH.unpack_from(data)
        self.opcode, self.pkey = op, pkey
        self.dest_qp, self.psn = qpn & 0xffffff, psn & 0xffffff
        self.ack_req = bool(psn >> 31)
        pad = flags >> 4 & 3
        self.body = data[BTH.size:len(data) - 4 - pad]
        self.key = None         # that the other device is to forget
        if op in (SEND_LAST_INV, SEND_ONLY_INV):
            self.key, = struct.unpack_from('>I', self.body)
            self.body = self.body[4:]
        self.icrc_ok = struct.unpack('<I', data[-4:])[0] == icrc(head, data[:-4])


def packets(path):
    """All RoCE packets of a capture file (classic pcap, Ethernet)."""
    with open(path, 'rb') as f:
        head = f.read(24)
        order = {b'\xd4\xc3\xb2\xa1': '<', b'\xa1\xb2\xc3\xd4': '>',
                 b'\x4d\x3c\xb2\xa1': '<', b'\xa1\xb2\x3c\x4d': '>'}[head[:4]]
        if struct.unpack_from(order + 'I', head, 20)[0] & 0xffff != 1:
            raise ValueError('no Ethernet capture')
        number = 0
        while True:
            record = f.read(16)
            if len(record) < 16:
                return
            number += 1
            _, _, got, was = struct.unpack(order + 'IIII', record)
            frame = f.read(got)
            if got != was:
                raise ValueError(f'frame {number} is cut')
            packet = packet_of_frame(number, frame)
            if packet:
                yield packet


def packet_of_frame(number, frame):
    kind = struct.unpack_from('>H', frame, 12)[0]
    if kind == 0x0800:
        size = (frame[14] & 15) * 4
        if frame[23] != 17:
            return None
        src, dst = frame[26:30], frame[30:34]
    elif kind == 0x86dd:
        size = 40
        if frame[20] != 17:
            return None
        src, dst = frame[22:38], frame[38:54]
    else:
        return None
    udp = 14 + size
    if struct.unpack_from('>H', frame, udp + 2)[0] != ROCE_PORT:
        return None
    length = struct.unpack_from('>H', frame, udp + 4)[0]
    return Packet(number, str(ipaddress.ip_address(src)), str(ipaddress.ip_address(dst)),
                  frame[14:udp + 8], frame[udp + 8:udp + length])


# ---- the connection manager's datagrams ----

REQ, MRA, REJ, REP, RTU, DREQ, DREP = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16
SIDR_REQ, SIDR_REP = 0x17, 0x18
CM_NAMES = {REQ: 'REQ', MRA: 'MRA', REJ: 'REJ', REP: 'REP', RTU: 'RTU',
            DREQ: 'DREQ', DREP: 'DREP'}
MAD = struct.Struct('>BBBBHHQHHI')
CM_CLASS = 7
PRIVATE = {REQ: 140, REJ: 84, REP: 36, RTU: 8, DREQ: 12, DREP: 8}


class Mad:
    """A MAD of the connection manager: who, and its private data."""

    def __init__(self, body):
        (_, mgmt, _, _, _, _, self.tid, self.attr, _, _) = MAD.unpack_from(body)
        if mgmt != CM_CLASS:
            raise Malformed(f'management class {mgmt}')
        cm = self.cm = body[MAD.size:]
        self.local_id, self.remote_id = struct.unpack_from('>II', cm)
        self.private = cm[PRIVATE[self.attr]:] if self.attr in PRIVATE else b''
        if self.attr == REQ:
            self.remote_id = 0
            self.service_id = struct.unpack_from('>Q', cm, 8)[0]
            self.qpn = self.u24(32)
            self.responder_resources, self.initiator_depth = cm[35], cm[39]
            self.psn = self.u24(44)
            self.mtu = 128 << (cm[50] >> 4)
            self.gids = cm[56:72], cm[72:88]
        elif self.attr == REP:
            self.qpn = self.u24(12)
            self.psn = self.u24(20)
            self.responder_resources, self.initiator_depth = cm[24], cm[25]
        elif self.attr == SIDR_REQ:
            self.remote_id = 0
            self.service_id = struct.unpack_from('>Q', cm, 8)[0]
        elif self.attr == SIDR_REP:
            self.remote_id, self.status = self.local_id, cm[4]
        elif self.attr == REJ:
            self.rejected = cm[8] >> 6
            self.reason = struct.unpack_from('>H', cm, 10)[0]
        elif self.attr == DREQ:
            self.qpn = self.u24(8)

    def u24(self, at):
        return int.from_bytes(self.cm[at:at + 3], 'big')


# ---- connections ----

RETH = struct.Struct('>QII')                    # VA, R_Key, length


class Half:
    """One direction: packets in the order of their PSNs become messages, and
    RDMA reads and writes that its sender asks for."""

    def __init__(self, psn, mtu):
        self.next, self.mtu = psn, mtu
        self.parts, self.first = [], 0
        self.messages, self.frames = [], []     # and where each begins
        self.repeated = []      # frames that came again, or came too early
        self.other = None       # the other direction
        self.reads = []         # PSN, VA, R_Key, length
        self.answers = {}       # PSN -> bytes that were read
        self.writes = []        # VA, R_Key, bytes
        self.items = []         # messages and indexes of writes, as they went
        self.ended = {}         # MSeq of a message -> key that it ended

    def take(self, packet):
        ahead = (packet.psn - self.next) & 0xffffff
        if ahead:
            # Behind: sent again.  Ahead: one before it was lost on the way, and
            # all from there will come again.
            self.repeated.append(packet.number)
            return
        self.next = (self.next + self.span(packet)) & 0xffffff
        if packet.opcode in SENDS_BEGIN:
            self.parts, self.first = [], packet.number
        if packet.opcode in SENDS:
            self.parts.append(packet.body)
        if packet.opcode in SENDS_END:
            self.messages.append(read_message(b''.join(self.parts)))
            self.frames.append(self.first)
            self.items.append(self.messages[-1])
            if packet.key is not None:
                self.ended[self.messages[-1].mseq] = packet.key
        if packet.opcode in (WRITE_FIRST, WRITE_ONLY):
            va, rkey, length = RETH.unpack_from(packet.body)
            if length:                          # or else it is a keepalive
                self.items.append(len(self.writes))
                self.writes.append((va, rkey, bytearray(packet.body[RETH.size:])))
        elif packet.opcode in (WRITE_MIDDLE, WRITE_LAST):
            self.writes[-1][2].extend(packet.body)
        elif packet.opcode == READ_REQUEST:
            va, rkey, length = RETH.unpack_from(packet.body)
            self.reads.append((packet.psn, va, rkey, length))

    def span(self, packet):
        """An RDMA read takes as many PSNs as its answer has packets."""
        if packet.opcode != READ_REQUEST:
            return 1
        return max(1, -(-struct.unpack_from('>I', packet.body, 12)[0] // self.mtu))

    def answered(self, packet):
        """Part of the answer to one of our reads."""
        aeth = 0 if packet.opcode == READ_MIDDLE else 4
        self.answers[packet.psn] = packet.body[aeth:]

    def read(self, read):
        """The bytes that a read of ours brought."""
        psn, _, _, length = read
        count = max(1, -(-length // self.mtu))
        return b''.join(self.answers[(psn + i) & 0xffffff] for i in range(count))

    def reads_of(self, avail):
        """What the other side read of a SrcAvail of ours, in order."""
        # A key may come again, for other memory.
        reads = sorted(r for r in self.other.reads if r[2] == avail.rkey and
                       avail.va <= r[1] < avail.va + avail.size)
        at = avail.va + len(avail.payload)
        for _, va, _, length in reads:
            if va != at:
                raise Malformed(f'{avail}: read at {va:#x}, not at {at:#x}')
            at += length
        if at > avail.va + avail.size:
            raise Malformed(f'{avail}: read up to {at:#x}')
        return reads

    def stream(self):
        """All bytes of the stream, whichever way they went."""
        out = []
        for item in self.items:
            if isinstance(item, int):
                out.append(self.writes[item][2])
                continue
            out.append(item.payload)
            if item.mid == SRC_AVAIL:
                out += [self.other.read(r) for r in self.reads_of(item)]
        return b''.join(out)


class Connection:
    def __init__(self, req, packet):
        self.client, self.server = packet.src, packet.dst
        self.client_id, self.server_id = req.local_id, None
        self.client_qpn, self.server_qpn = req.qpn, None
        self.service_id, self.mtu = req.service_id, req.mtu
        self.hello, self.hello_frame = read_message(req.private, True), packet.number
        self.ack = self.ack_frame = None
        self.up = None          # client to server
        self.down = Half(req.psn, req.mtu)
        self.cm = ['REQ']

    def answered(self, rep, packet):
        self.server_id, self.server_qpn = rep.local_id, rep.qpn
        self.ack, self.ack_frame = read_message(rep.private, True), packet.number
        self.up = Half(rep.psn, self.mtu)
        self.up.other, self.down.other = self.down, self.up


class Capture:
    """All SDP connections of a capture file, in the order of their REQs."""

    def __init__(self, path):
        self.connections, self.bad_icrc, self.count = [], [], 0
        self._qps = {}                          # (address, QPN) -> half
        for p in packets(path):
            self.count += 1
            if not p.icrc_ok:
                self.bad_icrc.append(p.number)
            elif p.dest_qp == 1:
                self._mad(p)
            elif (p.dst, p.dest_qp) in self._qps:
                half = self._qps[p.dst, p.dest_qp]
                if p.opcode not in RESPONSES:
                    half.take(p)
                elif p.opcode != ACKNOWLEDGE:
                    half.other.answered(p)

    def _mad(self, p):
        mad = Mad(p.body[8:])
        if mad.attr == REQ:
            if self._find(p.src, mad.local_id):
                return                          # sent again
            c = Connection(mad, p)
            self.connections.append(c)
            self._qps[p.src, mad.qpn] = c.down
            return
        c = self._find(p.dst, mad.remote_id) or self._find(p.src, mad.local_id)
        if not c:
            return
        c.cm.append(CM_NAMES[mad.attr])
        if mad.attr == REP and not c.ack:
            c.answered(mad, p)
            self._qps[p.src, mad.qpn] = c.up

    def _find(self, address, comm_id):
        for c in reversed(self.connections):
            if (address, comm_id) in ((c.client, c.client_id), (c.server, c.server_id)):
                return c
        return None


# ---- golden vectors, section 9 ----

def _hello(src, dst, ipv):
    return Message(HELLO, bufs=64, version=0x22, ipv_cap=ipv << 4, max_adverts=1,
                   des_rcvsz=32784, rcvsz=32784, port=49152, src=address_to_hello(src),
                   dst=address_to_hello(dst))


# (what, bytes in hex, the message)
VECTORS = (
    ('9.1 Hello',
     '00000040 0000005c 00000000 00000000 22400001 00008010 00008010 c0000000'
     '00000000 00000000 00000000 c0a80a01 00000000 00000000 00000000 c0a80a02' + '00' * 28,
     _hello('192.168.10.1', '192.168.10.2', 4)),
    ('9.1 Hello, IPv6',
     '00000040 0000005c 00000000 00000000 22600001 00008010 00008010 c0000000'
     'fd000000 00000000 00000000 00000001 fd000000 00000000 00000000 00000002' + '00' * 28,
     _hello('fd00::1', 'fd00::2', 6)),
    ('9.2 HelloAck',
     '01000040 000000c4 00000000 00000000 22000001 00008010' + '00' * 172,
     Message(HELLO_ACK, bufs=64, version=0x22, max_adverts=1, rcvsz=32784)),
    ('9.3 Data', 'ff000040 00000015 00000001 00000000 68656c6c6f',
     Message(DATA, b'hello', bufs=64, mseq=1)),
    ('9.4 SrcAvail',
     'fe000040 00000028 00000002 00000000 00020000 12345678 00007f00 12345000 4142434445464748',
     Message(SRC_AVAIL, b'ABCDEFGH', bufs=64, mseq=2, size=131072, rkey=0x12345678,
             va=0x7f0012345000)),
    ('9.5 RdmaRdCompl', '06000040 00000014 00000001 00000002 0001fff8',
     Message(RDMA_RD_COMPL, bufs=64, mseq=1, ack=2, size=131064)),
    ('credit update', 'ff000040 00000010 00000002 00000003',
     Message(DATA, bufs=64, mseq=2, ack=3)),
    ('urgent byte', 'ff03003f 00000011 00000003 00000001 21',
     Message(DATA, b'!', OOB_PRES | OOB_PEND, bufs=63, mseq=3, ack=1)),
    ('SendSm', '0400003e 00000010 00000002 00000002',
     Message(SEND_SM, bufs=62, mseq=2, ack=2)),
    ('SrcAvailCancel', '0800003e 00000010 00000003 00000001',
     Message(SRC_AVAIL_CANCEL, bufs=62, mseq=3, ack=1)),
    ('SinkAvail',
     'fd00003c 00000024 00000003 00000004 00010000 00abcdef ffff8880 11220000 00000007',
     Message(SINK_AVAIL, bufs=60, mseq=3, ack=4, size=65536, rkey=0xabcdef,
             va=0xffff888011220000, non_discards=7)),
    ('RdmaWrCompl', '0500003c 00000014 00000005 00000003 00010000',
     Message(RDMA_WR_COMPL, bufs=60, mseq=5, ack=3, size=65536)),
    ('ModeChange, pipelined', '07000040 00000014 00000003 00000001 20000000',
     Message(MODE_CHANGE, bufs=64, mseq=3, ack=1, mode=0x20)),
    ('ModeChange, combined', '07000040 00000014 00000003 00000001 90000000',
     Message(MODE_CHANGE, bufs=64, mseq=3, ack=1, mode=0x90)),
    ('ChRcvBuf', '0b000040 00000014 00000003 00000001 00010000',
     Message(CH_RCV_BUF, bufs=64, mseq=3, ack=1, size=65536)),
    ('ChRcvBufAck', '0c000040 00000014 00000002 00000003 00008000',
     Message(CH_RCV_BUF_ACK, bufs=64, mseq=2, ack=3, size=32768)),
    ('SuspComm', '0d000040 00000018 00000003 00000001 00000000 0001c001',
     Message(SUSP_COMM, bufs=64, mseq=3, ack=1, sid=0x1c001)),
    ('DisConn', '02000040 00000010 00000004 00000002',
     Message(DISCONN, bufs=64, mseq=4, ack=2)),
)

# (what, index of the vector, offset, the byte there)
BROKEN = (
    ('MaxAdverts 0', 0, 0x13, 0), ('IPV 5', 0, 0x11, 0x50), ('major version 3', 0, 0x10, 0x33),
    ('Hello with Len 91', 0, 7, 0x5b), ('Len is not the byte count', 3, 7, 0x14),
    ('MID 0x0f', 3, 0, 0x0f), ('MID 0x80', 3, 0, 0x80), ('Hello on the queue pair', 3, 0, 0),
    ('more inline bytes than the buffer has', 4, 0x11, 0),
)


def check_vectors():
    """Every vector reads as its message, and the message writes the vector."""
    wrong = []
    for what, text, want in VECTORS:
        data = bytes.fromhex(text)
        if want.pack() != data:
            wrong.append(f'{what}: written as {want.pack().hex()}')
        got = read_message(data, data[0] < 2)
        if got.head() != want.head() or got.payload != want.payload or \
                {k: v for k, v in got.ext.items() if k in want.ext} != want.ext:
            wrong.append(f'{what}: read as {got}')
    bad = [(what, VECTORS[i], at, byte) for what, i, at, byte in BROKEN]
    for what, (_, text, _), at, byte in bad:
        data = bytearray(bytes.fromhex(text))
        data[at] = byte
        if what == 'more inline bytes than the buffer has':
            data[0x10:0x14] = b'\0\0\0\7'
        wrong += _accepted(what, bytes(data))
    wrong += _accepted('15 bytes', bytes.fromhex(VECTORS[6][1])[:15])
    wrong += _accepted('DisConn with payload', bytes.fromhex('02000040 00000011 00000004 00000002 00'))
    wrong += _accepted('ModeChange without its header', bytes.fromhex('07000040 00000010 00000004 00000002'))
    return wrong


def _accepted(what, data):
    try:
        msg = read_message(data, data[0] < 2 and what != 'Hello on the queue pair')
    except Malformed:
        return []
    return [f'{what}: read as {msg}']


def main():
    if sys.argv[1:] == ['--vectors']:
        wrong = check_vectors()
        print('\n'.join(wrong) or f'{len(VECTORS)} vectors read and written')
        sys.exit(bool(wrong))
    capture = Capture(sys.argv[1])
    for c in capture.connections:
        print(f'{c.client}:{c.hello.port} QP {c.client_qpn:#x} -> {c.server} service '
              f'{c.service_id:#x} QP {c.server_qpn or 0:#x}: {" ".join(c.cm)}')
        print(f'  {c.hello}\n  {c.ack}')
        for way, half in (('->', c.up), ('<-', c.down)):
            for frame, m in zip(half.frames, half.messages) if half else ():
                print(f'  {way} {frame:5} {m}')
    print(f'{capture.count} packets, wrong ICRC: {capture.bad_icrc}')


if __name__ == '__main__':
    main()
