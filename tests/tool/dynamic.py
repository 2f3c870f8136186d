#!/usr/bin/env python3
"""Jobs that were started separately meet; programs without mpiexec spawn; nobody is left behind."""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, check, clean_up, mark, nothing_left, status

BIN = os.path.join(BUILD, "tests", "bin")
PORTS, SPAWN = os.path.join(BIN, "mpi.dyn_ports"), os.path.join(BIN, "mpi.dyn_spawn")
GONE = os.path.join(BIN, "gone_probe")


def start(*args, env=None):
    return subprocess.Popen([*map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, **(env or {})})


def end(p, what):
    out, _ = p.communicate(timeout=60 * SLOW)
    check(p.returncode == 0, f"{what}: rc {p.returncode}\n{out}")


def two_jobs(n_server, n_client, name):
    server = start(MPIEXEC, "-n", n_server, PORTS, "serve", name, 4)
    client = start(MPIEXEC, "-n", n_client, PORTS, "call", name, 2)
    other = start(MPIEXEC, "-n", 2, PORTS, "call", name, 1)
    alone = start(PORTS, "call", name, 1)
    for p, what in ((client, "client"), (other, "second client"), (alone, "client without mpiexec"),
                    (server, "server")):
        end(p, what)


def alone_server(name):
    server = start(PORTS, "serve", name, 1)
    client = start(MPIEXEC, "-n", 3, PORTS, "call", name, 1)
    end(client, "client of a server without mpiexec")
    end(server, "server without mpiexec")


def many_clients(name):
    """Places in the tables of jobs that have ended are used again, and no more memory is mapped than they have."""
    n, places = 160, 128
    server = start(PORTS, "serve", name, n)
    for i in range(n):
        if i == n - 1:
            with open(f"/proc/{server.pid}/maps", encoding="utf-8") as maps:
                jobs = {line.split()[4] for line in maps if "/memfd:pliant" in line}
            check(len(jobs) <= places + 2, f"the memory of {len(jobs)} jobs is mapped")
        end(start(PORTS, "call", name, 1), f"client {i}")
    end(server, "server of many clients")


def server_dies(name):
    """A client whose server ends while it waits to be accepted gets an error, not a hang."""
    server = start(MPIEXEC, "-n", 1, "sh", "-c", f"exec {PORTS} serve '{name}' 1")
    first = start(MPIEXEC, "-n", 1, PORTS, "call", name, 2)  # the second time nobody accepts
    out, _ = first.communicate(timeout=60 * SLOW)
    check(first.returncode == 1 and "meeting 1: MPI_Comm_connect: " in out and "was closed" in out,
          f"connecting to a port that is gone: rc {first.returncode}\n{out}")
    end(server, "server")


def client_dies(name):
    """A client that was killed while it waited is passed over; the next one is served."""
    gate = tempfile.NamedTemporaryFile(delete=False)
    server = start(MPIEXEC, "-n", 2, PORTS, "serve", name, 1, gate.name)
    dead = start(MPIEXEC, "-n", 1, PORTS, "call", name, 1, env={"DYN_TELL": "1"})
    check(dead.stdout.readline() == "knocks\n", "a client that knocks")
    time.sleep(0.2 * SLOW)  # it may also die before it has; both are to be survived
    dead.kill()
    dead.communicate()
    client = start(MPIEXEC, "-n", 2, PORTS, "call", name, 1, env={"DYN_TELL": "1"})
    client.stdout.readline()
    os.unlink(gate.name)
    end(client, "client after a dead one")
    end(server, "server of a client that died")


def client_dies_at(name, fault):
    """The same at a point: when nobody looks for what it said, and when the roots have met."""
    gate = tempfile.NamedTemporaryFile(delete=False)
    server = start(MPIEXEC, "-n", 2, PORTS, "serve", name, 1, gate.name)
    if fault != "port_hello":
        os.unlink(gate.name)
    dead = start(MPIEXEC, "-n", 2, PORTS, "call", name, 1, env={"PLIANT_FAULT": fault})
    out, _ = dead.communicate(timeout=60 * SLOW)
    check(dead.returncode == 128 + signal.SIGKILL, f"a client that dies at {fault}: rc {dead.returncode}\n{out}")
    if fault == "port_hello":
        os.unlink(gate.name)
    end(start(MPIEXEC, "-n", 2, PORTS, "call", name, 1), f"client after one that died at {fault}")
    end(server, f"server of a client that died at {fault}")


