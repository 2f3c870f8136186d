#!/usr/bin/env python3
"""Worlds that jobs join by a token: who takes part, what a wrong token gets, and what is said when a part dies."""
import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, carriers, check, mark, nothing_left, sanitizer_behind, sanitizer_flags, status

IMPIRUN = os.path.join(BUILD, "bin", "impirun")
PROGRAM = os.path.join(BUILD, "tests", "bin", "mpi.span_join")
LATE = os.path.join(BUILD, "tests", "bin", "mpi.elastic_late")
LIMIT = 120 * SLOW
sanitizer_behind()  # libimpi comes before it in programs of other MPIs
LONG = 100000  # barriers: until it is ended
FOLDER = tempfile.TemporaryDirectory()
DATA = os.path.join(FOLDER.name, "data")
MARK = mark()
os.environ.update(MARK)
for name in ("IMPI_SERVER", "IMPI_CLIENT", "IMPI_AUTH_KEY", "IMPI_AUTH_NONE", "IMPI_TLS", "IMPI_TOKEN"):
    os.environ.pop(name, None)


class Job:
    """A job in the background; its output is in files, to be read while it runs."""

    def __init__(self, folder, name, *words, env=None):
        self.path = {k: os.path.join(folder, f"{name}.{k}") for k in ("out", "err")}
        with open(self.path["out"], "wb") as out, open(self.path["err"], "wb") as err:
            self.p = subprocess.Popen(list(map(str, words)), stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                      env={**os.environ, **(env or {})})

    def read(self, kind):
        with open(self.path[kind], encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def err(self):
        return " ".join(self.read("err").split())

    def ranks(self):
        """World rank and process of each rank that has reported itself."""
        return [(int(a), int(b)) for a, b in re.findall(r"rank (\d+) of \d+ sum \d+ process (\d+)", self.read("out"))]

    def end(self, limit=LIMIT):
        try:
            return self.p.wait(limit)
        except subprocess.TimeoutExpired:
            return None


def until(condition, what, limit=LIMIT):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            check(False, what, 2)
            return False
        time.sleep(0.02)
    return True


class World:
    """A world that mpiexec hosts, and jobs that join it."""

    def __init__(self, n, *words, env=None):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "token")
        self.jobs = [Job(self.folder.name, "host", MPIEXEC, f"--host-world={n}", "--token-file", self.file,
                         "--world-address", "127.0.0.1", *words, env=env)]
        until(lambda: os.path.exists(self.file) or self.jobs[0].p.poll() is not None, "no token")
        with open(self.file, encoding="ascii") as f:
            self.token = f.read().strip()

    def join(self, *words, tool=MPIEXEC, env=None):
        self.jobs.append(Job(self.folder.name, f"job{len(self.jobs)}", tool, "--join", *words, env=env))
        return self.jobs[-1]

    def run(self, n):
        """Wait until n ranks run."""
        return until(lambda: sum(len(j.ranks()) for j in self.jobs) == n,
                     f"the ranks do not run: {[(j.p.poll(), j.read('out'), j.read('err')) for j in self.jobs]}")

    def all_end(self, what, limit=LIMIT):
        for j in self.jobs:
            rc = j.end(limit)
            check(rc is not None, f"{what}: a job does not end: {j.err}")
            if rc is None:
                j.p.kill()

    def close(self):
        self.folder.cleanup()
        nothing_left(MARK)


def foreign(folder):
    """The program built with the other MPIs that are here."""
    found = {}
    for mpi in ("mpich", "openmpi"):
        lib = os.path.join(BUILD, "lib", f"libimpi-{mpi}.so")
        if shutil.which(f"mpicc.{mpi}") and shutil.which(f"mpiexec.{mpi}") and os.path.exists(lib):
            out = os.path.join(folder, "program." + mpi)
            subprocess.run([f"mpicc.{mpi}", *sanitizer_flags(), "-o", out,
                            os.path.join(SOURCE, "tests", "mpi", "span_join.c")], check=True, capture_output=True)
            found[mpi] = out
    return found


