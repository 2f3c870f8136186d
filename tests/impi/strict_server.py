#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An IMPI server as strict as the reference server of 2000: it knows the labels of IMPI 0.0 and drops all others,
drops what comes for a label that was sent to all, and drops what a client that is DONE had contributed to labels
which were not.

usage: strict_server.py CLIENTS [KEY]     prints its address; ends with 0 when all clients have said FINI
"""
import selectors
import socket
import struct
import sys

LABELS = (0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x2000, 0x2100, 0x2200, 0x2300, 0x2400, 0x3000,
          0x3100)
AUTH, IMPI, COLL, DONE, FINI = (int.from_bytes(w, "big") for w in (b"AUTH", b"IMPI", b"COLL", b"DONE", b"FINI"))


def read(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise EOFError(f"end of stream after {len(data)} of {n} bytes")
        data += more
    return data


def command(sock):
    cmd, length = struct.unpack(">Ii", read(sock, 8))
    return cmd, read(sock, length)


class Server:
    def __init__(self, size, key):
        self.size, self.key = size, key
        self.clients = {}                    # rank: socket
        self.parts = {}                      # rank: {label: bytes}
        self.progress = {}                   # rank: last label
        self.done, self.finished = set(), set()
        self.sent = 0

    def join(self, sock):
        """Authenticate a caller; a wrong key or rank closes the connection, as there is no other answer."""
        cmd, body = command(sock)
        mask = int.from_bytes(body, "big")
        method = 1 if self.key is not None else 0
        if cmd != AUTH or not mask >> method & 1:
            return sock.close()
        sock.sendall(struct.pack(">II", method, 0))
        if method == 1 and read(sock, 8) != struct.pack(">Q", self.key):
            return sock.close()
        cmd, body = command(sock)
        rank = int.from_bytes(body, "big")
        sock.sendall(struct.pack(">III", IMPI, 4, self.size))
        if cmd != IMPI or rank >= self.size or rank in self.clients:
            return sock.close()
        self.clients[rank], self.parts[rank], self.progress[rank] = sock, {}, 0
        return None

    def broadcast(self):
        """Labels below which nobody can send anything any more go to all, in order."""
        if len(self.clients) < self.size:
            return
        horizon = min((self.progress[r] for r in self.clients if r not in self.done), default=1 << 32)
        for label in LABELS:
            if self.sent < label <= horizon:
                mask, data = 0, b""
                for rank in sorted(self.clients):
                    if rank not in self.done and label in self.parts[rank]:
                        mask |= 1 << rank
                        data += self.parts[rank][label]
                for sock in self.clients.values():
                    sock.sendall(struct.pack(">IIII", COLL, 8 + len(data), label, mask) + data)
                self.sent = label
        if len(self.done) == self.size:
            for sock in self.clients.values():
                sock.sendall(struct.pack(">II", DONE, 0))

    def hear(self, rank):
        cmd, body = command(self.clients[rank])
        if cmd == COLL:
            label = int.from_bytes(body[:4], "big")
            if label in LABELS and label > self.progress[rank] and label > self.sent and rank not in self.done:
                self.parts[rank][label] = body[4:]
                self.progress[rank] = label
                self.broadcast()
        elif cmd == DONE and rank not in self.done:
            self.done.add(rank)
            self.broadcast()
        elif cmd == FINI:
            self.finished.add(rank)

    def run(self):
        with socket.create_server(("127.0.0.1", 0)) as port, selectors.DefaultSelector() as selector:
            print(f"127.0.0.1:{port.getsockname()[1]}", flush=True)
            while len(self.clients) < self.size:
                self.join(port.accept()[0])
            for rank, sock in self.clients.items():
                selector.register(sock, selectors.EVENT_READ, rank)
            self.broadcast()
            while len(self.finished) < self.size:
                for event, _ in selector.select():
                    self.hear(event.data)
                    if event.data in self.finished:
                        selector.unregister(event.fileobj)


if __name__ == "__main__":
    Server(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None).run()
