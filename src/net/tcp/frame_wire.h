// SPDX-License-Identifier: BSD-3-Clause
// What goes over a connection between two lanes: frames, each a head and perhaps bytes behind it.
// Numbers are in the machine's order; the handshake has found out that both ends have the same.
#ifndef PLI_NET_FRAME_WIRE_H
#define PLI_NET_FRAME_WIRE_H

#include <stdint.h>

enum {
    PLI_FRAME_MAGIC = 0x4c50,
    PLI_FRAME_EAGER_MAX = 1 << 20,  // bytes of a message that is sent before its receive is known
    PLI_FRAME_DATA_MAX = 1 << 20,   // bytes of one piece of a large message
    PLI_FRAME_ADDRESS_MAX = 1 << 16 // bytes of the address of a worker of UCX
};

// A message: EAGER, SYNC and RTS of msg/msg_wire.h. Requests are named by ids [reqid.h], which only
// the side that gave them can turn into anything.
struct pli_frame {
    uint8_t kind;  // enum pli_msg_kind
    uint8_t flags; // a message: enum pli_form of its data; else zero
    uint16_t magic;
    uint32_t len; // bytes behind this head
    union {
        struct {
            uint32_t dst_ep;
            int32_t src_rank, tag;
            uint32_t spare; // zero
            uint64_t context;
            uint64_t reqid; // SYNC, RTS: the sender's
            uint64_t size;  // of the whole message
        };
        uint64_t word[5]; // all other kinds; see msg/msg_wire.h
    };
};
_Static_assert(sizeof(struct pli_frame) == 48, "crosses the network");

#endif
