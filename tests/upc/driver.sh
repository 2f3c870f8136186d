#!/bin/sh
# The command lines of upcc and upcrun: driver.sh BIN
set -eu
upcc=$1/upcc
upcrun=$1/upcrun
unset UPCC_FLAGS UPCC_FIXED_THREADS UPC_SHARED_HEAP_SIZE UPC_PTHREADS_PER_PROC UPCRUN_FLAGS || true
man=$(cd "$1/../share/man/man1" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
n=0
bad=0

# ok WHAT COMMAND...: the command succeeds
ok() {
    n=$((n + 1))
    what=$1
    shift
    "$@" >out 2>err || { bad=$((bad + 1)); echo "FAIL $what"; cat out err; }
}
# has WHAT FILE PATTERN: what the last command wrote
has() {
    n=$((n + 1))
    grep -q -e "$3" "$2" || { bad=$((bad + 1)); echo "FAIL $1"; cat out err; }
}
# no WHAT STATUS COMMAND...: it ends with that status
no() {
    n=$((n + 1))
    what=$1 want=$2
    shift 2
    rc=0
    "$@" >out 2>err || rc=$?
    [ "$rc" = "$want" ] || { bad=$((bad + 1)); echo "FAIL $what: status $rc"; cat out err; }
}

cat >a.upc <<'X'
#include <stdio.h>
#include <upc.h>
#include "my.h"
shared int x;
int other(void);
int main(void)
{
    if (MYTHREAD == 0) {
        x = VALUE;
        printf("%d %d %d\n", x, other(), THREADS);
    }
    return 0;
}
X
echo 'int other(void) { return 4; }' >b.c
echo 'shared int a[10];' >static.upc
echo 'shared int *p = 1;' >wrong.upc
mkdir -p inc
echo '#define FROM_HEADER 1' >inc/my.h

ok help "$upcc" --help
has help-text out -pthreads
ok version "$upcc" -version
# Every option of --help is in the manual page.
for tool in upcc upcrun; do
    "$1/$tool" --help | grep -oE '^  -[A-Za-z-]+' | tr -d ' ' >options
    sed 's/\\-/-/g; s/\\f.//g; s/\\~/ /g' "$man/$tool.1" >page
    for option in $(cat options); do
        ok "manual-$tool$option" grep -q -e "$option\b" page
    done
done
# What build systems for other UPC compilers pass is done, or taken with a note.
ok flags-plain "$upcc" -T4 -nolink-cache -link-cache -nosave-temps -Iinc -DVALUE=3 a.upc b.c -o flags
ok flags-none test ! -s err
ok flags-run "$upcrun" -localhost -no-backtrace ./flags
has flags-threads out '^3 4 4$'
ok flags-note "$upcc" -Wu,-x -Ww,-y -conf=none -smart-output -T=2 -Iinc -DVALUE=3 a.upc b.c -o flags
has flags-note-wu err 'note: -Wu,-x is for another compiler'
has flags-note-ww err 'note: -Ww,-y'
ok flags-run-note-value "$upcrun" -freeze=0 ./flags
has flags-run-note-value-said err 'note: -freeze has no effect'
ok flags-run-note "$upcrun" -freeze -trace -tracefile t.out ./flags
has flags-run-note-freeze err 'note: -freeze has no effect'
has flags-run-note-out out '^3 4 2$'
HOSTS=nosuch ok localhost "$upcrun" -localhost ./flags
printf '#!/bin/sh\ntouch linked\nexec cc "$@"\n' >linker
chmod +x linker
ok link-with "$upcc" -link-with=./linker -Iinc -DVALUE=3 a.upc b.c -o flags
ok link-with-used test -e linked
mkdir -p all && cd all
ok save-all "$upcc" -save-all-temps -c ../b.c -o b.o
ok save-all-files test -s b.trans.c -a -s b.i
cd ..
ok sizes "$upcc" -show-sizes
has sizes-text out '^long  *8  *8'
ok echo-var "$upcc" -echo-var VERSION
has echo-var-text out '^[0-9]'
ok echo-unknown "$upcc" --echo-var=GASNET_CONDUITS
has echo-unknown-text err 'there is no setting GASNET_CONDUITS'
ok print-mpicc "$upcc" --print-mpicc
ok print-mpicc-is test -x "$(cat out)"
# The mathematical library is there without -lm.
printf '#include <math.h>\n#include <stdio.h>\nint main(int n, char **v) { printf("%%.3f\\n", cos(n - 1)); }\n' >m.c
ok libm "$upcc" -O0 m.c -o m
ok libm-run ./m
has libm-text out '^1.000$'
# <upc.h> brings what programs for other UPC compilers find in it; twice is as good as once.
cat >headers.upc <<'X'
#include <upc.h>
#include <upc.h>
#include <upc_relaxed.h>
upc_atomicdomain_t *domain;
int main(void)
{
    int32_t *p = malloc(sizeof(uint64_t));
    free(p);
    return domain != NULL;
}
X
ok headers "$upcc" -Wall -Werror headers.upc -o headers
ok headers-run "$upcrun" -n 2 ./headers
# Headers beside the source are found as <...> too, and are UPC; those of the system come first.
mkdir -p beside
echo 'shared int beside_x[THREADS]; enum { BESIDE = 7 };' >beside/own.h
echo '#error not this one' >beside/string.h
printf '#include <upc.h>\n#include <own.h>\n#include <string.h>\nint main(void) { beside_x[MYTHREAD] = BESIDE; return strlen("x") != 1; }\n' >beside/b.upc
ok beside "$upcc" beside/b.upc -o b
ok beside-run "$upcrun" -n 2 ./b
cd beside
ok beside-here "$upcc" -c b.upc
cd ..
no beside-named 1 "$upcc" -Ibeside -c beside/b.upc
has beside-named-first err 'not this one'
# Arithmetic on void * is an extension of GNU C, which -pedantic names.
echo 'char b[4]; int main(void) { void *p = b; p = p + 1; return (char *)p - b - 1; }' >void.c
ok void "$upcc" -Werror void.c -o void
ok void-run ./void
ok void-pedantic "$upcc" -pedantic void.c -o void
has void-pedantic-text err 'void.c:1:.*warning: pointer of type .void \*. used in arithmetic'
no void-errors 1 "$upcc" -pedantic-errors void.c -o void
# A loop that is translated several times is complained about once.
cat >once.upc <<'X'
shared [8] int x[80 * THREADS];
int main(void)
{
    for (int i = 1; i < 80; i++) {
        int unused;
        x[i] = x[i - 1];
    }
    return 0;
}
X
ok once "$upcc" -Wall -Wextra -Wshadow -c once.upc
has once-text err 'once.upc:5:13: warning: unused variable'
ok once-count test "$(grep -c 'warning: ' err)" = 1
no no-input 2 "$upcc"
no unknown-option 2 "$upcc" -frobnicate-no -qqq a.upc
no missing-argument 2 "$upcc" -o
no missing-file 1 "$upcc" nosuch.upc
has missing-file-text err 'cannot read nosuch.upc: No such file'
no missing-object 1 "$upcc" -c nosuch.o
no folder 1 "$upcc" -c inc
has folder-text err 'cannot read inc: Is a directory'
ok compile "$upcc" -c -O2 -g -Wall -Iinc -DVALUE=7 a.upc
ok object test -f a.o
ok compile-o "$upcc" -c b.c -o other.o
ok link "$upcc" a.o other.o -o prog -lm
ok run "$upcrun" -n 3 ./prog
has run-output out '^7 4 3$'
ok archive ar rcs libother.a other.o
ok archive-link "$upcc" a.o -L. -lother -o prog3
ok archive-run "$upcrun" -n 2 ./prog3
has archive-output out '^7 4 2$'
ok several "$upcc" -I inc -D VALUE=8 a.upc b.c
ok default-name test -x a.out
no many-o 2 "$upcc" -c -Iinc -DVALUE=1 a.upc b.c -o x.o
ok preprocess "$upcc" -E -Iinc -DVALUE=9 a.upc
has preprocess-text out 'x = 9'
ok translate "$upcc" -S -Iinc -DVALUE=9 a.upc -o -
has translate-text out 'PLI_UPC_PUT(int, x'
ok translate-file "$upcc" -trans -Iinc -DVALUE=9 a.upc
ok trans-file test -f a.trans.c
# Languages: by suffix, or as -x says for the files behind it.
echo 'int shared = 1, strict = 2, THREADS = 0, MYTHREAD; int other(void) { return shared + strict + 1; }' >words.txt
printf '#ifdef __UPC__\n#error UPC\n#endif\nint upc_barrier;\n' >macro.txt
ok language-c "$upcc" -x c words.txt macro.txt -x none -Iinc -DVALUE=7 a.upc -o lang
ok language-c-run "$upcrun" -n 2 ./lang
has language-c-output out '^7 4 2$'
ok language-c-pthreads "$upcc" -pthreads -xc words.txt -xnone -Iinc -DVALUE=7 a.upc -o lang
ok language-c-pthreads-run "$upcrun" -n 2 ./lang
cp a.upc a.text
ok language-upc "$upcc" -x upc -Iinc -DVALUE=6 a.text b.c -o lang
ok language-upc-run "$upcrun" -n 2 ./lang
has language-upc-output out '^6 4 2$'
no language-words 1 "$upcc" -x upc -c words.txt
has language-words-text err "words.txt:1:12: error: expected a name"
no language-other 2 "$upcc" -x c++ b.c
has language-other-text err "-x knows the languages upc, c and none (by suffix), not 'c++'"
no language-missing 2 "$upcc" b.c -x
ok language-stdin sh -c "'$upcc' -x upc - -x none -Iinc -DVALUE=5 b.c -o lang <a.upc"
ok language-stdin-run "$upcrun" -n 1 ./lang
has language-stdin-output out '^5 4 1$'
no language-stdin-none 2 "$upcc" -c -
has language-stdin-none-text err '-x upc or -x c must say what comes from standard input'
ok unused "$upcc" -c words.txt b.c
has unused-text err 'warning: words.txt is not used'
ok assembly sh -c "cc -S b.c -o b.s && '$upcc' -c b.s -o bs.o && '$upcc' -Iinc -DVALUE=4 a.upc bs.o -o lang && '$upcc' -Iinc -DVALUE=4 a.upc b.s -o lang2"
ok assembly-run "$upcrun" -n 2 ./lang2
has assembly-output out '^4 4 2$'

# What else is said to cc.
ok syntax-only "$upcc" -fsyntax-only -Iinc -DVALUE=4 a.upc -o never.o
no syntax-only-file 1 test -e never.o
no syntax-only-wrong 1 "$upcc" -fsyntax-only wrong.upc
ok depend "$upcc" -MM -Iinc a.upc
has depend-text out '^a.o: a.upc inc/my.h'
ok macros "$upcc" -E -dM b.c
has macros-text out '^#define __UPC__ 1$'
ok preprocess-plain "$upcc" -E -P -Iinc -DVALUE=9 a.upc
no preprocess-lines 1 grep -q '^#' out
for old in -ansi -std=c90 -std=gnu89; do
    no "standard$old" 2 "$upcc" $old -c b.c
    has "standard$old-text" err 'UPC needs C99 or later'
done
for std in c99 gnu99 c11 gnu17 c2x; do
    ok "standard-$std" "$upcc" -std=$std -Wall -Wextra -pedantic -Werror -Iinc -DVALUE=4 a.upc b.c -o lang
done
ok linker-words "$upcc" -no-pie -z now -Xlinker --as-needed -s -Iinc -DVALUE=4 a.upc b.c -o lang
ok linker-words-run "$upcrun" -n 2 ./lang
ok shared-library "$upcc" -shared -fPIC b.c -o libdyn.so
ok shared-library-link "$upcc" -Iinc -DVALUE=4 a.upc -L. -ldyn -Wl,-rpath,"$dir" -o lang
ok shared-library-run "$upcrun" -n 2 ./lang
has shared-library-output out '^4 4 2$'
echo 'extern shared int in_library[THREADS];' >dyn.h
cat >dyn.upc <<'X'
#include <upc.h>
shared int in_library[THREADS] = { 4 };
extern shared int *to_other;
int other(void) { return in_library[0] + *to_other; }
X
echo 'shared int private_one = 3; shared int *to_other = &private_one;' >dyn2.upc
for mode in '' -pthreads; do
    ok shared-upc "$upcc" $mode -shared -fPIC dyn.upc dyn2.upc -o libdynu.so
    ok shared-upc-link "$upcc" $mode -Iinc -DVALUE=in_library[0] -include dyn.h a.upc -L. -ldynu -Wl,-rpath,"$dir" -o lang
    ok shared-upc-run "$upcrun" -n 2 ./lang
    has shared-upc-output out '^4 7 2$'
done
printf -- '-Iinc "-DVALUE=\\"a b\\"[1] - 25"\n-c -o resp.o a.upc' >response
ok response "$upcc" @response
ok response-link "$upcc" resp.o other.o -o lang
ok response-run "$upcrun" -n 2 ./lang
has response-output out '^7 4 2$'
no response-missing 1 "$upcc" @nosuch
ok ask "$upcc" -dumpmachine
printf '#include <upc_types.h>\n#if UPC_ADD != 1 || UPC_MAX <= UPC_MIN || UPC_IN_ALLSYNC != 1\n#error\n#endif\nupc_op_t op = UPC_XOR; upc_type_t t = UPC_PTS; upc_flag_t f;\n' >types.c
ok types-are-c cc -std=c99 -pedantic-errors -Wall -Werror -I "$("$upcc" -print-include-dir)" -c types.c
ok include-dir "$upcc" -print-include-dir
ok include-dir-file test -f "$(cat out)/upc.h"

# main as gcc takes it: any result, with its warning when it is asked for.
for result in 'typedef int I; I' long unsigned char _Bool 'long long' 'typedef long L; L' 'enum e { A, B, C, D }' 'int *'; do
    for mode in '' -pthreads; do
        printf '%s main(void) { return (void *)0 == 0 ? 3 : 0; }\n' "$result" | sed 's/int \* main(void) { return (void \*)0 == 0 ? 3 : 0/int *main(void) { return (int *)3/' >main.c
        ok "main-$result" "$upcc" $mode main.c -o main
        want=3
        [ "$result" != _Bool ] || want=1
        no "main-$result-run" $want ./main
    done
    cc -Wall -c main.c 2>err.cc || true
    ok "main-$result-warned" "$upcc" -Wall -c main.c
    cp err err.upcc
    ok "main-$result-warning" sh -c 'for f in err.cc err.upcc; do grep -o "main.c:[0-9:]* warning: .*" $f >$f.w; done; diff err.cc.w err.upcc.w'
done
ok compile-trans "$upcc" a.trans.c b.c -o prog2
ok run-trans ./prog2
no dynamic-array 1 "$upcc" -c static.upc
ok static-array "$upcc" -T=4 -c static.upc
ok static-array-word "$upcc" -T 4 -c static.upc
ok static-array-gnu "$upcc" -fupc-threads-4 -c static.upc
no define-threads 1 "$upcc" -DTHREADS=4 -c static.upc
has define-threads-text err "command-line.*error: 'THREADS' may be neither defined nor undefined"
no define-mythread 1 "$upcc" -T=4 -DMYTHREAD=0 -c static.upc
no bad-threads 2 "$upcc" -T=0 -c static.upc
no bad-threads-text 2 "$upcc" -T=many -c static.upc
UPCC_FIXED_THREADS=4 ok fixed-threads "$upcc" -c static.upc
UPCC_FLAGS=-T=4 ok flags-variable "$upcc" -c static.upc
no diagnostics 1 "$upcc" -c wrong.upc
has diagnostics-place err '^wrong.upc:1:17: error: '
has diagnostics-caret err '                ^'
no c-diagnostics 1 "$upcc" -c -Iinc a.upc
has c-diagnostics-place err '^a.upc:9:.*error'
# What the C compiler finds behind rewritten text has the places that it has in plain C.
printf 'shared int x[THREADS], one;\nint f(char *s, int never)\n{\n\tint u; one = 1 / 0;\tx[one] = one + x[2] / 0;
    one = s;  int w; if (x[1] = 3) return one %% "a"; return nope(x[0], s) + (one < sizeof s);
}\n#define TWO(a) ((a) + (a))\nint g(void) { return TWO(one) + one / 0; } static shared int *q = &one; static int noone;
int \303\244(int a) { one = a; int b; }\n' >places.upc
cc -Dshared= -DTHREADS=3 -Wall -Wextra -x c -c places.upc -o /dev/null 2>cc.err || true
no places 1 "$upcc" -Wall -Wextra -c places.upc
cp err upcc.err
for f in cc upcc; do
    grep -E '^places.upc:[0-9]+:[0-9]+: (error|warning)' $f.err | grep -v -e "'q'" -e '‘q’' -e assignment -e initialization | sort >$f.places
