// SPDX-License-Identifier: BSD-3-Clause
// For loops that look for a message a few times before they sleep, since to wake a process is the
// dearest part of a short message's way. Context: one thread.
#ifndef PLI_IMPI_PACE_H
#define PLI_IMPI_PACE_H

#include <stdbool.h>

enum { PLI_IMPI_PACE_LOOKS = 100 }; // in vain, one after the other

// Let others run that want this core. False, and nothing was done: something else computes on it,
// so that this would take long; better sleep.
bool pli_impi_pace_give_way(void);

#endif
