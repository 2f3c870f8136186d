// SPDX-License-Identifier: BSD-3-Clause
// The steps of a split of a communicator that spans clients. Each returns an MPI error code.
#ifndef PLI_SHIM_SPLIT_H
#define PLI_SHIM_SPLIT_H

#include "shim/shim.h"

enum { PLI_SHIM_SPLIT_EACH = 8 }; // bytes of a vote: colour (-1: none) and key, Int4 each

int pli_shim_split_votes(MPI_Comm comm, int colour, int key, unsigned char *all); // of all members
// Those of the `n` members `from` that have the colour, by key.
int pli_shim_split_pick(const unsigned char *votes, const uint32_t *from, int n, int colour,
                        uint32_t *world, int *n_out);

#endif
