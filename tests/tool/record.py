"""mpiexec --record and --replay: a result that depends on the order of messages comes again, each time."""
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from lib.launch import BUILD, IS_SANITIZED, Run, check, sanitizer_behind, sanitizer_flags, status

PROBE = os.path.join(BUILD, "tests", "bin", "record_probe")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "record_probe.c")
HEAD = struct.Struct("=QIIQQQ")
N_AGAIN = 20


def line_of(mark):
    for n, line in enumerate(open(SOURCE, encoding="utf-8"), 1):
        if line.rstrip().endswith("// here: " + mark):
            return f"record_probe.c:{n}"
    return None


def sums(r):
    return re.findall(r"^sum .*$", r.out, re.M)


def size(path):
    """Bytes and outcomes in the record of a rank."""
    with open(path, "rb") as f:
        _, _, is_complete, n_byte, n_event, _ = HEAD.unpack(f.read(HEAD.size))
    return n_byte, n_event, is_complete


def one(d, *args, n=4, times=1, env=None, has_sum=True):
    """Recorded, and then replayed so often."""
    first = Run("--record", d, "-n", n, *args, env=env)
    check(first.rc == 0 and bool(sums(first)) == has_sum and first.err == "", first)
    for _ in range(times):
        again = Run("--replay", d, "-n", n, *args, env=env)
        check(again.rc == 0 and sums(again) == sums(first) and again.err == "", f"recorded: {first.out} replayed: {again}")
    return sums(first)


