#!/usr/bin/env python3
"""Measures messages between two jobs that IMPI joins on this machine, beside TCP itself.

usage: impi.py [--build DIR] [--rounds N] [--quick] [--only METHOD]

Ours and what it is measured by run one after the other, who is first alternates, and the middle of the
ratios counts, since a shared machine is never the same for two minutes. TCP moves the same bytes, from and
to as much memory.
"""
import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
DELAY_MS = 50
OTHERS = ("mpich", "openmpi")


class Bench:
    def __init__(self, build, folder, is_quick):
        self.bin, self.folder, self.is_quick = os.path.join(build, "bin"), folder, is_quick
        self.raw, self.pair = os.path.join(folder, "raw"), os.path.join(folder, "pair")
        self.others = {}  # the program built with other MPIs that are here
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", self.raw,
                        os.path.join(HERE, "impi_raw.c")], check=True)
        subprocess.run([os.path.join(self.bin, "mpicc"), "-O2", "-o", self.pair,
                        os.path.join(HERE, "impi_pair.c")], check=True)
        for mpi in OTHERS:
            if shutil.which(f"mpicc.{mpi}") and os.path.exists(os.path.join(build, "lib", f"libimpi-{mpi}.so")):
                self.others[mpi] = f"{self.pair}.{mpi}"
                subprocess.run([f"mpicc.{mpi}", "-O2", "-o", self.others[mpi], os.path.join(HERE, "impi_pair.c")],
                               check=True)

    def number(self, command, env=None):
        out = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=120,
                             env={**os.environ, **(env or {})})
        if out.returncode != 0:
            sys.exit(f"{command} failed: {out.stderr}")
        return float(out.stdout.split()[-1])

    def tcp(self, *words):
        return self.number([self.raw, *words])

    def impi(self, parts, *words, mpis=()):
        """The last parts are of these MPIs, those before them ours."""
        command = [os.path.join(self.bin, "impirun"), "--local"]
        for i, n in enumerate(parts):
            mpi = mpis[i - len(parts)] if i >= len(parts) - len(mpis) else None
            command += [":"] if i else []
            command += ["--mpi", mpi, "-n", n, self.others[mpi], *words] if mpi else ["-n", n, self.pair, *words]
        return self.number(command)

    def one_job(self, n, *words):
        return self.number([os.path.join(self.bin, "mpiexec"), "-n", n, self.pair, *words])

    # Each of these has two contenders, ours and what it is measured by.

    def latency(self, *mpis):
        n = 1000 if self.is_quick else 5000
        return lambda: self.impi([1, 1], "lat", "far", n, mpis=mpis), lambda: self.tcp("lat", n)

    def bandwidth(self, *mpis):
        n = 64 if self.is_quick else 256
        return lambda: self.impi([1, 1], "bw", "far", 4 * MIB, n, 8, mpis=mpis), lambda: self.tcp("bw", n, 8)

    def native(self):
        n = 20000 if self.is_quick else 100000
        return lambda: self.impi([2, 1], "lat", "near", n), lambda: self.one_job(2, "lat", "near", n)

    def native_bandwidth(self):
        words = ("bw", "near", MIB, 256 if self.is_quick else 1024, 8)
        return lambda: self.impi([2, 1], *words), lambda: self.one_job(2, *words)

    def far_away(self):
        """Long enough that the first answer, which both wait for, does not count."""
        n = 64 if self.is_quick else 256
        return lambda: self.impi_far(n, 64), lambda: self.tcp_far(n, 64)

    def tcp_far(self, n, window):
        with Relay(self.raw) as relay:
            return self.tcp("bw", n, window, relay.address, relay.port)

    def impi_far(self, n, window):
        """Host 0 listens on 127.0.0.1 but says 127.0.0.2, where the relay is."""
        env = {**os.environ, "IMPI_AUTH_NONE": "1"}
        server = subprocess.Popen([os.path.join(self.bin, "impi-server"), "-server", "2", "-bind", "127.0.0.1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
        try:
            with Relay(self.raw) as relay:
                where = server.stdout.readline().strip()
                behind = {**env, "IMPI_HOST_NAME": relay.address, "IMPI_HOST_PORT": str(relay.port),
                          "IMPI_HOST_BIND": "127.0.0.1"}
                words = [self.pair, "bw", "far", str(4 * MIB), str(n), str(window)]
                command = [os.path.join(self.bin, "mpiexec"), "--impi", where, "-n", "1", "--impi-rank"]
                first = subprocess.Popen([*command, "0", *words], stdout=subprocess.PIPE, text=True, env=behind)
                subprocess.run([*command, "1", *words], check=True, env=env, timeout=120)
                ours = float(first.communicate(timeout=120)[0].split()[-1])
                server.wait(timeout=60)
                return ours
        finally:
            server.kill()
            server.wait()


class Relay:
    """From a port of 127.0.0.2 to the same of 127.0.0.1, with a delay."""
    address = "127.0.0.2"

    def __init__(self, raw):
        self.port = free_port()
        self.process = subprocess.Popen([raw, "relay", self.address, str(self.port), str(DELAY_MS)],
                                        start_new_session=True)
        wait_for(self.address, self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, 9)
        self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(address, port):
    for _ in range(500):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((address, port))
            except OSError:
                return  # the server listens
        time.sleep(0.01)


ROWS = (  # what, method, MPIs beside ours, how often in a round, unit, limit: at most, or at least where it is negative
    ("8 B one way through both agents", "latency", (), 2, "us", 3.0),
    ("  Pliant and MPICH", "latency", ("mpich",), 2, "us", 4.0),
    ("  MPICH and Open MPI", "latency", ("mpich", "openmpi"), 2, "us", 5.0),
    ("4 MiB messages, one way", "bandwidth", (), 1, "MB/s", -0.8),
    ("  Pliant and MPICH", "bandwidth", ("mpich",), 1, "MB/s", -0.6),
    ("  MPICH and Open MPI", "bandwidth", ("mpich", "openmpi"), 1, "MB/s", -0.5),
    (f"4 MiB messages, {DELAY_MS} ms away", "far_away", (), 1, "MB/s", -0.9),
    ("8 B one way inside a client", "native", (), 5, "us", 1.03),
    ("1 MiB messages inside a client", "native_bandwidth", (), 3, "MB/s", -0.97),
)


def measure(contenders, n):
    """Pairs of figures, ours first; who runs first alternates."""
    pairs = []
    for i in range(n):
        if i % 2 == 0:
            ours = contenders[0]()
            pairs.append((ours, contenders[1]()))
        else:
            beside = contenders[1]()
            pairs.append((contenders[0](), beside))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", help="rows whose method has this in its name: latency, bandwidth, far_away, native")
    args = parser.parse_args()
    rounds = args.rounds or (3 if args.quick else 7)
    folder = tempfile.mkdtemp(prefix="bench-impi-", dir=args.build)
    n_missed = 0
    try:
        bench = Bench(os.path.abspath(args.build), os.path.abspath(folder), args.quick)
        print(f"{'':36}{'ours':>10}{'beside':>10}{'ratio':>8}   {'rounds':14}aim")
        for what, method, mpis, times, unit, limit in ROWS:
            if args.only and args.only not in method or not set(mpis) <= set(bench.others):
                continue
            pairs = measure(getattr(bench, method)(*mpis), rounds * times)
            ratios = sorted(a / b for a, b in pairs)
            ratio = statistics.median(ratios)
            is_met = ratio <= limit if limit > 0 else ratio >= -limit
            n_missed += not is_met
            ours, beside = (statistics.median(x) for x in zip(*pairs))
            print(f"{what:36}{ours:10.2f}{beside:10.2f}{ratio:8.2f}   {ratios[0]:.2f} .. {ratios[-1]:.2f}"
                  f"  {'<=' if limit > 0 else '>='} {abs(limit)} {'met' if is_met else 'MISSED'} ({unit})",
                  flush=True)
    finally:
        shutil.rmtree(folder)
    return 1 if n_missed else 0


if __name__ == "__main__":
    sys.exit(main())
