"""What is measured and what we aim at. A new number is a program, a row here, and an aim."""
import os
from dataclasses import dataclass, field


@dataclass
class Bench:
    name: str                 # what people type: make bench B=name
    program: str              # bench/<program>.c, or .f90
    ranks: int
    args: list = field(default_factory=list)
    bind: bool = False        # a core for each rank
    wall: str = ""            # also measure the whole command, as this number
    ours_only: bool = False
    tcp: bool = False         # over TCP on this host; numbers are called tcp_...
    quick_args: list = None   # shorter, for --quick
    hosts: int = 0            # spread over so many virtual hosts; numbers are called hosts_...
    competitors: int = 0      # processes that compute beside it (bench/compete.c)
    runs: int = 0             # as many, unless the command line says; 0: as all
    is_asked: bool = False    # runs only when it is named: it takes long
    is_each: bool = False     # a job prints a number several times, and each counts as a run
    is_plain: bool = False    # launched without an option: each launcher binds as it does by default


@dataclass
class Aim:
    what: str                 # for people
    number: str               # name of the number
    params: str               # and its parameters
    limit: float
    kind: str = "lower"       # lower: ours/best peer <= limit; higher: >= limit; at_most: ours alone
    minus_plain: bool = False  # subtract what a program without MPI costs
    against: str = ""         # compare with the peers' number of another name and parameters
    own: str = ""             # compare with this number of ours instead of the peers'
    floor: str = ""           # what the machine or the system gives without MPI
    or_floor: bool = False    # within 1.1 of the floor is reached, too
    at: float = 0.5           # which part of the runs is no slower than what is compared; 0.5: the median


WAYS = (("window", ""), ("stream", "_stream"), ("ping-pong", "_pingpong"))
COLL_SIZES = [1024, 65536, 1048576]
RMA_SIZES = [8, 1024, 65536]


CORES = os.cpu_count() or 1
LINE = "floor_line ranks=2"
RANKS = sorted({2, 4, 8, 16} | ({min(CORES, 64)} if CORES > 16 else set()))
FEW_RANKS = (2, 4)
OTHERS = ("gather", "scatter", "reduce", "reduce_scatter", "scan")
WITH_COUNTS = ("gatherv", "scatterv", "allgatherv", "alltoallv")
NONBLOCKING = ("ibcast", "iallreduce", "ialltoall", "igatherv")


def collectives():
    for ranks in RANKS:
        bind = ranks <= CORES
        yield Bench(f"barrier{ranks}", "coll", ranks, ["barrier"], bind=bind)
        sizes = ["8"] + ([str(s) for s in COLL_SIZES] if ranks <= 4 else [])
        yield Bench(f"allreduce{ranks}", "coll", ranks, ["allreduce"] + sizes, bind=bind,
                    quick_args=["allreduce", "8"])
    sizes = [str(s) for s in COLL_SIZES]
    for ranks in FEW_RANKS:
        bind = ranks <= CORES
        for op in ("bcast", "alltoall", "allgather"):
            yield Bench(f"{op}{ranks}", "coll", ranks, [op] + sizes, bind=bind, quick_args=[op, "1024"])
        for op in OTHERS:
            yield Bench(f"{op}{ranks}", "coll", ranks, [op, "8"] + sizes, bind=bind, quick_args=[op, "8", "1024"])
        for name, ops in (("counts", ",".join(WITH_COUNTS)), ("nonblocking", ",".join(("ibarrier",) + NONBLOCKING)),
                          ("neighbor", "neighbor_alltoall")):
            yield Bench(f"{name}{ranks}", "coll", ranks, [ops, "8"] + sizes, bind=bind, quick_args=[ops, "8", "1024"])
    for op in ("comm_dup", "comm_split"):
        yield Bench(op, "commop", 16, [op])


IO_PLACES = {"tmpfs": "/dev/shm", "disk": "{folder}"}
IO_RANKS = (2, 4, 8)
IO_QUICK = ["floor", "block_write", "block_read", "write_all", "log", "open"]


def files():
    for place, folder in IO_PLACES.items():
        for ranks in IO_RANKS:
            yield Bench(f"io_{place}{ranks}", "io", ranks, [folder, place], bind=ranks == 2,
                        quick_args=[folder, place, *(IO_QUICK if ranks > 2 else [])])


