// SPDX-License-Identifier: BSD-3-Clause
// How the launcher calls a parked process back. The process reads one word from its rope, a pipe
// whose other end the launcher has; connects to the address in it; says PLI_CTL_BACK there; and
// gets the node memory. That connection is its control socket from then on. Same host.
#ifndef PLI_BOOT_PARK_WIRE_H
#define PLI_BOOT_PARK_WIRE_H

#include <stdint.h>

// The signal that parks a process. Its default action would end a process that has no handler, so
// it is sent only to those whose row says that MPI was started.
enum { PLI_PARK_SIGNAL = 60, PLI_PARK_NAME = 48 };

struct pli_park_word {
    char name[PLI_PARK_NAME]; // abstract address of a packet socket, after the zero
};
_Static_assert(sizeof(struct pli_park_word) == 48, "shared with other processes");

#endif
