// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes between a user's buffer, described by a datatype, and a packed stream. Each call
// finds its place from the stream offset alone, so a cursor is a few words and seeking is free.
#include "obj/cursor.h"

#include "obj/cursor_kernel.h"
#include "obj/datatype.h"
#include "obj/handle.h"
#include "obj/type_plan.h"

#include <stdint.h>
#include <sys/uio.h>

enum how { PACK, UNPACK, MIRROR, TELL };

// A transfer under way. MIRROR copies to a second buffer of the same layout, `delta` away; TELL
// only notes where the bytes are.
struct flow {
    enum how how;
    size_t left; // bytes still wanted
    char *stream;
    intptr_t delta;
    struct iovec *iov;
    int n_iov, cap_iov;
};

// Loops of a few small blocks are run crosswise, one block of many rounds at a time: then the
// inner loop is long and of constant length. A tile stays in the nearest cache.
enum { CROSS_BLOCKS = 16, CROSS_LEN = 64, CROSS_ROUNDS = 8, CROSS_TILE = 8192 };

static void tell_run(struct flow *f, char *user, size_t len)
{
    struct iovec *last = f->n_iov > 0 ? &f->iov[f->n_iov - 1] : NULL;
    if (last != NULL && (char *)last->iov_base + last->iov_len == user) {
        last->iov_len += len;
    } else if (f->n_iov == f->cap_iov) {
        f->left = 0; // full: nothing more is wanted
        return;
    } else {
        f->iov[f->n_iov++] = (struct iovec){ .iov_base = user, .iov_len = len };
    }
    f->left -= len;
}

static inline void move_run(struct flow *f, char *user, size_t len)
{
    switch (f->how) {
    case PACK:
        pli_cursor_block(f->stream, user, len);
        f->stream += len;
        break;
    case UNPACK:
        pli_cursor_block(user, f->stream, len);
        f->stream += len;
        break;
    case MIRROR:
        pli_cursor_block(pli_cursor_at(user, f->delta), user, len);
        break;
    case TELL:
        tell_run(f, user, len);
        return;
    }
    f->left -= len;
}

// n whole blocks, `step` apart in the user's buffer and `gap` apart in the stream. The stream
// does not advance.
static inline void copy_strided(struct flow *f, char *user, ptrdiff_t step, char *stream,
                                ptrdiff_t gap, size_t len, size_t n)
{
    if (f->how == PACK) {
        pli_cursor_kernel_strided(stream, gap, user, step, len, n);
    } else if (f->how == UNPACK) {
        pli_cursor_kernel_strided(user, step, stream, gap, len, n);
    } else {
        pli_cursor_kernel_strided(pli_cursor_at(user, f->delta), step, user, step, len, n);
    }
}

static inline void advance(struct flow *f, size_t len)
{
    f->left -= len;
    if (f->how != MIRROR) {
        f->stream += len;
    }
}

static inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void move_strided(struct flow *f, const struct pli_type_node *p, char *base, size_t skip)
{
    size_t len = (size_t)p->len, i = skip / len, off = skip % len;
    if (off > 0) {
        move_run(f, pli_cursor_at(base, (MPI_Count)i * p->stride + (MPI_Count)off),
                 smaller(len - off, f->left));
        i++;
    }
    size_t n = smaller((size_t)p->n - i, f->left / len);
    if (f->how == TELL) {
        for (size_t end = i + n; i < end && f->left >= len; i++) {
            move_run(f, pli_cursor_at(base, (MPI_Count)i * p->stride), len);
        }
    } else if (n > 0) {
        copy_strided(f, pli_cursor_at(base, (MPI_Count)i * p->stride), p->stride, f->stream,
                     (ptrdiff_t)len, len, n);
        advance(f, n * len);
        i += n;
    }
    if (i < (size_t)p->n && f->left > 0) {
        move_run(f, pli_cursor_at(base, (MPI_Count)i * p->stride), smaller(len, f->left));
    }
}

