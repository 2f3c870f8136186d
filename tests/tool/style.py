# The judge of style: each rule complains about a file that breaks it and not about one that keeps it.
import json
import os
import shutil
import subprocess
import sys
import tempfile

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
TOP = SPDX + "// What the file is for.\n"
GOOD_H = TOP + "#ifndef PLI_BASE_GOOD_H\n#define PLI_BASE_GOOD_H\n\nint pli_good(void);\n\n#endif\n"
GOOD_C = TOP + '#include "base/good.h"\n\nint pli_good(void)\n{\n    return 1;\n}\n'


def header(path, text):
    """With its licence and guard."""
    guard = "PLI_T_" + os.path.basename(path).replace(".", "_").upper()
    return f"{TOP}#ifndef {guard}\n#define {guard}\n{text}#endif\n"


def ring(path, n):
    """So many files of which each calls the next."""
    stem = "pli_" + os.path.basename(path)
    return {f"{path}{i}.c": f"{TOP}void {stem}{(i + 1) % n}(void);\n"
                            f"void {stem}{i}(void)\n{{\n    {stem}{(i + 1) % n}();\n}}\n"
            for i in range(n)}


LONG = "static int f(void)\n{\n" + "    g();\n" * 90 + "}\n"

# rule, path, content, what the complaint says
BAD = [
    ("whitespace", "src/base/bad.c", SPDX + "int x; \n", "blanks at the end"),
    ("whitespace", "src/base/bad.c", SPDX + "int x;", "no line end"),
    ("licence", "src/base/bad.c", "int x;\n", "the first line"),
    ("length", "src/base/bad.c", SPDX + "// " + "x" * 100 + "\n", "103 columns"),
    ("length", "src/base/bad.c", SPDX + LONG, "f has 92 lines"),
    ("comments", "src/base/bad.c", SPDX + "/* old */\n", "write //"),
    ("comments", "src/base/bad.c", SPDX + "// ------\n", "banner"),
    ("comments", "src/base/bad.c", SPDX + "//text\n", "no blank"),
    ("guard", "src/base/bad.h", SPDX + "int x;\n", "no guard"),
    ("guard", "src/base/bad.h", SPDX + "#ifndef BAD_H\n#define BAD_H\n#endif\n", "should be PLI_"),
    ("types", "src/base/bad.c", SPDX + "typedef struct a { int x; } a;\n", "spell the type"),
    ("jumps", "src/base/bad.c", SPDX + "void f(void)\n{\n    goto out;\n}\n", "goto out"),
    ("jumps", "src/base/bad.c", SPDX + "#define TRY(x) if (x) return\n", "a macro with a jump"),
    ("places", "src/base/bad.c", SPDX + 'const char *p = "/dev/shm/x";\n', "nothing is created"),
    ("places", "launcher/bad.c", SPDX + "int f(void)\n{\n    return shm_open(0);\n}\n", "shm_open"),
    ("environment", "src/base/bad.c", SPDX + 'char *p = getenv("X");\n', "getenv"),
    ("codes", "src/base/bad.c", SPDX + "int x = MPI_ERR_RANK;\n", "MPI_ERR_RANK"),
    ("hot", "src/base/hot.c", SPDX + "void f(void)\n{\n    free(p);\n}\n", "calls free"),
    ("layers", "src/base/bad.c", SPDX + '#include "msg/fine.h"\n', "may not include src/msg/fine.h"),
    ("layers", "src/msg/bad.c", SPDX + '#include "base/good_priv.h"\n', "private to src/base"),
    ("layers", "src/attic/bad.c", SPDX, "not in tools/style/layers"),
    # The deepest room counts: msg may include net, and not net/tcp.
    ("layers", "src/msg/bad.c", SPDX + '#include "net/tcp/conn.h"\n', "may not include src/net/tcp"),
    # By the real path: this is no file of src/msg, which launcher may not include either.
    ("layers", "launcher/bad.c", SPDX + '#include "msg/outside.h"\n', "may not include impi/msg/"),
    ("layers", "src/msg/bad.c", SPDX + '#include "msg/lost.h"\n', "in none of the include folders"),
    ("layers", "tools/style/layers", "base attic\n", "the room src/attic has no row"),
    ("reach", "launcher/bad.c", SPDX + '#include "deep0.h"\n', "more than 4 headers deep"),
    ("unique", "src/msg/good.c", SPDX, "also that of"),
    ("unique", "launcher/good.c", SPDX, "also that of"),
    ("words", "src/msg/bad_moor.c", SPDX, "'moor' is neither a word of the field"),
    ("words", "docs/design/words.md", "| w | m |\n" + "".join(f"| w{i} | m |\n" for i in range(40)),
     "41 house words; 40 are allowed"),
    ("words", "docs/design/words.md", "| pair | two |\n", "'pair' is in tools/style/field_words too"),
    ("retired", "src/msg/bad.c", SPDX + "static int open_berth;\n", "open_berth: 'berth' is retired"),
    ("retired", "launcher/bad.c", SPDX + "// Somebody calls.\n", "'Somebody': name the process"),
    ("opening", "src/base/bad.c", SPDX + "#include <stdio.h>\n", "no sentence here"),
    ("circle", {f"src/msg/c{i}.h": SPDX + f'#include "msg/c{(i + 1) % 7}.h"\n' for i in range(7)},
     None, "7 need each other (include): src/msg/c0"),
    ("circle", ring("launcher/c", 7), None, "7 need each other (symbol): launcher/c0"),
    # An exception whose circle is gone.
    ("circle stale", "tools/style/allow", "circle symbol:src/msg/* to go\n",
     "'circle symbol:src/msg/*' is not needed"),
    ("circle", "tools/style/layers", "base msg\nmsg base\n", "2 need each other (rooms): src/base src/msg"),
    ("symbols", "launcher/bad.c", SPDX + "int other_name;\n", "should begin with pli_bad"),
    ("symbols", "launcher/bad.c", SPDX + "int pli_bad;\n", "no other file uses pli_bad"),
    ("symbols", "launcher/good.c", GOOD_C, "pli_good is also defined in launcher/good.c"),
    ("owner", "src/msg/bad.h", SPDX + "int pli_good(void);\n", "is defined in src/base/good.c"),
    ("owner", "src/msg/bad.h", SPDX + "extern int pli_user[3];\n", "is defined in src/msg/user.c"),
    ("owner", "src/base/use_priv.h", SPDX + "int pli_good(void);\n", "is defined in src/base/good.c"),
    ("listed", "tests/mpi/lost.c", SPDX, "no row"),
    ("scripts", "bad.py", "def f(:\n", "invalid syntax"),
    ("scripts", "bad.sh", "if true; then\n", "syntax error"),
]
# Not complaints: words in comments and strings, cold functions on a hot path.
FINE = {
    "src/base/fine.c": TOP + "// getenv and /dev/shm and MPI_ERR_RANK and typedef struct\n"
                       'const char *p = "getenv(x) MPI_ERR_RANK goto out";\n',
    "src/base/hot.c": TOP + "__attribute__((cold)) static void f(void)\n{\n    free(p);\n}\n"
                      "\nvoid g(void)\n{\n    p->poll(1);\n    // malloc()\n}\n"
                      "\nstatic int read(int n)\n{\n    return n;\n}\n\nint h(void)\n{\n    return read(1);\n}\n",
    "src/msg/fine_too.c": TOP + '#include "base/good.h"\n',
    "src/msg/user.c": TOP + '#include "base/good.h"\n'
                      "int pli_user_a(void);\nint pli_user[3];\n"
                      "int pli_user_b(void)\n{\n    return pli_good();\n}\n",
    "src/msg/user_c.c": TOP + "extern int pli_user[3];\nint pli_user_b(void);\n"
                        "static int f(void)\n{\n    return pli_user[0] + pli_user_b();\n}\n"
                        "int (*const pli_user_c[2])(void) = {f};\n",
    "src/msg/user_d.c": TOP + "extern int (*const pli_user_c[2])(void);\n"
                        "static void *p = (void *)pli_user_c;\n",
    # Six files may need each other, and seven where an exception says so.
    **ring("src/msg/six_", 6), **ring("launcher/seven_", 7),
    "src/msg/fine_impi.c": TOP + '#include "msg/outside.h"\n#include "net/fine_net.h"\n',
    "launcher/begin.c": TOP, "src/msg/lanes.c": TOP,
}
for name, content in {
        # A family has one private header, an inline function is no declaration, nor is a field.
        "src/msg/six_priv.h": "".join(f"void pli_six_{i}(void);\n" for i in range(6)) +
                              "static inline int pli_good(void)\n{\n    return 1;\n}\n"
                              "struct pli_ops {\n    int (*pli_user_b)(void);\n};\n",
        "src/msg/fine.h": "", "src/base/good_priv.h": "", "src/net/fine_net.h": "",
        "src/net/tcp/conn.h": '#include "net/fine_net.h"\n', "impi/msg/outside.h": "",
        **{f"launcher/deep{i}.h": f'#include "deep{i + 1}.h"\n' for i in range(4)},
        "launcher/deep4.h": ""}.items():
    FINE[name] = header(name, content)
