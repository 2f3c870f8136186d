#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for an address translator:  relay.py PORT HOST:PORT [PORT HOST:PORT]...

Whoever connects to a port of this machine is connected to that of another, until it is killed.
"""
import socket
import sys
import threading


class Relay:
    """Passes bytes on between its port and another, and keeps all it saw."""

    def __init__(self, where, at=("127.0.0.1", 0)):
        host, port = where.rsplit(":", 1)
        self.where, self.seen = (host, int(port)), []
        self.listener = socket.create_server(at)
        self.address = f"{at[0]}:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                a = self.listener.accept()[0]
            except OSError:
                return
            b = socket.create_connection(self.where)
            for x, y in ((a, b), (b, a)):
                threading.Thread(target=self.move, args=(x, y), daemon=True).start()

    def move(self, x, y):
        while True:
            try:
                data = x.recv(65536)
                self.seen.append(data)
                if not data:
                    y.shutdown(socket.SHUT_WR)
                    return
                y.sendall(data)
            except OSError:
                return

    def close(self):
        self.listener.close()


if __name__ == "__main__":
    RELAYS = [Relay(where, ("", int(port))) for port, where in zip(sys.argv[1::2], sys.argv[2::2])]
    print("ready", flush=True)
    threading.Event().wait()
