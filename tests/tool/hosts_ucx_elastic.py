#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints, migration, clones on another host and deaths on several (virtual) hosts, as without UCX, where UCX carries the messages."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "lib"))
from launch import check, status
from ucx_env import need_ucx

ENV = {"PLIANT_NET": "shm+ucx", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "UCX_LOG_LEVEL": "fatal"}

need_ucx()
for script, parts in (("hosts_ckpt", ("state_made", "image_resized", "image_again")),
                      ("hosts_move", ("there_and_back", "forked")),
                      ("hosts_far", ("far_threads",))):
    p = subprocess.run([sys.executable, os.path.join(HERE, script + ".py"), *parts], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **ENV}, check=False)
    if p.returncode == 77:
        print(p.stdout)
        sys.exit(77)
    check(p.returncode == 0, f"{script}: {p.stdout}")
sys.exit(status())
