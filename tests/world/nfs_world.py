#!/usr/bin/env python3
"""Tests of files on NFS, in a virtual machine: its kernel has the server and the clients.

The machine runs a kernel of Debian in QEMU, without help of the processor and without a network, and sees the files of
this one, which it cannot change. Every rank mounts the server's folder as /tmp for itself, with a cache of its own (nosharecache), as if it
were on a host of its own. Delegations are off: clients of one host would share them.
"""
import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

MODULES = ["virtio_pci", "9pnet_virtio", "9p", "nfsd", "nfs", "nfsv3", "nfsv4"]
TOOLS = {"qemu-system-aarch64": "qemu-system-arm", "busybox": "busybox-static", "rpc.nfsd": "nfs-kernel-server",
         "mount.nfs": "nfs-common", "dpkg-deb": "dpkg", "apt-get": "apt"}

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
]

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in {modules}; do modprobe $m; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /root || poweroff -f
for at in run var/lib/nfs mnt; do mount -t tmpfs -o mode=1777 tmpfs /root/$at; done
mount -t proc proc /root/proc; mount -t sysfs sys /root/sys; mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/shm; mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
cp /guest /rank /root/run
chroot /root /bin/sh /run/guest
poweroff -f
"""

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
uname -r | sed 's/^/kernel /'
"""

TEST = """echo "begin {number}"
env {env} timeout {limit} {build}/bin/mpiexec -n {ranks} /run/rank sh -c \
  'grep -q " /tmp {kind} " /proc/mounts || {{ echo "/tmp is not on NFS"; exit 9; }}; exec "$@"' sh {build}/tests/bin/mpi.{test}
echo "end {number} $?"
"""


def must(command, **how):
    p = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if p.returncode != 0:
        sys.exit(f"nfs_world: {' '.join(map(str, command))} failed:\n{p.stdout}{p.stderr}")
    return p.stdout


def kernel(work):
    """The folder of Debian's newest kernel, unpacked."""
    here = work / "kernel"
    if not here.exists():
        depends = must(["apt-cache", "depends", "linux-image-arm64"])
        name = re.search(r"linux-image-\S+-arm64", depends.split("Depends:", 1)[1]).group(0)
        must(["apt-get", "-q", "download", name], cwd=work)
        must(["dpkg-deb", "-x", next(work.glob(f"{name}_*.deb")), here])
        must(["busybox", "depmod", "-b", here, next((here / "lib" / "modules").iterdir()).name])
    return here


def first_folder(work, linux, files):
    """What the kernel finds when it starts: busybox, the modules, and the files."""
    top = work / "first"
    shutil.rmtree(top, ignore_errors=True)
    modules = next((linux / "lib" / "modules").iterdir())
    there = top / "lib" / "modules" / modules.name
    for name in ("bin", "proc", "sys", "dev", "root"):
        (top / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), top / "bin" / "busybox")
    needs = dict(line.split(":", 1) for line in (modules / "modules.dep").read_text().splitlines())
    for path, others in needs.items():
        if pathlib.Path(path).stem in MODULES:
            for part in [path, *others.split()]:
                (there / part).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(modules / part, there / part)
    shutil.copy(modules / "modules.dep", there / "modules.dep")
    for name, text in files.items():
        (top / name).write_text(text)
        (top / name).chmod(0o755)
    must(["sh", "-c", "find . | busybox cpio -o -H newc | gzip -1 > ../first.gz"], cwd=top)
    return work / "first.gz"


def boot(linux, first, limit):
    image = next((linux / "boot").glob("vmlinuz-*"))
    command = ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on", "-accel", "tcg,thread=multi", "-smp", "2",
               "-m", "3G", "-nographic", "-no-reboot", "-net", "none", "-kernel", image, "-initrd", first,
               "-append", "console=ttyAMA0 quiet panic=1",
               "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
               "-device", "virtio-9p-pci,fsdev=host,mount_tag=host"]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                              timeout=limit).stdout.replace("\r", "")
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace").replace("\r", "")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="the build folder of this library, not in /tmp")
    p.add_argument("--work", type=pathlib.Path, help="folder for the kernel and the log; it is kept. Without it one is made and removed")
    p.add_argument("--version", choices=SERVERS, default="4.2", help="of NFS")
    p.add_argument("--only", help="tests that match")
    p.add_argument("--limit", type=int, default=300, help="seconds that one test may take")
    args = p.parse_args()
    if platform.machine() != "aarch64":
        sys.exit(f"nfs_world: how to start a machine is known for aarch64, not for {platform.machine()}")
    lacking = [package for tool, package in TOOLS.items() if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin") is None]
    if lacking:
        sys.exit(f"nfs_world: Debian's packages {' '.join(lacking)} are needed")
    build = args.build.resolve()
    if pathlib.Path("/tmp") in build.parents:
        sys.exit(f"nfs_world: {build} is in /tmp, which is on NFS for the tests")
    tests = [t for t in TESTS if not args.only or re.search(args.only, f"{t[1]} {t[2]}")]
    made = None if args.work else tempfile.mkdtemp(prefix="nfs-world.")
    work = pathlib.Path(made or args.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    try:
        script = GUEST.replace("{servers}", SERVERS[args.version])
        script += "".join(TEST.format(number=i, env=env, limit=args.limit, build=build, ranks=n, test=test,
                                      kind="nfs" if args.version == "3" else "nfs4")
                          for i, (n, env, test) in enumerate(tests))
        rank = RANK.replace("{version}", args.version).replace("{export}", "/mnt/export" if args.version == "3" else "/")
        linux = kernel(work)
        said = boot(linux, first_folder(work, linux, {"init": INIT.format(modules=" ".join(MODULES)), "rank": rank, "guest": script}),
                    args.limit * (len(tests) + 1))
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
