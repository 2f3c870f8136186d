#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which network is used between (virtual) hosts that have several: IPv6 alone, networks that lead nowhere, the bridge
of containers that every host has, and PLIANT_TCP_IF."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster
from launch import BUILD, MPIEXEC, SLOW, check, status

NET_HOSTS = os.path.join(BUILD, "tests", "bin", "mpi.net_hosts")
HOSTS_PROBE = os.path.join(BUILD, "tests", "bin", "hosts_probe")
C = open_cluster(2)
TWO = ["--hosts", "vc1:1,vc2:1"]


def on_each(*commands):
    """Commands of ip in every host; {n}: its number."""
    for number, host in enumerate(C.names, 1):
        for command in commands:
            words = ["ip", *command.format(n=number).split()]
            check(C.popen(host, words).wait() == 0, f"{host}: {' '.join(words)}")


def addresses(**env):
    """The addresses of vc2 that a job's ranks have connections with, and how long it took to have them."""
    begin = time.monotonic()
    p = C.popen("vc1", [MPIEXEC, "--launcher", C.launcher, *TWO, HOSTS_PROBE, "barriers"], env={**os.environ, **env},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [p.stdout.readline() for _ in range(2)]
    seconds = time.monotonic() - begin
    ss = C.popen("vc2", ["ss", "-Htnp", "state", "established"], stdout=subprocess.PIPE, text=True).communicate()[0]
    try:
        os.kill(C.inner(p), signal.SIGTERM)
    except (OSError, RuntimeError):
        pass  # it has ended by itself
    err = p.communicate(timeout=60 * SLOW)[1]
    check(lines == ["up\n"] * 2, f"{env}: {lines} {err}")
    found = [line.split()[2].rsplit(":", 1)[0] for line in ss.splitlines() if "hosts_probe" in line]
    return {a.removeprefix("[::ffff:").strip("[]") for a in found}, seconds


def ipv6():
    """IPv6 beside IPv4, asked for; then nothing else is there."""
    on_each("addr add fd77::{n}/64 dev eth0 nodad")
    got, _ = addresses(PLIANT_TCP_IF="fd77::/64")
    check(got == {"fd77::2"}, got)
    on_each("addr flush dev eth0 scope global", "addr add fd77::{n}/64 dev eth0 nodad")
    got, _ = addresses()
    check(got == {"fd77::2"}, got)
    r = HostRun(C, *TWO, NET_HOSTS, 2)
    check(r.rc == 0, r)
    on_each("addr add 10.77.0.{n}/24 brd + dev eth0", "addr del fd77::{n}/64 dev eth0")


def same_everywhere():
    """Every host has the same address on a bridge for containers: nobody calls it."""
    on_each("link add docker0 type bridge", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up")
    got, seconds = addresses()
    check(got == {"10.77.0.2"} and seconds < 5 * SLOW, f"{got} after {seconds:.1f} s")
    on_each("link del docker0")


def nowhere():
    """A network that looks like one that the hosts have in common, and leads nowhere: it keeps nobody, and is all there
    is when PLIANT_TCP_IF says so."""
    on_each("link add decoy0 type bridge", "addr add 10.5.0.{n}/16 dev decoy0", "link set decoy0 up")
    got, seconds = addresses()
    check(got == {"10.77.0.2"} and seconds < 15 * SLOW, f"{got} after {seconds:.1f} s")
    for choice in ("eth0", "!decoy0", "10.77.0.0/16", "10.77.0.1,10.77.0.2"):
        got, seconds = addresses(PLIANT_TCP_IF=choice)
        check(got == {"10.77.0.2"} and seconds < 5 * SLOW, f"{choice}: {got} after {seconds:.1f} s")
    r = HostRun(C, *TWO, HOSTS_PROBE, "barriers", env={"PLIANT_TCP_IF": "decoy0"})
    check(r.rc != 0 and r.seconds < 40 and "10.5.0." in r.words and "firewall" in r.words, r)
    r = HostRun(C, *TWO, HOSTS_PROBE, "barriers", env={"PLIANT_TCP_IF": "eth7"})
    check(r.rc != 0 and "no interface that is up fits PLIANT_TCP_IF=eth7" in r.words, r)
    on_each("link del decoy0")


with C:
    for part in (ipv6, same_everywhere, nowhere):
        begin = time.monotonic()
        part()
        check(not left_behind(C, C.names), f"{part.__name__}: left are {left_behind(C, C.names, 0)}")
        print(f"{part.__name__} {time.monotonic() - begin:.2f} s", flush=True)
sys.exit(status())
