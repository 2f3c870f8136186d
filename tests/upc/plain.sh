#!/bin/sh
# Plain C programs from Debian's source packages, built by gcc and by upcc, must behave alike.
# usage: plain.sh [--time] BIN [work folder]; needs the network unless the folder has the sources.
# --time: also how long three of them take, the shortest of several runs each.
set -eu
timing=no
if [ "$1" = --time ]; then
    timing=yes
    shift
fi
upcc=$1/upcc
upcrun=$1/upcrun
work=${2:-}
if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/parts" "$work/lists/partial"
cd "$work"
packages='bzip2 zlib lua5.4 lz4 tcc mawk mujs'
# The sources are where this machine's packages are.
for f in /etc/apt/sources.list.d/*.sources; do
    if [ -f "$f" ]; then
        sed 's/^Types:.*/Types: deb-src/' "$f" >parts/"${f##*/}"
    fi
done
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb \(.*\)/deb-src \1/p' >parts/src.list
apt="apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/parts \
    -o Dir::State::lists=$work/lists"
for p in $packages; do
    ls -d "$p"-*/ >/dev/null 2>&1 && continue
    [ -f log ] || $apt update >log 2>&1 || { cat log; echo "no source packages within reach"; exit 1; }
    $apt source "$p" >>log 2>&1 || { tail log; exit 1; }
done
n=0
bad=0

# both NAME FLAGS FILES...: NAME.ref by gcc, NAME.upc by upcc
both() {
    name=$1 flags=$2
    shift 2
    gcc -w -O2 $flags "$@" -o "$work/$name.ref" -lm -ldl
    "$upcc" -w -O2 $flags "$@" -o "$work/$name.upc" -lm -ldl
}
# same NAME INPUT ARGS...: equal output and status, started alone and by upcrun (which has more to
# say about a program that fails)
same() {
    name=$1 input=$2
    shift 2
    a=0
    "$work/$name.ref" "$@" <"$input" >"$work/ref.out" 2>"$work/ref.err" || a=$?
    for how in "" "$upcrun -n 1"; do
        b=0
        $how "$work/$name.upc" "$@" <"$input" >"$work/upc.out" 2>"$work/upc.err" || b=$?
        n=$((n + 1))
        sed "s/$name\.ref/$name.upc/g" "$work/ref.err" >"$work/want.err"
        if [ "$a" = "$b" ] && cmp "$work/ref.out" "$work/upc.out" &&
            { [ -n "$how" ] || cmp "$work/want.err" "$work/upc.err"; }; then
            echo "ok ${how:+upcrun }$name $*"
        else
            echo "FAIL ${how:+upcrun }$name $*: status $a and $b"
            bad=$((bad + 1))
        fi
    done
}
# code NAME FLAGS FILES...: both compilers make the same instructions
code() {
    name=$1 flags=$2
    shift 2
    n=$((n + 1))
    for file in "$@"; do
        gcc -w -O2 $flags -c "$file" -o "$work/ref.o"
        "$upcc" -w -O2 $flags -c "$file" -o "$work/upc.o"
        for kind in ref upc; do
            objdump -d --no-show-raw-insn "$work/$kind.o" | tail -n +4 >"$work/$kind.s"
        done
        cmp "$work/ref.s" "$work/upc.s" || { echo "FAIL $name: code of $file"; bad=$((bad + 1)); return; }
    done
    echo "ok $name: equal code of $# files"
}
# pace NAME INPUT ARGS...: processor time of both, in turns
pace() {
    [ "$timing" = yes ] || return 0
    python3 - "$work" "$@" <<'X'
import os, resource, subprocess, sys
work, name, text, *args = sys.argv[1:]
best = {}
for _ in range(9):
    for kind in ("ref", "upc"):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([f"{work}/{name}.{kind}", *args], stdin=open(text), stdout=subprocess.DEVNULL, check=True)
        t = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        best[kind] = min(best.get(kind, t), t)
print(f"time {name}: gcc {best['ref']:.3f} s, upcc {best['upc']:.3f} s, {best['upc'] / best['ref']:.3f}")
X
}

cat "$work"/lua5.4-*/src/*.c "$work"/zlib-*/*.c "$work"/tcc-*/*.c >"$work/text"
for i in 1 2 3 4 5; do cat "$work/text"; done >"$work/text5"

cd "$work"/bzip2-*/
both bzip2 -D_FILE_OFFSET_BITS=64 bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c \
    decompress.c bzlib.c
same bzip2 sample1.ref -1
same bzip2 sample2.bz2 -d
same bzip2 sample1.ref -d
pace bzip2 "$work/text5" -9
code bzip2 -D_FILE_OFFSET_BITS=64 blocksort.c huffman.c crctable.c randtable.c compress.c \
    decompress.c bzlib.c

