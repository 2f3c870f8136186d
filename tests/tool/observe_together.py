"""--profile, --timeline, --check, --tool, --record and --replay at once: each sees the program's own calls and lines."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from lib.launch import BUILD, IS_SANITIZED, Run, check, status

TESTS = os.path.dirname(os.path.abspath(__file__))
CHECK, RECORD = (os.path.join(BUILD, "tests", "bin", name) for name in ("check_probe", "record_probe"))
TOOL = """
#include <mpi.h>
#include <stdio.h>
static int n;
int MPI_Recv(void *b, int c, MPI_Datatype t, int s, int g, MPI_Comm m, MPI_Status *u) { n++; return PMPI_Recv(b, c, t, s, g, m, u); }
int MPI_Finalize(void) { printf("tool %d\\n", n); fflush(stdout); return PMPI_Finalize(); }
"""


# Many short calls, of which --profile times few, from a place that has no frame pointer.
LOOP = """
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, number;
    long numbers = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3000; i++) {
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
        MPI_Send(&i, 1, i < 2900 ? MPI_INT : MPI_FLOAT, 1 - rank, 3, MPI_COMM_WORLD); // LINE
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        numbers += number;
    }
    MPI_Finalize();
    return numbers < 1;
}
"""


def line_of(mark):
    for n, line in enumerate(open(os.path.join(TESTS, "check_probe.c"), encoding="utf-8"), 1):
        if line.rstrip().endswith("// " + mark):
            return f"check_probe.c:{n}"
    return None


def make_tool(folder, compiler, name):
    source, made = os.path.join(folder, "tool.c"), os.path.join(folder, name)
    with open(source, "w", encoding="ascii") as f:
        f.write(TOOL)
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def all_at_once(folder, program, tool):
    """A mistake is told, the page and the timeline have its line, the tool its call, and the record its rank."""
    here, line = line_of("here: type"), os.path.join(folder, "line.json")
    at = tempfile.mkdtemp(dir=folder)
    r = Run("--check", "--profile", "--timeline", line, "--tool", tool, "--record", os.path.join(at, "r"), "-n", 3, program, "type")
    said = [row for row in r.err.splitlines() if row.startswith("check: ")]
    check(r.rc == 0 and len(said) == 1 and here in said[0] and line_of("there: type") in said[0], r)
    check(sorted(r.out.split()) == ["0", "0", "1", "tool", "tool", "tool"], f"the tool saw one receive: {r.out}")
    check(f"MPI_Recv {here}" in r.err, r)
    with open(line, encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("name") == "MPI_Recv"]
    check(len(events) == 1 and events[0]["args"]["at"] == here, events)
    check(os.path.exists(os.path.join(at, "r", "rank.2")), "recorded")


def many_calls(folder, compiler):
    """The line of a mistake is right behind calls that were not timed, with and without a tool."""
    source, program = os.path.join(folder, "loop.c"), os.path.join(folder, "loop")
    with open(source, "w", encoding="ascii") as f:
        f.write(LOOP)
    subprocess.run([*compiler, "-g", "-O2", "-fomit-frame-pointer", "-o", program, source], check=True)
    line = [n for n, text in enumerate(LOOP.splitlines(), 1) if text.endswith("LINE")][0]
    for more in ([], ["--tool", make_tool(folder, [*compiler, "-w"], "loop.so")]):
        r = Run("--profile", "--check", *more, "-n", 2, program)
        said = [row for row in r.err.splitlines() if row.startswith("check: ")]
        check(r.rc == 0 and said and all(f"loop.c:{line}" in row for row in said), f"{compiler} {more}: {r}")
        r = Run("--profile", "--record", tempfile.mkdtemp(dir=folder) + "/r", *more, "-n", 2, program)
        check(r.rc == 0 and f"MPI_Send loop.c:{line}" in r.err, f"{compiler} {more}: {r}")


def without_mistakes(folder):
    r = Run("--check", "--timeline", os.path.join(folder, "fine.json"), "--record", os.path.join(folder, "fine"), "-n", 3, CHECK, "fine")
    check(r.rc == 0 and r.err == "", r)
    r = Run("--check", "--profile", "--replay", os.path.join(folder, "fine"), "-n", 3, CHECK, "fine")
    check(r.rc == 0 and "check:" not in r.err and "Profile of check_probe" in r.err, r)


def replayed(folder, tool):
    """The order that was recorded comes again under each of the others."""
    for mode in ("order", "many"):
        at = os.path.join(folder, mode)
        first = Run("--record", at, "--tool", tool, "-n", 4, RECORD, mode, 8)
        sums = re.findall(r"^sum .*$", first.out, re.M)
        check(first.rc == 0 and sums and "tool" in first.out, first)
        for other in (("--profile",), ("--timeline", os.path.join(folder, "o.json"), "--tool", tool), ("--check", "--tool", tool)):
            again = Run("--replay", at, *other, "-n", 4, RECORD, mode, 8)
            check(again.rc == 0 and re.findall(r"^sum .*$", again.out, re.M) == sums, f"{mode} {other}: {sums} and {again}")


def main():
    if IS_SANITIZED:
        print("skipped: a sanitizer's library must come before those that mpiexec puts first")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        tool = make_tool(folder, ["cc", "-I", os.path.join(BUILD, "include")], "tool.so")
        all_at_once(folder, CHECK, tool)
        without_mistakes(folder)
        many_calls(folder, [os.path.join(BUILD, "bin", "mpicc")])
        replayed(folder, tool)
        for compiler in ("mpicc.mpich", "mpicc.openmpi"):
            if shutil.which(compiler) is None:
                print(f"{compiler}: not tried")
                continue
            program = os.path.join(folder, "check_probe")
            subprocess.run([compiler, "-g", "-pthread", "-w", "-o", program, os.path.join(TESTS, "check_probe.c")], check=True)
            all_at_once(folder, program, make_tool(folder, [compiler, "-w"], compiler + ".so"))
            many_calls(folder, [compiler])
    sys.exit(status())


if __name__ == "__main__":
    main()
