"""A debugger finds the ranks by the MPIR table of mpiexec: gdb reads it, and stops at MPIR_Breakpoint."""
import re
import shlex
import shutil
import subprocess
import sys

from lib.launch import MPIEXEC, PROBE, SLOW, check, status

if shutil.which("gdb") is None:
    print("skipped: gdb is not there")
    sys.exit(77)



def table():
    """What gdb sees of a job of three ranks: the host and the process of each."""
    p = subprocess.run(["gdb", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set confirm off",
                        "-ex", "set breakpoint pending on", "-ex", "break main", "-ex", "run", "-ex", "set var MPIR_being_debugged=1",
                        "-ex", "break MPIR_Breakpoint", "-ex", "continue", "-ex", "print MPIR_proctable_size", "-ex", "print MPIR_debug_state",
                        "-ex", "print *MPIR_proctable@3", "-ex", "delete", "-ex", "continue",
                        "--args", MPIEXEC, "-n", "3", "/bin/sleep", "1"],
                       capture_output=True, text=True, timeout=120 * SLOW, check=False, stdin=subprocess.DEVNULL)
    said = p.stdout + p.stderr
    if "ptrace" in said and "Operation not permitted" in said:
        print("skipped: this host permits no ptrace")
        sys.exit(77)
    check("= 3\n" in p.stdout and "= 1\n" in p.stdout, said)
    check(p.stdout.count("/bin/sleep") >= 3 and "exited normally" in said, said)
    found = re.findall(r'host_name = 0x[0-9a-f]+ "([^"]*)".*?pid = (\d+)', p.stdout, re.S)
    check(len(found) == 3 and len({pid for _, pid in found}) == 3 and all(int(pid) > 1 for _, pid in found), said)


def without_terminal():
    """The command for ranks without a terminal, as the message has it, is no failure where the program ends well."""
    p = subprocess.run([MPIEXEC, "--gdb", "-n", "2", "/bin/true"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    text = " ".join(p.stderr.split())
    found = re.search(r"mpiexec -n 4 (-l gdb .*--args) ./program", text)
    check(p.returncode == 2 and found is not None, p.stderr)
    if found is not None:
        p = subprocess.run([MPIEXEC, "-n", "2", *shlex.split(found.group(1)), PROBE, "init", "final"], capture_output=True, text=True,
                           timeout=120 * SLOW, check=False, stdin=subprocess.DEVNULL)
        check(p.returncode == 0 and "exited normally" in p.stdout and "ended with exit status" not in p.stderr, p.stdout + p.stderr)


table()
without_terminal()
sys.exit(status())
