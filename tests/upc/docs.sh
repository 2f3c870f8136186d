#!/bin/sh
# The programs and command lines of docs/upc.md: docs.sh BIN
set -eu
PATH=$1:$PATH
page=$(cd "$(dirname "$0")/../../docs" && pwd)/upc.md
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# Each block of code names its file in its first line.
awk '/^```/ { inside = !inside && /^```c/; name = ""; next }
     inside && name == "" { name = $2 }
     inside { print >name }' "$page"
n=0
bad=0
# is WANT COMMAND...: ends well with exactly these lines, in any order
is() {
    n=$((n + 1))
    want=$1
    shift
    rc=0
    "$@" >out 2>err || rc=$?
    if [ "$rc" != 0 ] || [ "$(sort out)" != "$(printf '%b' "$want" | sort)" ] || [ -s err ]; then
        bad=$((bad + 1))
        echo "FAIL $*: status $rc"
        cat out err
    fi
}
# What the page says the commands print.
is '' upcc -O2 -Wall first.upc -o first
says=$(sed -n 's/^ *upcrun -n 4 .\/first *# //p' "$page")
is "$says\n" upcrun -n 4 ./first
is '1 threads: 249750.0\n' ./first
is '' upcc -Wall where.upc -o where
is 'group 0 of 2, thread 0 of 2, rank 0 of 2\ngroup 0 of 2, thread 1 of 2, rank -1 of 2
group 1 of 2, thread 0 of 2, rank 1 of 2\ngroup 1 of 2, thread 1 of 2, rank -1 of 2\n' \
    mpiexec upcrun -n 2 ./where : upcrun -n 2 ./where
is '' upcc -pthreads -Wall first.upc -o first
is "$says\n" upcrun -n 4 -p 2 ./first
# Its pictures are there, and each option that it names is known.
for svg in $(grep -o 'upc/[a-z_]*\.svg' "$page"); do
    is '' test -s "$(dirname "$page")/$svg"
done
{ upcc --help; upcrun --help; mpiexec --help-all; } >help
for option in -T= -S -pthreads -fupc-debug -shared-heap --upc-groups --ranks-per-proc; do
    is '' grep -q -e "$option" "$page"
    is '' grep -q -e "$option" help
done
echo "$((n - bad)) of $n checks of docs/upc.md pass"
[ "$bad" = 0 ]
