"""Rules about names that other files can see, read from the objects with nm."""
import os
import re
import subprocess


def nm(objects):
    """(object, kind letter, name) of every symbol."""
    for i in range(0, len(objects), 200):
        out = subprocess.run(["nm", "-A", "--no-sort", *objects[i:i + 200]], capture_output=True,
                             text=True, check=True).stdout
        for line in out.splitlines():
            place, _, rest = line.partition(":")
            words = rest.split()
            yield place, words[-2], words[-1]


def objects_of(build):
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(build) for f in fs if f.endswith(".o"))


def names(root, build):
    """External symbols of the library: named after their file, and used by another one."""
    library = os.path.join(build, "CMakeFiles", "pliant_objects.dir", "src") + "/"
    defined, used = [], set()
    for place, kind, name in nm(objects_of(build)):
        if kind == "U":
            used.add(name)
        elif kind in "TDBRVWC" and place.startswith(library):
            defined.append((place[len(library):-2], name))
    for path, name in defined:
        if not os.path.exists(os.path.join(root, "src", path)):
            continue  # left over from a file that is gone
        stem = os.path.basename(path)[:-2]
        family = stem.split("_")[0]  # type_build.c, type_list.c, ... share the names pli_type_...
        if not re.fullmatch(f"pli_{stem}|pli_{family}_\\w+", name):
            yield "src/" + path, f"{name} should begin with pli_{stem} or pli_{family}_, or be static", name
        elif name not in used:
            yield "src/" + path, f"no other file uses {name}: make it static, or remove it", name


def exports(build, functions):
    """The shared library offers MPI_ and PMPI_ of the implemented functions, the UPC runtime, no more."""
    out = subprocess.run(["nm", "-D", "--defined-only", os.path.join(build, "lib", "libmpi_abi.so")],
                         capture_output=True, text=True, check=True).stdout
    have = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    want = set(functions) | {re.sub("^MPI", "PMPI", f) for f in functions}
    for name in sorted(n for n in have - want if not n.startswith("pli_upc_")):
        yield "libmpi_abi.so", f"exports {name}, which is no implemented MPI function", name
    for name in sorted(want - have):
        yield "libmpi_abi.so", f"does not export {name}, which the API table says is there", name
