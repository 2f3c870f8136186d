#!/usr/bin/env python3
"""Run the UPC compiler's cases.

A file holds several programs, each behind a line "//--- name [options]". Options:
  flags=...    words for upcc, joined by commas      threads=1,3  thread counts
  out=text     expected standard output ("ok" when left out; \\n for a new line)
  rc=N         expected exit status (any non-zero: rc=fail)
  err=text     what standard error must contain       launch=...  words for upcrun
  modes=...    proc, far, pt (all when left out; far: also between two pretended hosts)
  files        further "//-- file" parts are separate sources of the same program
  races=why    threads use the same data at once without strict accesses, which is what the case is
               about: not for --tsan
Files under fail/ are only compiled; a trailing "// error: text" or "// warning: text" on a line
must be reported for exactly that line, and nothing else may be; "// error@7: text" says the column too.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import subprocess
import sys
import tempfile

# The leak checker stops all threads to look around, which takes seconds on a busy machine.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
os.environ.setdefault("TSAN_OPTIONS", "halt_on_error=1")
HERE = os.path.dirname(os.path.abspath(__file__))
PROLOGUE = '#include "t.h"\n'


class Case:
    def __init__(self, path, name, opts, text, line):
        self.path, self.name, self.text, self.line = path, name, text, line
        self.flags, self.threads, self.out, self.rc = [], None, "ok\n", "0"
        self.modes = ["proc", "far", "pt"]
        self.err, self.launch = "", []
        self.races = None
        self.fail = os.sep + "fail" + os.sep in path
        for o in opts:
            key, _, value = o.partition("=")
            if key == "flags":
                self.flags = value.split(",")
            elif key == "threads":
                self.threads = [int(v) for v in value.split(",")]
            elif key == "out":
                self.out = value.replace("\\n", "\n").replace("\\s", " ")
            elif key == "rc":
                self.rc = value
            elif key == "err":
                self.err = value.replace("\\s", " ")
            elif key == "launch":
                self.launch = value.split(",")
            elif key == "modes":
                self.modes = value.split(",")
            elif key == "races" and value:
                self.races = value
            elif key != "files":
                raise SystemExit(f"{path}: unknown option {o}")


def load(path):
    cases, cur = [], None
    for n, line in enumerate(open(path), 1):
        m = re.match(r"//--- (\S+)\s*(.*)", line)
        if m:
            cur = Case(path, m.group(1), m.group(2).split(), "", n)
            cases.append(cur)
        elif cur:
            cur.text += line
    return cases


def sh(cmd, env=None, timeout=150, cwd=None):
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                       timeout=timeout, cwd=cwd)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def check_fail(case, a, tmp):
    src = os.path.join(tmp, "case.upc")
    open(src, "w").write(case.text)
    want = []
    for n, line in enumerate(case.text.splitlines(), 1):
        for kind, col, text in re.findall(r"// (error|warning)(@\d+)?: ([^/]+)", line):
            want.append((n, kind, text.strip(), col[1:]))
    rc, _, err = sh([a.upcc, "-c", "-o", os.path.join(tmp, "o.o"), *case.flags, "-I", HERE, src])
    got = [(int(m.group(1)), m.group(3), m.group(4), m.group(2)) for m in
           re.finditer(r"^[^\n:]*case\.upc:(\d+):(\d+): (error|warning): (.*)$", err, re.M)]
    bad = []
    for w in want:
        hit = [g for g in got if g[:2] == w[:2] and w[2] in g[2] and w[3] in ("", g[3])]
        if hit:
            got.remove(hit[0])
        else:
            bad.append(f"not reported: line {w[0]}: {w[1]}{w[3] and '@' + w[3]}: {w[2]}")
    bad += [f"unexpected: line {g[0]}: {g[1]}@{g[3]}: {g[2]}" for g in got]
    must_fail = any(w[1] == "error" for w in want)
    if must_fail == (rc == 0):
        bad.append(f"exit status {rc}" + ("" if got else ": " + err[:500]))
    return bad


def sources(case, tmp):
    parts = re.split(r"^//-- (\S+)\n", case.text, flags=re.M)
    named = [("case.upc", parts[0])] + list(zip(parts[1::2], parts[2::2]))
    out = []
    for name, text in named:
        if not text.strip():
            continue
        path = os.path.join(tmp, name)
        lead = "" if "#include" in text or name.endswith(".h") else PROLOGUE + "#line 1\n"
        open(path, "w").write(lead + text)
        if not name.endswith(".h"):
            out.append(path)
    return out


def check_run(case, a, tmp):
    bad = []
    src = sources(case, tmp)
    for mode in ("proc", "pt"):
        if mode not in case.modes or mode not in a.modes:
            continue
        exe = os.path.join(tmp, mode)
        pt = ["-pthreads"] if mode == "pt" else []
        rc, _, err = sh([a.upcc, *a.cflags, "-I", HERE, "-I", tmp, *pt, *case.flags, *src, "-o", exe, "-lm"])
        if rc != 0 or err:
            bad.append(f"{mode}: compile: rc {rc}: {err[:1500]}")
            continue
        static = [f[3:] for f in case.flags if f.startswith("-T=")]
        threads = case.threads or ([int(static[0])] if static else a.threads)
        runs = [(n, "") for n in threads]
        if mode == "proc" and "far" in case.modes:
            # All remote memory by messages; and two hosts, as far as the runtime can tell.
            runs += [(threads[len(threads) // 2], "far")] if "far" in a.modes else []
            runs += [(threads[len(threads) // 2], "net")] if "net" in a.modes else []
        for n, far in runs:
            env = dict(os.environ)
            if far:
                env.update({"PLIANT_UPC_FAR": "1"} if far == "far" else {"PLIANT_FAKE_HOSTS": "2"})
            rc, out, err = sh([a.upcrun, "-n", str(n), *case.launch, exe], env, cwd=tmp)
            good = rc != 0 if case.rc == "fail" else rc == int(case.rc)
            if not good or out != case.out or case.err not in err:
                bad.append(f"{mode} {far} threads={n}: rc {rc}: "
                           f"{out[:600]!r} {err[:500]!r}")
    return bad


def check(case, a):
    with tempfile.TemporaryDirectory() as tmp:
        try:
            return case, (check_fail if case.fail else check_run)(case, a, tmp)
        except subprocess.TimeoutExpired as e:
            return case, [f"timed out: {e.cmd[0]}"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--bin", required=True, help="where upcc and upcrun are")
    p.add_argument("--quick", action="store_true", help="1 and 3 threads, not 1, 2, 3, 4 and 8")
    p.add_argument("--tsan", action="store_true", help="OS threads only, 3 of them, no cases with races")
    p.add_argument("--modes", default="proc,far,net,pt")
    p.add_argument("--cflags", default="-O1")
    p.add_argument("-j", type=int, default=2)
    p.add_argument("what", nargs="*", help="files or case names; all when left out")
    a = p.parse_args()
    a.upcc, a.upcrun = (os.path.join(os.path.abspath(a.bin), tool) for tool in ("upcc", "upcrun"))
    a.threads = [1, 3] if a.quick else [1, 2, 3, 4, 8]
    a.modes = a.modes.split(",")
    if a.tsan:
        a.threads, a.modes = [3], ["pt"]
        # The thread sanitizer leaves fewer addresses; segments are as large as a file may be.
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 30, resource.RLIM_INFINITY))
    a.cflags = a.cflags.split()
    files = [os.path.join(d, f) for d, _, fs in os.walk(HERE) for f in fs if f.endswith(".upc")]
    cases = [c for f in sorted(files) for c in load(f)]
    if a.what:
        cases = [c for c in cases if any(w in c.path or w == c.name for w in a.what)]
    if a.tsan:
        for c in cases:
            if c.races:
                print(f"left out: {c.name} ({c.races})")
        cases = [c for c in cases if not c.races and not c.fail]
    n_bad = 0
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        for case, bad in pool.map(lambda c: check(c, a), cases):
            if bad:
                n_bad += 1
                print(f"FAIL {os.path.relpath(case.path, HERE)}:{case.line} {case.name}")
                for b in bad:
                    print("    " + b.replace("\n", "\n    "), flush=True)
    print(f"{len(cases) - n_bad} of {len(cases)} cases pass")
    return n_bad > 0 or not cases


if __name__ == "__main__":
    sys.exit(main())
