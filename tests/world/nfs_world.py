#!/usr/bin/env python3
"""Tests of files on NFS, in a virtual machine: its kernel has the server and the clients.

Every rank mounts the server's folder as /tmp for itself, with a cache of its own (nosharecache), as if it
were on a host of its own. Delegations are off: clients of one host would share them.
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile

from machine import Machine

MODULES = ["nfsd", "nfs", "nfsv3", "nfsv4"]
TOOLS = {"rpc.nfsd": "nfs-kernel-server", "mount.nfs": "nfs-common"}

# Ranks, settings and the test. Every access takes several messages there, so what writes thousands of pieces is made short.
TESTS = [
    (2, "", "io_basic"),
    (3, "", "io_model 20 2"),
    (2, "", "io_strided /tmp 60000"),
    (3, "", "io_limits"),
    (3, "", "io_comms parts"),
    (2, "", "io_comms endpoints"),
    (4, "PLIANT_FAKE_HOSTS=2", "io_basic"),
    (4, "PLIANT_FAKE_HOSTS=2", "io_model 10 3"),
    (3, "PLIANT_FILE_URING=always", "io_model 10 4"),
    (3, "", "io_log plain"),
    (4, "PLIANT_FAKE_HOSTS=2", "io_log plain"),
]

RANK = """#!/bin/sh
exec unshare -m sh -c 'mount --make-rprivate / && mount -t nfs -o vers={version},nosharecache 127.0.0.1:{export} /tmp && exec "$@"' sh "$@"
"""

# NFS 3 needs those who tell ports, and who note clients with locks.
SERVERS = {
    "4.2": "rpc.mountd -N 3 && rpc.nfsd -N 3 8",
    "3": "mkdir -p /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/sm.bak && rpcbind && rpc.statd --no-notify && rpc.mountd && rpc.nfsd 8",
}

GUEST = """export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/dev/shm
echo 0 > /proc/sys/fs/leases-enable
busybox ip link set lo up
mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /mnt/export
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t tmpfs -o mode=1777,size=1g tmpfs /mnt/export
mount -t nfsd nfsd /proc/fs/nfsd
echo 10 > /proc/fs/nfsd/nfsv4leasetime; echo 10 > /proc/fs/nfsd/nfsv4gracetime
exportfs -o rw,fsid=0,no_root_squash,insecure,no_subtree_check '*:/mnt/export'
{servers} && echo Y > /proc/fs/nfsd/v4_end_grace
echo; echo kernel $(uname -r)
"""

TEST = """echo "begin {number}"
env {env} timeout {limit} {build}/bin/mpiexec -n {ranks} /run/rank sh -c \
  'grep -q " /tmp {kind} " /proc/mounts || {{ echo "/tmp is not on NFS"; exit 9; }}; exec "$@"' sh {build}/tests/bin/mpi.{test}
echo "end {number} $?"
"""


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build folder of this library, not in /tmp")
    p.add_argument("--work", type=pathlib.Path, help="folder for the kernel and the log; it is kept. Without it one is made and removed")
    p.add_argument("--version", choices=SERVERS, default="4.2", help="of NFS")
    p.add_argument("--only", help="tests that match")
    p.add_argument("--limit", type=int, default=1200, help="seconds that one test may take")
    args = p.parse_args()
    build = args.build.resolve()
    if pathlib.Path("/tmp") in build.parents:
        sys.exit(f"nfs_world: {build} is in /tmp, which is on NFS for the tests")
    tests = [t for t in TESTS if not args.only or re.search(args.only, f"{t[1]} {t[2]}")]
    made = None if args.work else tempfile.mkdtemp(prefix="nfs-world.")
    work = pathlib.Path(made or args.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    machine = Machine(work, MODULES, TOOLS)
    try:
        script = GUEST.replace("{servers}", SERVERS[args.version])
        script += "".join(TEST.format(number=i, env=env, limit=args.limit, build=build, ranks=n, test=test,
                                      kind="nfs" if args.version == "3" else "nfs4")
                          for i, (n, env, test) in enumerate(tests))
        rank = RANK.replace("{version}", args.version).replace("{export}", "/mnt/export" if args.version == "3" else "/")
        said = machine.run({"guest": script, "rank": rank}, args.limit * (len(tests) + 1))
        (work / "nfs.log").write_text(said)
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
    version = re.search(r"^kernel (\S+)", said, re.M)
    print(f"NFS {args.version}, Linux {version.group(1) if version else '(did not start)'}")
    bad = 0
    for i, (n, env, test) in enumerate(tests):
        part = re.search(rf"^begin {i}\n(.*?)^end {i} (\d+)", said, re.M | re.S)
        good = part is not None and part.group(2) == "0"
        bad += not good
        print(f"{test:24} {n} ranks {env:24} {'passes' if good else 'fails'}")
        if not good:
            print(part.group(1) if part else said[-2000:])
    print(f"{len(tests) - bad} of {len(tests)} tests pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
