// SPDX-License-Identifier: BSD-3-Clause
// The layout of one rank's file of registered state: a head, then for each registered name a row
// and its bytes, each on a boundary of 16. The byte order is that of the machine that wrote the
// file; the magic word shows when it is another.
#ifndef PLI_ELASTIC_REGISTERED_WIRE_H
#define PLI_ELASTIC_REGISTERED_WIRE_H

#include <stdint.h>

enum { PLI_REGISTERED_MAGIC = 0x504c4b31, PLI_REGISTERED_ALIGN = 16, PLI_REGISTERED_NAME = 64 };

struct pli_registered_head {
    uint32_t magic, n_row;
    uint64_t spare;
};
_Static_assert(sizeof(struct pli_registered_head) == 16, "lies in checkpoints");

struct pli_registered_row {
    char name[PLI_REGISTERED_NAME];
    uint64_t bytes; // of the data behind this row, before the boundary
    uint64_t spare;
};
_Static_assert(sizeof(struct pli_registered_row) == 80, "lies in checkpoints");

#endif
