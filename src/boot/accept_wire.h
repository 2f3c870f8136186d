// SPDX-License-Identifier: BSD-3-Clause
// What the launcher tells a rank over its accept socket, a packet socket: a process has connected,
// and here is the connection. The caller has proved that it belongs to the job. One packet each,
// with one descriptor. Nothing goes the other way.
#ifndef PLI_BOOT_ACCEPT_WIRE_H
#define PLI_BOOT_ACCEPT_WIRE_H

#include "boot/handshake.h"

#include <stdint.h>

enum { PLI_ACCEPT_CALL = 1 };

struct pli_accept_msg {
    uint32_t kind; // PLI_ACCEPT_CALL
    uint32_t proc; // the caller: index in the job
    uint8_t lane;  // from which of its lanes
    uint8_t to_lane;
    uint8_t is_again; // see handshake_wire.h
    uint8_t protect;  // see handshake_wire.h
    uint8_t spare[4];
    struct pli_handshake_keys keys; // as the rank has them
};
_Static_assert(sizeof(struct pli_accept_msg) == 80, "shared with other processes");

#endif
