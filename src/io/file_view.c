// SPDX-License-Identifier: BSD-3-Clause
// Finds bytes of a view in the file and back, on the copy plan of the filetype: no list of its
// blocks is ever made.
#include "io/file_view.h"

#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/type_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { N_IOV = 64 };

static struct pli_datatype *bytes(void)
{
    return pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE);
}

void pli_file_view_init(struct pli_file_view *v)
{
    struct pli_datatype *t = bytes();
    *v = (struct pli_file_view){ .etype = pli_datatype_retain(t),
                                 .filetype = pli_datatype_retain(t),
                                 .layout = pli_datatype_retain(t),
                                 .unit = 1,
                                 .is_bytes = true,
                                 .is_dense = true };
}

void pli_file_view_release(struct pli_file_view *v)
{
    if (v->etype != NULL) {
        pli_datatype_release(v->etype);
        pli_datatype_release(v->filetype);
        pli_datatype_release(v->layout);
    }
    *v = (struct pli_file_view){ .disp = 0 };
}

void pli_file_view_cursor(const struct pli_file_view *v, struct pli_cursor *c, const char *base,
                          MPI_Offset pos, size_t len)
{
    MPI_Count size = v->layout->size, end = pos + (MPI_Count)len;
    const char *start = (const char *)((uintptr_t)base + (uintptr_t)v->disp);
    pli_cursor_init(c, start, size > 0 ? (end + size - 1) / size : 0, v->layout);
    pli_cursor_seek(c, (size_t)pos);
}

MPI_Offset pli_file_view_offset(const struct pli_file_view *v, MPI_Offset pos)
{
    if (v->is_dense) {
        return v->disp + v->layout->true_lb + pos;
    }
    struct pli_cursor c;
    struct iovec at = { .iov_base = NULL };
    int n;
    pli_file_view_cursor(v, &c, NULL, pos, 1);
    pli_cursor_iov(&c, &at, 1, 1, &n);
    return (MPI_Offset)(uintptr_t)at.iov_base;
}

bool pli_file_view_is_ordered(const struct pli_file_view *v, MPI_Offset pos, size_t len)
{
    return !v->has_overlap && (!v->is_once || pos + (MPI_Offset)len <= v->layout->size);
}

MPI_Offset pli_file_view_end(const struct pli_file_view *v, MPI_Offset pos)
{
    return pos == 0 ? v->disp : pli_file_view_offset(v, pos - 1) + 1;
}

MPI_Count pli_file_view_run_length(const struct pli_file_view *v)
{
    return v->is_dense ? INT64_MAX : v->layout->size / v->layout->plan->runs;
}

