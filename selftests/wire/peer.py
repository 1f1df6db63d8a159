# SPDX-License-Identifier: GPL-2.0
"""A peer of SDP with every field in the test's hands.

    peer = Peer(address)
    conn = peer.connect(host, port)             we are the active side
    conn = peer.accept(); conn.establish()      we are the passive side

Left alone it speaks correctly: it numbers its messages, acknowledges what it
heard, and always has as many buffers posted as conn.bufs says, since Python
has memory enough.  Whatever the test gives as a keyword is sent as given.
"""
import itertools
import random
import struct

import roce
import sdp_decode as sdp

SERVICE = 0x10000
RCVSZ = 16384


class Rejected(Exception):
    def __init__(self, reason):
        super().__init__(f'REJ, reason {reason}')
        self.reason = reason


class Peer:
    def __init__(self, address, changed=None):
        self.port = roce.Port(address, changed)
        self.address = self.port.address
        self._connects = itertools.count(random.randrange(40000))

    def hello(self, host, **field):
        """A Hello to HOST; keywords are fields of the message."""
        ext = {'version': 0x22, 'ipv_cap': (6 if self.port.v6 else 4) << 4, 'max_adverts': 1,
               'des_rcvsz': RCVSZ, 'rcvsz': RCVSZ,
               # No two at a time have the same: who accepts one knows it by that.
               'port': 20000 + next(self._connects) % 40000,
               'src': sdp.address_to_hello(self.address), 'dst': sdp.address_to_hello(host)}
        return sdp.Message(sdp.HELLO, **{'bufs': 32, **ext, **field})

    def request(self, host, port, hello=None, mtu=4096, repeat=True, path=None, **req):
        """Send a REQ; the connection's fate is still open.  @path: the addresses in the
        REQ's body, if not those between which it goes."""
        conn = Conn(self, host, mtu)
        conn.hello = hello or self.hello(host)
        conn.bufs = conn.hello.bufs
        self.port.send_mad(host, sdp.REQ, roce.req(
            conn.id, conn.qp.qpn, conn.qp.expect_psn, *(path or (self.address, host)),
            SERVICE + port, conn.hello.pack(), mtu, **req), repeat=repeat)
        return conn

    def connect(self, host, port, hello=None, **req):
        """REQ, REP, RTU."""
        conn = self.request(host, port, hello, **req)
        conn.answer()
        conn.rtu()
        return conn

    def accept(self, limit=roce.LIMIT):
        """The next REQ, not yet answered."""
        mad = self.port.mad('REQ', lambda m: m.attr == sdp.REQ, limit)
        conn = Conn(self, mad.src, mad.mtu)
        conn.their_id, conn.tid = mad.local_id, mad.tid
        conn.hello = sdp.read_message(mad.private, True)
        conn.limits(conn.hello)
        conn.service = mad.service_id
        conn.qp.connect(mad.qpn, mad.psn)
        return conn


