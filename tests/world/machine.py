"""A virtual machine for tests: a kernel of Debian in QEMU, without help of the processor and without a network.

It sees the files of this machine, which it cannot change, and runs a script as root, with folders of its own where programs write.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

# Of each kind of processor: the emulator, its package, what it is told, Debian's word for the kernel, the console and
# what else the kernel is told. On x86_64 it looks whether timers come in time, and stops where this machine has much else to do.
KINDS = {
    "aarch64": ("qemu-system-aarch64", "qemu-system-arm", ["-machine", "virt", "-cpu", "max,pauth-impdef=on"], "arm64", "ttyAMA0"),
    "x86_64": ("qemu-system-x86_64", "qemu-system-x86", ["-machine", "q35", "-cpu", "max"], "amd64", "ttyS0 no_timer_check"),
}
MODULES = ["virtio_pci", "9pnet_virtio", "9p"]
TOOLS = {"busybox": "busybox-static", "dpkg-deb": "dpkg", "apt-get": "apt"}

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in {modules}; do modprobe $m; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 host /root || poweroff -f
for at in run var/lib/nfs mnt; do mount -t tmpfs -o mode=1777 tmpfs /root/$at; done
mount -t proc proc /root/proc; mount -t sysfs sys /root/sys; mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/shm; mount -t tmpfs -o mode=1777 tmpfs /root/dev/shm
cp {files} /root/run
chroot /root /bin/sh /run/guest
poweroff -f
"""


def must(command, **how):
    p = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if p.returncode != 0:
        sys.exit(f"machine: {' '.join(map(str, command))} failed:\n{p.stdout}{p.stderr}")
    return p.stdout


class Machine:
    """modules: what the script needs of the kernel; tools: commands that it needs, and their packages."""

    def __init__(self, work, modules, tools):
        kind = KINDS.get(platform.machine())
        if kind is None:
            sys.exit(f"machine: how to start one is known for {' and '.join(KINDS)}, not for {platform.machine()}")
        self.emulator, package, self.options, self.debian, self.console = kind
        needs = {self.emulator: package, **TOOLS, **tools}
        lacking = {package for tool, package in needs.items()
                   if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None}
        if lacking:
            sys.exit(f"machine: Debian's packages {' '.join(sorted(lacking))} are needed")
        self.work = work
        self.modules = MODULES + modules

    def kernel(self):
        """The folder of Debian's newest kernel, unpacked; one that lies there is used, whatever its version."""
        here = self.work / "kernel"
        if not here.exists():
            depends = must(["apt-cache", "depends", f"linux-image-{self.debian}"])
            name = re.search(rf"linux-image-\S+-{self.debian}", depends.split("Depends:", 1)[1]).group(0)
            must(["apt-get", "-q", "download", name], cwd=self.work)
            must(["dpkg-deb", "-x", next(self.work.glob(f"{name}_*.deb")), here])
        modules = next((here / "lib" / "modules").iterdir())
        if not (modules / "modules.dep").exists():
            must(["busybox", "depmod", "-b", here, modules.name])
        return here

    def first_folder(self, linux, files):
        """What the kernel finds when it starts: busybox, the modules, and the files."""
        top = self.work / "first"
        shutil.rmtree(top, ignore_errors=True)
        modules = next((linux / "lib" / "modules").iterdir())
        there = top / "lib" / "modules" / modules.name
        for name in ("bin", "proc", "sys", "dev", "root"):
            (top / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), top / "bin" / "busybox")
        needs = dict(line.split(":", 1) for line in (modules / "modules.dep").read_text().splitlines())
        for path, others in needs.items():
            if pathlib.Path(path).stem in self.modules:
                for part in [path, *others.split()]:
                    (there / part).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(modules / part, there / part)
        shutil.copy(modules / "modules.dep", there / "modules.dep")
        init = INIT.format(modules=" ".join(self.modules), files=" ".join("/" + name for name in files))
        for name, text in {"init": init, **files}.items():
            (top / name).write_text(text)
            (top / name).chmod(0o755)
        must(["sh", "-c", "find . | busybox cpio -o -H newc | gzip -1 > ../first.gz"], cwd=top)
        return self.work / "first.gz"

    def run(self, files, limit):
        """What is said by a machine that runs the file `guest`; the others are beside it in /run."""
        linux = self.kernel()
        first = self.first_folder(linux, files)
        image = next((linux / "boot").glob("vmlinuz-*"))
        command = [self.emulator, *self.options, "-accel", "tcg,thread=multi", "-smp", "2",
                   "-m", "3G", "-nographic", "-no-reboot", "-net", "none", "-kernel", image, "-initrd", first,
                   "-append", f"console={self.console} quiet panic=1",
                   "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
                   "-device", "virtio-9p-pci,fsdev=host,mount_tag=host"]
        try:
            said = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                                  timeout=limit).stdout
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
        return said.replace("\r", "")
