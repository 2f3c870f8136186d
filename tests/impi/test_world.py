#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One MPI_COMM_WORLD over several MPI implementations.

test_world.py --server PROGRAM --agent PROGRAM [--other NAME LIBRARY PROGRAM]...
              [--ours MPIEXEC PROGRAM] CASE...

A case that needs an MPI which is not there ends with status 77 and says so.
"""
import argparse
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time

from relay import Relay

LIMIT = 240
STRICT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strict_server.py")


class Skip(Exception):
    pass


def launcher(name):
    """How to start programs with another MPI."""
    if name == "openmpi":
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return ["mpiexec.openmpi", *root, "--oversubscribe"]
    return ["mpiexec.mpich"]


class Job:
    """Clients that meet at one server: Job(["mpich:2", "openmpi:2"], "ring").run()."""

    def __init__(self, clients, *parts, env=None, each=None, is_fortran=False, is_strict=False):
        self.clients, self.parts, self.is_fortran, self.is_strict = clients, parts, is_fortran, is_strict
        self.mark = secrets.token_hex(8)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        self.env.update({"IMPI_AUTH_KEY": str(secrets.randbits(63)), "IMPI_TEST_MARK": self.mark,
                         "IMPI_AGENT": ARGS.agent})
        self.env.update(env or {})
        self.each = each or {}  # by client: more of it
        self.procs, self.out = [], []

    def command(self, client):
        name, count = client.split(":")
        if name == "pliant":
            if ARGS.ours is None:
                raise Skip("this is not the whole tree: there is no mpiexec of ours")
            return [ARGS.ours[0], "-n", count, ARGS.ours[1], *self.parts], None
        if name == "sanitized":
            if ARGS.sanitized is None:
                raise Skip("no MPICH, or a compiler without -fsanitize=thread, when the tree was configured")
            return [*launcher("mpich"), "-n", count, ARGS.sanitized, *self.parts], ARGS.sanitized
        if name == "abi":  # a job of ours whose library is any with the standard ABI to libimpi
            if ARGS.abi is None:
                raise Skip("this is not the whole tree: there is no library with the standard ABI")
            return [ARGS.ours[0], "-n", count, "env", f"LD_PRELOAD={ARGS.abi}", ARGS.ours[1], *self.parts], ARGS.abi
        if name not in OTHERS:
            raise Skip(f"{name} is not installed (no mpicc.{name} when the tree was configured)")
        library, program = OTHERS[name]
        if self.is_fortran:
            if name not in FORTRAN:
                raise Skip(f"no mpifort.{name} when the tree was configured")
            program = FORTRAN[name]
        return [*launcher(name), "-n", count, "env", f"LD_PRELOAD={library}", program,
                *self.parts], library

    def start(self):
        commands = [self.command(c) for c in self.clients]
        key = ["-B", STRICT, str(len(self.clients)), self.env["IMPI_AUTH_KEY"]]
        self.server = subprocess.Popen(
            [sys.executable, *key] if self.is_strict else
            [ARGS.server, "-server", str(len(self.clients)), "-bind", "127.0.0.1", "-timeout", "120"], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.address = self.server.stdout.readline().strip()
        for rank, (command, library) in enumerate(commands):
            env = {**self.env, **self.each.get(rank, {})}
            if library is not None and library == ARGS.abi:  # mpiexec of ours would join by itself
                where = [f"IMPI_SERVER={self.address}", f"IMPI_CLIENT={rank}"]
                command = [*command[:4], *where, *command[4:]]
            elif library is None:
                command = [command[0], "--impi", self.address, "--impi-rank", str(rank),
                           *command[1:]]
            else:
                env.update({"IMPI_SERVER": self.address, "IMPI_CLIENT": str(rank)})
            self.procs.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE,
                                               stderr=subprocess.STDOUT, text=True,
                                               start_new_session=True))
        return self

    def left(self):
        """Processes of this job that are still there."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if f"IMPI_TEST_MARK={self.mark}".encode() in f.read() and \
                            open(f"/proc/{pid}/stat").read().split(")")[1].split()[0] != "Z":
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def clean(self):
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for p in [*self.procs, self.server]:
            p.wait()

    def gone(self):
        """Nothing is left behind; a process may take a moment to go."""
        for _ in range(100):
            if not self.left():
                return True
            time.sleep(0.1)
        return False

    def text(self):
        return "".join(self.out)


def check(ok, job, what):
    if not ok:
        sys.exit(f"{job.clients} {job.parts}: {what}\n{job.text()}{getattr(job, 'server_said', '')}")


