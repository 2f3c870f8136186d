// SPDX-License-Identifier: BSD-3-Clause
// The first messages between two processes that share nothing but a context.
#ifndef PLI_DYNAMIC_FIRST_CONTACT_H
#define PLI_DYNAMIC_FIRST_CONTACT_H

#include "base/err.h"
#include "obj/group.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;

enum { PLI_FIRST_CONTACT_TAG = 1 };

// A private communicator of the process that is a member of `like` and another process; is_first:
// the caller is rank 0 of it. Local. Freed with pli_first_contact_free.
enum pli_err pli_first_contact_make(struct pli_comm *like, struct pli_id other, bool is_first,
                                    uint64_t context, struct pli_comm **out);
void pli_first_contact_free(struct pli_comm *pair_comm); // NULL is fine

// Send a short message to the other process (rank `far`).
enum pli_err pli_first_contact_send(struct pli_comm *pair_comm, int far, const void *buf,
                                    size_t len);

// Receive a short message from any process that knows the context. `watch` is called from time to
// time while none has come: PLI_OK means go on waiting, an error ends the wait and is returned.
typedef enum pli_err (*pli_first_contact_watch_fn)(void *arg);
enum pli_err pli_first_contact_recv(struct pli_comm *pair_comm, void *buf, size_t len,
                                    pli_first_contact_watch_fn watch, void *arg);

#endif
