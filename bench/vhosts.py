"""Virtual hosts for measurements: network namespaces joined by a bridge, and how each MPI is started on them."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "vcluster"))
import cluster  # noqa: E402

# What a launcher calls as it would call ssh: options, a host, a command.
AGENT = """#!/bin/sh
while :; do
    case $1 in
    -*) shift ;;
    *) break ;;
    esac
done
exec {tool} --folder={folder} rsh "$@"
"""

# The network of the hosts and no other way between them; neighbours on a host talk as they like.
ENV = {
    "pliant": {"PLIANT_NET": "shm+tcp"},
    "mpich": {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"},
    "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,vader,self", "OMPI_MCA_btl_tcp_if_include": "eth0",
                "OMPI_MCA_oob_tcp_if_include": "eth0"},
}


class Hosts:
    """As many virtual hosts as a measurement may want. RuntimeError where there can be none."""

    def __init__(self, n):
        try:
            self.cluster = cluster.Cluster(n)
        except cluster.Skip as e:
            raise RuntimeError(f"no virtual hosts: {e}") from None
        self.agent = os.path.join(self.cluster.folder, "agent")
        with open(self.agent, "w", encoding="ascii") as f:
            f.write(AGENT.format(tool=cluster.TOOL, folder=self.cluster.folder))
        os.chmod(self.agent, 0o755)

    def close(self):
        self.cluster.close()

    def launch(self, contender, bench):
        """Words before the program: the launcher of this MPI with ranks on bench.hosts hosts."""
        names = self.cluster.names[:bench.hosts]
        each = bench.ranks // bench.hosts
        slots = ",".join(f"{name}:{each}" for name in names)
        best = ["-x", "BENCH_BEST"] if "BENCH_BEST" in os.environ else []  # the others pass all there is
        return [contender.launch, *{
            "pliant": ["--launcher", self.agent, "--hosts", slots, "--bind-to", "none"],
            "mpich": ["-launcher", "rsh", "-launcher-exec", self.agent, "-hosts", slots, "-ppn", str(each)],
            "openmpi": ["--mca", "plm_rsh_agent", self.agent, "--host", slots, "--oversubscribe", "--bind-to", "none",
                        *best],
        }[contender.name], "-n", str(bench.ranks)]

    def words(self, contender, bench):
        """What stands before the program, to be run on the first host."""
        return [*self.on_first(), *self.launch(contender, bench)]

    def on_first(self):
        """Words before a command that runs it on the first host."""
        pid = self.cluster.ask("pid", host=self.cluster.names[0])
        return ["nsenter", "-t", pid, "-n", "-u", "-i", "-m", "-p", "--", "sh", "-c", 'cd "$0" && exec "$@"', HERE]

    @staticmethod
    def env(contender):
        return {**contender.env, **ENV[contender.name]}
