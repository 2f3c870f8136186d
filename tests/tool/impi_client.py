#!/usr/bin/env python3
"""Jobs of ours that IMPI joins: programs over two and more of them, and what happens when parts die."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, carriers, check, mark, nothing_left, sanitizer_behind, sanitizer_flags, status

IMPIRUN = os.path.join(BUILD, "bin", "impirun")
SERVER = os.path.join(BUILD, "bin", "impi-server")
LIMIT = 200
sanitizer_behind()  # libimpi comes before it in programs of other MPIs
MARK = mark()
os.environ.update(MARK)
for name in ("IMPI_SERVER", "IMPI_CLIENT", "IMPI_AUTH_KEY", "IMPI_AUTH_NONE"):
    os.environ.pop(name, None)


def program(name):
    return os.path.join(BUILD, "tests", "bin", "mpi." + name)


def over(parts, name, *args, env=None):
    """The program over jobs of so many ranks each."""
    words = []
    for n in parts:
        words += [":"] if words else []
        words += ["-n", n, program(name), *args]
    r = Run("--local", *words, tool=IMPIRUN, timeout=LIMIT, env=env)
    check(r.rc == 0, f"{name} over {parts} {env or ''}: {r}")
    return r


def run_programs():
    over([1, 1], "span_p2p")
    over([2, 2], "span_p2p", env={"IMPI_DATALEN": "3000", "IMPI_ACKMARK": "2", "IMPI_HIWATER": "3"})
    over([2, 2], "span_coll")
    over([1, 3], "span_coll", env={"IMPI_COLL_XSIZE": "0"})
    over([1, 1, 1, 1, 1], "span_coll")  # more than four: trees
    over([2, 2], "span_comm", "2")
    over([1, 3, 1], "span_comm", "3")
    over([3], "span_comm", "1")  # one client is enough
    over([2, 2], "span_refuse")
    over([2, 2], "span_window")
    over([1, 1, 3], "span_window")
    over([2, 2], "span_file")
    over([1, 1], "tool_traffic", "impi", "other_job", "messages")
    for parts in ([1, 1], [2, 2], [2]):
        over(parts, "span_dynamic")


def run_dynamic():
    """Jobs inside the IMPI job spawn, and meet others: themselves, and one that is no part of it."""
    over([1, 3], "dyn_spawn")
    over([2, 3], "dyn_ports")
    names = [f"impi {os.getpid()} {k}" for k in range(2)]
    ports = program("dyn_ports")
    served = subprocess.Popen([IMPIRUN, "--local", "-n", "2", ports, "serve", names[0], "3", ":", "-n", "1", ports,
                               "serve", names[1], "1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for words in (("-n", 2, ports, "call", names[0], 1), ("-n", 1, ports, "call", names[0], 2, names[1]),
                  ("-n", 2, ports, "call", names[1], 1)):
        r = Run(*words, timeout=LIMIT)
        check(r.rc == 0, f"another job meets those of an IMPI job: {r}")
    text, _ = served.communicate(timeout=LIMIT * SLOW)
    check(served.returncode == 0, f"jobs inside an IMPI job that were met: {text}")


def run_corpus():
    for name, parts in (("p2p_modes", [1, 1]), ("p2p_wait", [1, 1]), ("p2p_pairs", [2, 3]),
                        ("coll_move", [2, 1]), ("coll_reduce", [2, 2]), ("coll_overlap", [1, 1]),
                        ("coll_inter", [2, 3]), ("coll_neighbor", [1, 1]), ("comm_split", [2, 3]),
                        ("comm_create", [2, 3]), ("comm_inter", [1, 2]),
                        ("topo_cart", [3, 3]), ("topo_graph", [3, 4])):
        over(parts, name)


class Job:
    """Two jobs that wait for a line, of one rank each or of `n`; is_met: wait until they have started."""

    def __init__(self, n=1, is_met=True):
        env = dict(os.environ, IMPI_AUTH_NONE="1")
        self.server = subprocess.Popen([SERVER, "-server", "2", "-bind", "127.0.0.1"], env=env,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        where = self.server.stdout.readline().strip()
        self.jobs = [subprocess.Popen([MPIEXEC, "--impi", where, "--impi-rank", str(k), "-n", str(n),
                                       program("span_comm"), "wait"], env=env, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE) for k in range(2)]
        if is_met:
            check(self.jobs[0].stdout.readline() == "ready\n", "the ranks have met")

    def end(self, line=""):
        out = []
        for j in self.jobs:
            text, err = j.communicate(line, timeout=LIMIT * SLOW)
            out.append((j.returncode, text, " ".join(err.split())))
        self.server.stdout.close()
        self.server.wait(timeout=LIMIT * SLOW)
        nothing_left(MARK)
        return out


def children_of(mpiexec):
    with open(f"/proc/{mpiexec.pid}/task/{mpiexec.pid}/children", encoding="utf-8") as f:
        return [int(word) for word in f.read().split()]


def agent_of(mpiexec):
    """The process that passes the job's messages on."""
    names = dict(carriers(MARK))
    return next(pid for pid in children_of(mpiexec) if names.get(pid) == "pliant-impi")


