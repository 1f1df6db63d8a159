#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sockets of the module under test, steered from another host.

    sockets.py agent            one JSON list per line of input: a method of
                                Agent and its arguments; one JSON value per line
                                of output, {"errno": N} for an error
    sockets.py echo             listen on port 7070 and echo, for bystanders

    Remote(host)                the other end: remote.connect(...) and so on;
                                Remote(host, FILE) one of another program

A socket is a number here.  Nothing waits longer than the limit it is given.
"""
import errno
import mmap
import fcntl
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

IPPROTO_SDP, SOL_SDP, SDP_INFO = 257, 1025, 1
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
ECHO_PORT = 7070
IP_SDP_INFO = 0x5d50
REASONS = ('none no_device no_route refused timeout protocol limit loopback option forced '
           'tcp_client cached learning busy device').split()
TRACE = '/sys/kernel/tracing/instances/'
LIMIT = 8 * float(os.environ.get('SDP_TIME_FACTOR', 1))


def pattern(n, seed=0):
    """n bytes that are not the same anywhere near."""
    first, words = seed << 24, -(-n // 4)
    return struct.pack(f'>{words}I', *range(first, first + words))[:n]


def scattered(n):
    """Memory of n bytes whose pages do not lie together: what does is lent, and read
    into, in longer pieces."""
    m = mmap.mmap(-1, n + 2 * mmap.PAGESIZE)
    for first in 0, mmap.PAGESIZE:
        for at in range(first, len(m), 2 * mmap.PAGESIZE):
            m[at] = 0
    return memoryview(m)[960:960 + n]       # nor do they begin with a page


# Whether IPv6, of those that this kernel has.
FAMILIES = (False, True) if os.path.isdir('/proc/sys/net/ipv6') else (False,)


def new(v6=False, ulp=False):
    family = socket.AF_INET6 if v6 else socket.AF_INET
    if ulp:                             # TCP takes over where SDP cannot
        s = socket.socket(family, socket.SOCK_STREAM)
        s.setsockopt(socket.IPPROTO_TCP, 31, b'sdp')    # TCP_ULP
        return s
    return socket.socket(family, socket.SOCK_STREAM, IPPROTO_SDP)


def read_info(b):
    """struct sdp_info, as far as the tests ask."""
    names = ('transport', 'state', 'reason', 'mode_send', 'mode_recv', 'port_num', 'credits',
             'id', 'snd_size', 'rcv_size', 'posted', 'peer_bufs', 'qpn', 'peer_qpn', 'inq',
             'outq', 'bytes_sent', 'bytes_received', 'msgs_sent', 'msgs_received', 'mem')
    return dict(zip(names, struct.unpack_from('<BBBBBBHIIIHHIIIIQQQQQ', b)))


def diag(what=0):
    """All connections and listeners that the module has, those without a socket too
    (or what has fallen back): struct sdp_diag_msg of each."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as s:         # SOCK_DIAG
        s.send(struct.pack('=IHHIIBBHI', 24, 20, 0x301, 1, 0, 27, 0, what, 0x7fffffff))
        while True:
            data = s.recv(1 << 16)
            while data:
                size, kind = struct.unpack_from('=IH', data)
                if kind == 3:                                               # NLMSG_DONE
                    return
                yield data[16:size]
                data = data[(size + 3) & ~3:]


