// SPDX-License-Identifier: BSD-3-Clause
// What the files across_*.c share: one collective across MPI jobs, as one rank sees it.
#ifndef PLI_COLL_ACROSS_PRIV_H
#define PLI_COLL_ACROSS_PRIV_H

#include "coll/coll_args.h"

struct pli_hostmap;
struct pli_impi_coll_plan; // of impi/coll/impi_coll.h
struct pli_impi_map;
struct pli_sched;

struct pli_across_play {
    struct pli_sched *s;
    const struct pli_coll_args *a;
    const struct pli_hostmap *h; // the jobs
    const struct pli_impi_map *map;
    int tag;      // of local messages
    int own;      // of those between jobs, 0: as IMPI has it
    int root;     // rank
    int head;     // the rank that exchanges messages for my job: its first, or the root
    int head_at;  // its place among the members
    bool is_head; // I do
};

// What this rank says to other jobs in an enum pli_impi_coll_op, to be freed; NULL: no memory,
// which the schedule remembers. Messages added from now on are those.
struct pli_impi_coll_plan *pli_across_plan(const struct pli_across_play *p, int op);
// Messages added from now on are local, and peers are places among the members.
void pli_across_local(const struct pli_across_play *p);
// The same arguments as the members of my job see them, with the head as root.
struct pli_coll_args pli_across_args(const struct pli_across_play *p);

void pli_across_gather(const struct pli_across_play *p);  // and gatherv
void pli_across_scatter(const struct pli_across_play *p); // and scatterv
void pli_across_reduce(const struct pli_across_play *p);
void pli_across_scan(const struct pli_across_play *p);

#endif
