#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every MPI test program once, with its ranks spread over 3 virtual hosts; the rest: make test-hosts."""
import os
import subprocess
import sys

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vcluster", "corpus.py")
SLOW = "comm_cycles|session_cycles|session_threads|coll_threads|coll_many"
sys.exit(subprocess.run([sys.executable, CORPUS, "--few", "-k", f"^(?!.*({SLOW}))"], check=False).returncode)