COMPETITORS = (0, 2, 8, 20)
MANY = min(CORES, 64)  # ranks, one for each core


BUSY_JOBS, BUSY_EACH = 5, 4  # jobs beside competitors, and how often each measures: 20 runs


def busy():
    """Beside other work, as each launcher places the ranks by itself; between hosts nothing is bound. Each job measures several
    times, because the peers need seconds to start there."""
    for n in COMPETITORS:
        places = [("", "lat,barrier", 2, 0), ("_hosts", "lat", 2, 2)] + ([("_all", "barrier", MANY, 0)] if MANY > 2 else [])
        for name, what, ranks, hosts in places:
            yield Bench(f"busy{n}{name}", "busy", ranks, [what, str(BUSY_EACH), str(n)], hosts=hosts, competitors=n,
                        runs=BUSY_JOBS, is_each=True, is_asked=True, is_plain=True)


def copy_floor(size):
    return f"floor_copy size={size}"


def beside_kernel():
    for words, way in WAYS:
        yield Aim(f"bandwidth 1 MiB, {words}, beside the kernel's copy by both cores", f"bw{way}",
                  f"size={1 << 20} ranks=2", 0.77, "higher", own=f"floor_kernel size={1 << 20}")


BENCHES = [
    Bench("floor", "floor", 1, ours_only=True),
    Bench("lat", "lat", 2, bind=True, quick_args=["8", "1024", "4096"]),
    Bench("bw", "bw", 2, bind=True, quick_args=["65536", "1048576", "4194304"]),
    Bench("rate", "rate", 2, bind=True),
    Bench("match", "match", 2, bind=True),
    Bench("strided", "strided", 2, bind=True),
    Bench("rma", "rma", 2, bind=True, quick_args=["8"]),
    Bench("tcp_lat", "lat", 2, ["8", "1024", "4096", "65536"], bind=True, tcp=True,
          quick_args=["8", "65536"]),
    Bench("tcp_bw", "bw", 2, ["65536", "1048576", "4194304"], bind=True, tcp=True,
          quick_args=["1048576"]),
    Bench("tcp_allreduce2", "coll", 2, ["allreduce", "8", "1048576"], bind=True, tcp=True),
    Bench("rawtcp", "rawtcp", 2, ["8", "1024", "65536", "1048576"], bind=True,
          quick_args=["8", "1048576"]),
    Bench("hosts_lat", "lat", 2, ["8", "1024", "65536"], hosts=2, quick_args=["8"]),
    Bench("hosts_bw", "bw", 2, ["1048576"], hosts=2),
    Bench("hosts_raw", "rawtcp", 2, ["8", "1048576"], hosts=2),
    Bench("hosts_allreduce", "coll", 4, ["allreduce", "8", "1048576"], hosts=2),
    Bench("hosts_barrier", "coll", 4, ["barrier"], hosts=2),
    Bench("hosts_bcast", "coll", 4, ["bcast", "8", "1048576"], hosts=2),
    Bench("hosts_allgather", "coll", 4, ["allgather", "8", "1024", "65536"], hosts=2),
    Bench("hosts_alltoall", "coll", 4, ["alltoall", "8", "1024", "65536"], hosts=2),
    Bench("hosts_start", "init", 64, hosts=4, wall="start"),
    Bench("ring16", "ring", 16),
    Bench("poll4", "ring", 4, ["poll"]),
    Bench("poll8", "ring", 8, ["poll"]),
    Bench("bfs4", "bfs", 4),
    Bench("bfs8", "bfs", 8),
    Bench("fortran_lat", "fortran", 2, bind=True),
    Bench("fortran_c", "lat", 2, ["8"], bind=True),  # the same in C, measured at the same time
    Bench("idle", "idle", 9),
    Bench("mem", "mem", 32),
    Bench("init64", "init", 64, wall="init_wall"),
    Bench("initcost", "init", 64, ["report"]),
    Bench("start1024", "start", 1024, wall="start_wall", ours_only=True),
    Bench("ep_lat", "ep_pair", 1, ["lat", "8", "1024", "4096"], ours_only=True),
    Bench("ep_bw", "ep_pair", 1, ["bw", "65536", "1048576", "4194304"], ours_only=True),
    Bench("rates_mt", "rates", 2, ["2"]),
    Bench("rates_procs", "rates", 4, ["1"], ours_only=True),
    Bench("ep_rates", "ep_rates", 2, ["2"], ours_only=True),
    Bench("ep_allreduce_procs", "ep_coll", 4, ["0", "8", "1024", "65536", "1048576"], ours_only=True,
          quick_args=["0", "8", "1024"]),
    Bench("ep_allreduce", "ep_coll", 2, ["2", "8", "1024", "65536", "1048576"], ours_only=True,
          quick_args=["2", "8", "1024"]),
    *collectives(),
    *files(),
    *busy(),
]