done
ok places-same diff cc.places upcc.places
ok places-many test "$(wc -l <cc.places)" -ge 12
no places-ours 1 grep -e 'In file included' -e /proc/self -e PLI_UPC upcc.err
ok verbose "$upcc" -v -c b.c
has verbose-text err 'upcc-translate'
ok dependencies "$upcc" -MD -MF dep -Iinc -DVALUE=1 -c a.upc
has dependencies-text dep 'a.o:.*a.upc'
ok dependencies-unnamed "$upcc" -MMD -MP -Iinc -DVALUE=1 -c a.upc
has dependencies-unnamed-text a.d '^a.o: a.upc inc/my.h'
ok dependencies-output "$upcc" -MD -Iinc -DVALUE=1 -c a.upc -o inc/out.o
has dependencies-output-text inc/out.d '^inc/out.o: a.upc'
ok dependencies-link "$upcc" -MMD -MT goal -Iinc -DVALUE=1 a.upc other.o -o linked
has dependencies-link-text a.d '^goal: a.upc'
ok cc-is-upcc env CC="$upcc" "$upcc" -c b.c -o b.o
ok cc-has-upcc env CC="env $upcc -O2" PATH="$1:$PATH" "$upcc" -c b.c -o b.o
ok cc-words env CC="env cc" "$upcc" -c b.c -o b.o
no cc-unknown 1 env CC=/nowhere/cc-upcc "$upcc" -c b.c -o b.o
printf 'made: a.upc b.c\n\t$(CC) -Iinc -DVALUE=3 -o made a.upc b.c\n' >make.upc
ok make-cc make -f make.upc CC="$upcc"
ok make-cc-run "$upcrun" -n 2 ./made
has make-cc-output out '^3 4 2$'
if command -v clang >/dev/null; then
    ok clang env CC=clang "$upcc" -Iinc -DVALUE=5 a.upc b.c -o clanged
    ok clang-run ./clanged
    printf 'shared int x; int f(void)\n{\n\tx = 1;\treturn x %% 1.5;\n}\n' >clang.upc
    no clang-place 1 env CC=clang "$upcc" -c clang.upc
    has clang-place-text err '^clang.upc:3:26: error: invalid operands'
    has clang-place-mark err '^      |                          ^$'
    no clang-lines 1 test "$(grep -c 'return x' err)" -gt 1
