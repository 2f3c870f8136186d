#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs under launchers that speak PMI-1: one of our own here that checks every word, and Hydra's
mpiexec where it is installed; and under Open MPI's, which speaks PMIx."""
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

BUILD = os.environ["BUILD_DIR"]
BIN = os.path.join(BUILD, "tests", "bin")
bad = 0


def fail(what, text=""):
    global bad
    bad += 1
    print(f"failed: {what}\n{text}", file=sys.stderr)


class Server:
    """The launcher's side for n processes: answers PMI-1 lines, and notes what was said."""

    def __init__(self, n, mapping="", break_at=None, spoil=None):
        self.n, self.break_at, self.spoil = n, break_at, spoil
        self.store = {"PMI_process_mapping": mapping} if mapping else {}
        self.finalized, self.aborted, self.waiting = set(), None, []
        self.lock = threading.Lock()

    def answer(self, rank, line, s):
        words = dict(w.split("=", 1) for w in line.split())
        cmd = words["cmd"]
        if cmd == self.break_at:
            return "cmd=nonsense rc=-1 msg=on_purpose\n"
        if cmd == "init":
            return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
        if cmd == "get_my_kvsname":
            return "cmd=my_kvsname kvsname=kvs_1_0\n"
        if cmd == "put":
            if words["kvsname"] != "kvs_1_0" or len(words["value"]) > 255:
                fail("a put", line)
            value = words["value"]
            if self.spoil and words["key"].startswith(self.spoil[0]):
                value = self.spoil[1](value)
            self.store[words["key"]] = value
            return "cmd=put_result rc=0 msg=success\n"
        if cmd == "get":
            value = self.store.get(words["key"])
            return (f"cmd=get_result rc=0 msg=success value={value}\n" if value is not None
                    else "cmd=get_result rc=-1 msg=key_not_found value=unknown\n")
        if cmd == "barrier_in":
            self.waiting.append(s)
            if len(self.waiting) == self.n:
                for w in self.waiting:
                    w.sendall(b"cmd=barrier_out\n")
                self.waiting = []
            return ""
        if cmd == "finalize":
            self.finalized.add(rank)
            return "cmd=finalize_ack\n"
        if cmd == "abort":
            self.aborted = int(words["exitcode"])
            return ""
        fail(f"rank {rank} said {line}")
        return "cmd=unknown rc=-1\n"

    def serve(self, rank, s):
        for line in s.makefile("r"):
            with self.lock:
                s.sendall(self.answer(rank, line, s).encode())
        s.close()

    def run(self, command):
        """Exit statuses and outputs of the n processes."""
        tasks = []
        for rank in range(self.n):
            mine, theirs = socket.socketpair()
            env = dict(os.environ, PMI_FD=str(theirs.fileno()), PMI_RANK=str(rank), PMI_SIZE=str(self.n))
            p = subprocess.Popen(command, env=env, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
            theirs.close()
            t = threading.Thread(target=self.serve, args=(rank, mine))
            t.start()
            tasks.append((p, t))
        out = []
        for p, t in tasks:
            text = p.communicate()[0]
            out.append((p.returncode, text))
            t.join()
        return out


def good(program, n, mapping):
    s = Server(n, mapping)
    for rank, (rc, text) in enumerate(s.run([os.path.join(BIN, program)])):
        if rc != 0:
            fail(f"{program} rank {rank} of {n} ({mapping}) ended with {rc}", text)
    if s.finalized != set(range(n)):
        fail(f"{program}: finalized were {s.finalized}")


def refused(n, want, never=None, **how):
    """`never` is what nobody may say: a secret."""
    s = Server(n, **how)
    for rank, (rc, text) in enumerate(s.run([os.path.join(BIN, "mpi.p2p_pairs")])):
        if rc <= 0 or not re.search(want, re.sub(r"\s+", " ", text)):
            fail(f"rank {rank} ended with {rc}; its words lack {want}", text)
        if never and re.search(never, text):
            fail(f"rank {rank} has said a secret", text)


def main():
    for program, n in (("mpi.p2p_pairs", 5), ("mpi.topo_cart", 3), ("mpi.session_groups", 4)):
        good(program, n, f"(vector,(0,1,{n}))")
        good(program, n, "")
    good("mpi.p2p_pairs", 1, "(vector,(0,1,1))")
    # Two hosts, if one believes the launcher: two memories, and connections between.
    for program, n in (("mpi.p2p_pairs", 4), ("mpi.coll_move", 5), ("mpi.session_groups", 4)):
        good(program, n, f"(vector,(0,2,{(n + 1) // 2}))")
        good(program, n, "(vector,(0,2,1))")
    two = {"mapping": "(vector,(0,2,1))"}
    refused(2, "another version of Pliant MPI", **two, spoil=("pliant-at-0", lambda v: v[:8] + "ff" + v[10:]))
    refused(2, "for the addresses of rank", **two, spoil=("pliant-at-0", lambda v: v[:60] + "zz" + v[62:]))
    refused(2, "says that its host has", **two, spoil=("pliant-at-0", lambda v: v[:16] + "07" + v[18:]))
    # Rank 0 may be gone, and its memory with it, before rank 1 gets to the same.
    gone = "|cannot open the memory that rank 0 shares"
    refused(2, "gave something else for the job's number" + gone, spoil=("pliant-job-0", lambda v: v[:60] + "zz" + v[62:]), never="[0-9a-f]{20}")
    refused(2, "value=...' has no value" + gone, spoil=("pliant-job-0", lambda v: 8 * v), never="[0-9a-f]{20}")
    refused(1, "not response_to_init", break_at="init")
    refused(1, "not barrier_out", break_at="barrier_in")
    # A launcher that is not there.
    for env, want in (({"PMI_FD": "77", "PMI_RANK": "0", "PMI_SIZE": "2"}, "PMI connection cannot be written to"),
                      ({"PMIX_NAMESPACE": "none", "PMIX_RANK": "0"}, "PMIx: the launcher cannot be reached|libpmix")):
        p = subprocess.run([os.path.join(BIN, "mpi.p2p_pairs")], env={**os.environ, **env}, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
        if p.returncode <= 0 or not re.search(want, p.stdout):
            fail(f"{env}: ended with {p.returncode}", p.stdout)
    s = Server(1)
    (rc, text), = s.run([os.path.join(BIN, "mpi.obj_fatal"), "default"])
    if s.aborted is None or rc != s.aborted:
        fail(f"abort: {s.aborted}, {rc}", text)
    for launcher, *options in (["mpiexec.hydra"], ["mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe"]):
        if shutil.which(launcher) is None:
            print(f"{launcher} is not installed: not tried")
            continue
        for program, n in (("mpi.p2p_pairs", 5), ("mpi.session_groups", 4)):
            p = subprocess.run([launcher, *options, "-n", str(n), os.path.join(BIN, program)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if p.returncode != 0:
                fail(f"{program} under {launcher} ended with {p.returncode}", p.stdout)
    return 1 if bad else 0


sys.exit(main())
