# SPDX-License-Identifier: BSD-3-Clause
"""The programs of Debian packages that abi_world.py runs.

A row runs in a folder that has a copy of abi/<folder>. `prepare` and `command` are for bash: $RUN starts the ranks of the row,
$RUN1 one rank, with the MPI in question; $MPI is openmpi or mpich. `answer` finds what must be the same on both MPIs in what the program
prints and in the files of `reads`; numbers may differ by `tolerance`, since sums of many ranks are rounded. DOLFINx 0.5 deadlocks now
and then, probably by a race of its own (docs/abi.md): it is tried again.
"""
import dataclasses


@dataclasses.dataclass
class Row:
    name: str
    packages: str
    mpi: str
    ranks: int
    what: str
    command: str
    answer: str
    prepare: str = ""
    folder: str = ""
    reads: tuple = ()
    tolerance: float = 1e-6
    tries: int = 1  # for a program that fails now and then


ANSWER = r"(?m)^answer .*"
LIBRARIES = "$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
HPCC = """sed -e 's/^1000 /200 /' -e '0,/^2            Ps/s//1            Ps/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt"""
CAVITY = """cp -r /usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity/. .
printf 'FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }
numberOfSubdomains 4; method simple; simpleCoeffs { n (2 2 1); delta 0.001; }' >system/decomposeParDict
export WM_PROJECT_DIR=/usr/share/openfoam
blockMesh
decomposePar"""
# The testers of ScaLAPACK read their input from the folder they are started in.
SCALAPACK = f"cp /usr/lib/{LIBRARIES}/scalapack/$MPI-tests/{{LU,LLT}}.dat ."
SCALAPACK_RUN = f"for t in xdlu xzllt; do $RUN /usr/lib/{LIBRARIES}/scalapack/$MPI-tests/$t || exit 1; done"
SCALAPACK_ANSWER = r"\d+ tests? (?:completed|failed|passed|skipped).*|Finished +\d+ tests|\d+ tests completed and passed.*"
SUPERLU = "D=$(dirname $(dpkg -L libsuperlu-dist-dev | grep EXAMPLE/pddrive$)); "
WATER = """gmx solvate -cs spc216.gro -box 2.2 2.2 2.2 -o water.gro -p water.top
gmx grompp -f water.mdp -c water.gro -p water.top -o water.tpr -maxwarn 9"""
PSEUDO = "cp $(dpkg -L quantum-espresso-data | grep -m1 '/Si[._].*UPF$') . && sed -i s/PSEUDO/$(ls Si*UPF)/ si.in"
COARRAYS = f"""cd /usr/lib/{LIBRARIES}/open-coarrays/$MPI/bin/OpenCoarrays*-tests
for t in allocate_as_barrier atomics co_broadcast_test co_max_test co_min_test co_reduce_test co_sum_test duplicate_syncimages get_array get_self \\
         get_with_vector_index register_vector send_array send_with_vector_index strided_get strided_sendget \\
         syncall syncimages whole_get_array; do
    said=$($RUN ./$t 2>&1) || {{ echo "$said"; exit 1; }}
    echo "$t: $(grep -i -m1 -o 'passed\\|failed' <<<"$said")"
done"""
PYTHON = "$RUN /usr/bin/python3"
PETSC = """for t in ksp/ksp/tutorials/ex2 ksp/ksp/tutorials/ex50 snes/tutorials/ex19 vec/vec/tutorials/ex5; do
    mpicc.$MPI -O1 -w -o $(basename $t) /usr/share/petsc/3.18/share/petsc/examples/src/$t.c $(pkg-config --cflags --libs PETSc) -lm
done"""
PETSC_RUN = """$RUN ./ex2 -m 100 -n 100 -ksp_rtol 1e-8 -ksp_converged_reason && $RUN ./ex50 -da_refine 4 -pc_type mg -ksp_type cg -ksp_monitor_short &&
$RUN ./ex19 -da_refine 3 -pc_type mg -ksp_type fgmres -snes_monitor_short && $RUN ./ex5 -m 40 -viewer_binary_mpiio"""
PETSC_ANSWER = r"(?m)^.*(?:norm|Norm|converged|velocity|iterations) .*|^[-+.\de]+$"

