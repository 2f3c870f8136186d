#!/usr/bin/env python3
"""Every option that people type for other MPIs works or is named with what to use instead, as docs/habits.md says.
With --write the tables of that page are written anew from the rows below and the table of options."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import PROBE, SOURCE, Run, check, status

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tools", "lib"))
from options import Table

PAGE = os.path.join(SOURCE, "docs", "habits.md")
# What people type, by the launcher that they know it from. Words in capitals stand for the samples below.
ROWS = {
    "MPICH": """-n N|-np N|-hosts LIST|-host LIST|-f FILE|-machinefile FILE|-hostfile FILE|-ppn N|-env NAME VALUE|-genv NAME VALUE|
        -envlist NAMES|-genvlist NAMES|-envnone|-genvnone|-envall|-genvall|-wdir DIR|-wd DIR|-path DIR|-configfile APPFILE|
        -soft 1:4|-arch MACHINE|-launcher ssh|-launcher-exec PROGRAM|-bootstrap ssh|-bootstrap-exec PROGRAM|-bind-to core|
        -map-by socket|-l|-prepend-rank|-outfile-pattern PATTERN|-errfile-pattern PATTERN|-outfile PATTERN|-errfile PATTERN|-disable-auto-cleanup|
        -v|-verbose|-info|-version|-disable-x|-enable-x|-disable-hostname-propagation|-usize N|-iface eth0|-rmk slurm|-topolib hwloc|
        -demux poll|-pmi-port 1|-print-all-exitcodes|-nameserver HOST|-prepend-pattern|-gdb|-tv|-ddt|-debugger|-valgrind|-rankmap|
        -order-nodes|-skip-launch-node|-binding|-membind|-gwdir|-gpath|-umask|-gumask|-ckpoint|-ckpoint-interval|-ckpoint-prefix|-ckpoint-num|
        -ckpointlib|-gpus-per-proc|-localhost NAME|-initial-errhandler mpi_errors_return""",
    "Open MPI": """-c N|-np N|-n N|--n N|-H LIST|-host LIST|--host LIST|-hostfile FILE|--machinefile FILE|--default-hostfile FILE|-N N|
        --npernode N|--pernode|--bynode|--byslot|--map-by node|--map-by ppr:2:node|--map-by slot:PE=2|--bind-to core|--bind-to none|
        --report-bindings|--display-map|--display-devel-map|--oversubscribe|--allow-run-as-root|-x NAME=VALUE|-x PATH|-wdir DIR|-wd DIR|--path DIR|
        --app APPFILE|--prefix DIR|--launch-agent PROGRAM|--tag-output|--output-filename DIR|--output-directory DIR|--merge-stderr-to-stdout|
        --stderr-to-stdout|--stdin all|--timeout TIME|--with-ft ulfm|--do-not-launch|--max-restarts N|-V|--version|-v|--verbose|-q|--quiet|
        --hetero-nodes|--novm|--no-daemonize|--show-progress|--mca NAME VALUE|-mca NAME VALUE|--gmca NAME VALUE|--omca NAME VALUE|
        --prtemca NAME VALUE|--pmixmca NAME VALUE|--tune|--am|--noprefix|--no-prefix|
        --forward-signals LIST|--debug-daemons|--debug-devel|--leave-session-attached|--report-state-on-timeout|--get-stack-traces|--ompi-server HOST|
        --server HOST|--ras NAME|--debug|--debugger|--totalview|--xterm|--preload-binary|--preload-files|-s|--rankfile|-rf|--rank-by|
        --nooversubscribe|--no-oversubscribe|--nolocal|--bind-to-core|--bind-to-socket|--bind-to-none|--bycore|--bysocket|--cpus-per-proc|
        --cpus-per-rank|--npersocket|--use-hwthread-cpus|--use-hwthreads|--cpu-set|--cpu-list|--display-topo|--display-allocation|
        --timestamp-output|--xml|--output|--enable-recovery|--recovery|--continuous|--index-argv-by-rank|--report-pid|--report-uri|--report-events|
        --personality|--output-proctable|--display-diffable-map|--disable-recovery|--gomca NAME VALUE|--gprtemca NAME VALUE|--gpmixmca NAME VALUE|
        --cartofile NAME|-cf NAME|--enable-instant-on-support|--do-not-resolve|--use-regexp|--fwd-mpirun-port|--max-vm-size N|--debug-daemons-file|
        --report-child-jobs-separately|--ppr|--display-devel-allocation|--display|--xml-file|-d|--dvm|--hnp|--set-cwd-to-session-dir|
        --add-host|--add-hostfile|--runtime-options|--stop-on-exec|--stop-in-init|--stop-in-app|--spawn-timeout|
        --initial-errhandler mpi_errors_abort""",
    "Slurm": """-n N|--ntasks N|--ntasks=2|--ntasks-per-node N|-l|--label|-D DIR|--chdir DIR|--time TIME|-u|--unbuffered|-v|--verbose|--overlap|
        --exclusive|-K|--kill-on-bad-exit|--kill-on-bad-exit=1|--mpi=pmix|--cpus-per-task|--nodes|--nodelist|-w|--nodefile|--exclude|--multi-prog|
        --output|-o|--error|-e|--input|-i|--export|--export-file|--cpu-bind|--cpu_bind|--mem-bind|--distribution|-m|--ntasks-per-socket|
        --ntasks-per-core|--partition|-p|--account|-A|--mem|--mem-per-cpu|--gres|--gpus|--qos|--constraint|-C|--job-name|-J|--reservation|
        --time-min|--gpus-per-task|--gpu-bind|--pty|-Q|--overcommit|-O|--disable-status|-X|--quit-on-interrupt|--preserve-env|-E|--threads N|-T N|
        --bcast|--bcast-exclude|--compress|--send-libs|--no-kill|-k|-d|--slurmd-debug|--container|--prolog|--epilog|--task-prolog|--task-epilog|--propagate|--nice|
        --signal|--wait|-W|--usage|--acctg-freq|--bb|--bbf|--begin|-b|--clusters|-M|--cluster-constraint|--comment|--contiguous|--core-spec|-S|--cores-per-socket|--cpu-freq|
        --cpus-per-gpu|--deadline|--delay-boot|--dependency|--exact|--extra-node-info|-B|-G|--gpu-freq|--gpus-per-node|--gpus-per-socket|--gres-flags|
        --het-group|--hold|--immediate|-I|--jobid|--licenses|-L|--mail-type|--mail-user|--mcs-label|--mem-per-gpu|--mincpus|--no-allocate|-Z|--power|
        --priority|--reboot|--relative|-r|--resv-ports|--sockets-per-node|--spread-job|--switches|--thread-spec|--threads-per-core|--tmp|
        --use-min-nodes|--wckey""",
    "Intel MPI": """-n N|-np N|-hosts LIST|-host LIST|-ghost LIST|-f FILE|-machinefile FILE|-machine FILE|-hostfile FILE|-ppn N|-perhost N|-grr N|-rr|
        -genv NAME VALUE|-genvlist NAMES|-genvall|-genvnone|-env NAME VALUE|-envlist NAMES|-envall|-envnone|-wdir DIR|-path DIR|-configfile APPFILE|
        -l|-prepend-rank|-outfile-pattern PATTERN|-errfile-pattern PATTERN|-bootstrap ssh|-bootstrap-exec PROGRAM|-print-rank-map|
        -ordered-output|-noconf|-V|-version|-v|-iface eth0|-nic eth0|-netmask 10.0.0.0/8|-branch-count 8|-tmpdir DIR|-cleanup|-silent-abort|-rmk pbs|
        -tune|-gdb|-gdba|-dbg|-nolocal|-s|-trace|-t|-trace-pt2pt|-trace-collectives|-trace-imbalance|-check_mpi|-mps|-aps|-gtool|-gtoolfile|-ilp64|
        -rdma|-RDMA|-dapl|-DAPL|-ib|-IB|-ofi|-OFI|-psm2|
        -PSM2|-hostos|-pmi-connect|-pmi-aggregate|-pmi-noaggregate|-hosts-group""",
}
PRINTS = ("-info", "-version", "--version", "-V")  # and end


def rows(mpi):
    return [row.strip() for row in ROWS[mpi].replace("\n", "").split("|")]


table = Table(os.path.join(SOURCE, "launcher", "job", "mpiexec.opt"))
by_name = {name.lstrip("-"): o for o in table.options for name in o.names + o.aliases}


def option_of(row):
    return by_name.get(row.split()[0].partition("=")[0].lstrip("-"))


def here(row):
    """What the page says of a row."""
    o = option_of(row)
    if o.take == "refuse":
        return f"not there: {o.advice}"
    if o.take == "ignore":
        return f"no effect: {o.advice}"
    if o.take == "mca":
        return "no effect: a note names the setting to use, where there is one"
    if o.take == "nothing":
        return "accepted: it is always so"
    typed = row.split()[0].partition("=")[0].lstrip("-")
    same = [name for name in o.names if name.lstrip("-") == typed]
    return "the same" if same or o.hidden else f"the same as `{o.names[0]}`"


def tables():
    text = ""
    for mpi in ROWS:
        text += f"\n## Coming from {mpi}\n\n| there | here |\n|---|---|\n"
        alike = {}  # by what is said of them
        for row in rows(mpi):
            alike.setdefault(here(row), []).append(f"`{row}`")
        for said, there in alike.items():
            cell = said.replace("|", "\\|")  # a bare one would end the cell
            text += f"| {', '.join(there)} | {cell} |\n"
    return text


def check_page():
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    head = text[:text.index("\n## Coming from ")]
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(head + tables())
    else:
        check(text == head + tables(), "docs/habits.md is not what its rows and the table of options give; "
              "run tests/tool/habits.py --write")
    typed = {row.split()[0].partition("=")[0].lstrip("-") for mpi in ROWS for row in rows(mpi)}
    foreign = {name.lstrip("-") for o in table.options for name in o.aliases + (o.names if o.advice else [])}
    check(foreign <= typed, f"options of other MPIs without a row: {sorted(foreign - typed)}")


def check_row(mpi, row, samples):
    o = option_of(row)
    if o is None:
        check(False, f"{mpi}: mpiexec does not know {row}")
        return
    words = [samples.get(word, word) for word in row.split()]
    r = Run("--dry-run", *words, *([] if "APPFILE" in row else [PROBE, "print", "x"]), env={"HWLOC_SYNTHETIC": "pack:2 numa:1 core:4 pu:1"})
    name = row.split()[0].partition("=")[0]
    if o.take == "refuse":
        check(r.rc == 2 and r.out == "" and r.words == f"mpiexec: {name} is not an option of Pliant MPI: {o.advice}", f"{mpi} {row}: {r}")
        return
    shown = "(Pliant MPI)" if name in PRINTS else "rank 0"
    check(r.rc == 0 and shown in r.out, f"{mpi} {row}: {r}")
    want = f"mpiexec: {name} has no effect: {o.advice}" if o.take == "ignore" else None
    if o.take != "mca":
        check(r.words == (want or ""), f"{mpi} {row}: {r}")


def check_peers(d):
    """Each option that the help of another launcher names is known, where that launcher is installed."""
    conf = os.path.join(d, "slurm.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write("ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=a Nodes=localhost\n")
    for command, least in ((("mpiexec.hydra", "-help"), 30), (("mpirun.openmpi", "--help"), 5), (("mpirun.openmpi", "--help", "all"), 90),
                           (("srun", "--help"), 80)):
        if shutil.which(command[0]) is None:
            print(f"the options of {command[0]} are not compared: it is not installed")
            continue
        env = {**os.environ, "SLURM_CONF": conf, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        said = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
        heads = [re.split(r"\s{2,}", line.strip())[0] for line in said.splitlines() if re.match(r" *-\S", line)]
        named = {name for head in heads for name in re.findall(r"(?<![\w<=[-])--?([A-Za-z][\w-]*)", head)}
        check(len(named) >= least, f"{command}: its help names {len(named)} options: {said[:500]}")
        check(not named - set(by_name), f"options of {' '.join(command)} that mpiexec does not know: {sorted(named - set(by_name))}")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


SAYS = ("sh", "-c", "echo out $PLIANT_RANK; echo err $PLIANT_RANK >&2")


def check_files(d):
    """Each rank's output in its own file."""
    r = Run("-n", 11, "--output-filename", os.path.join(d, "a%b"), *SAYS)
    check(r.rc == 0 and sorted(r.out.split("\n")) == sorted([f"out {i}" for i in range(11)] + [""]), r)
    for i in range(11):
        folder = os.path.join(d, "a%b", "1", f"rank.{i:02}")
        check(read(folder, "stdout") == f"out {i}\n" and read(folder, "stderr") == f"err {i}\n", f"files of rank {i}")
    r = Run("-n", 2, "--output-filename", os.path.join(d, "b:nocopy"), *SAYS)
    check(r.rc == 0 and r.out == "" and r.err == "" and read(d, "b", "1", "rank.1", "stderr") == "err 1\n", r)
    for again in range(2):  # the second overwrites
        r = Run("-n", 2, "-outfile-pattern", "o/%r.%h", "-errfile-pattern", "e%%.%r", *SAYS, cwd=d)
        check(r.rc == 0 and r.out == "" and r.err == "", r)
        check(read(d, "o", f"1.{os.uname().nodename}") == "out 1\n" and read(d, "e%.0") == "err 0\n", f"files by pattern, {again}")
    r = Run("-n", 2, "-outfile-pattern", "one", "--merge-stderr-to-stdout", *SAYS, cwd=d)
    check(r.rc == 0 and r.out + r.err == "" and sorted(read(d, "one").split()) == sorted("out 0 err 0 out 1 err 1".split()), r)
    r = Run("-n", 2, "-outfile-pattern", "out.%r", *SAYS, cwd=d)
    check(r.rc == 0 and r.out == "" and sorted(r.err.splitlines()) == ["err 0", "err 1"], r)
    r = Run("-n", 2, "--merge-stderr-to-stdout", *SAYS)
    check(r.rc == 0 and r.err == "" and sorted(r.out.splitlines()) == ["err 0", "err 1", "out 0", "out 1"], r)
    big = Run("-outfile-pattern", "big", "sh", "-c", "head -c 3000000 /dev/zero; echo; echo end", cwd=d)
    check(big.rc == 0 and os.path.getsize(os.path.join(d, "big")) == 3000005, f"a long line in a file: {big}")
    os.mkfifo(os.path.join(d, "pipe"))
    for pattern, words in (("out.%q", ("'%q'", "%r is the rank")), ("", ("the name of a file",)), ("one/x", ("one/x", "Not a directory")),
                           ("pipe", ("pipe",))):
        r = Run("-outfile-pattern", pattern, *SAYS, cwd=d)
        check(r.rc == 2 and r.out == "" and all(w in r.words for w in words), f"{pattern}: {r}")
    r = Run("-outfile-pattern", "/dev/full", *SAYS)
    check(r.rc == 1 and "No space left" in r.words, r)
    with open(os.path.join(d, "rsh"), "w", encoding="ascii") as f:
        f.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    os.chmod(os.path.join(d, "rsh"), 0o700)
    r = Run("--hosts", "localhost:1,other:2", "--launcher", "./rsh", "-outfile-pattern", "h.%r.%p", *SAYS, cwd=d)
    check(r.rc == 0 and r.out == "" and [read(d, f"h.{i}.{h}") for i, h in ((0, 0), (1, 1), (2, 1))] == [f"out {i}\n" for i in range(3)],
          f"files of ranks on two hosts: {r}")
    r = Run("--dry-run", "-outfile-pattern", "never", *SAYS, cwd=d)
    check(r.rc == 0 and not os.path.exists(os.path.join(d, "never")), r)


