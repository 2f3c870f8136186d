#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An MPI program against the letter of the protocol.

test_letter.py --server PROGRAM --agent PROGRAM [--other NAME LIBRARY PROGRAM]...
               [--ours MPIEXEC PROGRAM] [NAME...]

letter.c is client 0, with each MPI in turn; this script is client 1: a big-endian machine with longs
of 4 bytes that looks at every byte and answers with literal ones.
"""
import argparse
import os
import struct
import subprocess
import sys

import test_server
from fake import check
from test_node import Host
from test_server import Server
from test_world import launcher

def ints(*values):
    return struct.pack(f">{len(values)}i", *values)


class Peer(Host):
    """Client 1. What it gets must be as stated, to the byte."""

    def expect(self, kind, tag, data, cid=0, lsrank=0, **more):
        got = self.get_packet(type=kind, tag=tag, cid=cid, lsrank=lsrank, len=len(data),
                              reserved=0, **more)
        check(data.hex(), got["data"].hex(), f"data of tag {tag}")
        return got

    def say(self, tag, data, cid=0, lsrank=1, kind="DATA"):
        self.packet(type=kind, tag=tag, data=data, cid=cid, lsrank=lsrank)


def scalars(p):
    p.expect("DATA", 1, bytes.fromhex(
        "7071" "fffe" "01020304" "fffffffb" "ee6b2800" "fffffffffffffffa" "3fc00000"
        "c002000000000000" "40008000000000000000000000000000" "0078"), msglen=54)
    p.say(2, bytes.fromhex(
        "797a" "0203" "fefdfcfc" "80000001" "ffffffff" "0102030405060708" "bf000000"
        "4202a05f20000000" "bfff0000000000000000000000000000" "0041"))
    p.say(3, bytes.fromhex("00000001" "ffffffff" "7fffffff"))


def modes(p):
    got = p.expect("DATASYNC", 10, ints(0, 1), msglen=8)
    p.packet(type="SYNCACK", srqid=got["srqid"])
    whole = ints(*range(60))
    got = p.expect("DATASYNC", 11, whole[:100], msglen=240)
    p.packet(type="SYNCACK", srqid=got["srqid"], drqid=77)
    for at in (100, 200):
        p.expect("DATA", 11, whole[at:at + 100], msglen=240, srqid=got["srqid"], drqid=77)
    whole = ints(*range(1000, 1060))
    p.packet(type="DATASYNC", tag=12, lsrank=1, srqid=5, data=whole[:100], msglen=240)
    ack = p.get_packet(type="SYNCACK", srqid=5)
    for at in (100, 200):
        p.packet(type="DATA", tag=12, lsrank=1, srqid=5, drqid=ack["drqid"],
                 data=whole[at:at + 100], msglen=240)
    p.expect("DATA", 13, b"", msglen=0)


def cancels(p):
    """Theirs, with both answers; then ours, of a message nobody has received and of one somebody has."""
    got = p.expect("DATASYNC", 40, ints(0, 1), msglen=8)
    p.say(41, b"")  # it has left: cancel it now
    p.get_packet(type="CANCEL", srqid=got["srqid"], len=0)
    p.packet(type="CANCELYES", srqid=got["srqid"])
    got = p.expect("DATASYNC", 42, ints(0, 1), msglen=8)
    p.say(43, b"")
    p.get_packet(type="CANCEL", srqid=got["srqid"], len=0)
    p.packet(type="SYNCACK", srqid=got["srqid"])  # it was received meanwhile
    p.packet(type="CANCELNO", srqid=got["srqid"])
    for srqid in (9, 9, 8):
        p.packet(type="DATA", tag=44, lsrank=1, srqid=srqid, data=ints(srqid))
    p.packet(type="CANCEL", srqid=9)  # of two with one number the second is meant
    p.get_packet(type="CANCELYES", srqid=9)
    p.packet(type="CANCEL", srqid=8)
    p.get_packet(type="CANCELYES", srqid=8)
    p.say(45, b"")
    p.packet(type="DATASYNC", tag=46, lsrank=1, srqid=10, data=ints(46))
    p.get_packet(type="SYNCACK", srqid=10)
    p.packet(type="CANCEL", srqid=10)
    p.get_packet(type="CANCELNO", srqid=10)
    p.say(47, b"")


def barrier(p, cid=1, me=1):
    """Rank 0 of the communicator gathers, then releases."""
    if me != 0:
        p.say(110, b"", cid, lsrank=me)
        p.expect("DATA", 110, b"", cid)
    else:
        p.expect("DATA", 110, b"", cid, lsrank=1)
        p.say(110, b"", cid, lsrank=0)


def context(p, mine, want, cid):
    """A new context id: the largest of all by Allreduce, and the next is taken."""
    p.say(190, struct.pack(">Q", mine), cid)
    p.expect("DATA", 120, struct.pack(">Q", want), cid)


def collectives(p):
    barrier(p)
    p.expect("DATA", 120, ints(5, 7), 1)
    p.say(120, ints(11, 12), 1)
    p.say(190, ints(100, 200), 1)
    p.say(190, ints(4, 9), 1)  # Allreduce: a reduction, then a broadcast
    p.expect("DATA", 120, ints(5, 9), 1)
    p.say(130, ints(21, 22), 1)
    p.expect("DATA", 150, ints(21, 22), 1)
    p.expect("DATA", 170, ints(21, 22), 1)
    p.say(170, ints(0, 0), 1)
    p.expect("DATA", 200, ints(5, 7), 1)
    context(p, 5, 5, 1)  # we pretend to have used up to 5
    p.expect("DATA", 30, ints(5), 6)  # so the copy has 6 and 7
    # split: everybody's colour and key, then an id
    p.say(130, ints(4, 2), 7)
    p.expect("DATA", 120, ints(4, 8, 4, 2), 7)
    context(p, 7, 7, 7)
    p.expect("DATA", 31, ints(5), 8, lsrank=1)
    barrier(p, 9, me=0)  # in the half we are rank 0
    barrier(p, 7)


def end(p):
    barrier(p)
    p.get_packet(type="FINI", srcpid=2**64 - 1, dstpid=2**64 - 1, srchost=bytes(16),
                 dsthost=bytes(16))
    p.packet(type="FINI", srcpid=2**64 - 1, dstpid=2**64 - 1, srchost=bytes(16), dsthost=bytes(16))
    p.get_eof()
    p.server.fini()


def play(command, env):
    with Server(2) as s:
        full = {k: v for k, v in os.environ.items() if not k.startswith("IMPI_")}
        full.update({"IMPI_AUTH_NONE": "", **env(s.address)})
        proc = subprocess.Popen(command(s.address), env=full, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        try:
            p = Peer(s, 1, datalen=100, ackmark=200, hiwater=400).dial()
            p.hello(1)
            for part in (scalars, modes, cancels, collectives, end):
                part(p)
            out = proc.communicate(timeout=60)[0]
            check((0, True), (proc.returncode, "letter ok" in out), f"the program: {out}")
        finally:
            if proc.poll() is None:
                proc.terminate()
                print(proc.communicate()[0], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--other", nargs=3, action="append", default=[])
    parser.add_argument("--ours", nargs=2)
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    test_server.SERVER = args.server
    done = []
    for name, library, program in args.other:
        if not args.name or name in args.name:
            play(lambda where, n=name, l=library, p=program:
                 [*launcher(n), "-n", "1", "env", f"LD_PRELOAD={l}", p],
                 lambda where: {"IMPI_SERVER": where, "IMPI_CLIENT": "0",
                                "IMPI_AGENT": args.agent})
            done.append(name)
    if args.ours is not None and (not args.name or "pliant" in args.name):
        play(lambda where: [args.ours[0], "--impi", where, "--impi-rank", "0", "-n", "1",
                            args.ours[1]], lambda where: {})
        done.append("pliant")
    if not done:
        print("skipped: there is no MPI to test here")
        sys.exit(77)
    print("ok:", *done)


if __name__ == "__main__":
    main()
