// SPDX-License-Identifier: BSD-3-Clause
// Finds bytes of a view in the file and back, on the copy plan of the filetype: no list of its
// blocks is ever made.
#include "io/file_view.h"

#include "obj/datatype.h"
#include "obj/type_plan.h"

#include <sys/uio.h>

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

MPI_Offset pli_file_view_end(const struct pli_file_view *v, MPI_Offset pos)
{
    return pos == 0 ? v->disp : pli_file_view_offset(v, pos - 1) + 1;
}

MPI_Count pli_file_view_piece(const struct pli_file_view *v)
{
    return v->layout->size / v->layout->plan->runs;
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
    MPI_Count i = t->extent > 0 ? x / t->extent : 0;
    return i * t->size + before(t->plan, x + t->true_lb - i * t->extent);
}