// The part of a list that holds offset `skip` of its stream.
static size_t find_part(const struct pli_type_node *p, size_t skip)
{
    size_t lo = 0, hi = (size_t)p->n - 1;
    if (skip == 0) {
        return 0;
    }
    while (lo < hi) {
        size_t mid = lo + (hi - lo + 1) / 2;
        if ((size_t)p->starts[mid] <= skip) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    return lo;
}

static void move_blocks_equal(struct flow *f, const struct pli_type_node *p, char *base,
                              size_t skip)
{
    size_t len = (size_t)p->len, i = skip / len, off = skip % len;
    if (off > 0) {
        move_run(f, pli_cursor_at(base, p->disps[i] + (MPI_Count)off), smaller(len - off, f->left));
        i++;
    }
    size_t n = smaller((size_t)p->n - i, f->left / len);
    if (f->how == PACK) {
        pli_cursor_kernel_gather(f->stream, base, p->disps + i, len, n);
        advance(f, n * len);
        i += n;
    } else if (f->how == UNPACK) {
        pli_cursor_kernel_scatter(base, p->disps + i, f->stream, len, n);
        advance(f, n * len);
        i += n;
    } else {
        for (size_t end = i + n; i < end && f->left >= len; i++) {
            move_run(f, pli_cursor_at(base, p->disps[i]), len);
        }
    }
    if (i < (size_t)p->n && f->left > 0) {
        move_run(f, pli_cursor_at(base, p->disps[i]), smaller(len, f->left));
    }
}

static void move_blocks(struct flow *f, const struct pli_type_node *p, char *base, size_t skip)
{
    if (p->starts == NULL) {
        move_blocks_equal(f, p, base, skip);
        return;
    }
    size_t i = find_part(p, skip), off = skip - (size_t)p->starts[i];
    for (; i < (size_t)p->n && f->left > 0; i++, off = 0) {
        size_t len = (size_t)(p->starts[i + 1] - p->starts[i]) - off;
        move_run(f, pli_cursor_at(base, p->disps[i] + (MPI_Count)off), smaller(len, f->left));
    }
}

// Whether a loop over the child gains from running crosswise.
static bool is_crosswise(const struct flow *f, const struct pli_type_node *child, size_t rounds)
{
    return f->how != TELL && rounds >= CROSS_ROUNDS && child->n <= CROSS_BLOCKS &&
           ((child->kind == PLI_NODE_STRIDED && child->len <= CROSS_LEN) ||
            (child->kind == PLI_NODE_BLOCKS && child->size <= CROSS_LEN * child->n));
}

// `rounds` whole rounds of a child of few blocks.
static void move_crosswise(struct flow *f, const struct pli_type_node *child, char *base,
                           MPI_Count stride, size_t rounds)
{
    size_t size = (size_t)child->size;
    size_t tile = CROSS_TILE / size < CROSS_ROUNDS ? CROSS_ROUNDS : CROSS_TILE / size;
    for (size_t at = 0; at < rounds; at += tile) {
        size_t n = smaller(tile, rounds - at);
        char *user = pli_cursor_at(base, (MPI_Count)at * stride + child->disp);
        MPI_Count start = 0;
        for (MPI_Count j = 0; j < child->n; j++) {
            MPI_Count disp = child->kind == PLI_NODE_STRIDED ? j * child->stride : child->disps[j];
            MPI_Count len =
                child->starts != NULL ? child->starts[j + 1] - child->starts[j] : child->len;
            copy_strided(f, pli_cursor_at(user, disp), stride,
                         f->how == MIRROR ? NULL : f->stream + start, child->size, (size_t)len, n);
            start += len;
        }
        advance(f, n * size);
    }
}

static void move_node(struct flow *f, const struct pli_type_node *p, char *base, size_t skip);

static void move_loop(struct flow *f, const struct pli_type_node *p, char *base, size_t skip)
{
    const struct pli_type_node *child = p->child;
    size_t size = (size_t)child->size, i = skip / size, off = skip % size;
    if (off > 0) {
        move_node(f, child, pli_cursor_at(base, (MPI_Count)i * p->stride), off);
        i++;
    }
    size_t n = i < (size_t)p->n ? smaller((size_t)p->n - i, f->left / size) : 0;
    if (is_crosswise(f, child, n)) {
        move_crosswise(f, child, pli_cursor_at(base, (MPI_Count)i * p->stride), p->stride, n);
        i += n;
    }
    for (; i < (size_t)p->n && f->left > 0; i++) {
        move_node(f, child, pli_cursor_at(base, (MPI_Count)i * p->stride), 0);
    }
}

static void move_list(struct flow *f, const struct pli_type_node *p, char *base, size_t skip)
{
    size_t i = find_part(p, skip), off = skip - (size_t)p->starts[i];
    for (; i < (size_t)p->n && f->left > 0; i++, off = 0) {
        move_node(f, p->kids[i], pli_cursor_at(base, p->disps[i]), off);
    }
}

// Move what is wanted of the node's stream from offset `skip` (less than its size) on.
static void move_node(struct flow *f, const struct pli_type_node *p, char *base, size_t skip)
{
    base = pli_cursor_at(base, p->disp);
    switch (p->kind) {
    case PLI_NODE_RUN:
        move_run(f, pli_cursor_at(base, (MPI_Count)skip), smaller((size_t)p->len - skip, f->left));
        break;
    case PLI_NODE_STRIDED:
        move_strided(f, p, base, skip);
        break;
    case PLI_NODE_BLOCKS:
        move_blocks(f, p, base, skip);
        break;
    case PLI_NODE_LOOP:
        move_loop(f, p, base, skip);
        break;
    case PLI_NODE_LIST:
        move_list(f, p, base, skip);
        break;
    }
}

// Run the transfer from the cursor's place; returns and steps over the bytes moved.
static size_t run_flow(struct pli_cursor *c, struct flow *f, size_t len)
{
    size_t want = smaller(len, c->total - c->done);
    if (want == 0) {
        return 0;
    }
    f->left = want;
    struct pli_type_node top;
    pli_type_plan_fill(&top, c->count, c->type->extent, c->type->plan, 0);
    move_node(f, &top, c->buf, c->done);
    c->done += want - f->left;
    return want - f->left;
}

void pli_cursor_init(struct pli_cursor *c, const void *buf, MPI_Count count,
                     const struct pli_datatype *t)
{
    c->buf = (char *)buf;
    c->type = t;
    c->count = count;
    c->done = 0;
    c->total = (size_t)count * (size_t)t->size;
}

void pli_cursor_seek(struct pli_cursor *c, size_t offset)
{
    c->done = smaller(offset, c->total);
}

size_t pli_cursor_pack(struct pli_cursor *c, void *dst, size_t len)
{
    if (c->type->is_dense) {
        size_t n = smaller(len, c->total - c->done);
        if (n > 0) {
            memcpy(dst, pli_cursor_at(c->buf, c->type->true_lb + (MPI_Count)c->done), n);
        }
        c->done += n;
        return n;
    }
    struct flow f = { .how = PACK, .stream = dst };
    return run_flow(c, &f, len);
}

size_t pli_cursor_unpack(struct pli_cursor *c, const void *src, size_t len)
{
    if (c->type->is_dense) {
        size_t n = smaller(len, c->total - c->done);
        if (n > 0) {
            memcpy(pli_cursor_at(c->buf, c->type->true_lb + (MPI_Count)c->done), src, n);
        }
        c->done += n;
        return n;
    }
    struct flow f = { .how = UNPACK, .stream = (char *)src };
    return run_flow(c, &f, len);
}

size_t pli_cursor_iov(struct pli_cursor *c, struct iovec *iov, int n, size_t len, int *n_out)
{
    size_t before = c->done;
    struct flow f = { .how = TELL, .iov = iov, .cap_iov = n };
    run_flow(c, &f, len);
    size_t listed = 0;
    for (int i = 0; i < f.n_iov; i++) {
        listed += iov[i].iov_len;
    }
    c->done = before + listed;
    *n_out = f.n_iov;
    return listed;
}

size_t pli_cursor_type_iov(MPI_Datatype type, size_t from, struct iovec *iov, int n, int *n_out)
{
    const struct pli_datatype *t = pli_handle_get(type, PLI_KIND_DATATYPE);
    static char middle; // displacements may be negative
    struct pli_cursor c;
    *n_out = 0;
    if (t == NULL) {
        return 0;
    }
    pli_cursor_init(&c, &middle, 1, t);
    pli_cursor_seek(&c, from);
    size_t listed = pli_cursor_iov(&c, iov, n, c.total - c.done, n_out);
    for (int i = 0; i < *n_out; i++) {
        iov[i].iov_base = (void *)((uintptr_t)iov[i].iov_base - (uintptr_t)&middle);
    }
    return listed;
}

// Between two layouts of small pieces: through a buffer in the nearest cache, since both halves
// then run in the fast loops.
static size_t copy_bounced(struct pli_cursor *from, struct pli_cursor *to, size_t len)
{
    char bounce[8192];
    size_t done = 0;
    while (done < len) {
        size_t n = pli_cursor_pack(from, bounce, smaller(sizeof bounce, len - done));
        pli_cursor_unpack(to, bounce, n);
        done += n;
    }
    return done;
}

// Between two layouts of which the source has long pieces: each goes straight to its place.
static size_t copy_pieces(struct pli_cursor *from, struct pli_cursor *to, size_t len)
{
    struct iovec iov[32];
    size_t done = 0;
    while (done < len) {
        int n;
        done += pli_cursor_iov(from, iov, 32, len - done, &n);
        for (int i = 0; i < n; i++) {
            pli_cursor_unpack(to, iov[i].iov_base, iov[i].iov_len);
        }
    }
    return done;
}

size_t pli_cursor_copy(const void *src, MPI_Count n_src, const struct pli_datatype *src_type,
                       void *dst, MPI_Count n_dst, const struct pli_datatype *dst_type)
{
    enum { LONG_PIECE = 256 };
    struct pli_cursor from, to;
    pli_cursor_init(&from, src, n_src, src_type);
    pli_cursor_init(&to, dst, n_dst, dst_type);
    size_t len = smaller(from.total, to.total);
    if (len == 0) {
        return 0;
    }
    if (pli_datatype_is_run(dst_type, n_dst)) {
        return pli_cursor_pack(&from, pli_cursor_at(dst, dst_type->true_lb), len);
    }
    if (pli_datatype_is_run(src_type, n_src)) {
        return pli_cursor_unpack(&to, pli_cursor_at(src, src_type->true_lb), len);
    }
    if (src_type->plan == dst_type->plan && src_type->extent == dst_type->extent) {
        struct flow f = { .how = MIRROR, .delta = (intptr_t)((uintptr_t)dst - (uintptr_t)src) };
        return run_flow(&from, &f, len);
    }
    if (src_type->size / src_type->plan->runs >= LONG_PIECE) {
        return copy_pieces(&from, &to, len);
    }
    return copy_bounced(&from, &to, len);
}
