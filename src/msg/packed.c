// SPDX-License-Identifier: BSD-3-Clause
// Converts messages that one side calls MPI_PACKED and the other does not.
#include "msg/packed.h"

#include "base/log.h"
#include "msg/deliver.h"
#include "msg/external32.h"
#include "msg/rndv.h"
#include "obj/cursor.h"
#include "obj/type_pack.h"

#include <stdlib.h>

struct pli_datatype *pli_packed_copy_type(const struct pli_datatype *type,
                                          const struct pli_comm *comm, bool is_far,
                                          MPI_Count *count)
{
    struct pli_datatype *elem = type->elem != NULL ? pli_datatype_of_form(type->form) : NULL;
    if (!comm->is_span || is_far) {
        return pli_datatype_basic(MPI_BYTE);
    }
    if (elem == NULL || !elem->is_dense) {
        return pli_datatype_mixed_bytes();
    }
    *count /= elem->size;
    return elem;
}

// A large message on its way into memory of ours.
struct staged_recv {
    struct pli_request_child child; // first
    struct pli_request *recv;
    uint8_t form;
    unsigned char data[];
};

// Elements of one type to external32. A stream of pairs has no gaps, an array of them may have.
static enum pli_err convert(const void *data, MPI_Count n, const struct pli_datatype *elem,
                            char *out)
{
    if (elem->is_dense) {
        return pli_type_external_put(data, n, elem, out);
    }
    void *array = malloc((size_t)(n * elem->extent));
    struct pli_cursor c;
    if (array == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_cursor_init(&c, array, n, elem);
    pli_cursor_unpack(&c, data, c.total);
    enum pli_err err = pli_type_external_put(array, n, elem, out);
    free(array);
    return err;
}

// Elements that were sent as what they are, received as MPI_PACKED.
static void pack(struct pli_request *recv, const void *data, uint64_t size, uint8_t form)
{
    const struct pli_datatype *elem = pli_datatype_of_form(form);
    uint64_t n = elem != NULL ? size / (uint64_t)elem->size : 0;
    uint64_t len = elem != NULL ? n * (uint64_t)pli_type_external_each(elem) : 0;
    enum pli_err err = elem == NULL && size > 0 ? PLI_ERR_TYPE : PLI_OK; // it does not say which
    char *out = err == PLI_OK ? malloc(len + 1) : NULL;
    if (err == PLI_OK && out == NULL) {
        err = PLI_ERR_NOMEM;
    }
    if (err == PLI_OK && len > 0) {
        err = convert(data, (MPI_Count)n, elem, out);
    }
    if (err == PLI_OK) {
        pli_deliver_deliver(recv, out, len);
    } else {
        recv->bytes = 0;
        pli_request_complete(recv, err);
    }
    free(out);
}

void pli_packed_take(struct pli_request *recv, const void *data, uint64_t size, uint8_t form)
{
    if (form == PLI_FORM_PACKED) {
        recv->moved = 0;
        pli_external32_in(recv, data, size, size);
    } else {
        pack(recv, data, size, form);
    }
}

static void arrived(struct pli_request_child *c)
{
    struct staged_recv *d = (struct staged_recv *)c;
    if (c->r.err == PLI_OK) {
        pli_packed_take(d->recv, d->data, c->r.bytes, d->form);
    } else {
        d->recv->bytes = 0;
        pli_request_complete(d->recv, (enum pli_err)c->r.err);
    }
    free(d);
}

void pli_packed_accept(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                       uint64_t size, uint64_t address, uint32_t n_piece, uint8_t form)
{
    struct staged_recv *d = malloc(sizeof *d + size);
    if (d == NULL) {
        pli_log(PLI_ERROR, "no memory to convert a message of %llu bytes",
                (unsigned long long)size);
        abort(); // its sender has been promised that it will be taken
    }
    struct pli_request *r = &d->child.r;
    *r = *recv;
    r->flags = PLI_REQ_STACK | PLI_REQ_CHILD;
    r->state = 0;
    r->buf = d->data;
    r->count = (MPI_Count)size;
    r->type = pli_datatype_basic(MPI_BYTE);
    r->size = size;
    r->cursor = NULL;
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    d->child.done = arrived;
    d->recv = recv;
    d->form = form;
    pli_rndv_accept(r, from, sender_req, size, address, n_piece);
}
