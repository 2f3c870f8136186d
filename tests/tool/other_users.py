#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Another user of this host, and what mpiexec, mpictl and ranks have: he reads, changes, traces and signals nothing, he fills no descriptors,
and nobody maps his memory."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, PROBE, SLOW, Run, carriers, cases, check, criu_works, sanitizer_behind

MPICTL = os.path.join(BUILD, "bin", "mpictl")
AS_OTHER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
OTHER = [*AS_OTHER, sys.executable, "-c"]

# Finds the sockets of a process that have names, connects to each 300 times, and keeps what is not hung up on.
CONNECT = """
import socket, sys, time
pid, kept, n = sys.argv[1], [], 0
for line in open("/proc/net/unix"):
    words = line.split()
    if len(words) == 8 and "@pliant" in words[7] and pid in words[7].split("-"):
        n += 1
        for _ in range(300):
            s = socket.socket(socket.AF_UNIX, int(words[4], 16))
            s.settimeout(20)
            while True:
                try:
                    s.connect("\\0" + words[7][1:])
                    break
                except BlockingIOError:
                    time.sleep(0.01)
            kept.append(s)
            if len(kept) % 10 == 0:  # not more at once than a listener holds
                for s in kept[-10:]:
                    try:
                        assert s.recv(1) == b"", "something was said"
                    except ConnectionResetError:
                        pass
print(n, len(kept))
"""

# A memory as mpiexec has, of another user: full of nonsense, and cut short again and again.
MEMORY = """
import os, sys
fd = os.memfd_create("pliant")
os.write(fd, os.urandom(4096))
print("up", flush=True)
while True:
    os.ftruncate(fd, 0)
    os.ftruncate(fd, 1 << 20)
"""