def order(d):
    """Two recordings of different orders, each replayed many times beside work that keeps the cores busy."""
    load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        first = one(os.path.join(d, "a"), PROBE, "order", 8, times=N_AGAIN // SCALE)
        second = first
        for k in range(5):  # chance has to make another order
            if second == first:
                second = one(os.path.join(d, f"b{k}"), PROBE, "order", 8, times=2)
        check(first != second, "six recordings have the same order")
    finally:
        for p in load:
            p.kill()
            p.wait()


def killed(d):
    at = os.path.join(d, "killed")
    first = Run("--record", at, "-n", 4, PROBE, "killed", 20)
    check(first.rc != 0 and len(sums(first)) == 31, first)
    _, n_event, is_complete = size(os.path.join(at, "rank.0"))
    check(n_event == 31 and not is_complete, n_event)
    again = Run("--replay", at, "-n", 4, PROBE, "killed", 20)
    check(again.rc != 0 and sums(again) == sums(first), again)
    lives = Run("--replay", at, "-n", 4, PROBE, "killed", 20, env={"PROBE_LIVES": "1"})
    check(lives.rc == 0 and sums(lives)[:31] == sums(first) and len(sums(lives)) == 60, lives)


def small(d):
    """At most 4 bytes for each outcome."""
    n_bytes = n_events = 0
    at = os.path.join(d, "many")
    one(at, PROBE, "many", 20000 // SCALE)
    for path in glob.glob(os.path.join(d, "*", "rank.*")):
        n_byte, n_event, _ = size(path)
        check(n_event < 50 or n_byte <= 4 * n_event, f"{path}: {n_byte} bytes for {n_event} outcomes")
        n_bytes += n_byte
        n_events += n_event
    n_byte, n_event, is_complete = size(os.path.join(at, "rank.0"))
    check(n_event == 3 * (20000 // SCALE) and is_complete, n_event)
    check(os.path.getsize(os.path.join(at, "rank.0")) <= 4096 + 4 * n_event, "the file is cut to its length")
    print(f"{n_bytes} bytes for {n_events} outcomes: {n_bytes / n_events:.2f} bytes each; many: {n_byte / n_event:.2f}")


def differs(d):
    at = os.path.join(d, "differs")
    check(Run("--record", at, "-n", 3, PROBE, "differs").rc == 0, "recorded")
    check(Run("--replay", at, "-n", 3, PROBE, "differs").rc == 0, "replayed")
    r = Run("--replay", at, "-n", 3, PROBE, "differs", env={"PROBE_DIFFERS": "1"})
    check(r.rc == 1, r)
    check(re.search(rf"replay: rank 0: MPI_Test at {line_of('differs')} is not what was recorded: a receive with MPI_ANY_SOURCE, "
                    r"which received from rank \d \(outcome 2 of 2\);", r.err), r)
    for bad, why in ((("-n", 2, PROBE, "differs"), r"recorded was mpiexec -n 3 record_probe differs, and this is mpiexec -n 2 record_probe differs;"),
                     (("-n", 3, PROBE, "order"), "this is mpiexec -n 3 record_probe order")):
        r = Run("--replay", at, *bad)
        check(r.rc == 2 and why in r.words, r)
    r = Run("--record", at, "-n", 3, PROBE, "differs")
    check(r.rc == 2 and "there is a record already" in r.words, r)
    r = Run("--replay", d, "-n", 3, PROBE, "differs")
    check(r.rc == 2 and "there is no record; make one by --record" in r.words, r)
    os.truncate(os.path.join(at, "rank.1"), 100)
    with open(os.path.join(at, "rank.0"), "r+b") as f:
        f.write(b"nonsense")
    r = Run("--replay", at, "-n", 3, PROBE, "differs")
    check(r.rc != 0 and "rank.0 is no record that this version of Pliant MPI can read" in r.words, r)


def write_rank(path, events, n_more=0, is_complete=0, n_event=0):
    """A record of one rank that no recorder has written."""
    head = HEAD.pack(0x64726F6365722D70, 1, is_complete, len(events), n_event, n_more)
    with open(path, "wb") as f:
        f.write(head.ljust(4096, b"\0") + bytes(events))


def foreign(d):
    """Records that are damaged, or that somebody has made up: a sentence, at once, and no harm."""
    at = os.path.join(d, "foreign")
    check(Run("--record", at, "-n", 2, PROBE, "some").rc == 0, "recorded")
    rank = os.path.join(at, "rank.0")
    damaged = "rank.0 is damaged, or there is no memory left for it; make a new record by --record"
    big = [0xFF] * 8 + [0x7F]
    for events, more, why in (([32, 2, 1, 1], {}, "is not what was recorded: request 0 became complete twice"),
                              ([32, 2, 0, 1], {}, damaged),
                              ([32, 2, 1, 9], {}, "request 8 became complete, and now there are 2 requests"),
                              ([11, 0], {"n_more": 2**64 - 1}, damaged),
                              ([11, 0], {"n_more": 2**63}, "is not what was recorded: MPI_Test, which returned false"),
                              ([2, 1], {"n_more": 2**40}, damaged),
                              ([4, *big, 1], {}, damaged),
                              ([0, *big], {}, damaged),
                              ([1, 1, *big], {}, damaged),
                              ([31], {}, damaged),
                              ([32, 2, 1], {}, damaged),
                              ([32, 2, 1, 2], {"is_complete": 1, "n_event": 5}, damaged)):
        write_rank(rank, events, **more)
        r = Run("--replay", at, "-n", 2, PROBE, "some", timeout=60)
        check(r.rc == 1 and why in r.words, f"{events} {more}: {r}")
    os.remove(rank)
    os.mkfifo(rank)
    r = Run("--replay", at, "-n", 2, PROBE, "some", timeout=60)
    check(r.rc == 1 and "rank.0 is no record that this version of Pliant MPI can read" in r.words, r)
    job = os.path.join(at, "job")
    with open(job, "a", encoding="utf-8") as f:
        f.write("-n 1 \033[31mred\n")
    r = Run("--replay", at, "-n", 2, PROBE, "some", timeout=60)
    check(r.rc == 2 and "\033" not in r.err and ":-n 1 ?[31mred, and this is" in r.words, r)
    os.remove(job)
    os.mkfifo(job)
    r = Run("--replay", at, "-n", 2, PROBE, "some", timeout=60)
    check(r.rc == 2 and "is not of a record that this version of Pliant MPI can read" in r.words, r)


def errors(d):
    """Calls that failed fail again, at once or, where a death was the reason, when it is known."""
    one(os.path.join(d, "errors"), PROBE, "errors", n=1)
    for name in ("mpi.p2p_part", "mpi.win_errors"):
        one(os.path.join(d, name), os.path.join(BUILD, "tests", "bin", name), n=2, has_sum=False)
    for how in ("--record", "--replay"):
        r = Run(how, os.path.join(d, "died"), "--on-failure=shrink", "-n", 2, PROBE, "died")
        check(r.rc == 0 and sums(r) == ["sum 0"], f"{how}: {r}")


def threads(d):
    r = Run("--record", os.path.join(d, "threads"), "-n", 1, PROBE, "threads")
    check(r.rc == 1 and f"MPI_Iprobe at {line_of('second')} is called by a second thread" in r.words, r)
    at = os.path.join(d, "endpoints")
    one(at, PROBE, "endpoints", n=2, times=3)
    check(len(glob.glob(os.path.join(at, "rank.*.*"))) == 4, os.listdir(at))
    at = os.path.join(d, "attached")
    one(at, "--endpoints", 2, PROBE, "attached", n=2, times=2)
    check(sorted(os.listdir(at)) == ["job", "rank.0", "rank.0.1", "rank.1", "rank.1.1"], os.listdir(at))


def forked(d):
    """A clone of MPI_Fork records in a file of its own."""
    at = os.path.join(d, "fork")
    one(at, PROBE, "fork", 20, n=2, times=2)
    for rank, n_event in enumerate((80, 80, 60, 60)):
        check(size(os.path.join(at, f"rank.{rank}"))[1:] == (n_event, 1), f"{rank}: {size(os.path.join(at, f'rank.{rank}'))}")
    r = Run("--log-messages", at + "-log", "-n", 2, PROBE, "fork", 20)
    check(r.rc != 0 and "writes a log of its messages (mpiexec --log-messages)" in r.words, r)


def others(d):
    """On three pretended hosts; in Fortran; a program of another MPI."""
    one(os.path.join(d, "hosts"), PROBE, "order", 4, times=3, env={"PLIANT_FAKE_HOSTS": "3"})
    program = os.path.join(d, "order.f90")
    with open(program, "w", encoding="ascii") as f:
        f.write("""program order
use mpi_f08
integer :: rank, n, i, v, total = 7
type(MPI_Status) :: s
type(MPI_Request) :: q
logical :: flag
call MPI_Init()
call MPI_Comm_rank(MPI_COMM_WORLD, rank)
call MPI_Comm_size(MPI_COMM_WORLD, n)
if (rank > 0) then
  do i = 1, 50
    call MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_WORLD)
  end do
else
  do i = 1, 50 * (n - 1)
    call MPI_Irecv(v, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, q)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(q, flag, s)
      total = mod(total * 3 + 1, 1000003)
    end do
    total = mod(total * 31 + s%MPI_SOURCE + v, 1000003)
  end do
  print '(a,i0)', 'sum ', total
end if
call MPI_Finalize()
end program
""")
    if shutil.which("gfortran") and os.path.exists(os.path.join(BUILD, "bin", "mpifort")):
        exe = os.path.join(d, "order_f")
        subprocess.run([os.path.join(BUILD, "bin", "mpifort"), "-g", "-o", exe, program], check=True, cwd=d)
        one(os.path.join(d, "fortran"), exe, times=5)
    for compiler in ("mpicc.mpich", "mpicc.openmpi"):
        if shutil.which(compiler) is None or IS_SANITIZED:
            print(f"{compiler}: not tried")
            continue
        exe = os.path.join(d, compiler)
        text = open(SOURCE, encoding="utf-8").read()
        text = re.sub(r"MPI_Comm_create_endpoints\(.*\);", "(void)ep;", text)
        text = re.sub(r"(MPI_Comm_endpoint_attach|MPI_Comm_attach|MPI_Comm_detach)\(.*\);", ";", text).replace("MPI_COMM_ENDPOINTS", "MPI_COMM_WORLD")
        text = text.replace("MPI_Fork(size)", "-1")
        text = re.sub(r"MPI_Request_get_status_any\([^;]*;", "flag = 0;", text)
        foreign = os.path.join(d, "foreign.c")
        with open(foreign, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([compiler, "-g", "-pthread", "-w", *sanitizer_flags(), "-o", exe, foreign], check=True)
        one(os.path.join(d, compiler + ".d"), exe, "order", 4, times=3)


SCALE = 4 if IS_SANITIZED else 1


def main():
    sanitizer_behind()
    os.environ["MPICH_CC"] = os.environ["OMPI_CC"] = "gcc"
    with tempfile.TemporaryDirectory() as d:
        for f in (order, killed, small, differs, foreign, errors, threads, forked, others):
            f(d)
    sys.exit(status())


if __name__ == "__main__":
    main()