def kill_agent():
    job = Job()
    os.kill(agent_of(job.jobs[1]), signal.SIGKILL)
    first, second = job.end()
    check(second[0] != 0 and "was killed by" in second[2], f"its own mpiexec: {second}")
    check(first[0] != 0 and "host 0 of client 0 lost host 1 of client 1" in first[2],
          f"the other one names both ends: {first}")


def kill_early():
    """A rank that dies while its job starts: at once when it is there, and some moments later."""
    for pause in (0, 0.002, 0.01, 0.03, 0.1):
        job, pids = Job(n=2, is_met=False), []
        while not pids and job.jobs[1].poll() is None:
            pids = [pid for pid in children_of(job.jobs[1]) if dict(carriers(MARK)).get(pid) == "mpi.span_comm"]
        time.sleep(pause)
        for pid in pids[:1]:
            os.kill(pid, signal.SIGKILL)
        first, second = job.end()
        check(second[0] != 0 and "SIGKILL" in second[2], f"a rank killed after {pause} s, its own mpiexec: {second}")
        said = ("host 0 of client 0 lost host 1 of client 1",  # or it had not said yet who it is
                "host 0 of client 0 waits in vain for a connection from host 1 of client 1")
        check(first[0] != 0 and any(s in first[2] for s in said), f"a rank killed after {pause} s, the other one: {first}")


def kill_server():
    job = Job()
    job.server.kill()
    check(all(end[0] == 0 for end in job.end("go\n")), "the job goes on without its server")


def kill_launcher():
    job = Job()
    job.jobs[0].kill()
    first, second = job.end()
    check(first[0] == -signal.SIGKILL and second[0] != 0 and "lost host 0 of client 0" in second[2],
          f"a job that died ends the others: {second}")


def go_wrong():
    r = Run("--impi", "127.0.0.1:1", "-n", "1", "true")
    check(r.rc == 2 and "--impi-rank" in r.words, f"no rank: {r}")
    r = Run("--impi", "nowhere", "--impi-rank", "0", "true")
    check(r.rc == 2 and "HOST:PORT" in r.words, f"no port: {r}")
    r = Run("--impi", "127.0.0.1:1", "--impi-rank", "0", "true")
    check(r.rc == 1 and "IMPI_AUTH_KEY" in r.words, f"no authentication: {r}")
    r = Run("--impi", "127.0.0.1:1", "--impi-rank", "0", "true", env={"IMPI_AUTH_NONE": "", "IMPI_TIMEOUT": "1"})
    check(r.rc == 1 and "no server listens at 127.0.0.1:1 yet" in r.words and "cannot reach the server" in r.words,
          f"no server: {r}")
    r = Run("--local", "-n", 2, program("span_comm"), ":", "-n", 1, "true", tool=IMPIRUN)
    check(r.rc == 1 and "ended without having called MPI_Init" in r.words, f"a part without MPI: {r}")
    r = Run("--local", "-n", 1, program("span_comm"), ":", "-n", 1, "false", tool=IMPIRUN)
    check(r.rc != 0, f"a part that fails: {r}")
    for words, why in (((), "first word"), (("--local",), "no program"), (("-client", "1"), "HOST:PORT"),
                       (("--local", "--mpi", "nobody", "true"), "not 'nobody'"),
                       (("--local", "true", ":"), "last ':'"), (("--nonsense",), "first word")):
        r = Run(*words, tool=IMPIRUN)
        check((r.rc == 2 and why in r.words) or not words, f"{words}: {r}")
    with tempfile.TemporaryDirectory() as folder:  # without ours beside it, another MPI's mpiexec is not taken
        alone = shutil.copy(IMPIRUN, folder)
        r = Run("-client", "0", "127.0.0.1:1", "-n", 1, "true", tool=alone, env={"IMPI_AUTH_NONE": ""})
        check(r.rc == 2 and f"cannot run {folder}/mpiexec" in r.words, f"impirun alone in a folder: {r}")
    # The loader would take the words of such a path for several libraries, and the part run by itself.
    r = Run("--local", "-n", 1, "true", ":", "--mpi", "mpich", "--shim", "/a b/libimpi-mpich.so", "-n", 1, "true", tool=IMPIRUN)
    check(r.rc == 2 and "no path with a blank" in r.words, r)
    nothing_left(MARK)


