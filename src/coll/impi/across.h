// SPDX-License-Identifier: BSD-3-Clause
// Collectives on communicators that span MPI jobs: local phases as we like, and between the jobs
// exactly the messages that IMPI has for the operation, which impi/coll plans.
#ifndef PLI_COLL_ACROSS_H
#define PLI_COLL_ACROSS_H

struct pli_coll_args;
struct pli_sched;

// The two ways to build any collective on a spanning communicator: as IMPI has it, with tags that
// successive operations share; or, for operations that may overlap and that IMPI does not know,
// under a tag of its own, which is for clients that have what docs/design/impi.md calls LATER.
void pli_across_now(struct pli_sched *s, const struct pli_coll_args *a);
void pli_across_later(struct pli_sched *s, const struct pli_coll_args *a);
// The same for one group of an intercommunicator, under the tag that the schedule has.
void pli_across_group(struct pli_sched *s, const struct pli_coll_args *a);

#endif
