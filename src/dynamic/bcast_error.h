// SPDX-License-Identifier: BSD-3-Clause
// Shares the result of something that the root did for all members: if it failed there, it fails at
// all of them with the root's error text.
#ifndef PLI_DYNAMIC_BCAST_ERROR_H
#define PLI_DYNAMIC_BCAST_ERROR_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct pli_comm;

// Collective over comm. why: the root's error, with its text, or PLI_OK; all members return it.
// word: in at the root, out at all members; 0, also at the root, where it could not be broadcast.
enum pli_err pli_bcast_error_share(struct pli_comm *comm, int root, enum pli_err why,
                                   int32_t *word);

// Broadcast bytes of the root.
enum pli_err pli_bcast_error_copy(struct pli_comm *comm, int root, void *buf, size_t len);

// Whether the other members can still come to that broadcast: none has died, and the communicator
// is not revoked.
enum pli_err pli_bcast_error_await(const struct pli_comm *comm);

#endif
