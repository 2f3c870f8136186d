"""Start-up on several virtual hosts: time until all are ready, and the TCP connections that ranks hold."""
import statistics
import sys

from plan import Bench
from vhosts import Hosts

EACH = 16  # ranks on a host, as many as the communicators of a sparse world have
COUNTS = (1, 2, 4, 8)
MODES = ("init", "session", "sparse", "meet", "meet2")


def measure_hosts(results, args, folder, programs, one_run):
    """Add rows to results["hosts"]. programs: [(contender, path)]"""
    try:
        hosts = Hosts(COUNTS[-1])
    except RuntimeError as e:
        print(f"startup: {e}", file=sys.stderr)
        return
    try:
        for contender, program in programs:
            for mode in MODES if contender.name == "pliant" else MODES[:1]:
                for n in COUNTS:
                    bench = Bench("startup", "startup", EACH * n, hosts=n)
                    command = hosts.words(contender, bench)
                    try:
                        runs = [one_run(contender, program, mode, EACH * n, folder, command, hosts.env(contender))
                                for _ in range(args.runs)]
                    except RuntimeError as e:
                        results["failed"].append([contender.name, f"{mode}, {n} hosts", EACH * n, str(e)])
                        print(f"{contender.name} {mode} hosts={n}: {e}", flush=True)
                        break
                    row = {key: statistics.median(r[key] for r in runs) for key in runs[0]}
                    row.update(mpi=contender.name, mode=mode, hosts=n, n=EACH * n)
                    results["hosts"].append(row)
                    print(f"startup mpi={contender.name} mode={mode} hosts={n} ranks={EACH * n} "
                          f"ready={row['ready'] * 1e3:.1f} ms wall={row['wall'] * 1e3:.1f} ms "
                          f"sockets={row['sockets']:.2f}", flush=True)
    finally:
        hosts.close()


def find(results, mpi, mode, key, hosts):
    """One number, or None."""
    found = [r[key] for r in results["hosts"] if r["mpi"] == mpi and r["mode"] == mode and r["hosts"] == hosts]
    return found[0] if found else None


def counts(results):
    return sorted({r["hosts"] for r in results["hosts"]})


def time_rows(results, mpis):
    """[[hosts, ranks, ms of each MPI until all are ready, ms of the whole command]]"""
    return [[n, EACH * n, *[find(results, m, "init", "ready", n) for m in mpis],
             *[find(results, m, "init", "wall", n) for m in mpis]] for n in counts(results)]


def socket_rows(results):
    """[[hosts, ranks, connections per rank in each mode]]"""
    return [[n, EACH * n, *[find(results, "pliant", mode, "sockets", n) for mode in MODES]] for n in counts(results)]
