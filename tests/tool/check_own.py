"""Runs the project's own MPI tests under mpiexec --check, which must find nothing in them.

usage: check_own.py [REGEX]    the tests whose name matches; without it a part of them, for CI
"""
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import run_list  # noqa: E402
from lib.launch import BUILD, MPIEXEC, SLOW, SOURCE, check, sanitizer_behind, status  # noqa: E402

FOLDER = os.path.join(SOURCE, "tests", "mpi")
BIN = os.path.join(BUILD, "tests", "bin")


def rows():
    for name in sorted(n for n in os.listdir(FOLDER) if n.endswith(".list")):
        for line in open(os.path.join(FOLDER, name), encoding="utf-8"):
            row = run_list.parse(line, FOLDER)
            if row is not None:
                yield row


def run(row):
    """What --check said about one test; None: it did not end as it should."""
    env = dict(os.environ, **dict(e.split("=", 1) for e in row["env"]))
    program = os.path.join(BIN, "mpi." + row["program"])
    command = [MPIEXEC, "--check", "-n", str(row["ranks"]), *shlex.split(row.get("launch", "")), program,
               *shlex.split(row.get("args", ""))]
    try:
        p = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False,
                           stdin=subprocess.DEVNULL, timeout=row["timeout"] * SLOW)
    except subprocess.TimeoutExpired:
        return False, ["it did not end in time"], None
    said = sorted({re.sub(r"^.*?check: rank \d+: ", "", line) for line in p.stderr.splitlines() if "check: rank" in line})
    return p.returncode == int(row.get("exit", "0")), said, p


# They make mistakes on purpose, which the library refuses; or measure memory, time, messages and connections that --check
# takes too; or count on buffers.
EXCEPT = re.compile(r"tool_traffic|net_count|fail_world.*storm|coll_errors|obj_badargs|p2p_wait|p2p_late|p2p_pairs\.1|comm_cycles|ep_memory")
CI = r"^mpi\.(p2p_order\.2|p2p_pairs\.5|coll_move\.3|coll_reduce\.4|coll_neighbor\.2|comm_split\.3|comm_dup\.2|type_[a-z]*\.2|topo_[a-z]*\.4|thread_p2p\.2|thread_sleep\.2[^|]*|win_threads\.[^|]*|win_passive\.2|ep_attach\.2\.tcp|session_basic\.2[^|]*|fail_world\.4\.pending_2|elastic_told\.4\.elastic[^|]*)$"


def main():
    sanitizer_behind()
    n = 0
    for row in rows():
        name = run_list.test_name(row)
        if EXCEPT.search(name) or not re.search(sys.argv[1] if len(sys.argv) > 1 else CI, name):
            continue
        n += 1
        is_fine, said, p = run(row)
        check(is_fine, f"{name} does not end as it does without --check: {p and p.stdout[-500:] + p.stderr[-2000:]}")
        check(not said, f"{name}: {said}")
    check(n >= (1 if len(sys.argv) > 1 else 10), f"{n} tests were run")
    sys.exit(status())


if __name__ == "__main__":
    main()