def client_stands_still(name):
    """A client that does not go on when it has knocked holds nobody up for longer than the server's time limit."""
    with tempfile.NamedTemporaryFile(delete=False) as gate, tempfile.NamedTemporaryFile(delete=False) as hold:
        server = start(MPIEXEC, "-n", 2, PORTS, "serve", name, 1, gate.name, "0.5")
        slow = start(MPIEXEC, "-n", 2, PORTS, "call", name, 1, env={"PLIANT_FAULT": f"port_hello:0@{hold.name}"})
        while not os.path.exists(hold.name + ".held") and slow.poll() is None:
            time.sleep(0.01)
        os.unlink(gate.name)
        end(start(MPIEXEC, "-n", 2, PORTS, "call", name, 1), "client after one that stands still")
        end(server, "server of a client that stands still")
        os.unlink(hold.name + ".held")
        out, _ = slow.communicate(timeout=60 * SLOW)
        check(slow.returncode == 1 and "waits at the port no more" in out,
              f"a client that was given up: rc {slow.returncode}\n{out}")


def client_is_not_waited_for(name):
    """A client without mpiexec that was killed is known to have ended, though its parent has not asked for it."""
    server = start(MPIEXEC, "-n", 2, PORTS, "serve", name, 1)
    dead = start(PORTS, "call", name, 1, env={"PLIANT_FAULT": "port_called"})
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    end(start(MPIEXEC, "-n", 2, PORTS, "call", name, 1), "client after one that nobody waited for")
    end(server, "server of a client that nobody waited for")
    dead.communicate()


def other_is_gone(name, what, died=signal.SIGKILL, rc=0):
    """What was sent to or by a job that has died harms nobody."""
    with tempfile.NamedTemporaryFile(delete=False) as gate:
        server = start(MPIEXEC, "-n", 2, GONE, "serve", what, name, gate.name)
        client = start(MPIEXEC, "-n", 1, GONE, "call", what, name, gate.name)
        out, _ = client.communicate(timeout=60 * SLOW)
        check(client.returncode == 128 + died, f"{what}, client: rc {client.returncode}\n{out}")
        for i in range(130 if what == "next" else 0):
            end(start(GONE, "call", "other", name, gate.name), f"client {i} after the dead one")
        os.unlink(gate.name + (".ready" if what in ("block", "next") else ""))
    out, _ = server.communicate(timeout=60 * SLOW)
    check(server.returncode == rc, f"{what}, server: rc {server.returncode}\n{out}")
    check(rc == 0 or "connected to another one, which has ended" in " ".join(out.split()), f"{what}, server: {out}")


def server_dies_at_once(name):
    """The server dies when the roots have met."""
    server = start(MPIEXEC, "-n", 2, PORTS, "serve", name, 1, env={"PLIANT_FAULT": "port_accepted"})
    client = start(MPIEXEC, "-n", 2, PORTS, "call", name, 1)
    out, _ = client.communicate(timeout=60 * SLOW)
    check(client.returncode == 1 and "has ended" in out, f"client of a server that dies: rc {client.returncode}\n{out}")
    server.communicate(timeout=60 * SLOW)


def joined():
    """Two jobs, and one without mpiexec, with a socket between them."""
    program = os.path.join(BIN, "mpi.dyn_join")
    for command in ([MPIEXEC, "-n", "1"], []):
        with tempfile.TemporaryDirectory() as where:
            sides = [start(*command, program, what, f"{where}/place") for what in ("listen", "call")]
            for p in sides:
                end(p, f"joining two jobs by a socket {command}")


def solo(env):
    p = start(SPAWN, env=env)
    end(p, "spawning without mpiexec")
    nothing_left(env)


def killed(env, who):
    """Kill the launcher or the program in the middle of it: all go."""
    with tempfile.TemporaryDirectory() as folder:
        p = start(*([MPIEXEC, "-n", "2"] if who == "mpiexec" else []), SPAWN, env={**env, "TMPDIR": folder})
        time.sleep(0.1 * SLOW)
        p.send_signal(signal.SIGKILL)
        p.communicate()
    nothing_left(env, f"left behind after {who} was killed")


def crash():
    """A spawned process that dies ends the job, and the message says who it was."""
    r = Run("-n", "2", os.path.join(BIN, "mpi.dyn_crash"))
    check(r.rc == 128 + signal.SIGSEGV, f"exit status {r}")
    check("rank 1 of 2 that were spawned" in r.words, f"message {r}")


def main():
    base = f"tool.dynamic {os.getpid()}"
    env = mark()
    try:
        two_jobs(3, 2, base + " a")
        two_jobs(1, 4, base + " b")
        alone_server(base + " c")
        many_clients(base + " d")
        server_dies(base + " e")
        for i in range(3):
            client_dies(f"{base} f{i}")
        for fault in ("port_hello", "port_called"):
            client_dies_at(f"{base} {fault}", fault)
        client_stands_still(base + " h")
        client_is_not_waited_for(base + " i")
        server_dies_at_once(base + " g")
        for what in ("block", "next", "copy", "full", "held"):
            other_is_gone(f"{base} {what}", what)
        other_is_gone(f"{base} half", "half", signal.SIGSEGV)
        other_is_gone(f"{base} lack", "lack", rc=123)
        joined()
        solo(env)
        for _ in range(5):
            killed(env, "mpiexec")
            killed(env, "program")
        crash()
    finally:
        clean_up(env)
    return status()


sys.exit(main())
