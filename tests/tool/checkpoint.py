#!/usr/bin/env python3
"""Checkpoints: a restarted job ends as one that was left alone, with any number of ranks; whatever fills up or is damaged
on the way, the checkpoint before it is good. faults.py lets processes die meanwhile."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, carriers, cases, check, criu_works, inside, nothing_left

MPICTL = os.path.join(BUILD, "bin", "mpictl")
PROBE = os.path.join(BUILD, "tests", "bin", "ckpt_probe")


def skip_reason():
    """Why no image of a process can be made here; None: it can."""
    if SLOW > 1:
        return "CRIU would read the shadow memory of a sanitizer for hours"
    if shutil.which("criu") is None:
        return "CRIU is not installed (Debian: apt-get install criu)"
    if not criu_works():
        return "CRIU may not work here (criu check)"
    return None


def criu_first(d, script):
    """A PATH on which CRIU is this script, which ends with CRIU itself: $1 is what it does; $dir its images."""
    os.mkdir(os.path.join(d, "bin"))
    name = os.path.join(d, "bin", "criu")
    with open(name, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/bash\ncase "$1" in\ndump) pid=$3 dir=$5 ;;\nrestore) dir=$3 ;;\nesac\n{script}\nexec {shutil.which("criu")} "$@"\n')
    os.chmod(name, 0o700)
    return {"PATH": f"{d}/bin:{os.environ['PATH']}"}


def checksum(data):
    """As launcher/ckpt/ckpt_sum.c has it, of less than a MiB."""
    full, odd1, odd2 = (1 << 64) - 1, 0x9fb21c651e98df25, 0xd6e8feb86659fd93

    def mix(h):
        h = ((h ^ h >> 32) * odd2) & full
        h = ((h ^ h >> 29) * odd1) & full
        return h ^ h >> 32

    streams = [i * odd2 & full for i in range(8)]
    whole = len(data) - len(data) % 64
    for at in range(0, whole, 8):
        one = ((streams[at // 8 % 8] ^ int.from_bytes(data[at:at + 8], sys.byteorder)) * odd1) & full
        streams[at // 8 % 8] = one ^ one >> 31
    h = len(data)
    for one in (*streams, *data[whole:]):
        h = mix(h ^ one)
    return h


def spoil(checkpoint, name):
    """Make a small image one that CRIU cannot use, with a manifest that is right about it."""
    manifest, path = os.path.join(checkpoint, "manifest"), os.path.join(checkpoint, name)
    size = os.path.getsize(path)
    with open(path, "wb") as f:
        f.write(bytes(size))
    with open(manifest, encoding="utf-8") as f:
        lines = f.read().splitlines(True)[:-1]
    text = "".join(f"file {name} {size} {checksum(bytes(size)):016x}\n" if one.startswith(f"file {name} ") else one for one in lines)
    check(text != "".join(lines), f"the manifest knows no {name}")
    with open(manifest, "w", encoding="utf-8") as f:
        f.write(f"{text}end {checksum(text.encode()):016x}\n")


def result(text):
    """The last line of a probe without the number of ranks."""
    found = re.search(r"^result (\S+) with (\d+) ranks$", text, re.M)
    return (found.group(1), int(found.group(2))) if found else (None, 0)


def start(env, *args):
    return subprocess.Popen([MPIEXEC, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})


def wait_for(p, line):
    """Read until a line with this text; what was read."""
    text = ""
    for one in p.stdout:
        text += one
        if line in one:
            return text
    check(False, f"'{line}' did not come:\n{text}")
    return text


def gate(d):
    """For the probe to wait at, a few steps before its end, until open_gate: what a test does meanwhile takes as long as it
    takes."""
    return f"gate={d}.gate"


def open_gate(d):
    open(d + ".gate", "w", encoding="ascii").close()


def shut_gate(d):
    os.unlink(d + ".gate")


def let_go(p, d, text=""):
    open_gate(d)
    return finish(p, text)


def finish(p, text=""):
    out, _ = p.communicate(timeout=100 * SLOW)
    return text + out


def restart(env, where, *args):
    p = start(env, "--restart", where, *args)
    text = finish(p)
    return p.returncode, text


def ranks_of(env):
    return [pid for pid, name in carriers(env) if name == "ckpt_probe"]


def numbers(d):
    return sorted(int(n) for n in os.listdir(d) if n.isdigit())


def tidy(d):
    check(not [n for n in os.listdir(d) if n.startswith(".")], f"left behind: {os.listdir(d)}")


def undisturbed(env, *args):
    p = start(env, "-n", 2, PROBE, *args)
    text = finish(p)
    check(p.returncode == 0, text)
    return result(text)[0]


def by_call(env, d):
    """MPIX_Checkpoint with everything pending; restarted with 3, 5 and 2 ranks."""
    want = undisturbed(env, 24, 5)
    p = start(env, "--checkpoint-dir", d, "-n", 3, PROBE, 24, 5, "call=8", "mb=1", "threads")
    text = finish(p)
    check(p.returncode == 0 and "checkpoint called: made" in text, text)
    check(result(text) == (want, 3), text)
    for args, n in (((), 3), (("-n", 5), 5), (("-n", 2), 2), (("--restart-in-place",), 3)):
        rc, text = restart(env, d, *args)
        check(rc == 0 and "checkpoint called: restarted" in text, f"{args}: {rc}\n{text}")
        check(result(text)[0] == want, f"{args}: {text}\nwanted {want}")
        check(re.search(rf"^step \d+ of {n} ranks$", text, re.M), f"{args}: {text}")
    tidy(d)


def polled(env, d):
    """Restarted with more ranks, a program sees MPI_COMM_RESIZED_WORLD."""
    want = undisturbed(env, 40, 5)
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 40, 5, "call=5", "poll")
    check(result(finish(p)) == (want, 2), "it has its result")
    for n in (3, 6):
        rc, text = restart(env, d, "-n", n)
        check(rc == 0 and result(text) == (want, n), f"{n}: {rc}\n{text}\nwanted {want}")


def forked(env, d):
    """Ranks are cloned after the checkpoint, then before it: all of them come back, with any number of ranks."""
    want = undisturbed(env, 30, 5)
    for call, fork, n in ((5, 10, (4,)), (15, 10, (4, 3, 5))):
        where = os.path.join(d, str(call))
        p = start(env, "--checkpoint-dir", where, "-n", 2, PROBE, 30, 5, f"call={call}", f"fork={fork}")
        text = finish(p)
        check(p.returncode == 0 and result(text) == (want, 4), f"{p.returncode}\n{text}\nwanted {want}")
        for m in n:
            rc, text = restart(env, where, *(("-n", m) if m != 4 else ()))
            check(rc == 0 and "checkpoint called: restarted" in text and result(text) == (want, m),
                  f"{m}: {rc}\n{text}\nwanted {want}")
    # A clone of a restored rank is a rank as any other: how it ends is known.
    where = os.path.join(d, "dies")
    p = start(env, "--checkpoint-dir", where, "-n", 2, PROBE, 30, 5, "call=5", "fork=10", "die=20")
    check("rank 3 (" in finish(p) and p.returncode == 137, f"{p.returncode}")
    rc, text = restart(env, where)
    check(rc == 137 and "rank 3 (" in text and "was killed by signal 9" in " ".join(text.split()), f"{rc}\n{text}")
    tidy(where)


def by_mpictl(env, d):
    """mpictl in the middle of anything; the last two are kept; mpiexec is killed; all is gone; it goes on."""
    want = undisturbed(env, 50, 10)
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 50, 10, gate(d))
    text = wait_for(p, "step 5 ")
    for i in range(1, 4):
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 0 and f"checkpoint {i} of job" in r.out, f"mpictl: {r}")
    check(numbers(d) == [2, 3], f"kept: {os.listdir(d)}")
    p.kill()
    let_go(p, d, text)
    nothing_left(env)
    rc, text = restart(env, d)
    check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}\nwanted {want}")
    tidy(d)


def flooded(env, d, *nets):
    want = undisturbed(env, 60, 1)
    for net, n in nets:
        where = os.path.join(d, str(n))
        p = start({**env, **net}, "--checkpoint-dir", where, "-n", n, PROBE, 60, 1, "flood=300", "threads", "call=50",
                  gate(where))
        text = wait_for(p, "step 2 ")
        for _ in range(4):
            r = Run("checkpoint", p.pid, tool=MPICTL)
            check(r.rc == 0, f"{net}: {r}")
        open_gate(where)
        while Run("checkpoint", p.pid, tool=MPICTL).rc == 0:  # until it finds ranks that have ended
            pass
        text = finish(p, text)
        check(p.returncode == 0 and result(text) == (want, n), f"{net}: {p.returncode}\n{text}")
        rc, text = restart(env, where)
        # The last checkpoint may have been made when a rank had ended, rank 0 perhaps, which has said the result.
        has_all = f"with {n} ranks" in text.splitlines()[0]
        check(rc == 0 and (result(text) == (want, n) or not has_all), f"{net}: {rc}\n{text}\nwanted {want}")
        tidy(where)


def connected(env, d):
    """Ranks with TCP between them, and much on its way: what was said before a checkpoint is heard once, and once after
    a restart."""
    flooded(env, d, ({"PLIANT_NET": "tcp"}, 3), ({"PLIANT_FAKE_HOSTS": "2"}, 4))


def overtaken(env, d):
    """The thread that led is held when the others go on already; one of them leads at the next checkpoint."""
    hold = os.path.join(d, "hold")
    p = start({**env, "PLIANT_FAULT": f"freeze_released:0@{hold}"}, "--checkpoint-dir", os.path.join(d, "images"), "-n", 1, PROBE,
              40, 5, "threads", gate(d))
    text = wait_for(p, "step 3 ")
    with open(hold, "w", encoding="utf-8"):
        pass
    check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "the first")
    while not os.path.exists(hold + ".held") and p.poll() is None:
        time.sleep(0.01)
    c = subprocess.Popen([MPICTL, "checkpoint", str(p.pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    time.sleep(1)  # the other thread has the signal by then, or the test is an easier one
    os.unlink(hold + ".held")
    out, _ = c.communicate(timeout=100 * SLOW)
    check(c.returncode == 0, f"the second: {c.returncode} {out}")
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text)[1] == 1, f"{p.returncode}\n{text}")


def files(env, d):
    """Files that ranks wrote to after the checkpoint go on as they were at it; one that is missing or too short is named,
    and the others are not touched then."""
    want = undisturbed(env, 30, 5)
    log = os.path.join(d, "log")
    images = os.path.join(d, "images")
    steps = "".join(f"step {i}\n" for i in range(30))

    def read(name):
        with open(f"{log}.{name}", encoding="utf-8") as f:
            return f.read()

    for i in range(2):  # the first ends well, the second is killed
        p = start(env, "--checkpoint-dir", images, "-n", 2, PROBE, 30, 5, "call=8", f"log={log}", f"die={20 if i else -1}")
        text = finish(p)
        check(p.returncode == (137 if i else 0), f"{p.returncode}\n{text}")
        check(i or read(0) == read(1) == steps, f"{read(0)}{read(1)}")
        if i:
            break
        rc, text = restart(env, images)
        check(rc == 0 and result(text) == (want, 2), f"{rc}\n{text}\nwanted {want}")
        check("log.0 has grown since the checkpoint" in " ".join(text.split()) and read(0) == read(1) == steps, text)
        check(read("0.tmp") == "of somebody else, and longer", "the file of the same name was touched")
    before = read(0)
    for cut, words in ((lambda: os.truncate(f"{log}.1", 3), "bytes at the checkpoint; it has 3 now"),
                       (lambda: os.unlink(f"{log}.1"), "open, which cannot be found")):
        cut()
        rc, text = restart(env, images)
        check(rc == 1 and f"rank 1 had {log}.1" in " ".join(text.split()) and words in " ".join(text.split()), f"{rc}\n{text}")
        check(read(0) == before, "a file was cut although another is missing")
    tidy(images)


def by_interval(env, d):
    """--checkpoint-interval; a restarted job makes them too; a rank is killed."""
    want = undisturbed(env, 50, 10)
    p = start(env, "--checkpoint-dir", d, "--checkpoint-interval", "200ms", "-n", 2, PROBE, 50, 10, gate(d))
    text = wait_for(p, "checkpoint 2 of 2 ranks is in")
    os.kill(max(ranks_of(env)), signal.SIGKILL)
    text = finish(p, text)
    check(p.returncode == 137, f"{p.returncode}\n{text}")
    p = start(env, "--restart", d)
    text = wait_for(p, f"checkpoint {numbers(d)[-1] + 1} of 2 ranks is in")  # it makes them too
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text) == (want, 2), f"{p.returncode}\n{text}\nwanted {want}")
    tidy(d)


def damaged(env, d):
    """A damaged image is named, and the checkpoint before it used; a damaged manifest; nothing at all."""
    want = undisturbed(env, 20, 5)
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 20, 5, gate(d))
    text = wait_for(p, "step 3 ")
    for _ in range(2):
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "mpictl")
    let_go(p, d, text)
    with open(os.path.join(d, "2", "rank.1", "pages-1.img"), "r+b") as f:
        f.seek(5000)
        byte = f.read(1)
        f.seek(5000)
        f.write(bytes([byte[0] ^ 1]))
    rc, text = restart(env, os.path.join(d, "2"))
    check(rc == 1 and "pages-1.img is damaged" in " ".join(text.split()), f"{rc}\n{text}")
    rc, text = restart(env, d)
    check(rc == 0 and "checkpoint 2 cannot be used" in text and result(text) == (want, 2), f"{rc}\n{text}")
    with open(os.path.join(d, "1", "manifest"), "a", encoding="utf-8") as f:
        f.write("x")
    rc, text = restart(env, d)
    check(rc == 1 and "no checkpoint in" in text, f"{rc}\n{text}")
    with tempfile.TemporaryDirectory() as empty:
        rc, text = restart(env, empty)
        check(rc == 1 and "there is no checkpoint in" in text, f"{rc}\n{text}")


def full_disk(env, d):
    """No room: the job goes on, the checkpoint before is good, nothing of the failed one is left."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", d], capture_output=True,
                      check=False).returncode != 0:
        print("full_disk: skipped, a small file system cannot be mounted here")
        return
    try:
        p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 20, 10, gate(d))
        text = wait_for(p, "step 3 ")
        check(Run("checkpoint", p.pid, tool=MPICTL).rc == 0, "there is room for the first")
        with open(os.path.join(d, "ballast"), "wb", buffering=0) as f:  # nothing is left for close to write
            while True:
                try:
                    f.write(b"x" * 65536)
                except OSError:
                    break
        r = Run("checkpoint", p.pid, tool=MPICTL)
        check(r.rc == 1 and ("written" in r.err or "space" in r.err), f"{r}")
        text = let_go(p, d, text)
        check(p.returncode == 0, f"the job goes on: {p.returncode}\n{text}")
        tidy(d)
        os.unlink(os.path.join(d, "ballast"))
        rc, again = restart(env, d)
        check(rc == 0 and result(again) == result(text), f"{rc}\n{again}")
    finally:
        subprocess.run(["umount", d], check=False)


