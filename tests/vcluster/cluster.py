# SPDX-License-Identifier: BSD-3-Clause
"""Virtual hosts on one machine: each has its own network, host name, processes, /dev/shm and /run.

A host is a process in namespaces of its own; the network between hosts is a bridge in one more network
namespace, from which nothing leads out. None of them has a name in the system: when the processes are gone,
so is all the rest. One server process makes the hosts, answers requests over a Unix socket, and takes
everything with it when it ends, however it ends.
"""
import array
import ctypes
import errno
import fcntl
import heapq
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SKIP = 77
NET = "10.77.0"
MANY = 30  # hosts that need no help to find each other
HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "vcluster")
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1
# A login shell there would know this much of the one that asked.
PASSED = ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH", "TEST_MARK")

# What runs as process 1 of a host. Orphans come to it, and bash collects them.
INIT = """
set -e
hostname "$1"
mount -t proc proc /proc
mount -t tmpfs -o size=4g tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/sshd /run/lock
printf '%s\\n' "$2" >/run/hosts
mount --bind /run/hosts /etc/hosts
echo up >&"$3"
eval "exec $3>&-"
trap 'exit 0' TERM
while :; do sleep 100000 & wait $!; done
"""


class Skip(Exception):
    """Why there can be no virtual hosts here."""


def die_with_parent():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test may run where it is ignored
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def check_possible():
    """Raise Skip when this machine does not let us make namespaces."""
    for tool in ("unshare", "nsenter", "ip", "bash"):
        if shutil.which(tool) is None:
            raise Skip(f"there is no command {tool} (packages util-linux and iproute2)")
    if os.geteuid() != 0:
        raise Skip("making virtual hosts needs root, or unshare -Urm around this")
    p = subprocess.run(["unshare", "-n", "-u", "-i", "-m", "-p", "-f", "--propagation", "private", "bash", "-c",
                        "mount -t proc proc /proc && mount -t tmpfs none /dev/shm && ip link add name br7 type bridge "
                        "&& ip link add name ve7 type veth peer name ve8"],
                       capture_output=True, text=True, check=False)
    if p.returncode != 0:
        raise Skip(f"this system does not allow what virtual hosts need: {p.stderr.strip()}")


