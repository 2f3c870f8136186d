# The judge of style: each rule complains about a file that breaks it and not about one that keeps it.
import os
import shutil
import subprocess
import sys
import tempfile

SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"
GOOD_H = SPDX + "#ifndef PLI_BASE_GOOD_H\n#define PLI_BASE_GOOD_H\n\nint pli_good(void);\n\n#endif\n"
GOOD_C = SPDX + '#include "base/good.h"\n\nint pli_good(void)\n{\n    return 1;\n}\n'
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
    ("places", "tools/x/bad.c", SPDX + "int f(void)\n{\n    return shm_open(0);\n}\n", "shm_open"),
    ("environment", "src/base/bad.c", SPDX + 'char *p = getenv("X");\n', "getenv"),
    ("codes", "src/base/bad.c", SPDX + "int x = MPI_ERR_RANK;\n", "MPI_ERR_RANK"),
    ("hot", "src/base/hot.c", SPDX + "void f(void)\n{\n    free(p);\n}\n", "calls free"),
    ("layers", "src/base/bad.c", SPDX + '#include "msg/x.h"\n', "may not include msg/x.h"),
    ("layers", "src/msg/bad.c", SPDX + '#include "base/x_priv.h"\n', "private to base"),
    ("layers", "src/attic/bad.c", SPDX, "not in tools/style/layers"),
    ("unique", "src/msg/good.c", SPDX, "also that of"),
    ("listed", "tests/mpi/lost.c", SPDX, "no row"),
    ("scripts", "bad.py", "def f(:\n", "invalid syntax"),
    ("scripts", "bad.sh", "if true; then\n", "syntax error"),
]
# Not complaints: words in comments and strings, cold functions on a hot path.
FINE = {
    "src/base/fine.c": SPDX + "// getenv and /dev/shm and MPI_ERR_RANK and typedef struct\n"
                       'const char *p = "getenv(x) MPI_ERR_RANK goto out";\n',
    "src/base/hot.c": SPDX + "__attribute__((cold)) static void f(void)\n{\n    free(p);\n}\n"
                      "\nvoid g(void)\n{\n    p->poll(1);\n    // malloc()\n}\n",
    "src/msg/fine_too.c": SPDX + '#include "base/good.h"\n',
}
RULES = sorted({b[0] for b in BAD})


def judge(root, rules):
    run = subprocess.run([sys.executable, os.path.join(root, "tools/style/style.py"), *rules],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def put(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as out:
        out.write(text)


def main():
    failed = 0
    with tempfile.TemporaryDirectory(dir=os.environ["BUILD_DIR"]) as scratch:
        # A repository of its own: the tree around is none of this test's business.
        subprocess.run(["git", "init", "-q", scratch], check=True)
        shutil.copytree(os.path.join(os.environ["SOURCE_DIR"], "tools", "style"),
                        os.path.join(scratch, "tools", "style"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        put(scratch, "tools/style/hot", "src/base/hot.c\n")
        put(scratch, "tools/style/allow", "types src/base/allowed.c it is the exception\n")
        put(scratch, "src/base/allowed.c", SPDX + "typedef struct a { int x; } a;\n")
        for path, text in {"src/base/good.h": GOOD_H, "src/base/good.c": GOOD_C, **FINE}.items():
            put(scratch, path, text)
        status, said = judge(scratch, RULES)
        if status != 0:
            print(f"a clean tree got complaints: {said}")
            failed += 1
        for rule, path, text, want in BAD:
            full = os.path.join(scratch, path)
            before = open(full, encoding="utf-8").read() if os.path.exists(full) else None
            put(scratch, path, text)
            status, said = judge(scratch, [rule])
            if status != 1 or want not in said or f"[{rule}]" not in said:
                print(f"{rule} with {path}: exit status {status}, expected '{want}' in: {said}")
                failed += 1
            if before is None:
                os.remove(full)
            else:
                put(scratch, path, before)
    sys.exit(1 if failed else 0)


main()
