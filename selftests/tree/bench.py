#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The verdicts of scripts/bench-tables on the path inside one host: selftests/tree/bench.py.

Figures are made up so that each aim of LOCAL_AIMS is met, or stands where it is known to
stand; then one at a time is moved beyond, and the run is to fail and to name it: one that
was met and is missed, one that is worse than it stood at, and one that reaches its aim and is
still said to miss it.  A record that nobody strikes would hold nothing.

A line for each thing that is wrong; then it ends with 1."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TABLES = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../../scripts/bench-tables')
bad = []


def load():
    loader = importlib.machinery.SourceFileLoader('bench_tables', TABLES)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('bench_tables', loader))
    loader.exec_module(module)
    return module


tables = load()
UNIT = 'thousand instructions'
IDLE = 'KiB, client: kernel, program, sum'


def aims():
    """(shape, size, peer) and (at most, stood at) of each."""
    return {(shape, n, peer): (most, stood.get(n))
            for _, shape, sizes, peer, most, stood in tables.LOCAL_AIMS for n in sizes}


def figures(directory, moved=None, lent=80.0, idle=5.0, without=None):
    """Of two boots.  moved: an aim, and the ratio that it is to have instead."""
    wanted = {key: most * 0.98 if stood is None else stood for key, (most, stood) in aims().items()}
    wanted.update(moved or {})
    lines = {}
    shapes = [('ping', n) for n in tables.PINGS[:-1]] + [('ping-epoll', n) for n in tables.PINGS[:3]]
    shapes += [('rate', n) for n in tables.MESSAGES] + [('stream', n) for n in tables.WRITES]
    shapes += [('stream-nonblock', tables.WRITES[-1]), ('connect', 0)]
    for shape, n in shapes:
        lines[shape, n, 'local'] = 1000.0
        for peer in ('unix', 'tcp'):
            lines[shape, n, peer] = 1000.0 / wanted.get((shape, n, peer), 0.5)
    for n in tables.WRITES:
        lines['lent', n, 'local'] = lent
    lines.pop(without, None)
    for name in ('local-1', 'local-2'):
        with open(f'{directory}/{name}.txt', 'w') as f:
            f.write('#\t2026-01-01\tabc\n')
            for (shape, n, over), value in lines.items():
                f.write(f'@\t{shape}\t{n}\t{over}\t{UNIT}\t{value}\n')
    with open(f'{directory}/idle-local.txt', 'w') as f:
        f.write('#\t2026-01-01\tabc\n')
        for over, kib in (('tcp', 10.0), ('unix', 4.0), ('local', 10.0 + idle)):
            f.write(f'@\tidle\t1000\t{over}\t{IDLE}\t{kib}\t1.0\t{kib + 1}\n')


def verdict(**what):
    """What is missed, what is missing."""
    with tempfile.TemporaryDirectory() as d:
        figures(d, **what)
        tables.missed.clear()
        tables.missing.clear()
        tables.local_results(d, d, '6.1')
        return list(tables.missed), list(tables.missing)


def expect(what, missed, **figures_of):
    found, lacking = verdict(**figures_of)
    if len(found) != missed or lacking:
        bad.append(f'{what}: {missed} expected, missed: {found}, missing: {lacking}')


def status(**what):
    """The program's own, and what it says."""
    with tempfile.TemporaryDirectory() as d:
        figures(d, **what)
        run = subprocess.run([TABLES, d, d, '6.1'], capture_output=True, text=True)
        return run.returncode, run.stderr


with contextlib.redirect_stdout(io.StringIO()):
    expect('all as it is known', 0)
    for key, (most, stood) in aims().items():
        name = ' '.join(map(str, key))
        if stood is None:
            expect(f'{name} is missed', 1, moved={key: most * 1.03})
        else:
            if round(stood, 2) <= most:
                bad.append(f'{name}: it stood at {stood}, which is no miss of {most}')
            expect(f'{name} is worse than it stood', 1, moved={key: stood * 1.05})
            expect(f'{name} is better, and missed', 0, moved={key: (stood + most) / 2})
            expect(f'{name} is reached, and said to be missed', 1, moved={key: most * 0.97})
    expect('too little is lent', 1, lent=tables.LOCAL_LENT - 1.0)
    if tables.LOCAL_IDLE_STOOD is None:
        expect('an idle pair is too large', 1, idle=tables.LOCAL_IDLE + 0.1)
    if not verdict(without=('stream', 1 << 20, 'unix'))[1]:
        bad.append('a figure is not there, and is not missing')
for what, want in (({}, 0), ({'lent': 1.0}, 1)):
    code, text = status(**what)
    if code != want or (want and 'aims missed' not in text):
        bad.append(f'bench-tables ended with {code}, and not {want}: {text}')
print('\n'.join(bad), end='\n' if bad else '')
sys.exit(bool(bad))
