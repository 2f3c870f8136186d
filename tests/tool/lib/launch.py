"""Helpers for the tests of mpiexec."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

BUILD = os.path.abspath(os.environ.get("BUILD_DIR", "build"))
SOURCE = os.environ.get("SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
MPIEXEC = os.path.join(BUILD, "bin", "mpiexec")
PROBE = os.path.join(BUILD, "tests", "bin", "mpiexec_probe")
# A folder for temporary files of this test alone, so that what others make beside it is not counted.
_own = tempfile.TemporaryDirectory(prefix="test-")
os.environ["TMPDIR"] = tempfile.tempdir = _own.name
with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as cache:
    IS_SANITIZED = any(line.startswith("PLIANT_SANITIZE:") and line.strip()[-1] != "=" for line in cache)
SLOW = 5 if IS_SANITIZED else 1  # times are five times as long under a sanitizer


def sanitizer_behind():
    """From now on a sanitizer's library may come behind those that mpiexec puts first."""
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"


def sanitizer_flags():
    """What other compilers need, too, because a sanitizer's library must come first in a program."""
    said = subprocess.run([os.path.join(BUILD, "bin", "mpicc"), "--showme:compile"], check=True, capture_output=True,
                          text=True).stdout
    return [w for w in said.split() if w.startswith("-fsanitize")]


def criu_works():
    """Whether CRIU is installed, and can work with this kernel and in this container."""
    return shutil.which("criu") is not None and subprocess.run(["criu", "check"], capture_output=True, check=False).returncode == 0


n_failed = 0


def check(condition, what, depth=1):
    """The condition must hold; the test goes on so that one run shows every failure. depth: whose line is named."""
    global n_failed
    if not condition:
        n_failed += 1
        line = sys._getframe(depth).f_lineno
        print(f"line {line}: failed: {what}", flush=True)


def status():
    if n_failed:
        print(f"{n_failed} check(s) failed")
    return 1 if n_failed else 0


def _go_ahead():
    """In a child: a session that goes before others, where one may say so."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-20")
    except OSError:
        pass


class Run:
    """One mpiexec that has ended: rc, out, err (bytes decoded when text), seconds. is_timed: what is measured is this job,
    and not what else the machine does."""

    def __init__(self, *args, stdin=None, env=None, cwd=None, timeout=60, text=True, tool=MPIEXEC, is_timed=False):
        begin = time.monotonic()
        full = dict(os.environ)
        full.update(env or {})
        p = subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, env=full,
                           cwd=cwd, timeout=timeout * SLOW, text=text, check=False,
                           preexec_fn=_go_ahead if is_timed else None,
                           stdin=subprocess.DEVNULL if stdin is None else None)
        self.seconds = time.monotonic() - begin
        self.rc, self.out, self.err = p.returncode, p.stdout, p.stderr

    def __str__(self):
        return f"rc {self.rc}\n--- out\n{self.out}\n--- err\n{self.err}\n---"

    @property
    def words(self):
        """Standard error as one line, without line breaks."""
        return " ".join(self.err.split())


def mark():
    """A variable that every process of a job will carry."""
    return {"TEST_MARK": uuid.uuid4().hex}


def carriers(env):
    """Processes (not zombies) that carry the mark."""
    want = ("TEST_MARK=" + env["TEST_MARK"]).encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if want not in f.read():
                    continue
            with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
                stat = f.read()
            if stat.rpartition(")")[2].split()[0] != "Z":
                found.append((int(pid), stat.partition("(")[2].rpartition(")")[0]))
        except OSError:
            pass
    return found


def gone(env, seconds=30.0, name=None):
    """Wait until nobody, or nobody of this name, carries the mark; who still does."""
    end = time.monotonic() + seconds * SLOW
    while True:
        left = [c for c in carriers(env) if name in (None, c[1])]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.01)


def nothing_left(env, what="left behind"):
    left = gone(env)
    check(not left, f"{what}: {left}", 2)


def clean_up(env):
    for pid, _ in carriers(env):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def shm_files():
    return {f for d in ("/dev/shm", tempfile.gettempdir()) for f in os.listdir(d)
            if "pli" in f.lower() or "mpiexec" in f.lower()}


def inside(name):
    """Words that run a command in a pid namespace of its own; None, said under this name: none can be made here."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        print(f"{name}: not tested, no pid namespace can be made here")
        return None
    return words


def cases(functions, left_out=()):
    """Run each with a mark and a folder, or those the command line names; nothing of them may stay. The exit status."""
    for f in functions:
        if f in left_out or (len(sys.argv) > 1 and f.__name__ not in sys.argv[1:]):
            continue
        env = mark()
        begin = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as d:
                f(env, d)
            nothing_left(env, f"{f.__name__}: left behind")
        finally:
            clean_up(env)
        print(f"{f.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    return status()
