"""A command on a terminal, for the tests of mpiexec --gdb."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from launch import SLOW, check

NEXT = "\x1d"  # goes to the gdb of the next rank


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *args, env=None, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.environ.update({"TERM": "dumb", "DEBUGINFOD_URLS": "", **(env or {})})
            if "TMUX" not in (env or {}):
                os.environ.pop("TMUX", None)
            os.execvp(args[0], list(map(str, args)))
        self.text = ""
        self.at = 0
        self.is_failed = False

    def wait(self, pattern, seconds=60):
        """Until this was shown, after what was waited for before."""
        end = time.monotonic() + seconds * SLOW
        while not self.is_failed:
            found = re.compile(pattern).search(self.text, self.at)
            if found:
                self.at = found.end()
                return found
            if time.monotonic() > end:
                check(False, f"{pattern!r} does not come: {self.text}", 2)
                self.fail()
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    data = os.read(self.fd, 4096)
                except OSError:
                    data = b""
                if not data:
                    check(False, f"ended before {pattern!r}: {self.text}", 2)
                    self.fail()
                self.text += data.decode(errors="replace")
        return None

    def fail(self):
        """What follows makes no sense any more."""
        self.is_failed = True
        os.kill(self.pid, signal.SIGTERM)

    def type(self, text):
        if not self.is_failed:
            os.write(self.fd, text.encode())

    def end(self):
        while True:
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
