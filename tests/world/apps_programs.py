# SPDX-License-Identifier: BSD-3-Clause
"""The applications that apps_world.py builds from Debian's sources.

`build` and `run` are for bash, in a copy of the authors' sources: $CC and $CXX are the compilers of the MPI in question, $RUN starts the
ranks, $JOBS compilers may run at once. `answer` finds what must be the same with all MPIs in what the program prints and in the files of
`reads`; numbers may differ by `tolerance`, since sums of many ranks are rounded.
"""
import dataclasses

from abi_programs import PETSC_ANSWER, PETSC_RUN


@dataclasses.dataclass
class App:
    name: str
    source: str
    packages: str
    ranks: int
    what: str
    build: str
    run: str
    answer: str
    reads: tuple = ()
    tolerance: float = 1e-6


# Open MPI 4 has no longer the names of MPI-1 that HPL uses.
HPCC = """find . -name '*.c' -exec sed -i 's/MPI_Address *(/MPI_Get_address(/; s/MPI_Type_struct *(/MPI_Type_create_struct(/' {} +
cat >hpl/Make.here <<END
SHELL = /bin/sh
CD = cd
CP = cp
LN_S = ln -s
MKDIR = mkdir -p
RM = rm -f
TOUCH = touch
ARCH = here
TOPdir = ../../..
INCdir = \\$(TOPdir)/include
BINdir = \\$(TOPdir)/bin/here
LIBdir = \\$(TOPdir)/lib/here
HPLlib = \\$(LIBdir)/libhpl.a
LAlib = -lblas
F2CDEFS = -DAdd_ -DStringSunStyle -DF77_INTEGER=int
HPL_INCLUDES = -I\\$(INCdir) -I\\$(INCdir)/here
HPL_LIBS = \\$(HPLlib) \\$(LAlib)
HPL_DEFS = \\$(F2CDEFS) \\$(HPL_INCLUDES)
CC = $CC
CCNOOPT = \\$(HPL_DEFS)
CCFLAGS = \\$(HPL_DEFS) -O2 -w
LINKER = $CC
LINKFLAGS = -lm
ARCHIVER = ar
ARFLAGS = r
RANLIB = echo
END
make -j$JOBS arch=here LAlib='-lblas -lm'
sed -e 's/^1000 /200 /' -e '0,/^2            Ps/s//1            Ps/' _hpccinf.txt >hpccinf.txt"""
# The part of FFTW that uses MPI and its test program; the transforms of single ranks are those of Debian's library of the same release.
FFTW = """./configure -q --disable-fortran --disable-doc CC=gcc CFLAGS=-O2
rm -f mpi/testsched.c
ls mpi/*.c tests/fftw-bench.c tests/hook.c libbench2/*.c | xargs -P $JOBS -I{} $CC -O2 -w -DHAVE_CONFIG_H -I. -Iapi -Impi -c {} -o {}.o
ar rc bench.a libbench2/*.o
$CC -o mpi-bench mpi/*.o tests/*.o bench.a -lfftw3 -lm"""
FFTW_CHECKS = "$RUN ./mpi-bench -v -oestimate " + " ".join("--verify " + p for p in ("32x24x10", "obc60x30", "ifc60x30", "ofr4x12x18v3", "ibr10x12x5x12v2", "ik15o00x20e10"))
# Built for threads that call MPI (SCOTCH_PTHREAD_MPI), and with a seed that does not change.
SCOTCH = """cd src
sed -e "s|^CCP.*|CCP = $CC|" -e "s|^CCD.*|CCD = $CC|" -e 's/-O3/-O2 -w/' Make.inc/Makefile.inc.x86-64_pc_linux2 >Makefile.inc
make -j$JOBS ptscotch
cd check
for test in band coarsen check grow induce redist; do
    $CC -O2 -w -DSCOTCH_PTSCOTCH -DIDXSIZE64 -DSCOTCH_PTHREAD -DCOMMON_PTHREAD -I../../include -I../libscotch -o $test test_scotch_dgraph_$test.c \\
        -L../../lib -lptscotch -lscotch -lptscotcherrexit -lz -lm -pthread
done"""
SCOTCH_RUNS = """cd src/check && for test in band coarsen check grow induce redist; do $RUN ./$test data/bump.grf && echo $test passes || exit 1; done &&
$RUN ../../bin/dgtst data/small_%r.grf && $RUN ../../bin/dgpart 9 data/bump.grf /dev/null -vm && $RUN ../../bin/dgord data/bump.grf bump.ord && wc -l bump.ord"""
# The archive has no configure and asks git for its version.
P4EST = """echo 2.2 | tee .tarball-version >sc/.tarball-version
./bootstrap
./configure -q --enable-mpi --disable-shared CC=$CC CFLAGS="-O2 -w"
make -j$JOBS"""
P4EST_RUNS = """for forest in "p4est_simple unit 5" "p4est_simple moebius 5" "p4est_simple star 5" "p8est_simple rotcubes 3" "p8est_simple twocubes 3"; do
    $RUN ./example/simple/$forest || exit 1
done"""
SUPERLU = """cmake -S . -B build -DCMAKE_C_COMPILER=$CC -DCMAKE_CXX_COMPILER=$CXX -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-w -DTPL_BLAS_LIBRARIES=-lblas \\
    -DTPL_ENABLE_PARMETISLIB=OFF -DXSDK_ENABLE_Fortran=OFF -Denable_openmp=OFF -Denable_single=OFF -Denable_complex16=OFF -Denable_tests=OFF
make -C build -j$JOBS pddrive pddrive3 pddrive3d"""
SUPERLU_RUNS = """cd EXAMPLE
for program in "pddrive -r 2 -c 2" "pddrive3 -r 2 -c 2" "pddrive3d -r 2 -c 1 -d 2"; do $RUN ../build/EXAMPLE/$program big.rua || exit 1; done"""
# Its own BLAS and LAPACK, and the drivers of its tests.
HYPRE = """cd src
./configure -q --disable-fortran CC=$CC CFLAGS="-O2 -w"
make -j$JOBS
make -C test -j$JOBS ij struct sstruct"""
HYPRE_RUNS = """cd src/test && cp -f TEST_sstruct/sstruct.in.default . &&
$RUN ./ij -P 2 1 1 -n 48 48 48 && $RUN ./ij -P 1 2 1 -n 30 30 30 -solver 1 -27pt && $RUN ./ij -P 1 1 2 -n 40 40 40 -solver 8 &&
$RUN ./struct -P 2 1 1 -n 30 60 60 -solver 10 && $RUN ./struct -P 1 1 2 -n 40 40 20 -solver 1 && $RUN ./sstruct -P 1 2 1 -solver 10"""
# Without optional packages, and of its styles those of the two inputs and the ones that the core needs.
LAMMPS = """shopt -s extglob
cd src
rm -f compute_!(chunk_atom|fragment_atom|pe|pressure|temp).{cpp,h} fix_!(adapt|deform|external|minimize|nve|read_restart|respa|store).{cpp,h} \\
    pair_!(hybrid|lj_cut).{cpp,h} dump_!(cfg|custom|image).{cpp,h} region_!(block|prism).{cpp,h} {angle,bond,dihedral,improper}_!(hybrid).{cpp,h}
make -j$JOBS mpi CC=$CXX LINK=$CXX CCFLAGS="-O1 -w -std=c++11" LINKFLAGS=-O1 SIZE=true"""
LAMMPS_RUNS = """cd bench && $RUN ../src/lmp_mpi -log none -var x 0.5 -var y 0.5 -var z 0.5 -in in.lj &&
cd ../examples/melt && $RUN ../../src/lmp_mpi -log none -in in.melt"""
# Its solvers and what they need, without time steppers, optimisers and packages of others. The rows of abi_programs.py run the same tutorials.
PETSC = """python3 ./configure PETSC_ARCH=here --with-cc=$CC --with-cxx=0 --with-fc=0 --with-x=0 --with-debugging=0 --with-shared-libraries=0 --with-single-library=0 \\
    COPTFLAGS="-O1 -w" --with-blaslapack-lib="-llapack -lblas"
make -f gmakefile -j$JOBS libs PETSC_DIR=$PWD PETSC_ARCH=here pkgs="sys vec mat dm ksp snes"
for t in ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex50 snes/tutorials/ex19 vec/vec/tutorials/ex5; do
    $CC -O1 -w -Iinclude -Ihere/include -o $(basename $t) src/$t.c -Lhere/lib $(printf -- '-lpetsc%s ' snes ksp dm mat vec sys) -llapack -lblas -lm -ldl
done"""
APPS = [
    App("netpipe", "netpipe", "", 2, "messages of up to 64 bytes", 'make mpi MPICC="$CC" CFLAGS="-O2 -w"', "$RUN ./NPmpi -u 64 -n 200 -o np.out", r"(?<=: )[ ]+\d+ bytes"),
    App("hpcc", "hpcc", "libblas-dev", 2, "all its tests, with a small input", HPCC, "$RUN ./hpcc", r"(?m)^(?!CPU).*(PASSED|FAILED)|(Success=\d+)",
        reads=("hpccoutf.txt",)),
    App("fftw", "fftw3", "libfftw3-dev", 4, "its checks of six transforms in two to four dimensions", FFTW, FFTW_CHECKS, r"(?m)^\S+(?= \d)"),
    App("scotch", "scotch", "flex bison zlib1g-dev", 4, "six tests of distributed graphs, a partition into 9 parts, an ordering", SCOTCH, SCOTCH_RUNS,
        r"(?m)^.* passes$|^\d+ bump.ord|Processors 9/9"),
    App("p4est", "p4est", "autoconf automake libtool zlib1g-dev", 4, "five forests of quadrants and octants: refined, balanced, partitioned", P4EST, P4EST_RUNS,
        r"checksum 0x\w+"),
    App("superlu-dist", "superlu-dist", "cmake libblas-dev", 4, "three solutions of a sparse system of 4960 equations", SUPERLU, SUPERLU_RUNS,
        r"(?m)Sol +0: .*(?= = \d\.\d+e-(?:09|1\d)$)"),
    App("hypre", "hypre", "", 2, "multigrid of matrices and grids: six solutions by its test drivers", HYPRE, HYPRE_RUNS,
        r"(?m)^ *(?:BoomerAMG )?(?:Iterations|Final.*Norm) *= .*$"),
    App("petsc", "petsc", "libblas-dev liblapack-dev python3", 4, "four of its tutorials: two linear systems, a flow, a vector by MPI-IO", PETSC, PETSC_RUN, PETSC_ANSWER),
    App("lammps", "lammps", "g++", 2, "4000 atoms of a melt, twice: 100 and 250 steps", LAMMPS, LAMMPS_RUNS, r"(?m)^ +\d+(?: +[-\d.]+){5} *$"),
]
