#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A defect of ib_cm in Linux 7.2, without our module: a listener that goes while a
request for it is looked at is given no time at all.  cm_destroy_id() waits for as long
as the id's own exchange may take, which is nothing for an id that listens, and says
"cm_destroy_id_wait_timeout ... state 1" once a tick until the request is through.  That
is all that happens: it is why scripts/rig/logcheck.py knows that line.  rsockets do it,
within one or two minutes on a debug kernel; no part of any check:

    scripts/vm --kernel uml-smp --hosts 1 -- selftests/device/cm_listen.py [SECONDS]

Ends with 0 when the line has come."""
import ctypes
import itertools
import os
import random
import socket
import subprocess
import sys
import time

rdma = ctypes.CDLL('librdmacm.so.1', use_errno=True)
ADDRESS = '10.9.0.1'


def address(port):
    return socket.AF_INET.to_bytes(2, sys.byteorder) + port.to_bytes(2, 'big') + \
        socket.inet_aton(ADDRESS) + bytes(8)


def rsocket():
    fd = rdma.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def comes_and_goes(first):
    for i in itertools.count():
        port = first + i % 500
        listener, client = rsocket(), rsocket()
        rdma.rfcntl(client, 4, os.O_NONBLOCK)   # F_SETFL
        if not rdma.rbind(listener, address(port), 16) and not rdma.rlisten(listener, 4):
            rdma.rconnect(client, address(port), 16)
            time.sleep(random.random() / 100)
        rdma.rclose(listener)
        rdma.rclose(client)


subprocess.run(['rmmod', 'af_sdp'], check=False)
children = []
for n in range(4):
    children.append(os.fork())
    if not children[-1]:
        comes_and_goes(20000 + 1000 * n)
end = time.monotonic() + int(sys.argv[1] if len(sys.argv) > 1 else 120)
found = []
while not found and time.monotonic() < end:
    time.sleep(1)
    log = subprocess.run(['dmesg'], capture_output=True, text=True, check=True).stdout
    found = [line for line in log.splitlines()
             if 'cm_destroy_id_wait_timeout' in line and 'state 1 -> 0,' in line]
for pid in children:
    os.kill(pid, 9)
print(*found or ['it did not come'], sep='\n')
sys.exit(not found)