def n_open(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def start(env, d, *args, words=()):
    p = subprocess.Popen([*words, MPIEXEC, *map(str, args), "sh", "-c", "echo up; cat"], env={**os.environ, **env}, cwd=d,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "up\n", "the job does not start")
    return p


def end(p):
    out, err = p.communicate("", timeout=60 * SLOW)
    check(p.returncode == 0 and err == "", f"rc {p.returncode} {out} {err}")


def sockets(env, d):
    """Who is not the owner is hung up on at once, whatever he connects to."""
    for args in (["--elastic", "1:4"], ["--checkpoint-dir", os.path.join(d, "ckpt"), "--checkpoint-mode", "state"],
                 ["--checkpoint-dir", os.path.join(d, "ckpt2")])[:3 if criu_works() else 2]:
        p = start(env, d, *args, "-n", 1)
        before = n_open(p.pid)
        r = subprocess.run([*OTHER, CONNECT, str(p.pid)], capture_output=True, text=True, check=False, timeout=120 * SLOW)
        n, kept = (int(w) for w in r.stdout.split() or ("0", "0"))
        check(r.returncode == 0 and n >= 1 and kept == 300 * n, f"{args}: {r}")
        check(n_open(p.pid) <= before + 10, f"{args}: {before} descriptors became {n_open(p.pid)}")
        end(p)


def no_descriptors(env, d):
    """All descriptors are in use: mpiexec waits for one instead of asking for ever, and goes on when there is one."""
    p = start(env, d, "--elastic", "1:4", "-n", 1, words=["sh", "-c", 'ulimit -n 64; exec "$@"', "-"])
    name = next(w for line in open("/proc/net/unix", encoding="ascii") for w in line.split()[7:]
                if w.startswith("@pliant-mpiexec") and w.endswith(f"-{p.pid}"))
    script = ("import socket, sys, time\nkept = []\nfor _ in range(80):\n    s = socket.socket(socket.AF_UNIX)\n    s.setblocking(False)\n"
              "    try:\n        s.connect('\\0' + sys.argv[1])\n    except BlockingIOError:\n        time.sleep(0.02)\n    kept.append(s)\n"
              "print('up', flush=True)\nsys.stdin.read()\n")
    q = subprocess.Popen([sys.executable, "-c", script, name[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    q.stdout.readline()
    until = time.monotonic() + 30 * SLOW
    while n_open(p.pid) < 60 and time.monotonic() < until:
        time.sleep(0.02)
    check(n_open(p.pid) >= 60, f"only {n_open(p.pid)} descriptors are open")
    ticks = cpu(p.pid)
    time.sleep(1)
    check(cpu(p.pid) - ticks < 20, f"mpiexec took {cpu(p.pid) - ticks} ticks of a second in which nothing happened")
    q.communicate()
    r = Run("status", p.pid, tool=MPICTL)
    check(r.rc == 0, r)
    r = Run("grow", 1, p.pid, tool=MPICTL)
    check("another version" not in r.err, r)
    p.kill()
    p.communicate()


def cpu(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as f:
        words = f.read().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def memory(env, d):
    """mpictl looks at its user's jobs alone, for root too."""
    q = subprocess.Popen([*OTHER, MEMORY], stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
    q.stdout.readline()
    theirs = start(env, "/", "-n", 1, words=AS_OTHER)
    mine = start(env, d, "-n", 1)
    for _ in range(20):
        r = Run("list", tool=MPICTL)
        check(r.rc == 0 and re.search(rf"^{mine.pid} ", r.out, re.M), r)
        check(not re.search(rf"^{theirs.pid} ", r.out, re.M) and str(q.pid) not in r.out + r.err, r)
    for pid in (theirs.pid, q.pid):
        r = Run("status", pid, tool=MPICTL)
        check(r.rc == 2 and "no mpiexec of yours" in r.err, r)
    r = subprocess.run([*AS_OTHER, MPICTL, "list"], capture_output=True, text=True, check=False, env={**os.environ, **env})
    check(re.search(rf"^{theirs.pid} ", r.stdout, re.M) and not re.search(rf"^{mine.pid} ", r.stdout, re.M), r)
    q.send_signal(signal.SIGKILL)
    q.communicate()
    end(theirs)
    end(mine)


# Takes the first names under which mpictl would look for a process, and never answers.
TAKE = """
import os, socket, sys
pid, n = sys.argv[1], int(sys.argv[2])
space = os.stat("/proc/self/ns/pid").st_ino
kept = []
for i in range(n):
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"\\0pliant-mpiexec-{space}-{pid}" + (f"-{i}" if i > 0 else ""))
    s.listen(1)
    kept.append(s)
print("up", flush=True)
sys.stdin.read()
"""


def taken_names(env, d):
    """Another user has the names of sockets that mpiexec would have: it takes the next one, or says so and runs; mpictl asks its own user's process."""
    for n, is_reached in ((1, True), (7, True), (8, False)):
        p = subprocess.Popen(["sh", "-c", 'echo $$; read x; exec "$@"', "-", MPIEXEC, "--elastic", "1:4", "-n", "1", "sh", "-c", "echo up; cat"],
                             env={**os.environ, **env}, cwd=d, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pid = int(p.stdout.readline())
        q = subprocess.Popen([*OTHER, TAKE, str(pid), str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check(q.stdout.readline() == "up\n", "the names cannot be taken")
        p.stdin.write("\n")
        p.stdin.flush()
        check(p.stdout.readline() == "up\n", f"{n} names taken: the job does not start")
        r = Run("shrink", 1, pid, tool=MPICTL)  # which a job of one rank refuses, once it is asked
        if is_reached:
            check(r.rc != 0 and "another user" not in r.err and "no mpiexec of yours" not in r.err, f"{n} names taken: {r}")
        else:
            check(r.rc == 2 and "belongs to another user (uid 65534)" in r.err, f"{n} names taken: {r}")
        out, err = p.communicate("", timeout=60 * SLOW)
        check(p.returncode == 0, f"rc {p.returncode} {out} {err}")
        check(("have taken all names" in " ".join(err.split())) == (not is_reached), f"{n} names taken: {err}")
        q.communicate()


# What somebody else tries with processes (before "--") and with a folder (behind it); prints what he got of each, as JSON.
ATTACK = """
import ctypes, json, os, resource, signal, socket, sys
at = sys.argv.index("--")
pids, folder, got = [int(w) for w in sys.argv[1:at]], sys.argv[at + 1], []
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4

def call(*args):
    return libc.syscall(*(ctypes.c_long(a) for a in args)) >= 0 or ctypes.get_errno() == 14  # a bad address, not a refusal

def tried(what, f):
    try:
        if f() is not False:
            got.append(what)
    except OSError:
        pass

class Vec(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("len", ctypes.c_size_t)]

page = ctypes.create_string_buffer(4096)
mine = Vec(ctypes.addressof(page), 16)
is_arm = os.uname().machine == "aarch64"
n_there = 0
for pid in pids:
    if not os.path.exists(f"/proc/{pid}"):
        continue  # mpiexec has helpers that end soon
    n_there += 1
    for name in ("environ", "mem", "maps", "smaps", "auxv", "stack", "syscall", "pagemap", "io"):
        tried(f"{pid}: read {name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(0 if name == "mem" else 1))
    for name in ("exe", "cwd", "root", "ns/pid"):
        tried(f"{pid}: link {name}", lambda: os.readlink(f"/proc/{pid}/{name}"))
    tried(f"{pid}: list of descriptors", lambda: os.listdir(f"/proc/{pid}/fd"))
    tried(f"{pid}: list of maps", lambda: os.listdir(f"/proc/{pid}/map_files"))
    for fd in range(64):
        for mode in (os.O_RDONLY, os.O_RDWR):
            tried(f"{pid}: descriptor {fd}", lambda: os.open(f"/proc/{pid}/fd/{fd}", mode))
    for sig in (0, signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        tried(f"{pid}: signal {sig}", lambda: os.kill(pid, sig))
    tried(f"{pid}: ptrace", lambda: libc.ptrace(16, pid, 0, 0) == 0)
    tried(f"{pid}: PTRACE_SEIZE", lambda: libc.ptrace(0x4206, pid, 0, 0) == 0)
    for write, number in ((False, 270 if is_arm else 310), (True, 271 if is_arm else 311)):
        far = Vec(0x400000, 16)
        tried(f"{pid}: process_vm {write}", lambda: call(number, pid, ctypes.addressof(mine), 1, ctypes.addressof(far), 1, 0))
    tried(f"{pid}: limits", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, 1)))
    tried(f"{pid}: priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    tried(f"{pid}: cores", lambda: os.sched_setaffinity(pid, {0}))
    tried(f"{pid}: oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"))
    pidfd = libc.syscall(434, pid, 0)
    for fd in range(64):
        tried(f"{pid}: pidfd_getfd {fd}", lambda: pidfd >= 0 and call(438, pidfd, fd, 0))
    tried(f"{pid}: pidfd_send_signal", lambda: pidfd >= 0 and call(424, pidfd, 9, 0, 0))
n = 0
for where, names, files in os.walk(folder):
    for name in names + files:
        path, n = os.path.join(where, name), n + 1
        if os.path.isdir(path):
            tried(f"{path}: list", lambda: os.listdir(path))
            tried(f"{path}: new file", lambda: os.open(os.path.join(path, "new"), os.O_CREAT | os.O_WRONLY))
        else:
            for mode in (os.O_RDONLY, os.O_WRONLY):
                tried(f"{path}: {mode}", lambda: os.open(path, mode))
        tried(f"{path}: remove", lambda: os.rename(path, path + "-"))
print(json.dumps([n, n_there, got]))
"""


def attack(pids, folder, n_path, what):
    """Nothing of these processes is to be had, nor what is in the folder, where so many names can be seen."""
    r = subprocess.run([*OTHER, ATTACK, *map(str, pids), "--", folder], capture_output=True, text=True, check=False, timeout=60 * SLOW)
    check(r.returncode == 0, f"{what}: {r}")
    n, n_there, got = json.loads(r.stdout or "[0, 0, []]")
    check(n >= n_path and n_there >= min(len(pids), 3) and got == [], f"{what}: {n} names, {n_there} processes, got {got}")


def everything(env, d):
    """A job with checkpoints, whose owner's umask hides nothing: its processes, its folders and files."""
    os.chmod(d, 0o755)
    os.chmod(os.path.dirname(d), 0o711)
    kept, gate = os.path.join(d, "kept"), os.path.join(d, "gate")
    before = set(os.listdir("/dev/shm"))
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    p = subprocess.Popen(["sh", "-c", 'umask 0; exec "$@"', "-", MPIEXEC, "--checkpoint-dir", kept, "--checkpoint-mode", "state", "--metrics", f":{port}", "-n", "2",
                          os.path.join(BUILD, "tests", "bin", "ckpt_probe"), "1000000", "5", "state", "call=4", f"gate={gate}"],
                         env={**os.environ, **env, "PLIANT_NET": "tcp", "PLIANT_IMAGE_DIR": d}, cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    manifest, until = os.path.join(kept, "1", "manifest"), time.monotonic() + 60 * SLOW
    while not os.path.exists(manifest) and p.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    check(os.path.exists(manifest), "no checkpoint was written")
    pids = [pid for pid, _ in carriers(env)]
    check(len(pids) >= 3 and p.pid in pids, f"only {pids} run")
    attack(pids, d, 1, "a job")
    names = {n for n in set(os.listdir("/dev/shm")) - before if not n.startswith("vader_segment.")}  # of a job of Open MPI beside
    check(not names, f"names in /dev/shm: {names}")
    # Who makes the folder readable has not made readable what is in it.
    os.chmod(kept, 0o755)
    attack([], kept, 1, "checkpoints")
    # What --metrics tells is told to all, at this host alone.
    ask = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{port}/metrics', timeout=30).read().decode())"
    r = subprocess.run([*OTHER, ask], capture_output=True, text=True, check=False)
    check(r.returncode == 0 and "pliant_" in r.stdout and not any(w in r.stdout for w in ("TEST_MARK", env["TEST_MARK"])), r)
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split()[1] for line in f if f":{port:04X} 00000000:0000 0A" in line]
    check(rows == [f"0100007F:{port:04X}"], f"--metrics listens at {rows}")
    p.terminate()
    p.communicate(timeout=60 * SLOW)


def tokens(env, d):
    """The token of a world is in no list of processes, and its file is for its owner."""
    os.chmod(d, 0o755)
    os.chmod(os.path.dirname(d), 0o711)
    token_file = os.path.join(d, "token")
    host = subprocess.Popen(["sh", "-c", 'umask 0; exec "$@"', "-", MPIEXEC, "--host-world=3", "--token-file", token_file, "--world-address", "127.0.0.1", "-n", "1", PROBE,
                             "init", "final"], env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60 * SLOW
    while not os.path.exists(token_file) and host.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    with open(token_file, encoding="ascii") as f:
        token = f.read().strip()
    with subprocess.Popen([MPIEXEC, "--join", token, "-n", "1", PROBE, "init", "final"], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as guest:
        while len(carriers(env)) < 6 and guest.poll() is None and host.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        pids = [pid for pid, _ in carriers(env)]
        look = "import sys\nprint([open(f'/proc/{p}/cmdline').read() for p in sys.argv[1:]])"
        r = subprocess.run([*OTHER, look, *map(str, pids)], capture_output=True, text=True, check=False)
        check(r.returncode == 0 and "--join" in r.stdout and token not in r.stdout and token[-16:] not in r.stdout, f"{pids}: {r}")
        attack(pids, d, 1, "a world")
        host.terminate()
        host.communicate(timeout=60 * SLOW)
        guest.terminate()
        guest.communicate(timeout=60 * SLOW)


# In a folder of his: links in the place of files that somebody else will name, and a library that says so when it is loaded.
LAY = """
import os, subprocess, sys
folder, target = sys.argv[1:]
os.mkdir(folder)
os.chmod(folder, 0o777)
for name in ("out", "timeline", "profile", "rank.0", "job"):
    os.symlink(target, os.path.join(folder, name))
subprocess.run(["cc", "-shared", "-fPIC", "-o", os.path.join(folder, "libfound.so"), "-x", "c", "-"], check=True, text=True,
               input='#include <unistd.h>\\n__attribute__((constructor)) static void f(void) { if (write(2, "taken in ", 9)) {} }')
"""


def files(env, d):
    """A folder that another user has prepared leads no output into a file of ours, and no code into our ranks."""
    os.chmod(d, 0o777)
    os.chmod(os.path.dirname(d), 0o711)
    target, folder, own = os.path.join(d, "target"), os.path.join(d, "his"), os.path.join(d, "own")
    with open(target, "w", encoding="ascii") as f:
        f.write("ours\n")
    r = subprocess.run([*OTHER, LAY, folder, target], capture_output=True, text=True, check=False)
    check(r.returncode == 0, r)

    def run(*args, program=("-n", 1, PROBE, "init", "print", "x", "final")):
        r = Run(*args, *program, env=env, cwd=folder)
        with open(target, encoding="ascii") as f:
            check(f.read() == "ours\n", f"{args}: what is ours was written: {r}")
        return r

    link = "it is a symbolic link of another user"
    for option in (("--timeline", "timeline"), ("--profile=profile",), ("-outfile-pattern", "out")):
        r = run(*option)
        check(r.rc == 2 and link in r.words, f"{option}: {r}")
    r = run("--record", folder)
    check(r.rc == 2 and "there is a record already" in r.words, r)
    os.unlink(os.path.join(folder, "job"))
    sanitizer_behind()
    r = run("--record", folder, program=("-n", 2, os.path.join(BUILD, "tests", "bin", "record_probe"), "some"))
    check(r.rc == 1 and "rank.0 cannot be written: File exists" in r.words, r)
    r = run("--tool", "libfound.so")
    check("taken in" not in r.err, f"a library of another user was taken: {r}")
    os.symlink(own, os.path.join(d, "mine"))  # a link of our own is one
    r = Run("-outfile-pattern", os.path.join(d, "mine"), "-n", 1, PROBE, "init", "print", "x", "final", env=env)
    check(r.rc == 0 and os.path.getsize(own) > 0, r)


def checkpoints(env, d):
    """CRIU is in a folder that users do not have in PATH: that is not the reason why they cannot use it."""
    if os.access("/usr/sbin/criu", os.X_OK):
        images = os.path.join(d, "images")
        os.mkdir(images)
        os.chown(images, 65534, 65534)
        os.chmod(d, 0o755)
        os.chmod(os.path.dirname(d), 0o711)
        r = subprocess.run([*AS_OTHER, MPIEXEC, "--checkpoint-dir", images, "-n", "1", "true"], capture_output=True, text=True,
                           check=False, env={**os.environ, **env, "PATH": "/usr/bin:/bin"}, cwd="/")
        check(r.returncode != 0 and "CRIU works for root only" in " ".join(r.stderr.split()), r)


if shutil.which("setpriv") is None or os.geteuid() != 0:
    print("skipped: it takes root and the command setpriv (package util-linux) to be another user")
    sys.exit(77)
for run in ([*OTHER, "pass"], [*AS_OTHER, MPICTL, "--version"], [*AS_OTHER, PROBE]):
    if subprocess.run(run, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        print(f"skipped: another user cannot run {run[4]} here")
        sys.exit(77)
sys.exit(cases((sockets, no_descriptors, taken_names, memory, everything, tokens, files, checkpoints)))
