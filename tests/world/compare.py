# SPDX-License-Identifier: BSD-3-Clause
"""What abi_world.py and apps_world.py share: installing packages, running programs with a limit, comparing what they say."""
import os
import pathlib
import re
import signal
import subprocess
import time

END = "<!-- to here -->"
LAUNCHER = {"openmpi": "mpirun.openmpi --allow-run-as-root --oversubscribe", "mpich": "mpiexec.hydra"}


def missing(packages):
    """Those that are not installed."""
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *packages],
                          capture_output=True, text=True, check=False).stdout
    return sorted(set(packages) - set(re.findall(r"(?m)^(\S+) ii", said)))


def install(who, packages, work):
    """Asks apt-get for them; what it could not install stays away."""
    if not packages:
        return
    if os.geteuid() != 0:
        print(f"{who}: {len(packages)} packages are missing and installing them takes root; their rows are left out:\n  "
              f"apt-get install --no-install-recommends {' '.join(packages)}", flush=True)
        return
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-y", "--no-install-recommends", *packages]
    plan = subprocess.run([*command, "--assume-no"], capture_output=True, text=True, check=False).stdout
    size = re.findall(r"(?m)^(?:Need to get|After this operation).*", plan)
    print(f"{who}: installing {' '.join(packages)}\n  {' '.join(size)}", flush=True)
    begin = time.monotonic()
    with open(work / "apt.log", "ab") as log:
        status = subprocess.run(command, stdout=log, stderr=log, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False)
    print(f"{who}: apt-get ended with {status.returncode} after {time.monotonic() - begin:.0f} s", flush=True)


def source_options(work):
    """Options for apt-get source where /etc/apt names archives of packages alone: the same archives' sources, in lists of our own."""
    if subprocess.run(["apt-get", "indextargets", "Created-By: Sources"], capture_output=True, check=False).stdout:
        return []
    parts = work / "apt" / "sources.list.d"
    for folder in (parts, work / "apt" / "lists" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    etc = pathlib.Path("/etc/apt")
    for named in (etc / "sources.list", *(etc / "sources.list.d").glob("*.list"), *(etc / "sources.list.d").glob("*.sources")):
        if named.exists():
            text = re.sub(r"(?m)^(Types:\s*)deb\s*$|^deb(?=\s)", r"\1deb-src", named.read_text(encoding="utf-8"))
            (parts / named.name).write_text(text, encoding="utf-8")
    options = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}", "-o", f"Dir::State::lists={work}/apt/lists"]
    subprocess.run(["apt-get", *options, "-qq", "update"], capture_output=True, check=False)
    return options


class Outcome:
    """What one run of a program came to: its answer, or why it has none."""

    def __init__(self, status, said, seconds, pattern):
        self.seconds = seconds
        self.said = said
        self.answer = sorted(re.findall(pattern, said)) if status == 0 else []
        self.why = (None if self.answer else "no answer in what it prints" if status == 0
                    else "no end in time" if status is None else f"exit status {status}")


def bash(script, folder, env, limit):
    """Its status (None: out of time), and all it printed."""
    with open(folder / "said", "wb") as out:
        p = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = p.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        except KeyboardInterrupt:
            os.killpg(p.pid, signal.SIGTERM)
            raise
        if status is None:
            os.killpg(p.pid, signal.SIGTERM)
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
    return status, (folder / "said").read_text(errors="replace")


def numbers_agree(a, b, tolerance):
    """Whether two words are the same, or are numbers that differ by rounding."""
    if a == b:
        return True
    try:
        x, y = float(a.replace("D", "E")), float(b.replace("D", "E"))
    except ValueError:
        return False
    return abs(x - y) <= tolerance * max(abs(x), abs(y))


def same(mine, own, tolerance):
    """Whether two lists of lines say the same."""
    def words(lines):
        return [w for line in lines for w in re.split(r"[\s(),]+", line if isinstance(line, str) else " ".join(line))]
    a, b = words(mine), words(own)
    return len(a) == len(b) and all(numbers_agree(x, y, tolerance) for x, y in zip(a, b))


def page_lines(page, start):
    """The lines between two marks of a page, without empty ones."""
    text = page.read_text(encoding="utf-8")
    begin = text.index(start) + len(start)
    return [line for line in text[begin:text.index(END, begin)].splitlines() if line]


def write_page(page, start, lines):
    """Puts the lines between two marks of a page."""
    text = page.read_text(encoding="utf-8")
    begin, end = text.index(start) + len(start), text.index(END, text.index(start))
    page.write_text(text[:begin] + "\n\n" + "\n".join(lines) + "\n\n" + text[end:], encoding="utf-8")
