# SPDX-License-Identifier: GPL-2.0
"""Cases of requests that lie about where they come from, or where they go, in the Hello
and in the REQ alike; imported by wire.py.
"""
import sdp_decode as sdp
from harness import OTHER, PORT, case, until


# What ib_cm does not refuse by itself: its look at the routes is a short one.
@case(('nobody', 'src', '10.9.0.99'), ('another host', 'src', OTHER[4]),
      ('the listener', 'src', '10.9.0.1'), reject_path=1)
def forged_path(t, field, text):
    forged(t, field, text)


@case(('nobody', 'src', 'fd09::99'), ('another host', 'src', OTHER[6]),
      ('the listener', 'src', 'fd09::1'), ('to another host', 'dst', OTHER[6]),
      ('to loopback', 'dst', '::1'),
      ipv=(6,), reject_path=1)
def forged_path6(t, field, text):
    forged(t, field, text)


def forged(t, field, text, port=PORT):
    """The REQ's path agrees with the Hello; only its packet tells the truth.  The answer
    goes to the path."""
    path = {'src': t.peer.address, 'dst': t.host, field: text}
    before = t.remote.counters()['reject_path']
    h = t.peer.hello(t.host, **{field: sdp.address_to_hello(text)})
    t.conns.append(t.peer.request(t.host, port, h, repeat=False,
                                  path=(path['src'], path['dst'])))
    until('it is refused', lambda: t.remote.counters()['reject_path'] == before + 1)


@case(reject_path=1, ipv=(6,))
def forged_path_to_loopback_listener(t):
    """Who listens on ::1 is for this host alone."""
    n = t.remote.listen(PORT + 4, True, 8, '::1')
    t.open.append(n)
    forged(t, 'dst', '::1', PORT + 4)