def size_word(n):
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if n >> shift:
            return f"{n >> shift} {unit}"
    return f"{n} B"


def collective_aims():
    for ranks in RANKS:
        floor, limit = (LINE, 0.7) if ranks == 2 else ("", 0.8)
        yield Aim(f"barrier, {ranks} ranks", "barrier", f"size=0 ranks={ranks}", limit, floor=floor)
        yield Aim(f"allreduce 8 B, {ranks} ranks", "allreduce", f"size=8 ranks={ranks}", limit, floor=floor)
    for op in ("bcast", "allreduce", "alltoall", "allgather"):
        for ranks in FEW_RANKS:
            for size in COLL_SIZES:
                yield Aim(f"{op} {size_word(size)}, {ranks} ranks", op,
                          f"size={size} ranks={ranks}", 1.0)
    for ranks in FEW_RANKS:
        yield Aim(f"ibarrier, {ranks} ranks", "ibarrier", f"size=0 ranks={ranks}", 1.0, floor=LINE if ranks == 2 else "")
    for op in OTHERS + WITH_COUNTS + NONBLOCKING + ("neighbor_alltoall",):
        for ranks in FEW_RANKS:
            for size in [8] + COLL_SIZES:
                yield Aim(f"{op} {size_word(size)}, {ranks} ranks", op,
                          f"size={size} ranks={ranks}", 1.0)
    for op in ("comm_dup", "comm_split"):
        yield Aim(f"{op}, 16 ranks", op, "size=0 ranks=16", 0.5)


# What is measured on files: the number, its size, words for people, and the least ratio to the better
# of the others.
IO_LINES = [
    ("block_write", 1 << 20, "write 1 MiB blocks", 1.0),
    ("block_write_all", 1 << 20, "write 1 MiB blocks together", 1.0),
    ("block_read", 1 << 20, "read 1 MiB blocks", 1.0),
    ("block_read_all", 1 << 20, "read 1 MiB blocks together", 1.0),
    *[(f"mixed_{way}{how}", size, f"{way} records of {size_word(size)} by turns{words}", 2.0)
      for size in (64, 512, 4096) for how, words in (("_all", " together"), ("", ""))
      for way in ("write", "read")],
    *[(f"array_{way}", n, f"{way} a {n}-D array by blocks", 1.0) for n in (2, 3)
      for way in ("write", "read")],
    ("log", 200, "log of 200 B lines with the shared pointer", 5.0),
    ("log_mapped", 200, "log of 200 B lines, by a mapping", 5.0),
]


def io_floor(name, size, where):
    """What the system alone gives: one rank that writes what all have put into memory, pages of a file that ranks map and
    fill, bringing all of them or by stores to their own, or a system call for each block."""
    if name == "log":
        return ""
    way = f"overlap size={size}" if name == "overlap" else \
        "store size=200" if name == "log_mapped" else \
        "gather size=262144" if name == "mixed_write_all" else \
        "pages size=4096" if name == "mixed_write" and size == 4096 and "tmpfs" in where else \
        "store size=512" if name == "mixed_write" else \
        f"{'write' if 'write' in name else 'read'} size={1 << 20}"
    return f"io_floor_{way} {where}"


