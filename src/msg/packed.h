// SPDX-License-Identifier: BSD-3-Clause
// MPI_PACKED between processes of one client of an IMPI job. On a communicator that spans clients
// packed data is external32, and all other data between two processes of one client is in the
// machine's format. So every message says what its elements are, and where one side speaks of
// MPI_PACKED and the other does not, the data is converted at the receiver.
#ifndef PLI_MSG_PACKED_H
#define PLI_MSG_PACKED_H

#include "msg/request.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_conn;

// Whether messages with this context say what their elements are. All communicators that span
// clients have one of these two bits in their context; without them nothing below is asked, and a
// job that is no client pays one test of a word that it needs anyway. bench: rate.
static inline bool pli_packed_has_form(uint64_t context)
{
    return __builtin_expect(context >> 62 != 0, 0);
}

// Whether sends of this type on this communicator are external32.
static inline bool pli_packed_is_external(const struct pli_datatype *type,
                                          const struct pli_comm *comm, uint64_t context)
{
    return pli_packed_has_form(context) && type->form == PLI_FORM_PACKED && comm != NULL &&
           comm->is_span;
}

// Whether a message of this form must be converted for this receive. The form means nothing where
// the context has none.
static inline bool pli_packed_differs(const struct pli_request *recv, uint8_t form)
{
    bool is_external = form == PLI_FORM_PACKED;
    return pli_packed_has_form(recv->item.context) &&
           is_external != (recv->type->form == PLI_FORM_PACKED) && recv->comm != NULL &&
           recv->comm->is_span;
}

// What a packed copy of data of this type is sent as, so that its message says what it is;
// *count: bytes, becomes elements. `is_far`: it goes to another client, where all is external32.
struct pli_datatype *pli_packed_copy_type(const struct pli_datatype *type,
                                          const struct pli_comm *comm, bool is_far,
                                          MPI_Count *count);

// Complete the receive with a message that differs and is all here. Context: lane locked.
void pli_packed_take(struct pli_request *recv, const void *data, uint64_t size, uint8_t form)
    __attribute__((cold));

// Accept a large one that was offered: as pli_rndv_accept. Context: lane locked.
void pli_packed_accept(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                       uint64_t size, uint64_t address, uint32_t n_piece, uint8_t form)
    __attribute__((cold));

#endif
