#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the engine with real sockets: test_node.py SERVER NODE [CASE...]

Nodes among themselves, and a node with a fake host that keeps the protocol or breaks it.
"""
import ctypes
import os
import socket
import struct
import subprocess
import sys
import time

import test_server
from fake import Fake, Unexpected, check, run_cases
from test_server import OK, LOST, STARTUP, Server, word

NODE = ""
HOST = bytes(12) + bytes([127, 0, 0, 1])


class Node:
    """A running node; leaving the block checks its exit code and, if given, what it said."""

    def __init__(self, server, rank, mode, *args, code=0, said=None, env=None):
        self.code, self.text = code, said
        full = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        full.update({"IMPI_AUTH_NONE": ""} if env is None else env)
        self.proc = subprocess.Popen([NODE, server, str(rank), mode, *args], env=full,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.out, self.seen = None, ""  # seen: of standard error, by the test

    def wait(self):
        if self.out is not None:
            return self.out
        self.out, self.err = self.proc.communicate(timeout=30)
        self.err = self.seen + self.err
        check(self.code, self.proc.returncode, f"exit code of a node: {self.out}{self.err}")
        if self.text is not None:
            check(True, self.text in self.err, f"'{self.text}' in {self.err}")
        return self.out

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.wait()
        finally:
            if self.proc.poll() is None:
                self.proc.kill()
                sys.stderr.write(self.proc.communicate()[1])


def has_tls():
    """Whether there is OpenSSL 3: then our clients use TLS among themselves unless IMPI_TLS says otherwise."""
    try:
        return bool(ctypes.CDLL("libssl.so.3"))
    except OSError:
        return False


def exchange(n, *args, each=lambda r: (), env=None, bind="127.0.0.1", msgs=20, procs=1):
    """n nodes, every process to every foreign one. Returns what they print."""
    with Server(n, bind=bind, env=env) as s:
        nodes = [Node(s.address, r, "exchange", f"msgs={msgs}", f"procs={procs}", f"bind={bind}",
                      *args, *each(r), env=env) for r in range(n)]
        try:
            lines = [node.wait() for node in nodes]
        finally:
            for node in nodes:
                node.proc.kill()
                node.proc.wait()
    count = msgs * procs * procs * (n - 1)
    for line in lines:
        check(True, line.startswith(f"ok in={count} out={count} "), line)
    return lines


def case_two():
    exchange(2)


def case_alone():
    exchange(1)


def case_negotiate():
    """Every value is the smallest that anybody has."""
    lines = exchange(3, each=lambda r: (f"datalen={[900, 333, 5000][r]}",
                                        f"ackmark={[10, 9, 8][r]}", f"hiwater={[30, 11, 40][r]}"))
    for line in lines:
        check(True, line.endswith("datalen=333 ackmark=8 hiwater=11\n"), line)


def case_narrow():
    exchange(2, "datalen=16", "ackmark=1", "hiwater=1", "maxlen=300", procs=2)


def case_wide():
    exchange(2, "datalen=65536", "ackmark=64", "hiwater=1024", "maxlen=1000000", msgs=10)
    exchange(3, "datalen=65536", "ackmark=64", "hiwater=1024", "maxlen=1000000", msgs=10,
             each=lambda r: (f"links={4 * r}",))  # who calls says by how many connections


def case_ipv6():
    exchange(3, bind="::1")


def case_key():
    exchange(2, env={"IMPI_AUTH_KEY": "987654321"})


def case_many():
    exchange(8, procs=3, msgs=5)


def case_thirty_two():
    exchange(32, "maxlen=2000", "timeout=40", msgs=3)


def case_disagree():
    """Thresholds that differ: nobody begins, and each says why."""
    with Server(2, code=LOST) as s:
        with Node(s.address, 0, "exchange", "xsize=7", code=1, said="another than client 0"), \
                Node(s.address, 1, "exchange", "xsize=-1", code=1, said="another than client 0"):
            pass


def case_no_server():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{probe.getsockname()[1]}"
        with Node(where, 0, "echo", code=1, said="cannot reach the server: Connection refused"):
            pass
    with Node("nonsense", 0, "echo", code=1, said="is not host:port"):
        pass


def case_late_server():
    """A node that is started before the server says that it waits, and joins when the server is there."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with Node(f"127.0.0.1:{port}", 0, "exchange", "wait=20", said="no server listens at 127.0.0.1") as node:
        line = node.proc.stderr.readline()
        check(True, "waiting for it, up to 20 s" in line, line)
        node.seen = line
        with Server(1, "-port", str(port)):
            node.wait()
    with Node(f"127.0.0.1:{port}", 0, "echo", "wait=1", code=1, said="cannot reach the server: Connection refused"):
        pass


