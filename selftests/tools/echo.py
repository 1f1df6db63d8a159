#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program that knows nothing of SDP, for preload.sh.

	echo.py server HOST PORT	greets one client and sends back what it sends
	echo.py client HOST PORT	compares what comes back, each byte
"""
import os
import socket
import sys

SIZES = 1, 100, 4096, 70000, 300000


def serve(host, port):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        print('ready', flush=True)
        s, _ = listener.accept()
    # What is sent before accept() could not go by memory: the client waits for this.
    s.sendall(b'hello')
    while data := s.recv(65536):
        s.sendall(data)


def ask(host, port):
    s = socket.create_connection((host, port))
    if s.recv(5, socket.MSG_WAITALL) != b'hello':
        sys.exit('no greeting')
    for n in SIZES:
        data = os.urandom(n)
        s.sendall(data)
        back = s.recv(n, socket.MSG_WAITALL)
        if back != data:
            sys.exit(f'{n} bytes sent, {len(back)} came back, and they are not the same')
    s.shutdown(socket.SHUT_WR)
    if s.recv(1):
        sys.exit('more came back than was sent')


{'server': serve, 'client': ask}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
