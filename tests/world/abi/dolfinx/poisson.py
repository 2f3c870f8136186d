"""Poisson's equation on a mesh of the unit square that is spread over the ranks."""
import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py.PETSc import ScalarType

c = MPI.COMM_WORLD
domain = mesh.create_unit_square(c, 24, 24)
space = fem.FunctionSpace(domain, ("Lagrange", 1))
facets = mesh.locate_entities_boundary(domain, 1, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
bc = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(space, 1, facets), space)
u, v, x = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.SpatialCoordinate(domain)
f = 10 * ufl.exp(-((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2) / 0.02)
problem = LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, ufl.inner(f, v) * ufl.dx, bcs=[bc],
                        petsc_options={"ksp_type": "cg", "pc_type": "bjacobi", "ksp_rtol": 1e-10})
solution = problem.solve()
total = c.allreduce(fem.assemble_scalar(fem.form(solution * ufl.dx)), op=MPI.SUM)
cells = domain.topology.index_map(2).size_global
if c.rank == 0:
    print(f"answer {cells} {total:.8e}", flush=True)
