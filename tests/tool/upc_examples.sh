# The UPC examples build with their own Makefile and are right in every shape of a job.
. "$(dirname "$0")/t.bash"

[ -x "$BUILD_DIR/bin/upcc" ] || { echo "this build has no UPC compiler"; exit 77; }
cp -r "$SOURCE_DIR/examples/upc" .
# The commands at the head of each example work as they stand there, one to a line.
(
    cp -r upc heads
    cd heads
    for source in *.upc; do
        sed -nE 's#^//   ((up|mpi).*)#\1#p' "$source" | sed 's/   .*//' >commands
        grep -q '^upcc .*-o' commands && grep -qE '^upcrun|&& upcrun' commands ||
            fail "$source does not say how it is built and started"
        while read -r command; do
            eval "$command" </dev/null >said 2>&1 || fail "$source: $command -- $(cat said)"
        done <commands
    done
)

make -s -C upc all
make -s -C upc/library c
cd upc
must_say "^C and UPC, 3 ranks: 3000 added, as it should be$" mpiexec -n 3 library/c_and_upc
if mpifort --version >/dev/null 2>&1; then
    make -s -C library fortran
    must_say "^Fortran and UPC, 2 ranks: 2000 added, as it should be$" mpiexec -n 2 library/fortran_and_upc
fi
must_say '^4 threads: 0 1 4 9$' upcrun -n 4 ./hello
must_say '^1 groups of 4 threads, 4 ranks: .*as it should be$' upcrun -n 4 ./dot
must_say '^2 groups of 2 threads, 4 ranks: .*as it should be$' mpiexec --upc-groups=2 -n 4 ./dot
must_say '^2 groups of 2 threads, 2 ranks: .*as it should be$' \
    mpiexec upcrun -n 2 ./dot : upcrun -n 2 ./dot
PLIANT_FAKE_HOSTS=2 must_say '^1 groups of 4 threads, 4 ranks: .*as it should be$' upcrun -n 4 ./dot

# Each checks its own result.
small() {
    must_say "^$1 threads, .*: 0 elements wrong\$" upcrun -n "$1" ./matmul
    must_say "^$1 threads, 9 queens: 352 ways, as it should be\$" upcrun -n "$1" ./queens 9
    must_say "^$1 threads, .*: as it should be\$" upcrun -n "$1" ./heat
    must_say "^$1 threads, .*: as it should be\$" upcrun -n "$1" ./list
}
for n in 1 2 4; do
    small $n
done
(export PLIANT_FAKE_HOSTS=2 && small 4)

# The share of local reads is one over the threads of a group.
must_say '^1 groups of 1 threads: .* 100.00 % local, sums right$' upcrun -n 1 ./random
must_say '^1 groups of 2 threads: .* (49|50)\.[0-9]+ % local, sums right$' upcrun -n 2 ./random
must_say '^1 groups of 4 threads: .* (24|25)\.[0-9]+ % local, sums right$' upcrun -n 4 ./random
must_say '^2 groups of 2 threads: .* (49|50)\.[0-9]+ % local, sums right$' \
    mpiexec --upc-groups=2 -n 4 ./random
must_say '^4 groups of 1 threads: .* 100.00 % local, sums right$' mpiexec --upc-groups=4 -n 4 ./random
PLIANT_FAKE_HOSTS=2 must_say '^1 groups of 4 threads: .* sums right$' upcrun -n 4 ./random 1000 500 10

# Against the direct sum: with theta 0 to the last digits. Every shape moves the bodies alike.
right='300 bodies, 4 steps: .* as it should be$'
for n in 1 2 4; do
    must_say "^1 groups of $n threads, $right" upcrun -n $n ./nbody 300 4 0
    must_say "^1 groups of $n threads, $right" upcrun -n $n ./nbody 300 4 0.5
done
for theta in 0 0.5; do
    must_say "^2 groups of 2 threads, $right" \
        mpiexec upcrun -n 2 ./nbody 300 4 $theta : upcrun -n 2 ./nbody 300 4 $theta
done
must_say "^3 groups of 1 threads, $right" mpiexec --upc-groups=3 -n 3 ./nbody 300 4 0
PLIANT_FAKE_HOSTS=2 must_say '^1 groups of 4 threads, 40 bodies, .* as it should be$' \
    upcrun -n 4 ./nbody 40 2 0

make -s clean all UPCFLAGS=-pthreads
must_say "^1 groups of 3 threads, $right" upcrun -n 3 ./nbody 300 4 0
small 4
must_say '^1 groups of 2 threads: .* sums right$' upcrun -n 2 ./random 1000 500 10
must_say '^1 groups of 3 threads, 3 ranks: .*as it should be$' upcrun -n 3 ./dot
must_say '^2 groups of 2 threads, 4 ranks: .*as it should be$' \
    mpiexec --ranks-per-proc=2 upcrun -n 2 ./dot : --ranks-per-proc=2 upcrun -n 2 ./dot
