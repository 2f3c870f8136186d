// SPDX-License-Identifier: BSD-3-Clause
// Packed data between processes of one client. MPI_Pack makes external32 of it on communicators
// that span clients, while all other data between processes of a client is the native library's,
// which does not tell a receiver how a message was sent. So a message of packed data ends with a
// mark, random bytes that the processes of the client have in common, and receives have room for
// it: data with the mark is taken from external32. What is received as MPI_PACKED without one
// stays as it is until it is unpacked (shim_pack.h).
#include "shim/shim_packed.h"
#include "shim/shim_layout.h"
#include "shim/shim_pack.h"
#include "shim/shim_req.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct flat { // the layout of a type without gaps
    struct shim_layout layout;
    struct shim_run run;
};

static unsigned char mark[SHIM_PACKED_MARK];
static struct shim_req *loose; // sends whose request the program has freed, or that were buffered

void pli_shim_packed_init(const unsigned char *random)
{
    memcpy(mark, random, sizeof mark);
}

bool pli_shim_packed_goes(const struct shim_span *s, int dest, MPI_Datatype type)
{
    return s != NULL && type == MPI_PACKED && dest >= 0 && dest < s->size && s->native[dest] >= 0;
}

static void loosen(struct shim_req *r)
{
    r->post_next = loose;
    loose = r;
}

bool pli_shim_packed_leave(struct shim_req *r)
{
    if (r->kind != SHIM_SEND || r->native == MPI_REQUEST_NULL) {
        return false;
    }
    r->is_free = true;
    loosen(r);
    return true;
}

void pli_shim_packed_progress(void)
{
    struct shim_req **at = &loose;
    while (*at != NULL) {
        struct shim_req *r = *at;
        if (pli_shim_req_test(r)) {
            *at = r->post_next;
            pli_shim_req_destroy(r);
        } else {
            at = &r->post_next;
        }
    }
}

// A send that is its own: of a buffered one the request of the program is over at once.
static int start(struct shim_req *r, enum shim_mode mode)
{
    size_t len = (size_t)r->count;
    struct shim_span *s = r->span;
    if (r->count > INT_MAX - SHIM_PACKED_MARK) {
        return pli_shim_fail(MPI_ERR_COUNT, "packed data has more than 2 GiB");
    }
    pli_shim_link_release(r->data); // of the last start
    r->data = malloc(len + SHIM_PACKED_MARK);
    if (r->data == NULL) {
        return MPI_ERR_NO_MEM;
    }
    if (len > 0) {
        memcpy(r->data, r->buf, len);
    }
    memcpy(r->data + len, mark, sizeof mark);
    bool is_native = pli_shim_pack_is_native(r->buf, len); // it goes on as it came
    int n = (int)len + (is_native ? 0 : SHIM_PACKED_MARK), to = s->native[r->peer];
    int rc = mode == SHIM_SYNC
                 ? PMPI_Issend(r->data, n, MPI_BYTE, to, r->tag, s->handle, &r->native)
                 : PMPI_Isend(r->data, n, MPI_BYTE, to, r->tag, s->handle, &r->native);
    if (rc != MPI_SUCCESS) {
        r->native = MPI_REQUEST_NULL;
        return rc;
    }
    r->is_done = false;
    pli_shim.n_pending++;
    return MPI_SUCCESS;
}

int pli_shim_packed_isend(struct shim_req *r)
{
    if (r->mode != SHIM_BUFFERED) {
        return start(r, r->mode);
    }
    struct shim_req *own = pli_shim_req_create(SHIM_SEND, r->span);
    if (own == NULL) {
        return MPI_ERR_NO_MEM;
    }
    own->buf = r->buf;
    own->count = r->count;
    own->type = r->type;
    own->peer = r->peer;
    own->tag = r->tag;
    int rc = start(own, SHIM_STANDARD);
    if (rc != MPI_SUCCESS) {
        pli_shim_req_destroy(own);
        return rc;
    }
    loosen(own);
    r->is_done = true;
    return MPI_SUCCESS;
}

// Where the bytes of a type are; flat: memory for it.
static int locate(MPI_Datatype type, struct flat *flat, const struct shim_layout **out)
{
    size_t size;
    if (!pli_shim_type_is_flat(type, &size)) {
        return pli_shim_layout_find(type, out);
    }
    flat->run = (struct shim_run){ 0, size };
    flat->layout = (struct shim_layout){
        .extent = (MPI_Aint)size, .size = size, .n_run = 1, .run = &flat->run, .is_dense = true
    };
    *out = &flat->layout;
    return MPI_SUCCESS;
}

// The program's buffer, and the mark behind it, as one element.
static int make_type(struct shim_room *room, void *buf, MPI_Count count, MPI_Datatype type)
{
    int n[2] = { (int)count, SHIM_PACKED_MARK };
    MPI_Aint at[2] = { 0, 0 };
    MPI_Datatype part[2] = { type, MPI_BYTE };
    int rc = buf == MPI_BOTTOM ? MPI_SUCCESS : PMPI_Get_address(buf, &at[0]);
    rc = rc == MPI_SUCCESS ? PMPI_Get_address(room->behind, &at[1]) : rc;
    rc = rc == MPI_SUCCESS ? PMPI_Type_create_struct(2, n, at, part, &room->type) : rc;
    if (rc == MPI_SUCCESS) {
        room->is_made = true;
        room->buf = MPI_BOTTOM;
        room->count = 1;
        rc = PMPI_Type_commit(&room->type);
    }
    return rc;
}

