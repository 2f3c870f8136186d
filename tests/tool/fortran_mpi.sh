# The programs of tests/fortran that use mpif.h or the module mpi, and the two that call all of their routines, which are made
# from the API table. The first line of each ends with the number of ranks in words.
. "$(dirname "$0")/t.bash"
unset PLIANT_FC
if ! command -v gfortran >/dev/null; then
    echo "skipped: there is no gfortran"
    exit 77
fi
export PLIANT_FC=gfortran
declare -A ranks=([One]=1 [Two]=2 [Three]=3)
for source in "$SOURCE_DIR"/tests/fortran/mpi*.f* "$BUILD_DIR"/gen/fortran/mpi*_calls.f90; do
    name=$(basename "${source%.f*}")
    word=$(head -n 1 "$source" | grep -oE '(One|Two|Three) ranks?\.$' | cut -d' ' -f1) ||
        fail "the first line of $source does not say how many ranks"
    flags=(-Wall -Werror -Wno-unused-dummy-argument)
    # Without interfaces the compiler takes one call's buffer for the type of all.
    [[ $name == mpif_* ]] && flags=(-w -fallow-argument-mismatch)
    mpifort -g -O0 "${flags[@]}" -o "$name" "$source"
    must_say 'all good' mpiexec --timeout 100 -n "${ranks[$word]}" "./$name"
done
