// SPDX-License-Identifier: BSD-3-Clause
// What a process that is about to be parked writes at the end of each of its connections, and what
// the one that called writes first to the connection that goes on for it afterwards.
#ifndef PLI_CKPT_SOCK_WIRE_H
#define PLI_CKPT_SOCK_WIRE_H

#include <stdint.h>

enum { PLI_SOCK_MAGIC = 0x4d4f4f52 }; // "MOOR"

struct pli_sock_mark {
    uint32_t magic;
    uint32_t proc; // who writes it
    uint64_t id;   // of the connection, by the one that called; 0 from the other
};
_Static_assert(sizeof(struct pli_sock_mark) == 16, "crosses the network");

#endif