fi
ok pthreads "$upcc" -pthreads -Iinc -DVALUE=5 a.upc b.c -o threaded
ok pthreads-run "$upcrun" -n 3 ./threaded
has pthreads-output out '^5 4 3$'
ok pthreads-each "$upcrun" -n 3 -pthreads=2 ./threaded
has pthreads-each-output out '^5 4 3$'
no pthreads-wrong 2 "$upcc" -pthreads=many -c b.c
has pthreads-wrong-text err "-pthreads needs a number from 1 to 1024, not 'many'"
no pthreads-not 2 "$upcrun" -n 3 -pthreads 2 ./prog
ok extern-main sh -c 'echo "int pli_upc_run(int, char **); int main(int c, char **v) { return pli_upc_run(c, v); }" >m.c; cc -c m.c'
ok extern-main-link "$upcc" -extern-main -Iinc -DVALUE=6 a.upc b.c m.o -o extern
ok extern-main-run "$upcrun" -n 2 ./extern
has extern-main-output out '^6 4 2$'

# Programs of other languages: main is not UPC's.
cat >lib.upc <<'EOT'
#include <upc.h>
#include <bupc_extensions.h>
shared long total;
long lib_add(long *p, int n) { for (int i = 0; i < n; i++) bupc_atomicL_fetchadd_relaxed(&total, p[i]); upc_barrier; return total; }
EOT
cat >lib_main.c <<'EOT'
#include <bupc_extern.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
long lib_add(long *p, int n);
static int work(int argc, char **argv)
{
    int me = bupc_extern_mythread(), n = bupc_extern_threads();
    long *p = bupc_extern_all_alloc(n, 2 * sizeof *p), *q = bupc_extern_alloc(sizeof *q);
    p[0] = me + 1;
    p[1] = *q = 100;
    bupc_extern_barrier(7);
    long sum = lib_add(p, 2), want = n * (n + 1) / 2 + 100 * n;
    bupc_extern_notify(1);
    bupc_extern_wait(1);
    if (me == 0) {
        printf("%d threads, %s, %s\n", n, argv[argc - 1], sum == want && bupc_extern_getenv("HOME") ? "right" : "WRONG");
        bupc_extern_free(p, 0);
    }
    bupc_extern_free(q, -1);
    bupc_extern_all_free(NULL, 0);
    return sum != want;
}
int main(int argc, char **argv)
{
    if (strcmp(argv[argc - 1], "early") == 0) bupc_extern_barrier(0);
    if (strcmp(argv[argc - 1], "reentrant") == 0) bupc_init_reentrant(&argc, &argv, work);
    bupc_init(&argc, &argv);
    if (strcmp(argv[argc - 1], "twice") == 0) bupc_init(&argc, &argv);
    bupc_exit(work(argc, argv));
}
EOT
ok lib-main-compile cc -I"$("$upcc" -print-include-dir)" -c lib_main.c
ok lib-link "$upcc" -extern-main lib.upc lib_main.o -o lib_proc
ok lib-init "$upcrun" -n 3 ./lib_proc plain
has lib-init-output out '^3 threads, plain, right$'
ok lib-reentrant "$upcrun" -n 2 ./lib_proc reentrant
has lib-reentrant-output out '^2 threads, reentrant, right$'
no lib-early 1 "$upcrun" -n 1 ./lib_proc early
has lib-early-text err 'bupc_extern_barrier: UPC is not initialised: call bupc_init first'
no lib-twice 1 "$upcrun" -n 1 ./lib_proc twice
has lib-twice-text err 'bupc_init: UPC is initialised already'
ok lib-link-pt "$upcc" -pthreads -extern-main lib.upc lib_main.o -o lib_pt
ok lib-reentrant-pt "$upcrun" -n 3 ./lib_pt reentrant
has lib-reentrant-pt-output out '^3 threads, reentrant, right$'
no lib-init-pt 1 "$upcrun" -n 3 ./lib_pt plain
has lib-init-pt-text err 'this process has 3 UPC threads; bupc_init_reentrant starts each'

