# SPDX-License-Identifier: GPL-2.0
"""What in a guest's kernel log fails a run."""
import os
import re
import subprocess

ALLOWED = re.compile(
    r'module verification failed|out-of-tree module taints|eth0 speed is unknown|'
    r'DMA-API: (preallocated|debugging enabled)|mtrr: your CPUs had inconsistent')

HIT = re.compile(
    r'BUG:|WARNING:|Oops|UBSAN:|KASAN|circular|inconsistent|unreferenced|refcount_t|'
    r'ODEBUG|hung|leaked|DMA-API|Attempt to release|fasync list not empty|'
    r'unregister_netdevice: waiting|cm.*timed out|queue full|Kernel panic|'
    r'Out of memory|general protection fault')

# Defects of soft-RoCE that are there without our module: what the report begins
# with, and what must be in its back trace.
KNOWN = (
    # ib_mad destroys QP1 while its completion queue still works: who is in the
    # middle of a datagram then posts its buffer again.  selftests/device/softroce.sh
    # shows that a device is not safe from datagrams while it goes.
    (re.compile(r'WARNING: .* rxe_post_recv\+'), re.compile(r' ib_mad_recv_done\+')),
)

# A defect of ib_cm in Linux 7: how long the end of an id is waited for follows from the
# id's own time-outs, and one that listens has none.  selftests/device/cm_listen.py shows it
# without our module.  Up to 6.12 the same line says that ten seconds were over.
ALLOWED_IN_7 = re.compile(r'cm_destroy_id_wait_timeout: .* state 1 -> 0,')

CONTEXT = 25    # lines shown from a hit on: most reports are a back trace


def known(lines):
    return any(head.search(lines[0]) and any(trace.search(line) for line in lines[1:])
               for head, trace in KNOWN)


def is_linux_7(guest):
    try:
        with open(f'{guest}/boot', errors='replace') as f:
            return 'Linux version 7.' in f.read()
    except FileNotFoundError:
        return False


def hits(path, size=-1):
    """The lines in the first size bytes of a log that fail a run, and what follows each."""
    try:
        with open(path, 'rb') as f:
            lines = f.read(size).decode(errors='replace').splitlines()
    except FileNotFoundError:
        return []
    found, end = [], 0
    seven = is_linux_7(os.path.dirname(path))
    for i, line in enumerate(lines):
        if seven and ALLOWED_IN_7.search(line):
            continue
        if HIT.search(line) and not ALLOWED.search(line) and not known(lines[i:i + 2 * CONTEXT]):
            found += lines[max(i, end):i + CONTEXT]
            end = i + CONTEXT
    return found


def tail(path, n=40):
    try:
        with open(path, errors='replace') as f:
            return f.read().splitlines()[-n:]
    except FileNotFoundError:
        return []


def name_addresses(lines, module, text):
    """Back traces printed after the module is gone hold its bare addresses: name them.

    text is where the module's .text was."""
    def name(match):
        address = int(match[1], 16)
        p = subprocess.run(['addr2line', '-fse', module, '-j', '.text', hex(address - text)],
                           capture_output=True, text=True, check=False)
        found = p.stdout.split()
        if address < text or p.returncode or len(found) < 2 or found[0] == '??':
            return match[0]
        return f'{match[0]} {found[0]} ({found[1]})'

    return [re.sub(r'^\s+(0x[0-9a-f]{6,})$', name, line) for line in lines]
