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


class Symbols:
    """The symbols that the objects of a build define and use."""

    def __init__(self, root, build, product):
        self.defined = {}  # name -> units of the product (source paths without .c) that define it
        self.users = {}    # name -> units, also of tests, that use it
        objects = sorted(os.path.join(d, f) for d, _, fs in os.walk(build) for f in fs
                         if f.endswith(".c.o"))
        units = {o: unit_of(build, o) for o in objects}
        for place, kind, name in nm(objects):
            unit = units[place]
            if kind == "U":
                self.users.setdefault(name, set()).add(unit)
            elif kind in "TDBRVWC" and unit.startswith(product):
                if os.path.exists(os.path.join(root, unit + ".c")):  # else left over from a removed file
                    self.defined.setdefault(name, set()).add(unit)


def unit_of(build, path):
    """The source file of an object, without .c."""
    base, _, rest = os.path.relpath(path, build).partition("CMakeFiles/")
    rest = rest.split("/", 1)[1][:-len(".c.o")].replace("__/", "../")
    return os.path.normpath(os.path.join(base, rest))


def names(symbols, words):
    """External symbols: named after their file, defined once, and used by another file.

    words: those of sources that the build does not compile to objects of its own."""
    for name, units in sorted(symbols.defined.items()):
        if name == "main":
            continue
        first = sorted(units)[0]
        for unit in sorted(units):
            stem = os.path.basename(unit)
            family = stem.split("_")[0]  # type_build.c, type_list.c, ... share the names pli_type_...
            if unit != first:
                yield unit + ".c", f"{name} is also defined in {first}.c", name
            elif not re.fullmatch(f"pli_{stem}|pli_{family}_\\w+", name):
                yield (unit + ".c", f"{name} should begin with pli_{stem} or pli_{family}_, or be static",
                       name)
            elif not symbols.users.get(name, set()) - {unit} and name not in words:
                yield unit + ".c", f"no other file uses {name}: make it static, or remove it", name


def graph(symbols, product):
    """Unit -> the units whose symbols it uses."""
    found = {}
    for name, units in symbols.defined.items():
        if len(units) > 1:  # alternatives: which one is meant is decided by the linker
            continue
        unit = next(iter(units))
        found.setdefault(unit, set())
        for user in symbols.users.get(name, ()):
            if user != unit and user.startswith(product):
                found.setdefault(user, set()).add(unit)
    return found


def declared(src):
    """(line, name) of the functions and variables that a header declares and does not define."""
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda m: re.sub(r"[^\n]", " ", m.group(0)), src.code,
                  flags=re.M)
    depth, outside = 0, []
    for char in code:  # the insides of braces are layout or inline bodies
        depth -= char == "}"
        outside.append(char if depth == 0 or char == "\n" else " ")
        depth += char == "{"
    code, at = "".join(outside), 0
    for statement in re.split(r"[;}]", code):
        begin = at + len(statement) - len(statement.lstrip())
        at += len(statement) + 1
        plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", statement, flags=re.S)
        if re.search(r"\b(typedef|static|_Static_assert)\b|\{", plain):
            continue
        m = re.search(r"(\w+)\s*\(", plain) or re.search(r"\bextern\b.*?(\w+)\s*(?:\[.*)?$", plain, re.S)
        if m:
            yield src.line_of(begin), m.group(1)


def owner(headers, symbols):
    """x.h and x_priv.h declare what x.c defines, and what files x_*.c define that have no header."""
    known = {src.path[:-2] for src in headers}
    for src in headers:
        base = src.path[:-2]
        if base.endswith("_wire"):
            continue
        base = base[:-len("_priv")] if base.endswith("_priv") else base
        for line, name in declared(src):
            units = symbols.defined.get(name, set())
            mine = any(u == base or u.startswith(base + "_") and u not in known for u in units)
            if units and not mine:
                yield src.path, line, f"{name} is defined in {sorted(units)[0]}.c: declare it beside it", name


# What the libraries with other MPIs' ABIs need besides the functions under their second names (abi/).
FOR_ABIS = {"pli_handle_base", "pli_handle_used", "pli_user_calls", "pli_user_calls_op", "pli_user_calls_errhandler",
            "pli_grequest_poll_by", "pli_cursor_type_iov"}
# What debuggers find by name.
FOR_DEBUGGERS = {"MPIR_dll_name", "pli_debug_layout"}


def exports(build, functions):
    """The shared library offers MPI_ and PMPI_ of the implemented functions, the UPC runtime, no more."""
    out = subprocess.run(["nm", "-D", "--defined-only", os.path.join(build, "lib", "libmpi_abi.so")],
                         capture_output=True, text=True, check=True).stdout
    have = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    want = set(functions) | {re.sub("^MPI", "PMPI", f) for f in functions}
    for name in sorted(n for n in have - want if not n.startswith(("pli_upc_", "pli_std_MPI", "pli_observe_get_", "pli_observe_note_")) and n not in FOR_ABIS | FOR_DEBUGGERS):
        yield "libmpi_abi.so", f"exports {name}, which is no implemented MPI function", name
    for name in sorted(want - have):
        yield "libmpi_abi.so", f"does not export {name}, which the API table says is there", name
