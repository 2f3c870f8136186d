// SPDX-License-Identifier: BSD-3-Clause
// How the launcher resumes a frozen process. The process reads one word from its resume pipe, whose
// other end the launcher has; connects to the address in it; says PLI_CTL_BACK there; and gets the
// node memory and, in a job with a network, in a second packet, its accept socket. That connection
// is its control socket from then on. Same host.
//
// In a job with a network two words come before: when all processes of the job stand still they are
// to empty their connections; when all have, they are to leave. Or instead of the first: to stay.
#ifndef PLI_CKPT_FREEZE_WIRE_H
#define PLI_CKPT_FREEZE_WIRE_H

#include <stdint.h>

// The signal that freezes a process. Its default action would end a process that has no handler, so
// it is sent only to those whose row says that MPI was started.
enum { PLI_FREEZE_SIGNAL = 60, PLI_FREEZE_NAME = 48 };

enum pli_freeze_what { PLI_FREEZE_BACK, PLI_FREEZE_STAY, PLI_FREEZE_DRAIN, PLI_FREEZE_LEAVE };

struct pli_freeze_word {
    char name
        [PLI_FREEZE_NAME]; // PLI_FREEZE_BACK: abstract address of a packet socket, after the zero
    uint32_t what;         // enum pli_freeze_what
    uint32_t row;          // PLI_FREEZE_BACK, to one who comes from another host: what it is here
};
_Static_assert(sizeof(struct pli_freeze_word) == 56, "shared with other processes");

#endif
