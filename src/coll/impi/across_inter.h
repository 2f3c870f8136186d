// SPDX-License-Identifier: BSD-3-Clause
// Collectives on intercommunicators that span MPI jobs.
#ifndef PLI_COLL_ACROSS_INTER_H
#define PLI_COLL_ACROSS_INTER_H

struct pli_coll_args;
struct pli_sched;

// On an intercommunicator that spans jobs, as IMPI has it.
void pli_across_inter(struct pli_sched *s, const struct pli_coll_args *a);
// The same messages under a tag of its own, for operations that may overlap.
void pli_across_inter_later(struct pli_sched *s, const struct pli_coll_args *a);

#endif
