# SPDX-License-Identifier: GPL-2.0
"""The ways in which mutate.py mutates a message, or several."""
import struct

import peer as wire
import sdp_decode as sdp
from mutate_model import MASK
from sockets import pattern

EDGES = [0, 1, 2, 3, 15, 16, 17, 20, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
         1 << 31, (1 << 31) - 1, MASK, MASK - 1, 1 << 63, (1 << 64) - 1]
HEAD = ((0, 1), (1, 1), (2, 2), (4, 4), (8, 4), (12, 4))


def fields(raw, private=False):
    """(offset, size) of each, by the message identifier."""
    out = list(HEAD)
    if len(raw) < 16:
        return [f for f in out if f[0] + f[1] <= len(raw)]
    if private or raw[0] > sdp.HELLO_ACK:
        at = 16
        for spec in sdp._specs(sdp.EXT.get(raw[0], ((), '>'))[1]):
            size = struct.calcsize('>' + spec)
            if size <= 8:
                out.append((at, size))
            at += size
    return [f for f in out if f[0] + f[1] <= len(raw)]


def put(raw, at, size, value):
    return raw[:at] + (value & ((1 << 8 * size) - 1)).to_bytes(size, 'big') + raw[at + size:]


def flip(r, raw, end):
    for _ in range(r.choice((1, 1, 1, 2, 4))):
        if not raw:
            break
        bit = r.randrange(8 * min(len(raw), end))
        raw = put(raw, bit // 8, 1, raw[bit // 8] ^ 1 << bit % 8)
    return raw


def edge(r, raw, private=False):
    if not raw:
        return b'\0'
    at, size = r.choice(fields(raw, private))
    now = int.from_bytes(raw[at:at + size], 'big')
    return put(raw, at, size, r.choice(EDGES + [now + 1, now - 1, now ^ 1 << 8 * size - 1] * 3))


BOUNDS = {'0': lambda now, most: 0, '1': lambda now, most: 1,
          'most - 1': lambda now, most: most - 1, 'most': lambda now, most: most,
          'valid - 1': lambda now, most: now - 1, 'valid + 1': lambda now, most: now + 1}


def bounds(messages, private=False):
    """Every field of these at each of its bounds: (identifier, where, size, which)"""
    return [(raw[0], at, size, which) for raw in messages for at, size in fields(raw, private)
            for which in BOUNDS]


def at_bound(raw, at, size, which):
    now = int.from_bytes(raw[at:at + size], 'big')
    return put(raw, at, size, BOUNDS[which](now, (1 << 8 * size) - 1))


def cut(r, raw):
    return raw[:r.choice((r.randrange(len(raw)), r.randrange(min(len(raw), 40)),
                          len(raw) - 1))] if raw else raw


def lengthen(r, raw):
    # Rarely more than the buffer holds: then it is the device that says no.
    n = r.choice((1, 4, 16, r.randrange(1, 200)) * 8 + (wire.RCVSZ,))
    return raw + pattern(n, 5)


def splice(r, raw, other):
    a, b = r.choice((16, 16, r.randrange(len(raw) + 1))), r.choice((16, r.randrange(len(other) + 1)))
    return raw[:a] + other[b:]


def alien(r, raw, other):
    """The identifier of another, or one that nobody has."""
    return put(raw, 0, 1, r.choice((other[0], r.randrange(256), r.choice((
        0x00, 0x01, 0x0f, 0x3f, 0x40, 0x7f, 0x80, 0xfc)))))


ONE = [(6, 'bits', lambda r, raw, other: flip(r, raw, 36)),
       (1, 'payload', lambda r, raw, other: flip(r, raw, 1 << 16)),
       (8, 'bound', lambda r, raw, other: edge(r, raw)),
       (2, 'cut', lambda r, raw, other: cut(r, raw)),
       (2, 'lengthened', lambda r, raw, other: lengthen(r, raw)),
       (3, 'spliced', splice), (2, 'identifier', alien)]
MORE = [(2, 'twice'), (2, 'swapped'), (1, 'lengths swapped'), (1, 'left out'), (1, 'pushed in'),
        (2, 'starved')]
KINDS = [w for w, *_ in ONE] + [w for w, *_ in MORE]
