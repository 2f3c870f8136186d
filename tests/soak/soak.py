#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a changing mix of MPI tests on virtual hosts, while ranks are killed and stopped, hosts are lost and limits are small.

    soak.py [--build DIR] [--minutes N] [--hosts N] [--seed N] [-k REGEX] [--fault NAME]     until the time is over, or a case fails
    soak.py [--build DIR] [--hosts N] [-k REGEX] [--fault NAME] --case SEED                  one case again

Every case is made of its seed and of the rows of tests/mpi/*.list: after a change of those a seed means another case, and -k and --fault with the names
that were printed find the old one. A case without a fault must give the results its program checks; one with a fault must end in good order:
by itself and not by --timeout, with a sentence of mpiexec, and with nothing left. After every case no process, file or shared memory may be left, and mpiexec
may have had no more memory and descriptors than a job of that size needs.
"""
import argparse
import glob
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "vcluster"), os.path.join(HERE, "..")]
import cluster  # noqa: E402
import corpus  # noqa: E402
import run_list  # noqa: E402

# What changes from case to case, besides the program.
SETTINGS = ({}, {}, {}, {"PLIANT_NET": "tcp"}, {"PLIANT_NET_PROTECT": "auth"}, {"PLIANT_NET_PROTECT": "encrypt"}, {"PLIANT_LAUNCH_FAN": "1"})
FAULTS = ("none", "none", "none", "none", "kill rank", "kill mpiexec", "kill daemon", "stop rank", "cut host", "crash host", "terminate",
          "few descriptors", "small files", "full disk", "checkpoint", "checkpoint")
AT_START = ("none", "few descriptors", "small files", "full disk")  # what is done before the job begins
TIMED_OUT = "the --timeout, and is ended now"  # mpiexec says so
MPIEXEC_KB, MPIEXEC_FDS = 300_000, 64  # and for every rank
RANK_KB, RANK_FDS = 2_000, 8


class Watch(threading.Thread):
    """Notes the most memory and descriptors that a process has had."""

    def __init__(self, p):
        super().__init__(daemon=True)
        self.p, self.kb, self.fds, self.is_over = p, 0, 0, threading.Event()

    def run(self):
        pid = None
        while not self.is_over.wait(0.05):
            try:
                with open(f"/proc/{self.p.pid}/task/{self.p.pid}/children", encoding="ascii") as f:
                    pid = pid or int(f.read().split()[0])
                self.fds = max(self.fds, len(os.listdir(f"/proc/{pid}/fd")))
                with open(f"/proc/{pid}/status", encoding="ascii") as f:
                    self.kb = max(self.kb, *(int(line.split()[1]) for line in f if line.startswith("VmRSS")), 0)
            except (OSError, ValueError, TypeError, IndexError):
                pass


def ranks_of(mark, program):
    """The processes that run the program of a case, on any host."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as f:
                    is_ours = mark.encode() in f.read()
                if is_ours and os.readlink(f"/proc/{name}/exe") == program:
                    found.append(int(name))
            except OSError:
                pass
    return found


def daemons_of(c, mpiexec):
    """The daemons that run now on these hosts; another soak has hosts of its own."""
    found, spaces = [], {os.readlink(f"/proc/{c.ask('pid', host=h)}/ns/net") for h in c.names}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as f:
                    is_daemon = b"--as-daemon" in f.read()
                if is_daemon and os.readlink(f"/proc/{name}/ns/net") in spaces and os.readlink(f"/proc/{name}/exe") == mpiexec:
                    found.append(int(name))
            except OSError:
                pass
    return found


def send(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def take_checkpoint(c, p, host, bins):
    """Ask for one; a job that cannot have one is refused it with a sentence, which mpiexec or mpictl prints."""
    mpictl = os.path.join(bins, "..", "..", "bin", "mpictl")
    ask = c.popen(host, [mpictl, "checkpoint"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        said = ask.communicate(timeout=120)[0]
    except subprocess.TimeoutExpired:
        ask.kill()
        said = ask.communicate()[0]
        p.soak_wrong = "mpictl checkpoint did not end in 120 s: " + said
        return
    p.soak_has_checkpoint = ask.returncode == 0
    if ask.returncode != 0 and not said.strip():
        p.soak_wrong = f"mpictl checkpoint ended with {ask.returncode} and without a word"


def wait_for(c, p, host, row, bins):
    """What the job printed, and, if only --timeout is going to end it, what its ranks did before."""
    try:
        return p.communicate(timeout=row["timeout"] * 3)[0], ""
    except subprocess.TimeoutExpired:
        look = c.popen(host, [os.path.join(bins, "mpictl"), "status"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        status = look.communicate(timeout=60)[0]
        return p.communicate(timeout=row["timeout"] + 60)[0], status


def runs_on_by_itself(row, out, status):
    """Whether no end but --timeout is right: the user wants the job to go on without who died, mpiexec has said who that is, and a rank runs outside of
    MPI, in a program that was not written for one more death (it waits in a loop of its own for another one, say)."""
    return "--on-failure=" in row.get("launch", "") and "The others go on" in out and "is not waiting in MPI" in status


def harm(c, p, what, rng, mark, program, names):
    """Do it at some moment of the job, if that still runs; returns what is to be undone."""
    deadline = time.monotonic() + 20
    while not ranks_of(mark, program) and p.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(rng.random() * 0.5)
    victims, undo = ranks_of(mark, program), []
    if what == "kill rank" and victims:
        send(rng.choice(victims), signal.SIGKILL)
    elif what == "stop rank" and victims:
        victim = rng.choice(victims)
        send(victim, signal.SIGSTOP)
        time.sleep(1 + rng.random() * 2)
        send(victim, signal.SIGCONT)
    elif what == "checkpoint" and p.poll() is None:
        take_checkpoint(c, p, names[0], os.path.dirname(program))
    elif what in ("kill mpiexec", "terminate") and p.poll() is None:
        send(c.inner(p), signal.SIGKILL if what == "kill mpiexec" else signal.SIGTERM)
    elif what == "kill daemon":
        daemons = daemons_of(c, os.path.realpath(os.path.join(os.path.dirname(program), "..", "..", "bin", "mpiexec")))
        if daemons:
            send(rng.choice(daemons), signal.SIGKILL)
    elif what == "cut host" and len(names) > 1:
        host = rng.choice(names[1:])
        c.link(host, "down")
        undo.append(lambda: c.link(host, "up"))
    elif what == "crash host" and len(names) > 1:
        host = rng.choice(names[1:])
        c.crash(host)
        undo.append(lambda: c.restart(host))
    return undo


def all_rows():
    """Rows of all lists; is_solo: those that are for one host (spawning, names, clones and resizes that are told of)."""
    folder, found = os.path.join(HERE, "..", "mpi"), []
    for path in sorted(glob.glob(os.path.join(folder, "*.list"))):
        with open(path, encoding="utf-8") as f:
            for row in (run_list.parse(line, folder) for line in f):
                is_small = row is not None and row["ranks"] <= 16 and row.get("serial") is None and row["timeout"] <= 120
                if is_small and run_list.size_of(row.get("mem", "0")) <= corpus.MOST_MEMORY:
                    found.append({**row, "is_solo": corpus.why_left_out(row) is not None})
    return found


def choose(rng, rows, n_host, fault):
    row = rng.choice(rows)
    what = rng.choice([f for f in FAULTS if fault in (None, f)])
    n = 1 if row["is_solo"] else min(n_host, row["ranks"])
    settings, order, is_cyclic = rng.choice(SETTINGS), rng.sample(range(n_host), n), rng.random() < 0.5
    if n < 2 and what in ("kill daemon", "cut host", "crash host"):
        what = "none"
    return row, what, {} if row["is_solo"] else settings, order, is_cyclic and not row["is_solo"]


def left(c, seconds=30):
    until = time.monotonic() + seconds
    while True:
        found = {h: p for h in c.names if (p := c.processes(h))}
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


def restart(c, args, host, images, env, row):
    """What is wrong with the job that goes on from the checkpoint, or "". Its files may be gone, so a sentence is an end in good order too."""
    p = c.popen(host, [os.path.join(args.build, "bin", "mpiexec"), "--restart", images, "--timeout", str(row["timeout"] * 4)], env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        out = p.communicate(timeout=row["timeout"] * 4 + 60)[0]
    except subprocess.TimeoutExpired:
        send(c.inner(p), signal.SIGKILL)
        return "the restarted job did not end\n" + p.communicate()[0]
    is_right = p.returncode == int(row.get("exit", "0"))
    return "" if is_right or ("mpiexec" in out and "SIGSEGV" not in out and TIMED_OUT not in out) else f"the restarted job ended with {p.returncode}\n{out}"


def run_case(c, args, rows, seed):
    """None, or what is wrong."""
    rng = random.Random(seed)
    row, what, settings, order, is_cyclic = choose(rng, rows, args.hosts, args.fault)
    program = os.path.join(args.build, "tests", "bin", "mpi." + row["program"].replace("/", "."))
    names = [c.names[i] for i in order]
    mark = f"SOAK_CASE={seed}-{os.getpid()}-"
    limit = {"few descriptors": "ulimit -n 256; ", "small files": "ulimit -f 100000; "}.get(what, "")
    print(f"{seed:>20}  {run_list.test_name(row)} on {','.join(names)}, {' '.join(f'{k}={v}' for k, v in settings.items()) or 'no settings'}, {what}", flush=True)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as images:
        where = [] if row["is_solo"] else ["--launcher", c.launcher, "--hosts", ",".join(names)]
        kept = ["--checkpoint-dir", images] if what == "checkpoint" else []
        if what == "full disk":
            for h in c.names:
                c.popen(h, ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder]).wait()
        command = [os.path.join(args.build, "bin", "mpiexec"), *where, *kept, "--timeout", str(row["timeout"] * 4), "-n", str(row["ranks"]), *(["--map-by", "node"] if is_cyclic else []),
                   *shlex.split(row.get("launch", "")), program, *shlex.split(row.get("args", ""))]
        if limit:
            command = ["sh", "-c", limit + 'exec "$@"', "-", *command]
        env = {**os.environ, **dict(e.split("=", 1) for e in row["env"]), **settings, "TMPDIR": folder, **dict([mark.split("=", 1)])}
        p = c.popen(names[0], command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        watch = Watch(p)
        watch.start()
        undo = harm(c, p, what, rng, mark, program, names) if what not in AT_START else []
        try:
            out, status = wait_for(c, p, names[0], row, os.path.join(args.build, "bin"))
            wrong = getattr(p, "soak_wrong", "")
        except subprocess.TimeoutExpired:
            send(c.inner(p), signal.SIGKILL)
            out, status, wrong = p.communicate()[0], "", "mpiexec did not end"
        watch.is_over.set()
        for f in undo:
            f()
        if what == "full disk":
            for h in c.names:
                c.popen(h, ["umount", "-l", folder]).wait()
        if not wrong and getattr(p, "soak_has_checkpoint", False):
            wrong = restart(c, args, names[0], images, env, row)
        # A program may say that these hosts lack what it tries.
        is_right = p.returncode == int(row.get("exit", "0")) or (p.returncode == run_list.SKIPPED and "skipped: " in out)
        is_told = is_right or "mpiexec" in out or what in ("kill mpiexec", "terminate")
        if what == "checkpoint":  # one that this job cannot have is refused
            is_told = is_right or "checkpoint" in out
        if not wrong and not is_right and TIMED_OUT in out and not runs_on_by_itself(row, out, status):  # a fault is noticed and named, not sat out
            wrong = f"only --timeout ended it\n{status}"
        if not wrong and not (is_right if what in ("none", "stop rank") else is_told):
            wrong = f"exit status {p.returncode}"
        for word in ("Segmentation fault", "AddressSanitizer", "stack smashing", "corrupted", "killed by SIGSEGV", "killed by SIGABRT"):
            if not wrong and what != "none" and word in out and not is_right:
                wrong = f"it says '{word}'"
        over = MPIEXEC_KB + RANK_KB * row["ranks"], MPIEXEC_FDS + RANK_FDS * row["ranks"]
        if not wrong and (watch.kb > over[0] or watch.fds > over[1]):
            wrong = f"mpiexec had {watch.kb} kB (at most {over[0]}) and {watch.fds} descriptors (at most {over[1]})"
        if not wrong and (rest := left(c)):
            wrong = f"processes are left: {rest}"
        if not wrong and what != "kill mpiexec" and (rest := os.listdir(folder)):
            wrong = f"files are left: {rest}"
    return f"{wrong}\n{out[-4000:]}" if wrong else None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--build", default="build")
    a.add_argument("--minutes", type=float, default=10)
    a.add_argument("--hosts", type=int, default=4)
    a.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    a.add_argument("--case", type=int, help="repeat this one")
    a.add_argument("-k", metavar="REGEX", default="", help="only tests whose name has it")
    a.add_argument("--fault", choices=sorted(set(FAULTS)), help="only this one")
    a.add_argument("--go-on", action="store_true", help="after a case that failed")
    args = a.parse_args()
    args.build, rows = os.path.abspath(args.build), [row for row in all_rows() if re.search(args.k, run_list.test_name(row))]
    if not rows:
        a.error(f"no test has a name with '{args.k}'")
    try:
        c = cluster.Cluster(args.hosts)
    except cluster.Skip as e:
        print(f"skipped: {e}")
        return cluster.SKIP
    again = shlex.join(["python3", "tests/soak/soak.py", "--build", args.build, "--hosts", str(args.hosts), *(["-k", args.k] if args.k else []), *(["--fault", args.fault] if args.fault else [])])
    until, n, bad, mix = time.monotonic() + 60 * args.minutes, 0, [], random.Random(args.seed)
    print(f"seed {args.seed}", flush=True)
    with c:
        while args.case is not None or time.monotonic() < until:
            seed = args.case if args.case is not None else mix.getrandbits(48)
            wrong = run_case(c, args, rows, seed)
            n += 1
            if wrong:
                bad.append(seed)
                print(f"FAILED: {wrong}\nrepeat it with: {again} --case {seed}", flush=True)
            if args.case is not None or (bad and not args.go_on):
                break
    print(f"{n} cases, {len(bad)} failed{': ' + ' '.join(map(str, bad)) if bad else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
