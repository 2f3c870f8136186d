// SPDX-License-Identifier: BSD-3-Clause
// How the launcher resumes a frozen process. The process reads a struct pli_freeze_word from its
// resume pipe, connects to the address in it, sends PLI_CTL_BACK there, and receives the node
// memory and, in a job with a network, in a second packet, its accept socket. That connection is
// its control socket from then on. Both are on the same host.
//
// In a job with a network two such words come before: PLI_FREEZE_DRAIN when all processes of the
// job are stopped, and PLI_FREEZE_LEAVE when all have drained their connections; or PLI_FREEZE_STAY
// in place of the first.
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
    // PLI_FREEZE_BACK, to a process that was moved from another host: its row here
    uint32_t row;
};
_Static_assert(sizeof(struct pli_freeze_word) == 56, "shared with other processes");

// What a copy of a process tells of itself, in a file that is sent with PLI_CTL_COPIED, after the
// resume pipe: how many threads besides the first and how many regular files it has, then which of
// its threads stands for which, then the descriptors of the files.
struct pli_freeze_copied {
    uint32_t n_thread, n_file;
};
struct pli_freeze_thread {
    int32_t copy, original;
};
#endif
