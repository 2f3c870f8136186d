// SPDX-License-Identifier: BSD-3-Clause
// How members tell each other that an exposure has begun, and that an access is over: by words in
// memory that both have, or by empty messages.
#ifndef PLI_RMA_WIN_EPOCH_H
#define PLI_RMA_WIN_EPOCH_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pli_request;
struct pli_win;
struct pli_win_member;
struct pli_win_members;

// The words of this member's memory; without memory for them there are messages.
void pli_win_epoch_make(struct pli_win *w, int n);
uint64_t pli_win_epoch_offset(const struct pli_win *w); // in the arena; 0: there are none
// Which words this member and another one have, by what all have told.
void pli_win_epoch_connect(const struct pli_win *w, int rank, const struct pli_win_member *infos);

// One that an epoch waits for.
struct pli_win_awaited {
    int rank; // -1: it has died
    // A count, and how much of it was waited for before; NULL: a message.
    const _Atomic uint32_t *word;
    uint32_t *n_before;
    struct pli_request *message; // NULL: none will come
};

// Room for the members of an epoch; false: no memory.
bool pli_win_epoch_reserve(struct pli_win_members *m, int n);

// Tell a member; tag: PLI_WIN_TAG_POST or PLI_WIN_TAG_COMPLETE. The second is told when the
// accesses are done, or will be before the member reads a message (pli_win_flush_hand_over).
enum pli_err pli_win_epoch_tell(struct pli_win *w, int rank, uint32_t tag);
// Begin to wait until all members tell so.
enum pli_err pli_win_epoch_await(struct pli_win *w, struct pli_win_members *m, uint32_t tag);
// Wait; the first error. The rank of a member that will not tell becomes -1. what: "an access".
enum pli_err pli_win_epoch_wait(struct pli_win *w, struct pli_win_members *m, uint32_t tag,
                                const char *what);
// Whether pli_win_epoch_wait would not wait.
bool pli_win_epoch_is_over(const struct pli_win_members *m);

#endif
