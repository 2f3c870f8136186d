#!/bin/sh
# MPI and UPC in one job: the launch lines of the hybrid model, the programs of its paper, and what
# every thread knows about its place. hybrid.sh BIN
set -eu
bin=$1
PATH=$bin:$PATH
here=$(cd "$(dirname "$0")" && pwd)/hybrid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
n=0
bad=0
echo localhost >hosts.1
echo localhost >hosts.2

# is WANT COMMAND...: ends well with exactly these lines, in any order
is() {
    n=$((n + 1))
    want=$1
    shift
    rc=0
    "$@" >out 2>err || rc=$?
    got=$(sort out)
    [ "$rc" = 0 ] && [ "$got" = "$(printf '%b' "$want" | sort)" ] || {
        bad=$((bad + 1))
        echo "FAIL $*: status $rc"
        cat out err
    }
}
# no PATTERN COMMAND...: fails and says something like this
no() {
    n=$((n + 1))
    want=$1
    shift
    rc=0
    "$@" >out 2>err || rc=$?
    [ "$rc" != 0 ] && grep -q -e "$want" err || {
        bad=$((bad + 1))
        echo "FAIL $*: status $rc"
        cat out err
    }
}

for mode in "" -pthreads; do
    for p in figure2 figure3 figure4; do
        upcc -w $mode -include stdio.h "$here/$p.upc" -o $p
    done
    for p in triple mixed listing2 files; do
        upcc -O1 $mode "$here/$p.upc" -o $p
    done
    dot='Dot = 0.000000\n'
    # The lines of the paper.
    is "$dot" mpiexec --ranks-per-proc=3 upcrun -n 3 ./figure2
    is "$dot" mpiexec -env HOSTS=hosts.1 upcrun -n 2 ./figure3 \
        : -env HOSTS=hosts.2 upcrun -n 2 ./figure3
    is "$dot" mpiexec --ranks-per-proc=2 -env HOSTS=hosts.1 upcrun -n 2 ./figure4 \
        : -env HOSTS=hosts.2 upcrun -n 2 ./figure4
    is "$dot" mpiexec --ranks-per-proc=2 -env HOSTS=hosts.1 upcrun -n 2 ./figure4 \
        : --ranks-per-proc=2 -env HOSTS=hosts.2 upcrun -n 2 ./figure4
    # The same, recorded.
    is "$dot" mpiexec --timeline run.json upcrun -n 2 ./figure3 : upcrun -n 2 ./figure3
    # That of the paper on endpoints, which never calls MPI_Init.
    is '19 rounds of 2 threads\n' upcrun -n 2 ./listing2
    is '20 rounds of 3 threads\n' mpiexec --ranks-per-proc=3 upcrun -n 3 ./listing2
    # And what a thread knows: group, UPC thread, MPI rank.
    is '0/1 0/3 0/3 good\n0/1 1/3 1/3 good\n0/1 2/3 2/3 good\n' \
        mpiexec --ranks-per-proc=3 upcrun -n 3 ./triple
    is '0/2 0/2 0/2 good\n0/2 1/2 -1/2 good\n1/2 0/2 1/2 good\n1/2 1/2 -1/2 good\n' \
        mpiexec upcrun -n 2 ./triple : upcrun -n 2 ./triple
    is '0/2 0/2 0/4 good\n0/2 1/2 1/4 good\n1/2 0/2 2/4 good\n1/2 1/2 3/4 good\n' \
        mpiexec --ranks-per-proc=2 upcrun -n 2 ./triple : upcrun -n 2 ./triple
    is '0/2 0/2 0/4 good\n0/2 1/2 1/4 good\n1/2 0/2 2/4 good\n1/2 1/2 3/4 good\n' \
        mpiexec -n 4 --ranks-per-proc=2 upcrun -n 2 ./triple
    is '0/1 0/2 0/2 good\n0/1 1/2 1/2 good\n' upcrun -n 2 ./triple
    is 'good\n' upcrun -n 3 ./mixed
    is 'good\n' upcrun -n 3 ./files data
