#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of impi-server with fake clients: test_server.py PATH-OF-SERVER [CASE...]

Every case checks what came over the wire, the server's exit code and what it said of it. All
traffic is on the loopback interface, on ports the system chose.
"""
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from fake import CMD, Fake, Unexpected, check, run_cases

SERVER = ""
LABELS = (0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x2000, 0x2100, 0x2200, 0x2300,
          0x2400, 0x3000, 0x3100)
OK, START, TIMEOUT, STARTUP, LOST = range(5)


class Server:
    """A running server; leaving the block checks its exit code and ends it whatever happens."""

    def __init__(self, n, *args, code=OK, env=None, bind="127.0.0.1"):
        self.n, self.code = n, code
        if "-timeout" not in args:  # nothing stays behind if the tests are killed
            args += ("-timeout", "120")
        full = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        full.update({"IMPI_AUTH_NONE": ""} if env is None else env)
        self.proc = subprocess.Popen(
            [SERVER, "-server", str(n), "-bind", bind, "-v", *args], env=full,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.proc.stderr),
                                       daemon=True)
        self.reader.start()
        self.address = self.proc.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                check(self.code, self.proc.wait(timeout=20), "exit code")
                self.reader.join(5)
                check("", self.proc.stdout.read(), "stdout after the address")
        finally:
            self.proc.kill()
            self.proc.wait()
            self.reader.join(5)
            if sys.exc_info()[0] is not None or kind is not None:
                sys.stderr.write("".join(self.log))

    def client(self):
        return Fake(self.address)

    def said(self, text):
        deadline = time.monotonic() + 10
        while not any(text in line for line in self.log):
            if time.monotonic() > deadline:
                raise Unexpected(f"the server did not say '{text}'; it said:\n{''.join(self.log)}")
            time.sleep(0.01)


def word(*values):
    return b"".join(struct.pack(">I", v & 0xFFFFFFFF) for v in values)


def part(rank, label):
    """What client `rank` contributes: recognisable, and of a length of its own."""
    return word(label, rank) * (rank % 3 + 1)


def startup(clients, n):
    """Joined clients send all labels and read them back, pipelined."""
    for r, c in enumerate(clients):
        for label in LABELS:
            c.coll(label, part(r, label))
        c.done()
    for c in clients:
        for label in LABELS:
            c.get_coll(label, 2**n - 1, b"".join(part(r, label) for r in range(n)))
        c.get_done()


def whole_job(server, n, order=None):
    clients = [None] * n
    for r in order or range(n):
        clients[r] = server.client()
        clients[r].join(r, n)
    startup(clients, n)
    for c in clients:
        c.fini()
        c.get_eof()


def case_one():
    with Server(1) as s:
        whole_job(s, 1)
    s.said("warning: 127.0.0.1")


def case_two_exact():
    """The byte-exact transcript: client 0 of 2, lock-step, as the facts have it."""
    with Server(2) as s:
        a, b = s.client(), s.client()
        a.run("""
            send 41555448 00000004 00000001
            get  00000000 00000000
            send 494d5049 00000004 00000000
            get  494d5049 00000004 00000002
            send 434f4c4c 0000000c 00001000 00000000 00000000""")
        b.run("""
            auth 1 0
            rank 1 2
            coll 0x1000 0000000000000000
            coll 0x1100 00000001
            coll 0x3100 000000000000000d
            done""")
        a.run("""
            get  434f4c4c 00000018 00001000 00000003 00000000 00000000 00000000 00000000
            send 434f4c4c 00000008 00001100 00000001
            get  434f4c4c 00000010 00001100 00000003 00000001 00000001
            send 434f4c4c 00000014 00003100 000000000000000b 000000000000000c
            # the known labels nobody sent, then what both did
            get  434f4c4c 00000008 00001200 00000000
            get  434f4c4c 00000008 00001300 00000000
            get  434f4c4c 00000008 00001400 00000000
            get  434f4c4c 00000008 00001500 00000000
            get  434f4c4c 00000008 00001600 00000000
            get  434f4c4c 00000008 00002000 00000000
            get  434f4c4c 00000008 00002100 00000000
            get  434f4c4c 00000008 00002200 00000000
            get  434f4c4c 00000008 00002300 00000000
            get  434f4c4c 00000008 00002400 00000000
            get  434f4c4c 00000008 00003000 00000000
            get  434f4c4c 00000020 00003100 00000003 000000000000000b 000000000000000c
                 000000000000000d
            send 444f4e45 00000000
            get  444f4e45 00000000
            send 46494e49 00000000
            get_eof""".replace("\n                 000000000000000d", " 000000000000000d"))
        b.run("get_coll 0x3100 3 000000000000000b000000000000000c000000000000000d\n"
              "get_done\nfini\nget_eof")


def case_thirty_two():
    """All 32 at once, joining in a shuffled order."""
    with Server(32) as s:
        whole_job(s, 32, [(7 * i + 5) % 32 for i in range(32)])


def case_partial():
    """A label only some clients send has their bits in the mask; unknown labels are relayed."""
    with Server(3) as s:
        c = [s.client() for _ in range(3)]
        for r in range(3):
            c[r].join(r, 3)
        c[0].run("coll 0x1000 aa\ncoll 0x1300 01\ncoll 0x5000 99\ndone")
        c[1].run("coll 0x1000 bb\ndone")
        c[2].run("coll 0x1000 cc\ncoll 0x1050 dd\ncoll 0x1300 02\ndone")
        for x in c:
            x.run("get_coll 0x1000 7 aabbcc\nget_coll 0x1050 4 dd\nget_coll 0x1100 0\n"
                  "get_coll 0x1300 5 0102\nget_coll 0x5000 1 99\nget_done\nfini")


def case_order():
    """Late, duplicate and reserved labels, unknown commands: dropped, harmless."""
    with Server(2) as s:
        a, b = s.client(), s.client()
        a.join(0, 2)
        b.join(1, 2)
        a.run("coll 0x1200 a1\ncoll 0x1100 a2\ncoll 0x1200 a3\ncoll 0 ff\n"
              "cmd 0x58585858 5 0102030405\ncmd 0x12345678 0\ncoll 0x1300 a4\ndone\ndone\n"
              "coll 0x1400 a5")
        b.run("coll 0x1100 b1\ncoll 0x1200 b2\ndone")
        for c in (a, b):
            c.run("get_coll 0x1100 2 b1\nget_coll 0x1200 3 a1b2\nget_coll 0x1300 1 a4\n"
                  "get_coll 0x1400 0\nget_done\nfini")
    s.said("label 0x1100 dropped")
    s.said("skipping unknown command 0x58585858 of 5 bytes")
    s.said("said DONE again")


def case_key():
    env = {"IMPI_AUTH_KEY": "1234567890123"}
    with Server(1, env=env) as s:
        bad = s.client()
        bad.auth(2, 1)
        bad.key(1234567890124)
        bad.get_eof()
        s.said("has the wrong key")
        none = s.client()
        none.auth(1)  # offers NONE only, which is not enabled
        none.get_eof()
        s.said("offers no authentication method")
        c = s.client()
        c.join(0, 1, mask=3, method=1, key=1234567890123)
        startup([c], 1)
        c.fini()
    if any("1234567890123" in line for line in s.log):
        raise Unexpected("the key is in the log")


def case_preference():
    """Both enabled: KEY first; -auth turns it round; a negative key; a range."""
    env = {"IMPI_AUTH_KEY": "-5", "IMPI_AUTH_NONE": "1"}
    for args, mask, method, key in ((), 3, 1, -5), (("-auth", "0,1"), 3, 0, None), \
            (("-auth", "0-1"), 2, 1, -5), (("-auth", "key,none"), 1, 0, None), \
            (("-auth", "7-9,1"), 3, 1, -5):
        with Server(1, *args, env=env) as s:
            c = s.client()
            c.join(0, 1, mask=mask, method=method, key=key)
            startup([c], 1)
            c.fini()


def case_keyfile():
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("42\n")
        f.flush()
        with Server(1, "-keyfile", f.name, env={"IMPI_AUTH_KEY": "43"}) as s:
            c = s.client()
            c.join(0, 1, mask=2, method=1, key=42)
            startup([c], 1)
            c.fini()
        os.chmod(f.name, 0o644)
        with Server(1, "-keyfile", f.name, env={}, code=STARTUP) as s:
            s.said("can be read by others")
            c = s.client()
            c.join(0, 1, mask=2, method=1, key=42)
            c.close()


def case_wrong_start():
    """Connections that are no IMPI clients, beside a job that goes well."""
    with Server(2) as s:
        a = s.client()
        a.join(0, 2)
        for script, said in (
                ("garbage 5000 1\nget_eof", "did not begin with AUTH"),
                ("send 474554202f20485454502f312e310d0a0d0a\nget_eof", "did not begin with AUTH"),
                ("cmd IMPI 4 00000001\nget_eof", "did not begin with AUTH"),
                ("cmd AUTH 8 0000000100000000\nget_eof", "of a wrong length"),
                ("cmd AUTH -1\nget_eof", "negative length"),
                ("cmd AUTH 2000000000\nget_eof", "of a wrong length"),
                ("auth 1 0\nauth 1\nget_eof", "did not go on with IMPI"),
                ("auth 1 0\ncmd COLL 4 00001000\nget_eof", "did not go on with IMPI"),
                ("auth 1 0\ncmd IMPI 3 000000\nget_eof", "of a wrong length"),
                ("auth 0\nget_eof", "its mask is 0x0"),
                ("auth 0xfffffffc\nget_eof", "its mask is 0xfffffffc"),
                ("auth 1 0\nrank 2 2\nget_eof", "wants rank 2 of 2"),
                ("auth 1 0\nrank -1 2\nget_eof", "wants rank -1 of 2"),
                ("auth 1 0\nrank 0 2\nget_eof", "wants rank 0, which is taken"),
                ("auth 1 0\nclose", "went away"),
                ("send 4155\nreset", "went away")):
            s.client().run(script)
            s.said(said)
        b = s.client()
        b.join(1, 2)
        startup([a, b], 2)
        a.fini()
        b.fini()


def case_slow():
    """A client that sends byte by byte joins and is served; one that stalls holds up nobody."""
    with Server(2) as s:
        stalled, a, b = s.client(), s.client(), s.client()
        stalled.send(b"AUT")
        a.join(0, 2)
        b.pause = 0.003
        b.join(1, 2)
        stalled.get_eof()
        startup([a, b], 2)
        a.fini()
        b.fini()
    s.said("came too late")


def case_stall():
    with Server(1, "-handshake", "2") as s:
        idle = s.client()
        half = s.client()
        half.auth(1, 0)
        idle.get_eof()
        half.get_eof()
        s.said("was too slow to give a rank")
        whole_job(s, 1)


def case_flood():
    """More idle connections than the server keeps: the oldest go, a real client gets in."""
    with Server(1) as s:
        idle = [s.client() for _ in range(150)]
        c = s.client()
        c.join(0, 1)
        startup([c], 1)
        c.fini()
        idle[0].get_eof()
    s.said("too many connections wait")


def case_too_many():
    """When all have joined nobody else gets in, and those inside do not notice."""
    with Server(2) as s:
        waiting = s.client()
        a, b = s.client(), s.client()
        a.join(0, 2)
        b.join(1, 2)
        waiting.get_eof()
        s.said("came too late")
        try:
            late = s.client()
        except (ConnectionRefusedError, ConnectionResetError):
            pass  # the listening socket was closed before or while we came
        else:  # caught in the backlog
            late.get_eof()
        startup([a, b], 2)
        a.fini()
        b.fini()


def case_rejoin():
    """A client that goes before all have joined leaves its rank free for another try."""
    with Server(2) as s:
        first = s.client()
        first.join(1, 2)
        first.run("coll 0x1000 ff\ndone")
        first.close()
        s.said("its rank is free again")
        whole_job(s, 2)


def case_vanish_startup():
    with Server(3, code=STARTUP) as s:
        c = [s.client() for _ in range(3)]
        for r in range(3):
            c[r].join(r, 3)
        c[0].run("coll 0x1000 aa\ndone")
        c[1].reset()
        c[0].get_eof()
        c[2].get_eof()
    s.said("client 1 (127.0.0.1")
    s.said("the job cannot start")


def case_vanish_run():
    """A client lost while the job runs is reported; the others finish in peace."""
    with Server(3, code=LOST) as s:
        c = [s.client() for _ in range(3)]
        for r in range(3):
            c[r].join(r, 3)
        startup(c, 3)
        c[1].close()
        s.said("before it said FINI; counted as finished")
        c[0].fini()
        c[2].fini()
        c[2].get_eof()


def case_breach():
    """A joined client that breaks the protocol: during startup, and while the job runs."""
    for script, said in (("cmd COLL 3 001000", "COLL without a label"),
                         ("cmd COLL -5", "negative length"),
                         ("auth 1", "a second time"),
                         ("cmd COLL 2000000000", "above the limit"),
                         ("cmd DONE 1 00", "of a wrong length"),
                         ("fini", "said FINI during startup")):
        with Server(2, code=STARTUP) as s:
            a, b = s.client(), s.client()
            a.join(0, 2)
            b.join(1, 2)
            b.run(script + "\nget_eof")
            s.said(said)
            a.get_eof()
    with Server(2, code=LOST) as s:
        a, b = s.client(), s.client()
        a.join(0, 2)
        b.join(1, 2)
        startup([a, b], 2)
        b.run("garbage 4 3\nsend ffffffff\nget_eof")
        a.fini()
        a.get_eof()


def case_limit():
    """More startup data than -limit: that client goes, and no memory with it."""
    with Server(1, "-limit", "1", code=STARTUP) as s:
        c = s.client()
        c.join(0, 1)
        c.coll(0x1000, bytes(600000))
        try:
            c.coll(0x1100, bytes(600000))
        except ConnectionError:
            pass
        s.said("more than the limit")


def case_big():
    """Megabytes of labels to a client that does not read for a while."""
    with Server(2) as s:
        a, b = s.client(), s.client()
        a.join(0, 2)
        b.join(1, 2)
        big = [bytes([r]) * 4000000 for r in range(2)]
        for r, c in enumerate((a, b)):
            c.coll(0x3000, big[r])
            c.coll(0x3100, big[r])
            c.done()
        time.sleep(0.2)
        for c in (b, a):
            check(True, c.get_coll(0x3000, 3) == big[0] + big[1], "0x3000")
            check(True, c.get_coll(0x3100, 3) == big[0] + big[1], "0x3100")
            c.get_done()
            c.fini()


def case_timeout():
    with Server(3, "-timeout", "1", code=TIMEOUT) as s:
        a, b = s.client(), s.client()
        a.join(0, 3)
        b.join(2, 3)
        a.done()
        a.get_eof()
    s.said("missing clients: 1 (not joined), 2 (no DONE)")


def case_ipv6():
    with Server(2, bind="::1") as s:
        check(True, s.address.startswith("[::1]:"), s.address)
        whole_job(s, 2)


def run(*args, env=None):
    full = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
    full.update(env or {})
    return subprocess.run([SERVER, *args], env=full, capture_output=True, text=True, timeout=20,
                          check=False)


def case_usage():
    none = {"IMPI_AUTH_NONE": ""}
    for args, env, said in (
            ((), none, "-server N"),
            (("-server", "0"), none, "from 1 to 32"),
            (("-server", "33"), none, "from 1 to 32"),
            (("-server", "2x"), none, "from 1 to 32"),
            (("-server",), none, "needs a value"),
            (("-server", "1", "-port", "65536"), none, "from 0 to 65535"),
            (("-server", "1", "-bogus"), none, "no option"),
            (("-server", "1"), {}, "no authentication method is enabled"),
            (("-server", "1", "-auth", "1"), none, "of those -auth lists"),
            (("-server", "1", "-auth", "1,,0"), none, "-auth takes a list"),
            (("-server", "1", "-auth", "1-"), none, "-auth takes a list"),
            (("-server", "1", "-auth", "99"), none, "-auth takes a list"),
            (("-server", "1", "-auth", "secret"), none, "-auth takes a list"),
            (("-server", "1"), {"IMPI_AUTH_KEY": "0x10"}, "no decimal 64-bit number"),
            (("-server", "1"), {"IMPI_AUTH_KEY": ""}, "no decimal 64-bit number"),
            (("-server", "1"), {"IMPI_AUTH_KEY": "18446744073709551616"}, "no decimal"),
            (("-server", "1"), {"IMPI_AUTH_KEY": "-9223372036854775809"}, "no decimal"),
            (("-server", "1", "-keyfile", "/nonexistent"), none, "cannot read a key"),
            (("-server", "1", "-bind", "203.0.113.1"), none, "cannot listen")):
        r = run(*args, env=env)
        check((START, ""), (r.returncode, r.stdout), f"{args}: {r.stderr}")
        check(True, said in r.stderr, f"{args}: '{said}' in {r.stderr}")
    for word_ in ("-h", "-help", "--help"):
        r = run(word_)
        check((OK, ""), (r.returncode, r.stderr), word_)
        check(True, "-server N" in r.stdout, "help")


def case_spelling():
    """The reference's spelling, two dashes, a port of our choice, an address by hand."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Server(1, "-p", str(port), "--auth", "0") as s:
        check(f"127.0.0.1:{port}", s.address, "address")
        whole_job(s, 1)
    with Server(1, "-address", "gate.example.org", code=STARTUP) as s:
        check(True, s.address.startswith("gate.example.org:"), s.address)
        c = Fake("127.0.0.1:" + s.address.split(":")[1])
        c.join(0, 1)
        c.close()


