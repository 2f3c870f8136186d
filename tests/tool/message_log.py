"""mpiexec --log-messages and --replay-rank: each rank comes through the same states again, without the others."""
import os
import random
import re
import shutil
import struct
import sys
import tempfile

from lib.launch import BUILD, Run, check, sanitizer_behind, status

PROBE = os.path.join(BUILD, "tests", "bin", "message_log_probe")
PARTS = ["wildcards", "large", "probes", "collectives", "windows", "partitions", "cancels", "end"]


def lines(r, rank):
    return re.findall(rf"^{rank} .*$", r.out, re.M)


def whole(d):
    """Every rank alone, after a run of all of them."""
    at = os.path.join(d, "whole")
    env = {"PROBE_SEED": str(random.randrange(1 << 30))}
    first = Run("--log-messages", at, "-n", 3, PROBE, env=env)
    check(first.rc == 0 and first.err == "" and len(first.out.splitlines()) == 3 * len(PARTS), first)
    modes = {name: oct(os.stat(os.path.join(at, name)).st_mode & 0o777) for name in os.listdir(at)}
    check(all(modes[f"{kind}.{rank}"] == "0o600" for kind in ("messages", "rank") for rank in range(3)), f"not for others: {modes}")
    for rank in range(3):
        alone = Run("--replay", at, "--replay-rank", rank, "-n", 3, PROBE, env=env)
        check(alone.rc == 0 and alone.err == "" and alone.out.splitlines() == lines(first, rank),
              f"recorded: {lines(first, rank)} alone: {alone}")
        check([text.split()[1] for text in alone.out.splitlines()] == PARTS, alone)
    # What the others sent is in the log: with other numbers of its own a rank still receives theirs.
    other = Run("--replay", at, "--replay-rank", 0, "-n", 3, PROBE, env={"PROBE_SEED": "5"})
    check(other.out.splitlines()[:3] == lines(first, 0)[:3], other)
    return at, env


def crashed(d):
    """The job was ended in the middle: a rank comes as far as it came, and then says so."""
    at = os.path.join(d, "crashed")
    first = Run("--log-messages", at, "-n", 3, PROBE, "crash")
    check(first.rc != 0 and len(lines(first, 1)) == 2, first)
    again = Run("--replay", at, "--replay-rank", 1, "-n", 3, PROBE, "crash")
    check(again.rc != 0 and lines(again, 1) == lines(first, 1) and "SIGABRT" in again.err, again)
    other = Run("--replay", at, "--replay-rank", 0, "-n", 3, PROBE, "crash")
    check(other.rc == 1 and lines(other, 0)[:len(lines(first, 0))] == lines(first, 0), f"{first} {other}")
    check(re.search(r"replay: rank 0: its log of messages ends here, with \d+ of them", other.err), other)


def bad(at, env):
    def says(why, *args):
        r = Run(*args, "-n", 3, PROBE, env=env)
        check(r.rc == 2 and re.search(why, re.sub(r"\s+", " ", r.err)) and r.out == "", r)

    says("--replay-rank needs --replay DIR", "--replay-rank", 1)
    says("--replay-rank 3: the ranks are 0 to 2", "--replay", at, "--replay-rank", 3)
    says("there is a record already", "--log-messages", at)
    says("--log-messages /proc/x: the directory cannot be made", "--log-messages", "/proc/x")
    says("leave --record out", "--record", at + "x", "--log-messages", at + "x")
    says("--log-messages and --elastic exclude each other", "--elastic", "1:4", "--log-messages", at + "x")
    says("--log-messages needs PLIANT_NET=tcp, not shm", "-x", "PLIANT_NET=shm", "--log-messages", at + "x")
    plain = at + "-plain"
    check(Run("--record", plain, "-n", 3, PROBE, env=env).rc == 0, "recorded")
    says(r"messages.1: No such file or directory; messages are written by --log-messages", "--replay", plain, "--replay-rank", 1)
    cut = at + "-cut"
    shutil.copytree(at, cut)
    path = os.path.join(cut, "messages.0")
    os.truncate(path, os.path.getsize(path) // 2)
    r = Run("--replay", cut, "--replay-rank", 0, "-n", 3, PROBE, env=env)
    check(r.rc == 1 and "its log of messages ends here" in r.err, r)
    damaged(cut, env)
    with open(path, "wb") as f:
        f.write(b"something else")
    r = Run("--replay", cut, "--replay-rank", 0, "-n", 3, PROBE, env=env)
    check(r.rc == 2 and "is not a log of messages that this version" in r.words, r)


def damaged(at, env):
    """One bit that changed is noticed before the program starts, wherever it is, and the place is named."""
    path = os.path.join(at, "messages.0")
    with open(path, "rb") as f:
        whole_log = f.read()
    title, head = 48, 72
    first = title  # that has data: bytes 32 to 39 of a head say how many
    while struct.unpack_from("=Q", whole_log, first + 32) == (0,):
        first += head
    for place, says in ((40, "checksum of its first 48 bytes"), (title + 33, f"the head of the message at byte {title} of {len(whole_log)}"),
                        (first + head, f"the data of the message at byte {first} of")):
        wrong = bytearray(whole_log)
        wrong[place] ^= 4
        with open(path, "wb") as f:
            f.write(wrong)
        r = Run("--replay", at, "--replay-rank", 0, "-n", 3, PROBE, env=env)
        check(r.rc == 2 and r.out == "" and "messages.0 cannot be replayed: it is damaged: the checksum" in r.words and says in r.words, r)


if __name__ == "__main__":
    sanitizer_behind()
    folder = tempfile.mkdtemp()
    try:
        bad(*whole(folder))
        crashed(folder)
    finally:
        shutil.rmtree(folder)
    sys.exit(status())