def check_config(d):
    def use(text, *before, after=()):
        with open(os.path.join(d, "parts"), "w", encoding="utf-8") as f:
            f.write(text)
        return Run(*before, "-configfile", os.path.join(d, "parts"), *after)
    r = use(f"# two parts\n\n-n 2 {PROBE} print 'a  b'\n  -env X 1 {PROBE} print \"c\"\\ d # the second\n", "-l")
    check(r.rc == 0 and sorted(r.out.splitlines()) == ["[0] a  b", "[1] a  b", "[2] c d"], r)
    for text, after, words in (("", (), "names no program"), ("-n 1 'x\n", (), "line 1"), ("x\n", ("y",), "'y' follows"),
                               ("-configfile z\n", (), "can stand once")):
        r = use(text, after=after)
        check(r.rc == 2 and r.out == "" and words in r.words, f"{text}: {r}")
    r = Run("-configfile", "/no/such/file")
    check(r.rc == 2 and "/no/such/file" in r.words, r)


ERRHANDLER = ("sh", "-c", "echo ${PLIANT_INITIAL_ERRHANDLER-unset}")


def check_meanings(d):
    for words, n in ((("-N", 2), 2), (("-c", 3), 3), (("-N", 2, "--hosts", "localhost"), 2), (("-n", 3, "-c", 3), 3)):
        r = Run("--dry-run", *words, PROBE, "print", "x")
        check(r.rc == 0 and r.out.count("rank ") == n, f"{words}: {r}")
    for words in (("-n", 2, "-c", 4), ("-c", 4, "-n", 2)):
        r = Run(*words, PROBE, "print", "x")
        check(r.rc == 2 and "--map-by slot:PE=4" in r.words, r)
    r = Run("-arch", "pdp11", PROBE, "print", "x")
    check(r.rc == 2 and "pdp11" in r.words and os.uname().machine in r.words, r)
    os.symlink(PROBE, os.path.join(d, "habit"))
    r = Run("-path", f"/no/such:{d}", "habit", "print", "x")
    check(r.rc == 0 and r.out == "x\n", r)
    r = Run("--mca", "btl", "tcp,self", "-mca", "btl_tcp_if_include", "eth0", "--mca", "odd", "1", "-n", 2, PROBE, "print", "x")
    check(r.rc == 0 and r.out == "x\nx\n" and r.words.count("mpiexec:") == 1, r)
    check(all(w in r.words for w in ("(use -x PLIANT_NET=tcp)", "(use -x PLIANT_TCP_IF=eth0)", "odd 1", "pliant-settings(7)")), r)
    r = Run("--bind-to-cor", PROBE, "print", "x")  # the nearest name is one that is refused
    check(r.rc == 2 and "--bind-to-core" not in r.words, r)
    r = Run("-initial-errhandler", "mpi_errors_return", *ERRHANDLER, ":", *ERRHANDLER, ":", "-n", 2, "-initial-errhandler=mpi_errors_abort", *ERRHANDLER)
    check(r.rc == 0 and sorted(r.out.split()) == ["mpi_errors_abort", "mpi_errors_abort", "mpi_errors_return", "unset"], r)
    r = Run("-initial-errhandler", "mpi_errors_retur", PROBE, "print", "x")
    check(r.rc == 2 and "mpi_errors_are_fatal" in r.words, r)
    r = Run("-iface", "a", "-iface", "b", PROBE, "print", "x")
    check(r.rc == 0 and r.words.count("has no effect") == 1, r)


with tempfile.TemporaryDirectory() as top:
    check_page()
    with open(os.path.join(top, "hosts"), "w", encoding="ascii") as hosts:
        hosts.write("localhost slots=8\n")
    with open(os.path.join(top, "app"), "w", encoding="utf-8") as app:
        app.write(f"-n 2 {PROBE} print x\n")
    values = {"N": "2", "LIST": "localhost:8", "FILE": os.path.join(top, "hosts"), "APPFILE": os.path.join(top, "app"), "DIR": top,
              "NAME": "A", "VALUE": "B", "NAME=VALUE": "A=B", "NAMES": "A,PATH", "MACHINE": os.uname().machine, "PROGRAM": "/bin/true",
              "PATTERN": "out.%r", "TIME": "30"}
    done = set()
    for known in ROWS:
        for line in rows(known):
            if line not in done:
                done.add(line)
                check_row(known, line, values)
    check_peers(top)
    check_files(top)
    check_config(top)
    check_meanings(top)
sys.exit(status())