def state(env, d, how="mpictl"):
    """Registered state: needs no CRIU; restarted with 2, 5 and 1 ranks."""
    want = undisturbed(env, 20, 10)
    p = start(env, "--checkpoint-dir", d, "--checkpoint-mode", "state", "-n", 3, PROBE, 20, 10, "state", gate(d))
    text = wait_for(p, "step 5 ")
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc == 0 and "checkpoint 1 of job" in r.out, f"mpictl: {r}")
    p.kill()
    let_go(p, d, text)
    nothing_left(env)
    for n in (2, 5, 1):
        rc, text = restart(env, os.path.join(d, "1"), "-n", n)
        check(rc == 0 and result(text) == (want, n), f"{n}: {rc}\n{text}\nwanted {want}")
        check("step 1 " not in text, f"it begins where it was: {text}")
    tidy(d)


def make_example(d, name):
    shutil.copytree(os.path.join(SOURCE, "examples", "elastic"), os.path.join(d, "e"))
    made = subprocess.run(["make", "-s", "-C", os.path.join(d, "e"), name], capture_output=True, text=True,
                          check=False, env={**os.environ, "PATH": os.path.join(BUILD, "bin") + ":" + os.environ["PATH"]})
    check(made.returncode == 0, made.stderr)
    return os.path.join(d, "e", name)


