#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of impi-agent with processes that are played here: test_agent.py SERVER AGENT [CASE...]"""
import os
import random
import socket
import struct
import subprocess
import sys

import test_server
from fake import Unexpected, check, run_cases
from test_server import LOST, Server

FRAME = struct.Struct("=IIQQQQQQIIii")  # as agent_wire.h has it
FIELDS = ("type", "flags", "len", "id", "srqid", "handle", "cid", "msglen", "peer", "n", "lsrank",
          "tag")
(READY, HELLO, SEND, ACCEPT, CANCEL, ANSWER, FINAL, JOB, ARRIVED, PART, RECEIVED, SENT, MATCHED,
 CANCELLED, ASKED, OVER) = range(1, 17)
WHERE = struct.Struct("=II64s64s64s16s")
AGENT = ""


def text(field):
    return field.split(b"\0")[0].decode()


class Proc:
    """One process of a client, over a socket to its agent."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(20)

    def put(self, kind, data=b"", **field):
        values = {**dict.fromkeys(FIELDS, 0), "type": kind, "len": len(data), **field}
        self.sock.sendall(FRAME.pack(*(values[f] for f in FIELDS)) + data)

    def read(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise Unexpected(f"the agent ended after {len(data)} of {n} bytes")
            data += more
        return data

    def get(self, kind, **want):
        head = dict(zip(FIELDS, FRAME.unpack(self.read(FRAME.size))))
        head["data"] = self.read(head["len"])
        for f, v in {"type": kind, **want}.items():
            check(v, head[f], f"{f} of a frame of type {head['type']}")
        return head

    def is_closed(self):
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True


class Agent:
    """A running agent of n processes; leaving the block checks its exit code."""

    def __init__(self, server, client, n, code=0, **env):
        self.code, self.n = code, n
        mine, its = socket.socketpair()
        full = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        full.update({"IMPI_AUTH_NONE": "", "IMPI_SERVER": server, "IMPI_CLIENT": str(client), **env})
        self.proc = subprocess.Popen([AGENT, str(n), str(its.fileno()), "2147483647"], env=full,
                                     pass_fds=[its.fileno()], stderr=subprocess.PIPE, text=True)
        its.close()
        self.first = Proc(mine)
        where = WHERE.unpack(self.first.get(READY, len=WHERE.size)["data"])
        self.port, self.unix, self.token = where[1], text(where[3]), where[5]

    def dial(self, is_tcp=False):
        if is_tcp:
            return Proc(socket.create_connection(("127.0.0.1", self.port), timeout=20))
        sock = socket.socket(socket.AF_UNIX)
        sock.connect("\0" + self.unix)
        return Proc(sock)

    def gather(self):
        """All processes say hello; returns them."""
        procs = [self.first] + [self.dial(i % 2 == 0) for i in range(1, self.n)]
        for i, p in enumerate(procs):
            p.put(HELLO, self.token, n=i)
        return procs

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.err = self.proc.communicate(timeout=30)[1]
                check(self.code, self.proc.returncode, f"exit code of the agent: {self.err}")
        finally:
            if self.proc.poll() is None:
                self.proc.kill()
                sys.stderr.write(self.proc.communicate()[1])


def part(procs):
    for p in procs:
        p.put(FINAL)
    for p in procs:
        p.sock.close()


def case_alone():
    with Server(1) as s, Agent(s.address, 0, 3) as a:
        procs = a.gather()
        for p in procs:
            p.get(JOB, n=0, peer=1)
        part(procs)


def case_relay():
    """Two agents: messages of all kinds, both ways, straight through."""
    with Server(2) as s, Agent(s.address, 0, 1, IMPI_DATALEN="1000") as a, \
            Agent(s.address, 1, 2) as b:
        x, (y, z) = a.gather()[0], b.gather()
        for p in (x, y, z):
            p.get(JOB, peer=2)
        x.put(SEND, b"short", id=1, peer=2, cid=4, lsrank=0, tag=9)
        x.get(SENT, id=1)
        z.get(ARRIVED, peer=0, cid=4, lsrank=0, tag=9, msglen=5, handle=0, data=b"short")
        y.put(SEND, b"", id=1, peer=0, tag=3, lsrank=1, flags=1)  # synchronous
        y.get(SENT, id=1)
        got = x.get(ARRIVED, peer=1, tag=3, msglen=0)
        x.put(ACCEPT, handle=got["handle"])
        y.get(MATCHED, id=1)
        whole = random.Random(5).randbytes(123456)
        y.put(SEND, whole, id=2, peer=0, tag=4, lsrank=1)
        got = x.get(ARRIVED, msglen=len(whole), len=1000, data=whole[:1000])
        x.put(ACCEPT, handle=got["handle"], flags=1, msglen=len(whole))
        at = 1000
        while at < len(whole):
            more = x.get(PART, handle=got["handle"], msglen=at)
            check(whole[at:at + more["len"]], more["data"], "a part")
            at += more["len"]
        x.get(RECEIVED, handle=got["handle"], flags=0)
        y.get(SENT, id=2)
        x.put(SEND, b"never", id=5, peer=1, tag=1)  # cancelled when it has left already
        sent = x.get(SENT, id=5)
        y.get(ARRIVED, tag=1)
        x.put(CANCEL, id=5, peer=1, srqid=sent["srqid"])
        asked = y.get(ASKED, peer=0, srqid=sent["srqid"])
        y.put(ANSWER, peer=0, srqid=asked["srqid"], flags=2)
        x.get(CANCELLED, id=5, flags=2)
        part([x, y, z])


def case_strangers():
    """Who is none of ours is turned away, says what it may; the job comes about."""
    with Server(1) as s, Agent(s.address, 0, 2) as a:
        bad = [a.dial(i % 2 == 0) for i in range(6)]
        bad[0].put(HELLO, bytes(16), n=1)
        bad[1].put(SEND, b"x" * 100, id=1)
        bad[2].put(HELLO, a.token, n=2)  # there is no such process
        bad[3].sock.sendall(random.Random(1).randbytes(5000))
        bad[4].put(FINAL)
        bad[5].put(HELLO, b"", n=1)
        for i, p in enumerate(bad):
            check(True, p.is_closed(), f"stranger {i} is turned away")
        silent = a.dial()
        procs = a.gather()
        for p in procs:
            p.get(JOB)
        check(True, silent.is_closed(), "the doors are closed")
        part(procs)
    check(True, "a stranger called" in a.err, a.err)


def case_lost():
    """A process that goes without a word ends the job; its like are told."""
    with Server(1, code=LOST) as s, Agent(s.address, 0, 2, code=1) as a:
        procs = a.gather()
        for p in procs:
            p.get(JOB)
        procs[1].sock.close()
        check(True, b"process 1 of client 0 ended" in procs[0].get(OVER)["data"], "why")
        procs[0].sock.close()


def case_orphan():
    """Who started it is gone before all are there."""
    with Server(1, "-timeout", "60") as s:
        with Agent(s.address, 0, 2, code=1) as a:
            a.first.sock.close()
        s.proc.terminate()
        s.code = -15


def case_garbage():
    """Frames of a process that make no sense end the job, never the machine."""
    for seed in range(20):
        rnd = random.Random(seed)
        with Server(1, code=LOST) as s, Agent(s.address, 0, 1, code=1) as a:
            p = a.gather()[0]
            p.get(JOB)
            kind = rnd.choice((SEND, ACCEPT, CANCEL, ANSWER, JOB, 99, 0))
            try:
                p.put(kind, rnd.randbytes(rnd.randrange(200)), id=rnd.getrandbits(64),
                      peer=rnd.getrandbits(32), handle=rnd.getrandbits(64),
                      srqid=rnd.getrandbits(64), msglen=rnd.getrandbits(20))
                p.sock.close()
            except OSError:
                pass


def main():
    global AGENT
    test_server.SERVER, AGENT = sys.argv[1:3]
    run_cases(globals(), sys.argv[3:])


if __name__ == "__main__":
    main()
