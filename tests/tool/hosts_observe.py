#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--profile, --timeline, --check and --gdb of a job on two virtual hosts, one file with arrows between them; and the MPIR table of both."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import skip_reason  # noqa: E402
from hosts import HostRun, left_behind, open_cluster  # noqa: E402
from launch import BUILD, IS_SANITIZED, MPIEXEC, SLOW, check, status  # noqa: E402
from observe import line_of  # noqa: E402
from terminal import NEXT, Terminal  # noqa: E402

CHECK = os.path.join(BUILD, "tests", "bin", "check_probe")
PROBE = os.path.join(BUILD, "tests", "bin", "observe_probe")
if IS_SANITIZED:
    print("skipped: a sanitizer's library must come before those that mpiexec puts first")
    sys.exit(77)


def killed(c, folder, fan):
    """mpiexec is killed when the ranks of all hosts have been through MPI: both files are there, with all of them."""
    name, page = os.path.join(folder, "killed.json"), os.path.join(folder, "killed.txt")
    p = c.popen("vc1", [MPIEXEC, "--launcher", c.launcher, "--hosts", "vc1:1,vc2:2", "--timeline", name, f"--profile={page}", "-n", "3",
                        "/bin/sh", "-c", f"{PROBE} ring; echo; exec sleep 1000"],
                env={**os.environ, "PLIANT_LAUNCH_FAN": str(fan)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for _ in range(3):
        p.stdout.readline()
    subprocess.run(["kill", "-9", str(c.inner(p))], check=True)
    p.wait()
    until = time.monotonic() + 60 * SLOW
    while time.monotonic() < until and not os.path.getsize(page):
        time.sleep(0.05)
    check(not left_behind(c, ["vc1", "vc2"]), "nothing outlives mpiexec for long")
    with open(name, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    check({"rank 0 on vc1", "rank 1 on vc2", "rank 2 on vc2"} <= names, names)
    arrows = {e["id"]: e["ts"] for e in events if e["ph"] == "s" and e["cat"] == "message"}
    ahead = min(e["ts"] - arrows[e["id"]] for e in events if e["ph"] == "f" and e["cat"] == "message")
    check(len(arrows) == 120 and ahead > -5000, (len(arrows), ahead))
    check(any("mpiexec was killed" in e["name"] for e in events if e["ph"] == "i"), "and why it ends there")
    with open(page, encoding="utf-8") as f:
        check("3 ranks on several hosts" in f.read(), "the page has all ranks")


def restored(c, folder):
    """Ranks that go on from images record on, on the hosts they had, and where they change places."""
    images, name = os.path.join(folder, "images"), os.path.join(folder, "restored.json")
    r = HostRun(c, "--hosts", "vc1:1,vc2:2", "--checkpoint-dir", images, "--timeline", name, "--profile", "-n", "3", PROBE, "restored")
    check(r.rc == 3 and "lost" in r.out, r)
    for hosts, first in (("vc1:1,vc2:2", "vc1"), ("vc2:1,vc1:2", "vc2")):
        r = HostRun(c, "--hosts", hosts, "--restart", images)
        check(r.rc == 0 and r.out.count("after") == 20 and "3 ranks on several hosts" in r.err, r)
        rows = [line.split() for line in r.err.splitlines() if line.endswith("MPI_Recv " + line_of("// recv after"))]
        check(len(rows) == 1 and rows[0][3] == "20", f"{rows} {r}")
        with open(name, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        begins = {e["id"]: e["ts"] for e in events if e["ph"] == "s" and e["cat"] == "message"}
        ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f" and e["cat"] == "message"}
        check(len(ends) == 21 and begins.keys() == ends.keys(), f"{len(begins)} {len(ends)} arrows")
        check(min(ends[i] - begins[i] for i in begins) > -5000, "clocks are aligned")
        names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        check(f"rank 0 on {first}" in names, names)


def process_table(c):
    """The debugger is stopped when the processes of all hosts are there, and finds each of them on its host."""
    if shutil.which("gdb") is None:
        print("gdb is not there: no MPIR table")
        return
    p = c.popen("vc1", ["gdb", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set confirm off", "-ex", "break main", "-ex", "run",
                        "-ex", "set var MPIR_being_debugged=1", "-ex", "break MPIR_Breakpoint", "-ex", "continue", "-ex", "print *MPIR_proctable@4",
                        "-ex", "delete", "-ex", "continue", "--args", MPIEXEC, "--launcher", c.launcher, "--hosts", "vc1:2,vc2:2", "-n", "4",
                        "/bin/sh", "-c", "echo pid $$; sleep 1"],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    said = p.communicate(timeout=120 * SLOW)[0]
    if "Operation not permitted" in said:
        print("this host permits no ptrace: no MPIR table")
        return
    found = re.findall(r'host_name = 0x[0-9a-f]+ "([^"]*)".*?pid = (\d+)', said, re.S)
    check([host for host, _ in found] == ["vc1", "vc1", "vc2", "vc2"], said)
    check({pid for _, pid in found} == set(re.findall(r"^pid (\d+)$", said, re.M)), said)


def debugger(c):
    """Each rank under gdb, on its host, at one terminal; what is typed goes to the one that is shown."""
    if shutil.which("gdb") is None:
        print("gdb is not there: no debugger on hosts")
        return
    there = c.popen("vc1", ["gdb", "-q", "-batch", "-ex", "run", "--args", "/bin/true"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if "exited normally" not in there.communicate()[0]:
        print("this host permits no ptrace: no debugger on hosts")
        return
    t = Terminal(*c.words("vc1"), MPIEXEC, "--launcher", c.launcher, "--hosts", "vc1:1,vc2:1", "--gdb", "-n", "2", PROBE, "ring", columns=111)
    t.wait(r"gdb of rank 0; Ctrl-\] goes to that of the next rank\]")
    for rank in range(2):
        t.wait(r"\(gdb\) ")
        t.type("shell echo $HOSTNAME-$(uname -n)\n")
        t.wait(f"-vc{rank + 1}")
        t.wait(r"\(gdb\) ")
        t.type("show width\n")
        t.wait("a line is 11[01]")  # a dumb terminal has one less
        t.wait(r"\(gdb\) ")
        t.type("set breakpoint pending on\ntbreak MPI_Finalize\nrun\n")
        if rank == 0:
            t.type(NEXT)
            t.wait(r"gdb of rank 1; ")
    t.wait(r"breakpoint 1, .*MPI_Finalize", 120)
    t.type("bt\n")
    t.wait(r"observe_probe.c:\d+")
    t.type("continue\n")
    t.type(NEXT)
    t.wait(r"breakpoint 1, .*MPI_Finalize", 120)
    t.type("continue\n")
    t.wait(r"exited normally", 120)
    t.type("quit\n")
    t.wait(r"gdb of rank 1; ")
    t.wait(r"exited normally", 120)
    t.type("quit\n")
    check(t.end() == 0, t.text)


with open_cluster(2) as c, tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "t.json")
    r = HostRun(c, "--hosts", "vc1:2,vc2:2", "--timeline", name, "--profile", "-n", "4", PROBE, "ring")
    check(r.rc == 0 and "4 ranks on several hosts" in r.err, r)
    with open(name, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    begins = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "message"}
    ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == "message"}
    check(len(begins) == 160 and begins.keys() == ends.keys(), f"{len(begins)} arrows")
    ahead = min(ends[i]["ts"] - begins[i]["ts"] for i in begins)
    check(ahead > -5000, f"clocks are aligned: a message came {-ahead} us before it was sent")
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    check("rank 0 on vc1" in names and "rank 3 on vc2" in names, names)
    r = HostRun(c, "--hosts", "vc1:1,vc2:2", "--timeline", name, "-n", "3", PROBE, "killed")
    with open(name, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    check(r.rc != 0 and sum(e["ph"] == "s" and e["cat"] == "message" for e in events) == 120, r)
    r = HostRun(c, "--hosts", "vc1:2,vc2:2", "--check", "--profile", "-n", "4", CHECK, "fine")
    check(r.rc == 0 and "check:" not in r.err and "Profile of check_probe: 4 ranks" in r.err, r)
    r = HostRun(c, "--hosts", "vc1:2,vc2:2", "--check", "-n", "3", CHECK, "unsafe-early")
    check(sum(line.endswith("[unsafe]") for line in r.err.splitlines()) == 1, r)
    if not skip_reason():
        restored(c, folder)
    killed(c, folder, 64)
    killed(c, folder, 1)  # the second daemon is started by the first
    process_table(c)
    debugger(c)
    check(not left_behind(c, ["vc1", "vc2"]), "nothing is left on the hosts")
sys.exit(status())