LAYERS = """base
net       base
net/tcp   base net
msg       base net impi/msg
impi/msg
launcher  base
"""
PARTS = ("src/base/fine.c", "src/base/hot.c")  # do not compile
# The rules that read the objects of a build.
OBJECTS = {"symbols", "owner", "circle"}
RULES = sorted({b[0].split()[0] for b in BAD})


def judge(root, rules):
    run = subprocess.run([sys.executable, os.path.join(root, "tools/style/style.py"), *rules],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def put(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as out:
        out.write(text)


def compile_some(root, paths):
    """Objects where CMake puts them, and the list of commands; returns the objects."""
    build, objects, commands = os.path.join(root, "build"), [], []
    flags = ["-I" + os.path.join(root, folder) for folder in ("src", "impi")]
    for path in paths:
        source, out = os.path.join(root, path), os.path.join(build, "CMakeFiles", "t.dir", path + ".o")
        commands.append({"file": source, "command": " ".join(["cc", *flags, source])})
        os.makedirs(os.path.dirname(out), exist_ok=True)
        subprocess.run(["cc", "-w", *flags, "-c", source, "-o", out], check=True)
        objects.append(out)
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as out:
            json.dump(commands, out)
    return objects


def main():
    failed = 0
    with tempfile.TemporaryDirectory(dir=os.environ["BUILD_DIR"]) as scratch:
        # A repository of its own: the tree around is none of this test's business.
        subprocess.run(["git", "init", "-q", scratch], check=True)
        shutil.copytree(os.path.join(os.environ["SOURCE_DIR"], "tools", "style"),
                        os.path.join(scratch, "tools", "style"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        put(scratch, "tools/style/hot", "src/base/hot.c\n")
        put(scratch, "tools/style/allow", "types src/base/allowed.c it is the exception\n"
            "circle symbol:launcher/seven_* it is the exception\n")
        put(scratch, "src/base/allowed.c", TOP + "typedef struct a { int x; } a;\n")
        for path, text in {"src/base/good.h": GOOD_H, "src/base/good.c": GOOD_C, **FINE}.items():
            put(scratch, path, text)
        put(scratch, "tools/style/layers", LAYERS)
        put(scratch, "tools/style/field_words", "# Comment.\nallowed bad begin conn deep fine good hot\n"
            "impi lost net outside pair priv seven six too user c d use\n")
        put(scratch, "docs/design/words.md", "| word | meaning |\n|---|---|\n| lane | of the house |\n")
        put(scratch, ".gitignore", "build\n__pycache__\n")
        compile_some(scratch, ["src/base/good.c", *[p for p in FINE if p.endswith(".c") and p not in PARTS]])
        status, said = judge(scratch, RULES)
        if status != 0:
            print(f"a clean tree got complaints: {said}")
            failed += 1
        for rule, path, text, want in BAD:
            changed = path if isinstance(path, dict) else {path: text}
            before = {}
            for name, content in changed.items():
                full = os.path.join(scratch, name)
                if os.path.exists(full):
                    before[name] = open(full, encoding="utf-8").read()
                put(scratch, name, content)
            objects = []
            if rule in OBJECTS:
                objects = compile_some(scratch, [p for p in changed if p.endswith(".c")])
            status, said = judge(scratch, rule.split())
            if status != 1 or want not in said or f"[{rule.split()[-1]}]" not in said:
                print(f"{rule} with {path}: exit status {status}, expected '{want}' in: {said}")
                failed += 1
            for name in objects:
                os.remove(name)
            for name in changed:
                if name in before:
                    put(scratch, name, before[name])
                else:
                    os.remove(os.path.join(scratch, name))
    sys.exit(1 if failed else 0)


main()
