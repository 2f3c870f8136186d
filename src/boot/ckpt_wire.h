// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints, in the node memory: what the launcher says of them.
#ifndef PLI_BOOT_CKPT_WIRE_H
#define PLI_BOOT_CKPT_WIRE_H

#include "boot/node_wire.h"

#include <stdatomic.h>
#include <stdint.h>

// A process that waits for a checkpoint reads n_begun, asks, and sleeps on n_done until that is
// larger.
struct pli_node_save {
    _Atomic int n_begun;    // the last attempt that was begun
    _Atomic int n_done;     // the last one that is over
    _Atomic int generation; // how often the job was restarted
    int32_t error;          // of the last attempt: errno, 0: it is good
    uint32_t number;        // of the last good one
    uint32_t how;           // enum pli_node_save_how
    _Atomic int wanted;     // the program is to make one: the attempt that will do, 0: none
    uint32_t n_piece;       // ranks whose state is in `from`
    char text[224];         // with an error: the reason
    char to[1024];          // where the program is to write its state
    char from[1024];        // the checkpoint whose state the program is to take up; empty: none
};
_Static_assert(sizeof(struct pli_node_save) == 2304, "shared with other processes");
_Static_assert(PLI_NODE_SAVE + sizeof(struct pli_node_save) <= PLI_NODE_HEADER, "fits the page");

static inline struct pli_node_save *pli_node_save(struct pli_node_header *h)
{
    return (struct pli_node_save *)((char *)h + PLI_NODE_SAVE);
}

// Behind that: host + 1 whose processes are on their way to another one while the others go on, and
// are neither called nor written to; 0: none are.
enum { PLI_NODE_MOVING = PLI_NODE_SAVE + sizeof(struct pli_node_save) };
_Static_assert(PLI_NODE_MOVING + sizeof(_Atomic uint32_t) <= PLI_NODE_HEADER, "fits the page");

static inline _Atomic uint32_t *pli_node_moving(const struct pli_node_header *h)
{
    return (_Atomic uint32_t *)((uintptr_t)h + PLI_NODE_MOVING);
}

enum pli_node_save_how {
    PLI_NODE_SAVE_OFF,
    PLI_NODE_SAVE_IMAGE, // of whole processes
    PLI_NODE_SAVE_STATE, // of what programs register
    PLI_NODE_SAVE_MOVE   // none, but processes may go to another host
};

#endif
