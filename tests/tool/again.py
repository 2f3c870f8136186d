#!/usr/bin/env python3
"""--on-failure=restart: a job whose ranks are killed goes on by itself and has the right answer; and when it does not."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import (PROBE, finish, gate, let_go, numbers, ranks_of, result, shut_gate, skip_reason, start,
                        tidy, undisturbed, wait_for)
from launch import SLOW, Run, cases, check, nothing_left

KILLED = 128 + signal.SIGKILL
AGAIN = "--on-failure=restart"


def words(text):
    return " ".join(text.split())


def kill_one(env):
    os.kill(max(ranks_of(env)), signal.SIGKILL)


def killed(env, d, *mode):
    """Killed twice, with a new checkpoint in between; one mpiexec, one exit status, one answer."""
    want = undisturbed(env, 50, 10 * SLOW)
    p = start(env, "--checkpoint-dir", d, "--checkpoint-interval", "200ms", AGAIN, "--max-restarts", 1, *mode,
              "-n", 2, PROBE, 50, 10 * SLOW, gate(d), *(("state",) if mode else ()))
    done = ", the state of 2 ranks, is in" if mode else " of 2 ranks is in"
    text = wait_for(p, f"checkpoint 2{done}")
    kill_one(env)
    text += wait_for(p, "going on from")
    last = numbers(d)[-1]
    text += wait_for(p, f"checkpoint {last + 1}{done}")
    kill_one(env)
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(text) == (want, 2), f"{p.returncode}\n{text}\nwanted {want}")
    check(words(text).count("The job is restarted from") == 2 and words(text).count("restart 1 of at most 1") == 2, text)
    tidy(d)


def by_state(env, d):
    killed(env, d, "--checkpoint-mode", "state")


def in_vain(env, d):
    """A job that dies at the same place each time ends after --max-restarts; nothing is restarted that was aborted."""
    args = ("--checkpoint-dir", d, AGAIN, "--max-restarts", 2)
    p = start(env, *args, "-n", 2, PROBE, 40, 2, "call=5", "die=20")
    text = finish(p)
    check(p.returncode == KILLED and words(text).count("The job is restarted from") == 2, f"{p.returncode}\n{text}")
    check("not restarted any more: it has failed 3 times since" in words(text), text)
    check(text.count("checkpoint called: restarted") == 2, text)
    # That checkpoint is another job's: this one has none.
    p = start(env, *args, "-n", 2, PROBE, 40, 2, "die=3")
    text = finish(p)
    check(p.returncode == KILLED and "no checkpoint of it was made" in words(text), f"{p.returncode}\n{text}")
    p = start(env, *args, "-n", 2, PROBE, 40, 2, "call=5", "abort=20")
    text = finish(p)
    check(p.returncode == 3 and "restarted" not in text.replace("--on-failure=restart", ""), f"{p.returncode}\n{text}")
    nothing_left(env)
    tidy(d)


def with_size(env, d):
    """Restarted by hand with another number of ranks and killed before there is a new checkpoint: the same number again,
    and the options that were said then."""
    want = undisturbed(env, 30, 10)
    p = start(env, "--checkpoint-dir", d, "-n", 2, PROBE, 30, 10, "call=5", gate(d))
    let_go(p, d)
    shut_gate(d)
    p = start(env, "--restart", d, "-n", 3, AGAIN, "--label")
    text = wait_for(p, " of 3 ranks")
    kill_one(env)
    text += wait_for(p, "is restarted from")
    text = let_go(p, d, text)
    check(p.returncode == 0 and result(re.sub(r"^\[\d+\] ", "", text, flags=re.M)) == (want, 3),
          f"{p.returncode}\n{text}\nwanted {want}")
    check("[0] step 29 of 3 ranks" in text, text)
    tidy(d)


def refused(env, d):
    for args, want in (((AGAIN, "true"), "--on-failure=restart needs --checkpoint-dir"),
                       (("--checkpoint-dir", d, AGAIN, "--max-restarts", "0", "true"), "from 1 to"),
                       (("--auto-restart", "1:2", "true"), "--auto-restart is how")):
        r = Run(*args, env=env)
        check(r.rc == 2 and want in r.words, f"{args}: {r}")


def interrupted(env, d):
    """^C ends the job for good."""
    p = start(env, "--checkpoint-dir", d, AGAIN, "-n", 2, PROBE, 400, 10, "call=3")
    text = wait_for(p, "checkpoint called: made")
    p.send_signal(signal.SIGINT)
    text = finish(p, text)
    check(p.returncode == -signal.SIGINT and "restarted" not in text, f"{p.returncode}\n{text}")


reason = skip_reason()
if reason is not None:
    print(f"only registered state is tested: {reason}")
sys.exit(cases((refused, by_state, killed, in_vain, with_size, interrupted),
               (killed, in_vain, with_size, interrupted) if reason else ()))
