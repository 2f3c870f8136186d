"""Rules about which file includes which."""
import json
import os
import re
import subprocess

REACH, DEPTH = 25, 4
# Top folders whose rooms are written with the whole path in tools/style/layers; other rooms are in src/.
TOPS = ("launcher", "tools", "impi", "upc", "balance", "trace")


class Includes:
    """Finds the file that an #include line means, with the include folders of its target."""

    def __init__(self, root, build, sources, paths):
        self.build = build
        self.paths = set(paths)  # every file of the tree
        self.folders = {}  # folder -> include folders of the files in it, in the compiler's order
        self._read_commands(root)
        self.edges = {s.path: [(n, name, self.resolve(s.path, name)) for n, name in s.includes()]
                      for s in sources}

    def _read_commands(self, root):
        try:
            with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
                commands = json.load(file)
        except OSError:
            commands = []
        for row in commands:
            folder = os.path.dirname(os.path.relpath(row["file"], root))
            if folder.startswith(("..", "tests", "build")):
                continue
            known = self.folders.setdefault(folder, [])
            for path in re.findall(r"-(?:I|isystem) ?(\S+)", row["command"]):
                path = os.path.relpath(path, root)
                if not path.startswith(("..", "build")) and path not in known:
                    known.append(path)

    def search(self, folder):
        """The include folders of a folder; one without compiled files has those of its neighbours."""
        while folder not in self.folders:
            near = [f for f in sorted(self.folders) if f.startswith(folder + "/")]
            if near:
                self.folders[folder] = list(dict.fromkeys(p for f in near for p in self.folders[f]))
            elif "/" not in folder:
                self.folders[folder] = ["src"]
            else:
                folder = os.path.dirname(folder)
        return self.folders[folder]

    def resolve(self, origin, name):
        """The path of the included file, or None for one that is generated or of another project."""
        here = os.path.dirname(origin)
        for folder in [here, *self.search(here)]:
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.paths:
                return path
        return None

    def is_generated(self, name):
        return any(os.path.exists(os.path.join(self.build, "gen", sub, name)) for sub in ("", "include"))


def read_layers(path):
    """Room -> the rooms it may include from, each by its folder."""
    def folder(name):
        return name if name.split("/")[0] in TOPS else "src/" + name

    may = {}
    for raw in open(path, encoding="utf-8"):
        words = raw.split("#")[0].split()
        if words:
            may[folder(words[0])] = {folder(w) for w in words[1:]}
    return may


def room_of(path, may):
    """The room of a file: the deepest folder above it that is a room."""
    folder = os.path.dirname(path)
    while folder and folder not in may:
        folder = os.path.dirname(folder)
    return folder or None


def layers(sources, includes, may):
    for room in sorted(set().union(*may.values()) - set(may)):
        yield "tools/style/layers", 1, f"the room {room} has no row"
    for src in sources:
        room = room_of(src.path, may)
        if room is None:
            yield src.path, 1, f"the folder {os.path.dirname(src.path)} is not in tools/style/layers"
            continue
        for n, name, to in includes.edges[src.path]:
            if to is None:
                if "/" in name and os.path.isdir(includes.build) and not includes.is_generated(name):
                    yield src.path, n, f"{name} is in none of the include folders"
                continue
            other = room_of(to, may)
            if other != room and other not in may[room]:
                yield src.path, n, f"{room} may not include {to}: see tools/style/layers"
            if other != room and to.endswith("_priv.h"):
                yield src.path, n, f"{to} is private to {other}"


def reach(sources, includes):
    """At most 25 project headers per source file, at most 4 deep."""
    for src in sources:
        if not src.path.endswith(".c"):
            continue
        depth, wave = {src.path: 0}, [src.path]
        while wave:
            after = []
            for path in wave:
                for _, _, to in includes.edges.get(path, ()):
                    if to and to.endswith(".h") and to not in depth:
                        depth[to] = depth[path] + 1
                        after.append(to)
            wave = after
        if len(depth) - 1 > REACH:
            yield src.path, 1, f"reaches {len(depth) - 1} project headers; {REACH} are allowed"
        far = [p for p, d in depth.items() if d > DEPTH]
        if far:
            yield src.path, 1, f"reaches {far[0]} more than {DEPTH} headers deep"


def graph(sources, includes):
    """Unit (a .c file and the header of its name) -> the units it includes."""
    found = {}
    for src in sources:
        unit = src.path[:-2]
        found.setdefault(unit, set()).update(
            to[:-2] for _, _, to in includes.edges[src.path] if to and to[:-2] != unit)
    return found


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
