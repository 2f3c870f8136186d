#!/usr/bin/env python3
"""What make install installs is in exactly one Debian package, versions come from one place, and the recipes can be read."""
import ast
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, SOURCE, check, status

PACKAGING = os.path.join(SOURCE, "packaging")
TRIPLET = "any-linux-gnu"
HOME = f"usr/lib/{TRIPLET}/pliant-mpi"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def installed(tmp):
    """The tree that debian/rules installs from: its files and links, as paths below tmp."""
    env = {**os.environ, "DESTDIR": tmp}
    p = subprocess.run(["cmake", "--install", BUILD, "--prefix", f"/{HOME}"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, check=False)
    check(p.returncode == 0, p.stdout[-2000:])
    folder = os.path.join(tmp, "packaging")  # it writes its scripts beside the folder it is in
    os.mkdir(folder)
    shutil.copy(os.path.join(PACKAGING, "debian-links"), folder)
    shutil.copytree(os.path.join(PACKAGING, "debian"), os.path.join(tmp, "debian"))
    p = subprocess.run([os.path.join(folder, "debian-links"), tmp, HOME, TRIPLET], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       check=False)
    check(p.returncode == 0, p.stdout)
    return sorted(os.path.relpath(os.path.join(d, f), tmp) for d, _, files in os.walk(os.path.join(tmp, "usr")) for f in files)


def packages(files):
    claims = {f: [] for f in files}
    for path in glob.glob(os.path.join(PACKAGING, "debian", "*.install")):
        package = os.path.basename(path)[:-len(".install")]
        check(f"Package: {package}\n" in read(PACKAGING, "debian", "control"), f"{package} is not in debian/control")
        for line in read(path).split("\n"):
            pattern = line.split()[0].replace("${DEB_HOST_MULTIARCH}", TRIPLET) if line.split() else ""
            if not pattern.startswith("usr/"):
                continue
            depth = pattern.count("/") + 1
            hits = [f for f in files if fnmatch.fnmatchcase("/".join(f.split("/")[:depth]), pattern)]
            check(hits, f"{path}: nothing is installed as {pattern}")
            for f in hits:
                claims[f].append(package)
    for f, who in claims.items():
        check(len(who) == 1, f"{f} is in {who or 'no package'}")


def links(tmp, files):
    for f in files:
        path = os.path.join(tmp, f)
        check(os.path.exists(path), f"{f} leads nowhere: {os.readlink(path) if os.path.islink(path) else ''}")
    for script in glob.glob(os.path.join(tmp, "debian", "*.postinst")) + glob.glob(os.path.join(tmp, "debian", "*.prerm")):
        text = read(script)
        check("@" not in text.replace("$@", ""), f"{script} has a word that was not filled in")
        for path in re.findall(r" (/usr/(?:bin|lib|share)/\S*pliant\S*)", text):
            path = path.replace("$man", "/usr/share/man/man1").removesuffix(".gz")
            check(glob.glob(tmp + path), f"{os.path.basename(script)} names {path}, which is not installed")
    hello = subprocess.run([os.path.join(tmp, "usr/bin/mpicc.pliant"), "-show"], stdout=subprocess.PIPE, text=True, check=True).stdout
    check(f"{tmp}/{HOME}/include" in hello, f"mpicc.pliant does not find its folder: {hello}")


def version_here():
    return re.search(r"project\(pliant VERSION ([\d.]+)", read(SOURCE, "CMakeLists.txt")).group(1)


def manual(tmp, files):
    """Every page says of which version it is, and of which day if that is released."""
    version = version_here()
    day = re.search(rf"(?m)^## {re.escape(version)}, (?:([\d-]+)|not yet released)$", read(SOURCE, "CHANGELOG.md"))
    check(day is not None, f"the chapter {version} of CHANGELOG.md has no date and is not called 'not yet released'")
    pages = [f for f in files if re.search(r"/man[137]/", f) and not os.path.islink(os.path.join(tmp, f))]
    check(len(pages) > 100, f"{len(pages)} manual pages")
    want = f'"{day and day.group(1) or ""}" "Pliant MPI {version}"'
    wrong = [f for f in pages if ".TH" in read(tmp, f) and want not in read(tmp, f)]
    check(not wrong, f"{len(wrong)} pages do not have {want}: {wrong[:3]}")


def versions():
    version = version_here()
    check(re.search(rf"^## {re.escape(version)}\b", read(SOURCE, "CHANGELOG.md"), re.M), f"CHANGELOG.md has no chapter {version}")
    for path in glob.glob(os.path.join(PACKAGING, "**", "*"), recursive=True):
        if os.path.isfile(path):
            check(version not in read(path), f"{path} repeats the version {version}, which is in CMakeLists.txt")


def recipes():
    ast.parse(read(PACKAGING, "spack", "package.py"))
    for script in ("deb", "try-deb", "tarball", "debian-links"):
        p = subprocess.run(["sh", "-n", os.path.join(PACKAGING, script)], stderr=subprocess.PIPE, text=True, check=False)
        check(p.returncode == 0, p.stderr)
    module = read(BUILD, "modules", "pliant-mpi")
    check(module.startswith("#%Module1.0\n") and "@" not in module, module)
    tclsh = shutil.which("tclsh")
    if tclsh:  # the commands of modules are stood in for; what is judged is that it can be read
        words = "foreach c {conflict module-whatis setenv prepend-path} { proc $c args {} }\n"
        p = subprocess.run([tclsh], input=words + module, capture_output=True, text=True, check=False)
        check(p.returncode == 0 and not p.stderr, p.stderr)


def product():
    """What make install builds first has all programs and libraries that are installed, and no test."""
    ninja = shutil.which("ninja")
    if ninja is None or not os.path.exists(os.path.join(BUILD, "build.ninja")):
        print("what make install builds is not looked at: the build is not by ninja")
        return
    said = subprocess.run([ninja, "-C", BUILD, "-t", "query", "product"], capture_output=True, text=True, check=True).stdout
    inputs = set(re.findall(r"(?m)^    (\S+)$", said.partition("outputs:")[0]))
    for name in ("bin/mpiexec", "bin/mpictl", "bin/mpiinfo", "bin/impirun", "bin/impi-server", "bin/upcc", "bin/upcrun", "lib/libmpi_abi.so", "lib/libmpi_abi.a",
                 "lib/libmpix_balance.so", "lib/pliant/libpliant_trace.so", "lib/pliant/libpliant_check.so", "docs/man"):
        check(name in inputs, f"make install does not build {name}")
    tests = [x for x in inputs if x.startswith("tests/") or "unit" in x or "fuzz" in x]
    check(not tests, f"make install builds {tests[:5]}")


def blanks():
    """Flags in a variable are cut at blanks: no folder is in them, for the source or the build may be in one with a blank."""
    for pattern in ("*.cmake", "CMakeLists.txt"):
        for path in glob.glob(os.path.join(SOURCE, "**", pattern), recursive=True):
            if not os.path.relpath(path, SOURCE).startswith("build"):
                found = re.search(r"\b[A-Z]*FLAGS=[^ ]*\$\{[A-Z_]*(DIR|PATH)\}", read(path))
                check(not found, f"{path}: {found and found.group()}")


def what_is_missing():
    """What make deb installs first and this build was made without."""
    for name, what in (("pkgconfig/mpi-fort.pc", "gfortran"), ("libimpi-mpich.so", "MPICH"), ("libimpi-openmpi.so", "Open MPI")):
        if not os.path.exists(os.path.join(BUILD, "lib", name)):
            return what
    return None


missing = what_is_missing()
if missing:
    print(f"the contents of the packages are not compared: this build has no {missing}")
else:
    with tempfile.TemporaryDirectory() as top:
        tree = os.path.realpath(top)
        there = installed(tree)
        packages(there)
        links(tree, there)
        manual(tree, there)
product()
blanks()
versions()
recipes()
sys.exit(status())
