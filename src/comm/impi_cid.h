// SPDX-License-Identifier: BSD-3-Clause
// Contexts of communicators that span MPI jobs, as IMPI numbers them.
#ifndef PLI_COMM_IMPI_CID_H
#define PLI_COMM_IMPI_CID_H

#include "base/err.h"
#include "obj/group.h"

#include <stdint.h>

struct pli_comm;

// All members of a spanning intracommunicator agree on a context that none of them uses: the
// largest of those that each proposes. Where a client of another implementation takes part it is
// one more than the largest in use. Context: no lock held; waits; there one thread at a time per
// process, since IMPI's way of counting knows no threads.
enum pli_err pli_impi_cid_agree(struct pli_comm *parent, uint64_t *context_out);

// Its steps: the largest number of all members of an intracommunicator, spanning or not; n numbers
// above the largest of all, of which the first is returned; the context that has a number.
enum pli_err pli_impi_cid_max(struct pli_comm *comm, uint64_t *max_out);
enum pli_err pli_impi_cid_take(uint64_t max, unsigned n, uint64_t *cid_out);
uint64_t pli_impi_cid_context(uint64_t cid);
// The number of the local groups of an intercommunicator that has this one.
uint64_t pli_impi_cid_local(uint64_t cid);

// MPI_Comm_split with the messages that IMPI defines: colors and keys as integers, then a context.
enum pli_err pli_impi_cid_split(struct pli_comm *comm, int color, int key, struct pli_comm **out);

// Its steps: the color (-1: none) and key of each member, by turns, to be freed also after an
// error; the members of `from` that have a color, by key.
enum pli_err pli_impi_cid_votes(struct pli_comm *comm, int color, int key, int **out);
enum pli_err pli_impi_cid_group(const struct pli_group *from, const int *votes, int color,
                                struct pli_id me, struct pli_group **out);

#endif
