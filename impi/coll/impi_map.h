// SPDX-License-Identifier: BSD-3-Clause
// Which members of a communicator belong to which client, and its masters: the master of a client
// is its lowest rank in the communicator, and masters are numbered by ascending rank. Pure but for
// the memory of the map. Context: any thread; a made map is read-only.
#ifndef PLI_IMPI_MAP_H
#define PLI_IMPI_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "impi/wire/impi_err.h"

struct pli_impi_job;

struct pli_impi_map {
    int size, n_master, n_host;
    int *number; // by rank: the number of the master of its client, which is also its client colour
    int *host;   // by rank: host colour, 0 .. n_host-1 by first appearance
    int *master; // by number: the master's rank
    int *first;  // by number: where its client begins in `local`; n_master + 1 entries
    int *local;  // ranks, client by client, ascending in each
};

// The communicator whose rank i is `world[i]` in MPI_COMM_WORLD. ERR_RANGE: no such process.
enum pli_impi_err pli_impi_map_create(const struct pli_impi_job *job, const uint32_t *world,
                                      int size, struct pli_impi_map **out);
void pli_impi_map_destroy(struct pli_impi_map *m);

static inline bool pli_impi_map_are_local(const struct pli_impi_map *m, int a, int b)
{
    return m->number[a] == m->number[b];
}

static inline bool pli_impi_map_is_master(const struct pli_impi_map *m, int rank)
{
    return m->master[m->number[rank]] == rank;
}

// Who takes part in a rooted operation for the client of `rank`: the root itself in its own client,
// the master elsewhere.
static inline int pli_impi_map_head(const struct pli_impi_map *m, int root, int rank)
{
    return pli_impi_map_are_local(m, root, rank) ? root : m->master[m->number[rank]];
}

static inline int pli_impi_map_n_local(const struct pli_impi_map *m, int rank)
{
    return m->first[m->number[rank] + 1] - m->first[m->number[rank]];
}

// The ranks of the client of `rank`, ascending; pli_impi_map_n_local of them.
static inline const int *pli_impi_map_locals(const struct pli_impi_map *m, int rank)
{
    return m->local + m->first[m->number[rank]];
}

#endif
