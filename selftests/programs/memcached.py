# SPDX-License-Identifier: GPL-2.0
"""memcached.py HOST PORT CLIENTS ROUNDS: concurrent clients of a memcached; each
value is read back and compared, a counter that all raise is exact.  Prints the
bytes of the values."""
import random
import socket
import sys
import threading

HOST, PORT, CLIENTS, ROUNDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
SIZES = (1, 10, 100, 1000, 1459, 4096, 20000, 65536, 200000)
moved, failures, lock = [], [], threading.Lock()


class Client:
    def __init__(self):
        self.socket = socket.create_connection((HOST, PORT))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile('rb')

    def ask(self, data):
        self.socket.sendall(data)

    def line(self):
        line = self.file.readline()
        assert line.endswith(b'\r\n'), f'the connection ended: {line!r}'
        return line[:-2]

    def expect(self, want):
        line = self.line()
        assert line == want, f'{line!r} instead of {want!r}'

    def values(self):
        """The answer to a get: {key: value}."""
        found = {}
        while (line := self.line()) != b'END':
            word, key, _, size = line.split()[:4]
            assert word == b'VALUE', line
            found[key] = self.file.read(int(size))
            self.expect(b'')
        return found

    def set(self, key, value):
        self.ask(b'set %s 0 0 %d\r\n%s\r\n' % (key, len(value), value))
        self.expect(b'STORED')


def work(n):
    rng = random.Random(n)
    c = Client()
    total = 0
    for i in range(ROUNDS):
        value = rng.randbytes(rng.choice(SIZES))
        key = b'key-%d-%d' % (n, i % 16)
        c.set(key, value)
        # Several at once: the answer is long, and comes in one piece or many.
        small = {b'small-%d-%d' % (n, j): rng.randbytes(50) for j in range(10)}
        c.ask(b''.join(b'set %s 0 0 50\r\n%s\r\n' % kv for kv in small.items()))
        for _ in small:
            c.expect(b'STORED')
        c.ask(b'get %s %s\r\n' % (key, b' '.join(small)))
        assert c.values() == {**small, key: value}, f'round {i}: another value'
        c.ask(b'incr counter 1\r\n')
        c.line()
        total += 2 * (len(value) + 500)
    c.ask(b'quit\r\n')
    assert c.file.read() == b'', 'bytes after quit'
    with lock:
        moved.append(total)


def client(n):
    try:
        work(n)
    except Exception as e:      # all of them: a thread's end is silent
        failures.append(f'client {n}: {e!r}')


first = Client()
first.set(b'counter', b'0')
threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
for t in threads:
    t.start()
for t in threads:
    t.join()
if failures:
    sys.exit('\n'.join(failures[:10]))
first.ask(b'get counter\r\n')
count = int(first.values()[b'counter'])
if count != CLIENTS * ROUNDS:
    sys.exit(f'the counter is {count}, expected {CLIENTS * ROUNDS}')
print(sum(moved))
