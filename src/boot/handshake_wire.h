// SPDX-License-Identifier: BSD-3-Clause
// How a process that calls another and the listener for that one prove to each other that they
// belong to the same job. Three messages, of fixed size:
//
//     caller    open   a random number
//     listener  reply  a random number of its own, and the keyed hash of both: it knows the secret
//     caller    join   both indices, and the keyed hash of that and both numbers: so does it
//
// Both hashes are also over the address and port at which the listener was called. The secret
// itself never travels, and neither hash is of use in another conversation. After its join the
// caller may send frames at once; where the join asks for it, as records under keys that both have
// made of the secret and of all that was said.
#ifndef PLI_BOOT_HANDSHAKE_WIRE_H
#define PLI_BOOT_HANDSHAKE_WIRE_H

#include <stdint.h>

enum {
    PLI_HANDSHAKE_MAGIC = 0x54494c50, // "PLIT" as it stands on the wire
    PLI_HANDSHAKE_VERSION = 3,
    PLI_HANDSHAKE_ORDER =
        0x0102, // numbers are written as the machine has them: see boot/handshake.c
    PLI_HANDSHAKE_NONCE = 32,
    PLI_HANDSHAKE_MAC = 32
};

enum pli_handshake_protect { PLI_HANDSHAKE_PLAIN, PLI_HANDSHAKE_AUTH, PLI_HANDSHAKE_ENCRYPT };

struct pli_handshake_open {
    uint32_t magic;
    uint16_t version, order;
    unsigned char nonce[PLI_HANDSHAKE_NONCE];
};
_Static_assert(sizeof(struct pli_handshake_open) == 40, "crosses the network");

struct pli_handshake_reply {
    uint32_t magic;
    uint16_t version, order;
    unsigned char nonce[PLI_HANDSHAKE_NONCE];
    unsigned char mac[PLI_HANDSHAKE_MAC];
};
_Static_assert(sizeof(struct pli_handshake_reply) == 72, "crosses the network");

struct pli_handshake_join {
    uint32_t from, to; // indices in the job
    uint8_t lane, to_lane;
    uint8_t is_again; // goes on for one that a checkpoint has ended, see sock_wire.h
    uint8_t protect;  // enum pli_handshake_protect, of all that follows
    uint8_t spare[4]; // zero
    unsigned char mac[PLI_HANDSHAKE_MAC];
};
_Static_assert(sizeof(struct pli_handshake_join) == 48, "crosses the network");

#endif
