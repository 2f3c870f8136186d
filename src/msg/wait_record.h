// SPDX-License-Identifier: BSD-3-Clause
// The record a rank leaves when it goes to sleep for long: what it waits for, and from where. The
// launcher reads it to say which rank waits for which.
#ifndef PLI_MSG_WAIT_RECORD_H
#define PLI_MSG_WAIT_RECORD_H

struct pli_waiter;

// Context: no lock held, about to sleep. Written when a sleep has lasted already, so never on the
// way of a message.
void pli_wait_record_write(struct pli_waiter *w) __attribute__((cold));
void pli_wait_record_erase(struct pli_waiter *w) __attribute__((cold));

#endif
