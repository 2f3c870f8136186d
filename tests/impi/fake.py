#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A fake IMPI client and host that does what a script says, right or wrong.

usage: fake.py HOST:PORT < script        exit 0: everything came as expected

One command a line, '#' begins a comment, numbers as in Python, bytes as hex with blanks anywhere.
To the server:
  auth MASK [METHOD]    send AUTH; with METHOD also expect that choice
  key N                 send the key
  rank R [SIZE]         send IMPI; with SIZE also expect that answer
  coll LABEL [HEX]      contribute to a label
  get_coll LABEL MASK [HEX]   expect the collated label, skipping labels below it
  done / get_done / fini      DONE, expect DONE (skipping labels), FINI
  cmd NAME LEN [HEX]    any command with any announced length
To a host:
  hello INDEX           the four bytes that name the caller
  packet FIELD=VALUE... [data=HEX]    a packet; fields as in struct packet below
  get_packet FIELD=VALUE... [data=HEX]  expect a packet; only the fields given are compared
Both:
  send HEX / get HEX    bytes as they are
  garbage N [SEED]      N random bytes
  slow SECONDS          from now on every byte goes alone, this far apart; 0 ends it
  sleep SECONDS
  close / reset / get_eof    orderly end, hard end, expect the other side's end
"""
import random
import socket
import struct
import sys
import time

CMD = {"AUTH": 0x41555448, "IMPI": 0x494D5049, "COLL": 0x434F4C4C, "DONE": 0x444F4E45,
       "FINI": 0x46494E49}
TIMEOUT = 15

PACKET = struct.Struct(">II16sQ16sQQQQiiQQQQQ")
FIELDS = ("type", "len", "srchost", "srcpid", "dsthost", "dstpid", "srqid", "drqid", "msglen",
          "lsrank", "tag", "cid", "seqnum", "count", "dtype", "reserved")
TYPES = ("DATA", "DATASYNC", "PROTOACK", "SYNCACK", "CANCEL", "CANCELYES", "CANCELNO", "FINI")


class Unexpected(Exception):
    """The other side did not do what the script expects."""


def address(text):
    host, _, port = text.strip().rpartition(":")
    return host.strip("[]"), int(port)


def check(want, got, what):
    if want != got:
        raise Unexpected(f"{what}: want {want!r}, got {got!r}")


class Fake:
    def __init__(self, where):
        self.sock = socket.create_connection(address(where), timeout=TIMEOUT)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pause = 0.0

    @classmethod
    def over(cls, sock):
        fake = cls.__new__(cls)
        fake.sock, fake.pause = sock, 0.0
        sock.settimeout(TIMEOUT)
        return fake

    # bytes
    def send(self, data):
        if self.pause == 0:
            self.sock.sendall(data)
            return
        for i in range(len(data)):
            self.sock.sendall(data[i:i + 1])
            time.sleep(self.pause)

    def get(self, n):
        data = b""
        while len(data) < n:
            try:
                more = self.sock.recv(n - len(data))
            except (ConnectionError, socket.timeout) as e:
                raise Unexpected(f"after {len(data)} of {n} bytes: {e}") from e
            if not more:
                raise Unexpected(f"end of stream after {len(data)} of {n} bytes")
            data += more
        return data

    def get_eof(self):
        try:
            data = self.sock.recv(1)
        except ConnectionResetError:
            return
        except socket.timeout as e:
            raise Unexpected("the connection is still open") from e
        check(b"", data, "end of stream")

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    # server
    def cmd(self, name, length, data=b""):
        self.send(struct.pack(">Ii", CMD.get(name) or int(name, 0), length) + data)

    def auth(self, mask, method=None):
        self.cmd("AUTH", 4, struct.pack(">I", mask))
        if method is not None:
            check((method, 0), struct.unpack(">Ii", self.get(8)), "method")

    def key(self, n):
        self.send(struct.pack(">Q", n & (2**64 - 1)))

    def rank(self, r, size=None):
        self.cmd("IMPI", 4, struct.pack(">i", r))
        if size is not None:
            check(struct.pack(">Iii", CMD["IMPI"], 4, size), self.get(12), "size")

    def coll(self, label, data=b""):
        self.cmd("COLL", 4 + len(data), struct.pack(">I", label) + data)

    def next_cmd(self):
        cmd, length = struct.unpack(">Ii", self.get(8))
        return cmd, self.get(length)

    def get_coll(self, label, mask, data=None):
        while True:
            cmd, body = self.next_cmd()
            check(CMD["COLL"], cmd, "command")
            got, got_mask = struct.unpack(">II", body[:8])
            if got < label:
                continue
            check((hex(label), hex(mask)), (hex(got), hex(got_mask)), "label and mask")
            if data is not None:
                check(data.hex(), body[8:].hex(), f"label {label:#x}")
            return body[8:]

    def done(self):
        self.cmd("DONE", 0)

    def get_done(self):
        while True:
            cmd, body = self.next_cmd()
            if cmd == CMD["DONE"]:
                check(b"", body, "payload of DONE")
                return
            check(CMD["COLL"], cmd, "command")

    def fini(self):
        self.cmd("FINI", 0)

    def join(self, rank, size, mask=1, method=0, key=None):
        self.auth(mask, method)
        if key is not None:
            self.key(key)
        self.rank(rank, size)

    # host
    def hello(self, index):
        self.send(struct.pack(">I", index))

    def packet(self, **field):
        data = field.pop("data", b"")
        values = dict.fromkeys(FIELDS, 0)
        values["srchost"] = values["dsthost"] = bytes(16)
        values["len"] = values["msglen"] = len(data)
        values.update(field)
        if isinstance(values["type"], str):
            values["type"] = TYPES.index(values["type"])
        self.send(PACKET.pack(*(values[f] for f in FIELDS)) + data)

    def get_packet(self, **want):
        head = dict(zip(FIELDS, PACKET.unpack(self.get(PACKET.size))))
        head["data"] = self.get(head["len"]) if head["type"] <= 1 else b""
        head["type"] = TYPES[head["type"]]
        for f, v in want.items():
            check(v, head[f], f"{f} of {head['type']}")
        return head

    # script
    def run(self, text):
        for number, line in enumerate(text.splitlines(), 1):
            word = line.split("#")[0].split()
            if not word:
                continue
            try:
                self.step(word[0], word[1:])
            except Unexpected as e:
                raise Unexpected(f"line {number}: {line.strip()}: {e}") from e

    def step(self, op, arg):
        def num(i, default=None):
            return int(arg[i], 0) if len(arg) > i else default

        def raw(i):
            return bytes.fromhex("".join(arg[i:]))

        if op == "auth":
            self.auth(num(0), num(1))
        elif op == "key":
            self.key(num(0))
        elif op == "rank":
            self.rank(num(0), num(1))
        elif op == "coll":
            self.coll(num(0), raw(1))
        elif op == "get_coll":
            self.get_coll(num(0), num(1), raw(2) if len(arg) > 2 else None)
        elif op == "cmd":
            self.cmd(arg[0], num(1), raw(2))
        elif op == "hello":
            self.hello(num(0))
        elif op in ("packet", "get_packet"):
            getattr(self, op)(**{k: self.value(k, v) for k, v in (a.split("=") for a in arg)})
        elif op == "send":
            self.send(raw(0))
        elif op == "get":
            check(raw(0).hex(), self.get(len(raw(0))).hex(), "bytes")
        elif op == "garbage":
            self.send(random.Random(num(1, 0)).randbytes(num(0)))
        elif op == "slow":
            self.pause = float(arg[0])
        elif op == "sleep":
            time.sleep(float(arg[0]))
        elif op in ("done", "get_done", "fini", "close", "reset", "get_eof"):
            getattr(self, op)()
        else:
            raise SystemExit(f"fake.py: no such command: {op}")

    @staticmethod
    def value(field, text):
        if field in ("data", "srchost", "dsthost"):
            return bytes.fromhex(text)
        if field == "type" and text in TYPES:
            return text
        return int(text, 0)


def run_cases(module, names, call=lambda case: case()):
    """Run the functions case_NAME of a module (its globals), those named or all, with the time each takes."""
    cases = {n[5:]: f for n, f in module.items() if n.startswith("case_")}
    for name in names or cases:
        start = time.monotonic()
        try:
            call(cases[name])
        except Exception:
            print(f"FAILED {name}", flush=True)
            raise
        print(f"ok {name} {time.monotonic() - start:.2f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        Fake(sys.argv[1]).run(sys.stdin.read())
    except Unexpected as e:
        raise SystemExit(f"fake.py: {e}") from e
