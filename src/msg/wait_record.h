// SPDX-License-Identifier: BSD-3-Clause
// The record a rank leaves when it goes to sleep for long: what it waits for, and from where. The
// launcher reads it to say which rank waits for which.
#ifndef PLI_MSG_WAIT_RECORD_H
#define PLI_MSG_WAIT_RECORD_H

#include <stdint.h>

struct pli_waiter;

// The waiters that have a record. For debuggers: requests of blocking calls are in no other list.
extern struct pli_waiter *pli_wait_record_first;

// Context: no lock held, about to sleep. Written when a sleep has lasted already, so never on the
// way of a message.
void pli_wait_record_write(struct pli_waiter *w) __attribute__((cold));
void pli_wait_record_erase(struct pli_waiter *w) __attribute__((cold));

// The same for a rank that polls in vain; call: "MPI_Test". The first record stays until it ends,
// or until the rank goes to sleep. Returns the question as below. Context: one thread calls MPI.
uint32_t pli_wait_record_polling(const struct pli_waiter *w, const char *call)
    __attribute__((cold));
void pli_wait_record_answer_polling(uint32_t question) __attribute__((cold));
void pli_wait_record_end_polling(void) __attribute__((cold));

// The launcher asks whether the rank has looked and found nothing: the number of a question that
// the record of this waiter has no answer to, 0: there is none.
uint32_t pli_wait_record_question(const struct pli_waiter *w);
// The answer, after everything was polled and the condition was looked at since the question was
// read: the rank still waits, and nothing that it sent is on its way.
void pli_wait_record_answer(struct pli_waiter *w, uint32_t question) __attribute__((cold));

#endif
