"""mpiexec --gdb on a terminal: a real gdb stops a rank while the others run, of a replay too; panes of tmux; no terminal."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, SOURCE, Run, check, sanitizer_behind, sanitizer_flags, status  # noqa: E402
from terminal import NEXT, Terminal  # noqa: E402

PROBE = os.path.join(BUILD, "tests", "bin", "record_probe")


def can_trace():
    p = subprocess.run(["gdb", "-q", "-batch", "-ex", "run", "--args", "/bin/true"], capture_output=True, text=True, check=False)
    return "exited normally" in p.stdout


def one_rank(d):
    """Rank 1 of 3 in a replay: stopped twice at the same place with the same message before it."""
    at = os.path.join(d, "record")
    first = Run("--record", at, "-n", 3, PROBE, "order", 4)
    check(first.rc == 0, first)
    seen = []
    for _ in range(2):
        t = Terminal(MPIEXEC, "--replay", at, "--gdb=0", "-n", 3, PROBE, "order", 4)
        t.wait(r"\[gdb of rank 0\]")
        t.wait(r"\(gdb\) ")
        t.type("set confirm off\n")
        t.wait(r"\(gdb\) ")
        t.type("shell echo \"<$LD_PRELOAD>\"\n")
        t.wait(r"\n<>")  # the library that replays is loaded into the program alone
        t.wait(r"\(gdb\) ")
        t.type("break half_way\n")
        t.wait(r"Breakpoint 1 at 0x")
        t.wait(r"\(gdb\) ")
        t.type("run\n")
        t.wait(r"Breakpoint 1, half_way", 120)
        t.wait(r"\(gdb\) ")
        t.type("print sum\n")
        found = t.wait(r"\$1 = (\d+)")
        seen.append(found and found.group(1))
        t.wait(r"\(gdb\) ")
        t.type("delete\ncontinue\n")
        found = t.wait(r"sum [0-9a-f]{16}", 120)
        check(found and found.group(0) == first.out.strip(), t.text)
        t.wait(r"exited normally")
        t.type("quit\n")
        check(t.end() == 0, t.text)
    check(seen[0] is not None and seen[0] == seen[1], seen)


def alone(d):
    """Rank 1 of 3 without the others, from its log of messages."""
    at = os.path.join(d, "messages")
    check(Run("--log-messages", at, "-n", 3, PROBE, "order", 4).rc == 0, "recorded")
    t = Terminal(MPIEXEC, "--replay", at, "--replay-rank", 1, "--gdb", "-n", 3, PROBE, "order", 4)
    t.wait(r"\[gdb of rank 1\]")
    t.wait(r"\(gdb\) ")
    t.type("run\n")
    t.wait(r"exited normally", 120)
    t.type("quit\n")
    check(t.end() == 0 and len(re.findall(r"gdb of rank", t.text)) == 1, t.text)


def one_at_a_time():
    """Both ranks under gdb; a key goes from one to the other, and Ctrl-C stops the program."""
    t = Terminal(MPIEXEC, "--gdb", "-n", 2, PROBE, "order", 8)
    t.wait(r"gdb of rank 0; Ctrl-\] goes to that of the next rank\]")
    t.wait(r"\(gdb\) ")
    t.type("run\n")
    t.type(NEXT)
    t.wait(r"gdb of rank 1; ")
    t.wait(r"\(gdb\) ")
    t.type("run\n")
    t.wait(r"exited normally", 120)
    t.type("quit\n")
    t.wait(r"gdb of rank 0; ")
    t.wait(r"exited normally", 120)
    t.type("shell sleep 100\n")
    time.sleep(0.2)  # not needed: Ctrl-C also ends a command that has not begun
    t.type("\x03")
    t.type("quit\n")
    check(t.end() == 0, t.text)
    check(re.search(r"sum [0-9a-f]{16}", t.text), t.text)


def foreign_programs(d):
    """A program of another MPI stops at its own function, in which its variables can be seen."""
    for abi in (a for a in ("mpich", "openmpi") if shutil.which(f"mpicc.{a}")):
        program = os.path.join(d, abi)
        subprocess.run([f"mpicc.{abi}", "-g", "-w", *sanitizer_flags(), "-o", program,
                        os.path.join(SOURCE, "tests", "abi", "foreign_job.c")], check=True)
        t = Terminal(MPIEXEC, "--gdb=1", "-n", 2, program, "order")
        t.wait(r"\[gdb of rank 1\]")
        t.wait(r"\(gdb\) ")
        t.type("break any_order\n")
        t.wait(r"Breakpoint 1 at 0x")
        t.wait(r"\(gdb\) ")
        t.type("run\n")
        t.wait(r"Breakpoint 1, any_order", 120)
        t.wait(r"\(gdb\) ")
        t.type("print rank\n")
        t.wait(r"\$1 = 1")
        t.wait(r"\(gdb\) ")
        t.type("continue\n")
        t.wait(r"(?s)right with 2.*exited normally|exited normally.*right with 2", 120)  # rank 0 prints it
        t.type("quit\n")
        check(t.end() == 0, t.text)


def spawned():
    """They run by themselves, and it is said how to look at one."""
    t = Terminal(MPIEXEC, "--gdb=1", "-n", 2, os.path.join(BUILD, "tests", "bin", "observe_probe"), "spawn")
    t.wait(r"\(gdb\) ")
    t.type("run\n")
    t.wait(r"exited normally", 120)
    t.type("quit\n")
    check(t.end() == 0 and "2 spawned processes run without gdb; attach to one by gdb -p PID" in " ".join(t.text.split()), t.text)


def in_tmux(d):
    """A server of our own; mpiexec runs in its first pane, and the debuggers in two more."""
    if shutil.which("tmux") is None:
        print("tmux is not there: panes are not tried")
        return
    sock, out = os.path.join(d, "tmux"), os.path.join(d, "status")

    def tmux(*args):
        return subprocess.run(["tmux", "-S", sock, *args], capture_output=True, text=True, check=False).stdout

    def wait_for(what, test):
        end = time.monotonic() + 60 * SLOW
        while not test():
            if time.monotonic() > end:
                check(False, f"{what}: {[tmux('capture-pane', '-p', '-t', p) for p in panes()]}", 2)
                return False
            time.sleep(0.1)
        return True

    def panes():
        return tmux("list-panes", "-F", "#{pane_id}").split()

    def shown(pane):
        return tmux("capture-pane", "-p", "-t", pane)

    env = {k: v for k, v in os.environ.items() if k != "TMUX"}
    subprocess.run(["tmux", "-S", sock, "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "60",
                    f"DEBUGINFOD_URLS= {MPIEXEC} --gdb -n 2 {PROBE} order 8; echo $? > {out}; exec sleep 1000"], check=True, env=env)
    try:
        if wait_for("panes", lambda: len(panes()) == 3) and \
                wait_for("prompts", lambda: all("(gdb)" in shown(p) for p in panes()[1:])):
            debuggers = panes()[1:]
            check(sorted(r for p in debuggers for r in re.findall(r"\[gdb of rank (\d)\]", shown(p))) == ["0", "1"], [shown(p) for p in debuggers])
            for p in debuggers:
                tmux("send-keys", "-t", p, "run", "Enter")
            wait_for("both end", lambda: all("exited normally" in shown(p) for p in debuggers))
            for p in debuggers:
                tmux("send-keys", "-t", p, "quit", "Enter")
            wait_for("mpiexec ends", lambda: os.path.exists(out) and open(out, encoding="ascii").read().strip() == "0")
            check(len(panes()) == 1, panes())
    finally:
        tmux("kill-server")


def crashes():
    """gdb in a batch kills the program that has crashed in it, which is no lack of memory."""
    r = Run("-n", 2, "gdb", "-q", "-batch", "-ex", "run", "-ex", "bt", "--args", os.path.join(BUILD, "tests", "bin", "mpiexec_probe"),
            "init", "barrier", "only", 1, "kill", "SEGV", "end", "sleep", 600, timeout=300)
    check(r.rc == 137 and "SIGSEGV" in r.out and "rank 1 (process" in r.words and "memory" not in r.words, r)
    check("It ran in gdb" in r.words or "only its parent process knows" in r.words, r)  # before Linux 6.15


def main():
    if shutil.which("gdb") is None or not can_trace():
        print("skipped: there is no gdb, or this host permits no ptrace")
        sys.exit(77)
    sanitizer_behind()
    r = Run("--gdb", "-n", 2, PROBE)
    check(r.rc == 2 and "--gdb needs a terminal" in r.words, r)
    r = Run("--gdb", "-n", 2, PROBE, env={"PATH": "/nowhere"})
    check(r.rc == 2 and "there is no gdb in PATH" in r.words, r)
    t = Terminal("/bin/bash", "-ic", f"{MPIEXEC} --gdb -n 1 {PROBE} & wait $!")
    check(t.end() == 2 and "runs in the background" in " ".join(t.text.split()), t.text)
    for bad in ("5", "x", "1-", "0;1", "1-0"):
        t = Terminal(MPIEXEC, f"--gdb={bad}", "-n", 2, PROBE)
        check(t.end() == 2 and f"--gdb={bad}" in t.text, t.text)
    with tempfile.TemporaryDirectory() as d:
        one_rank(d)
        alone(d)
        one_at_a_time()
        spawned()
        foreign_programs(d)
        in_tmux(d)
    crashes()
    sys.exit(status())


if __name__ == "__main__":
    main()
