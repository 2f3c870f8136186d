// SPDX-License-Identifier: BSD-3-Clause
// Checks the heads of frames.
// Every number that comes from outside is looked at here, or when it is used: endpoints and ids
// are looked up and may be unknown, and ranks and tags are compared and no more.
#include "net/tcp/frame.h"

#include "msg/msg_wire.h"
#include "obj/datatype.h"

#include <stddef.h>

static const char *check_message(const struct pli_frame *f)
{
    if (f->flags >= PLI_N_FORM) {
        return "data of an unknown form";
    }
    if (f->spare != 0) {
        return "a reserved field is in use";
    }
    if (f->src_rank < 0) {
        return "a negative rank";
    }
    if (f->kind == PLI_MSG_RTS) {
        return f->len != 0 ? "an offer with data" : NULL;
    }
    if (f->len > PLI_FRAME_EAGER_MAX) {
        return "more data than may be sent unasked";
    }
    return f->len != f->size ? "a size that does not match its data" : NULL;
}

const char *pli_frame_check(const struct pli_frame *f)
{
    bool is_message = f->kind >= PLI_MSG_EAGER && f->kind <= PLI_MSG_RTS;
    if (f->magic != PLI_FRAME_MAGIC || (f->flags != 0 && !is_message)) {
        return "not a frame";
    }
    switch (f->kind) {
    case PLI_MSG_EAGER:
    case PLI_MSG_SYNC:
    case PLI_MSG_RTS:
        return check_message(f);
    case PLI_MSG_DATA:
        return f->len == 0 || f->len > PLI_FRAME_DATA_MAX ? "a piece of no size or too large"
                                                          : NULL;
    case PLI_MSG_UCX_ADDRESS:
        return f->len > PLI_FRAME_ADDRESS_MAX ? "an address too long" : NULL;
    case PLI_MSG_CTS:
    case PLI_MSG_ACK:
    case PLI_MSG_UNSEND:
    case PLI_MSG_UNSENT:
    case PLI_MSG_HOLD:
    case PLI_MSG_BYE:
    case PLI_MSG_MERGE:
    case PLI_MSG_MOVE:
    case PLI_MSG_CTS_PIECES:
    case PLI_MSG_UCX_ASK:
    case PLI_MSG_UCX_SEEN:
    case PLI_MSG_UCX_LEAVE:
    case PLI_MSG_UCX_LEFT:
    case PLI_MSG_UCX_READY:
        return f->len != 0 ? "a note with data" : NULL;
    default:
        return "of an unknown kind"; // others belong to shared memory
    }
}
