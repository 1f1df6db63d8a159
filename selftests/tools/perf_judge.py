#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What sdp_perf has printed is whole, and can be true; no figure is judged by its size.

    perf_judge.py json|csv FILE MODE TRANSPORTS SIZES [FIGURE...]

MODE is latency, bw or connections.  TRANSPORTS and SIZES, with commas, are all that there
must be, each with each.  Only the FIGUREs named may be left out; all others are above 0.
"""
import csv
import datetime
import json
import os
import sys

FIGURES = {
    'latency': 'median_us p99_us p99_9_us min_us samples',
    'bw': 'mib_s mib_s_min mib_s_max messages_s pe_host pe_process send_us send_p99_us '
          'compute_share',
    'connections': 'connections_s connections_s_min connections_s_max connection_us '
                   'connection_p99_us pe_host pe_process',
}
# The kernel tells the processor's time in steps: User-Mode Linux that of processes too.
STEPS = ('pe_host', 'pe_process')
RISES = (('min_us', 'median_us', 'p99_us', 'p99_9_us'), ('mib_s_min', 'mib_s', 'mib_s_max'),
         ('connections_s_min', 'connections_s', 'connections_s_max'),
         ('connection_us', 'connection_p99_us'), ('send_us', 'send_p99_us'))
MACHINE = ('host', 'kernel', 'build', 'architecture', 'processors', 'processor', 'af_sdp',
           'rdma', 'net.sdp')


def read_json(path):
    """The records, and what they are about, flat, as CSV has it."""
    with open(path, encoding='utf-8') as f:
        everything = json.load(f)
    assert isinstance(everything['left_out'], list)
    assert isinstance(everything['interrupted'], bool)
    about = {k: everything[k] for k in ('sdp_perf', 'measured', 'date')}
    for k in ('parameters', 'client', 'server', 'carried_by'):
        about.update({f'{k}.{x}': v for x, v in everything[k].items()})
    for port in everything['client']['rdma']:
        assert all(port[k] for k in ('port', 'link_layer', 'speed', 'state')), port
    return everything['results'], about


def read_csv(path):
    """The same from CSV, where each line has all."""
    with open(path, encoding='utf-8', newline='') as f:
        rows = list(csv.reader(f))
    names, rows = rows[0], rows[1:]
    assert len(set(names)) == len(names), names
    assert rows and all(len(r) == len(names) for r in rows), [len(r) for r in rows]
    first = names.index('sdp_perf')
    assert all(r[first:] == rows[0][first:] for r in rows), 'lines differ in what they are about'
    records = []
    for r in rows:
        record = dict(zip(names[:first], r[:first]))
        records.append({k: v if k == 'transport' else
                        None if v == '' else float(v) for k, v in record.items()})
    return records, dict(zip(names[first:], rows[0][first:]))


def judge_about(about, mode, transports):
    """Where it was measured is this machine, and nothing is missing."""
    system = os.uname()
    assert about['measured'] == mode, about['measured']
    datetime.datetime.strptime(about['date'], '%Y-%m-%dT%H:%M:%SZ')
    for side in ('client', 'server'):
        for k in MACHINE:
            assert f'{side}.{k}' in about, f'{side}.{k}'
    assert about['client.kernel'] == f'{system.sysname} {system.release}', about['client.kernel']
    assert about['client.host'] == system.nodename, about['client.host']
    assert int(about['client.processors']) == os.cpu_count(), about['client.processors']
    if os.path.exists('/sys/module/af_sdp/srcversion'):
        with open('/sys/module/af_sdp/srcversion', encoding='ascii') as f:
            assert f.read().strip() in about['client.af_sdp'], about['client.af_sdp']
        assert 'zcopy_thresh=' in about['client.net.sdp'], about['client.net.sdp']
    for k in ('host', 'wait', 'repeat'):
        assert str(about[f'parameters.{k}']), k
    assert {k for k in about if k.startswith('carried_by.')} == \
        {f'carried_by.{t}' for t in transports}, about


def judge_record(record, mode, may_lack):
    """All figures are there, and in the order that they must have."""
    assert set(record) == {'transport', 'size'} | set(FIGURES[mode].split()), record
    for name in FIGURES[mode].split():
        value = record[name]
        assert value is None and name in may_lack or value is not None and value > 0, \
            f'{name} is {value}: {record}'
    for names in RISES:
        values = [record[n] for n in names if record.get(n) is not None]
        assert values == sorted(values), f'{names}: {record}'


def main():
    """The assertion that fails tells what is wrong."""
    form, path, mode, transports, sizes = sys.argv[1:6]
    may_lack = STEPS + tuple(sys.argv[6:])
    transports, sizes = transports.split(','), [int(s) for s in sizes.split(',')]
    records, about = read_json(path) if form == 'json' else read_csv(path)
    judge_about(about, mode, transports)
    assert sorted((r['transport'], int(r['size'])) for r in records) == \
        sorted((t, s) for t in transports for s in sizes), records
    for record in records:
        judge_record(record, mode, may_lack)


main()
