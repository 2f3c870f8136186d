# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe for Pliant MPI. Put this file into packages/pliant-mpi/ of a Spack repository of yours, and say in `git` where
your copy of the sources is."""
from spack.package import *


class PliantMpi(CMakePackage):
    """Pliant MPI, an implementation of MPI 5.0 whose worlds can change: threads and processes hold ranks, and jobs grow, shrink
    and are written to disk while they run."""

    git = "file:///usr/local/src/pliant-mpi"

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("fortran", default=True, description="Fortran interfaces")
    variant("ucx", default=True, description="Fast networks by UCX")
    variant("uring", default=True, description="Files by io_uring where that is faster")

    provides("mpi@:5.0")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("hwloc@2:")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("liburing@2.2:", when="+uring")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("PLIANT_FORTRAN", "fortran"),
            self.define_from_variant("PLIANT_UCX", "ucx"),
            self.define_from_variant("PLIANT_URING", "uring"),
            self.define("BUILD_TESTING", False),
        ]

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)

    def setup_run_environment(self, env):
        for name, tool in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpifort")):
            env.set(name, join_path(self.prefix.bin, tool))

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")