static MPI_Count clamp(MPI_Count x, MPI_Count most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

static MPI_Count before(const struct pli_type_node *p, MPI_Count x);

static MPI_Count before_blocks(const struct pli_type_node *p, MPI_Count x)
{
    MPI_Count lo = 0, hi = p->n; // blocks below lo begin before x
    while (lo < hi) {
        MPI_Count mid = lo + (hi - lo) / 2;
        if (p->disps[mid] < x) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return 0;
    }
    MPI_Count last = lo - 1, start = p->starts != NULL ? p->starts[last] : last * p->len;
    return start + clamp(x - p->disps[last], pli_type_plan_block(p, last));
}

// Of part i of a loop or list.
static MPI_Count before_part(const struct pli_type_node *p, MPI_Count i, MPI_Count x)
{
    return p->kind == PLI_NODE_LOOP ? before(p->child, x - i * p->stride)
                                    : before(p->kids[i], x - p->disps[i]);
}

static MPI_Count part_size(const struct pli_type_node *p, MPI_Count i)
{
    return p->kind == PLI_NODE_LOOP ? p->child->size : p->kids[i]->size;
}

static MPI_Count before_parts(const struct pli_type_node *p, MPI_Count x)
{
    MPI_Count lo = 0, hi = p->n; // parts below lo lie before x as a whole
    while (lo < hi) {
        MPI_Count mid = lo + (hi - lo) / 2;
        if (before_part(p, mid, x) == part_size(p, mid)) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    MPI_Count start = p->kind == PLI_NODE_LOOP ? lo * p->child->size : p->starts[lo];
    return start + (lo < p->n ? before_part(p, lo, x) : 0);
}

// Bytes of the node's stream that lie before x.
static MPI_Count before(const struct pli_type_node *p, MPI_Count x)
{
    x -= p->disp;
    switch (p->kind) {
    case PLI_NODE_RUN:
        return clamp(x, p->len);
    case PLI_NODE_STRIDED: {
        MPI_Count i = x <= 0 ? 0 : x / p->stride;
        return i >= p->n ? p->size : i * p->len + clamp(x - i * p->stride, p->len);
    }
    case PLI_NODE_BLOCKS:
        return before_blocks(p, x);
    case PLI_NODE_LOOP:
    case PLI_NODE_LIST:
        return before_parts(p, x);
    }
    return 0;
}

MPI_Offset pli_file_view_before(const struct pli_file_view *v, MPI_Offset offset)
{
    const struct pli_datatype *t = v->layout;
    MPI_Count x = offset - v->disp - t->true_lb;
    if (x <= 0 || t->size == 0) {
        return 0;
    }
    if (v->is_dense) {
        return x;
    }
    MPI_Count i = t->extent > 0 && !v->is_once ? x / t->extent : 0;
    return i * t->size + before(t->plan, x + t->true_lb - i * t->extent);
}

// Gaps between what members write. Interleaved records, the common case, are compared within
// one period; anything else is marked byte by byte.

struct range {
    MPI_Offset lo, hi;
};

static int by_lo(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

// Whether no two ranges have a byte in common; in a circle of `period` bytes, unless that is 0.
static bool are_apart(struct range *r, int n, MPI_Offset period)
{
    qsort(r, (size_t)n, sizeof *r, by_lo);
    for (int i = 0; i + 1 < n; i++) {
        if (r[i].hi > r[i + 1].lo) {
            return false;
        }
    }
    return n == 0 || period == 0 || r[n - 1].hi <= r[0].lo + period;
}

// Runs of one length with equal steps between them, as far as the piece goes; false: it has others.
static bool find_step(const struct pli_file_view_piece *p, MPI_Offset *step, struct range *first)
{
    const struct pli_datatype *t = p->view->layout;
    const struct pli_type_node *node = t->plan;
    MPI_Offset at = p->view->disp;
    if (p->view->is_dense || p->view->is_once) {
        return false;
    }
    if (node->kind == PLI_NODE_STRIDED && p->pos + (MPI_Offset)p->len <= t->size) {
        *step = node->stride;
        *first = (struct range){ at + node->disp, at + node->disp + node->len };
    } else if (node->runs == 1) {
        *step = t->extent;
        *first = (struct range){ at + t->true_lb, at + t->true_lb + t->size };
    } else {
        return false;
    }
    return *step > 0 && first->hi - first->lo <= *step;
}

// One run after another, each in its place of a period that all have in common.
static bool are_records_apart(const struct pli_file_view_piece *p, int n, struct range *r)
{
    MPI_Offset period = 0;
    for (int i = 0; i < n; i++) {
        MPI_Offset step;
        if (!find_step(&p[i], &step, &r[i]) || (i > 0 && step != period)) {
            return false;
        }
        period = step;
        MPI_Offset len = r[i].hi - r[i].lo;
        r[i].lo %= period;
        r[i].hi = r[i].lo + len;
    }
    return are_apart(r, n, period);
}

static bool are_ends_apart(const struct pli_file_view_piece *p, int n, struct range *r)
{
    for (int i = 0; i < n; i++) {
        r[i].lo = pli_file_view_offset(p[i].view, p[i].pos);
        r[i].hi = pli_file_view_end(p[i].view, p[i].pos + (MPI_Offset)p[i].len);
    }
    return are_apart(r, n, 0);
}

static void mark(unsigned char *bits, size_t from, size_t len)
{
    size_t end = from + len;
    for (; from < end && from % 8 != 0; from++) {
        bits[from / 8] |= (unsigned char)(1u << from % 8);
    }
    memset(bits + from / 8, 0xff, (end - from) / 8);
    for (from += (end - from) / 8 * 8; from < end; from++) {
        bits[from / 8] |= (unsigned char)(1u << from % 8);
    }
}

static void mark_piece(const struct pli_file_view_piece *p, MPI_Offset first, unsigned char *bits)
{
    size_t left = p->len;
    if (p->view->is_dense) {
        mark(bits, (size_t)(pli_file_view_offset(p->view, p->pos) - first), left);
        return;
    }
    struct pli_cursor c;
    struct iovec iov[N_IOV];
    pli_file_view_cursor(p->view, &c, NULL, p->pos, left);
    while (left > 0) {
        int n;
        left -= pli_cursor_iov(&c, iov, N_IOV, left, &n);
        for (int i = 0; i < n; i++) {
            mark(bits, (size_t)((MPI_Offset)(uintptr_t)iov[i].iov_base - first), iov[i].iov_len);
        }
    }
}

static bool is_marked(const struct pli_file_view_piece *p, int n, MPI_Offset first, MPI_Offset last)
{
    size_t span = (size_t)(last - first), i = 0;
    uint64_t word = UINT64_MAX;
    unsigned char *bits = calloc(span / 8 + 1, 1);
    if (bits == NULL) {
        return false;
    }
    for (int k = 0; k < n; k++) {
        mark_piece(&p[k], first, bits);
    }
    for (; word == UINT64_MAX && i + 64 <= span; i += word == UINT64_MAX ? 64 : 0) {
        memcpy(&word, bits + i / 8, sizeof word);
    }
    while (i < span && (bits[i / 8] >> i % 8 & 1) != 0) {
        i++;
    }
    free(bits);
    return i >= span;
}

bool pli_file_view_are_whole(const struct pli_file_view_piece *pieces, int n, MPI_Offset first,
                             MPI_Offset last)
{
    size_t sum = 0, span = (size_t)(last - first);
    for (int i = 0; i < n; i++) {
        sum += pieces[i].len;
    }
    if (sum < span || n == 0) {
        return sum == span;
    }
    struct range *r = malloc((size_t)n * sizeof *r);
    // Where nothing overlaps the lengths tell.
    bool is_apart = sum == span && r != NULL &&
                    (are_records_apart(pieces, n, r) || are_ends_apart(pieces, n, r));
    free(r);
    return is_apart || is_marked(pieces, n, first, last);
}
