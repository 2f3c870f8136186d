"""A Poisson problem on a distributed grid, by conjugate gradients with block Jacobi."""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

n = 64
grid = PETSc.DMDA().create([n, n], stencil_width=1)
a = grid.createMatrix()
(x0, x1), (y0, y1) = grid.getRanges()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for j in range(y0, y1):
    for i in range(x0, x1):
        row.index = (i, j)
        a.setValueStencil(row, row, 4.0)
        for k, m in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
            if 0 <= k < n and 0 <= m < n:
                col.index = (k, m)
                a.setValueStencil(row, col, -1.0)
a.assemble()
b, x = grid.createGlobalVec(), grid.createGlobalVec()
b.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(a)
solver.setType("cg")
solver.getPC().setType("bjacobi")
solver.setTolerances(rtol=1e-9)
solver.solve(b, x)
PETSc.Sys.Print(f"answer {solver.getConvergedReason()} {solver.getIterationNumber()} {x.norm():.8e} {x.max()[1]:.8e}")