def take_part():
    """Jobs of all MPIs that are here: in one world, numbered as they come, the host's ranks first."""
    with tempfile.TemporaryDirectory() as folder:
        others = foreign(folder)
        n = 2 + len(others)
        w = World(n, "-n", 2, PROGRAM)
        check(os.stat(w.file).st_mode & 0o077 == 0, "others can read the token")
        w.join(w.file, "-n", 2, PROGRAM)  # from the file
        for mpi, path in others.items():
            w.join(w.token, *(("--", f"mpiexec.{mpi}") if mpi == "mpich" else ()), "-n", 1, path, tool=IMPIRUN)
        for j in w.jobs:
            check(j.end() == 0, f"{j.p.args[:3]}: {j.err}")
        size = 4 + len(others)
        ranks = sorted(r for j in w.jobs for r, _ in j.ranks())
        check(ranks == list(range(size)), f"ranks {ranks}")
        check(sorted(r for r, _ in w.jobs[0].ranks()) == [0, 1], "the host is not first")
        told = [tuple(map(int, t)) for t in re.findall(rf"(\d) of {n} jobs have joined; waiting for (\d) more", w.jobs[0].err)]
        check(told and all(a + b == n for a, b in told), w.jobs[0].err)  # how many, depends on who was quick
        w.close()


def one_sentence(r, *words):
    check(r.rc != 0 and all(x in r.words for x in words) and r.words.count("mpiexec:") == 1, f"not one sentence: {r}")


def refuse():
    """Who is wrong gets one sentence, and the others notice nothing."""
    w = World(2, "-n", 1, PROGRAM)
    other = World(2, "-n", 1, PROGRAM)
    where = w.jobs[0]
    one_sentence(Run("--join", w.token[:-3], PROGRAM), "damaged")
    one_sentence(Run("--join", "4711", PROGRAM), "does not begin with")
    one_sentence(Run("--join", w.token.replace("impi1-", "impi2-"), PROGRAM), "another version")
    one_sentence(Run("--join", "/none/token", PROGRAM), "cannot read a token from")
    one_sentence(Run("--join", w.token, PROGRAM, env={"IMPI_TLS": "off"}), "is of a world with TLS")
    one_sentence(Run("--join", w.token, "--host-world", PROGRAM), "exclude each other")
    for words in (("--endpoints", 2), ("-n", 2, "--ranks-per-proc", 2), ("--on-failure=continue",)):
        one_sentence(Run("--join", w.token, *words, PROGRAM), "is not for a job that is part of an IMPI job")
    mixed = forge(w.token, other.token)
    one_sentence(Run("--join", mixed, PROGRAM), "refuses the token")
    port = decode(w.token)[1] * 256 + decode(w.token)[2]
    for garbage in (b"GET / HTTP/1.0\r\n\r\n", os.urandom(4000), b""):
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(garbage)
    j = w.join(w.token, "-n", 1, PROGRAM)
    check(where.end() == 0 and j.end() == 0, f"the world is harmed: {where.err} {j.err}")
    check(where.err.count("mpiexec:") == 1, f"the host hears of others' mistakes: {where.err}")
    other.jobs[0].p.send_signal(signal.SIGTERM)
    other.all_end("SIGTERM")
    late = Run("--join", other.token, PROGRAM, env={"IMPI_TIMEOUT": "1"})
    check(late.rc != 0 and "no process listens" in late.words, f"{late}")
    w.close()
    other.close()


def decode(token):
    text = token.split("-", 1)[1]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(kind, data):
    h = 0x811c9dc5
    for c in data:
        h = (h ^ c) * 0x01000193 & 0xffffffff
    return kind + base64.urlsafe_b64encode(data + h.to_bytes(4, "big")).decode().rstrip("=")


def forge(token, other):
    """The address of one world, and the secrets of another."""
    a, b = decode(token), decode(other)
    return encode("impi1-", a[:3] + b[3:27] + a[27:-4])


def forge_elastic(token, other):
    return encode("elastic1-", decode(other)[:32] + decode(token)[32:-4])


def children(pid):
    """Processes and names."""
    found = []
    for p, _ in carriers(MARK):
        try:
            with open(f"/proc/{p}/stat", encoding="ascii") as f:
                text = f.read()
        except OSError:
            continue
        if int(text.rsplit(")", 1)[1].split()[1]) == pid:
            found.append((p, text.split("(", 1)[1].rsplit(")", 1)[0]))
    return found


def child(pid, name):
    """The process that pid has started under this name."""
    for p, found in children(pid):
        if found == name:
            return p
    check(False, f"process {pid} has no child {name}", 2)
    return None


def victims(w):
    """Each part that can die, what the others say, and which jobs say so."""
    join = w.jobs[1].p.pid
    return {
        "rank": (w.jobs[1].ranks()[0][1], "of the world was killed by SIGKILL", [0]),
        "agent": (child(join, "pliant-impi"), "was lost: its agent went away", [0]),
        "launcher": (join, "mpiexec was killed", [0]),
        "server": (child(w.jobs[0].p.pid, "pliant-world"), "the server of the world was lost", [0, 1]),
        "host": (w.jobs[0].p.pid, "which hosts the world, has ended|mpiexec was killed", [1]),
    }