def file_aims():
    for place in IO_PLACES:
        for ranks in IO_RANKS:
            where = f"place={place} ranks={ranks}"
            there = f"{place}, {ranks} ranks"
            for name, size, words, limit in IO_LINES:
                yield Aim(f"{words}, {there}", f"io_{name}", f"size={size} {where}", limit, "higher",
                          floor=io_floor(name, size, where), or_floor=True)
            yield Aim(f"write an array while computing, {there}", "io_overlap", f"size=2 {where}", 1.0,
                      floor=io_floor("overlap", 2, where), or_floor=True)
            yield Aim(f"open and close a file, {there}", "io_open", f"size=0 {where}", 1.0)
            for name in ("block_write", "block_read", "block_write_all", "block_read_all"):
                way = "write" if "write" in name else "read"
                for beside, line in (("system calls", way), ("dd", f"dd_{way}")):
                    yield Aim(f"{way} 1 MiB blocks{' together' if 'all' in name else ''} beside {beside}, {there}",
                              f"io_{name}", f"size={1 << 20} {where}", 0.9, "higher",
                              own=f"io_floor_{line} size={1 << 20} {where}")


def busy_aims():
    for n in COMPETITORS:
        lines = [("latency 8 B", "busy_lat", 8, 2), ("latency 8 B between hosts", "hosts_busy_lat", 8, 2),
                 *[(f"barrier, {ranks} ranks", "busy_barrier", 0, ranks) for ranks in sorted({2, max(2, MANY)})]]
        for words, number, size, ranks in lines:
            for at, part in ((0.5, "median"), (0.95, "95th percentile")):
                yield Aim(f"{words} beside {n} competitors, {part} of the runs", number,
                          f"size={size} ranks={ranks} competitors={n}", 1.2, at=at)


