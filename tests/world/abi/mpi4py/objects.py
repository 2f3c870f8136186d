"""Collectives of Python objects and of buffers, a ring, and a file."""
import array

from mpi4py import MPI

c = MPI.COMM_WORLD
rank, size = c.Get_rank(), c.Get_size()
d = c.Dup()
everything = d.gather(sorted(d.bcast({"a": 1, "b": size}, 0).items()), 0)
total = c.allreduce(rank)
have = array.array("d", [rank + 0.5] * 1000)
got = array.array("d", [0.0] * 1000)
c.Allreduce([have, MPI.DOUBLE], [got, MPI.DOUBLE], op=MPI.MAX)
left = c.sendrecv({"from": rank, "data": "x" * 100000}, dest=(rank + 1) % size, source=(rank - 1) % size)
f = MPI.File.Open(c, "shared.bin", MPI.MODE_CREATE | MPI.MODE_RDWR)
f.Write_at_all(rank * 8000, have)
f.Sync()
c.Barrier()
f.Read_at_all(((rank + 1) % size) * 8000, got)
f.Close()
says = c.gather((left["from"], len(left["data"]), got[-1]), 0)
if rank == 0:
    print("answer", total, everything, says, flush=True)
d.Free()
