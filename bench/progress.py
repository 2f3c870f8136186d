"""What a measurement tells while it runs: where it is, and how long it will still take."""
import sys
import time

EVERY_S = 10  # at most so often a line, and one for each round


def length(seconds):
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Progress:
    """runs: how often each benchmark runs, by name."""

    def __init__(self, runs, n_mpi, out=sys.stderr, clock=time.monotonic):
        self.runs, self.out, self.clock = runs, out, clock
        self.rounds = max(runs.values(), default=0)
        self.took, self.done = {}, {}  # seconds of all runs so far, and their count
        self.start = self.said = clock()
        self.began = 0.0
        self.say(f"{len(runs)} benchmarks in up to {self.rounds} rounds with {n_mpi} MPI{'s' if n_mpi != 1 else ''}; "
                 "how long that takes is told when some have run")

    def say(self, text):
        print(f"bench: {text}", file=self.out, flush=True)

    def left(self):
        """Seconds: a benchmark that has run takes as long again, another one as long as the mean of those."""
        mean = sum(self.took.values()) / max(1, sum(self.done.values()))
        return sum((n - self.done.get(name, 0)) * (self.took[name] / self.done[name] if name in self.done else mean)
                   for name, n in self.runs.items())

    def begin(self, name, i):
        self.began = self.clock()
        if self.began - self.said >= EVERY_S and self.done:
            self.said = self.began
            self.say(f"round {i + 1} of {self.rounds}, {name}; {length(self.began - self.start)} so far, "
                     f"about {length(self.left())} to go")

    def end(self, name):
        self.took[name] = self.took.get(name, 0.0) + self.clock() - self.began
        self.done[name] = self.done.get(name, 0) + 1
