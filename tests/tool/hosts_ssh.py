#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec through a real ssh to real ssh servers, in virtual hosts."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, cluster, left_behind, open_cluster
from launch import PROBE, check, status

SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:" + os.environ.get("PATH", ""))
for tool, path in (("sshd", SSHD), ("ssh", shutil.which("ssh")), ("ssh-keygen", shutil.which("ssh-keygen"))):
    if path is None:
        print(f"skipped: there is no {tool} (packages openssh-server and openssh-client)")
        sys.exit(cluster.SKIP)

C = open_cluster(3)


def serve(host, folder, *options):
    """A server in this host; waits until it listens."""
    p = C.popen(host, [SSHD, "-D", "-e", "-f", "/dev/null", "-o", "UsePAM=no", "-o", "PidFile=none", "-o", "StrictModes=no",
                       "-o", "PermitRootLogin=yes", "-o", f"HostKey={folder}/host", "-o",
                       f"AuthorizedKeysFile={folder}/id.pub", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    line = p.stderr.readline().decode()
    while "listening" not in line:
        if not line:
            print(f"skipped: sshd does not start in {host}, status {p.wait()}")
            C.close()
            sys.exit(cluster.SKIP)
        line = p.stderr.readline().decode()
    return p


def stop(host, p):
    C.popen(host, ["sh", "-c", "kill $(pgrep -f 'sshd: .*listener|sshd -D')"]).wait()
    p.stderr.close()
    p.wait()


with C, tempfile.TemporaryDirectory() as keys:
    for name in ("host", "id", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{keys}/{name}"], check=True)
    with open(f"{keys}/known", "w", encoding="ascii") as f, open(f"{keys}/host.pub", encoding="ascii") as pub:
        f.write(f"vc1,vc2,vc3 {pub.read()}")
    ssh = (f"ssh -F /dev/null -x -o BatchMode=yes -o ConnectTimeout=10 -o IdentityFile={keys}/id -o IdentitiesOnly=yes "
           f"-o UserKnownHostsFile={keys}/known")
    servers = {h: serve(h, keys) for h in ("vc2", "vc3")}

    # Also for the chain, where vc2 reaches vc3.
    for fan in ("32", "1"):
        r = HostRun(C, "--hosts", "vc1:1,vc2:2,vc3:1", "-l", "sh", "-c", "hostname; echo $MARK; pwd", launcher=ssh,
                    env={"MARK": "it's", "PLIANT_LAUNCH_FAN": fan}, cwd="/usr")
        want = [f"[{i}] {w}" for i, h in enumerate(("vc1", "vc2", "vc2", "vc3")) for w in (h, "it's", "/usr")]
        check(r.rc == 0 and sorted(r.out.splitlines()) == sorted(want) and r.err == "", r)
    r = HostRun(C, "--hosts", "vc2:1,vc3:1", "cat", launcher=ssh, stdin="in\n" * 50000)
    check(r.rc == 0 and r.out == "in\n" * 50000, r.rc)
    r = HostRun(C, "--hosts", "vc1:1,vc2:1,vc3:1", PROBE, "init", "only", 2, "kill", "SEGV", "end", "sleep", 60, launcher=ssh)
    check(r.rc == 139 and "on host vc3" in r.words, r)
    r = HostRun(C, "--launch-agent", "/nowhere/agent", "--hosts", "vc2:1", "true", launcher=ssh)
    check(r.rc == 1 and "there is no mpiexec of Pliant MPI at /nowhere/agent" in r.words, r)
    # ssh's own reasons.
    r = HostRun(C, "--hosts", "vc2:1", "true", launcher=ssh.replace(f"{keys}/id", f"{keys}/other"))
    check(r.rc == 1 and "Permission denied" in r.words and "ssh-copy-id" in r.words, r)
    r = HostRun(C, "--hosts", "vc2:1", "true", launcher=ssh.replace(f"{keys}/known", f"{keys}/none"))
    check(r.rc == 1 and "Host key verification failed" in r.words and "by hand" in r.words, r)
    stop("vc3", servers["vc3"])
    r = HostRun(C, "--hosts", "vc2:1,vc3:1", "true", launcher=ssh)
    check(r.rc == 1 and "Connection refused" in r.words and "no ssh server" in r.words and r.seconds < 30, r)
    begin = time.monotonic()
    C.crash("vc3")
    r = HostRun(C, "--hosts", "vc2:1,vc3:1", "true", launcher=ssh)
    check(r.rc == 1 and "host vc3 cannot be reached" in r.words and r.seconds < 30, r)
    print(f"a host that is down: {r.seconds:.1f} s")
    stop("vc2", servers["vc2"])
    check(not left_behind(C, ["vc1", "vc2"]), left_behind(C, ["vc1", "vc2"], 0))
sys.exit(status())