class Conn:
    """One connection; counts as the text says, unless told otherwise."""

    def __init__(self, peer, host, mtu):
        self.peer, self.port, self.host = peer, peer.port, host
        qpn, self.id = self.port.fresh()
        self.qp = roce.Qp(self.port, host, qpn, mtu)
        self.their_id = self.tid = self.hello = self.ack = None
        self.bufs = 32                  # what we say we have posted
        self.heard_mids = []            # of all messages that we took
        self.mseq = 0                   # of our last message
        self.heard = 0                  # of their last message that we took
        self.acked = 0                  # of the last that we told them of
        self.their_bufs = self.their_ack = 0
        self.snd_max = 0
        self._taken = 0

    def limits(self, hello):
        self.their_bufs, self.snd_max = hello.bufs, hello.rcvsz - 16

    def credits(self):
        return self.their_bufs - ((self.mseq - self.their_ack) & 0xffffffff)

    # ---- setting up ----

    def mad(self, what, *attrs, limit=roce.LIMIT):
        return self.port.mad(what, lambda m: m.attr in attrs and m.remote_id == self.id, limit)

    def answer(self, limit=roce.LIMIT):
        """Active: the REP, or Rejected."""
        mad = self.mad('REP', sdp.REP, sdp.REJ, limit=limit)
        if mad.attr == sdp.REJ:
            self.qp.close()
            raise Rejected(mad.reason)
        self.their_id = mad.local_id
        self.ack = sdp.read_message(mad.private, True)
        self.limits(self.ack)
        self.qp.connect(mad.qpn, mad.psn)
        return self.ack

    def rtu(self):
        self.port.send_mad(self.host, sdp.RTU, struct.pack('>II', self.id, self.their_id))

    def mra(self):
        """Active: we have the REP, and take our time."""
        self.port.send_mad(self.host, sdp.MRA, roce.mra(self.id, self.their_id, 1, 24))

    def reply(self, repeat=False, **field):
        """Passive: the REP; keywords are fields of the HelloAck."""
        ack = sdp.Message(sdp.HELLO_ACK, **{'bufs': self.bufs, 'version': 0x22,
                                            'max_adverts': 1, 'rcvsz': RCVSZ, **field})
        self.bufs = ack.bufs
        self.port.send_mad(self.host, sdp.REP, roce.rep(
            self.id, self.their_id, self.qp.qpn, self.qp.expect_psn, ack.pack()),
            repeat, self.tid)

    def establish(self, **field):
        self.reply(repeat=True, **field)
        mad = self.mad('RTU', sdp.RTU, sdp.REJ)
        if mad.attr == sdp.REJ:
            self.qp.close()
            raise Rejected(mad.reason)

    def reject(self, reason, what=0):
        """what: 0 their REQ, 1 their REP"""
        self.port.send_mad(self.host, sdp.REJ,
                           roce.rej(self.id, self.their_id, what, reason), tid=self.tid)
        self.qp.close()

    # ---- messages ----

    def send(self, mid, payload=b'', ends=None, **field):
        """One message; returns it as it was sent.  @ends: see Qp.send()."""
        self.mseq = (self.mseq + 1) & 0xffffffff
        msg = sdp.Message(mid, payload, **{'bufs': self.bufs, 'mseq': self.mseq,
                                           'ack': self.heard, **field})
        self.acked = msg.ack
        self.qp.send(msg.pack(), ends=ends)
        return msg

    def post(self, bufs):
        """So many buffers are posted from now on, and an empty Data tells."""
        self.bufs = bufs
        self.send(sdp.DATA)

    def send_raw(self, data):
        self.mseq = (self.mseq + 1) & 0xffffffff
        self.qp.send(data)

    def taken(self, limit=roce.LIMIT):
        """Wait until the other device has acknowledged all we sent."""
        self.port.wait('acknowledgement', self.qp.acknowledged, limit)

    def _new(self):
        if self._taken == len(self.qp.received):
            return None
        msg = sdp.read_message(self.qp.received[self._taken])
        msg.ends = self.qp.ends.get(self._taken)
        self._taken += 1
        assert msg.mseq == self.heard + 1, f'MSeq {msg.mseq} after {self.heard}'
        self.heard, self.their_bufs, self.their_ack = msg.mseq, msg.bufs, msg.ack
        self.heard_mids.append(msg.mid)
        return msg

    def recv(self, limit=roce.LIMIT):
        """The next message, whatever it is."""
        return self.port.wait('a message', self._new, limit)

    def expect(self, mid, limit=roce.LIMIT):
        """The next message that matters for the stream: it must be MID."""
        while True:
            msg = self.recv(limit)
            if msg.mid == mid:
                break
            # It asks for larger buffers once; nobody has to give them soon.
            if msg.mid != sdp.CH_RCV_BUF and (msg.mid != sdp.DATA or msg.payload):
                break
        assert msg.mid == mid, f'{msg} instead of {sdp.NAMES[mid]}'
        return msg

    def expect_data(self, want):
        """The next bytes of the stream."""
        got = b''
        while len(got) < len(want):
            got += self.expect(sdp.DATA).payload
        assert got == want, 'other bytes than were sent'

    def send_data(self, data):
        """Bytes of the stream, as many messages as they need, by the credits."""
        for at in range(0, len(data), self.snd_max):
            while self.credits() < 3:
                self.recv()
            self.send(sdp.DATA, data[at:at + self.snd_max])

    def await_credits(self, n=2):
        """Until there are so many; of how many bytes it was said meanwhile that they are read."""
        told = 0
        while self.credits() < n:
            msg = self.recv()
            assert msg.mid in (sdp.RDMA_RD_COMPL, sdp.CH_RCV_BUF) or not msg.payload, msg
            told += msg.size if msg.mid == sdp.RDMA_RD_COMPL else 0
        return told

    def drain(self):
        """Take what has arrived, without waiting."""
        with self.port.changed:
            while self._new():
                pass

    # ---- zero copy ----

    def offer(self, data, inlined=0, va=None, **field):
        """Data by SrcAvail, to be read by RDMA; the message."""
        rkey = random.getrandbits(32)
        va = random.getrandbits(48) if va is None else va
        self.qp.memory[rkey] = (va, data)
        return self.send(sdp.SRC_AVAIL, data[:inlined], size=len(data), rkey=rkey, va=va, **field)

    def expect_read(self, size):
        """RdmaRdCompl for so many bytes, in as many pieces as it likes."""
        while size > 0:
            msg = self.expect(sdp.RDMA_RD_COMPL)
            assert 0 < msg.size <= size, f'{msg}, {size} were left'
            size -= msg.size
        return msg

    def take_offer(self, offer, inlined, ends=None):
        """Read all of a SrcAvail of theirs and say so; its bytes."""
        assert len(offer.payload) == inlined, offer
        data = offer.payload + self.qp.read(offer.va + inlined, offer.rkey, offer.size - inlined)
        self.send(sdp.RDMA_RD_COMPL, size=offer.size - inlined, flags=sdp.REQ_PIPE, ends=ends)
        return data

    def ask(self, size, non_discards, **field):
        """Room for so many bytes by SinkAvail, to be written by RDMA: what will be
        written, and where."""
        rkey, va = random.getrandbits(32), random.getrandbits(48)
        room = bytearray(size)
        self.qp.room[rkey] = (va, room)
        self.qp.asked.append(rkey)
        self.send(sdp.SINK_AVAIL, **{'size': size, 'rkey': rkey, 'va': va,
                                     'non_discards': non_discards, **field})
        return room

    # ---- the end ----

    def dreq(self, wait=True):
        self.port.send_mad(self.host, sdp.DREQ,
                           struct.pack('>II', self.id, self.their_id) +
                           roce.u24(self.qp.peer_qpn), repeat=True)
        if wait:
            self.mad('DREP', sdp.DREP, sdp.DREQ)
        self.qp.close()

    def expect_dreq(self, limit=roce.LIMIT):
        self.mad('DREQ', sdp.DREQ, limit=limit)
        self.qp.close()
