#!/usr/bin/env python3
"""Jobs that IMPI joins have new processes and meet other jobs."""
import os
import runpy
import sys

sys.argv = [sys.argv[0], "dynamic"]
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "impi_client.py"), run_name="__main__")
