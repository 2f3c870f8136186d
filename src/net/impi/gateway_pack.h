// SPDX-License-Identifier: BSD-3-Clause
// Data of requests to and from external32, in pieces of whole elements.
#ifndef PLI_NET_GATEWAY_PACK_H
#define PLI_NET_GATEWAY_PACK_H

#include "base/err.h"
#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "msg/request.h"
#include "obj/datatype.h"
#include "obj/type_pack.h"

#include <stdbool.h>
#include <stdint.h>

// Bytes of a request's data in external32.
static inline uint64_t pli_gateway_pack_size(const struct pli_request *r)
{
    return (uint64_t)r->count * (uint64_t)pli_type_external_each(r->type);
}

static inline struct pli_gateway_slot *pli_gateway_pack_slot(uint64_t offset)
{
    return (struct pli_gateway_slot *)(pli_boot.node.base + offset);
}

// Write a send's stream on, from send->moved to `upto` or the end of that element; `base` is where
// it begins. After a value that does not fit the rest is zeros.
enum pli_err pli_gateway_pack_out(struct pli_request *send, char *base, uint64_t upto);

// `here` of `size` bytes of a message are at `base`: take on from recv->moved. Completes the
// receive when all of them are, and says so. Context: lane locked.
bool pli_gateway_pack_in(struct pli_request *recv, const char *base, uint64_t here, uint64_t size);

#endif
