#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of TLS between nodes and to the server: test_tls.py SERVER NODE [CASE...]"""
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

import test_node
import test_server
from fake import check, run_cases
from relay import Relay
from test_node import Node, exchange, has_tls
from test_server import OK, Server


def secret(folder, name, text="0123456789abcdef" * 4, mode=0o600):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text + "\n")
    os.chmod(path, mode)
    return path


KEY = 4242424242424242


def env(path, key=KEY):
    return {"IMPI_AUTH_KEY": str(key), **({} if path is None else {"IMPI_TLS": path})}


def case_exchange(folder):
    exchange(3, "maxlen=100000", env=env(secret(folder, "a")), procs=2)


def case_wide(folder):
    exchange(2, "datalen=65536", "ackmark=64", "hiwater=1024", "maxlen=3000000",
             env=env(secret(folder, "a")), msgs=10)


def case_narrow(folder):
    exchange(2, "datalen=16", "ackmark=1", "hiwater=1", "maxlen=300", procs=2,
             env=env(secret(folder, "a")))


def case_strangers(folder):
    """Who has another secret, or none, is refused on either side; who has it comes in."""
    right, wrong = secret(folder, "a"), secret(folder, "b", "f" * 64)
    with Server(1, env=env(right), code=OK) as s:
        with Node(s.address, 0, "echo", code=1, said="the server has another TLS secret",
                  env=env(wrong)):
            pass
        s.said("another TLS secret, or no TLS")
        with Node(s.address, 0, "echo", code=1, env=env(None)):
            pass
        with Node(s.address, 0, "exchange", env=env(right)):
            pass
    with Server(1, env=env(None), code=OK) as s:  # a plain server is no server for TLS
        with Node(s.address, 0, "echo", code=1, env=env(right)):
            pass
        with Node(s.address, 0, "exchange", env=env(None)):
            pass


def case_hidden(folder):
    """Nothing of the protocol is seen on the way: not the key, not the labels. Without a secret it is the key that hides all
    but the choice of TLS."""
    for path, begin, rest in (("off", True, True), (None, True, False), (secret(folder, "a"), False, False)):
        with Server(1, env=env(path)) as s:
            relay = Relay(s.address)
            with Node(relay.address, 0, "exchange", env=env(path)):
                pass
            relay.close()
        seen = b"".join(relay.seen)
        check(begin, b"AUTH" in seen, "AUTH on the way")
        check(rest, b"COLL" in seen, "labels on the way")
        check(rest, struct.pack(">Q", KEY) in seen, "the key on the way")


def case_key(_folder):
    """TLS without a word of the user: between our server and our clients, with the key as the secret."""
    exchange(3, "maxlen=100000", env=env(None), procs=2)
    with Server(2, env=env(None)) as s:  # one does without: then the hosts do too
        with Node(s.address, 0, "exchange", env=env(None)), Node(s.address, 1, "exchange", env=env("off")):
            pass
    with Server(2, env=env("off")) as s:
        with Node(s.address, 0, "exchange", env=env(None)), Node(s.address, 1, "exchange", env=env(None)):
            pass
    with Server(1, env=env(None), code=OK) as s:
        with Node(s.address, 0, "echo", code=1, said="wrong key", env=env(None, KEY + 1)):
            pass
        s.said("the wrong key")
        with Node(s.address, 0, "exchange", env=env(None)):
            pass


def all_of(sock):
    """What comes until the other side has closed; it may have sent an alert of TLS."""
    data = b""
    try:
        while more := sock.recv(4096):
            data += more
    except ConnectionResetError:
        pass
    return data


def case_first_tls(_folder):
    """Who lets the server choose TLS and goes on without it has proved nothing and is not seated."""
    impi = struct.pack(">Iii", 0x494D5049, 4, 0)
    with Server(1, env=env(None), code=OK) as s:
        for is_at_once in (True, False):
            c = s.client()
            c.send(struct.pack(">IiI", 0x41555448, 4, 1 << 16 | 2) + (impi if is_at_once else b""))
            check((16, 0), struct.unpack(">Ii", c.get(8)), "method")
            if not is_at_once:
                c.send(impi)
            check(False, b"IMPI" in all_of(c.sock), "an answer to the rank")
            s.said("sent something before TLS" if is_at_once else "the wrong key")
        with Node(s.address, 0, "exchange", env=env(None)):
            pass


