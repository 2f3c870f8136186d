# An installation works after it was moved: through mpicc, mpicxx, pkg-config and CMake's FindMPI.
. "$(dirname "$0")/t.bash"

cat >pair.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, value = 41;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Status st;
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &st);
        printf("%d of %d got %d with tag %d\n", rank, size, value, st.MPI_TAG);
    }
    MPI_Finalize();
    return 0;
}
EOF
cp pair.c pair.cc
expected="1 of 2 got 41 with tag 5"

# Into a folder with a blank in its name, then moved.
DESTDIR='' cmake --install "$BUILD_DIR" --prefix "$scratch/first place" >install.log 2>&1 ||
    fail "installation: $(tail -5 install.log)"
mv "first place" "new place"
prefix="$scratch/new place"
PATH=$prefix/bin:$PATH
for file in include/mpi.h lib/libmpi_abi.so.0 lib/libmpi_abi.so.1 lib/libmpi_abi.a lib/libmpi.so lib/libmpi.a bin/mpiexec \
    bin/mpirun bin/mpicc bin/mpicxx bin/mpic++ bin/mpiinfo lib/pkgconfig/mpi.pc lib/pkgconfig/pliant.pc \
    share/man/man1/mpicc.1 share/man/man1/mpiexec.1 share/man/man1/mpiinfo.1 \
    share/man/man7/pliant-settings.7 share/man/man3/MPI_Send.3 share/doc/pliant/LICENSE \
    include/mpix_balance.h lib/libmpix_balance.so.0 lib/libmpix_balance.a share/man/man3/mpix_balance.3 \
    share/pliant/examples/hello.c share/pliant/examples/Makefile share/pliant/examples/python/heat.py \
    lib/pliant/standard/libmpi_abi.so.1 lib/pliant/mpich/libmpich.so.12 lib/pliant/mpich/libmpi.so lib/pliant/openmpi/libmpi.so \
    lib/pliant/openmpi/libmpi_mpifh.so.40 lib/pliant/openmpi/libmpi_java.so lib/pliant/openmpi/bin/ompi_info; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
for tool in mpiexec mpictl mpiinfo impirun upcrun upcc impi-server; do
    for file in share/man/man1/$tool.1 share/bash-completion/completions/$tool share/zsh/site-functions/_$tool \
        share/fish/vendor_completions.d/$tool.fish; do
        [ -s "$prefix/$file" ] || fail "$file is not installed"
    done
done
for file in share/bash-completion/completions/mpirun share/fish/vendor_completions.d/mpirun.fish; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
grep -rIl -e "$BUILD_DIR" -e "$scratch" "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/include" |
    grep . && fail "an installed file names the folder it was built in"

mpicc -Wall -Wextra -Werror -std=c99 -pedantic -O1 -o c pair.c
must_say "^$expected$" mpiexec -n 2 ./c
readelf -d c | grep -q 'NEEDED.*\[libmpi_abi\.so\.1\]' || fail "the soname is not that of the standard ABI"
sed 's/libmpi_abi\.so\.1/libmpi_abi.so.0/g' c >built_before && chmod +x built_before
must_say "^$expected$" mpiexec -n 2 ./built_before
must_say "^$expected$" impirun --local -n 1 ./c : -n 1 ./c
ask='import ctypes as c; said = c.create_string_buffer(8192); c.CDLL("libmpi.so").MPI_Get_library_version(said, c.byref(c.c_int())); print(said.value.decode())'
is_sanitized || must_say "Pliant MPI" mpiexec -n 2 python3 -c "$ask" # a sanitizer must come before all other libraries
mpicxx -Wall -Wextra -Werror -std=c++11 -o cxx pair.cc
must_say "^$expected$" mpiexec -n 2 ./cxx
mpicc -static-mpi -o with_a pair.c
must_say "^$expected$" mpiexec -n 2 ./with_a
nm with_a | grep -q ' T PMPI_Send$' || fail "-static-mpi did not link the static library"

