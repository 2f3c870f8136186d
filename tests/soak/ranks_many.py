#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Start jobs of many ranks on this machine whose rank 0 is busy for ten seconds while all others send to it: over TCP under mpiexec, and under
the launchers of others, which know nothing of this library: ranks_many.py [--build DIR] [--ranks N] [--others N]."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool", "lib"))
from slurm_node import Slurm, why_not  # noqa: E402


def run(name, n, command, env):
    """True when the job's rank 0 heard all others."""
    begin = time.monotonic()
    p = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                       timeout=600, check=False)
    is_right = p.returncode == 0 and f"heard {n - 1} of {n - 1}\n" in p.stdout
    print(f"{name}: {n} ranks {'heard' if is_right else 'NOT HEARD'} after {time.monotonic() - begin:.1f} s", flush=True)
    if not is_right:
        print(f"exit status {p.returncode}\n{p.stdout[-3000:]}")
    return is_right


def under_slurm(n, program):
    if why_not():
        print(f"srun: not tried: {why_not()}")
        return []
    with tempfile.TemporaryDirectory(prefix="pliant-slurm-") as folder:
        os.chmod(folder, 0o755)
        s = Slurm(folder, cpus=n)
        try:
            if not s.up():
                print("srun: not tried: Slurm does not come up:\n" + s.logs())
                return []
            return [run(f"srun --mpi={plugin}", n, ["srun", f"--mpi={plugin}", "-n", str(n), *program], s.env) for plugin in ("pmi2", "pmix")]
        finally:
            s.down()


def main():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--build", default="build")
    a.add_argument("--ranks", type=int, default=2000, help="under mpiexec, over TCP")
    a.add_argument("--others", type=int, default=600, help="under other launchers")
    o = a.parse_args()
    build = os.path.abspath(o.build)
    program = [os.path.join(build, "tests", "bin", "hosts_probe"), "busy_root"]
    tcp = dict(os.environ, PLIANT_NET="tcp")
    right = [run("mpiexec, TCP", o.ranks, [os.path.join(build, "bin", "mpiexec"), "-n", str(o.ranks), *program], tcp)]
    if shutil.which("mpiexec.hydra"):
        right += [run(f"mpiexec.hydra{where}", o.others, ["mpiexec.hydra", "-n", str(o.others), *program], env)
                  for where, env in (("", dict(os.environ)), (", TCP", tcp))]
    else:
        print("mpiexec.hydra: not tried: it is not installed (Debian: mpich)")
    right += under_slurm(o.others, program)
    return 0 if all(right) else 1


sys.exit(main())
