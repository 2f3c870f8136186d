#!/usr/bin/env python3
"""Some of the other MPI tests, over two jobs that IMPI joins."""
import os
import runpy
import sys

sys.argv = [sys.argv[0], "corpus"]
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "impi_client.py"), run_name="__main__")
