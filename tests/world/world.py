"""What the programs of this folder share: a folder for sources, builds and logs, and the rows of a table."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from compare import source_options


class NoSource(SystemExit):
    """A source cannot be had; its words say what to do."""


class World:
    """A folder in which all is built, and the lines of the table."""

    def __init__(self, args, name):
        self.name = name
        self.build = args.build.resolve()
        self.work = args.work
        self.bin = self.build / "bin"
        self.jobs = args.jobs
        self.ranks = args.ranks
        self.limit = args.limit
        self.only = args.only
        self.rows = []
        self.env = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}")
        ccache = pathlib.Path("/usr/lib/ccache/cc")
        if ccache.exists():
            self.env["PLIANT_CC"] = str(ccache)

    def run(self, command, cwd, log, limit=None, env=None):
        """Its status (None: out of time) and how long it took; all it wrote is in the log."""
        start = time.monotonic()
        with open(log, "ab") as out:
            p = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 env=env or self.env, start_new_session=True)
            try:
                status = p.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGTERM)
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
                status = None
        return status, time.monotonic() - start

    def must(self, command, cwd, log):
        status, _ = self.run(command, cwd, log)
        if status != 0:
            sys.stdout.write("".join(open(log, errors="replace").readlines()[-20:]))
            sys.exit(f"{self.name}: {' '.join(map(str, command))} failed; all of it is in {log}")

    def row(self, package, program, ranks, status, took, says=""):
        word = "passes" if status == 0 else f"no end within {self.limit} s" if status is None else f"fails ({status})"
        self.rows.append((package, program, str(ranks), word + (f": {says}" if says else ""), f"{took:.0f}"))
        print(f"{package:10} {program:24} {ranks:>3} ranks  {word} {says} ({took:.0f} s)", flush=True)

    def wanted(self, name):
        return not self.only or re.fullmatch(self.only, name)

    def source(self, package):
        """The folder of a Debian source package."""
        have = sorted(p for p in self.work.glob(f"{package}-*") if p.is_dir())
        if not have:
            if shutil.which("apt-get") is None or shutil.which("dpkg-source") is None:
                raise NoSource(f"{self.name}: the sources come from Debian by apt-get and dpkg-source (package dpkg-dev); "
                         "without them unpack them into the folder of --work")
            log = self.work / "apt.log"
            status, _ = self.run(["apt-get", "-q", *source_options(self.work.resolve()), "source", package], self.work, log)
            if status != 0:
                raise NoSource(f"{self.name}: apt-get source {package} failed; what it said is in {log}")
            have = sorted(p for p in self.work.glob(f"{package}-*") if p.is_dir())
        return have[0]

    def folder(self, pattern, what):
        """The folder of a source that Debian does not have: the user puts it, or a link to it, into the folder of --work."""
        have = sorted(p for p in self.work.glob(pattern) if p.is_dir())
        if not have:
            raise NoSource(f"{self.name}: {what}, is not in Debian: unpack it, or make a link to it, in the folder of --work "
                     f"({self.work}), under a name like {pattern}; or name the other parts")
        return have[0]
