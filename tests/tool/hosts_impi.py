#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""IMPI clients on several (virtual) hosts each: an agent on every host, and what happens when one dies."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import BUILD, HostRun, left_behind, open_cluster
from launch import IS_SANITIZED, MPIEXEC, SLOW, SOURCE, check, status

SERVER = os.path.join(BUILD, "bin", "impi-server")
RELAY = os.path.join(SOURCE, "tests", "impi", "relay.py")
HOSTS = ("vc1", "vc2", "vc3", "vc4")
LIMIT = 100
C = open_cluster(len(HOSTS))
ENV = {**{k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}, "IMPI_AUTH_KEY": "4711"}


def program(name):
    return os.path.join(BUILD, "tests", "bin", "mpi." + name)


class Job:
    """Clients, each a list of hosts with slots; the server is on vc1, each mpiexec on its first host.

    words: CLIENT in them is its number; more: by client, what else is in its environment."""

    def __init__(self, clients, *words, more=None):
        self.server = C.popen("vc1", [SERVER, "-server", str(len(clients)), "-timeout", "60"], env=ENV,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        where = self.server.stdout.readline().strip()
        self.jobs = [C.popen(hosts.split(":")[0],
                             [MPIEXEC, "--launcher", C.launcher, "--hosts", hosts, "--impi", where, "--impi-rank",
                              str(k), *(w.replace("CLIENT", str(k)) for w in words)], env={**ENV, **(more or {}).get(k, {})}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE) for k, hosts in enumerate(clients)]

    def end(self):
        out = []
        for j in self.jobs:
            try:
                text, err = j.communicate(timeout=LIMIT * SLOW)
            except subprocess.TimeoutExpired:
                subprocess.run(["kill", "-9", str(C.inner(j))], check=False)
                text, err = j.communicate()
                err += "(ended by the test)"
            out.append((j.returncode, text, " ".join(err.split())))
        self.server.stdout.close()
        self.server.wait(timeout=LIMIT * SLOW)  # its clients are gone, so is it
        left = left_behind(C, HOSTS)
        check(not left, f"left behind: {left}")
        return out


def good(clients, *words, more=None):
    out = Job(clients, *words, more=more).end()
    check(all(rc == 0 for rc, _, _ in out), f"{words} over {clients}: {out}")


def timelines():
    """A file for each client, with one zero, on the clock of the first host of the first one; arrows between them have an end in each."""
    with tempfile.TemporaryDirectory() as folder:
        good(["vc1:1,vc2:1", "vc3:1,vc4:1"], "--timeline", os.path.join(folder, "CLIENT.json"), "-n", "2",
             os.path.join(BUILD, "tests", "bin", "observe_probe"), "ring")
        events = [e for k in "01" for e in json.load(open(os.path.join(folder, k + ".json"), encoding="utf-8"))["traceEvents"]]
    begins, ends = ({e["id"]: e for e in events if e["ph"] == phase and e["cat"] == "message"} for phase in "sf")
    between = sorted((begins[i]["pid"], ends[i]["pid"]) for i in begins if (begins[i]["pid"] > 2) != (ends[i]["pid"] > 2))
    check(begins.keys() == ends.keys() and len(begins) == 160 and between == [(2, 3)] * 40 + [(4, 1)] * 40, between)
    ahead = min(ends[i]["ts"] - begins[i]["ts"] for i in begins)
    check(ahead > -5000, f"clocks are aligned: a message came {-ahead} us before it was sent")


def named():
    """In a world that is joined by a token the other job says which rank was killed, also one on another host of its job."""
    words = [MPIEXEC, "--launcher", C.launcher, "--hosts"]
    pipes = {"env": ENV, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    first = C.popen("vc1", [*words, "vc1:1,vc2:1", "--host-world=2", program("span_comm"), "wait"], **pipes)
    token = ""
    while not token.startswith("impi1-"):
        line = first.stderr.readline()
        token = next((w for w in line.split() if w.startswith("impi1-")), "") if line else "impi1-none"
    second = C.popen("vc3", [*words, "vc3:1,vc4:1", "--join", token, program("span_comm"), "wait"], **pipes)
    check(first.stdout.readline() == "ready\n", "the ranks have met")
    listed = C.popen("vc4", ["ps", "-e", "-o", "pid=,args="], stdout=subprocess.PIPE, text=True).communicate()[0]
    pids = [line.split()[0] for line in listed.splitlines() if "span_comm wait" in line and line.split()[1].endswith("span_comm")]
    check(len(pids) == 1, f"the rank on vc4: {listed}")
    C.popen("vc4", ["kill", "-9", *pids]).wait()
    for job in (first, second):
        try:
            job.said = " ".join(job.communicate(timeout=LIMIT * SLOW)[1].split())
        except subprocess.TimeoutExpired:
            job.kill()
            job.said = "(ended by the test) " + job.communicate()[1]
    check(first.returncode != 0 and "rank 3 of the world was killed by SIGKILL" in first.said, f"the first says {first.said}")
    check(second.returncode != 0 and "SIGKILL" in second.said, f"the second says {second.said}")
    left = left_behind(C, HOSTS)
    check(not left, f"left behind: {left}")


def lost(host, name):
    """All of it ends when a process of this name on this host is killed."""
    job = Job(["vc1:1,vc2:1", "vc3:1,vc4:1"], program("span_comm"), "wait")
    check(job.jobs[0].stdout.readline() == "ready\n", "the ranks have met")
    listed = C.popen(host, ["ps", "-e", "-o", "pid=,args="], stdout=subprocess.PIPE, text=True).communicate()[0]
    pids = [line.split()[0] for line in listed.splitlines() if line.split()[1].endswith(name)]
    check(len(pids) == 1, f"{name} on {host}: {listed}")
    C.popen(host, ["kill", "-9", *pids]).wait()
    out = job.end()
    check(all(rc != 0 for rc, _, _ in out), f"{name} on {host} was killed: {out}")
    check(" lost host " in out[0][2] + out[1][2], f"both ends are named: {out}")


def cut(says):
    """A cable is pulled, which closes no connection; while both wait, or one has something to say."""
    silence = {k: {"IMPI_SILENCE": "4"} for k in range(2)}
    job = Job(["vc1:1,vc2:1", "vc3:2"], program("span_comm"), "wait", more=silence)
    check(job.jobs[0].stdout.readline() == "ready\n", "the ranks have met")
    C.link("vc3", "down")
    if says:
        job.jobs[0].stdin.write("go\n")
        job.jobs[0].stdin.flush()
    for j in job.jobs:
        j.wait(timeout=LIMIT * SLOW)
    C.link("vc3", "up")
    out = job.end()
    check(all(rc != 0 for rc, _, _ in out), f"the way between the clients was cut: {out}")
    for me, other in ((0, 1), (1, 0)):
        check(re.search(rf"host \d of client {me} lost host \d of client {other}", out[me][2]), f"both ends are named: {out}")


def translated():
    """Both hosts of a client are behind vc4, under ports of that; what each tells is given by hand."""
    relay = C.popen("vc4", [sys.executable, RELAY, "7001", "vc1:6001", "7002", "vc2:6002"],
                    stdout=subprocess.PIPE, text=True)
    check(relay.stdout.readline() == "ready\n", "the translator is there")
    try:
        job = Job(["vc1:1,vc2:1", "vc3:2"], program("span_p2p"),
                  more={0: {"IMPI_HOST_NAME": "vc4:7001,vc4:7002", "IMPI_HOST_PORT": "6001,6002"}})
        for j in job.jobs:
            j.wait(timeout=LIMIT * SLOW)
    finally:
        subprocess.run(["kill", str(C.inner(relay))], check=False)
        relay.wait()
        relay.stdout.close()
    out = job.end()
    check(all(rc == 0 for rc, _, _ in out), f"behind a translator: {out}")


def late():
    """A world of two hosts is joined from two others while it runs."""
    pipes = {"env": ENV, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    what = [program("elastic_late"), "4"]
    jobs = [C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", "--elastic", "1:4", "--host-world", *what], **pipes)]
    token = ""
    while not token.startswith("elastic1-"):
        line = jobs[0].stderr.readline()
        token = next((w for w in line.split() if w.startswith("elastic1-")), "") if line else "elastic1-none"
    jobs += [C.popen(host, [MPIEXEC, "--join", token, *what], **pipes) for host in ("vc3", "vc4")]
    out = [(*j.communicate(timeout=LIMIT * SLOW), j.returncode) for j in jobs]
    check([(rc, len(re.findall(r"rank \d of 4 sum 6", text))) for text, _, rc in out] == [(0, 2), (0, 1), (0, 1)], f"{out}")
    left = left_behind(C, HOSTS)
    check(not left, f"left behind: {left}")


good(["vc1:1,vc2:1", "vc3:2"], program("span_p2p"))
late()
translated()
good(["vc1:2,vc2:1", "vc3:1,vc4:2"], program("span_coll"))
good(["vc1:1,vc2:2,vc3:1", "vc4:1"], program("span_comm"), "2", "4")
good(["vc1:1,vc2:1", "vc3:1,vc4:1"], program("dyn_spawn"))
if not IS_SANITIZED:  # a sanitizer would have to come before the recorder
    timelines()
named()
lost("vc2", "pliant-impi")
cut(False)
cut(True)
lost("vc4", "mpi.span_comm")
r = HostRun(C, "--impi", "127.0.0.1:1", "--impi-rank", "0", "-n", "4", "--map-by", "node", "--hosts", "vc1:2,vc2:2",
            "true", env={"IMPI_AUTH_KEY": "1"})
check(r.rc != 0 and "follow each other" in r.words, f"ranks that IMPI cannot number: {r}")
r = HostRun(C, "--impi", "127.0.0.1:1", "--impi-rank", "0", "-n", "2", "--hosts", "vc1:1,vc2:1", "true",
            env={"IMPI_AUTH_KEY": "1", "IMPI_HOST_NAME": "vc4:7001"})
check(r.rc != 0 and "tell the same address" in r.words, f"one address for two hosts: {r}")
C.close()
sys.exit(status())