def case_refused():
    with Server(1, env={"IMPI_AUTH_KEY": "1"}, code=OK) as s:
        with Node(s.address, 0, "echo", code=1, said="no method in common"):
            pass
        with Node(s.address, 0, "echo", code=1, said="wrong key", env={"IMPI_AUTH_KEY": "2"}):
            pass
        with Node(s.address, 0, "exchange", env={"IMPI_AUTH_KEY": "1"}):
            pass


def case_timeout():
    with Server(2, "-timeout", "6", code=test_server.TIMEOUT) as s:
        with Node(s.address, 0, "echo", "timeout=1", code=1, said="no job after 1 s"):
            pass
        s.said("its rank is free again")
        with Node(s.address, 2, "echo", code=1, said="fewer clients"):
            pass
        s.proc.terminate()
        s.code = -15


class Host(Fake):
    """A fake client of one host and one process that meets a node through the server."""

    def __init__(self, server, rank, port=0, pid=77, datalen=100, ackmark=2, hiwater=4):
        client = Fake(server.address)
        client.join(rank, 2)
        self.server, self.rank, self.pid = client, rank, pid
        labels = ((0x1000, bytes(8)), (0x1100, word(1)), (0x1200, word(1)), (0x1300, word(datalen)),
                  (0x1400, word(0x7FFFFFFF)), (0x1500, word(-1)), (0x1600, word(-1)),
                  (0x2000, HOST), (0x2100, word(port or 1)), (0x2200, word(1)),
                  (0x2300, word(ackmark)), (0x2400, word(hiwater)), (0x3000, HOST),
                  (0x3100, struct.pack(">Q", pid)))
        for label, data in labels:
            client.coll(label, data)
        client.done()
        both = {label: client.get_coll(label, 3) for label, _ in labels}
        client.get_done()
        other = 1 - rank
        self.port = struct.unpack(">II", both[0x2100])[other]
        self.other = struct.unpack(">QQ", both[0x3100])[other]

    def dial(self):
        super().__init__(f"127.0.0.1:{self.port}")
        return self

    def take(self, listener):
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock, self.pause = sock, 0.0
        sock.settimeout(15)
        return self

    def packet(self, **field):
        super().packet(**{"srchost": HOST, "srcpid": self.pid, "dsthost": HOST,
                          "dstpid": self.other, **field})

    def get_packet(self, **want):
        """The next one that is no credit."""
        while True:
            got = super().get_packet(srchost=HOST, dsthost=HOST, srcpid=self.other,
                                     dstpid=self.pid) if want.get("type") != "FINI" \
                else super().get_packet()
            if got["type"] != "PROTOACK" or want.get("type") == "PROTOACK":
                break
        for f, v in want.items():
            check(v, got[f], f"{f} of {got['type']}")
        return got

    def part(self):
        """The end of a good job: tag 9999, FINI both ways, FINI to the server."""
        self.packet(type="DATA", tag=9999)
        self.get_packet(type="FINI", srchost=bytes(16), srcpid=2**64 - 1, dsthost=bytes(16),
                        dstpid=2**64 - 1, len=0)
        self.packet(type="FINI", srchost=bytes(16), srcpid=2**64 - 1, dsthost=bytes(16),
                    dstpid=2**64 - 1, len=128, msglen=128)
        self.get_eof()
        self.bye()

    def bye(self):
        self.server.fini()
        self.server.get_eof()


