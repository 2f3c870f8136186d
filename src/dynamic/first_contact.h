// SPDX-License-Identifier: BSD-3-Clause
// Two processes that have nothing in common but a context: the first words between them.
#ifndef PLI_DYNAMIC_FIRST_CONTACT_H
#define PLI_DYNAMIC_FIRST_CONTACT_H

#include "base/err.h"
#include "obj/group.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;

enum { PLI_FIRST_CONTACT_TAG = 1 };

// A communicator of the process that speaks in `like` and another, in this order or the other, that
// nobody but the caller sees. Local. Released with pli_first_contact_drop.
enum pli_err pli_first_contact_make(struct pli_comm *like, struct pli_id other, bool is_first,
                                    uint64_t context, struct pli_comm **out);
void pli_first_contact_drop(struct pli_comm *bridge); // NULL is fine

// Say a few words to the other (rank `far`).
enum pli_err pli_first_contact_say(struct pli_comm *bridge, int far, const void *buf, size_t len);

// Hear a few words from whoever knows the context. Called now and then while nothing comes, `watch`
// says why waiting is of no use any more: PLI_OK means it is.
typedef enum pli_err (*pli_first_contact_watch_fn)(void *arg);
enum pli_err pli_first_contact_hear(struct pli_comm *bridge, void *buf, size_t len,
                                    pli_first_contact_watch_fn watch, void *arg);

#endif
