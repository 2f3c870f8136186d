// SPDX-License-Identifier: BSD-3-Clause
// Builds copy plans: merges neighbours, finds runs and strides, keeps the tree flat.
#include "obj/type_plan.h"

#include "obj/datatype.h"

#include <stdlib.h>

// Small lists are flattened to runs whatever they are made of, larger ones when that does not make
// them much longer.
enum { FLAT_ALWAYS = 32, FLAT_FACTOR = 2 };

// Short runs of different lengths that have a common measure of this size are cut to it: equal
// blocks are copied without guessing the next length.
enum { UNIT_MIN = 4, UNIT_MAX = 16, UNITS_PER_RUN = 4 };

// Collects runs in stream order and joins those that touch. Without arrays it only counts, and
// notes whether the runs form a regular pattern.
struct sink {
    MPI_Count n, total;
    MPI_Count disp, len;  // the run that may still grow
    MPI_Count first;      // place of the first run
    MPI_Count len0, step; // of the runs closed so far
    bool is_same_len, is_same_step;
    MPI_Count prev; // place of the last closed run
    MPI_Count unit; // greatest common measure of the lengths
    MPI_Count cut;  // write runs as blocks of this length
    MPI_Count *disps, *starts;
};

static void *new_node(struct pli_datatype *owner, size_t extra)
{
    struct pli_type_node *p = calloc(1, sizeof *p + extra);
    if (p != NULL) {
        p->next = owner->nodes;
        owner->nodes = p;
    }
    return p;
}

static enum pli_err no_memory(MPI_Count n)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for a datatype of %lld blocks", (long long)n);
}

void pli_type_plan_free(struct pli_type_node *nodes)
{
    while (nodes != NULL) {
        struct pli_type_node *next = nodes->next;
        free(nodes);
        nodes = next;
    }
}

static enum pli_err check_depth(const struct pli_type_node *p)
{
    if (p->depth > PLI_NODE_DEPTH_MAX) {
        return pli_fail(PLI_ERR_TYPE,
                        "the datatype nests more than %d levels that cannot be merged",
                        PLI_NODE_DEPTH_MAX);
    }
    return PLI_OK;
}

enum pli_err pli_type_plan_loop(struct pli_datatype *owner, MPI_Count n, MPI_Count stride,
                                const struct pli_type_node *child, MPI_Count disp,
                                const struct pli_type_node **out)
{
    if (n == 0 || child == NULL) {
        *out = NULL;
        return PLI_OK;
    }
    if (n == 1 && disp == 0) {
        *out = child;
        return PLI_OK;
    }
    struct pli_type_node *p = new_node(owner, 0);
    if (p == NULL) {
        return no_memory(n);
    }
    struct pli_type_node *next = p->next;
    pli_type_plan_fill(p, n, stride, child, disp);
    p->next = next;
    *out = p;
    return check_depth(p);
}

static MPI_Count measure(MPI_Count a, MPI_Count b)
{
    while (b != 0) {
        MPI_Count r = a % b;
        a = b;
        b = r;
    }
    return a;
}

// The growing run is complete.
static void close_run(struct sink *s)
{
    if (s->len == 0) {
        return;
    }
    if (s->cut > 0) {
        for (MPI_Count at = 0; at < s->len; at += s->cut) {
            s->disps[s->n++] = s->disp + at;
        }
        s->len = 0;
        return;
    }
    if (s->disps != NULL) {
        s->disps[s->n] = s->disp;
        if (s->starts != NULL) {
            s->starts[s->n] = s->total;
        }
    }
    s->unit = measure(s->unit, s->len);
    if (s->n == 0) {
        s->first = s->disp;
        s->len0 = s->len;
        s->is_same_len = s->is_same_step = true;
    } else {
        s->is_same_len = s->is_same_len && s->len == s->len0;
        s->step = s->n == 1 ? s->disp - s->prev : s->step;
        s->is_same_step = s->is_same_step && s->disp - s->prev == s->step;
    }
    s->prev = s->disp;
    s->total += s->len;
    s->n++;
    s->len = 0;
}

static void add_run(struct sink *s, MPI_Count disp, MPI_Count len)
{
    if (s->len > 0 && s->disp + s->len == disp) {
        s->len += len;
        return;
    }
    close_run(s);
    s->disp = disp;
    s->len = len;
}

static void add_node(struct sink *s, const struct pli_type_node *p, MPI_Count base)
{
    base += p->disp;
    switch (p->kind) {
    case PLI_NODE_RUN:
        add_run(s, base, p->len);
        break;
    case PLI_NODE_STRIDED:
        for (MPI_Count i = 0; i < p->n; i++) {
            add_run(s, base + i * p->stride, p->len);
        }
        break;
    case PLI_NODE_BLOCKS:
        for (MPI_Count i = 0; i < p->n; i++) {
            add_run(s, base + p->disps[i],
                    p->starts != NULL ? p->starts[i + 1] - p->starts[i] : p->len);
        }
        break;
    case PLI_NODE_LOOP:
        for (MPI_Count i = 0; i < p->n; i++) {
            add_node(s, p->child, base + i * p->stride);
        }
        break;
    case PLI_NODE_LIST:
        for (MPI_Count i = 0; i < p->n; i++) {
            add_node(s, p->kids[i], base + p->disps[i]);
        }
        break;
    }
}

