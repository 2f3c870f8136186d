"""Rules about who includes whom."""
import os
import subprocess

REACH, DEPTH = 25, 4


def read_layers(path):
    may = {}
    for raw in open(path, encoding="utf-8"):
        words = raw.split("#")[0].split()
        if words:
            may[words[0]] = set(words[1:])
    return may


def room_of(path):
    """The room of a file under src/, or of an include written by room path."""
    parts = path.split("/")
    if parts[0] == "src":
        parts = parts[1:]
    return parts[0] if len(parts) > 1 else None


def layers(sources, may):
    for src in sources:
        room = room_of(src.path)
        if room is None or room not in may:
            yield src.path, 1, f"room '{room}' is not in tools/style/layers"
            continue
        for n, name in src.includes():
            other = room_of(name)
            if other is None:  # generated, or beside the file
                continue
            if other != room and other not in may[room]:
                yield src.path, n, f"{room} may not include {name}: see tools/style/layers"
            if other != room and name.endswith("_priv.h"):
                yield src.path, n, f"{name} is private to {other}"


def reach(sources):
    """At most 25 project headers per source file, at most 4 deep."""
    graph = {s.path: [i for _, i in s.includes()] for s in sources}

    def resolve(name, origin):
        for path in ("src/" + name, os.path.join(os.path.dirname(origin), name)):
            if path in graph:
                return path
        return None

    for src in sources:
        if not src.path.endswith(".c"):
            continue
        depth, wave = {src.path: 0}, [src.path]
        while wave:
            after = []
            for path in wave:
                for name in graph[path]:
                    to = resolve(name, path)
                    if to and to.endswith(".h") and to not in depth:
                        depth[to] = depth[path] + 1
                        after.append(to)
            wave = after
        if len(depth) - 1 > REACH:
            yield src.path, 1, f"reaches {len(depth) - 1} project headers; {REACH} are allowed"
        far = [p for p, d in depth.items() if d > DEPTH]
        if far:
            yield src.path, 1, f"reaches {far[0]} more than {DEPTH} headers deep"


def unique(sources):
    seen = {}
    for src in sources:
        name = os.path.basename(src.path)
        if name in seen:
            yield src.path, 1, f"the name {name} is also that of {seen[name]}"
        seen[name] = src.path


def stands_alone(root, path, flags):
    """What the compiler says about a header by itself, or ''."""
    run = subprocess.run(["cc", "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
                          "-Wno-unused-function", "-Werror", *flags, "-include", path,
                          "-x", "c", os.devnull], cwd=root, capture_output=True, text=True, check=False)
    said = [line for line in run.stderr.split("\n") if "error:" in line] or [run.stderr.strip()]
    return said[0] if run.returncode else ""
