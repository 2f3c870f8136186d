# mpifort, mpif90 and mpif77: what they answer, what they pass on, and what they say without a compiler.
. "$(dirname "$0")/t.bash"
unset PLIANT_FC

lib=$(sed 's/[+.]/\\&/g' <<<"$BUILD_DIR/lib") # as patterns
inc=$(sed 's/[+.]/\\&/g' <<<"$BUILD_DIR/include")
here=$(sed 's/[+.]/\\&/g' <<<"$scratch")

# Without a compiler each says what to install, also to CMake's questions: no other MPI's Fortran may be joined to our C.
for question in a.f90 -show --showme:compile --showme:link -c; do
    must_fail 127 "no Fortran compiler 'nosuchfc'.*install gfortran" env PLIANT_FC=nosuchfc mpifort $question
done
must_fail 127 "install gfortran" mpif90 -fc=nosuchfc -show a.f90
must_fail 2 "needs the name of a Fortran compiler" mpifort --build-modules
must_fail 2 "option of mpifort" mpicc --build-modules gfortran
must_say "build-modules FC" mpifort --help
# One that has no modules yet, and one that is no compiler.
printf '#!/bin/sh\necho "oddfort 7.1 (made up)"\n' >oddfort
printf '#!/bin/sh\nexit 0\n' >silent
chmod +x oddfort silent
must_fail 1 "there are no modules for $here/oddfort in .*/oddfort-7, and .*oddfort cannot compile .*--build-modules" \
    env PLIANT_FC="$scratch/oddfort" mpifort -show a.f90
# CMake takes the Fortran of another MPI when these two questions fail; answered, it finds that mpif.h is there and modules are not.
export PLIANT_FC="$scratch/oddfort"
sanitizer="(-fsanitize=[^ ]* )?"
must_say "^$sanitizer-I$inc$" mpifort -showme:compile
must_say "^$sanitizer-L$lib -Wl,-rpath,$lib -lpliant_mpifort -lmpi_abi$" mpifort -showme:link
unset PLIANT_FC
must_fail 1 "says nothing: is it a Fortran compiler" env PLIANT_FC="$scratch/silent" mpifort -show a.f90

if ! command -v gfortran >/dev/null; then
    echo "skipped: there is no gfortran"
    exit 77
fi
export PLIANT_FC=gfortran
mod="$lib/pliant/fortran/gfortran-[0-9]+"
link="$mod/libpliant_mpimod\\.a -L$lib -Wl,-rpath,$lib -lpliant_mpifort -lmpi_abi"
must_say "^gfortran .*-I$mod -I$inc a.f90 -o 'b c' $link$" mpifort -show a.f90 -o 'b c'
must_say "-I$mod -I$inc -c a.f90$" mpif90 -show -c a.f90
must_say "$mod/libpliant_mpimod\\.a $lib/libpliant_mpifort\\.a $lib/libmpi_abi\\.a -lpthread -ldl -lm$" \
    mpif77 -show -static-mpi a.f
must_say "-I$mod -I$inc$" mpifort --showme:compile
must_say "$link$" mpifort --showme:link
must_say "^$lib/pliant/fortran/gfortran-[0-9]+ $inc$" mpifort --showme:incdirs
must_say "^pliant_mpifort mpi_abi$" mpifort --showme:libs
must_say "Pliant MPI [0-9].*gfortran" mpif77 --showme:version

cat >hello.f90 <<'END'
program hello
  use mpi_f08
  implicit none
  integer :: rank, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a, i0)', 'sum ', total
  call MPI_Finalize()
end program
END
cat >hello.f <<'END'
      program hello
      include 'mpif.h'
      integer rank, total, ierr
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a, i0)', 'sum ', total
      call MPI_FINALIZE(ierr)
      end
