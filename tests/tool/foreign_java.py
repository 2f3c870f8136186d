#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Java program for Open MPI's classes runs on this MPI. The classes (mpi.jar) are where Open MPI was installed, or where MPI_JAR says; Debian has none."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, Run, check, status

PLACES = ("/usr/lib/*/openmpi/lib/mpi.jar", "/usr/lib64/openmpi/lib/mpi.jar", "/usr/lib/openmpi/lib/mpi.jar", "/usr/share/java/mpi.jar",
          "/usr/local/lib/mpi.jar", "/opt/openmpi*/lib/mpi.jar")
jars = [j for j in [os.environ.get("MPI_JAR", "")] if j] or [j for p in PLACES for j in sorted(glob.glob(p))]
known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
lacks = [what for what, there in (("a Java compiler", shutil.which("javac") and shutil.which("java")),
                                  ("libmpi_java.so.40", "libmpi_java.so.40 " in known and "libopen-pal.so.40 " in known),
                                  ("the classes (mpi.jar)", jars)) if not there]

# Whether or not Java is here: what is loaded for it needs our library first, then the installed ones.
library = os.path.join(BUILD, "lib", "pliant", "openmpi", "libmpi_java.so")
needs = [line.split("[")[1].rstrip("]") for line in subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout.splitlines()
         if "(NEEDED)" in line]
wanted = [n for n in needs if n in ("libmpi.so.40", "libopen-pal.so.40", "libmpi_java.so.40")]
check(wanted == ["libmpi.so.40", "libopen-pal.so.40", "libmpi_java.so.40"], f"{library} needs {needs}")
if lacks:
    print(f"{' and '.join(lacks)} not found")
    sys.exit(status() or 77)

here = tempfile.mkdtemp()
subprocess.run(["javac", "-cp", jars[0], "-d", here, os.path.join(SOURCE, "tests", "abi", "ForeignJava.java")], check=True)
java = ["java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars[0]}:{here}"]
r = Run("-n", 2, *java, "ForeignJava", os.path.join(here, "file"), timeout=240)
check(r.rc == 0 and r.out == "all is well\n", r)
r = Run("-n", 1, "--abi=mpich", *java, "ForeignJava", os.path.join(here, "file"), timeout=240)
check(r.rc != 0, f"without Open MPI's ABI: {r}")
shutil.rmtree(here)
sys.exit(status())
