// SPDX-License-Identifier: BSD-3-Clause
// The gateway of a job that is one client of an IMPI job, in the node memory: the other clients, as
// the clients agreed, and the memory through which large messages pass. One more process of the
// host, the agent, has a row and an area behind those of the ranks. Written by the agent before the
// ranks start.
#ifndef PLI_BOOT_GATEWAY_WIRE_H
#define PLI_BOOT_GATEWAY_WIRE_H

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
    uint64_t heap, heap_size; // offset of the memory for messages; sparse
    struct pli_gateway_client clients[PLI_GATEWAY_N_CLIENT];
    uint32_t host_first[PLI_GATEWAY_N_HOST]; // first rank of every host
    _Atomic uint8_t way[PLI_GATEWAY_N_HOST]; // to every host, once the agent is connected to it
};
_Static_assert(sizeof(struct pli_gateway) == 48 + 8 * PLI_GATEWAY_N_CLIENT + 5 * PLI_GATEWAY_N_HOST,
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