END
mpif90 -o f08 hello.f90
must_say '^sum 3$' mpiexec -n 3 ./f08
mpif77 -o f77 -ffixed-line-length-none hello.f
must_say '^sum 3$' mpiexec -n 3 ./f77
# Buffers of two types through mpif.h: gfortran by itself refuses that, and again when it is told to.
cat >two_types.f <<'END'
      program two
      include 'mpif.h'
      integer rank, total, ierr
      real half, halves
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      half = 0.5
      call MPI_ALLREDUCE(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
      call MPI_ALLREDUCE(half, halves, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a, i0, f4.1)', 'sums ', total, halves
      call MPI_FINALIZE(ierr)
      end
END
must_fail 1 "Type mismatch" mpif77 -fno-allow-argument-mismatch -ffixed-line-length-none -c two_types.f
mpif77 -o two_types -ffixed-line-length-none two_types.f
must_say '^sums 3 1\.5$' mpiexec -n 3 ./two_types
must_say "-fallow-argument-mismatch.* -I$mod -I$inc$" mpifort -compile-info
# CMake passes this answer to the C files of a target too, and a C compiler does not know the flag.
[[ $(mpifort --showme:compile) != *mismatch* ]] || fail "--showme:compile has a flag for Fortran alone"
mpifort -static-mpi -o with_a hello.f90
must_say '^sum 3$' mpiexec -n 3 ./with_a
readelf -d f08 | grep -q 'NEEDED.*libpliant_mpifort\.so\.0' || fail "not linked with libpliant_mpifort.so.0"
readelf -d "$BUILD_DIR/lib/libmpi_abi.so" | grep -q 'NEEDED.*gfortran' && fail "libmpi_abi needs gfortran's library"
readelf -d "$BUILD_DIR/lib/libpliant_mpifort.so" | grep -q 'NEEDED.*gfortran' && fail "so does libpliant_mpifort"
# The library uses MPI's public names alone, so that another library of the standard ABI serves as well.
nm -D --undefined-only "$BUILD_DIR/lib/libpliant_mpifort.so" | awk '{print $2}' | grep -vE '^P?MPIX?_' | grep -E 'pli_|pliant' &&
    fail "libpliant_mpifort calls functions that no other MPI has"

# A deadlock is reported with the line of the Fortran source.
sed 's/call MPI_Allreduce.*/call MPI_Recv(total, 1, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)/' hello.f90 >dead.f90
mpifort -g -o dead dead.f90
must_fail 123 "rank 0 receives from rank 1, tag 3, on MPI_COMM_WORLD, called at dead.f90:7" mpiexec -n 2 ./dead
# A wrong argument is named.
sed 's/MPI_INTEGER, MPI_SUM/MPI_DATATYPE_NULL, MPI_SUM/' hello.f90 >wrong.f90
mpifort -o wrong wrong.f90
out=$(mpiexec -n 1 ./wrong 2>&1) && fail "a wrong argument went unnoticed: $out"
grep -q 'MPI_Allreduce: argument datatype' <<<"$out" || fail "the wrong argument is not named: $out"

# Modules that are missing are made when they are first needed, and never while another mpifort reads them; the one command makes them
# again. In a copy of the installation.
mkdir -p copy/bin copy/lib/pliant/fortran
cp "$BUILD_DIR/bin/mpifort" copy/bin
cp -r "$BUILD_DIR/lib/pliant/fortran/source" copy/lib/pliant/fortran
copy/bin/mpifort -show a.f90 >at_once 2>&1 &
other=$!
must_say "-I$here/copy/lib/pliant/fortran/gfortran-[0-9]+ " copy/bin/mpifort -show a.f90
wait $other
[ "$(cat at_once)" = "$(copy/bin/mpifort -show a.f90)" ] || fail "two at once: $(cat at_once)"
[ "$(ls -A copy/lib/pliant/fortran | wc -l)" = 2 ] || fail "two at once left $(ls -A copy/lib/pliant/fortran)"
must_say "modules for gfortran, buffers by descriptor" copy/bin/mpifort --build-modules gfortran
for file in mpi.mod mpi_f08.mod libpliant_mpimod.a; do
    ls copy/lib/pliant/fortran/gfortran-*/$file >/dev/null || fail "$file was not made"
done

# The modules for compilers that cannot hand over descriptors, with this one: buffers go by address.
mkdir -p address/lib/pliant/fortran address/bin
cp -r "$BUILD_DIR/lib/pliant/fortran/source" address/lib/pliant/fortran
cp "$BUILD_DIR/bin/mpifort" address/bin
ln -s "$BUILD_DIR/include" address/include
ln -s "$BUILD_DIR"/lib/lib*.so* address/lib
echo 'this is no Fortran' >address/lib/pliant/fortran/source/probe_descriptor.f90
must_say "buffers by address" address/bin/mpifort --build-modules gfortran
sed 's/rank == 0/rank == 0 .and. .not. MPI_SUBARRAYS_SUPPORTED/' hello.f90 >hello_address.f90
address/bin/mpifort -o by_address hello_address.f90
nm by_address | grep -q mpi_allreduce_f08_ || fail "buffers went by descriptor"
must_say '^sum 3$' mpiexec -n 3 ./by_address
# MPI_Sizeof has a procedure for each type, kind and rank there.
for module in mpi mpi_f08; do
    cat >sizes.f90 <<F
program sizes
  use $module
  implicit none
  integer(1) :: small
  complex(8) :: cube(2, 2, 2)
  real(4) :: deep(1, 1, 1, 1, 1, 1, 1)
  logical(8) :: wide
  character(len=7) :: words(3)
  integer :: n(5), ie
  call MPI_Sizeof(small, n(1), ie)
  call MPI_Sizeof(cube, n(2), ie)
  call PMPI_Sizeof(deep, n(3), ie)
  call MPI_Sizeof(wide, n(4), ie)
  call MPI_Sizeof(words, n(5), ie)
  print '(a, 6(1x, i0))', 'sizes', n, ie
end program
F
    address/bin/mpifort -w -o sizes sizes.f90
    must_say '^sizes 1 16 4 8 7 0$' ./sizes
done
# And with one that cannot compile the calls at all, as flang 16: it is told what is left.
echo 'this is no Fortran' | tee address/lib/pliant/fortran/source/mpi_address.f90 >address/lib/pliant/fortran/source/mpi_f08_address.f90
must_say "buffers by address; it cannot compile the modules mpi mpi_f08: its programs include mpif.h$" address/bin/mpifort --build-modules gfortran
