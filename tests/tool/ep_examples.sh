# The example programs of endpoints print what they should.
. "$(dirname "$0")/t.bash"
from=$SOURCE_DIR/examples
flags="-O1 -g -Wall -Wextra -Werror"

# Sanitizers take a stack that is swapped by hand for a crash: no fibers under them.
sanitizers=$(mpiinfo --build | grep sanitizers)

# must_agree N PATTERN COMMAND...: succeeds, prints the pattern on N lines, and nothing is WRONG.
must_agree() {
    local n=$1 pattern=$2 out
    shift 2
    out=$("$@" 2>&1) || fail "exit status $? of: $* -- $out"
    [ "$(grep -cE -- "$pattern" <<<"$out")" -eq "$n" ] || fail "'$*' printed: $out -- expected $n times $pattern"
    ! grep -q WRONG <<<"$out" || fail "'$*' printed: $out"
}

mpicc $flags -o ep_workers "$from/ep_workers.c"
must_agree 1 '^17984 primes below 200000 in 100 ranges by 5 workers, right$' mpiexec -n 2 ./ep_workers 3
must_agree 1 '^worker 3 of 3 counted' mpiexec -n 1 ./ep_workers 4
must_fail 1 'together at least 2' mpiexec -n 1 ./ep_workers 1

mpicc $flags -o ep_levels "$from/ep_levels.c"
must_agree 3 '^row [0-2]: [0-9]+ from 4 threads$' mpiexec -n 3 ./ep_levels 4
must_agree 1 '^the last thread of the last of 2 processes knows the whole sum .*, right$' mpiexec -n 2 ./ep_levels 2

# The same source as processes and as threads.
mpicc $flags -Dmain=user_main -c "$from/ep_flat_user.c"
mpicc $flags -o ep_flat "$from/ep_flat.c" ep_flat_user.o
mpicc $flags -o ep_flat_user "$from/ep_flat_user.c" -lm
for shape in "1 4" "2 2"; do
    set -- $shape
    must_agree 1 '^4 ranks, [0-9]+ steps: the line is straight to a thousandth, right$' \
        env EP_FLAT_THREADS="$2" mpiexec -n "$1" ./ep_flat
done
as_threads=$(EP_FLAT_THREADS=4 mpiexec -n 1 ./ep_flat)
as_processes=$(mpiexec -n 4 ./ep_flat_user)
[ "$as_threads" = "$as_processes" ] || fail "as threads: $as_threads -- as processes: $as_processes"

if ! is_sanitized; then
    mpicc $flags -o ep_fibers "$from/ep_fibers.c"
    must_agree 1 '^1 ranks as fibers: .* right$' mpiexec -n 1 ./ep_fibers 1
    must_agree 1 '^2000 ranks as fibers: the token brings 1999000, the reduction 1999000, right$' \
        mpiexec -n 2 ./ep_fibers 1000
fi

# OpenMP's runtime is not built for a sanitizer of threads, which then sees races in its barrier.
if grep -q thread <<<"$sanitizers"; then
    echo "ep_openmp is left out: the thread sanitizer does not know OpenMP's barriers"
elif ! echo 'int main(void) { return 0; }' | mpicc -fopenmp -x c -o has_openmp - 2>/dev/null; then
    echo "ep_openmp is left out: $(mpicc --showme:command) has no OpenMP"
    exit 77
else
    mpicc $flags -fopenmp -o ep_openmp "$from/ep_openmp.c" -lm
    must_agree 6 '^rank [0-5] of 6, thread [0-2] of process [01]: pi is about 3.14159265, right$' \
        env OMP_NUM_THREADS=3 mpiexec -n 2 ./ep_openmp
fi
