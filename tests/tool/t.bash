# For tool tests: a scratch folder in the build that goes away, and checks that say what was wrong.
set -eu
PATH=$BUILD_DIR/bin:$PATH
unset PLIANT_CC PLIANT_CXX OMPI_CC MPICH_CC I_MPI_CC OMPI_CXX MPICH_CXX I_MPI_CXX OMPI_FC MPICH_FC I_MPI_FC
scratch=$(mktemp -d "$BUILD_DIR/scratch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
    echo "failed: $*" >&2
    exit 1
}

# must_say PATTERN COMMAND...: succeeds and prints a line that matches.
must_say() {
    local pattern=$1 out
    shift
    out=$("$@" 2>&1) || fail "exit status $? of: $* -- $out"
    grep -qE -- "$pattern" <<<"$out" || fail "'$*' printed: $out -- expected $pattern"
}

# must_fail STATUS PATTERN COMMAND...: ends with that status and prints a line that matches.
must_fail() {
    local want=$1 pattern=$2 got=0 out
    shift 2
    out=$("$@" 2>&1) || got=$?
    [ "$got" -eq "$want" ] || fail "exit status $got, not $want, of: $* -- $out"
    grep -qE -- "$pattern" <<<"$out" || fail "'$*' printed: $out -- expected $pattern"
}

is_sanitized() {
    ! mpiinfo --build | grep -q 'sanitizers *none'
}