static void add_parts(struct sink *s, MPI_Count n, pli_type_part_fn part, const void *arg)
{
    for (MPI_Count i = 0; i < n; i++) {
        struct pli_type_part q;
        part(arg, i, &q);
        if (q.node == NULL || q.n == 0) {
            continue;
        }
        struct pli_type_node one;
        pli_type_plan_fill(&one, q.n, q.stride, q.node, q.disp);
        add_node(s, &one, 0);
    }
    close_run(s);
}

// Runs of different lengths that are better written as equal blocks.
static bool is_worth_cutting(const struct sink *s)
{
    return s->n > FLAT_ALWAYS && !s->is_same_len && s->unit >= UNIT_MIN && s->unit <= UNIT_MAX &&
           s->total / s->unit / UNITS_PER_RUN <= s->n;
}

static void set_regular(struct pli_type_node *p, const struct sink *s)
{
    p->kind = s->n == 1 ? PLI_NODE_RUN : PLI_NODE_STRIDED;
    p->disp = s->first;
    p->stride = s->n == 1 ? 0 : s->step;
}

// The list as one leaf. Goes over it twice: to see the pattern, and to write it down if need be.
static enum pli_err flatten(struct pli_datatype *owner, MPI_Count n, pli_type_part_fn part,
                            const void *arg, const struct pli_type_node **out)
{
    struct sink s = { 0 };
    add_parts(&s, n, part, arg);
    if (s.n == 0) {
        *out = NULL;
        return PLI_OK;
    }
    bool is_regular = s.n == 1 || (s.is_same_len && s.is_same_step);
    struct sink fill = { .cut = is_worth_cutting(&s) ? s.unit : 0 };
    MPI_Count n_block = fill.cut > 0 ? s.total / fill.cut : s.n;
    bool is_equal = s.is_same_len || fill.cut > 0;
    size_t words = is_regular ? 0 : (size_t)n_block * (is_equal ? 1 : 2) + 1;
    struct pli_type_node *p = new_node(owner, words * sizeof(MPI_Count));
    if (p == NULL) {
        return no_memory(n_block);
    }
    p->n = n_block;
    p->runs = s.n;
    p->size = s.total;
    p->len = fill.cut > 0 ? fill.cut : s.is_same_len ? s.len0 : 0;
    if (is_regular) {
        set_regular(p, &s);
    } else {
        fill.disps = (MPI_Count *)(p + 1);
        fill.starts = is_equal ? NULL : fill.disps + n_block;
        add_parts(&fill, n, part, arg);
        if (fill.starts != NULL) {
            fill.starts[n_block] = s.total;
        }
        p->kind = PLI_NODE_BLOCKS;
        p->disps = fill.disps;
        p->starts = fill.starts;
    }
    *out = p;
    return PLI_OK;
}

// The list as it is: kids at places. Equal neighbours share a kid.
static enum pli_err make_list(struct pli_datatype *owner, MPI_Count n, MPI_Count n_used,
                              pli_type_part_fn part, const void *arg,
                              const struct pli_type_node **out)
{
    struct pli_type_node *p = new_node(owner, ((size_t)n_used * 3 + 1) * sizeof(MPI_Count));
    if (p == NULL) {
        return no_memory(n_used);
    }
    const struct pli_type_node **kids = (const struct pli_type_node **)(p + 1);
    MPI_Count *disps = (MPI_Count *)(kids + n_used), *starts = disps + n_used;
    struct pli_type_part last = { 0 };
    MPI_Count at = 0;
    p->kind = PLI_NODE_LIST;
    for (MPI_Count i = 0; i < n; i++) {
        struct pli_type_part q;
        part(arg, i, &q);
        if (q.node == NULL || q.n == 0) {
            continue;
        }
        if (at > 0 && q.node == last.node && q.n == last.n && q.stride == last.stride) {
            kids[at] = kids[at - 1];
        } else {
            enum pli_err err = pli_type_plan_loop(owner, q.n, q.stride, q.node, 0, &kids[at]);
            if (err != PLI_OK) {
                return err;
            }
        }
        last = q;
        disps[at] = q.disp;
        starts[at] = p->size;
        p->size += kids[at]->size;
        p->runs = p->runs > INT64_MAX - kids[at]->runs ? INT64_MAX : p->runs + kids[at]->runs;
        p->depth = kids[at]->depth >= p->depth ? kids[at]->depth + 1 : p->depth;
        at++;
    }
    starts[at] = p->size;
    p->n = at;
    p->kids = kids;
    p->disps = disps;
    p->starts = starts;
    *out = p;
    return check_depth(p);
}

enum pli_err pli_type_plan_list(struct pli_datatype *owner, MPI_Count n, pli_type_part_fn part,
                                const void *arg, const struct pli_type_node **out)
{
    MPI_Count runs = 0, n_used = 0;
    struct pli_type_part q, one = { 0 };
    for (MPI_Count i = 0; i < n; i++) {
        part(arg, i, &q);
        if (q.node == NULL || q.n == 0) {
            continue;
        }
        struct pli_type_node loop;
        pli_type_plan_fill(&loop, q.n, q.stride, q.node, 0);
        runs = runs > INT64_MAX - loop.runs ? INT64_MAX : runs + loop.runs;
        one = q;
        n_used++;
    }
    if (n_used <= 1) {
        return pli_type_plan_loop(owner, one.n, one.stride, one.node, one.disp, out);
    }
    if (runs <= FLAT_ALWAYS || runs / FLAT_FACTOR <= n_used) {
        return flatten(owner, n, part, arg, out);
    }
    return make_list(owner, n, n_used, part, arg, out);
}
