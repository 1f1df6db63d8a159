#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each place where the module calls for memory, and a fault at each.

    sites.py [CASE...]    run in a guest whose kernel injects faults (uml-debug);
                                of the cases only these; KTAP
    sites.py --list [KO]  the places

A place is a call instruction of the module's code, as objdump shows it, of a function
of the kernel whose name matches ALLOCATES: the allocators themselves, and those that
make an object (a queue pair, a message of the CM, a route, a socket, an entry) of
memory of their own and tell their caller when they have none.  Not counted is what is
called through a pointer, as the operations that TCP's own sockets have, and what has
no way to say that it failed.  The code is optimized: a line of the source that the
compiler has put in twice is two places.

sdp_fault then sweeps over these places (SDP_FAULT_SITES, see sites.c) in the
course of its cases, until each was struck: a fault fell where that very call was on the
stack.  What comes of it the case looks at: an error that TCP has too, or none, every
byte, and whether the next connection works.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
from variants import VARIANTS  # noqa: E402

ALLOCATES = re.compile(
    r'alloc|get_free_page|create|_insert|xa_store|frag_refill|'
    r'register_(pernet|net_sysctl|client)|rhashtable_init|'
    r'ib_send_cm_|rdma_resolve_|'
    r'ip_route_output|dst_lookup|stream_connect|netlink_dump_start|splice_read|^pin_user')
# Matches too, and allocates nothing; or (ref_tracker) is the kernel's own debugging.
# An MRA is only prepared: the CM makes the message if the REP comes again.
NOT = re.compile(r'^(__asan_|unpin_|unregister_|ib_unregister_|is_vmalloc|ref_tracker)|'
                 r'dealloc|^kmalloc_caches$|^ib_send_cm_mra$|^rb_insert_')

# What faults of whole pages reach, and those of the slab allocator do not.
PAGES = {'__alloc_pages_noprof', 'get_free_pages_noprof', 'skb_page_frag_refill', 'pin_user_pages_fast'}
# These ask again, for less or in another way: so many faults, and they have failed.
TIMES = {'skb_page_frag_refill': 2, '__kvmalloc_node_noprof': 2,
         '__xa_store': 2, 'xa_store': 2, '__xa_alloc': 2, '__xa_insert': 2}

# Which of two messages comes first is by chance: once more, until both did.
AGAIN = ('ulp-v4', 'life_one_slab', r'ib_send_cm_dre')

# The variant, the cases, and which places they are for (a filter only: it saves time).
RUNS = (
    ('ulp-v4', 'life_one_slab', r'.text '),
    AGAIN, AGAIN,
    ('ulp-v4', 'listen_faults', r'listen'),
    ('ulp-v4', 'lend_1m_faults lease_faults take_faults fetch_faults',
     r'sdp_(umem|umr|zsrc|zsrc_async|send|msg|buf)_'),
    ('ulp-v4', 'splice_out_faults', r'splice'),
    ('ulp-v4', 'stamped_faults', r'sdp_recv'),
    ('join-v4', 'accept_faults send_64k_faults stamped_faults', r'sdp_join'),
    ('ulp-v4', 'refused_faults', r'dst_cache_write|confirm|fallback_log|connect|ib_req|find_route'),
    ('ulp-v4', 'probe_faults', r'sidr'),
    ('family-v4', 'diag_faults', r'diag'),
    ('family-v4', 'device_add_faults', r'sdp_(dev|cq|mr)_'),
    ('ulp-v6', 'refused_faults', r'ip6_dst'),
    ('proto-v4', 'netns_faults load_faults', r'_enter:|_init:|_ops:'),
)
assert {r[0] for r in RUNS} <= set(VARIANTS), VARIANTS

# Those that nothing here strikes: of how many calls in that function, and why.
OTHER_HOST = 'asked about a request that came from another host'
ROW = 'allocates only for the first of 64 places, if another is not there yet'
EXEMPT = {
    'sdp_net_uncharge: __xa_store': (1, 'puts another value where one is'),
    'sdp_dst_cache_write: rhashtable_insert_slow':
        (1, "allocates only while the kernel's table grows and has a row too long"),
    'sdp_dst_cache_write: rht_bucket_nested_insert':
        (1, 'of a table that the kernel had no memory to make larger in one piece'),
    'sdp_dst_cache_write: __xa_alloc': (1, ROW),
    'sdp_fallback_log_add: xa_store': (2, ROW),
    'sdp_listen: __xa_alloc': (1, ROW),
    'sdp_conn_alloc: __xa_alloc': (1, ROW),
    'sdp_join_show: __xa_alloc': (1, ROW),
    'sdp_connect: __inet_stream_connect':
        (1, 'asked about an attempt that has failed: it tells the error, and connects nothing'),
    'sdp_join_buf: get_free_pages_noprof':
        (3, 'asked whether the cgroup is full, or for less, where another has failed'),
    'sdp_ib_check_behind: ip_route_output_flow': (1, OTHER_HOST),
    'sdp_ib_check_behind: ip6_dst_lookup_flow': (1, OTHER_HOST),
    'sdp_ib_req: ib_send_cm_rej':
        (3, 'what no peer of ours sends (wire/wire.sh does); nobody looks at what it returns, as '
            'the CM rejects too when the request is given up'),
}

MODULE = os.environ.get('SDP_MODULE', '/run/rig/modules/af_sdp.ko')


class Site:
    def __init__(self, section, offset, function, callee):
        self.section, self.offset = section, offset
        # The compiler's copies are the same function.
        self.kind = f'{function.split(".")[0]}: {callee}'
        self.name = self.kind
        self.pages = callee in PAGES
        self.times = TIMES.get(callee, 1)

    def line(self):
        kind = 'fail_page_alloc' if self.pages else 'failslab'
        return f'{self.section} {self.offset:#x} {kind} {self.times}\n'