def traffic(h):
    """Every kind of packet, both ways; the node echoes. h has ackmark 2, hiwater 4, 100 bytes."""
    h.packet(type="DATA", tag=1, data=b"hello", lsrank=1, cid=5, srqid=0)
    got = h.get_packet(type="DATA", tag=2, data=b"hello", len=5, msglen=5, drqid=0)
    check(True, got["srqid"] != 0, "request id")
    # an empty one, synchronous there and back
    h.packet(type="DATASYNC", tag=4, srqid=11)
    h.get_packet(type="SYNCACK", srqid=11, len=0)
    got = h.get_packet(type="DATASYNC", tag=5, len=0, msglen=0)
    h.packet(type="PROTOACK", len=128, msglen=128)
    h.packet(type="SYNCACK", srqid=got["srqid"], tag=-1, lsrank=-1, cid=73, len=128, msglen=128)
    # a long one
    text = bytes(range(250))
    h.packet(type="DATASYNC", tag=6, srqid=12, msglen=250, data=text[:100], len=100)
    ack = h.get_packet(type="SYNCACK", srqid=12)
    check(True, ack["drqid"] != 0, "handle")
    for a, b in (100, 200), (200, 250):
        h.packet(type="DATA", tag=6, srqid=12, drqid=ack["drqid"], msglen=250, data=text[a:b])
    got = h.get_packet(type="DATASYNC", tag=7, len=100, msglen=250, data=text[:100])
    h.packet(type="PROTOACK")
    h.packet(type="SYNCACK", srqid=got["srqid"], drqid=0xABCDEF0123456789)
    for a, b in (100, 200), (200, 250):
        h.get_packet(type="DATA", tag=7, srqid=got["srqid"], drqid=0xABCDEF0123456789, msglen=250,
                     data=text[a:b])
    h.packet(type="PROTOACK")
    # a cancel that comes too late
    h.packet(type="CANCEL", srqid=12, len=128)
    h.get_packet(type="CANCELNO", srqid=12)


def case_host_connects():
    """The fake is host 1 and connects."""
    with Server(2) as s, Node(s.address, 0, "echo"):
        h = Host(s, 1).dial()
        h.hello(1)
        traffic(h)
        h.part()


def case_host_accepts():
    """The fake is host 0 and is connected to, by four bytes that name host 1."""
    with socket.create_server(("127.0.0.1", 0)) as listener, Server(2) as s, \
            Node(s.address, 1, "echo"):
        h = Host(s, 0, port=listener.getsockname()[1]).take(listener)
        check("00000001", h.get(4).hex(), "hello")
        traffic(h)
        h.part()


def case_slow_host():
    """Byte by byte."""
    with Server(2) as s, Node(s.address, 0, "echo"):
        h = Host(s, 1).dial()
        h.pause = 0.0002
        h.hello(1)
        traffic(h)
        h.part()


def case_script():
    """The same by a script, as a stranger to these tests would write it."""
    with Server(2) as s, Node(s.address, 0, "echo"):
        h = Host(s, 1)
        fake = Fake(f"127.0.0.1:{h.port}")
        ends = f"srchost={HOST.hex()} srcpid={h.pid} dsthost={HOST.hex()} dstpid={h.other}"
        fake.run(f"""
            hello 1
            packet type=DATA tag=1 {ends} data=6869
            get_packet type=DATA tag=2 data=6869
            packet type=DATA tag=9999 {ends}
            get_packet type=PROTOACK
            get_packet type=FINI
            packet type=FINI
            get_eof""")
        h.bye()


def case_credit():
    """The node stops at hiwater and goes on with each credit; its own credits come in time."""
    with Server(2) as s, Node(s.address, 0, "echo"):
        h = Host(s, 1).dial()
        h.hello(1)
        n = 0
        for i in range(10):
            h.packet(type="DATA", tag=100 + 10 * i, data=b"x")
            while i % 2 == 1:  # hiwater is 4, ackmark 2: wait for what each pair earns
                if Fake.get_packet(h)["type"] == "PROTOACK":
                    break
                n += 1
        h.sock.settimeout(0.3)
        try:
            while True:
                check("DATA", Fake.get_packet(h)["type"], "type")
                n += 1
        except Unexpected:
            pass
        check(4, n, "packets without credit")
        h.sock.settimeout(15)
        while n < 10:
            h.packet(type="PROTOACK")
            for _ in range(2):
                h.get_packet(type="DATA", tag=101 + 10 * n, data=b"x")
                n += 1
        h.part()


