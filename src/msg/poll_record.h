// SPDX-License-Identifier: BSD-3-Clause
// The record of a rank that waits by asking again and again (MPI_Test, MPI_Iprobe): when it has
// found nothing for a second it tells the launcher what it asks for, as a rank that sleeps does.
#ifndef PLI_MSG_POLL_RECORD_H
#define PLI_MSG_POLL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct pli_waiter;

// Tests in a row of this thread that found nothing: counted by progress.c.
extern _Thread_local uint32_t pli_poll_record_n_empty;

enum { PLI_POLL_RECORD_EVERY = 16 };

// Whether a call that found nothing is to look at the record now.
static inline bool pli_poll_record_is_due(void)
{
    return __builtin_expect(pli_poll_record_n_empty % PLI_POLL_RECORD_EVERY == 0, 0);
}

// w: the lane that was polled, and what was asked for, as for a wait. call: "MPI_Test". Context: no
// lock held.
void pli_poll_record_look(const struct pli_waiter *w, const char *call) __attribute__((cold));

#endif
