# The compiler wrappers: what they answer, and what they pass on.
. "$(dirname "$0")/t.bash"

echo 'int answer(void); int answer(void) { return VALUE; }' >part.c
lib=$(sed 's/[+.]/\\&/g' <<<"$BUILD_DIR/lib") # as patterns
inc=$(sed 's/[+.]/\\&/g' <<<"$BUILD_DIR/include")

must_say "^[^ ]+ .*-I$inc a.c -o 'b c' -L$lib -Wl,-rpath,$lib -lmpi_abi$" mpicc -show a.c -o 'b c'
must_say "-I$inc -c a.c$" mpicc -show -c a.c
must_say "-I$inc a.c $lib/libmpi_abi.a -lpthread -ldl -lm$" mpicc -show -static-mpi a.c
must_say "-I$inc$" mpicc -compile-info
must_say "-lmpi_abi$" mpicc -link-info
must_say "-I$inc$" mpicc --showme:compile
must_say "-lmpi_abi$" mpicc -showme:link
must_say "^$inc$" mpicc --showme:incdirs
must_say "^$lib$" mpicc --showme:libdirs
must_say "^mpi_abi$" mpicc --showme:libs
must_say "Pliant MPI [0-9]" mpicxx --showme:version
must_say "c\+\+$" mpic++ --showme:command
must_say "usage: mpicc" mpicc --help
must_say "^othercc " mpicc -cc=othercc -show a.c
must_say "^othercc " env PLIANT_CC=othercc mpicc -show a.c
must_say "^otherc\+\+ " env PLIANT_CXX=otherc++ mpicxx -show a.c
# Variables and options of other MPIs' wrappers.
must_say "^othercc " env OMPI_CC=othercc MPICH_CC=no mpicc -show a.c
must_say "^othercc " env MPICH_CC=othercc OMPI_CXX=no mpicc -show a.c
must_say "^othercc " env I_MPI_CC=othercc mpicc -show a.c
must_say "^othercc " env PLIANT_CC=othercc OMPI_CC=no mpicc -show a.c
must_say "^otherc\+\+ " env OMPI_CXX=otherc++ OMPI_CC=no mpicxx -show a.c
must_say "-I$inc$" mpicc -compile_info
must_say "-lmpi_abi$" mpicc -link_info

must_fail 2 "nothing to compile" mpicc
must_fail 2 "'?--showme:nonsense" mpicc --showme:nonsense
must_fail 127 "no compiler 'nosuchcc'" env PLIANT_CC=nosuchcc mpicc a.c
must_fail 1 "undeclared" mpicc -c part.c
# Sources for another wrapper.
echo "program p; end program" >p.f90
must_fail 1 "mpicc: p.f90 is Fortran: mpifort compiles it" env PLIANT_CC=false mpicc p.f90
must_fail 1 "mpicxx: p.f90 is Fortran: mpifort compiles it" env PLIANT_CXX=false mpicxx p.f90
must_fail 1 "mpicc: p.cpp is C\+\+: mpicxx compiles it" env PLIANT_CC=false mpicc p.cpp
env PLIANT_CC=true mpicc p.cpp

# Arguments with blanks and quotes arrive as they were.
mpicc '-DVALUE=sizeof "a b"' -c part.c -o 'odd name.o'
[ -f 'odd name.o' ] || fail "no object with a blank in its name"
# What needs no library gets none: this would not link.
must_say "^[0-9]" mpicc -dumpversion
# The wrapper finds the library through a link.
ln -s "$BUILD_DIR/bin/mpicc" here
must_say "-I$inc$" ./here -compile-info
# A compiler of several words.
must_say "^[0-9]" env PLIANT_CC="env cc" mpicc -dumpversion

# Lines of sources in a folder with blanks in its name are named whole.
mkdir "my own programs"
cp "$SOURCE_DIR/examples/mistake.c" "my own programs"
cd "my own programs"
mpicc -g mistake.c -o mistake
line=$(grep -n MPI_Send mistake.c | cut -d: -f1)
must_fail 6 " mistake\.c:$line\." mpiexec -n 2 ./mistake
echo '#include <mpi.h>
int main(void) { MPI_Comm c; MPI_Init(0, 0); MPI_Comm_dup(MPI_COMM_WORLD, &c); MPI_Finalize(); }' >leak.c
mpicc -g leak.c -o leak
[[ "$BUILD_DIR" == *[\ :]* ]] || is_sanitized || must_say " leak\.c:2 .*\[comm-leak\]" mpiexec --check -n 1 ./leak
