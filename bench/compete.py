"""Processes that compete with a measurement for the cores."""
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Competitors:
    """`with Competitors(n, folder):` so many processes compute meanwhile. They end with the block, and also
    when this program is killed: their standard input is a pipe that only it holds open."""

    def __init__(self, n, folder):
        self.n, self.job = n, None
        self.program = os.path.join(folder, "compete")

    def build(self):
        source = os.path.join(HERE, "compete.c")
        if not os.path.exists(self.program) or os.path.getmtime(self.program) < os.path.getmtime(source):
            subprocess.run(["cc", "-O2", "-o", self.program, source], check=True)

    def __enter__(self):
        if self.n > 0:
            self.build()
            self.job = subprocess.Popen([self.program, str(self.n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
            if self.job.stdout.readline() != "ready\n":
                self.close()
                raise RuntimeError(f"{self.n} competitors could not be started")
        return self

    def close(self):
        if self.job is not None:
            self.job.stdin.close()
            self.job.kill()  # its children go with it
            self.job.wait()
            self.job.stdout.close()
            self.job = None

    def __exit__(self, *_):
        self.close()
