"""Helpers for the tests of mpiexec on virtual hosts."""
import atexit
import os
import subprocess
import sys
import tempfile
import time

from launch import BUILD, MPIEXEC, SLOW, SOURCE, check

sys.path.insert(0, os.path.join(SOURCE, "tests", "vcluster"))
import cluster  # noqa: E402


def open_cluster(n, **kw):
    """Virtual hosts, or the end of the test with the reason why there are none."""
    try:
        return cluster.Cluster(n, **kw)
    except cluster.Skip as e:
        print(f"skipped: {e}")
        sys.exit(cluster.SKIP)


class HostRun:
    """One mpiexec that was run in a virtual host and has ended: rc, out, err, seconds."""

    def __init__(self, c, *args, on="vc1", stdin=None, env=None, cwd=None, timeout=60, launcher=None):
        begin = time.monotonic()
        p = c.popen(on, [MPIEXEC, "--launcher", launcher or c.launcher, *args], cwd=cwd, text=True,
                    env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
        try:
            self.out, self.err = p.communicate(stdin, timeout=timeout * SLOW)
        except subprocess.TimeoutExpired:
            subprocess.run(["kill", "-9", str(c.inner(p))], check=False)
            self.out, self.err = p.communicate()
            self.err += f"\n(ended by the test after {timeout * SLOW} s)"
        self.rc = p.returncode
        self.seconds = time.monotonic() - begin

    def __str__(self):
        return f"rc {self.rc} after {self.seconds:.1f} s\n--- out\n{self.out}\n--- err\n{self.err}\n---"

    @property
    def words(self):
        return " ".join(self.err.split())


def left_behind(c, hosts, seconds=30.0):
    """Wait until nothing runs in these hosts; what still does."""
    end = time.monotonic() + seconds * SLOW
    while True:
        left = {h: p for h in hosts if (p := c.processes(h))}
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def small_disk():
    """A file system that is soon full, for all hosts made later: they have copies of the mounts that are there then. Where
    it is, and whether it could be mounted. It goes with this process."""
    where = tempfile.mkdtemp()
    atexit.register(os.rmdir, where)
    is_there = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", where], capture_output=True,
                              check=False).returncode == 0
    if is_there:
        atexit.register(subprocess.run, ["umount", where], check=False)
    return where, is_there


def on_host(c, host, *argv):
    """A command that must succeed there."""
    check(c.popen(host, list(argv)).wait() == 0, f"{host}: {argv}")


def own_disk(c, host, where, size="1g"):
    """Give a host a file system that no other host sees, on this directory. Whether that could be done."""
    p = c.popen(host, ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "none", where], stderr=subprocess.DEVNULL)
    return p.wait() == 0


def files(c, host, where):
    """What a host has in a directory."""
    p = c.popen(host, ["find", where, "-mindepth", "1"], stdout=subprocess.PIPE, text=True)
    return p.communicate()[0].split()


def fill(where):
    """Write until the disk is full."""
    with open(where, "wb", buffering=0) as f:  # else what did not fit is written once more at the end
        try:
            while True:
                f.write(b"x" * 65536)
        except OSError:
            pass


__all__ = ["BUILD", "HostRun", "cluster", "files", "fill", "left_behind", "on_host", "own_disk", "open_cluster", "small_disk"]
