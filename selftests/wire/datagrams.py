# SPDX-License-Identifier: GPL-2.0
"""datagrams.py FILE: write datagrams for the QP1 of h1 that its connection
manager has nothing to say to, for device/softroce.sh."""
import os
import struct
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), *up)
                for up in ((), ('..', 'lib'))]
import roce  # noqa: E402
import sdp_decode as sdp  # noqa: E402


class File:
    def __init__(self, socket):
        self.socket, self.file = socket, open(sys.argv[1], 'wb')

    def sendto(self, data, to):
        self.file.write(struct.pack('<I', len(data)) + data)

    def __getattr__(self, name):
        return getattr(self.socket, name)


port = roce.Port('10.9.0.77')
port.socket = File(port.socket)
for i in range(64):
    port.send_mad('10.9.0.1', sdp.DREP, struct.pack('>II', i + 5, i + 77))
port.socket.file.close()
