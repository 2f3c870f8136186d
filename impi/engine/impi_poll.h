// SPDX-License-Identifier: BSD-3-Clause
// For loops that look for a message a few times before they sleep, since to wake a process is the
// dearest part of a short message's way. Context: one thread.
#ifndef PLI_IMPI_POLL_H
#define PLI_IMPI_POLL_H

#include <stdbool.h>

enum { PLI_IMPI_POLL_LOOKS = 100 }; // in vain, one after the other

// Let others run that want this core. False, and nothing was done: something else computes on it,
// so that this would take long; better sleep.
bool pli_impi_poll_give_way(void);

#endif