ROWS = [
    Row("hpcc", "hpcc", "openmpi", 2, "all its tests, with a small input", "$RUN hpcc", r"(?m)^(?!CPU).*(PASSED|FAILED)|(Success=\d+)", HPCC, reads=("hpccoutf.txt",)),
    Row("netpipe-openmpi", "netpipe-openmpi", "openmpi", 2, "messages of up to 64 bytes", "$RUN NPopenmpi -u 64 -n 200 -o np.out", r"(?<=: )[ ]+\d+ bytes"),
    Row("netpipe-mpich2", "netpipe-mpich2", "mpich", 2, "messages of up to 64 bytes", "$RUN NPmpich2 -u 64 -n 200 -o np.out", r"(?<=: )[ ]+\d+ bytes"),
    Row("scalapack-openmpi", "scalapack-mpi-test dpkg-dev", "openmpi", 4, "testers of LU and Cholesky", SCALAPACK_RUN, SCALAPACK_ANSWER,
        SCALAPACK),
    Row("scalapack-mpich", "scalapack-mpi-test dpkg-dev", "mpich", 4, "testers of LU and Cholesky", SCALAPACK_RUN, SCALAPACK_ANSWER, SCALAPACK),
    Row("hdf5-openmpi", "libhdf5-openmpi-dev hdf5-tools", "openmpi", 4, "a chunked table, written by all; `h5dump` reads it", "$RUN ./parallel && h5dump -H parallel.h5",
        r"(?m)^answer .*|DATASPACE.*", "h5pcc.openmpi -o parallel parallel.c", "hdf5"),
    Row("hdf5-mpich", "libhdf5-mpich-dev hdf5-tools", "mpich", 4, "a chunked table, written by all; `h5dump` reads it", "$RUN ./parallel && h5dump -H parallel.h5",
        r"(?m)^answer .*|DATASPACE.*", "h5pcc.mpich -o parallel parallel.c", "hdf5"),
    Row("h5py", "python3-h5py-mpi", "openmpi", 3, "a table that is written and read collectively", PYTHON + " table.py", ANSWER, folder="h5py"),
    Row("mpi4py", "python3-mpi4py", "openmpi", 3, "its `helloworld` and `ringtest`; objects, buffers and a file",
        f"{PYTHON} -m mpi4py.bench helloworld && {PYTHON} -m mpi4py.bench ringtest && {PYTHON} objects.py", r"(?m)^answer .*|I am process .*(?= on)|ring of .*?,",
        folder="mpi4py"),
    Row("petsc4py", "python3-petsc4py libpetsc-real-dev", "openmpi", 4, "Poisson's equation, by conjugate gradients", PYTHON + " poisson.py", ANSWER, folder="petsc4py"),
    Row("petsc", "libpetsc-real-dev libpetsc3.18-dev-examples pkg-config", "openmpi", 4, "four of its tutorials: two linear systems, a flow, a vector by MPI-IO", PETSC_RUN,
        PETSC_ANSWER, PETSC),
    Row("mumps", "mumps-test", "openmpi", 3, "its four examples", "for k in s d; do $RUN /usr/lib/mumps/${k}simpletest </usr/lib/mumps/input_simpletest_real || exit 1; done; "
        "for k in c z; do $RUN /usr/lib/mumps/${k}simpletest </usr/lib/mumps/input_simpletest_cmplx || exit 1; done", r"Solution is[^\n]*|INFOG\(1\)= *\S+", tolerance=1e-5),
    Row("lammps", "lammps lammps-examples", "openmpi", 4, "its example `melt`", "$RUN lmp -in /usr/share/lammps/examples/melt/in.melt", r"(?m)^ +\d+ +\S+ +\S+ +0 +\S+ +\S+"),
    Row("gromacs", "gromacs gromacs-data", "openmpi", 4, "100 steps of a box of 350 water molecules", "$RUN gmx_mpi mdrun -s water.tpr -ntomp 1 -reprod",
        r"Finished mdrun|Step +Time[^\n]*\n +100[^\n]*|Potential[^\n]*\n[^\n]*", WATER, "gromacs", reads=("md.log",), tolerance=1e-3),
    Row("quantum-espresso", "quantum-espresso quantum-espresso-data", "openmpi", 4, "a self-consistent field of silicon", "$RUN pw.x -in si.in",
        r"!? +total energy +=.*|convergence has been achieved in.*", PSEUDO, "qe"),
    Row("cp2k", "cp2k cp2k-data", "openmpi", 2, "the energy of a water molecule", "$RUN cp2k.psmp -i h2o.inp", r"ENERGY\|.*|SCF run converged.*", folder="cp2k"),
    Row("nwchem-openmpi", "nwchem-openmpi", "openmpi", 2, "energy and gradient of a water molecule", "$RUN nwchem.openmpi water.nw", r"Total SCF energy.*", folder="nwchem"),
    Row("nwchem-mpich", "nwchem-mpich", "mpich", 2, "energy and gradient of a water molecule", "$RUN nwchem.mpich water.nw", r"Total SCF energy.*", folder="nwchem"),
    Row("elpa", "libelpa-dev libscalapack-openmpi-dev", "openmpi", 4, "all eigenvalues of a matrix, by both of its solvers", "$RUN ./eigen && $RUN ./eigen 2", ANSWER,
        "mpicc.openmpi -o eigen eigen.c $(pkg-config --cflags --libs elpa) -lm", "elpa"),
    Row("p4est", "libp4est-dev", "openmpi", 4, "a forest, refined, balanced, spread and saved", "$RUN ./forest", ANSWER,
        "mpicc.openmpi -w -o forest forest.c -lp4est -lsc", "p4est"),
    Row("superlu-dist", "libsuperlu-dist-dev", "openmpi", 4, "its example `pddrive` with its matrix g20", SUPERLU + "$RUN $D/pddrive -r 2 -c 2 $D/g20.rua",
        r"Tiny Pivots: +\d+|nonzeros in L\+U +\d+|Steps +\d+"),
    Row("ptscotch", "ptscotch scotch", "openmpi", 4, "ordering and partition of a grid of 120 by 120", "$RUN dgpart 6 grid.grf parts -vm && sort -k2n parts | cut -f2 | uniq -c | wc -l && $RUN dgord grid.grf order -vt && wc -l order",
        r"Processors.*|(?m:^\d+.*)", "gmk_m2 120 120 >grid.grf"),
    Row("boost-mpi", "libboost-mpi-dev libboost-serialization-dev g++", "openmpi", 4, "serialized objects, collectives with functors", "$RUN ./ring", ANSWER,
        "mpic++.openmpi -O1 -o ring ring.cpp -lboost_mpi -lboost_serialization", "boost"),
    Row("rmpi", "r-cran-rmpi", "openmpi", 3, "collectives of numbers and of R's objects", "$RUN Rscript sum.R", ANSWER, folder="rmpi"),
    Row("coarrays-openmpi", "libcoarrays-openmpi-dev dpkg-dev", "openmpi", 4, "19 of the tests of OpenCoarrays", COARRAYS, r"\S+: .*"),
    Row("coarrays-mpich", "libcoarrays-mpich-dev dpkg-dev", "mpich", 4, "19 of the tests of OpenCoarrays", COARRAYS, r"\S+: .*"),
    Row("dolfinx", "python3-dolfinx", "openmpi", 3, "Poisson's equation by finite elements", PYTHON + " poisson.py", ANSWER, folder="dolfinx", tries=4),
    Row("openfoam", "openfoam openfoam-examples", "openmpi", 4, "the cavity of its tutorial", "WM_PROJECT_DIR=/usr/share/openfoam $RUN icoFoam -parallel",
        r"(?m)^Time = .*|Solving for .*", CAVITY),
    Row("paraview", "paraview python3-paraview", "openmpi", 3, "`pvbatch`: a contour and its area", "$RUN pvbatch sphere.py", ANSWER, folder="paraview"),
    Row("neuron", "neuron python3-neuron", "openmpi", 3, "a spike through a ring of cells", PYTHON + " ring.py", ANSWER, folder="neuron"),
]