class Host:
    """One host: the process that holds its namespaces, and process 1 inside."""

    def __init__(self, number, name, hosts_text):
        self.number, self.name = number, name
        self.address = f"{NET}.{number}"
        ready, write = os.pipe()
        self.outer = subprocess.Popen(
            ["unshare", "-n", "-u", "-i", "-m", "-p", "-f", "--kill-child", "--propagation", "private",
             "bash", "-c", INIT, "init", name, hosts_text, str(write)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=(write,),
            preexec_fn=die_with_parent, start_new_session=True)
        os.close(write)
        up = os.read(ready, 8)
        os.close(ready)
        if not up:
            raise Skip(f"host {name} does not start: {self.outer.stderr.read().decode().strip()}")
        with open(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children", encoding="ascii") as f:
            self.pid = int(f.read().split()[0])

    def enter(self, argv, cwd="/"):
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", f"--wd={cwd}", "--", *argv]

    def is_up(self):
        return self.outer.poll() is None


def ethtool(name, command, value):
    """Switch an offload of an interface of this network namespace."""
    data = array.array("I", [command, value])
    request = struct.pack("16sP", name.encode(), data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            fcntl.ioctl(s, 0x8946, request)
        except OSError as e:
            if e.errno != errno.EOPNOTSUPP:
                raise


def relay(left, right, delay_s):
    """Pass frames between two interfaces, each a while after it came."""
    die_with_parent()
    ports = []
    for name in (left, right):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        s.setsockopt(263, 23, 1)  # PACKET_IGNORE_OUTGOING: what we send is not to come back
        s.bind((name, 0))
        ports.append(s)
    print("relay", flush=True)
    queue, count = [], 0
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, to, frame = heapq.heappop(queue)
            try:
                to.send(frame)
            except OSError:
                pass  # the port is down: lost, as on a wire
        wait = queue[0][0] - now if queue else None
        for s in select.select(ports, [], [], wait)[0]:
            try:
                frame = s.recv(65536)
            except OSError:
                continue
            count += 1
            heapq.heappush(queue, (time.monotonic() + delay_s, count, ports[s is ports[0]], frame))


def hardware_address(number):
    return f"02:00:0a:4d:00:{number:02x}"


class Server:
    """Makes the hosts and serves requests until its standard input ends or it is told to stop."""

    def __init__(self, folder, n, rate, delay_ms):
        self.folder, self.rate, self.delay_ms = folder, rate, delay_ms
        names = [f"vc{i}" for i in range(1, n + 1)]
        self.text = "\n".join(["127.0.0.1 localhost"] + [f"{NET}.{i + 1} {h}" for i, h in enumerate(names)])
        self.switch = subprocess.Popen(["unshare", "-n", "sleep", "1000000"], preexec_fn=die_with_parent,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        self.wait_for_switch()
        self.ip("link add br0 type bridge forward_delay 0")
        self.ip("link set br0 up")
        self.relays = []
        self.hosts = {}
        for i, name in enumerate(names):
            self.hosts[name] = Host(i + 1, name, self.text)
            self.plug(self.hosts[name])
        if n > MANY:
            for host in self.hosts.values():
                self.introduce(host)

    def wait_for_switch(self):
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.switch.pid}/ns/net") == mine:
            if self.switch.poll() is not None:
                raise Skip("no network namespace can be made")
            time.sleep(0.002)

    def in_switch(self, *argv):
        return ["nsenter", "-t", str(self.switch.pid), "-n", "--", *argv]

    def ip(self, text):
        subprocess.run(self.in_switch("ip", *text.split()), check=True)

    def plug(self, host):
        """Put a host on the bridge: by a wire, or by two with a relay in between."""
        port = f"p{host.number}"
        inside = ["nsenter", "-t", str(host.pid), "-n", "--"]
        self.ip(f"link add {port} type veth peer name eth0 netns {host.pid}")
        if self.delay_ms:
            self.ip(f"link add d{host.number} type veth peer name e{host.number}")
            for name in (f"d{host.number}", f"e{host.number}"):
                self.ip(f"link set {name} up")
            self.ip(f"link set e{host.number} master br0")
            subprocess.run(self.in_switch(sys.executable, TOOL, "plain", port, f"e{host.number}"), check=True)
            subprocess.run([*inside, sys.executable, TOOL, "plain", "eth0"], check=True)
        else:
            self.ip(f"link set {port} master br0")
        self.ip(f"link set {port} up")
        for words in (["link", "set", "lo", "up"], ["addr", "add", f"{host.address}/24", "brd", "+", "dev", "eth0"],
                      ["link", "set", "eth0", "up"]):
            subprocess.run([*inside, "ip", *words], check=True)
        if self.rate:
            subprocess.run([*inside, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.rate, "burst",
                            "512k", "latency", "20ms"], check=True)
        if self.delay_ms:
            r = subprocess.Popen(self.in_switch(sys.executable, TOOL, "relay", port, f"d{host.number}",
                                                str(self.delay_ms / 1000)), stdout=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, preexec_fn=die_with_parent, start_new_session=True)
            r.stdout.readline()
            self.relays.append(r)

    def introduce(self, host):
        """Tell a host where all others are. The kernel has one table for what the hosts would learn, of 1024 rows unless it is told."""
        lines = ["link set eth0 down", f"link set eth0 address {hardware_address(host.number)}", "link set eth0 up"]
        lines += [f"neigh replace {h.address} lladdr {hardware_address(h.number)} nud permanent dev eth0" for h in self.hosts.values() if h is not host]
        subprocess.run(["nsenter", "-t", str(host.pid), "-n", "--", "ip", "-batch", "-"], input="\n".join(lines), text=True, check=True)

    def stop(self):
        for h in self.hosts.values():
            for pid in (h.pid, h.outer.pid):
                try:
                    if h.outer.poll() is None:
                        os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            h.outer.wait()
        for p in [self.switch, *self.relays]:
            p.kill()
            p.wait()

    def rsh(self, request, fds, conn):
        """Run a command in a host with the descriptors of whoever asked; answer with its exit status."""
        host = self.hosts.get(request["host"])
        try:
            if host is None or not host.is_up() or request["host"] in request.get("refuse", ()):
                os.write(fds[2], f"ssh: connect to host {request['host']} port 22: "
                         f"{'Could not resolve hostname' if host is None else 'No route to host'}\n".encode())
                conn.sendall(b"255")
                conn.close()
                return
            env = {k: os.environ[k] for k in PASSED if k in os.environ}
            env.update({"HOME": os.environ.get("HOME", "/"), "USER": "root"})
            env.update(request.get("env", {}))
            argv = request["argv"] if "argv" in request else ["/bin/sh", "-c", request["command"]]
            p = subprocess.Popen(host.enter(argv, request.get("cwd", "/")), stdin=fds[0], stdout=fds[1],
                                 stderr=fds[2], env=env, start_new_session=True)
        finally:
            for fd in fds:
                os.close(fd)
        rc = p.wait()
        try:
            conn.sendall(str(rc if rc >= 0 else 128 - rc).encode())
        except OSError:
            pass  # who asked is gone
        conn.close()

    def meet_again(self):
        """What hosts remember of neighbours that did not answer is not true any more."""
        for h in self.hosts.values():
            if h.is_up():
                subprocess.run(["nsenter", "-t", str(h.pid), "-n", "--", "ip", "neigh", "flush", "all"], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def obey(self, request, conn):
        host = self.hosts[request["host"]] if "host" in request else None
        answer = "0"
        if request["op"] == "crash":
            self.ip(f"link set p{host.number} down")  # first: no farewell must reach the others
            os.kill(host.pid, signal.SIGKILL)
            host.outer.wait()
        elif request["op"] == "restart":
            subprocess.run(self.in_switch("ip", "link", "del", f"p{host.number}"), check=False,
                           stderr=subprocess.DEVNULL)  # may be gone with the host's end of it
            self.hosts[host.name] = Host(host.number, host.name, self.text)
            self.plug(self.hosts[host.name])
            self.meet_again()
        elif request["op"] == "link":
            self.ip(f"link set p{host.number} {request['to']}")
            if request["to"] == "up":
                self.meet_again()
        elif request["op"] == "pid":
            answer = str(host.pid)
        elif request["op"] == "down":
            os.kill(os.getpid(), signal.SIGTERM)
        conn.sendall(answer.encode())

    def answer(self, conn):
        """One request. Hosts are made by this thread, for they die with the thread that made them."""
        try:
            data, fds, _, _ = socket.recv_fds(conn, 1 << 20, 3)
            request = json.loads(data)
            if request["op"] == "rsh":
                threading.Thread(target=self.rsh, args=(request, fds, conn), daemon=True).start()
                return
            self.obey(request, conn)
        except (OSError, KeyError, ValueError, Skip, subprocess.SubprocessError) as e:
            try:
                conn.sendall(f"1 {e}".encode())
            except OSError:
                pass
        conn.close()

    def serve(self, is_tied):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(os.path.join(self.folder, "socket"))
        listener.listen(64)
        with open(os.path.join(self.folder, "hosts"), "w", encoding="ascii") as f:
            f.write(" ".join(self.hosts))
        print("up", flush=True)
        watched = [listener] + ([sys.stdin.fileno()] if is_tied else [])
        while True:
            ready = select.select(watched, [], [])[0]
            if any(r is not listener for r in ready):
                return
            self.answer(listener.accept()[0])


def serve(folder, n, rate, delay_ms, is_tied):
    """The server process: never returns, unless there can be no hosts."""
    try:
        check_possible()
        os.makedirs(folder, exist_ok=True)
    except (Skip, OSError) as e:
        print(f"skip {e}", flush=True)
        return
    # Removes the folder when this process is gone, even killed.
    read, write = os.pipe()
    subprocess.Popen(["sh", "-c", 'read x; rm -rf "$0"', folder], stdin=read, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(read)
    server = None

    def stop(*_):
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, stop)
    try:
        server = Server(folder, n, rate, delay_ms)
        server.serve(is_tied)
    except Skip as e:
        print(f"skip {e}", flush=True)
    del write
    stop()


def ask(folder, request, fds=()):
    """Send a request to the server; its answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(os.path.join(folder, "socket"))
        data = json.dumps(request).encode()
        if fds:
            socket.send_fds(s, [data], fds)
        else:
            s.sendall(data)
        return s.recv(65536).decode()


class Cluster:
    """Virtual hosts vc1 to vcN for as long as the `with` lasts."""

    def __init__(self, n, rate=None, delay_ms=0):
        self.folder = tempfile.mkdtemp(prefix="vcluster-")
        self.process = subprocess.Popen(
            [sys.executable, TOOL, "serve", "--tied", f"--folder={self.folder}", f"--delay={delay_ms}",
             *([f"--rate={rate}"] if rate else []), str(n)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        word = self.process.stdout.readline()
        if not word.startswith("up"):
            self.close()
            raise Skip(word[5:].strip() or "the server of the virtual hosts does not start")
        self.names = [f"vc{i}" for i in range(1, n + 1)]
        self.launcher = f"{TOOL} --folder={self.folder} rsh"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, op, **request):
        answer = ask(self.folder, {"op": op, **request})
        if op != "pid" and answer != "0":
            raise RuntimeError(f"vcluster {op} {request}: {answer}")
        return answer

    def crash(self, host):
        self.ask("crash", host=host)

    def restart(self, host):
        """Bring a host back that has crashed."""
        self.ask("restart", host=host)

    def link(self, host, to):
        self.ask("link", host=host, to=to)

    def words(self, host, cwd=None):
        """What comes before a command that is to run inside a host. The directory may be one that only the host has."""
        return ["nsenter", "-t", self.ask("pid", host=host), "-n", "-u", "-i", "-m", "-p", "--", "sh", "-c", 'cd "$0" && exec "$@"',
                cwd or os.getcwd()]

    def popen(self, host, argv, cwd=None, **kw):
        """Start a command inside a host; Popen.pid is of nsenter, inner() tells the command's."""
        return subprocess.Popen([*self.words(host, cwd), *map(str, argv)], preexec_fn=die_with_parent, **kw)

    @staticmethod
    def inner(p):
        """The process id, outside, of what popen has started."""
        for _ in range(2000):
            with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
                children = f.read().split()
            if children:
                return int(children[0])
            time.sleep(0.005)
        raise RuntimeError("nsenter has started nothing")

    def processes(self, host):
        """Command lines of all that runs in a host, but for its process 1 and that one's sleep."""
        p = self.popen(host, ["ps", "-e", "-o", "pid=,ppid=,stat=,args="], stdout=subprocess.PIPE, text=True)
        found = []
        for line in p.communicate()[0].splitlines():
            pid, parent, state, args = line.split(None, 3)
            if pid != "1" and not args.startswith(("ps -e", "sleep 100000")) and not state.startswith("Z"):
                found.append(args)
        return found
