"""A real Slurm for tests, with its own keys and folders: on this machine, or one node in every virtual host."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

TOOLS = ("munged", "mungekey", "slurmctld", "slurmd", "srun", "salloc", "sinfo")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"

CONF = """ClusterName=test
SlurmctldHost={control}
SlurmctldPort={port}
SlurmdPort={port2}
AuthType=auth/munge
AuthInfo=socket={munge}
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool-%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
TmpFS=/dev/shm
ReturnToService=2
MpiDefault=none
MaxTasksPerNode=4096
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""


# What srun says on a machine that others use too, while it waits for its turn: this and nothing else is left out.
WAITS = re.compile(r"^srun: job \d+ (queued and waiting for resources|has been allocated resources)\n", re.MULTILINE)


def why_not():
    """Why there can be no Slurm here; "" when there can."""
    if os.geteuid() != 0:
        return "a Slurm of our own needs root"
    for tool in TOOLS:
        if shutil.which(tool, path=PATH) is None:
            return f"{tool} is not installed (Debian: slurm-wlm, munge)"
    return ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    """Made in a folder of its own. cluster: virtual hosts, each of which becomes a node."""

    def __init__(self, folder, cluster=None, cpus=8):
        self.dir, self.cluster, self.daemons = folder, cluster, []
        self.env = dict(os.environ, PATH=PATH, SLURM_CONF=f"{folder}/slurm.conf")
        here = socket.gethostname().split(".")[0]
        self.names = cluster.names if cluster else [here]
        # Every virtual host has a /run of its own, so one name for the socket does for all of them.
        self.munge = "/run/test-munge.socket" if cluster else f"{folder}/munge.socket"
        os.mkdir(os.path.join(folder, "state"))
        at = "" if cluster else " NodeAddr=127.0.0.1"
        with open(f"{folder}/slurm.conf", "w", encoding="ascii") as f:
            f.write(CONF.format(
                control=self.names[0] if cluster else f"{here}(127.0.0.1)", dir=folder, munge=self.munge,
                port=6817 if cluster else free_port(), port2=6818 if cluster else free_port(),
                names=",".join(self.names),
                nodes="\n".join(f"NodeName={n}{at} CPUs={cpus} State=UNKNOWN" for n in self.names)))
        with open(f"{folder}/cgroup.conf", "w", encoding="ascii") as f:
            f.write("CgroupPlugin=cgroup/v1\n")

    def popen(self, host, command, **kw):
        if self.cluster:
            return self.cluster.popen(host, command, env=self.env, **kw)
        return subprocess.Popen(list(map(str, command)), env=self.env, **kw)

    def start(self, host, *command):
        log = open(os.path.join(self.dir, f"{os.path.basename(command[0])}-{host}.out"), "w", encoding="utf-8")
        self.daemons.append(self.popen(host, command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def ask(self, *command):
        p = self.popen(self.names[0], command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL)
        return p.communicate()[0]

    def up(self):
        d = self.dir
        subprocess.run(["mungekey", "-c", "-k", f"{d}/munge.key"], env=self.env, check=True)
        for h in self.names:
            self.start(h, "munged", "-F", f"--key-file={d}/munge.key", f"--socket={self.munge}", "--force",
                       f"--pid-file={d}/munged-{h}.pid", f"--log-file={d}/munged-{h}.log",
                       f"--seed-file={d}/munge-{h}.seed")
        if not self.until(lambda: all(os.path.exists(f"{d}/munged-{h}.pid") for h in self.names)):
            return False
        self.start(self.names[0], "slurmctld", "-D", "-f", f"{d}/slurm.conf")
        for h in self.names:
            self.start(h, "slurmd", "-D", "-f", f"{d}/slurm.conf")
        return self.until(lambda: self.ask("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(self.names))

    def until(self, is_so):
        for _ in range(600):
            if is_so():
                return True
            if any(p.poll() is not None for p in self.daemons):
                return False
            time.sleep(0.1)
        return False

    def down(self):
        if self.cluster:
            return  # they end with their hosts
        for p in reversed(self.daemons):
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()

    def run(self, *command, timeout=100, env=None):
        """Exit status and output of a command on the first node, without srun's word that it waits for its turn."""
        p = self.popen(self.names[0], ["env", *[f"{k}={v}" for k, v in (env or {}).items()], *command], text=True,
                       errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            out = p.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            os.kill(self.cluster.inner(p) if self.cluster else p.pid, signal.SIGKILL)
            out = p.communicate()[0] + f"\n(ended by the test after {timeout} s)"
            self.ask("scancel", "--full", "--user=root")
        return p.returncode, WAITS.sub("", out)

    def logs(self):
        out = ""
        for name in sorted(os.listdir(self.dir)):
            if name.endswith((".log", ".out")):
                with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as f:
                    out += f"== {name}\n" + "".join(f.readlines()[-15:])
        return out
