"""Numbers of all contenders, and how they compare with the aims."""
import json
import math
import statistics

UNITS_HIGHER = {"GB/s", "M/s"}


class Results:
    def __init__(self):
        self.values = {}   # (number, params) -> contender -> one value per run
        self.units = {}    # (number, params) -> unit
        self.failed = {}   # (bench, contender) -> why
        self.plain_kb = 0.0

    def add(self, contender, found, is_each=False):
        """What one job printed: the median of a number that it has several times, or all of them as runs of their own."""
        for (name, params, unit), many in found.items():
            key = (name, params)
            self.units[key] = unit
            runs = self.values.setdefault(key, {}).setdefault(contender, [])
            runs += many if is_each else [statistics.median(many)]

    def median(self, key, contender):
        runs = self.values.get(key, {}).get(contender)
        return statistics.median(runs) if runs else None

    def quantile(self, key, contender, part):
        """What no more than this part of the runs is below, in order of time; 0.5: the median."""
        runs = self.values.get(key, {}).get(contender)
        if not runs or part == 0.5:
            return self.median(key, contender)
        return sorted(runs)[min(len(runs) - 1, math.ceil(part * len(runs)) - 1)]

    def best(self, key, contender):
        runs = self.values.get(key, {}).get(contender)
        return (max if self.units[key] in UNITS_HIGHER else min)(runs) if runs else None

    def slowdown(self, key):
        """How many times longer the best run takes than that of the earlier build; None: one is missing."""
        now, before = self.best(key, "pliant"), self.best(key, "before")
        if not now or not before:
            return None
        return before / now if self.units[key] in UNITS_HIGHER else now / before

    def spread(self, key, contender):
        runs = self.values[key][contender]
        return max(runs) - min(runs)

    def line(self, key, contender):
        """One number as style asks for it."""
        name, params = key
        return (f"{name} {params} mpi={contender} runs={len(self.values[key][contender])} "
                f"median={self.median(key, contender):.4g} spread={self.spread(key, contender):.2g} "
                f"{self.units[key]}")

    def save(self, path, about):
        rows = [{"name": n, "params": p, "unit": self.units[(n, p)], "runs": by}
                for (n, p), by in self.values.items()]
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"about": about, "plain_kb": self.plain_kb, "numbers": rows,
                       "failed": [{"bench": b, "mpi": c, "why": w}
                                  for (b, c), w in self.failed.items()]}, out, indent=1)


NEAR_FLOOR = 1.1  # a number this close to what the system alone gives cannot be much better


class Verdict:
    """One aim against the results."""

    def __init__(self, aim, results, peers):
        self.aim = aim
        key = (aim.number, aim.params)
        self.unit = results.units.get(key, "")
        off = results.plain_kb if aim.minus_plain else 0.0
        self.ours = results.quantile(key, "pliant", aim.at)
        theirs = tuple(aim.against.split(" ", 1)) if aim.against else key
        self.peers = {p: results.quantile(theirs, p, aim.at) for p in peers}
        if off:
            self.ours = self.ours and self.ours - off
            self.peers = {p: v and v - off for p, v in self.peers.items()}
        if aim.own:
            self.peers = {p: None for p in peers}
        known = [v for v in self.peers.values() if v is not None]
        pick = max if aim.kind == "higher" else min
        self.best = pick(known) if known else None
        if aim.own:
            self.best = results.median(tuple(aim.own.split(" ", 1)), "pliant")
        self.ratio = None
        if self.ours is not None and self.best:
            self.ratio = self.ours / self.best
        self.floor = results.best(tuple(aim.floor.split(" ", 1)), "pliant") if aim.floor else None
        self.at_floor = False
        if aim.or_floor and self.floor and self.ours:
            usual = results.median(tuple(aim.floor.split(" ", 1)), "pliant")
            self.at_floor = 1 / NEAR_FLOOR <= usual / self.ours <= NEAR_FLOOR  # else it does not bound this
        self.measured = self.ours is not None or bool(known)

    def passed(self):
        """True, False, or None when it cannot be said."""
        if self.ours is None:
            return None
        if self.aim.kind == "at_most":
            return self.ours <= self.aim.limit
        if self.ratio is None:
            return None
        return self.at_floor or self.reached()

    def reached(self):
        return self.ratio <= self.aim.limit if self.aim.kind == "lower" else \
            self.ratio >= self.aim.limit

    def shade(self):
        """How the ratio compares, for a colour: far ahead, ahead, behind a little, behind; "" without a ratio."""
        if not self.ratio:
            return ""
        times = 1 / self.ratio if self.aim.kind == "higher" else self.ratio
        return "far" if times <= 0.7 else "ahead" if times <= 1.0 else "near" if times <= 1.2 else "behind"

    def aim_text(self):
        if self.aim.kind == "at_most":
            return f"<= {self.aim.limit:g} {self.unit}"
        return f"{'<=' if self.aim.kind == 'lower' else '>='} {self.aim.limit:g} x"

    def verdict_text(self):
        word = {True: "pass", False: "FAIL", None: "-"}[self.passed()]
        return "floor" if word == "pass" and self.at_floor and not self.reached() else word


def number(v):
    if v is None:
        return "-"
    if v == 0:
        return "0"
    return f"{v:.3g}" if abs(v) < 1000 else f"{v:,.0f}"