def die():
    """Any part that is killed ends all jobs, which write a file together, and the others say which part it was."""
    for part in ("rank", "agent", "launcher", "server", "host"):
        w = World(2, "-n", 1, PROGRAM, LONG, DATA)
        w.join(w.token, "-n", 1, PROGRAM, LONG, DATA)
        if w.run(2):
            pid, sentence, who = victims(w)[part]
            begin = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            w.all_end(part)
            took = time.monotonic() - begin
            check(took < 10 * SLOW, f"{part}: {took:.1f} s")  # 0.1 s on a machine that is not busy
            for k in who:
                said = re.sub(r"mpiexec: \d+ of \d+ jobs have joined; waiting for \d+ more", "", w.jobs[k].err)
                check(re.search(sentence, said) and said.count("mpiexec:") == 1, f"{part}: job {k} says {said!r}")
            check(all(j.p.returncode != 0 for j in w.jobs), f"{part}: a job ends as if nothing were wrong")
        w.close()


def die_foreign():
    """The same where the part belongs to a job of another MPI, and a rank of it that is stopped."""
    with tempfile.TemporaryDirectory() as folder:
        for mpi, path in foreign(folder).items():
            for part in ("rank", "agent", "launcher"):
                w = World(2, "-n", 1, PROGRAM, LONG, DATA)
                j = w.join(w.token, "-n", 2, path, LONG, DATA, tool=IMPIRUN)
                if w.run(3):
                    rank, pid = max(j.ranks())
                    if part == "rank":
                        os.kill(pid, signal.SIGSTOP)
                        until(lambda p=pid: f"rank 2 of the world (process {p}) is stopped" in w.jobs[0].err, "nobody says so")
                    agents = [c for _, p in j.ranks() for c in children(p) if c[1] == "impi-agent"]
                    check(rank == 2 and len(agents) == 1, f"{j.ranks()} {agents}")
                    victim, sentence = {"rank": (pid, "rank 2 of the world .* ended without MPI_Finalize"),
                                        "agent": (agents[0][0], "client 1 .*was lost: its agent went away"),
                                        "launcher": (j.p.pid, "client 1 .*(was lost|ended without)")}[part]
                    begin = time.monotonic()
                    os.kill(victim, signal.SIGKILL)
                    w.all_end(f"{mpi} {part}")
                    took = time.monotonic() - begin
                    check(took < 15 * SLOW, f"{mpi} {part}: {took:.1f} s")  # one second on a machine that is not busy
                    check(re.search(sentence, w.jobs[0].err), f"{mpi} {part}: the host says {w.jobs[0].err!r}")
                    check(w.jobs[0].p.returncode != 0, f"{mpi} {part}: the host ends as if nothing were wrong")
                w.close()


def stop():
    """A process that is stopped is named, and goes on when it is continued."""
    w = World(2, "-n", 1, PROGRAM, LONG)
    w.join(w.token, "-n", 1, PROGRAM, LONG)
    if w.run(2):
        for pid, sentence in ((w.jobs[1].ranks()[0][1], "rank 1 of the world (process {}) is stopped"),
                              (child(w.jobs[1].p.pid, "pliant-impi"), "does not answer; is its agent stopped?"),
                              (child(w.jobs[0].p.pid, "pliant-world"), "does not answer; is it stopped?")):
            os.kill(pid, signal.SIGSTOP)
            until(lambda s=sentence.format(pid): s in w.jobs[0].err, f"nobody says: {sentence}")
            before = w.jobs[0].err.count("again")
            os.kill(pid, signal.SIGCONT)
            until(lambda n=before: w.jobs[0].err.count("again") > n, f"nobody says that it runs again: {sentence}")
            check(w.jobs[0].p.poll() is None, "the world has ended")
    w.jobs[1].p.send_signal(signal.SIGTERM)
    w.all_end("SIGTERM")
    check("its mpiexec has ended the job" in w.jobs[0].err, w.jobs[0].err)
    w.close()


def status_of(job):
    r = subprocess.run([os.path.join(BUILD, "bin", "mpictl"), "status", str(job.p.pid)], capture_output=True, text=True,
                       check=False, timeout=LIMIT)
    return r.stdout + r.stderr


