// SPDX-License-Identifier: BSD-3-Clause
// A message that came before its receive.
#ifndef PLI_MSG_UNEXPECTED_H
#define PLI_MSG_UNEXPECTED_H

#include "msg/match.h"
#include "obj/handle.h"

#include <stdbool.h>

struct pli_comm;
struct pli_conn;
struct pli_endpoint;
struct pli_request;

struct pli_unexpected {
    struct pli_match_item item;
    struct pli_endpoint *ep;
    struct pli_conn *conn;     // to the sender; NULL when it is in this process
    struct pli_request *local; // the sender's request in this process, for one copy
    uint64_t remote;           // the sender's request in its process
    uint64_t address;          // RTS: where the data is in the sender, 0: not in one piece
    uint64_t size;             // of the message
    uint32_t pid;              // RTS: of the sender
    uint8_t kind;              // enum pli_msg_kind
    uint8_t form;              // enum pli_form of the data
    bool is_external;          // the data is in external32
    unsigned char data[];      // eager: all of it
};

// What MPI_Mprobe hands out.
struct pli_message {
    struct pli_obj obj;
    struct pli_unexpected *parcel;
    struct pli_comm *comm;
};

extern struct pli_message pli_probe_no_proc; // MPI_MESSAGE_NO_PROC

#endif
