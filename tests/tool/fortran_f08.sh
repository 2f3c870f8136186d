# The programs of tests/fortran that use mpi_f08, and the one that calls all of its procedures, which is made from the API
# table. The first line of each ends with the number of ranks in words.
. "$(dirname "$0")/t.bash"
unset PLIANT_FC
if ! command -v gfortran >/dev/null; then
    echo "skipped: there is no gfortran"
    exit 77
fi
export PLIANT_FC=gfortran
declare -A ranks=([One]=1 [Two]=2 [Three]=3)
for source in "$SOURCE_DIR"/tests/fortran/f08_*.f90 "$BUILD_DIR/gen/fortran/f08_calls.f90"; do
    name=$(basename "$source" .f90)
    word=$(head -n 1 "$source" | grep -oE '(One|Two|Three) ranks?\.$' | cut -d' ' -f1) ||
        fail "the first line of $source does not say how many ranks"
    mpifort -g -O0 -Wall -Werror -Wno-unused-dummy-argument -o "$name" "$source"
    said=$(mpiexec --timeout 100 -n "${ranks[$word]}" "./$name" 2>&1) || fail "exit status $? of $name -- $said"
    grep -q 'all good' <<<"$said" || fail "$name printed: $said -- expected all good"
    ! grep 'left out' <<<"$said" || fail "$name left out what this library has"
done
