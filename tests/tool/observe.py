#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--profile, --timeline and --tool: a known late rank is named, arrows match, a killed job is written too."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, IS_SANITIZED, MPIEXEC, SLOW, Run, check, status  # noqa: E402

PROBE = os.path.join(BUILD, "tests", "bin", "observe_probe")
SOURCE_TEXT = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "observe_probe.c"), encoding="utf-8").read()
folder = tempfile.mkdtemp()


def line_of(text):
    """file:line of the call that is marked so, as a profile names it."""
    return f"observe_probe.c:{SOURCE_TEXT[:SOURCE_TEXT.index(text)].count(chr(10)) + 1}"


class Timeline:
    def __init__(self, name):
        with open(name, encoding="utf-8") as f:
            self.all = json.load(f)
        self.events = self.all["traceEvents"]
        self.calls = collections.Counter(e["name"] for e in self.events if e["ph"] == "X")
        begins = {e["id"]: e for e in self.events if e["ph"] == "s"}
        ends = {e["id"]: e for e in self.events if e["ph"] == "f"}
        check(begins.keys() == ends.keys(), "every arrow has two ends", 2)
        self.arrows = [(begins[i], ends[i]) for i in begins]
        named = collections.Counter((e["name"], e["pid"], e.get("tid") if e["name"].startswith("thread_") else 0) for e in self.events if e["ph"] == "M")
        check(max(named.values()) == 1, f"one name for each: {named}", 2)
        check(all(("thread_name", e["pid"], e["tid"]) in named and e["dur"] >= 0 for e in self.events if e["ph"] == "X"), "of threads that are named", 2)
        check(self.nested(), "a thread is in one call at a time", 2)

    def messages(self):
        return collections.Counter((a["pid"] - 1, b["pid"] - 1) for a, b in self.arrows if a["cat"] == "message")

    def nested(self):
        """Slices of a thread are one behind the other, or one in the other."""
        open_until = collections.defaultdict(list)
        for e in sorted((e for e in self.events if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"])):
            ends = open_until[e["pid"], e["tid"]]
            while ends and ends[-1] <= e["ts"] + 0.0011:
                ends.pop()
            if ends and e["ts"] + e["dur"] > ends[-1] + 0.0011:
                return False
            ends.append(e["ts"] + e["dur"])
        return True

    def bound(self):
        """Arrows that a viewer cannot bind which reads events by time, of equal time first the longest slice, and then in the order of the file."""
        now, begun, bad = {}, set(), []
        keyed = ((e["ts"], -e["dur"] if e["ph"] == "X" else 0, i, e) for i, e in enumerate(self.events) if e["ph"] in "Xsf")
        for *_, e in sorted(keyed, key=lambda k: k[:3]):
            if e["ph"] == "X":
                now[e["pid"], e["tid"]] = e
                continue
            top = now.get((e["pid"], e["tid"]))
            if top is None or e["ts"] > top["ts"] + top["dur"] + 0.002 or (e["ph"] == "f" and e["id"] not in begun):
                bad.append((e, top))
            begun.add(e["id"])
        return bad

    def inside(self):
        """Every arrow begins and ends in a slice of its thread."""
        slices = collections.defaultdict(list)
        for e in self.events:
            if e["ph"] == "X":
                slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        return all(any(b - 0.002 <= e["ts"] <= c + 0.002 for b, c in slices[e["pid"], e["tid"]])
                   for arrow in self.arrows for e in arrow)

    def names(self):
        return {e["args"]["name"] for e in self.events if e["ph"] == "M" and "name" in e["args"]}


def profile():
    r = Run("--profile", "-n", 3, PROBE, "late")
    words = " ".join(r.err.split())
    barrier, recv = line_of("// late barrier"), line_of("// late recv")
    check(r.rc == 0 and "Look at this first" in r.err, r)
    check("Rank 1 comes last to MPI_Barrier at " + barrier in words, r)
    check(f"1 rank waited 0.{words.split('1 rank waited 0.')[-1][:3]} s for messages of rank 1, longest in MPI_Recv at {recv}"
          in words, r)
    check("rank 0 waited for rank 1" in words and "exchange" in words and "4 B .. 7 B 5 #" in words, r)
    check(r.out == "", "the page goes to standard error")
    rows = [line for line in r.err.splitlines() if line.startswith("rank 0 ")]
    waiting = float(rows[0].split()[-4])
    check(0.15 < waiting < 30, f"five messages, each 40 ms late: {rows[0]}")
    check(all(len(line) < 100 for line in r.err.splitlines()), "lines fit")
    text, page = os.path.join(folder, "p.txt"), os.path.join(folder, "p.html")
    r = Run(f"--profile={text}", "-n", 2, PROBE, "file", os.path.join(folder, "data"))
    said = open(text, encoding="utf-8").read()
    check(r.rc == 0 and "Profile" not in r.err and "MPI_File_write_at_all" in said and "128 KiB" in said, said)
    r = Run(f"--profile={page}", "-n", 2, PROBE, "ring")
    said = open(page, encoding="utf-8").read()
    data = json.loads(said[said.index("const data=") + 11:said.index(";\nconst page")])
    check(data["phases"][0][1] == "?? ríng </script>" and said.count("</script>") == 1, data["phases"])
    check(r.rc == 0 and len(data["ranks"]) == 2 and data["sites"] and "http" not in said.replace("http://www.w3.org/2000/svg", ""),
          "a page that needs nothing else")
    r = Run("--profile=/nonexistent/p.html", "-n", 1, PROBE)
    check(r.rc == 2 and "--profile: /nonexistent/p.html cannot be written" in r.words, r)
    r = Run("--profile", "-n", 1, "/bin/sh", "-c", "exit 0")
    check(r.rc == 0 and "nothing to show" in r.words, r)


def sampled():
    """Of many short calls few are timed, but all are counted, and long waits among them are seen."""
    r = Run("--profile", "-n", 2, PROBE, "many", 20003)
    for call, mark, n in (("Recv", "recv", "20003"), ("Send", "send", "10002"), ("Ssend", "send", "10001"), ("Isend", "isend", "20003"),
                          ("Wait", "wait", "20003"), ("Waitall", "waitall", "20003")):
        row = [line.split() for line in r.err.splitlines() if line.endswith(f"MPI_{call} {line_of('// many ' + mark)}")]
        check(len(row) == 1 and n in row[0], f"{call} {row} {r}")
        if mark == "recv":
            check(0.19 < float(row[0][0]) < 60, f"ten messages, each 20 ms late: {row}")
    check("4 B .. 7 B 60009 #" in " ".join(r.err.split()), r)
    late = [float(line.split()[0]) for line in r.err.splitlines() if line.endswith("s  rank 0 waited for rank 1")]
    check(len(late) == 1 and late[0] > 0.19, r)
    r = Run("--profile", "-n", 1, PROBE, "types", 1001)
    check("4 B .. 7 B 1001 #" in r.words and "8 B .. 15 B 1001 #" in r.words, r)


def timeline():
    name = os.path.join(folder, "t.json")
    r = Run("--timeline", name, "-n", 3, PROBE, "ring")
    check(r.rc == 0 and r.out == "" and r.err == "", r)
    t = Timeline(name)
    check(t.messages() == {(0, 1): 40, (1, 2): 40, (2, 0): 40}, t.messages())
    check(t.calls["MPI_Isend"] == 60 and t.calls["MPI_Allreduce"] == 30 and t.calls["MPI_Sendrecv"] == 30, t.calls)
    check(t.inside() and not t.bound(), f"arrows touch calls: {t.bound()}")
    check(all(b["ts"] >= a["ts"] for a, b in t.arrows), "nothing is received before it was sent")
    sums = [e for e in t.events if e.get("name") == "MPI_Allreduce"]
    check(collections.Counter(e["args"]["collective"] for e in sums) == {i: 3 for i in range(1, 11)}, "collectives have numbers")
    r = Run("--timeline", name, "-n", 2, PROBE, "late")
    t = Timeline(name)
    receives = [e for e in t.events if e.get("name") == "MPI_Recv"]
    check(len(receives) == 5 and all("rank 1 sent" in e["args"]["cause"] and e["args"]["at"] == line_of("// late recv")
                                     for e in receives), receives)
    check(t.calls["exchange"] == 2 and any(e["name"] == "MPI_Pcontrol 3" for e in t.events), t.calls)
    r = Run("--timeline", name, "--timeline-events", 1024, "-n", 1, PROBE, "self", 2000)
    t = Timeline(name)
    check(t.all["otherData"]["events that rings had no room for"] > 5000, t.all["otherData"])


def killed():
    name = os.path.join(folder, "k.json")
    r = Run("--timeline", name, "--profile", "-n", 3, PROBE, "killed")
    check(r.rc != 0 and "did not reach MPI_Finalize" in r.err, r)
    t = Timeline(name)
    check(t.messages() == {(0, 1): 40, (1, 2): 40, (2, 0): 40}, t.messages())
    check(any("SIGKILL" in e["name"] for e in t.events if e["ph"] == "i"), "what mpiexec said is there")
    # mpiexec itself, when the ranks have been through MPI.
    with subprocess.Popen([MPIEXEC, "--timeline", name, "-n", "3", "/bin/sh", "-c", f"{PROBE} ring; echo; exec sleep 1000"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        for _ in range(3):
            p.stdout.readline()
        # The memory that ranks record in is not taken for that of a job.
        listed = subprocess.run([os.path.join(BUILD, "bin", "mpictl"), "list"], capture_output=True, text=True, check=False)
        children = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True, check=False).stdout.split()
        check(str(p.pid) in listed.stdout and children and not any(f"mpictl: {pid}: " in listed.stderr for pid in children), (listed, children))
        p.kill()
    until = time.monotonic() + 60 * SLOW
    while time.monotonic() < until and not open(name, encoding="utf-8").read().endswith("}\n"):
        time.sleep(0.05)
    t = Timeline(name)
    check(t.messages() == {(0, 1): 40, (1, 2): 40, (2, 0): 40}, t.messages())
    check(any("mpiexec was killed" in e["name"] for e in t.events if e["ph"] == "i"), "and why it ends there")
    r = Run("--profile", "-n", 2, PROBE, "scribble")
    check("makes no sense" in r.words and "is left out" in r.words, r)


def kinds_of_ranks():
    name = os.path.join(folder, "e.json")
    r = Run("--timeline", name, "--endpoints", 2, "-n", 2, PROBE, "endpoints")
    t = Timeline(name)
    arrows = [(a["pid"], b["pid"]) for a, b in t.arrows if a["cat"] == "message"]
    check(r.rc == 0 and len(arrows) == 4 and {"main", "endpoint 0", "endpoint 1"} <= t.names(), f"{r} {arrows} {t.names()}")
    r = Run("--profile", "--endpoints", 2, "-n", 2, PROBE, "endpoints")
    check("observe_probe: 4 ranks" in r.err and "did not reach" not in r.err, r)
    check("rank 1 endpoint 0 waited for rank 0 endpoint 1" in r.err and r.err.count("\nrank 1 endpoint 0 ") == 1, r)
    # A clone of MPI_Fork is a rank of its own.
    r = Run("--timeline", name, "--profile", "-n", 2, os.path.join(BUILD, "tests", "bin", "record_probe"), "fork", 10)
    t = Timeline(name)
    many = {(a, b): 20 if a < 2 and b < 2 else 10 for a in range(4) for b in range(4) if a != b}
    check(r.rc == 0 and t.messages() == many and t.calls["MPI_Fork"] == 4 and t.inside(), f"{r} {t.messages()} {t.calls}")
    rows = [line.split() for line in r.err.splitlines() if line.startswith("rank ")]
    check("record_probe: 4 ranks" in r.err and len(rows) == 4 and all(float(row[6]) <= 100 for row in rows), r)
    r = Run("--timeline", name, "-n", 2, PROBE, "spawn")
    t = Timeline(name)
    check(r.rc == 0 and t.messages() == {(0, 3): 1} and t.calls["MPI_Comm_spawn"] == 2, f"{r} {t.messages()} {t.calls}")
    check(sum("(spawned)" in n for n in t.names()) == 2, t.names())
    program, source = os.path.join(folder, "hello"), os.path.join(folder, "hello.f90")
    with open(source, "w", encoding="ascii") as f:
        f.write("program hello\nuse mpi\ninteger ierr\ncall MPI_Init(ierr)\ncall MPI_Barrier(MPI_COMM_WORLD, ierr)\n"
                "call MPI_Finalize(ierr)\nend program\n")
    made = subprocess.run([os.path.join(BUILD, "bin", "mpifort"), "-g", "-o", program, source], capture_output=True, check=False)
    if made.returncode == 0:
        r = Run("--profile", "-n", 2, program)
        check("MPI_Barrier hello.f90:5" in r.err, r)


def clients():
    """Two IMPI clients have a file each, with one zero: together they are one timeline, with the arrows between them."""
    names = [os.path.join(folder, f"client{i}.json") for i in range(2)]
    p = subprocess.run([os.path.join(BUILD, "bin", "impirun"), "--local", "--timeline", names[0], "-n", "2", PROBE, "ring",
                        ":", "--timeline", names[1], "-n", "2", PROBE, "ring"], capture_output=True, text=True, timeout=120 * SLOW, check=False)
    check(p.returncode == 0, p)
    files = [json.load(open(name, encoding="utf-8")) for name in names]
    for f in files:
        check(f["otherData"]["zero"] == "of the world of all IMPI clients", f["otherData"])
        inner = [e["id"] for e in f["traceEvents"] if e["ph"] in "sf"]
        check(sum(inner.count(i) == 1 for i in set(inner)) == 80, "40 messages each way have one end here")
    name = os.path.join(folder, "clients.json")
    with open(name, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": files[0]["traceEvents"] + files[1]["traceEvents"]}, f)
    t = Timeline(name)
    check(t.messages() == {(0, 1): 40, (1, 2): 40, (2, 3): 40, (3, 0): 40}, t.messages())
    check(not t.bound(), t.bound())
    # Clocks of one machine are the same: a message comes after it was sent, but for what the comparison is wrong by.
    ahead = min(b["ts"] - a["ts"] for a, b in t.arrows if a["cat"] == "message")
    check(ahead > -5000 and t.inside(), f"a message came {-ahead} us before it was sent")
    check({"mpiexec of client 0", "mpiexec of client 1"} <= t.names(), t.names())


TOOL = """
#include <mpi.h>
#include <stdio.h>
static int n;
int MPI_Send(const void *b, int c, MPI_Datatype t, int d, int g, MPI_Comm m) { n++; return PMPI_Send(b, c, t, d, g, m); }
int MPI_Barrier(MPI_Comm m) { n++; int e = PMPI_Barrier(m); return e; }
int MPI_Finalize(void) { printf("%s %d\\n", NAME, n); fflush(stdout); return PMPI_Finalize(); }
"""


def tools():
    source, made = os.path.join(folder, "tool.c"), []
    with open(source, "w", encoding="ascii") as f:
        f.write(TOOL)
    for name in ("one", "two"):
        made.append(os.path.join(folder, name + ".so"))
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", f'-DNAME="{name}"', "-I", os.path.join(BUILD, "include"),
                        "-o", made[-1], source], check=True)
    r = Run("--tool", ",".join(made), "-n", 2, PROBE, "late")
    check(r.rc == 0 and sorted(r.out.split("\n")) == ["", "one 10", "one 5", "two 10", "two 5"], r)
    r = Run("--tool", made[1], "--profile", "-n", 2, PROBE, "late")
    check("two 10" in r.out and "Rank 1 comes last to MPI_Barrier at " + line_of("// late barrier") in r.words, r)
    r = Run("--tool", "./none.so", "-n", 1, PROBE)
    check(r.rc == 2 and "no library ./none.so" in r.words, r)
    r = Run("--tool", source, "-n", 1, PROBE)
    check(r.rc == 2 and r.words == f"mpiexec: --tool: {os.path.realpath(source)} is not a shared library that can be read", r)


def main():
    if IS_SANITIZED:
        print("skipped: a sanitizer's library must come before those that mpiexec puts first")
        sys.exit(77)
    profile()
    sampled()
    timeline()
    killed()
    kinds_of_ranks()
    clients()
    tools()
    subprocess.run(["rm", "-rf", folder], check=False)
    sys.exit(status())


if __name__ == "__main__":
    main()
