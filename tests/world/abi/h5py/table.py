"""Every rank writes its rows of one data set, collectively, and reads another's."""
import h5py
import numpy
from mpi4py import MPI

c = MPI.COMM_WORLD
rank, size = c.rank, c.size
with h5py.File("table.h5", "w", driver="mpio", comm=c) as f:
    d = f.create_dataset("table", (size * 100, 50), dtype="f8")
    with d.collective:
        d[rank * 100:(rank + 1) * 100, :] = numpy.arange(5000).reshape(100, 50) + rank
    d.attrs["ranks"] = size
c.Barrier()
with h5py.File("table.h5", "r", driver="mpio", comm=c) as f:
    other = (rank + 1) % size
    part = float(f["table"][other * 100:(other + 1) * 100, :].sum())
    total = c.allreduce(part)
    if rank == 0:
        print("answer", h5py.get_config().mpi, total, f["table"].shape, int(f["table"].attrs["ranks"]), flush=True)