def ways():
    """Hosts that cannot be reached are relayed by the server, large messages too; mpictl status says which way it is."""
    for told, words, mpi in (({}, "direct, on this machine", None), ({"IMPI_TLS": "off"}, "direct, on this machine", None),
                             ({"IMPI_HOST_NAME": "127.0.0.1", "IMPI_LINKS": "3"},
                              "direct, with TLS, by 3 connections in parallel", None),
                             ({"IMPI_HOST_NAME": "192.0.2.1"}, "relayed by the server", None),
                             ({"IMPI_HOST_NAME": "127.0.0.1:9"}, "relayed by the server", "mpich")):
        with tempfile.TemporaryDirectory() as folder:
            other = foreign(folder).get(mpi) if mpi else PROGRAM
            if other is None:
                continue
            w = World(2, "-n", 1, PROGRAM, LONG, env=told)
            w.join(w.token, "-n", 1, other, LONG, tool=IMPIRUN if mpi else MPIEXEC,
                   env={"IMPI_LINKS": told.get("IMPI_LINKS", "0")})  # who joins calls
            if w.run(2):
                for k in (0, 1) if mpi is None else (0,):
                    text = status_of(w.jobs[k])
                    check(f"client {1 - k}, ranks {1 - k} to {1 - k}: {words}" in text, f"{told}: job {k}: {text}")
            w.jobs[0].p.send_signal(signal.SIGTERM)
            w.all_end("SIGTERM")
            w.close()
    w = World(2, "-n", 1, PROGRAM, 3, 64, env={"IMPI_HOST_NAME": "127.0.0.1:9"})  # 64 MiB through the server
    w.join(w.token, "-n", 1, PROGRAM, 3, 64)
    for j in w.jobs:
        check(j.end() == 0, j.err)
    w.close()