def case_bad_host():
    """Hosts that break the protocol: the node ends at once and names both ends."""
    for script, said in (
            ("garbage 4000 7", "lost host 1 of client 1"),
            ("send 00000009" + "00" * 200, "no packet"),
            ("packet type=DATA srcpid=1", "from no process of its own"),
            ("BASE type=DATA len=101 msglen=101", "101 bytes of a message of 101"),
            ("BASE type=DATA len=100 msglen=50", "100 bytes of a message of 50"),
            ("BASE type=DATA len=4294967295 msglen=4294967295", "4294967295 bytes"),
            ("BASE type=DATA len=5 msglen=500 drqid=99", "continues no message"),
            ("BASE type=PROTOACK", "acknowledged more packets"),
            ("BASE type=SYNCACK srqid=1", "acknowledged request 1"),
            ("BASE type=CANCELYES srqid=1", "CANCELYES of request 1"),
            ("BASE type=DATA len=100 msglen=100\nsend 0102\nclose", "ended before its FINI"),
            ("send 0000\nclose", "ended before its FINI"),
            ("close", "ended before its FINI"),
            ("sleep 0.2\nreset", "ended before its FINI"),
            ("packet type=FINI\npacket type=FINI", "FINI twice")):
        with Server(2, code=LOST) as s, Node(s.address, 0, "echo", code=1, said=said) as node:
            h = Host(s, 1).dial()
            h.hello(1)
            base = f"packet srchost={HOST.hex()} srcpid={h.pid} dsthost={HOST.hex()} " \
                   f"dstpid={h.other}"
            try:
                h.run(script.replace("BASE", base))
            except (ConnectionError, BrokenPipeError):
                pass
            node.wait()
            h.bye()


def case_strangers():
    """Connections to the node's port that are no hosts of the job do no harm."""
    with Server(2) as s, Node(s.address, 0, "echo"):
        h = Host(s, 1)
        stranger = [Fake(f"127.0.0.1:{h.port}") for _ in range(5)]
        stranger[0].hello(0)
        stranger[0].get_eof()
        stranger[1].hello(2**32 - 1)
        stranger[1].get_eof()
        stranger[2].run("garbage 100 9\nget_eof")
        stranger[3].send(b"\0\0")
        stranger[4].close()
        h.dial()
        h.hello(1)
        traffic(h)
        stranger[3].get_eof()  # all are connected
        h.part()


def case_seats():
    """Who knows a host's port and not what the clients told each other does not get a host's seat, by TLS or without; where
    clients have nothing to tell, who comes from another address does not."""
    none, off = {"IMPI_AUTH_NONE": ""}, {"IMPI_AUTH_NONE": "", "IMPI_TLS": "off"}
    for how, said, env in (("plain=0", "speaks no TLS" if has_tls() else "a stranger", none), ("plain=0", "a stranger", off),
                           ("plain=1", "another address", none)):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        with Server(2) as s:
            with Node(s.address, 0, "exchange", f"port={port}", how, said=said, env=env):
                s.said("client 0")  # then it listens
                strangers = [Fake.over(socket.create_connection(("127.0.0.1", port), 15, ("127.0.0.2", 0)))
                             for _ in range(2)]
                strangers[0].hello(1)
                strangers[1].send(b"\0\0\0\1" + b"x" * 16 + b"\0\0\0\1")
                with Node(s.address, 1, "exchange", how, env=env):
                    strangers[1].get_eof()
                strangers[0].get_eof()


def case_unreachable():
    """Host 0 does not listen: the node says whom it cannot reach, and where."""
    with Server(2, code=LOST) as s, \
            Node(s.address, 1, "echo", code=1,
                 said="cannot reach host 0 (client 0) at 127.0.0.1:1:"):
        h = Host(s, 0, port=1)
        time.sleep(0.2)
        h.bye()


def case_never_calls():
    """Host 1 has met at the server and is not heard of again: the node does not wait for ever."""
    with Server(2, code=LOST) as s, \
            Node(s.address, 0, "echo", "silence=1", code=1,
                 said="host 0 of client 0 waits in vain for a connection from host 1 of client 1") as node:
        h = Host(s, 1)
        node.wait()
        h.bye()


def case_server_dies():
    """The server is killed while the job runs: the job does not need it."""
    with Server(2) as s, Node(s.address, 0, "echo", said="the server is gone") as node:
        h = Host(s, 1).dial()
        h.hello(1)
        traffic(h)  # so the node has got past startup
        s.proc.kill()
        s.proc.wait()
        s.code = -9
        h.packet(type="DATA", tag=100, data=b"still here")
        h.get_packet(type="DATA", tag=101, data=b"still here")
        h.packet(type="DATA", tag=9999)
        h.get_packet(type="FINI")
        h.packet(type="FINI")
        h.get_eof()
        node.wait()


def case_client_dies():
    """A client that is lost during startup: the other one is told to give up."""
    with Server(2, code=STARTUP) as s, Node(s.address, 0, "echo", code=1, said="it closed"):
        c = s.client()
        c.join(1, 2)
        s.said("all clients have joined")
        c.reset()


def main():
    global NODE
    test_server.SERVER, NODE = sys.argv[1:3]
    run_cases(globals(), sys.argv[3:])


if __name__ == "__main__":
    main()
