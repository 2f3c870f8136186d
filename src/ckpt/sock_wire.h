// SPDX-License-Identifier: BSD-3-Clause
// What a process that is about to be frozen writes at the end of each of its connections, and what
// the one that called writes first to the connection that goes on for it afterwards.
#ifndef PLI_CKPT_SOCK_WIRE_H
#define PLI_CKPT_SOCK_WIRE_H

#include <stdint.h>

enum { PLI_SOCK_MAGIC = 0x534f434b }; // "SOCK"

struct pli_sock_mark {
    uint32_t magic;
    uint32_t proc; // who writes it
    uint64_t id;   // of the connection, by the one that called; 0 from the other
};
_Static_assert(sizeof(struct pli_sock_mark) == 16, "crosses the network");

#endif