int pli_shim_packed_room(struct shim_room *room, void *buf, MPI_Count count, MPI_Datatype type,
                         unsigned char *near)
{
    const struct shim_layout *l;
    struct flat flat;
    size_t ext;
    *room = (struct shim_room){ .buf = buf, .count = (int)count, .type = type };
    if (count < 0 || locate(type, &flat, &l) != MPI_SUCCESS ||
        pli_shim_type_size(type, &ext) != MPI_SUCCESS) {
        return MPI_SUCCESS; // the native library says what is wrong with it
    }
    room->cap = l->size * (size_t)count;
    size_t most = ext > l->size ? ext * (size_t)count : room->cap;
    if (most > SHIM_PACKED_NEAR && ext <= l->size) {
        return make_type(room, buf, count, type);
    }
    room->own = near != NULL && most <= SHIM_PACKED_NEAR ? near : malloc(most + SHIM_PACKED_MARK);
    if (room->own == NULL) {
        return MPI_ERR_NO_MEM;
    }
    room->buf = room->own;
    room->count = (int)(most + SHIM_PACKED_MARK);
    room->type = MPI_BYTE;
    return MPI_SUCCESS;
}

void pli_shim_packed_drop(struct shim_room *room, const unsigned char *near)
{
    if (room->is_made) {
        (void)PMPI_Type_free(&room->type);
    }
    if (room->own != near) {
        free(room->own);
    }
    *room = (struct shim_room){ 0 };
}

// Bytes of the message, counted in the order of the type map.
static void copy_out(const struct shim_room *room, const struct shim_layout *l, const char *buf,
                     size_t from, size_t len, unsigned char *out)
{
    if (room->own != NULL) {
        memcpy(out, room->own + from, len);
        return;
    }
    if (from + len > room->cap) {
        size_t start = from > room->cap ? from : room->cap;
        memcpy(out + (start - from), room->behind + (start - room->cap), from + len - start);
        len = start - from;
    }
    size_t skip = len > 0 ? from % l->size : 0;
    for (buf += len > 0 ? (MPI_Aint)(from / l->size) * l->extent : 0; len > 0; buf += l->extent) {
        for (size_t k = 0; k < l->n_run && len > 0; k++) {
            size_t n = l->run[k].len;
            if (skip >= n) {
                skip -= n;
                continue;
            }
            n = n - skip < len ? n - skip : len;
            memcpy(out, buf + l->run[k].at + skip, n);
            skip = 0;
            out += n;
            len -= n;
        }
    }
}

static int take_packed(struct shim_room *room, const struct shim_layout *l, size_t len, void *buf,
                       MPI_Count count, MPI_Datatype type, MPI_Status *st)
{
    size_t ext = 0;
    unsigned char *data = malloc(len + 1);
    if (data == NULL) {
        return MPI_ERR_NO_MEM;
    }
    copy_out(room, l, buf, 0, len, data);
    (void)pli_shim_type_size(type, &ext);
    size_t cap = ext * (size_t)count, fits = len < cap ? len : cap;
    int rc = pli_shim_type_unpack(data, fits, buf, count, type);
    free(data);
    pli_shim_msg_set_status(st, st->MPI_SOURCE, st->MPI_TAG, fits);
    return rc == MPI_SUCCESS && len > cap
               ? pli_shim_fail(MPI_ERR_TRUNCATE, "packed data is longer than the buffer for it")
               : rc;
}

int pli_shim_packed_take(struct shim_room *room, void *buf, MPI_Count count, MPI_Datatype type,
                         MPI_Status *st)
{
    const struct shim_layout *l;
    struct flat flat;
    unsigned char end[SHIM_PACKED_MARK];
    int is_cancelled = 0;
    MPI_Count n = 0;
    if ((room->own == NULL && !room->is_made) ||
        PMPI_Test_cancelled(st, &is_cancelled) != MPI_SUCCESS || is_cancelled ||
        PMPI_Get_elements_x(st, MPI_BYTE, &n) != MPI_SUCCESS || n < 0) {
        return MPI_SUCCESS;
    }
    int rc = locate(type, &flat, &l);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    size_t len = (size_t)n;
    if (len >= sizeof end) {
        copy_out(room, l, buf, len - sizeof end, sizeof end, end);
        if (memcmp(end, mark, sizeof end) == 0) {
            return take_packed(room, l, len - sizeof end, buf, count, type, st);
        }
    }
    size_t fits = len < room->cap ? len : room->cap;
    if (room->own != NULL) {
        pli_shim_layout_scatter(l, room->own, fits, buf);
    }
    if (type == MPI_PACKED) {
        pli_shim_pack_note(buf, fits);
    }
    if (len > room->cap) {
        (void)PMPI_Status_set_elements_x(st, MPI_BYTE, (MPI_Count)fits);
        return pli_shim_fail(MPI_ERR_TRUNCATE, "a message is longer than the buffer given for it");
    }
    return MPI_SUCCESS;
}