def told(env, d):
    """Restarted with another size, a program that waits for it is told by MPI_WORLD_RESIZED, and has the same answer."""
    program, where = make_example(d, "told"), os.path.join(d, "c")
    p = start(env, "-n", 2, program, 1000)
    want = re.search(r"sum (\S+)", finish(p))
    check(want is not None, "it has its answer")
    p = start(env, "--elastic", "1:8", "--on-resize=error", "--checkpoint-dir", where, "-n", 2, program, 1000, 1)
    while Run("status", p.pid, tool=MPICTL).rc != 0 and p.poll() is None:
        time.sleep(0.01)
    r = Run("checkpoint", p.pid, tool=MPICTL)
    check(r.rc == 0 and p.poll() is None, f"it waits for a change: {r}")
    p.kill()
    finish(p)
    rc, text = restart(env, where, "-n", 9)
    check(rc == 2 and "9 ranks are outside --elastic 1:8" in " ".join(text.split()), f"{rc}\n{text}")
    for n in (3, 1, 5):
        rc, text = restart(env, where, "-n", n)
        check(rc == 0 and f"1000 items, 1 changes, {n} ranks at the end: {want.group(0)}" in text, f"{n}: {rc}\n{text}")
    tidy(where)


def example(env, d):
    """The script of the examples: killed with kill -9, restarted with another size."""
    make_example(d, "resize")
    r = subprocess.run(["sh", os.path.join(d, "e", "restart.sh"), "8000"], capture_output=True, text=True, check=False,
                       env={**os.environ, **env, "MPIEXEC": MPIEXEC}, timeout=250)
    check(r.returncode == 0 and "the answers are the same" in r.stdout and "3 ranks at the end" in r.stdout,
          f"{r.returncode}\n{r.stdout}\n{r.stderr}")


