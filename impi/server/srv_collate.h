// SPDX-License-Identifier: BSD-3-Clause
// Collects the labels of all clients and writes the stream that every client is sent. The stream
// is the same for all, so it is kept once and each connection has a place in it.
#ifndef PLI_SRV_COLLATE_H
#define PLI_SRV_COLLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_cmd_wire.h"
#include "wire/impi_err.h"

struct pli_srv_part { // what one client sent for one label
    uint32_t label;
    unsigned char *data;
    size_t len;
};

struct pli_srv_collate {
    int n_client;
    struct {
        struct pli_srv_part *part; // ascending labels
        size_t n_part, cap_part, next;
        size_t n_byte;     // kept so far
        uint32_t progress; // the last label it sent
        bool is_done;
    } from[PLI_IMPI_MAX_CLIENT];
    uint32_t flushed;      // the last label that was written to the stream
    bool is_over;          // DONE was written
    unsigned char *stream; // COLL and DONE commands for all clients
    size_t len, cap;
};

void pli_srv_collate_init(struct pli_srv_collate *c, int n_client);
void pli_srv_collate_fini(struct pli_srv_collate *c);

// Take `data` (from malloc, taken over in any case) as client `rank`'s part of `label`.
// PLI_IMPI_OK: kept. PLI_IMPI_AGAIN: dropped, as labels come in ascending order and once.
// ERR_NOMEM: no memory, or more than `limit` bytes from this client.
enum pli_impi_err pli_srv_collate_add(struct pli_srv_collate *c, int rank, uint32_t label,
                                      unsigned char *data, size_t len, size_t limit);

// The client has no more labels.
enum pli_impi_err pli_srv_collate_done(struct pli_srv_collate *c, int rank);

// Forget a client, before anything was written.
void pli_srv_collate_forget(struct pli_srv_collate *c, int rank);

#endif
