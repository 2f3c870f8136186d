// SPDX-License-Identifier: BSD-3-Clause
// A lane uses few blocks while its readers give them back, and all of them when they do not.
#include "net/shm/shm.h"

#include "boot/boot.h"
#include "boot/node.h"
#include "t.h"

#include <mpi.h>

static const size_t sizes[PLI_SHM_N_CLASS] = { 1024, 8192, PLI_SHM_BLOCK_MAX };

static int place(const struct pli_shm *s, int class, const struct pli_shm_block *b)
{
    return (int)(((const char *)b - (const char *)s->class[class].first) /
                 (long)s->class[class].step);
}

int main(void)
{
    struct pli_shm s;
    MPI_Init(NULL, NULL);
    T_MUST(pli_shm_open(&s, &pli_boot.node, pli_boot.row, PLI_NODE_N_LANE - 1) == PLI_OK);
    for (int k = 0; k < PLI_SHM_N_CLASS; k++) {
        int n = (int)s.class[k].n, most = 0, n_taken = 0;
        struct pli_shm_block *b, *taken[64];
        for (int i = 0; i < 10 * n; i++) {
            T_MUST((b = pli_shm_block_take(&s, sizes[k])) != NULL);
            most = place(&s, k, b) > most ? place(&s, k, b) : most;
            pli_shm_block_done(b);
        }
        T_EQ(most, n / 4 - 1);
        uint64_t seen = 0;
        while ((b = pli_shm_block_take(&s, sizes[k])) != NULL) {
            T_MUST(n_taken < n);
            taken[n_taken++] = b;
            seen |= UINT64_C(1) << place(&s, k, b);
        }
        T_EQ(n_taken, n);
        T_OK(seen == UINT64_MAX >> (64 - n)); // each once
        pli_shm_block_done(taken[n / 2]);
        T_OK(pli_shm_block_take(&s, sizes[k]) == taken[n / 2]);
    }
    MPI_Finalize();
    return t_status();
}