# A GASP tool in an archive is told of what the program does; without one -inst changes nothing.
cat >tool.c <<'EOT'
#include <gasp.h>
#include <gasp_upc.h>
#include <stdio.h>
static struct _gasp_context_S { int n_user; } one;
gasp_context_t gasp_init(gasp_model_t m, int *argc, char ***argv) { return m == GASP_MODEL_UPC && argc && argv ? &one : 0; }
void gasp_event_notifyVA(gasp_context_t c, unsigned t, gasp_evttype_t k, const char *file, int line, int col, va_list v)
{
    if (t == GASP_UPC_USEREVT_START) printf("user %d %s:%d value %d\n", k, file, line, va_arg(v, int));
    if (t == GASP_UPC_BARRIER) { int named = va_arg(v, int); printf("barrier %d %d %d\n", k, named, va_arg(v, int)); }
    if (t == GASP_UPC_ALLOC) printf("alloc %d %zu\n", k, va_arg(v, size_t));
    if (t == GASP_UPC_MEMSET) { gasp_upc_PTS_t *p = va_arg(v, gasp_upc_PTS_t *); int byte = va_arg(v, int); printf("memset %d %d %d %zu\n", k, *p != 0, byte, va_arg(v, size_t)); }
    if (t == GASP_UPC_COLLECTIVE_EXIT) printf("exit %d %d\n", k, va_arg(v, int));
}
void gasp_event_notify(gasp_context_t c, unsigned t, gasp_evttype_t k, const char *file, int line, int col, ...)
{ va_list v; va_start(v, col); gasp_event_notifyVA(c, t, k, file, line, col, v); va_end(v); }
int gasp_control(gasp_context_t c, int on) { return 40 + on; }
unsigned gasp_create_event(gasp_context_t c, const char *name, const char *desc) { printf("create %s %s\n", name, desc); return GASP_UPC_USEREVT_START + c->n_user++; }
EOT
cat >events.upc <<'EOT'
#include <upc.h>
#include <pupc.h>
#include <stdio.h>
int main(void)
{
    unsigned e = pupc_create_event("sweep", "i %d");
    pupc_event_start(e, 11);
    upc_barrier 3;
    pupc_event_end(e, 12);
    shared char *p = upc_alloc(9);
    upc_memset(p, 5, 9);
    printf("control %d\n", pupc_control(1));
    return 0;
}
EOT
ok tool-compile cc -w -I"$("$upcc" -print-include-dir)" -c tool.c
ok tool-archive ar rcs libtool.a tool.o
ok tool-link "$upcc" -inst events.upc -L. -ltool -o events
ok tool-run "$upcrun" -n 1 ./events
has tool-user out '^user 0 events.upc:7 value 11$'
has tool-user-end out '^user 1 events.upc:9 value 12$'
has tool-barrier out '^barrier 1 1 3$'
has tool-alloc out '^alloc 0 9$'
has tool-memset out '^memset 1 1 5 9$'
has tool-control out '^control 41$'
has tool-exit out '^exit 1 0$'
ok tool-none-link "$upcc" -inst events.upc -o events_alone
ok tool-none "$upcrun" -n 1 ./events_alone
has tool-none-output out '^control 1$'
ok tool-timeline "$(dirname "$upcrun")"/mpiexec --timeline events.json -n 2 ./events_alone
has tool-timeline-phase events.json '"sweep"'

