#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --metrics: the text is what Prometheus reads, the numbers are right, and callers who misbehave harm nothing."""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from launch import BUILD, MPIEXEC, SLOW, Run, check, status  # noqa: E402

PROBE = os.path.join(BUILD, "tests", "bin", "live_probe")
folder = tempfile.mkdtemp()
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? ([-+.0-9eE]+)')


def parse(text):
    """The samples of an exposition by name and labels, after the rules of the text format 0.0.4."""
    samples, types, helps = {}, {}, set()
    check(text.endswith("\n"), "the last line ends", 2)
    for line in text.split("\n")[:-1]:
        if line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            check(name not in types and kind in ("counter", "gauge"), line, 2)
            types[name] = kind
        elif line.startswith("# HELP "):
            name = line[7:].split(" ")[0]
            check(name not in helps and name not in types, line, 2)
            helps.add(name)
        else:
            m = SAMPLE.fullmatch(line)
            check(m is not None, f"no sample: {line!r}", 2)
            if m is not None:
                check(list(types)[-1:] == [m[1]] and m[1] in helps, f"{m[1]} belongs to the family before it", 2)
                check((types[m[1]] == "counter") == m[1].endswith("_total"), line, 2)
                check((m[1], m[2]) not in samples, f"twice: {line}", 2)
                samples[m[1], m[2]] = float(m[3])
    return samples


def talk(port, data, is_slow=False):
    with socket.create_connection(("127.0.0.1", port), timeout=30 * SLOW) as s:
        try:
            for piece in ([data] if not is_slow else [data[i:i + 1] for i in range(len(data))]):
                s.sendall(piece)
            got = b""
            while True:
                more = s.recv(65536)
                if not more:
                    return got
                got += more
        except (ConnectionResetError, BrokenPipeError):
            return b"reset"


def get(port):
    head, body = talk(port, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").decode().split("\r\n\r\n", 1)
    check(head.startswith("HTTP/1.1 200 OK\r\n") and f"Content-Length: {len(body)}" in head, head)
    check("Content-Type: text/plain; version=0.0.4" in head, head)
    return body


def rank_value(samples, name, rank):
    values = [v for (n, labels), v in samples.items() if n == name and f'rank="{rank}"' in (labels or "")]
    return values[0] if len(values) == 1 else None


file = os.path.join(folder, "go")
job = subprocess.Popen([MPIEXEC, "--metrics", ":0", "-n", "3", PROBE, "late", file], stderr=subprocess.PIPE, text=True)
said = job.stderr.readline()
found = re.search(r"metrics are at http://127\.0\.0\.1:(\d+)/metrics", said)
check(found is not None, said)
port = int(found[1])
until = time.monotonic() + 60 * SLOW
samples = {}
while rank_value(samples, "pliant_rank_waiting", 2) != 1 and time.monotonic() < until:
    text = get(port)
    samples = parse(text)
check(rank_value(samples, "pliant_rank_sent_messages_total", 0) >= 1000, text)
check(rank_value(samples, "pliant_rank_received_bytes_total", 1) >= 8000, text)
check(rank_value(samples, "pliant_rank_running", 0) == 1 and rank_value(samples, "pliant_rank_waiting", 0) == 0, text)
check(rank_value(samples, "pliant_rank_memory_bytes", 2) > 0 and rank_value(samples, "pliant_rank_wait_seconds", 2) > 0, text)
if shutil.which("promtool") is not None:
    r = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
    check(r.returncode == 0, r)

# Those who misbehave.
check(talk(port, b"GET /other HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404"), "another path")
check(talk(port, b"POST /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 405"), "another method")
check(talk(port, b"GET /metricsx HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 404"), "a longer path")
head = talk(port, b"HEAD /metrics HTTP/1.1\r\n\r\n")
check(head.startswith(b"HTTP/1.1 200") and head.endswith(b"\r\n\r\n"), head)
check(talk(port, b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 1000000)[:12] in (b"HTTP/1.1 431", b"reset"), "a huge request")
check(talk(port, b"\0" * 100)[:12] in (b"HTTP/1.1 400", b"reset"), "zeros")
check(talk(port, os.urandom(5000).replace(b"\n\n", b"x"))[:9] in (b"HTTP/1.1 ", b"reset"), "noise")
check(talk(port, b"GET /metrics HTTP/1.0\r\n\r\n", is_slow=True).startswith(b"HTTP/1.1 200"), "a slow writer")
idle = []
for _ in range(100):  # more than there is room for: the oldest are hung up on
    s = socket.create_connection(("127.0.0.1", port), timeout=30 * SLOW)
    try:
        s.sendall(b"GET ")
    except OSError:
        pass
    idle.append(s)
check(talk(port, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200"), "who never asks keeps nobody out")
for s in idle:
    s.close()
lazy = socket.create_connection(("127.0.0.1", port), timeout=30 * SLOW)
lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
lazy.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")  # and reads nothing
until = time.monotonic() + 60 * SLOW
again = b""
while not again.startswith(b"HTTP/1.1 200") and time.monotonic() < until:  # when the idle ones are gone
    again = talk(port, b"GET /metrics HTTP/1.1\r\n\r\n")
check(again.startswith(b"HTTP/1.1 200"), again)
lazy.close()
open(file, "w", encoding="ascii").close()
check(job.wait(timeout=60 * SLOW) == 0, "the job ends well")
check(job.stderr.read() == "", "and says nothing")
os.unlink(file)
os.rmdir(folder)
for bad in ("here", "1.2.3.4:99999", "127.0.0.1:", "no.such.host.invalid:80"):
    r = Run("--metrics", bad, "-n", "1", "true")
    check(r.rc != 0 and "--metrics" in r.err, r)
with socket.create_server(("127.0.0.1", 0)) as taken:
    r = Run("--metrics", f"127.0.0.1:{taken.getsockname()[1]}", "-n", "1", "true")
    check(r.rc != 0 and "cannot listen there" in r.err, r)
sys.exit(status())