# A launcher that knows nothing of IMPI, for which mpiexec of ours has its words taken away and given to the ranks.
OTHER_MPIEXEC = f"""#!/bin/sh
told="IMPI_SERVER=$IMPI_SERVER IMPI_CLIENT=$IMPI_CLIENT"
unset IMPI_SERVER IMPI_CLIENT
n=$2
shift 2
exec {MPIEXEC} -n $n env $told "$@"
"""


def other_library():
    """A program of another MPI with the standard ABI: found out from the library that the loader finds for it."""
    with tempfile.TemporaryDirectory() as top:
        prefix, ours = os.path.join(top, "other"), os.path.join(BUILD, "lib", "libmpi_abi.so.1")
        for name in ("lib", "bin"):
            os.makedirs(os.path.join(prefix, name))
        with open(ours, "rb") as f, open(os.path.join(prefix, "lib", "libmpi_abi.so.1"), "wb") as to:
            to.write(f.read().replace(b"Pliant MPI", b"Stiff  MPI"))
        path = os.path.join(top, "program")
        subprocess.run(["cc", *sanitizer_flags(), "-I", os.path.join(BUILD, "include"), "-o", path, os.path.join(SOURCE, "tests", "mpi", "span_join.c"),
                        ours, f"-Wl,--disable-new-dtags,-rpath,{prefix}/lib"], check=True, capture_output=True)
        r = Run("--local", "-n", 2, path, ":", "-n", 1, program("span_join"), tool=IMPIRUN)
        check(r.rc == 2 and f"no mpiexec is found for {prefix}/lib/libmpi_abi.so.1; name it" in r.words, f"without a launcher: {r}")
        mpiexec = os.path.join(prefix, "bin", "mpiexec")
        with open(mpiexec, "w", encoding="ascii") as f:
            f.write(OTHER_MPIEXEC)
        os.chmod(mpiexec, 0o755)
        r = Run("--local", "-n", 2, path, ":", "-n", 1, program("span_join"), ":", mpiexec, "-n", 1, path, tool=IMPIRUN, timeout=LIMIT)
        check(r.rc == 0 and all(f"rank {k} of 4 sum 6" in r.out for k in range(4)), f"another library: {r}")
        os.environ["LD_PRELOAD"] = os.path.join(BUILD, "lib", "libimpi_abi.so")  # without a world it changes nothing
        r = Run("-n", 2, path)
        del os.environ["LD_PRELOAD"]
        check(r.rc == 0 and "rank 1 of 2 sum 1" in r.out, f"another library alone: {r}")
    nothing_left(MARK)


if len(sys.argv) > 1 and sys.argv[1] == "corpus":
    run_corpus()
elif len(sys.argv) > 1 and sys.argv[1] == "dynamic":
    run_dynamic()
else:
    go_wrong()
    kill_agent()
    kill_early()
    kill_server()
    kill_launcher()
    run_programs()
    other_library()
nothing_left(MARK)
sys.exit(status())