def describe(pid):
    """What a process that should be gone is, and does."""
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
            words = f.read().replace("\0", " ")
        with open(f"/proc/{pid}/wchan", encoding="utf-8") as f:
            return f"{pid} {words[:80]} in {f.read()}"
    except OSError:
        return f"{pid} gone meanwhile"


def finish(job):
    """Wait for all of it to end, with nothing left behind; returns the exit codes of the clients."""
    try:
        end = time.monotonic() + LIMIT
        for p in job.procs:
            job.out.append(p.communicate(timeout=max(1, end - time.monotonic()))[0])
        check(job.gone(), job, f"processes are left: {job.left()}")
        job.server_said = job.server.communicate(timeout=30)[1]
    except subprocess.TimeoutExpired:
        left = [describe(pid) for pid in job.left()]
        job.clean()
        job.out += [p.communicate()[0] for p in job.procs[len(job.out):]]
        check(False, job, "it does not end; there were " + "; ".join(left))
    finally:
        job.clean()
    return [p.returncode for p in job.procs]


def good(clients, *parts, **options):
    """Every rank of such a job says ok."""
    job = Job(clients, *parts, **options).start()
    total = sum(int(c.split(":")[1]) for c in clients)
    codes = finish(job)
    check(codes == [0] * len(clients), job, f"exit codes {codes}")
    said = sorted(int(m) for m in re.findall(rf"rank (\d+) of {total} ok", job.text()))
    check(said == list(range(total)), job, f"who said ok: {said}")
    check(job.server.returncode == 0, job, f"the server ended with {job.server.returncode}")
    return job


def case_alone():
    """Without a server named the library changes nothing; with one, a job of one client."""
    if not OTHERS:
        raise Skip("neither MPICH nor Open MPI is installed")
    for name, (library, program) in OTHERS.items():
        done = subprocess.run([*launcher(name), "-n", "2", "env", f"LD_PRELOAD={library}", program],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT, check=False,
                              env={k: v for k, v in os.environ.items() if k[:5] != "IMPI_"})
        if done.returncode != 0 or done.stdout.count("of 2 ok") != 2:
            sys.exit(f"{name} without a server: {done.returncode}\n{done.stdout}")
        good([f"{name}:2"])


def case_two():
    good(["mpich:2", "openmpi:2"])
    good(["openmpi:2", "mpich:2"], "files")


def case_ours():
    """Clients of ours alone; of each the processes share memory, or not."""
    for net in ("auto", "tcp"):
        good(["pliant:2", "pliant:2"], env={"PLIANT_NET": net})


def case_abi():
    """Any library with the standard ABI; here ours, as if it were another's."""
    good(["abi:2", "pliant:1", "abi:1"])
    good(["pliant:1", "abi:2", "abi:1"], "own", "threads", "persistent_coll", "files")


def case_strict():
    """Clients meet at a server that forgets what is not sent in the order it wants; keys have 64 bits."""
    for clients in (["pliant:2", "pliant:1"], ["pliant:1", "mpich:1", "openmpi:1"]):
        good(clients, "ring", "collectives", is_strict=True, env={"IMPI_AUTH_KEY": str(2**64 - 5)})
    good(["pliant:2", "pliant:2"], "overflow", is_strict=True)
    for clients in (["mpich:2", "pliant:2"], ["pliant:2", "openmpi:2"]):  # where ranks cannot be told it ends, and says so
        job = Job(clients, "overflow", is_strict=True).start()
        check(0 not in finish(job) and "fit external32" in job.text(), job, "an overflow in a collective")
    good(["pliant:2", "mpich:1", "openmpi:1"], "refuse_later", is_strict=True)


def case_three():
    """Ours, MPICH and Open MPI in one world."""
    good(["pliant:2", "mpich:2", "openmpi:2"])
    good(["pliant:2", "mpich:2", "pliant:1"], "persistent_coll")


def case_many():
    """More clients than the linear algorithms take, narrow packets, tight flow control."""
    good(["mpich:2", "openmpi:1", "mpich:1", "openmpi:2", "mpich:1"],
         env={"IMPI_DATALEN": "512", "IMPI_ACKMARK": "1", "IMPI_HIWATER": "2",
              "IMPI_COLL_XSIZE": "16"})


def case_own():
    """The attributes of IMPI, and what each MPI must refuse or can do alone."""
    ours = ["pliant:2"] if ARGS.ours else []
    good([*ours, "mpich:2", "openmpi:2"], "own", "files")


def case_threads():
    """Several threads of every rank at once."""
    ours = ["pliant:2"] if ARGS.ours else []
    good([*ours, "mpich:2", "openmpi:2"], "threads")


