// SPDX-License-Identifier: BSD-3-Clause
// Moves whole elements between users' buffers and streams of external32.
#include "msg/external32.h"

#include "boot/boot.h"
#include "obj/type_pack.h"

#include <string.h>

bool pli_external32_is_beyond(const struct pli_comm *comm, int rank)
{
    uint32_t proc = rank >= 0 ? (uint32_t)pli_group_at(comm->remote, rank).proc : UINT32_MAX;
    return rank < 0 || pli_node_find(&pli_boot.node, proc) == NULL;
}

static void *element(const struct pli_request *r, uint64_t i)
{
    return (void *)((uintptr_t)r->buf + (uintptr_t)((int64_t)i * r->type->extent));
}

enum pli_err pli_external32_out(struct pli_request *send, char *base, uint64_t upto)
{
    uint64_t each = (uint64_t)pli_type_external_each(send->type), size = pli_external32_size(send);
    upto = upto < size ? upto : size;
    uint64_t first = send->moved / each;
    uint64_t n = (upto - send->moved + each - 1) / each;
    enum pli_err err = (enum pli_err)send->err;
    if (err == PLI_OK) {
        err = pli_type_external_put(element(send, first), (MPI_Count)n, send->type,
                                    base + send->moved);
    }
    if (err != PLI_OK) {
        memset(base + send->moved, 0, n * each);
    }
    send->moved += n * each;
    return err;
}

static void finish(struct pli_request *recv, uint64_t size, uint64_t room)
{
    recv->bytes = size;
    if (size == room) {
        recv->bytes = recv->size; // as many as of one of ours
    } else {
        recv->state |= PLI_REQ_EXTERNAL;
    }
    pli_request_complete(recv, size > room ? PLI_ERR_TRUNC : PLI_OK);
}

bool pli_external32_in(struct pli_request *recv, const char *base, uint64_t here, uint64_t size)
{
    uint64_t each = (uint64_t)pli_type_external_each(recv->type), room = pli_external32_size(recv);
    uint64_t have = here < room ? here : room;
    if (each > 0 && have > recv->moved) {
        uint64_t n = (have - recv->moved) / each, first = recv->moved / each;
        pli_type_external_get(base + recv->moved, n * each, element(recv, first), (MPI_Count)n,
                              recv->type);
        recv->moved += n * each;
        if (here == size && have > recv->moved) { // it ends inside an element
            pli_type_external_get(base + recv->moved, have - recv->moved, element(recv, first + n),
                                  1, recv->type);
        }
    }
    if (here < size) {
        return false;
    }
    finish(recv, size, room);
    return true;
}
