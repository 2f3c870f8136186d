#!/usr/bin/env python3
"""impi-server, impirun and libimpi: --help, what the programs read and the manual pages say the same."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, check, status
from page import Page, check_same, options


def help_of(tool):
    return subprocess.run([os.path.join(BUILD, "bin", tool), "--help"], check=True, capture_output=True, text=True).stdout


def variables(text):
    """Of the environment; attributes of communicators are none."""
    return set(re.findall(r"\bIMPI_[A-Z_]+[A-Z]\b", text)) - {
        "IMPI_CLIENT_SIZE", "IMPI_CLIENT_COLOR", "IMPI_HOST_SIZE", "IMPI_HOST_COLOR"}


def read_by(*folders):
    """What sources name as variables."""
    text = ""
    for path in sum((glob.glob(os.path.join(SOURCE, f, "*.c")) for f in folders), []):
        with open(path, encoding="utf-8") as f:
            text += "".join(re.findall(r'"IMPI_[A-Z_]+"', f.read()))
    return variables(text)


server, run, library = Page("impi-server.1"), Page("impirun.1"), Page("libimpi.7")
text = help_of("impi-server")
left = "\n".join(line[:29] for line in text.splitlines() if line.startswith("  -"))
check_same("impi-server --help and its page", options(left), options(server.heads("OPTIONS", "AUTHENTICATION")))
check_same("what impi-server reads and its --help", read_by("impi/server"), variables(text))
check_same("what impi-server reads and its page", read_by("impi/server"), variables(server.text))

usage = help_of("impirun")
check_same("impirun --help and its page", options(usage), options(run.section("SYNOPSIS") + run.heads("OPTIONS")))
client = read_by("impi/engine", "impi/agent", "impi/shim")
check_same("what an agent reads and libimpi's page", client, variables(library.heads("ENVIRONMENT")))
check_same("what an agent reads and impirun's page", client - {"IMPI_AGENT"}, variables(run.heads("ENVIRONMENT")))
for name in ("-server", "-client", "--local"):
    check(name in usage and name in run.section("SYNOPSIS"), f"impirun {name}")
for name in re.findall(r"(\w+)\|(\w+)\|(\w+)\|(\w+)", usage)[0]:
    check(name in run.heads("OPTIONS"), f"impirun --mpi {name} in its page")
server.check_shown("AUTHENTICATION", "EXIT STATUS")
run.check_shown("EXIT STATUS")
library.check_shown("ENVIRONMENT", "LIMITS")
sys.exit(status())