def case_cut(folder):
    """A connection that is reset ends the node, which names both ends."""
    path = secret(folder, "a")
    with Server(2, env=env(path), code=test_server.LOST) as s:
        with Node(s.address, 0, "echo", code=1, env=env(path),
                  said="host 0 of client 0 lost host 1 of client 1"):
            other = Node(s.address, 1, "echo", env=env(path))
            s.said("startup is over")
            time.sleep(1)
            other.proc.kill()
            other.proc.communicate()


def case_files(folder):
    """A secret that is none, or not secret, is refused before anything is opened."""
    bad = {"missing": "cannot read a secret", "short": "holds no secret", "text": "holds no secret",
           "open": "can be read by others"}
    secret(folder, "short", "abcd")
    secret(folder, "text", "correct horse battery staple, and so on and so forth")
    secret(folder, "open", mode=0o644)
    for name, said in bad.items():
        done = subprocess.run([test_server.SERVER, "-server", "1", "-tls",
                               os.path.join(folder, name)],
                              env={**os.environ, "IMPI_AUTH_NONE": "1"}, capture_output=True,
                              text=True, timeout=30, check=False)
        check((1, ""), (done.returncode, done.stdout), f"the server with a secret that is {name}")
        check(True, said in done.stderr, f"'{said}' in {done.stderr}")


# Of nobody, for tests: a certificate that signs itself, and its key.
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBfDCCASOgAwIBAgIUHUAyG+HKRVzC21UBXeNg/SZw584wCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIaW1wb3N0b3IwIBcNMjYxMTE2MTAyMTUwWhgPMjEyNjEwMjMx
MDIxNTBaMBMxETAPBgNVBAMMCGltcG9zdG9yMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEnSMN3kSFxwME5HTbD+cJDPrsHV20uuTVZoFQ1Kxgzd0KLHmcgUQOn+YD
ESZNXMH7gJ2pyCdCPU5C1Ne7OtGxG6NTMFEwHQYDVR0OBBYEFPT3uSsixhZp69L3
DCU3UAVRWpKdMB8GA1UdIwQYMBaAFPT3uSsixhZp69L3DCU3UAVRWpKdMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgQk6a1ff2AuUYksKhJBSkgj23
24F7gjQPLILft0/c5FYCID65+GIyaibhGu/O8jwDiL3jiVPX2cNqcOPjdX6HNImA
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtNh5iDE4r58Wuicu
LSu9fTA9bkQhNjfZQq9/YOXYfjWhRANCAASdIw3eRIXHAwTkdNsP5wkM+uwdXbS6
5NVmgVDUrGDN3QoseZyBRA6f5gMRJk1cwfuAnanIJ0I9TkLU17s60bEb
-----END PRIVATE KEY-----
"""


def case_impostor(folder):
    """Who is called and has a certificate instead of the secret is told nothing: not the key, not a label."""
    path = os.path.join(folder, "certificate")
    with open(path, "w", encoding="ascii") as f:
        f.write(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    with socket.create_server(("127.0.0.1", 0)) as port:
        port.settimeout(30)
        with Node(f"127.0.0.1:{port.getsockname()[1]}", 0, "echo", code=1,
                  said="the server has another TLS secret", env=env(secret(folder, "a"))):
            caller = port.accept()[0]
            caller.settimeout(30)
            try:
                with context.wrap_socket(caller, server_side=True) as stream:
                    check(b"", stream.recv(64), "what the impostor was told")
            except OSError as e:  # ssl.SSLError is one: the caller has refused
                print(f"refused: {e}")


def in_folder(case):
    with tempfile.TemporaryDirectory() as folder:
        case(folder)


def main():
    test_server.SERVER, test_node.NODE = sys.argv[1:3]
    if not has_tls():
        print("skipped: TLS needs OpenSSL 3")
        sys.exit(77)
    run_cases(globals(), sys.argv[3:], in_folder)


if __name__ == "__main__":
    main()
