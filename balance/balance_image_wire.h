// SPDX-License-Identifier: BSD-3-Clause
// All data of an endpoint as bytes: a head, then for each registered part a row and its bytes, each
// on a boundary of 16. Numbers are in the byte order of the machine that wrote them; the magic word
// shows a reader with another order.
#ifndef PLI_BALANCE_IMAGE_WIRE_H
#define PLI_BALANCE_IMAGE_WIRE_H

#include <stdint.h>

#define PLI_BALANCE_IMAGE_MAGIC 0x504c4942u // "PLIB"
#define PLI_BALANCE_IMAGE_VERSION 1u
#define PLI_BALANCE_IMAGE_NONE UINT64_MAX // a size: this data was never set

struct pli_balance_image_head {
    uint32_t magic, version;
    uint32_t n_part, reserved;
    uint64_t bytes; // of the whole image
    uint64_t reserved2;
};
_Static_assert(sizeof(struct pli_balance_image_head) == 32, "lies in checkpoints");

struct pli_balance_image_row {
    char name[64];
    uint64_t bytes; // of the data behind this row, before the boundary
    uint64_t reserved;
};
_Static_assert(sizeof(struct pli_balance_image_row) == 80, "lies in checkpoints");

#endif