AIMS = [
    Aim("latency 8 B", "lat", "size=8 ranks=2", 0.80, floor=LINE),
    Aim("latency 1 KiB", "lat", "size=1024 ranks=2", 0.90),
    Aim("latency 4 KiB", "lat", "size=4096 ranks=2", 0.90),
    Aim("latency 8 B by mpi_f08", "fortran", "size=8 ranks=2", 0.80),
    Aim("latency 8 B by mpi_f08 beside C", "fortran", "size=8 ranks=2", 1.10, own="lat size=8 ranks=2"),
    Aim("message rate 8 B, window 64", "rate", "size=8 window=64 ranks=2", 1.3, "higher"),
    Aim("bandwidth 64 KiB", "bw", "size=65536 ranks=2", 1.3, "higher", floor=copy_floor(65536)),
    Aim("bandwidth 1 MiB", "bw", "size=1048576 ranks=2", 1.3, "higher", floor=copy_floor(1048576)),
    Aim("bandwidth 4 MiB", "bw", "size=4194304 ranks=2", 1.3, "higher", floor=copy_floor(4194304)),
    *beside_kernel(),
    *[Aim(f"{words} {size_word(size)}", f"rma_{name}", f"size={size} ranks=2", 1.0)
      for name, words in (("put", "put and flush"), ("get", "get and flush"), ("accumulate", "accumulate and flush"),
                          ("puts64", "64 puts and flush"))
      for size in RMA_SIZES],
    *[Aim(words, f"rma_{name}", "size=8 ranks=2", 1.0)
      for name, words in (("fetch", "fetch and add"), ("get_accumulate", "get and accumulate 8 B"),
                          ("lock", "lock, put 8 B, unlock"),
                          ("pscw", "post, start, put 8 B, complete, wait"), ("fence", "put 8 B, fence"))],
    Aim("latency 8 B over TCP", "tcp_lat", "size=8 ranks=2", 0.85),
    Aim("latency 8 B over TCP beside a bare socket", "tcp_lat", "size=8 ranks=2", 1.25,
        against="raw_lat size=8 ranks=2"),
    Aim("bandwidth 1 MiB over TCP", "tcp_bw", "size=1048576 ranks=2", 1.2, "higher"),
    Aim("bandwidth 1 MiB over TCP beside a bare socket", "tcp_bw", "size=1048576 ranks=2", 0.9,
        "higher", against="raw_bw size=1048576 ranks=2"),
    Aim("allreduce 8 B over TCP, 2 ranks", "tcp_allreduce", "size=8 ranks=2", 0.8),
    Aim("allreduce 1 MiB over TCP, 2 ranks", "tcp_allreduce", "size=1048576 ranks=2", 0.8),
    Aim("latency 8 B between hosts", "hosts_lat", "size=8 ranks=2", 0.85),
    Aim("latency 8 B between hosts beside a bare socket", "hosts_lat", "size=8 ranks=2", 1.25,
        against="hosts_raw_lat size=8 ranks=2"),
    Aim("bandwidth 1 MiB between hosts", "hosts_bw", "size=1048576 ranks=2", 1.2, "higher"),
    Aim("bandwidth 1 MiB between hosts beside a bare socket", "hosts_bw", "size=1048576 ranks=2", 0.9,
        "higher", against="hosts_raw_bw size=1048576 ranks=2"),
    Aim("allreduce 8 B, 2 hosts x 2 ranks", "hosts_allreduce", "size=8 ranks=4", 0.8),
    Aim("allreduce 1 MiB, 2 hosts x 2 ranks", "hosts_allreduce", "size=1048576 ranks=4", 0.8),
    Aim("barrier, 2 hosts x 2 ranks", "hosts_barrier", "size=0 ranks=4", 0.8),
    *[Aim(f"{op} {word}, 2 hosts x 2 ranks", f"hosts_{op}", f"size={size} ranks=4", 1.0)
      for op, sizes in (("bcast", (8, 1048576)), ("allgather", (8, 1024, 65536)), ("alltoall", (8, 1024, 65536)))
      for size, word in ((s, size_word(s)) for s in sizes)],
    Aim("start and end of 4 hosts x 16 ranks", "hosts_start", "ranks=64", 0.5),
    Aim("message with 10,000 posted receives", "match", "posted=10000 ranks=2", 0.02),
    Aim("ring of 4 ranks that poll", "ring_poll", "size=8 ranks=4", 1.0),
    Aim("ring of 8 ranks that poll", "ring_poll", "size=8 ranks=8", 1.0),
    *[Aim(f"breadth-first search of {n} ranks that poll", "bfs", f"scale=15 ranks={n}", 1.0) for n in (4, 8)],
    Aim("ring of 16 ranks, one lap", "ring", "size=8 ranks=16", 0.9),
    Aim("CPU of 8 waiting ranks", "idle", "ranks=8", 0.5, "at_most"),
    Aim("strided send 1 MiB", "strided", "size=1048576 to=plain ranks=2", 1.0, "higher"),
    Aim("strided to strided 1 MiB", "strided", "size=1048576 to=strided ranks=2", 1.0, "higher"),
    Aim("private memory, 32 ranks all to all", "mem", "ranks=32", 0.1),
    Aim("start and end of 64 ranks", "init_wall", "ranks=64", 0.1),
    Aim("private memory added by MPI, 64 ranks", "init_private", "ranks=64", 0.1, minus_plain=True),
    Aim("descriptors per rank", "init_fds", "ranks=64", 4, "at_most"),
    Aim("threads per rank", "init_threads", "ranks=64", 1, "at_most"),
    Aim("1,024 ranks start, meet and end", "start_wall", "ranks=1024", 30, "at_most"),
    Aim("latency 8 B between two threads' endpoints of one process", "ep_lat", "size=8 threads=2", 0.80,
        against="lat size=8 ranks=2"),
    *[Aim(f"bandwidth 1 MiB between two threads' endpoints, {way}", f"ep_bw{end}",
          "size=1048576 threads=2", 2.5, "higher", against=f"bw{end} size=1048576 ranks=2")
      for way, end in WAYS],
    Aim("message rate, 2 processes x 2 threads with endpoints, to 4 processes of ours", "ep_rates",
        "size=8 ranks=2 threads=2", 0.9, "higher", own="rates size=8 ranks=4 threads=1"),
    Aim("message rate, 2 processes x 2 threads, endpoints against one communicator", "ep_rates",
        "size=8 ranks=2 threads=2", 3, "higher", against="rates size=8 ranks=2 threads=2"),
    *[Aim(f"allreduce {size_word(size)}, 2 processes x 2 endpoints, to 4 processes of ours",
          "ep_allreduce", f"size={size} ranks=2 threads=2", 1.0, own=f"ep_allreduce size={size} ranks=4 threads=1")
      for size in (8, *COLL_SIZES)],
    *collective_aims(),
    *file_aims(),
    *busy_aims(),
]