cd "$work"/zlib-*/
zlib='adler32.c crc32.c deflate.c infback.c inffast.c inflate.c inftrees.c trees.c zutil.c
    compress.c uncompr.c gzclose.c gzlib.c gzread.c gzwrite.c'
flags='-I. -DHAVE_HIDDEN -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1'
both minigzip "$flags" test/minigzip.c $zlib
both zexample "$flags" test/example.c $zlib
same minigzip "$work/text"
same zexample /dev/null "$work/example.gz"
pace minigzip "$work/text5" -9

cd "$work"/lua5.4-*/src
# Debian's build makes this header. Lua has a variable called strict, which UPC reserves.
echo '#define DEB_HOST_MULTIARCH "here"' >lua5.4-deb-multiarch.h
luaflags='-std=gnu99 -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -Dstrict=strict_'
both lua "$luaflags" $(ls l*.c | grep -v luac.c)
code lua "$luaflags" $(ls l*.c | grep -v -e luac.c -e lua.c)
cat >"$work/t.lua" <<'X'
local t = {} for i = 1, 20000 do t[i] = (i * 7919) % 100003 end table.sort(t)
local s = 0 for _, v in ipairs(t) do s = (s * 31 + v) % 1000000007 end
print(s, string.format("%5.2f %s", math.pi, ("x"):rep(5)), pcall(error, "boom"))
local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
print(co(), co(), co(), utf8.char(228, 8364), os.getenv("NOTHING"))
X
cat >"$work/pace.lua" <<'X'
local n = 0
for i = 1, 6 do
    local t = {}
    for k = 1, 60000 do t[k] = (k * 7919 + i) % 100003 end
    table.sort(t)
    for k = 1, #t do n = n + #tostring(t[k]) end
end
print(n)
X
same lua /dev/null "$work/t.lua"
same lua /dev/null -e 'error("no")'
pace lua /dev/null "$work/pace.lua"

cd "$work"/lz4-*/
both lz4 "-Ilib -Iprograms -DXXH_NAMESPACE=LZ4_" lib/lz4.c lib/lz4hc.c lib/lz4frame.c lib/lz4file.c lib/xxhash.c \
    programs/lz4cli.c programs/lz4io.c programs/bench.c programs/datagen.c
same lz4 "$work/text" -9 -c
"$work/lz4.ref" -c <"$work/text" >"$work/text.lz4"
same lz4 "$work/text.lz4" -d -c
same lz4 "$work/text" -d -c

cd "$work"/tcc-*/
[ -f config.h ] || ./configure >"$work/log.tcc" 2>&1
both tcc "-I. -DONE_SOURCE=1 -DTCC_TARGET_ARM64=$(uname -m | grep -c aarch64) -pthread" tcc.c
printf 'int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nint main(void) { return f(20) %% 100; }\n' >"$work/fib.c"
same tcc "$work/fib.c" -nostdinc -c - -o "$work/fib.o"
same tcc "$work/fib.c" -E -
for kind in ref upc; do
    "$work/tcc.$kind" -nostdinc -c "$work/fib.c" -o "$work/fib.$kind.o"
done
n=$((n + 1))
cmp "$work/fib.ref.o" "$work/fib.upc.o" || { echo "FAIL tcc: objects differ"; bad=$((bad + 1)); }

cd "$work"/mawk-*/
[ -f scancode.c ] || { ./configure && make scancode.c; } >"$work/log.mawk" 2>&1
both mawk "-I. -DHAVE_CONFIG_H" array.c bi_funct.c bi_vars.c cast.c code.c da.c error.c execute.c \
    fcall.c field.c files.c fin.c hash.c init.c jmp.c kw.c main.c matherr.c memory.c parse.c \
    print.c re_cmpl.c regexp.c scan.c scancode.c split.c trace.c version.c zmalloc.c
same mawk "$work/text" '{ for (i = 1; i <= NF; i++) c[$i]++ } END { for (w in c) if (c[w] > 400) print c[w], w | "sort" }'
same mawk "$work/text" '/static/ { gsub(/[a-z]+/, "<&>"); k += length($0); printf "%d %s\n", NR, substr($0, 1, 20) } END { print k, sqrt(k) }'

cd "$work"/mujs-*/
both mujs "-I. -Dstrict=strict_" one.c main.c
cat >"$work/t.js" <<'X'
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
var a = [], o = { x: 1.5, s: "text" };
for (var i = 0; i < 2000; i++) a.push((i * 7919) % 1009);
a.sort(function (x, y) { return x - y; });
print(f(18), a.slice(0, 5).join(","), JSON.stringify(o), "a-b-c".replace(/-/g, "+"), Math.sqrt(2).toFixed(6));
try { null.x } catch (e) { print(e); }
X
same mujs /dev/null "$work/t.js"
same mujs /dev/null "$work/none.js"
echo "$((n - bad)) of $n checks of plain programs pass"
[ "$bad" = 0 ]
