#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--profile and --timeline of a job on two virtual hosts: one file, with arrows between them."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from hosts import HostRun, left_behind, open_cluster  # noqa: E402
from launch import BUILD, IS_SANITIZED, check, status  # noqa: E402

PROBE = os.path.join(BUILD, "tests", "bin", "observe_probe")
if IS_SANITIZED:
    print("skipped: a sanitizer's library must come before those that mpiexec puts first")
    sys.exit(77)
with open_cluster(2) as c, tempfile.TemporaryDirectory() as folder:
    name = os.path.join(folder, "t.json")
    r = HostRun(c, "--hosts", "vc1:2,vc2:2", "--timeline", name, "--profile", "-n", "4", PROBE, "ring")
    check(r.rc == 0 and "4 ranks on several hosts" in r.err, r)
    with open(name, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    begins = {e["id"]: e for e in events if e["ph"] == "s" and e["cat"] == "message"}
    ends = {e["id"]: e for e in events if e["ph"] == "f" and e["cat"] == "message"}
    check(len(begins) == 160 and begins.keys() == ends.keys(), f"{len(begins)} arrows")
    ahead = min(ends[i]["ts"] - begins[i]["ts"] for i in begins)
    check(ahead > -5000, f"clocks are aligned: a message came {-ahead} us before it was sent")
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    check("rank 0 on vc1" in names and "rank 3 on vc2" in names, names)
    r = HostRun(c, "--hosts", "vc1:1,vc2:2", "--timeline", name, "-n", "3", PROBE, "killed")
    with open(name, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    check(r.rc != 0 and sum(e["ph"] == "s" and e["cat"] == "message" for e in events) == 120, r)
    check(not left_behind(c, ["vc1", "vc2"]), "nothing is left on the hosts")
sys.exit(status())