def case_sanitized():
    """The same, with the thread sanitizer in the program and the library."""
    # UCX stands in front of what the sanitizer does when a thread ends.
    env = {"UCX_MEM_EVENTS": "n", "UCX_MEM_MMAP_HOOK_MODE": "none", "TSAN_OPTIONS": "exitcode=66"}
    if ARGS.sanitized is not None:
        alone = subprocess.run([ARGS.sanitized, "ring"], env={**os.environ, **env}, capture_output=True, text=True,
                               timeout=LIMIT, check=False)
        if "FATAL: ThreadSanitizer" in alone.stderr:
            raise Skip("the thread sanitizer does not work here: " + alone.stderr.splitlines()[0])
    ours = ["pliant:1"] if ARGS.ours else []
    job = good([*ours, "sanitized:2", "sanitized:2"], "threads", env=env)
    check("ThreadSanitizer" not in job.text(), job, "the thread sanitizer has something to say")


def case_fortran():
    """Fortran programs of different MPIs in one world; without a server libimpi changes nothing."""
    good(["mpich:2", "openmpi:2"], is_fortran=True)
    for name, program in FORTRAN.items():
        alone = subprocess.run([*launcher(name), "-n", "2", "env", f"LD_PRELOAD={OTHERS[name][0]}", program],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False)
        if alone.stdout.count("of 2 ok") != 2:
            sys.exit(f"{name} without a server: {alone.returncode}\n{alone.stdout}")


def case_tls():
    """The same with every connection encrypted."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "secret")
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(secrets.token_hex(32) + "\n")
        ours = ["pliant:2"] if ARGS.ours else []
        good([*ours, "mpich:2", "openmpi:2"], env={"IMPI_TLS": path})


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def case_nat():
    """A client behind a translator, played by a relay: its address and port are given by hand."""
    names = ["pliant"] if ARGS.ours else []
    for first in [*names, *OTHERS]:
        inside = free_port()
        relay = Relay(f"127.0.0.1:{inside}")
        good([f"{first}:2", "mpich:1"], "ring", "collectives",
             each={0: {"IMPI_HOST_NAME": relay.address, "IMPI_HOST_PORT": str(inside),
                       "IMPI_HOST_BIND": "127.0.0.1"}})
        relay.close()
        if not relay.seen:
            sys.exit(f"{first}: nothing came through the relay")


def children(job, name):
    """Pids of this job whose program is called so."""
    return [p for p in job.left()
            if os.path.basename(os.readlink(f"/proc/{p}/exe")).startswith(name)]


def wait_for(what, job):
    for _ in range(600):
        found = what()
        if found:
            return found
        time.sleep(0.1)
    job.clean()
    return sys.exit(f"{job.clients}: it never began")


def lose(victim, which, folder):
    # the last rank sleeps for ever, the others wait for it
    ready, log = os.path.join(folder, "ready"), os.path.join(folder, "log")
    agent = os.path.join(folder, "agent")  # a launcher that ends a job may lose what was said last
    os.mkdir(ready)
    with open(agent, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec "{ARGS.agent}" "$@" 2>>"{log}"\n')
    os.chmod(agent, 0o755)
    job = Job(["mpich:2", "openmpi:2"], "hang",
              env={"IMPI_TEST_READY": ready, "IMPI_AGENT": agent}).start()
    wait_for(lambda: len(os.listdir(ready)) == 4, job)
    os.kill(which(children(job, victim)), signal.SIGKILL)
    codes = finish(job)
    with open(log, encoding="utf-8") as f:
        job.out.append(f.read())
    check(0 not in codes, job, f"{victim} was killed, exit codes {codes}")
    check(re.search(r"host \d of client \d .*lost host \d of client \d", job.out[-1]), job,
          "the lost connection is not named")


def case_lost():
    """A killed rank, and a killed agent, end the whole job; both ends are named; nothing is left."""
    for victim, which in (("impi_world", min), ("impi-agent", min), ("impi-agent", max)):
        with tempfile.TemporaryDirectory() as folder:
            lose(victim, which, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--other", nargs=3, action="append", default=[])
    parser.add_argument("--ours", nargs=2)
    parser.add_argument("--abi")
    parser.add_argument("--sanitized")
    parser.add_argument("--fortran", nargs=2, action="append", default=[])
    parser.add_argument("case", nargs="+")
    ARGS = parser.parse_args()
    OTHERS = {name: (library, program) for name, library, program in ARGS.other}
    FORTRAN = dict(ARGS.fortran)
    try:
        for case in ARGS.case:
            globals()[f"case_{case}"]()
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
