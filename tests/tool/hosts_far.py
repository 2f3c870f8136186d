#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""MPI_Fork with clones on another (virtual) host than their parents, because there is room or because they are wanted there:
they are as those that stay; whoever dies on the way, the world stays as it was or the job ends, and nothing is left behind."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import skip_reason
from hosts import HostRun, left_behind, on_host, own_disk
from hosts_fork import HAS_OWN, IMAGES, PROBE, WORLD, C, failures, is_as_before, output, run, threads
from launch import MPIEXEC, SLOW, cases, check

CROSSED = ("vc2,vc1",)  # hint host, for clones that change places


def places(r):
    """Where the ranks are, in their order."""
    return [host for _, host in sorted(re.findall(r"rank (\d) is on (\w+)", r.out))]


def far_output(env, d):
    """What they print, and read."""
    output(env, d, CROSSED)


def far_threads(env, d):
    """Their threads."""
    threads(env, d, CROSSED)


def far_failures(env, d):
    """How they end."""
    failures(env, d, CROSSED)


def there(env, _):
    """Clones go to another host: because there is room, or because they are wanted there; the world is the same."""
    for n, hosts, args in ((2, "vc1:1,vc2:4", ("once", 2)), (3, "vc1:1,vc2:1,vc3:6", ("once", 3)),
                           (4, "vc1:2,vc2:1,vc3:8", ("again",)), (3, "vc1:1,vc2:1,vc3:6", ("refuse",))):
        r = HostRun(C, "-n", n, "--hosts", hosts, WORLD, *args, env={"PLIANT_IMAGE_DIR": IMAGES, **env})
        check(r.rc == 0, f"{hosts} {args}: {r}")
    for args, hosts, to, want in (
            (("-n", 2), "vc1:1,vc2:3", (), ["vc1", "vc2", "vc2", "vc2"]),  # one has no room
            (("-n", 2), "vc1:1,vc2:2", (), ["vc1", "vc2", "vc1", "vc2"]),  # who can stay has the first choice
            (("-n", 2), "vc1:1,vc2:1", (), ["vc1", "vc2", "vc1", "vc2"]),  # nobody has: never "no slots"
            (("-n", 2), "vc1,vc2", (), ["vc1", "vc2", "vc1", "vc2"]),
            (("-n", 2, "--elastic", "1:9"), "vc1:1,vc2:1,vc3:5", (), ["vc1", "vc2", "vc3", "vc3"]),
            (("-n", 2), "vc1:1,vc2:1", ("vc2,vc1",), ["vc1", "vc2", "vc2", "vc1"]),
            (("-n", 2), "vc1:1,vc2:1", ("vc2",), ["vc1", "vc2", "vc2", "vc2"]),
            (("-n", 2), "vc1:1,vc2:1", ("localhost",), ["vc1", "vc2", "vc1", "vc1"]),
            (("-n", 2, "--movable"), "vc1:1,vc2:1", ("vc2,vc1",), ["vc1", "vc2", "vc2", "vc1"])):
        r = run(env, "where", *args, hosts=hosts, to=to)
        check(r.rc == 0 and places(r) == want, f"{args} {hosts} {to}: {places(r)} {r}")
    for to, words in (("vc3", "host vc3 is not of this job"), ("vc2:x", "'vc2:x' "), ("-oProxyCommand=x", "'-oProxyCommand=x'")):
        r = run(env, "where", to=(to,))
        check(is_as_before(r) and words in r.out, f"{to}: {r}")


def dies(env, _):
    """A clone on its way, those who send and take it, and the daemons: the world stays as it was, or the job ends."""
    for fault in ("fork_clone:0", "fork_left:2", "fork_arrived:2", "fork_become:2", "image_send:0", "image_take:1"):
        r = run({**env, "PLIANT_FAULT": fault}, "", to=("vc2",))
        check(is_as_before(r), f"{fault}: {r}")
    for fault in ("daemon_fork_dump:0", "daemon_fork_send:0", "daemon_fork_restore:1", "daemon_fork_restored:1",
                  "daemon_move_got:1", "fork_split:0", "fork_made:0", "fork_agreed:0", "fork_agreed:1", "fork_enter:2",
                  "mpiexec_coming", "mpiexec_commit:0", "mpiexec_committed:2", "mpiexec_resized"):
        r = run({**env, "PLIANT_FAULT": fault}, "", to=("vc2",))
        check(r.rc != 0, f"{fault}: {r}")
    r = run({**env, "PLIANT_FAULT": "fork_ready:2"}, "", to=("vc2",))
    check(is_as_before(r) or r.rc != 0, f"fork_ready: {r}")


def cannot(env, _):
    """No room for the image on either side, no CRIU: said where a host was named; else clones stay."""
    if not HAS_OWN:
        print("not tested: file systems cannot be mounted here")
        return
    for host in ("vc1", "vc2"):
        check(own_disk(C, host, IMAGES, "64k"), f"a disk of {host}")
        r = run(env, "where", to=("vc2",))
        check(is_as_before(r) and "host vc1: " in r.out and "No space left" in r.out, f"{host}: {r}")
        on_host(C, host, "umount", IMAGES)
    criu = shutil.which("criu")
    for host in ("vc1", "vc2"):
        on_host(C, host, "mount", "--bind", "/dev/null", criu)
        r = run(env, "where", to=("vc2",))
        check(is_as_before(r) and f"host {host}: CRIU is not there: install it" in r.out, f"{host}: {r}")
        r = run(env, "where", "-n", 2, hosts="vc1:1,vc2:3")
        check(r.rc == 0 and places(r) == ["vc1", "vc2", "vc1", "vc2"], f"{host}: {places(r)} {r}")
        on_host(C, host, "umount", criu)


def cause(env, d):
    """The reason is known before the ranks ask how it went, and is told all the same."""
    if not HAS_OWN:
        print("not tested: file systems cannot be mounted here")
        return
    hold = os.path.join(d, "hold")
    open(hold, "w", encoding="ascii").close()
    check(own_disk(C, "vc1", IMAGES, "64k"), "a disk of vc1")
    argv = [MPIEXEC, "-v", "--launcher", C.launcher, "--hosts", "vc1:1,vc2:1", PROBE, "where", "vc2"]
    with C.popen("vc1", argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                 env={**os.environ, "PLIANT_IMAGE_DIR": IMAGES, **env, "PLIANT_FAULT": f"fork_agreed:0@{hold}"}) as p:
        said = next((line for line in p.stderr if "resize: over" in line), "")
        check(os.path.exists(hold + ".held"), "rank 0 waits")
        os.unlink(hold + ".held")
        out, err = p.communicate(timeout=60 * SLOW)
    check(said != "" and p.returncode == 0 and out.count("No space left") == 2 and "host vc1: " in out, f"{out}\n{err}")
    on_host(C, "vc1", "umount", IMAGES)
    check(not (left := left_behind(C, ["vc1", "vc2"])), f"left behind: {left}")


def main():
    reason = skip_reason()
    if reason is not None:
        print(f"skipped: {reason}")
        return 77
    return cases((there, far_output, far_threads, far_failures, dies, cannot, cause))


if __name__ == "__main__":
    sys.exit(main())