done
is '0/1 0/4 0/4 good\n0/1 1/4 1/4 good\n0/1 2/4 2/4 good\n0/1 3/4 3/4 good\n' \
    upcrun -n 4 -p 2 ./triple

upcc -O1 "$here/triple.upc" -o triple
upcc -O1 "$here/mixed.upc" -o mixed
upcc -w -include stdio.h "$here/figure2.upc" -o figure2
PLIANT_UPC_FAR=1 is 'good\n' upcrun -n 3 ./mixed
is '0/2 0/2 0/4 good\n0/2 1/2 1/4 good\n1/2 0/2 2/4 good\n1/2 1/2 3/4 good\n' \
    mpiexec --upc-groups=2 -n 4 ./triple
is '0/2 0/1 0/2 good\n1/2 0/1 1/2 good\n' mpiexec -n 1 ./triple : -n 1 ./triple
echo elsewhere.example >hosts.3
no 'names host elsewhere.example' mpiexec --hosts localhost -env HOSTS=hosts.3 upcrun -n 2 ./triple
no 'elsewhere.example' mpiexec --launcher false -env HOSTS=hosts.3 upcrun -n 2 ./triple
printf '#!/bin/sh\nexec upcrun -n 2 ./triple\n' >wrap
chmod +x wrap
no 'names host elsewhere.example' mpiexec -n 2 --ranks-per-proc=2 -env HOSTS=hosts.3 ./wrap
no 'comes too late' mpiexec upcrun -n 2 -env HOSTS=hosts.1 ./triple
no 'names only 1' mpiexec -env HOSTS=hosts.1 upcrun -N 2 -n 2 ./triple
echo 'localhost slots=1 max_slots=1' >hosts.5
no 'fewer than 2 UPC threads' mpiexec -env HOSTS=hosts.5 upcrun -n 2 ./triple
no 'cannot read the list of hosts' mpiexec -env HOSTS=hosts.4 upcrun -n 2 ./triple
cat >stuck.upc <<'EOT'
#include <upc.h>
int main(void)
{
    upc_lock_t *a = upc_all_lock_alloc();
    upc_lock_t *b = upc_all_lock_alloc();
    int is_first = MYTHREAD == 0, is_last = MYTHREAD == THREADS - 1;
    if (is_first || is_last) upc_lock(is_last ? a : b);
    upc_barrier;
    if (is_first || is_last) upc_lock(is_last ? b : a);
    upc_barrier;
    return 0;
}
EOT
upcc -g stuck.upc -o stuck
upcc -g -pthreads stuck.upc -o stuck_pt
no 'UPC thread 1 of group 0 is in upc_lock on the UPC threads, called at .*stuck.upc:9' \
    mpiexec upcrun -n 2 ./stuck
# Over locks on another host too: a thread that waits for one sleeps.
no 'rank 1 is in upc_lock on the UPC threads, called at .*stuck.upc:9' \
    env PLIANT_FAKE_HOSTS=2 upcrun -n 2 ./stuck
no 'rank 1 (endpoint rank 3, thread [0-9]*) is in upc_lock on the UPC threads, called at .*stuck.upc:9' \
    env PLIANT_FAKE_HOSTS=2 upcrun -n 4 -p 2 ./stuck_pt
grep -q 'endpoint rank 1, .* is in upc_barrier .*stuck.upc:10' err || {
    bad=$((bad + 1))
    cat err
}
# Processes with different numbers of threads.
upcc -pthreads "$here/triple.upc" -o triple_pt
is '0/1 0/3 0/3 good\n0/1 1/3 1/3 good\n0/1 2/3 2/3 good\n' upcrun -n 3 -p 2 ./triple_pt
no 'divide' mpiexec --upc-groups=3 -n 4 ./triple
no 'no MPI rank' mpiexec upcrun -n 2 ./figure2
no 'needs -n' mpiexec upcrun ./figure2
no 'more ranks than' mpiexec --ranks-per-proc=3 upcrun -n 2 ./figure2
echo "$((n - bad)) of $n hybrid checks pass"
[ "$bad" = 0 ]