def refused(env, d):
    """What cannot be is said in a sentence, and harms nothing."""
    for args, want in ((("--checkpoint-interval", 1, "true"), "needs --checkpoint-dir"),
                       (("--checkpoint-dir", "/proc/nowhere", "true"), "cannot be used"),
                       (("--checkpoint-dir", "/etc/passwd", "true"), "/etc/passwd cannot be used: Not a directory"),
                       (("--checkpoint-keep", "3", "true"), "--checkpoint-keep needs --checkpoint-dir"),
                       (("--restart", "/nowhere"), "No such file"),
                       (("--restart", d, "true"), "takes no program"),
                       (("--checkpoint-dir", d, "--ranks-per-proc", 2, "-n", 2, "true"), "exclude"),
                       (("--checkpoint-dir", d, "--checkpoint-mode", "magic", "true"), "image state")):
        p = start(env, *args)
        text = finish(p)
        check(p.returncode != 0 and want in " ".join(text.split()), f"{args}: {p.returncode} {text}")
    p = start({**env, "PATH": "/nowhere"}, "--checkpoint-dir", d, "-n", 1, PROBE, 1, 1)
    text = finish(p)
    check(p.returncode == 1 and "apt-get install criu" in " ".join(text.split()), text)
    p = start(env, "-n", 1, PROBE, 3, 1, "call=1")
    text = finish(p)
    check(p.returncode == 0 and "without checkpoints" in text, text)
    not_allowed(env, d)