# UPC, where it was built.
if [ -x "$prefix/bin/upcc" ]; then
    for file in lib/libupc.a lib/libupc_pt.a include/upc/upc.h bin/upcrun share/man/man1/upcc.1 \
        share/man/man1/upcrun.1; do
        [ -e "$prefix/$file" ] || fail "$file is not installed"
    done
    printf '#include <mpi.h>\n#include <stdio.h>\n#include <upc.h>\nshared int x[THREADS];\nint main(void) { x[MYTHREAD] = 1; upc_barrier; int s = 0;\nfor (int i = 0; i < THREADS; i++) s += x[i];\nif (MYTHREAD == 0) printf("%%d threads\\n", s); return 0; }\n' >sum.upc
    upcc -O1 -o sum_upc sum.upc
    must_say '^3 threads$' upcrun -n 3 ./sum_upc
    upcc -O1 -pthreads -o sum_pt sum.upc
    must_say '^3 threads$' upcrun -n 3 ./sum_pt
fi

# pkg-config quotes the blank with a backslash, so the shell must read its answer.
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
for module in mpi mpi-c mpi-cxx pliant; do
    eval cc -o with_pc pair.c "$(pkg-config --cflags --libs $module)"
    must_say "^$expected$" mpiexec -n 2 ./with_pc
done

# -lmpi, as old makefiles say it.
eval cc $(mpicc --showme:compile | sed 's/-I.*//') "'-I$prefix/include'" -o with_l pair.c "'-L$prefix/lib'" \
    "'-Wl,-rpath,$prefix/lib'" -lmpi
must_say "^$expected$" mpiexec -n 2 ./with_l

# The static library alone, everything static; sanitizers cannot be linked so.
if ! is_sanitized && echo 'int main(void) { return 0; }' | cc -static -x c -o static_works - 2>/dev/null; then
    mpicc -static -o all_static pair.c 2>static.log || fail "mpicc -static: $(tail -3 static.log)"
    must_say "^$expected$" mpiexec -n 2 ./all_static
fi

# CMake's FindMPI cannot read paths with blanks from any wrapper: use a place without.
mv "new place" plain
prefix=$scratch/plain
must_say "^$expected$" "$prefix/bin/mpiexec" -n 2 ./c # linked before
mkdir project
cp pair.c pair.cc project
cat >project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C CXX)
find_package(MPI REQUIRED)
add_executable(c pair.c)
target_link_libraries(c PRIVATE MPI::MPI_C)
add_executable(cxx pair.cc)
target_link_libraries(cxx PRIVATE MPI::MPI_CXX)
message(STATUS "found version ${MPI_C_VERSION}, launcher ${MPIEXEC_EXECUTABLE}")
EOF
# FindMPI takes -fsanitize=address,undefined apart at the comma, so sanitizers stay out of this one.
if ! is_sanitized; then
    PATH=$prefix/bin:$PATH cmake -S project -B user >cmake.log 2>&1 || fail "FindMPI: $(tail -20 cmake.log)"
    grep -q "found version 5.0, launcher $prefix/bin/mpiexec" cmake.log ||
        fail "FindMPI found another MPI: $(grep 'found version' cmake.log)"
    cmake --build user >build.log 2>&1 || fail "$(tail -20 build.log)"
    must_say "^$expected$" "$prefix/bin/mpiexec" -n 2 user/c
    must_say "^$expected$" "$prefix/bin/mpiexec" -n 2 user/cxx
fi

# Fortran, where there is a compiler: mpifort, pkg-config and FindMPI. Everything that FindMPI can tell of the interfaces is asked.
for file in bin/mpifort bin/mpif90 bin/mpif77 include/mpif.h lib/libpliant_mpifort.so.0 lib/libpliant_mpifort.a \
    lib/pliant/fortran/source/build-modules share/man/man1/mpifort.1; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