# A debugger shows the lines that the user wrote. (Where it may not trace, it cannot be tried.)
cat >step.upc <<'X'
#include <upc.h>
shared int x[THREADS];
int half(int n)
{
    x[MYTHREAD] = n / 2;
    return x[MYTHREAD];
}
int main(void)
{
    int n = half(10);
    return n - 5;
}
X
if command -v gdb >/dev/null && gdb -batch -ex starti true 2>/dev/null | grep -q stopped; then
    ok step-compile "$upcc" -g step.upc -o step
    ok step gdb -batch -ex 'break half' -ex run -ex next -ex bt -ex finish -ex next -ex 'print n' ./step
    has step-break out 'half (n=10) at step.upc:5'
    has step-next out '^6.*return x\[MYTHREAD\];'
    has step-caller out '#1 .*main () at step.upc:10'
    has step-value out '^Value returned is .* = 5'
    has step-variable out '^.2 = 5'
else
    echo "no debugger: stepping is not tried"
fi

# upcrun
ok run-help "$upcrun" --help
has run-help-text out '-shared-heap'
ok run-version "$upcrun" -version
no run-nothing 2 "$upcrun"
no run-count 2 "$upcrun" -n 0 ./prog
no run-many 2 "$upcrun" -np many ./prog
has run-many-text err "not 'many'"
no run-option 2 "$upcrun" -frob ./prog
no run-how-many 2 "$upcrun" ./prog
has run-how-many-text err 'how many UPC threads'
no run-missing 2 "$upcrun" -n 2 ./nosuch
ok run-show "$upcrun" -n 2 -t ./prog -n 7
has run-show-text out 'mpiexec -n 2 -- ./prog -n 7$'
ok static-build "$upcc" -T=3 -Iinc -DVALUE=2 a.upc b.c -o fixed
ok static-run "$upcrun" ./fixed
has static-output out '^2 4 3$'
no static-other 2 "$upcrun" -n 2 ./fixed
has static-other-text err 'compiled for 3 threads'
no static-alone 1 ./fixed
has static-alone-text err 'compiled for 3 threads (upcc -T=3) and started with 1; start it with upcrun'
ok run-info "$upcrun" -i ./fixed
has run-info-text out 'static 3 threads'
UPCRUN_FLAGS='-n 2' ok run-flags "$upcrun" ./prog
has run-flags-output out '^7 4 2$'
cat >heap.upc <<'X'
#include <stdio.h>
#include <upc.h>
int main(void)
{
    shared void *p = upc_alloc(3 << 20), *q = upc_alloc(3 << 20);
    printf("%d%d\n", p != NULL, q != NULL);
    return 0;
}
X
ok heap-build "$upcc" heap.upc -o heap
ok heap-run "$upcrun" -n 1 ./heap
has heap-output out '^11$'
ok heap-small "$upcrun" -n 1 -shared-heap=4MB ./heap
has heap-small-output out '^10$'
has heap-small-text err 'no room for 3145728 bytes.*-shared-heap'
ok heap-bare "$upcrun" -n 1 -shared-heap 7 ./heap
has heap-bare-output out '^11$'
UPC_SHARED_HEAP_SIZE=4M ok heap-variable "$upcrun" -n 1 ./heap
has heap-variable-output out '^10$'
ok heap-quiet "$upcrun" -q -n 1 -shared-heap=4MB ./heap
no heap-bad 2 "$upcrun" -n 1 -shared-heap=lots ./heap
cat >wild.upc <<'X'
#include <upc.h>
shared int a[4 * THREADS];
int main(void)
{
    shared [] int *p = upc_alloc(64);
    p[0] = a[1];

    return p[100000000] == 1;
}
X
ok wild-build "$upcc" -fupc-debug wild.upc -o wild
no wild-run 1 "$upcrun" -n 2 ./wild
has wild-text err 'wild.upc:8: an access through a wild pointer-to-shared'
printf '#include <upc.h>\nint main(void) { shared int *p = 0; return *p; }\n' >null.upc
ok null-build "$upcc" null.upc -o null
no null-run 139 "$upcrun" -n 1 ./null
ok null-debug "$upcc" -fupc-debug null.upc -o null
no null-debug-run 1 "$upcrun" -n 1 ./null
has null-debug-text err 'null.upc:2: an access through a null pointer-to-shared'
ok counts-a "$upcc" -T=2 -c -Iinc -DVALUE=1 a.upc -o a2.o
ok counts-b "$upcc" -T=3 -c b.c -o b3.o
ok counts-link "$upcc" a2.o b3.o -o counts
no counts-run 1 ./counts
has counts-text err 'linked from files compiled for . threads and for .'
ok counts-static-and-dynamic "$upcc" a2.o other.o -o counts
ok counts-static-and-dynamic-run "$upcrun" ./counts
has counts-static-and-dynamic-output out '^1 4 2$'
ok modes-a "$upcc" -pthreads -c -Iinc -DVALUE=1 a.upc -o ap.o
ok modes-link "$upcc" -pthreads ap.o other.o -o modes
no modes-run 1 ./modes
has modes-text err 'compiled with -pthreads and without'

