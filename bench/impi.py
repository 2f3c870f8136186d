#!/usr/bin/env python3
"""Measures messages between two jobs that IMPI joins on this machine, beside TCP itself.

usage: impi.py [--build DIR] [--rounds N] [--quick] [--only METHOD]

Ours and what it is measured by run one after the other, who is first alternates, and the middle of the
ratios counts, since a shared machine is never the same for two minutes. TCP moves the same bytes, from and
to as much memory. For the distance the packets between two network namespaces are held back
(impi_distance.c), so that TCP and what is built on it have the windows and the start of a long way.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

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
        self.distance = os.path.join(folder, "distance")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", self.distance,
                        os.path.join(HERE, "impi_distance.c")], check=True)
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

    def far_away(self, links, n, window):
        """A network of this machine to another, and back, with the system's own TCP between them."""
        return lambda: self.impi_far(links, n, window), lambda: self.tcp_far(n, window)

    def one_link(self):
        return self.far_away(1, 16 if self.is_quick else 48, 16)

    def all_links(self):
        return self.far_away(0, 64 if self.is_quick else 192, 32)

    def tcp_far(self, n, window):
        with Distance(self.distance) as pids:
            return self.tcp("bw", n, window, NEAR_ADDRESS, *pids)

    def impi_far(self, links, n, window):
        env = {**os.environ, "IMPI_AUTH_KEY": "4711", "IMPI_LINKS": str(links)}
        with Distance(self.distance) as pids:
            here, there = (["nsenter", "-n", "-t", pid] for pid in pids)
            server = subprocess.Popen([*here, os.path.join(self.bin, "impi-server"), "-server", "2", "-bind",
                                       NEAR_ADDRESS],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
            try:
                command = [os.path.join(self.bin, "mpiexec"), "--impi", server.stdout.readline().strip(), "-n", "1"]
                words = [self.pair, "bw", "far", str(4 * MIB), str(n), str(window)]
                first = subprocess.Popen([*here, *command, "--impi-rank", "0", *words], stdout=subprocess.PIPE,
                                         text=True, env=env)
                subprocess.run([*there, *command, "--impi-rank", "1", *words], check=True, env=env, timeout=120)
                ours = float(first.communicate(timeout=120)[0].split()[-1])
                server.wait(timeout=60)
                return ours
            finally:
                server.kill()
                server.wait()


NEAR_ADDRESS = "10.77.0.1"


class Distance:
    """Two networks on this machine that are far from each other: processes in the one and the other."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, str(DELAY_MS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        pids = self.process.stdout.readline().split()
        if len(pids) != 2:
            self.process.wait()
            sys.exit("no network at a distance can be made")
        return pids

    def __exit__(self, *_):
        self.process.communicate()


ROWS = (  # what, method, MPIs beside ours, how often in a round, unit, limit: at most, or at least where it is negative
    ("8 B one way through both agents", "latency", (), 2, "us", 3.0),
    ("  Pliant and MPICH", "latency", ("mpich",), 2, "us", 4.0),
    ("  MPICH and Open MPI", "latency", ("mpich", "openmpi"), 2, "us", 5.0),
    ("4 MiB messages, one way", "bandwidth", (), 1, "MB/s", -0.8),
    ("  Pliant and MPICH", "bandwidth", ("mpich",), 1, "MB/s", -0.6),
    ("  MPICH and Open MPI", "bandwidth", ("mpich", "openmpi"), 1, "MB/s", -0.5),
    (f"4 MiB, {DELAY_MS} ms away, one connection", "one_link", (), 1, "MB/s", -0.9),
    ("  as many as Pliant takes there", "all_links", (), 1, "MB/s", -2.0),
    ("8 B one way inside a client", "native", (), 5, "us", 1.03),
    ("1 MiB messages inside a client", "native_bandwidth", (), 3, "MB/s", -0.97),
)


def can_be_far():
    return os.geteuid() == 0 and os.access("/dev/net/tun", os.W_OK) and shutil.which("nsenter") is not None


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
    parser.add_argument("--only", help="rows whose method has this in its name: latency, bandwidth, link, native")
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
            if "link" in method and not can_be_far():
                print(f"{what:36} not measured: needs root, /dev/net/tun and nsenter")
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
