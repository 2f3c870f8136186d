// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms: what it prints, what a setting does, what a wrong one is told; and that
// a choice stays when a job is restarted where there are more cores or fewer.
#include "coll/coll_select.h"
#include "base/conf.h"
#include "boot/boot.h"
#include "coll/algorithms.h"
#include "coll/coll_args.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/handle.h"

#include "t.h"

#include <mpi.h>
#include <unistd.h>

enum { RANKS = 4 }; // as if there were so many

static pli_coll_build_fn choice(enum pli_coll_kind kind, MPI_Count bytes)
{
    struct pli_coll_args a = { .kind = kind,
                               .comm = pli_handle_get(MPI_COMM_WORLD, PLI_KIND_COMM),
                               .recv = { .count = bytes, .type = pli_datatype_basic(MPI_BYTE) } };
    const struct pli_coll_algo *algo = NULL;
    a.n = RANKS;
    T_MUST(pli_coll_select(&a, false, &algo) == PLI_OK);
    return algo->build;
}

static void restarted(uint32_t n_core)
{
    pli_node_restart_cores(pli_boot.node.header, n_core);
    T_EQ(pli_boot.node.header->n_core, n_core);
    T_OK(choice(PLI_COLL_BCAST, 8) == pli_bcast_linear);
    T_OK(choice(PLI_COLL_ALLTOALL, 1 << 20) == pli_alltoall_linear);
}

// Some ranks may have begun an operation before the checkpoint that others begin after it.
static void stays(void)
{
    MPI_Init(NULL, NULL);
    pli_boot.node.header->n_core = RANKS;
    T_OK(choice(PLI_COLL_BCAST, 8) == pli_bcast_binomial);
    pli_boot.node.header->n_core = RANKS - 1;
    restarted(RANKS - 1);
    restarted(RANKS + 1);
    restarted(1);
    MPI_Finalize();
}

int main(void)
{
    // Complaints go to standard error: catch them.
    char said[4096] = "";
    int ends[2], keep = dup(2);
    T_MUST(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    setenv("PLIANT_COLL", "allreduce:ring,bcast:bogus,fly:high,alone,,scan:linear", 1);
    pli_conf_load();
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    T_MUST(to != NULL);
    pli_coll_select_print(to);
    fclose(to);
    T_MUST(dup2(keep, 2) == 2);
    close(ends[1]);
    ssize_t got = read(ends[0], said, sizeof said - 1);
    T_MUST(got > 0);
    T_HAS(said, "no algorithm 'bogus'; there is board, nodes, hier, linear, binomial, chain");
    T_HAS(said, "no collective operation 'fly'; there is barrier, bcast");
    T_HAS(said, "'alone' is not operation:algorithm");
    for (int k = 0; k < PLI_N_COLL; k++) {
        T_HAS(text, pli_coll_kind_info[k].name);
    }
    const char *ring = strstr(text, "  ring       pieces go around twice");
    T_MUST(ring != NULL);
    char line[200];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(ring, "\n"), ring);
    T_HAS(line, "chosen by PLIANT_COLL");
    T_HAS(text, "up to 256 bytes, from 32 ranks\n"); // rounds begin later where messages are cheap
    T_HAS(text, "up to 256 bytes, from 16 ranks, on several hosts\n");
    free(text);
    stays();
    return t_status();
}
