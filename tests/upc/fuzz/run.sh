#!/bin/sh
# Fuzz the translator for a bounded time: run.sh [seconds] [work folder]. Needs clang.
# Seeds are the cases beside this folder; findings are left in the work folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cc_dir=$here/../../../upc/cc
seconds=${1:-60}
work=${2:-$(mktemp -d)}
mkdir -p "$work/corpus"
clang -std=gnu17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -I"$cc_dir" "$here/fuzz_translate.c" $(ls "$cc_dir"/*.c | grep -v '/main\.c$') -o "$work/fuzz"
python3 - "$here/.." "$work/corpus" <<'PY'
import os, re, sys
root, out = sys.argv[1:]
n = 0
for d in ("run", "fail"):
    for f in sorted(os.listdir(os.path.join(root, d))):
        text = open(os.path.join(root, d, f)).read()
        for case in re.split(r"^//---.*\n", text, flags=re.M)[1:]:
            case = "".join(l for l in case.splitlines(True) if not l.startswith("#include"))
            open(os.path.join(out, f"seed{n}"), "w").write(re.sub(r"//.*", "", case))
            n += 1
PY
{
    grep -oE '"[a-zA-Z_0-9]+", KW' "$cc_dir/lex.c" | sed 's/", KW//; s/^"//; s/.*/"&"/'
    printf '"#define THREADS"\n"#undef MYTHREAD"\n"[*]"\n"[]"\n"({"\n"})"\n"&&"\n"..."\n"->"\n"# 1 \\"x.h\\" 1 3\\x0a"\n'
} >"$work/dict"
cd "$work"
./fuzz -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -detect_leaks=0 -max_len=4096 \
    -dict=dict -print_final_stats=1 corpus 2>&1 | tail -15