# The environment, and arguments that look like options, reach the program.
cat >env.upc <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>
int main(int argc, char **argv)
{
    printf("%d:%s:%s:%s\n", MYTHREAD, getenv("FRUIT"), argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
    return 0;
}
X
for mode in '' -pthreads; do
    ok env-build "$upcc" $mode env.upc -o env
    FRUIT=pear ok env-run "$upcrun" -n 2 ./env -n 7
    has env-output out '^0:pear:-n:7$'
    has env-output-1 out '^1:pear:-n:7$'
    FRUIT=pear ok env-set "$upcrun" -np=2 -env FRUIT=plum ./env
    has env-set-output out '^1:plum::$'
    echo localhost >hosts
    HOSTS=hosts ok nodes "$upcrun" -n 2 -N 1 ./env
    has nodes-output out '^1:(null)::$'
    no nodes-unnamed 2 "$upcrun" -n 2 -N 2 ./env
    has nodes-unnamed-text err 'name the hosts in a file'
    HOSTS=hosts no nodes-few 2 "$upcrun" -n 2 -nodes 2 ./env
    has nodes-few-text err 'HOSTS=hosts names only 1'
    no nodes-count 2 "$upcrun" -n 2 -N none ./env
done
ok quiet "$upcrun" -q -n 1 -shared-heap=4MB ./heap
no quiet-text 1 grep -q 'no room' err
ok loud "$upcrun" -v -n 1 ./env
no timeout 124 "$upcrun" -n 2 -timeout 1 sleep 20
ok save-temps "$upcc" -save-temps -c b.c
ok saved test -f b.i
ok debug "$upcc" -g -c -Iinc -DVALUE=7 a.upc
ok debug-lines sh -c 'readelf --debug-dump=decodedline a.o | grep -q "^a\.upc  *9 "'
ok debug-names sh -c 'readelf --debug-dump=info a.o >names && grep -q "DW_AT_name.*: a\.upc$" names && ! grep /proc/self names'

# Killed in the middle, it leaves no file anywhere: a compiler that never ends tells where they are.
cat >endless <<'X'
#!/bin/sh
for word in "$@"; do
    [ "$last" != -o ] || echo "$word" >>where
    last=$word
done
case " $* " in *' -E '*) exec cc "$@" ;; esac
echo $$ >pid
exec sleep 60
X
chmod +x endless
# One that nobody collects does not run any more.
runs() { [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
for stage in -c ''; do
    rm -f pid where
    CC=./endless "$upcc" $stage b.c -o killed &
    driver=$!
    for i in $(seq 600); do [ -s pid ] || sleep 0.1; done
    ok "kill$stage-begun" test -s pid
    kill -KILL "$driver"
    wait "$driver" 2>/dev/null || true
    for i in $(seq 300); do runs "$(cat pid)" || break; sleep 0.1; done
    no "kill$stage-ends" 1 runs "$(cat pid)"
    ok "kill$stage-places" test "$(wc -l <where)" -ge 2
    left=$(grep -v '^/proc/self/fd/' where | while read -r f; do
        [ "$f" = killed ] || f=$(dirname "$f")
        [ ! -e "$f" ] || echo "$f"
    done)
    ok "kill$stage-leaves $left" test -z "$left"
done
# Far data is read ahead in loops that call nothing but functions of <math.h>.
cat >math.upc <<'X'
#include <math.h>
#include <upc.h>
shared [8] double a[8 * THREADS];
double own(double);
#ifdef OWN
#define sqrt own
#endif
double sum(void) { double s = 0; for (int i = 0; i < 8 * THREADS; i++) s += sqrt(a[i]) + isnan(a[i]); return s; }
X
ok ahead-math "$upcc" -S -o - math.upc
has ahead-math-begins out 'for (int __pli_once[0-9]* = pli_upc_ahead(0)'
ok ahead-own "$upcc" -DOWN -S -o - math.upc
no ahead-own-does-not 1 grep -q 'pli_upc_ahead(' out

echo "$((n - bad)) of $n checks of the commands pass"
[ "$bad" = 0 ]