def case_fork():
    """-fork: the parent ends at once, the child serves the job and goes."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
    env["IMPI_AUTH_NONE"] = ""
    with tempfile.TemporaryFile("w+") as log:
        r = subprocess.run([SERVER, "-server", "1", "-bind", "127.0.0.1", "-fork", "-timeout", "10",
                            "-v"], env=env, stdout=subprocess.PIPE, stderr=log, text=True,
                           timeout=20, check=False)
        check(OK, r.returncode, "exit code of the parent")
        c = Fake(r.stdout.strip())
        c.join(0, 1)
        startup([c], 1)
        c.fini()
        c.get_eof()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            log.seek(0)
            if "the job is over" in log.read():
                return
            time.sleep(0.01)
    raise Unexpected("the server in the background did not end")


def case_quiet():
    """Without -v only trouble is told."""
    env = {"IMPI_AUTH_KEY": "7"}
    proc = subprocess.Popen([SERVER, "-server", "1", "-bind", "127.0.0.1"],
                            env={**os.environ, **env}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    try:
        c = Fake(proc.stdout.readline())
        c.join(0, 1, mask=2, method=1, key=7)
        startup([c], 1)
        c.fini()
        out, err = proc.communicate(timeout=20)
        check((OK, "", ""), (proc.returncode, out, err), "a quiet run")
    finally:
        proc.kill()
        proc.wait()


def main():
    global SERVER
    SERVER = sys.argv[1]
    run_cases(globals(), sys.argv[2:])


if __name__ == "__main__":
    main()
