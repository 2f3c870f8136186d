// SPDX-License-Identifier: BSD-3-Clause
// The mark that a process writes at the end of each of its connections before it is frozen, and
// that the process that connected writes first to the new connection afterwards.
#ifndef PLI_CKPT_SOCK_WIRE_H
#define PLI_CKPT_SOCK_WIRE_H

#include <stdint.h>

enum { PLI_SOCK_MAGIC = 0x534f434b }; // "SOCK"

struct pli_sock_mark {
    uint32_t magic;
    uint32_t proc; // the process that writes the mark
    uint64_t id;   // of the connection, from the process that connected; 0 from the other
};
_Static_assert(sizeof(struct pli_sock_mark) == 16, "crosses the network");

#endif
