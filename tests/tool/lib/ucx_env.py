"""How tests ask for UCX, and leave where it is not there."""
import os
import subprocess
import sys

from launch import BUILD

TCP = {"PLIANT_NET": "ucx", "UCX_TLS": "tcp,self"}
# This UCX looks over no peer in shared memory, and says so, before it does without.
SHM = {"PLIANT_NET": "ucx", "UCX_TLS": "posix,self", "UCX_LOG_LEVEL": "fatal"}
MIXED = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "PLIANT_FAKE_HOSTS": "2"}


def network():
    return subprocess.run([os.path.join(BUILD, "bin", "mpiinfo"), "--network"], capture_output=True, text=True, check=True).stdout


def has_ucx():
    return "ucx          version" in network()


def need_ucx():
    if not has_ucx():
        print("skipped:", network().split("\n")[1])
        sys.exit(77)