class Agent:
    def __init__(self):
        self.sockets, self.last = {}, 0
        self.readers, self.meanwhile = {}, {}
        self.lent = []                  # not to be freed, nor used again
        self.urgent = 0

    def _keep(self, s):
        s.setblocking(False)
        self.last += 1
        self.sockets[self.last] = s
        return self.last

    def _wait(self, n, events, limit):
        p = select.poll()
        p.register(self.sockets[n], events)
        got = p.poll(limit * 1000)
        if not got:
            raise OSError(errno.ETIME, 'not in time')
        return got[0][1]

    def is_ready(self, n, events):
        p = select.poll()
        p.register(self.sockets[n], events)
        return bool(p.poll(0))

    def listen(self, port, v6=False, backlog=8, address=None):
        s = new(v6)
        if v6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind((address or ('::' if v6 else ''), port))
        s.listen(backlog)
        return self._keep(s)

    def listen_again(self, n, backlog):
        self.sockets[n].listen(backlog)

    def accept(self, n, limit=LIMIT):
        self._wait(n, select.POLLIN, limit)
        s, peer = self.sockets[n].accept()
        return [self._keep(s), peer[:2], s.getsockname()[:2]]

    def accept_all(self, n, count):
        """So many: [the peer's port, number]"""
        took = [self.accept(n) for _ in range(count)]
        return [[peer[1], s] for s, peer, _ in took]

    def acceptable(self, n, limit=0):
        p = select.poll()
        p.register(self.sockets[n], select.POLLIN)
        return bool(p.poll(limit * 1000))

    def connect(self, address, port, ulp=False, rcvbuf=0):
        """Begin; connected() says how it ended."""
        s = new(':' in address, ulp)
        if rcvbuf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        n = self._keep(s)
        got = s.connect_ex((address, port))
        if got not in (0, errno.EINPROGRESS):
            raise OSError(got, 'connect')
        return n

    def connected(self, n, limit=LIMIT):
        self._wait(n, select.POLLOUT, limit)
        return self.error(n)

    def error(self, n):
        return self.sockets[n].getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def names(self, n):
        return [self.sockets[n].getsockname()[:2], self.sockets[n].getpeername()[:2]]

    def info(self, n):
        """SDP_INFO: transport 1 is SDP, 2 TCP."""
        return read_info(self.sockets[n].getsockopt(SOL_SDP, SDP_INFO, 256))

    def why_tcp(self, n):
        """IP_SDP_INFO of one that has fallen back: the reason."""
        s = self.sockets[n]
        v6 = s.family == socket.AF_INET6
        b = s.getsockopt(socket.IPPROTO_IPV6 if v6 else socket.IPPROTO_IP, IP_SDP_INFO, 256)
        return REASONS[b[2]] if b[0] == 2 else f'transport {b[0]}'

    def follow(self, name, *events):
        """Begin with the kernel's log, and with these trace points in an instance of
        that name."""
        self.log = os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.log, 0, os.SEEK_END)
        self.trace = TRACE + name
        if not os.path.isdir(self.trace):
            os.mkdir(self.trace)
        for where, value in [(f'events/sdp/{e}/enable', '1') for e in events] + [('trace', '')]:
            with open(f'{self.trace}/{where}', 'w') as f:
                f.write(value)

    def traced(self, event):
        """What this trace point said since the last time; what others did is lost."""
        with open(f'{self.trace}/trace') as f:
            lines = [line.split(f' {event}: ')[1].strip() for line in f if f' {event}: ' in line]
        with open(f'{self.trace}/trace', 'w'):
            pass
        return lines

    def logged(self):
        """The kernel's log since the last time, without what soft-RoCE has to say
        of each queue pair that ends by an error, and on 5.10 of a packet for one
        that is no more, a debug kernel of a thread that ends, if it used more stack
        than any before, and, once each, a busy network card and a machine that let
        the guest wait."""
        lines = []
        try:
            while True:
                try:
                    text = os.read(self.log, 8192).decode(errors='replace')
                except BrokenPipeError:
                    lines.append('lines were lost')
                    continue
                text = text.split(';', 1)[1].split('\n')[0]
                if not re.match(r'(rxe\d+|rdma_rxe): qp#\d+ |rdma_rxe: no qp matches qpn |'
                                r'(make_send_cqe|hdr_check): \d+ callbacks suppressed|'
                                r'.* used greatest stack depth: |'
                                r'.*: Budget exhausted after napi rescheduled|'
                                r'hrtimer: interrupt took \d+ ns', text):
                    lines.append(text)
        except BlockingIOError:
            return lines

    def send(self, n, size, seed=0, at=0):
        """As much of the pattern as there is room for."""
        return self.sockets[n].send(pattern(at + size, seed)[at:])

    def recv(self, n, size, limit=LIMIT):
        """Exactly that many bytes, or fewer before the end; as hex."""
        got = b''
        while len(got) < size:
            self._wait(n, select.POLLIN, limit)
            piece = self.sockets[n].recv(size - len(got))
            if not piece:
                break
            got += piece
        return got.hex()

    def _timeout(self, n, option, seconds):
        ms = int((seconds or 0) * 1000)
        self.sockets[n].setsockopt(socket.SOL_SOCKET, option,
                                   struct.pack('ll', ms // 1000, ms % 1000 * 1000))

    def watch_urgent(self, n):
        """SIGURGs from now on are counted; signals() says how many."""
        def count(*_):
            self.urgent += 1

        self.urgent = 0
        signal.signal(signal.SIGURG, count)
        fcntl.fcntl(self.sockets[n], fcntl.F_SETOWN, os.getpid())

    def signals(self):
        return self.urgent

    def send_urgent(self, n, text):
        return self.sockets[n].send(text.encode(), socket.MSG_OOB)

    def recv_urgent(self, n):
        """The byte, or why there is none."""
        try:
            return self.sockets[n].recv(1, socket.MSG_OOB).decode()
        except OSError as e:
            return e.errno

    def read_meanwhile(self, n, size, flags=socket.MSG_WAITALL, timeout=None):
        """A thread sleeps in recv() until all is there; has_read() waits for it."""
        def read():
            data = scattered(size)
            try:
                self.meanwhile[n] = bytes(data[:self.sockets[n].recv_into(data, size, flags)])
            except OSError as e:
                self.meanwhile[n] = os.strerror(e.errno).encode()

        self.sockets[n].settimeout(None)
        self._timeout(n, socket.SO_RCVTIMEO, timeout)
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        self.readers[n] = thread

    def has_read(self, n, limit=LIMIT):
        self.readers[n].join(limit)
        self.sockets[n].setblocking(False)
        return self.meanwhile.pop(n, b'').hex()

    def send_meanwhile(self, n, size, seed=0, timeout=None, segments=1):
        """A thread sleeps in sendmsg(), sent_meanwhile() tells how it ended."""
        def send():
            data, each = scattered(size), -(-size // segments)
            data[:] = pattern(size, seed)
            try:
                self.meanwhile[n] = self.sockets[n].sendmsg(
                    [data[i:i + each] for i in range(0, size, each)])
            except OSError as e:
                self.meanwhile[n] = -e.errno

        self.sockets[n].setblocking(True)
        self._timeout(n, socket.SO_SNDTIMEO, timeout)
        self.readers[n] = threading.Thread(target=send, daemon=True)
        self.readers[n].start()

    def sent_meanwhile(self, n, limit=LIMIT):
        """Bytes, or an errno below 0; None if it sleeps on."""
        self.readers[n].join(limit)
        if self.readers[n].is_alive():
            return None
        self.sockets[n].setblocking(False)
        return self.meanwhile.pop(n)

    def send_by_child(self, n, size, seed=0):
        """The same by a process of its own: its number."""
        data = scattered(size)
        data[:] = pattern(size, seed)
        self.sockets[n].setblocking(True)
        pid = os.fork()
        if not pid:
            try:
                self.sockets[n].sendmsg([data])
            finally:
                os._exit(0)
        return pid

    def kill(self, pid, limit):
        """SIGKILL; the seconds until it is gone, or None."""
        start = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        while not os.waitpid(pid, os.WNOHANG)[0]:
            if time.monotonic() > start + limit:
                return None
            time.sleep(0.02)
        return time.monotonic() - start

    def lend(self, n, size, seed=0):
        """MSG_ZEROCOPY, by a call that does not wait; how much."""
        self.sockets[n].setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.lent.append(pattern(size, seed))
        return self.sockets[n].send(self.lent[-1], MSG_ZEROCOPY)

    def told(self, n, limit=LIMIT):
        """The next calls that are told of: from, to, whether copied; or None."""
        end = time.monotonic() + limit
        while True:
            try:
                control = self.sockets[n].recvmsg(0, 200, socket.MSG_ERRQUEUE)[1]
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    return None
                time.sleep(0.005)
        _, origin, _, code, _, first, last = struct.unpack_from('=IBBBBII', control[0][2])
        assert origin == 5              # SO_EE_ORIGIN_ZEROCOPY
        return [first, last, bool(code & 1)]

    def ended(self, n, limit=LIMIT):
        """Wait for the end: "eof", or the errno of a read."""
        self._wait(n, select.POLLIN, limit)
        try:
            return 'eof' if not self.sockets[n].recv(1) else 'data'
        except OSError as e:
            return e.errno

    def poll(self, n, limit=0):
        p = select.poll()
        p.register(self.sockets[n], select.POLLIN | select.POLLOUT | select.POLLPRI |
                   select.POLLRDHUP)
        got = p.poll(limit * 1000)
        return got[0][1] if got else 0

    def hung_up(self, n, limit=LIMIT):
        return self._wait(n, 0, limit) & (select.POLLERR | select.POLLHUP) != 0

    def option(self, n, level, name, value):
        self.sockets[n].setsockopt(level, name, value)

    def shutdown(self, n, how=1):
        self.sockets[n].shutdown(how)

    def close(self, n, linger=None):
        s = self.sockets.pop(n)
        if linger is not None:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, linger))
        s.close()

    def close_all(self):
        for n in list(self.sockets):
            self.close(n, 0)

    def counters(self):
        with open('/proc/net/sdpstat') as f:
            return {w[0]: int(w[1]) for w in (line.split(None, 2) for line in f)}

    def sysctl(self, name, value):
        path = f'/proc/sys/net/sdp/{name}'
        with open(path) as f:
            was = f.read().strip()
        with open(path, 'w') as f:
            f.write(str(value))
        return was

    def connections(self):
        """All that the module has, those without a socket too: state, both
        ports, the peer's address (v4-mapped)."""
        return [[b[1], *struct.unpack_from('>HH', b, 4),
                 socket.inet_ntop(socket.AF_INET6, b[24:40])] for b in diag()]

    def without_socket(self):
        """SDP_INFO of the connections that have none: not accepted yet, or closed."""
        return [read_info(b[64:]) for b in diag()
                if b[1] < 254 and not struct.unpack_from('=Q', b, 48)[0]]

    def remembered(self):
        """How many destinations, and connections by TCP."""
        with open('/proc/net/sdp_peers') as f:
            peers = len(f.readlines())
        return [peers, len(list(diag(1)))]

    def hog(self, ms):
        """Be all that this processor does for so long, but for what interrupts it: packets
        arrive, and wait.  Return: how many processors there are."""
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        end = time.monotonic() + ms / 1000
        while time.monotonic() < end:
            pass
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        return len(os.sched_getaffinity(0))

    def bystander(self, address):
        """A connection to the echo server of another host; its number."""
        n = self.connect(address, ECHO_PORT)
        got = self.connected(n)
        if got:
            raise OSError(got, 'bystander')
        return n

    def echo(self, n, size=3000):
        data = pattern(size, 7)
        self.sockets[n].sendall(data)
        return self.recv(n, size) == data.hex()


def obey(agent, line):
    """The line names a method and its arguments: what that returns, or errno, is printed."""
    name, args = json.loads(line)
    try:
        value = getattr(agent, name)(*args)
    except OSError as e:
        value = {'errno': e.errno}
    print(json.dumps(value), flush=True)


def agent():
    a = Agent()
    for line in sys.stdin:
        obey(a, line)


class Remote:
    """An agent on another host; its methods are ours."""

    def __init__(self, host, *program):
        program = program or (os.path.realpath(__file__), 'agent')
        self.process = subprocess.Popen(
            ['on', host, sys.executable, *program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __getattr__(self, name):
        def call(*args):
            self.process.stdin.write(json.dumps([name, args]) + '\n')
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f'the agent ended in {name}{args}')
            value = json.loads(line)
            if isinstance(value, dict) and list(value) == ['errno']:
                raise OSError(value['errno'], f'{name}{args}: {os.strerror(value["errno"])}')
            return value
        return call


def echo():
    def serve(s):
        try:
            while True:
                data = s.recv(65536)
                if not data:
                    break
                s.sendall(data)
        except OSError:
            pass
        s.close()

    for v6 in FAMILIES:
        listener = new(v6)
        if v6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(('::' if v6 else '', ECHO_PORT))
        listener.listen(8)

        def loop(listener=listener):
            while True:
                s, _ = listener.accept()
                threading.Thread(target=serve, args=(s,), daemon=True).start()
        threading.Thread(target=loop, daemon=True).start()
    print('ready', flush=True)
    threading.Event().wait()


if __name__ == '__main__':
    {'agent': agent, 'echo': echo}[sys.argv[1]]()
