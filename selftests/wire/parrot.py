#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The host under test of mutate.py: sockets that say back what they hear.

One loop serves all connections, those that came and those that it dialled,
until end of stream or an error; how each ended is kept for who asks.  Or, if it is
told so, each has two threads, one that sleeps in a long recv() and one in send().
One more connection, to the echo server of the other host, goes on all the time beside
them: it is the bystander, and what it reads is what it wrote.

Steered like sockets.py's agent, by JSON lines.
"""
import errno
import mmap
import os
import select
import socket
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from sockets import (
    ECHO_PORT, SDP_INFO, SOL_SDP, TRACE, Agent, diag, new, obey, pattern, read_info)  # noqa: E402

PORT = 7001
GREETING = pattern(100, 9)
BUFFER = 40000          # of a reader who sleeps
PATIENCE = 0.15         # s, of one who does not sleep long


class Link:
    def __init__(self, s, key, connecting=False):
        self.s, self.key, self.connecting = s, key, connecting
        self.out = b''


def is_impatient(key):
    """Such readers give up, and come again."""
    return key % 4 == 0


class Sleepers:
    """A reader and a writer of one connection, who wait in their calls; told() is given
    the way it ended."""

    def __init__(self, link, told):
        self.link, self.told, self.out = link, told, b''
        self.eof, self.changed, self.failed = False, threading.Condition(), set()
        link.s.setblocking(True)
        if is_impatient(link.key):
            usec = int(PATIENCE * float(os.environ.get('SDP_TIME_FACTOR', 1)) * 1000000)
            link.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                              struct.pack('ll', usec // 1000000, usec % 1000000))
        self.say(link.out)
        self.writer = threading.Thread(target=self.until_error, args=(self.write,), daemon=True)
        self.writer.start()
        threading.Thread(target=self.both, daemon=True).start()

    def say(self, data):
        with self.changed:
            self.out += data
            self.changed.notify()

    def read(self):
        buffer = mmap.mmap(-1, BUFFER)
        while True:
            # What nobody writes there has to be something.
            buffer[:] = bytes(BUFFER)
            try:
                n = self.link.s.recv_into(buffer)
            except BlockingIOError:
                continue
            if not n:
                return
            self.say(buffer[:n])

    def write(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.out or self.eof)
                data, self.out = self.out, b''
            if not data:
                return
            self.link.s.sendall(data)

    def until_error(self, what):
        try:
            what()
        except OSError as e:
            self.failed.add(errno.errorcode.get(e.errno, str(e)))

    def both(self):
        self.until_error(self.read)
        with self.changed:
            self.eof = True
            self.changed.notify()
        self.writer.join()
        # One of them has heard why, the other only that.
        self.told(self.link, 'ECONNRESET' if 'ECONNRESET' in self.failed else
                  min(self.failed, default='eof'))


class Bystander:
    PAUSE = 0.05

    def __init__(self, address):
        self.s = new()
        self.s.connect((address, ECHO_PORT))
        self.s.setblocking(False)
        self.rounds, self.due, self.want, self.got, self.out = 0, 0.0, b'', b'', b''

    def run(self):
        if not self.want:
            if time.monotonic() < self.due:
                return
            self.want = self.out = pattern(2000 + self.rounds % 7, self.rounds & 0xff)
            self.got = b''
        try:
            if self.out:
                self.out = self.out[self.s.send(self.out):]
            piece = self.s.recv(65536)
        except BlockingIOError:
            return
        assert piece, 'the bystander saw the end'
        self.got += piece
        if len(self.got) >= len(self.want):
            assert self.got == self.want, 'the bystander read other bytes'
            self.rounds += 1
            self.want, self.due = b'', time.monotonic() + self.PAUSE


class Parrot(Agent):
    def __init__(self):
        super().__init__()
        self.epoll = select.epoll()
        self.listeners = {s.fileno(): s for s in (self.listener(v6) for v6 in (False, True))}
        self.links, self.ends, self.side = {}, [], None
        self.input, self.failed = b'', None
        self.sleeps, self.over = False, []
        for fd in 0, *self.listeners:
            self.epoll.register(fd, select.EPOLLIN)

    @staticmethod
    def listener(v6):
        s = new(v6)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # No byte of the stream is to go another way, urgent or not.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        if v6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind(('', PORT))
        s.listen(256)
        s.setblocking(False)
        return s

    # ---- what may be asked ----

    def start(self, other):
        """Begin with the bystander, and follow the trace point of failures."""
        self.side = Bystander(other)
        self.follow('mutate', 'sdp_fail')
        # All others for look(): of the newest seconds.
        everything = TRACE + 'mutate_all'
        os.makedirs(everything, exist_ok=True)
        for where, value in ('buffer_size_kb', '16384'), ('events/sdp/enable', '1'), ('trace', ''):
            with open(f'{everything}/{where}', 'w') as f:
                f.write(value)

    def find(self, qpn):
        """SDP_INFO of the connection whose peer has that queue pair, or None."""
        infos = (read_info(b[64:]) for b in diag())
        return next((i for i in infos if i['peer_qpn'] == qpn), None)

    def look(self, conn):
        """What its user sees of a connection, and what it has said in the trace."""
        number = struct.pack('I', conn)
        fd = next((fd for fd, link in self.links.items()
                   if link.s.getsockopt(SOL_SDP, SDP_INFO, 256)[8:12] == number), None)
        seen = 'no socket'
        if fd is not None:
            poll = select.poll()
            poll.register(fd, select.POLLIN | select.POLLOUT)
            seen = f'socket ready for {poll.poll(0)}, {len(self.links[fd].out)} bytes to say back'
        with open(TRACE + 'mutate_all/trace') as f:
            return [seen, *(line.strip() for line in f if f' conn={conn} ' in line)]

    def dial(self, address, port, own):
        """Begin to connect from a port of the caller's choice."""
        s = new(':' in address)
        s.setblocking(False)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        s.bind(('', own))
        got = s.connect_ex((address, port))
        if got not in (0, errno.EINPROGRESS):
            raise OSError(got, 'connect')
        self.add(Link(s, own, True), select.EPOLLOUT)

    def sleep(self, sleeps):
        """Whether who talks to connections from now on sleeps in his calls."""
        self.sleeps = sleeps

    def take(self):
        """What ended since the last time: [key, how]; how many go on; rounds of
        the bystander."""
        if self.failed:
            raise RuntimeError(self.failed)
        ends, self.ends = self.ends, []
        return [ends, len(self.links), self.side.rounds]

    def files(self):
        return len(os.listdir('/proc/self/fd'))

    # ---- the loop ----

    def add(self, link, events):
        self.links[link.s.fileno()] = link
        self.epoll.register(link.s, events)

    def end(self, link, how):
        self.epoll.unregister(link.s)
        self.ended(link, how)

    def ended(self, link, how):
        self.ends.append([link.key, how])
        del self.links[link.s.fileno()]
        link.s.close()

    def begin(self, link):
        self.links[link.s.fileno()] = link
        Sleepers(link, lambda *end: self.over.append(end))

    def accept_all(self, listener):
        while True:
            try:
                s, peer = listener.accept()
            except BlockingIOError:
                return
            s.setblocking(False)
            if self.sleeps:
                self.begin(Link(s, peer[1]))
            else:
                self.add(Link(s, peer[1]), select.EPOLLIN)

    def serve(self, link):
        try:
            if link.connecting:
                got = link.s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if got:
                    return self.end(link, f'connect {errno.errorcode[got]}')
                link.connecting, link.out = False, GREETING
                if self.sleeps:
                    self.epoll.unregister(link.s)
                    return self.begin(link)
            if len(link.out) < 1 << 18:
                try:
                    data = link.s.recv(65536)
                    if not data:
                        if link.out:
                            link.s.settimeout(5)
                            link.s.sendall(link.out)
                        return self.end(link, 'eof')
                    link.out += data
                except BlockingIOError:
                    pass
            try:
                if link.out:
                    link.out = link.out[link.s.send(link.out):]
            except BlockingIOError:
                pass
        except OSError as e:
            return self.end(link, errno.errorcode.get(e.errno, str(e)))
        self.epoll.modify(link.s, (select.EPOLLIN if len(link.out) < 1 << 18 else 0) |
                          (select.EPOLLOUT if link.out else 0))

    def command(self):
        data = os.read(0, 65536)
        if not data:
            sys.exit()
        *lines, self.input = (self.input + data).split(b'\n')
        for line in lines:
            obey(self, line)

    def run(self):
        while True:
            for fd, _ in self.epoll.poll(0.02):
                if fd == 0:
                    self.command()
                elif fd in self.listeners:
                    self.accept_all(self.listeners[fd])
                elif fd in self.links:
                    self.serve(self.links[fd])
            while self.over:
                self.ended(*self.over.pop(0))
            if self.side and not self.failed:
                try:
                    self.side.run()
                except (AssertionError, OSError) as e:
                    self.failed = f'bystander: {e}'


if __name__ == '__main__':
    Parrot().run()