def not_allowed(env, d):
    """CRIU is there and refuses to work, for root and for another user: each is told what helps."""
    fake = os.path.join(d, "criu")
    with open(fake, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 1\n")
    for name, mode in ((fake, 0o755), (d, 0o777), (os.path.dirname(d), 0o711)):
        os.chmod(name, mode)
    for user, want in ((0, "must be allowed CAP_SYS_ADMIN"), (65534, "CRIU works for root only: run mpiexec as root")):
        try:
            r = subprocess.run([MPIEXEC, "--checkpoint-dir", os.path.join(d, str(user)), "-n", "1", "true"], user=user, text=True,
                               capture_output=True, check=False, env={**os.environ, **env, "PATH": f"{d}:/bin"})
        except PermissionError:
            print(f"user {user}: skipped, it cannot be had here")
            continue
        words = " ".join(r.stderr.split())
        check(r.returncode == 1 and want in words and "--checkpoint-mode=state needs none" in words, f"{user}: {r}")


def at_once(env, d):
    """A restart beside the job itself is refused; one that follows kill -9 waits until the old job is swept away."""
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 4000, 20)
    wait_for(p, "step 3 ")
    check(Run("checkpoint", p.pid, tool=MPICTL, env=env).rc == 0, "a checkpoint")
    rc, text = restart(env, d)
    check(rc == 1 and "is still running: end it first" in " ".join(text.split()), f"{rc} {text}")
    q = None
    for _ in range(8):
        if q is not None:
            wait_for(q, "step ")
        p.kill()
        finish(p)
        q = p = start(env, "--restart", d)
    text = wait_for(q, "step ")
    p.terminate()
    text = finish(p, text)
    check("SIGKILL" not in text and p.returncode in (-signal.SIGTERM, 143), f"{p.returncode} {text}")


def out_of_sight(env, d):
    """As in a container that somebody enters: the leader of mpiexec's session is not in its pid namespace."""
    words = inside("out_of_sight")
    if words is None:
        return
    p = subprocess.run([*words, sys.executable, __file__, "by_call", "by_mpictl"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env}, check=False)
    check(p.returncode == 0 and "by_mpictl:" in p.stdout, p.stdout)


def main():
    reason = skip_reason()
    if reason is not None:
        print(f"only registered state is tested: {reason}")
    images = (by_call, connected, polled, forked, by_mpictl, overtaken, files, by_interval, damaged, full_disk, told, example, at_once,
              out_of_sight)
    return cases((refused, state, *images), images if reason else ())


if __name__ == "__main__":
    sys.exit(main())
