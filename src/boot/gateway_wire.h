// SPDX-License-Identifier: BSD-3-Clause
// The gateway of a job that is one client of an IMPI job, in the node memory: the other clients, as
// the clients agreed, and the memory through which large messages pass. One more process of the
// host, the agent, has a row and an area behind those of the ranks. Written by the agent before the
// ranks start.
#ifndef PLI_BOOT_GATEWAY_WIRE_H
#define PLI_BOOT_GATEWAY_WIRE_H

#include "base/host_clock.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    PLI_GATEWAY_N_CLIENT = 32,
    PLI_GATEWAY_N_HOST = 8192, // of the whole IMPI job
};

enum pli_gateway_way { // by which the agent reaches a host of another client
    PLI_GATEWAY_NONE,
    PLI_GATEWAY_LOCAL,
    PLI_GATEWAY_PLAIN,
    PLI_GATEWAY_TLS,
    PLI_GATEWAY_RELAYED,
    PLI_GATEWAY_N_WAY,
    PLI_GATEWAY_LINKS = 4, // bits
};

struct pli_gateway_client {
    uint32_t first, n; // MPI_COMM_WORLD ranks
};

struct pli_gateway {
    uint32_t client; // which one this job is
    uint32_t n_client, n_host;
    uint32_t datalen; // bytes of data in one packet
    int32_t tag_ub, xsize, maxlinear;
    uint8_t has_long8;   // a long has 8 bytes between clients, and not the 4 of external32
    uint8_t has_made;    // one process makes the number of a communicator: no number is counted up
    uint8_t has_later;   // all clients have what goes between jobs of Pliant MPI only
    uint8_t has_windows; // and windows
    uint8_t has_files;   // and files
    uint8_t has_atomic;  // and atomic mode of files between different MPIs
    uint64_t heap, heap_size; // offset of the memory for messages; sparse
    struct pli_gateway_client clients[PLI_GATEWAY_N_CLIENT];
    uint32_t host_first[PLI_GATEWAY_N_HOST]; // first rank of every host
    // The way to every host, once the agent is connected to it; from bit 4 up, by how many
    // connections.
    _Atomic uint8_t way[PLI_GATEWAY_N_HOST];
    // On the first host of the client: its clock beside that of the world, and when the world began
    // by that one. Without any point: not known.
    struct pli_host_clock clock;
    uint64_t world_begin;
};
_Static_assert(sizeof(struct pli_gateway) == 64 + 8 * PLI_GATEWAY_N_CLIENT +
                                                 5 * PLI_GATEWAY_N_HOST +
                                                 sizeof(struct pli_host_clock),
               "shared with other processes");

// In front of a message in the heap.
struct pli_gateway_slot {
    uint64_t id;           // the agent's name for it
    uint64_t srqid;        // the sender's
    uint64_t size;         // of the message
    uint64_t here;         // bytes of it in the first packet
    uint64_t ring;         // one on its way out, not 0: bytes that are used over and over
    _Atomic uint64_t gone; // then: bytes that have left, whose place may be written to again
    uint64_t spare[2];
};
_Static_assert(sizeof(struct pli_gateway_slot) == 64, "data begins on a line of its own");

#endif