done
if command -v gfortran >/dev/null && ! is_sanitized; then
    printf "program pair\n  use mpi_f08\n  integer :: rank, total\n  call MPI_Init()\n  call MPI_Comm_rank(MPI_COMM_WORLD, rank)\n" >pair.f90
    printf "  call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)\n" >>pair.f90
    printf "  if (rank == 0) print '(a, i0)', 'total ', total\n  call MPI_Finalize()\nend program\n" >>pair.f90
    "$prefix/bin/mpifort" -o fortran pair.f90
    must_say '^total 3$' "$prefix/bin/mpiexec" -n 2 ./fortran
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    gfortran -o fortran_pc pair.f90 $(pkg-config --cflags --libs mpi-fort)
    must_say '^total 3$' "$prefix/bin/mpiexec" -n 2 ./fortran_pc
    mkdir fortran_project
    cp pair.f90 fortran_project
    cat >fortran_project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C Fortran)
set(MPI_DETERMINE_Fortran_CAPABILITIES ON)
find_package(MPI REQUIRED COMPONENTS C Fortran)
add_executable(pair pair.f90)
target_link_libraries(pair PRIVATE MPI::MPI_Fortran)
foreach(what HAVE_F77_HEADER HAVE_F90_MODULE HAVE_F08_MODULE F08_MODULE_SUBARRAYS F08_MODULE_ASYNCPROT)
    message(STATUS "${what}: ${MPI_Fortran_${what}}")
endforeach()
message(STATUS "version ${MPI_Fortran_VERSION}, compiler ${MPI_Fortran_COMPILER}")
EOF
    PATH=$prefix/bin:$PATH cmake -S fortran_project -B fortran_user >cmake.log 2>&1 || fail "FindMPI: $(tail -20 cmake.log)"
    for what in HAVE_F77_HEADER HAVE_F90_MODULE HAVE_F08_MODULE F08_MODULE_SUBARRAYS F08_MODULE_ASYNCPROT; do
        grep -qiE -- "-- $what: (TRUE|1|ON)$" cmake.log || fail "FindMPI says no to $what: $(grep -- "-- $what" cmake.log)"
    done
    grep -q "version 5.0, compiler $prefix/bin/mpi" cmake.log || fail "FindMPI found another MPI: $(grep 'version' cmake.log)"
    cmake --build fortran_user >build.log 2>&1 || fail "$(tail -20 build.log)"
    must_say '^total 3$' "$prefix/bin/mpiexec" -n 2 fortran_user/pair
fi

# The examples build where they are installed, as their own Makefile says.
cp -r plain/share/pliant/examples mine
make -C mine MPICC="$prefix/bin/mpicc" hello >/dev/null
must_say "world of 3 ranks" "$prefix/bin/mpiexec" -n 3 mine/hello
make -C mine MPICC="$prefix/bin/mpicc" balance >/dev/null
must_say "bit for bit" "$prefix/bin/mpiexec" -n 2 mine/balance 20

# What was installed can be removed without a trace, also from another place; a list that names other things is refused.
(cd plain && find . -type f -o -type l) | sed 's|^\./||' >installed
{ cat installed && echo ../pair.c; } >plain/share/pliant/installed
must_fail 1 "names ../pair.c, which is not below" "$SOURCE_DIR/tools/setup/uninstall" plain
cp installed plain/share/pliant/installed
must_say "removed Pliant MPI" "$SOURCE_DIR/tools/setup/uninstall" plain
[ ! -e plain ] || fail "left behind: $(find plain | head -5)"

# An empty prefix is refused before anything is written, and ~ means the home folder whatever the shell makes of it.
for goal in install uninstall; do
    must_fail 2 "PREFIX is empty" make -C "$SOURCE_DIR" -n $goal PREFIX=
done
HOME=/my/home DESTDIR='' must_say "^tools/setup/uninstall '/my/home/an mpi'" make -C "$SOURCE_DIR" -n uninstall PREFIX='~/an mpi'