CALLER_SAVED = ('rax', 'rcx', 'rdx', 'rsi', 'rdi', 'r8', 'r9', 'r10', 'r11')


def calls(module):
    """(section, offset it returns to, function, called symbol) of each call of a symbol.

    The code is compiled for addresses of any size: a register is loaded with a
    symbol's, and called then, or again."""
    dump = subprocess.run(['objdump', '-dr', '--no-show-raw-insn', module],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    section = function = target = loaded = None
    holds = {}
    for line in dump.splitlines():
        if m := re.match(r'Disassembly of section (\S+):', line):
            section = m[1]
        elif m := re.match(r'[0-9a-f]+ <(.*)>:', line):
            function, holds, target = m[1], {}, None
        elif m := re.match(r'\s+[0-9a-f]+: R_X86_64_(\w+)\s+([\w.]+)', line):
            if m[1] == '64' and loaded:
                holds[loaded] = m[2]
            elif m[1] in ('PLT32', 'PC32') and target == '':
                target = m[2]
        elif m := re.match(r'\s+([0-9a-f]+):\t(\S+)\s*(.*)', line):
            offset, op, args = int(m[1], 16), m[2], m[3]
            if target:
                yield section, offset, function, target
            target = loaded = None
            register = re.search(r'%(\w+)$', args)
            if op == 'call':
                # Of a name: its relocation follows.
                target = holds.get(register[1]) if register else ''
                for r in CALLER_SAVED:
                    holds.pop(r, None)
            elif op == 'jmp' and register and register[1] in holds:
                yield section, None, function, holds[register[1]]
            elif op == 'movabs' and args.startswith('$0x0,'):
                loaded = register[1]
                holds.pop(loaded, None)
            elif register and op not in ('cmp', 'test', 'push'):
                holds.pop(register[1], None)


def find_sites(module):
    undefined = subprocess.run(['nm', '-u', module], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split()
    wanted = {s for s in undefined if ALLOCATES.search(s) and not NOT.search(s)}
    sites, found, tails = [], set(), []
    for section, offset, function, callee in calls(module):
        if callee not in wanted:
            continue
        found.add(callee)
        if offset is None:
            tails.append(f'{function}: {callee}')
        else:
            sites.append(Site(section, offset, function, callee))
    if wanted - found:
        raise SystemExit(f'Bail out! no call of {", ".join(sorted(wanted - found))} found')
    if tails:
        raise SystemExit(f'Bail out! nothing returns to {", ".join(tails)}')
    # Of several in one function: their order in the code.
    for kind in {s.kind for s in sites}:
        same = [s for s in sites if s.kind == kind]
        for i, site in enumerate(same):
            site.name += f' ({i + 1} of {len(same)})' if len(same) > 1 else ''
    return sites


def run(variant, cases, sites):
    """The sites that the cases have struck; their results are printed."""
    with tempfile.NamedTemporaryFile('w', suffix='.sites') as f:
        f.writelines(s.line() for s in sites)
        f.flush()
        argv = [f'{HERE}/fault.sh', '-v', variant]
        for c in cases:
            argv += ['-t', c]
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True,
                             env={**os.environ, 'SDP_FAULT_SITES': f.name})
        struck, told = set(), []
        for line in p.stdout:
            if m := re.match(r'# struck: (\d+)$', line):
                site = sites[int(m[1]) - 1]
                struck.add(site)
                told.append(site.name)
                continue
            if m := re.match(r'(?:not )?ok \d+ - (\S+)', line):
                for name in told:
                    print(f'# {m[1]} struck {name}')
                told = []
            print(line, end='', flush=True)
    return struck, p.wait() == 0


def main():
    args = sys.argv[1:]
    if args[:1] == ['--list']:
        for s in find_sites(args[1] if args[1:] else MODULE):
            print(f'{s.section} {s.offset:#x} {s.name}')
        return 0
    sites = find_sites(MODULE)
    pending, good = sites, True
    for variant, cases, places in RUNS:
        cases = [c for c in cases.split() if not args or c in args]
        chosen = [s for s in pending if re.search(places, f'{s.section} {s.name}')]
        if chosen and cases:
            struck, well = run(variant, cases, chosen)
            pending = [s for s in pending if s not in struck]
            good = good and well
    return 0 if verdict(sites, pending) and good else 1


def verdict(sites, pending):
    """A result for each place, and for each exemption that is none any more."""
    results, left_out = [], 0
    for kind in dict.fromkeys(s.kind for s in sites):
        same = [s for s in sites if s.kind == kind]
        missed = [s for s in same if s in pending]
        most, why = EXEMPT.get(kind, (0, ''))
        if 0 < len(missed) <= most:
            print(f'# left out: {len(missed)} of {len(same)}, {kind}: {why}')
            left_out += len(missed)
            same = [s for s in same if s not in missed]
        results += [(s not in pending, f'fault at {s.name}') for s in same]
    results += [(False, f'exempt but not there: {kind}')
                for kind in EXEMPT.keys() - {s.kind for s in sites}]
    print(f'TAP version 13\n1..{len(results)}')
    for i, (ok, text) in enumerate(results):
        print(f'{"ok" if ok else "not ok"} {i + 1} - {text}')
    print(f'# {len(sites)} places, {len(sites) - len(pending)} struck, {left_out} left out, '
          f'{len(pending) - left_out} missed', flush=True)
    return all(ok for ok, _ in results)


if __name__ == '__main__':
    sys.exit(main())
