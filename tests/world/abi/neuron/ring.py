"""A ring of cells, spread over the ranks, through which a spike runs."""
from neuron import h

h.nrnmpi_init()
h.load_file("stdrun.hoc")
pc = h.ParallelContext()
rank, size, n = int(pc.id()), int(pc.nhost()), 12
cells, links = {}, []
for gid in range(rank, n, size):
    soma = h.Section(name=f"soma{gid}")
    soma.L = soma.diam = 12.6157
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    synapse.tau = 2
    cells[gid] = (soma, synapse)
    pc.set_gid2node(gid, rank)
    pc.cell(gid, h.NetCon(soma(0.5)._ref_v, None, sec=soma))
for gid, (soma, synapse) in cells.items():
    link = pc.gid_connect((gid - 1) % n, synapse)
    link.weight[0], link.delay = 0.05, 2
    links.append(link)
if 0 in cells:
    start = h.NetStim()
    start.number, start.start = 1, 5
    begin = h.NetCon(start, cells[0][1])
    begin.weight[0] = 0.05
times, ids = h.Vector(), h.Vector()
for gid in cells:
    pc.spike_record(gid, times, ids)
pc.set_maxstep(10)
h.finitialize(-65)
pc.psolve(100)
got = pc.py_gather(list(zip(times, ids)), 0)
if rank == 0:
    spikes = sorted(s for part in got for s in part)
    print("answer", size, len(spikes), " ".join(f"{t:.4f} {int(i)}" for t, i in spikes[:20]), flush=True)
pc.barrier()
h.quit()
