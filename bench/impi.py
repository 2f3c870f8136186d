#!/usr/bin/env python3
"""Measures messages between two jobs that IMPI joins on this machine, beside TCP itself.

usage: impi.py [--build DIR] [--rounds N] [--quick]

Every round measures ours and TCP's one after the other; the middle of the rounds' ratios counts, since a
shared machine is never the same for two minutes.
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


class Bench:
    def __init__(self, build, folder, is_quick):
        self.bin, self.folder, self.is_quick = os.path.join(build, "bin"), folder, is_quick
        self.raw, self.pair = os.path.join(folder, "raw"), os.path.join(folder, "pair")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-D_GNU_SOURCE", "-o", self.raw,
                        os.path.join(HERE, "impi_raw.c")], check=True)
        subprocess.run([os.path.join(self.bin, "mpicc"), "-O2", "-o", self.pair,
                        os.path.join(HERE, "impi_pair.c")], check=True)

    def number(self, command, env=None):
        out = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, timeout=120,
                             env={**os.environ, **(env or {})})
        if out.returncode != 0:
            sys.exit(f"{command} failed: {out.stderr}")
        return float(out.stdout.split()[-1])

    def tcp(self, *words):
        return self.number([self.raw, *words])

    def impi(self, parts, *words):
        command = [os.path.join(self.bin, "impirun"), "--local"]
        for i, n in enumerate(parts):
            command += ([":"] if i else []) + ["-n", n, self.pair, *words]
        return self.number(command)

    def one_job(self, n, *words):
        return self.number([os.path.join(self.bin, "mpiexec"), "-n", n, self.pair, *words])

    def latency(self):
        n = 1000 if self.is_quick else 5000
        return self.impi([1, 1], "lat", "far", n), self.tcp("lat", n)

    def bandwidth(self):
        n = 64 if self.is_quick else 256
        return self.impi([1, 1], "bw", "far", 4 * MIB, n, 8), self.tcp("bw", n * 4 * MIB)

    def native(self):
        n = 20000 if self.is_quick else 200000
        return self.impi([2, 1], "lat", "near", n), self.one_job(2, "lat", "near", n)

    def native_bandwidth(self):
        n = 256 if self.is_quick else 1024
        return self.impi([2, 1], "bw", "near", MIB, n, 8), self.one_job(2, "bw", "near", MIB, n, 8)

    def far_away(self):
        """Host 0 listens on 127.0.0.1 but says 127.0.0.2, where the relay is."""
        port, n = free_port(), 32 if self.is_quick else 64
        relay = subprocess.Popen([self.raw, "relay", "127.0.0.2", str(port), str(DELAY_MS)],
                                 start_new_session=True)
        server = subprocess.Popen([os.path.join(self.bin, "impi-server"), "-server", "2", "-bind", "127.0.0.1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env={**os.environ, "IMPI_AUTH_NONE": "1"})
        try:
            wait_for("127.0.0.2", port)
            tcp = self.tcp("bw", n * 4 * MIB, "127.0.0.2", port)
            where = server.stdout.readline().strip()
            env = {**os.environ, "IMPI_AUTH_NONE": "1"}
            back = {**env, "IMPI_HOST_NAME": "127.0.0.2", "IMPI_HOST_PORT": str(port),
                    "IMPI_HOST_BIND": "127.0.0.1"}
            words = [self.pair, "bw", "far", str(4 * MIB), str(n), str(n)]
            command = [os.path.join(self.bin, "mpiexec"), "--impi", where, "-n", "1", "--impi-rank"]
            first = subprocess.Popen([*command, "0", *words], stdout=subprocess.PIPE, text=True, env=back)
            subprocess.run([*command, "1", *words], check=True, env=env, timeout=120)
            ours = float(first.communicate(timeout=120)[0].split()[-1])
            server.wait(timeout=60)
            return ours, tcp
        finally:
            os.killpg(relay.pid, 9)
            relay.wait()
            server.kill()
            server.wait()


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
                return  # somebody is there
        time.sleep(0.01)


ROWS = (  # what, method, unit, limit: up to (at most, or at least where negative)
    ("8 B one way through both agents", "latency", "us", 4.0),
    ("4 MiB messages, one way", "bandwidth", "MB/s", -0.6),
    (f"4 MiB messages, {DELAY_MS} ms away", "far_away", "MB/s", -0.8),
    ("8 B one way inside a client", "native", "us", 1.03),
    ("1 MiB messages inside a client", "native_bandwidth", "MB/s", -0.97),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    rounds = args.rounds or (3 if args.quick else 7)
    folder = tempfile.mkdtemp(prefix="bench-impi-", dir=args.build)
    n_missed = 0
    try:
        bench = Bench(os.path.abspath(args.build), os.path.abspath(folder), args.quick)
        print(f"{'':36}{'ours':>10}{'beside':>10}{'ratio':>8}   {'rounds':14}aim")
        for what, method, unit, limit in ROWS:
            pairs = [getattr(bench, method)() for _ in range(rounds)]
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
