// SPDX-License-Identifier: BSD-3-Clause
// A message that came before its receive.
#ifndef PLI_MSG_UNEXPECTED_H
#define PLI_MSG_UNEXPECTED_H

#include "msg/match.h"
#include "obj/handle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_conn;
struct pli_endpoint;
struct pli_lane;
struct pli_request;
struct pli_shm_block;
struct pli_shm_cell;

struct pli_unexpected {
    struct pli_match_item item;
    struct pli_endpoint *ep;
    struct pli_conn *conn;     // to the sender; NULL when it is in this process
    struct pli_request *local; // the sender's request in this process, for one copy
    uint64_t remote;           // the sender's request in its process
    uint64_t address;          // RTS: where the data is in the sender, 0: not in one piece
    uint64_t size;             // of the message
    uint64_t log_number;       // taken by a matched probe: see message_log.h; else 0
    union {
        uint32_t n_piece; // RTS: in how many pieces it is at the sender, see msg_wire.h
        uint32_t sender;  // of a message through the agent
    };
    uint8_t kind;         // enum pli_msg_kind
    uint8_t form;         // enum pli_form of the data
    bool is_external;     // the data is in external32
    unsigned char data[]; // eager: all of it
};

// What MPI_Mprobe hands out.
struct pli_message {
    struct pli_obj obj;
    struct pli_unexpected *unexpected;
    struct pli_comm *comm;
};

// Context of all: lane locked.

// Make one: empty, with room for so many bytes; or filled from the head in a cell. Never NULL.
struct pli_unexpected *pli_unexpected_create(struct pli_endpoint *ep, size_t data);
struct pli_unexpected *pli_unexpected_of(struct pli_endpoint *ep, struct pli_conn *from,
                                         const struct pli_shm_cell *cell, size_t data);
// Copy all of the data into it; the block that the data is in, if any, is given back.
void pli_unexpected_fill(struct pli_unexpected *p, const void *data, struct pli_shm_block *block);
void pli_unexpected_destroy(struct pli_unexpected *p);        // NULL is fine
void pli_unexpected_hold(struct pli_lane *lane, size_t more); // count bytes of unexpected data
void pli_unexpected_keep(struct pli_unexpected *p);           // no receive waits for it

#endif
