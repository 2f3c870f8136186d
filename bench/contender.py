"""The implementations that are compared: how each compiles and launches a program."""
import os
import re
import shutil
import signal
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Contender:
    def __init__(self, name, title, compiler, launch, bound, free, env=None, tcp=None):
        self.name, self.title = name, title
        self.compiler, self.launch, self.bound, self.free = compiler, launch, bound, free
        self.env = env or {}
        self.tcp = tcp or {}      # settings that keep it off shared memory
        self.why_not = ""
        if shutil.which(compiler) is None:
            self.why_not = f"{compiler} is not installed"
        elif shutil.which(launch) is None:
            self.why_not = f"{launch} is not there"

    def build(self, program, folder):
        """Compile bench/<program>.c, or .f90; the path, or None after saying why."""
        source, compiler = os.path.join(HERE, program + ".c"), self.compiler
        if not os.path.exists(source):
            source, compiler = source[:-2] + ".f90", compiler.replace("mpicc", "mpifort")
        out = os.path.join(folder, self.name, program)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        run = subprocess.run([compiler, "-O2", "-o", out, source], capture_output=True,
                             text=True, check=False)
        if run.returncode == 0:
            return out
        lacking = sorted(set(re.findall(r"undefined reference to `(\w+)'", run.stderr)))
        raise RuntimeError(f"needs {', '.join(lacking)}" if lacking else
                           run.stderr.strip().split("\n")[-1])

    def command(self, bench, program, args):
        options = [] if bench.is_plain else self.bound if bench.bind else self.free
        return [self.launch, *options, "-n", str(bench.ranks), program, *args]


def pliant(build, name="pliant", title="Pliant MPI"):
    """Pliant MPI as built in a folder."""
    bin_folder = os.path.join(build, "bin")
    return Contender(name, title, os.path.join(bin_folder, "mpicc"),
                     os.path.join(bin_folder, "mpiexec"), ["--bind-to", "core"], ["--bind-to", "none"],
                     tcp={"PLIANT_NET": "tcp"})


def contenders(build):
    return [
        pliant(build),
        Contender("mpich", "MPICH", "mpicc.mpich", "mpiexec.hydra", ["-bind-to", "core"], [],
                  tcp={"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}),
        # Its launcher refuses root and more ranks than cores unless told otherwise.
        Contender("openmpi", "Open MPI", "mpicc.openmpi", "mpirun.openmpi",
                  ["--bind-to", "core"], ["--oversubscribe", "--bind-to", "none"],
                  {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
                  {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self",
                   "OMPI_MCA_btl_tcp_if_include": "lo"}),
    ]


def version_of(contender):
    ours = [os.path.join(os.path.dirname(contender.launch), "mpiinfo"), "--version"]
    asked = {"pliant": ours, "before": ours,
             "mpich": ["mpiexec.hydra", "--version"], "openmpi": ["mpirun.openmpi", "--version"]}
    try:
        out = subprocess.run(asked[contender.name], capture_output=True, text=True, check=False,
                             env={**os.environ, **contender.env}).stdout
    except OSError:
        return "?"
    m = re.search(r"\d+\.\d+[\w.]*", out)
    return m.group(0) if m else "?"


def shield():
    """In the child: a session of its own that goes before all others. Works for root only."""
    if "BENCH_BEST" in os.environ:
        return
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-20")
    except OSError:
        pass


def sweep(sid, program):
    """Kill what is left of a job we started: its session, and ranks that left the session."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                is_ours = int(f.read().rsplit(")", 1)[1].split()[3]) == sid
            if is_ours or os.readlink(f"/proc/{entry}/exe") == program:
                os.kill(int(entry), signal.SIGKILL)
        except (OSError, ValueError, IndexError):
            pass


def finish(job, limit):
    """What the job printed; a launcher that is late is asked to end its ranks first."""
    try:
        return job.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        job.terminate()
        try:
            job.wait(5)
        except subprocess.TimeoutExpired:
            pass
        raise RuntimeError(f"not done after {limit} s") from None


LINE = re.compile(r"^(\w+) (\S.*) (\S+) (\S+)$")


def run_once(command, program, limit, env=None):
    """Run one job: ({(name, params, unit): [values]}, wall seconds). RuntimeError when it fails."""
    begin = time.monotonic()
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True,
                           preexec_fn=shield, env={**os.environ, **(env or {})})
    try:
        out, err = finish(job, limit)
    finally:
        wall = time.monotonic() - begin
        sweep(job.pid, program)
        job.wait()
    if job.returncode != 0:
        said = (err.strip() or out.strip()).split("\n")
        raise RuntimeError(f"exit status {job.returncode}: {said[0]}")
    found = {}
    for line in out.splitlines():
        m = LINE.match(line)
        if m:
            found.setdefault((m.group(1), m.group(2), m.group(4)), []).append(float(m.group(3)))
    return found, wall