def plain():
    """IMPI_TLS=off at the host: a world without TLS; impirun hosts one of its own. What is recorded in a world is
    replayed in a world, and refused elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record")
        for word in ("--record", "--replay"):
            w = World(2, word, record, "-n", 1, PROGRAM, env={"IMPI_TLS": "off"})
            w.join(w.token, "-n", 1, PROGRAM)
            for j in w.jobs:
                check(j.end() == 0, f"{word}: {j.err}")
            w.close()
        one_sentence(Run("--replay", record, "-n", 1, PROGRAM), "recorded was mpiexec (one job of an IMPI world)")
        w = World(2, "--replay", record, "-n", 1, PROGRAM)
        w.join(w.token, "-n", 2, PROGRAM)
        w.all_end("a replay in another world")
        check("the recorded world had 2 ranks, and this one has 3" in w.jobs[0].err and w.jobs[0].p.returncode != 0, w.jobs[0].err)
        w.close()
    with tempfile.TemporaryDirectory() as folder:
        server = Job(folder, "server", IMPIRUN, "--host-world=2")
        until(lambda: server.read("out").endswith("\n"), "impirun prints no token")
        token = server.read("out").strip()
        jobs = [Job(folder, "a", MPIEXEC, "--join", token, "-n", 1, PROGRAM),
                Job(folder, "b", IMPIRUN, "--join", token, "-n", 1, PROGRAM)]
        check([j.end() for j in [*jobs, server]] == [0, 0, 0], f"{server.err} {[j.err for j in jobs]}")
    nothing_left(MARK)


class ElasticWorld(World):
    """One that begins at once, and that jobs join while it runs."""

    def __init__(self, *words):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "token")
        self.jobs = [Job(self.folder.name, "host", MPIEXEC, "--host-world", "--elastic", "1:6", "--token-file", self.file, *words)]
        until(lambda: os.path.exists(self.file) or self.jobs[0].p.poll() is not None, "no token")
        with open(self.file, encoding="ascii") as f:
            self.token = f.read().strip()


def absent():
    """A job of another MPI whose processes never call MPI_Init ends a world that waits for it, and the others say which it was."""
    text = "#include <mpi.h>\nint main(int c, char **v) { if (c > 99) MPI_Init(&c, &v); return c > 1; }"
    with tempfile.TemporaryDirectory() as folder:
        for mpi, status_word in (("mpich", ()), ("openmpi", ("bad",))):
            if mpi not in foreign(folder):
                continue
            path = os.path.join(folder, "absent." + mpi)
            subprocess.run([f"mpicc.{mpi}", *sanitizer_flags(), "-o", path, "-x", "c", "-"], check=True, capture_output=True, input=text, text=True)
            w = World(2, "-n", 1, PROGRAM)
            w.join(w.token, "-n", 2, path, *status_word, tool=IMPIRUN)
            w.all_end(mpi)
            said = f"{path[:64]} "
            check(all(j.p.returncode != 0 for j in w.jobs), f"{mpi}: a job ends as if nothing were wrong")
            for j in w.jobs:
                check(re.search(re.escape(said.strip()) + ".* has ended before any of its processes has called MPI_Init", j.err), f"{mpi}: {j.err}")
            w.close()
            r = subprocess.run([IMPIRUN, "--local", "-n", "1", PROGRAM, ":", "-n", "1", path], capture_output=True, text=True, check=False, timeout=LIMIT)
            check(r.returncode != 0 and "has ended before any of its processes has called MPI_Init" in r.stderr, f"{mpi}: {r}")
    nothing_left(MARK)


def late():
    """Jobs join an elastic world while it runs, several at once; who cannot join is told so, and the others notice nothing."""
    w = ElasticWorld("-n", 1, LATE, 4)
    host = w.jobs[0]
    one_sentence(Run("--join", w.token[:-3], LATE), "damaged")
    one_sentence(Run("--join", w.token.replace("elastic1-", "elastic2-"), LATE), "another version")
    other = ElasticWorld("-n", 1, LATE, 4)
    begin = time.monotonic()
    one_sentence(Run("--join", forge_elastic(w.token, other.token), LATE), "the listener there is not of this job")
    check(time.monotonic() - begin < 15, "a token with another secret is tried again and again")
    other.jobs[0].p.send_signal(signal.SIGTERM)
    other.all_end("SIGTERM")
    other.folder.cleanup()
    one_sentence(Run("--join", w.token, "--profile", LATE), "not for a job that joins an elastic world")
    one_sentence(Run("--join", w.token, "-n", 6, LATE), "cannot join the world: 7 ranks are outside --elastic 1:6")
    one_sentence(Run("--join", w.token, "/none/program"), "cannot run /none/program")
    one_sentence(Run("--join", w.token, "true"), "ended before it was in MPI_Init; the world stays as it was")
    with tempfile.TemporaryDirectory() as folder:
        for mpi, path in foreign(folder).items():
            r = subprocess.run([IMPIRUN, "--join", w.token, "-n", "1", path], capture_output=True, text=True, check=False, timeout=LIMIT)
            check(r.returncode != 0 and "this world is elastic" in r.stderr, f"{mpi}: {r}")
    check(host.p.poll() is None and host.err == "", f"the world is harmed: {host.err}")
    w.join(w.token, "-n", 2, LATE, 4)
    w.join(w.file, "-n", 1, LATE, 4, tool=IMPIRUN)  # it has mpiexec do it
    for j in w.jobs:
        check(j.end() == 0 and j.err == "", f"{j.p.args[:3]}: {j.err}")
    check([r for r, _ in host.ranks()] == [0], f"the host's ranks are {host.ranks()}")  # each prints its own
    check(sorted(len(j.ranks()) for j in w.jobs) == [1, 1, 2] and
          sorted(r for j in w.jobs for r, _ in j.ranks()) == [0, 1, 2, 3], f"{[j.ranks() for j in w.jobs]}")
    gone = Run("--join", w.token, LATE)
    check(gone.rc != 0 and "cannot be reached, or has ended" in gone.words, f"{gone}")
    w.close()


def late_ends():
    """A part of an elastic world that is killed ends it, or with --on-failure=shrink only the job that has joined."""
    for part, told, by_host, by_guest in (
            ("rank", signal.SIGKILL, "rank 1 .*was killed by signal 9", "rank 1 .*was killed by signal 9"),
            ("guest", signal.SIGKILL, "is lost: the connection was closed. 1 rank ran there", None),
            ("guest", signal.SIGTERM, "rank 1 .*was killed by signal 15", None),
            ("host", signal.SIGKILL, None, "the mpiexec that hosts the world is lost"),
            ("host", signal.SIGTERM, None, "the world has ended with an error")):
        w = ElasticWorld("-n", 1, LATE, 2, LONG)
        w.join(w.token, "-n", 1, LATE, 2, LONG)
        if w.run(2):
            with open(f"/proc/{w.jobs[1].ranks()[0][1]}/environ", "rb") as f:
                check(b"\0PLIANT_NET_PROTECT=encrypt\0" in b"\0" + f.read(), "messages between jobs are not encrypted")
            os.kill({"rank": w.jobs[1].ranks()[0][1], "guest": w.jobs[1].p.pid, "host": w.jobs[0].p.pid}[part], told)
            w.all_end(part)
            for j, sentence in zip(w.jobs, (by_host, by_guest)):
                check(j.p.returncode != 0 and (sentence is None or re.search(sentence, j.err)), f"{part} {told}: {j.p.returncode} {j.err!r}")
        w.close()


for function in (take_part, refuse, die, die_foreign, stop, plain, ways, absent, late, late_ends):
    function()
sys.exit(status())
