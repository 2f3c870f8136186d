// SPDX-License-Identifier: BSD-3-Clause
// Set operations: each is "the members of x that are, or are not, in y", in the order of x.
#include "obj/group_sets.h"

#include "obj/group_build.h"
#include "obj/group_index.h"

#include <mpi.h>
#include <stdlib.h>

struct piece {
    int64_t lo, hi; // members of the run, both included
};

struct filter {
    const struct pli_group *y;
    const struct pli_group_lines *lines; // of y, or NULL
    struct pli_group_lines scratch;
    bool wants_in;             // keep members in y, or those not in it
    struct pli_group_build *b; // where kept members go; NULL: only count
    int64_t n_kept;
    bool has_failed;
    struct piece *pieces;
    int n_piece, cap;
};

static void keep(struct filter *f, const struct pli_group_run *r, int64_t lo, int64_t hi)
{
    if (lo > hi) {
        return;
    }
    f->n_kept += hi - lo + 1;
    if (f->b != NULL) {
        struct pli_group_run part = *r;
        part.first.proc += (uint64_t)(lo * r->proc_step);
        part.first.ep += (uint32_t)(lo * r->ep_step);
        part.n = (int32_t)(hi - lo + 1);
        pli_group_build_add(f->b, part);
    }
}

static void add_piece(struct filter *f, int64_t lo, int64_t hi)
{
    if (f->n_piece == f->cap) {
        int cap = f->cap == 0 ? 16 : 2 * f->cap;
        struct piece *p = realloc(f->pieces, (size_t)cap * sizeof *p);
        if (p == NULL) {
            f->has_failed = true;
            return;
        }
        f->pieces = p;
        f->cap = cap;
    }
    f->pieces[f->n_piece++] = (struct piece){ lo, hi };
}

// How many steps of the class one step of the run is; 0: the run leaves the class's lines.
static int64_t stride_in(const struct pli_group_class *c, const struct pli_group_run *r)
{
    int64_t k;
    if (c->proc_step == 0) {
        return r->proc_step == 0 && r->ep_step % c->ep_step == 0 ? r->ep_step / c->ep_step : 0;
    }
    k = r->proc_step % c->proc_step == 0 ? r->proc_step / c->proc_step : 0;
    return k * c->ep_step == r->ep_step ? k : 0;
}

static bool stays_on_lines(const struct filter *f, const struct pli_group_run *r)
{
    for (int i = 0; f->lines != NULL && i < f->lines->n_class; i++) {
        if (stride_in(&f->lines->classes[i], r) == 0) {
            return false;
        }
    }
    return f->lines != NULL;
}

// The stretches of the run that lie in rows of one class.
static void find_pieces(struct filter *f, const struct pli_group_class *c,
                        const struct pli_group_run *r)
{
    int64_t k = stride_in(c, r);
    struct pli_group_place first = pli_group_index_place(c, r->first), low = first;
    uint64_t span = (uint64_t)(k < 0 ? -k : k) * (uint64_t)(r->n - 1);
    if (k < 0) {
        low.t -= span;
    }
    for (int i = pli_group_index_seek(f->lines, c, low); i < c->end; i++) {
        const struct pli_group_row *row = &f->lines->rows[i];
        if (row->line[0] != low.line[0] || row->line[1] != low.line[1] ||
            (row->lo > low.t && row->lo - low.t > span)) {
            return;
        }
        // Both ends relative to the run's first member, in steps of the class; then in its own.
        int64_t a = (int64_t)(row->lo - first.t), b = a + row->n - 1;
        int64_t lo = k > 0 ? a : -b, hi = k > 0 ? b : -a, step = k > 0 ? k : -k;
        lo = lo <= 0 ? 0 : (lo + step - 1) / step;
        hi = hi < 0 ? -1 : hi / step;
        if (hi > r->n - 1) {
            hi = r->n - 1;
        }
        if (lo <= hi) {
            add_piece(f, lo, hi);
        }
    }
}

static int by_lo(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

static void filter_lines(struct filter *f, const struct pli_group_run *r)
{
    int64_t next = 0; // first member not yet decided
    bool is_sorted = true;
    f->n_piece = 0;
    for (int i = 0; i < f->lines->n_class; i++) {
        find_pieces(f, &f->lines->classes[i], r);
    }
    for (int i = 1; i < f->n_piece; i++) {
        is_sorted = is_sorted && f->pieces[i - 1].lo < f->pieces[i].lo;
    }
    if (!is_sorted) {
        qsort(f->pieces, (size_t)f->n_piece, sizeof *f->pieces, by_lo);
    }
    for (int i = 0; i < f->n_piece; i++) {
        if (f->wants_in) {
            keep(f, r, f->pieces[i].lo, f->pieces[i].hi);
        } else {
            keep(f, r, next, f->pieces[i].lo - 1);
        }
        next = f->pieces[i].hi + 1;
    }
    if (!f->wants_in) {
        keep(f, r, next, r->n - 1);
    }
}

static void filter_members(struct filter *f, const struct pli_group_run *r)
{
    int64_t from = 0; // first of a stretch of kept members
    pli_group_index_expect(f->y, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        struct pli_id id = { r->first.proc + (uint64_t)(i * r->proc_step),
                             r->first.ep + (uint32_t)(i * r->ep_step) };
        if ((pli_group_rank_of(f->y, id) >= 0) != f->wants_in) {
            keep(f, r, from, i - 1);
            from = i + 1;
        }
    }
    keep(f, r, from, r->n - 1);
}

// Put the members of x that are (or are not) in y into b; *n_out: how many.
static enum pli_err filter(const struct pli_group *x, const struct pli_group *y, bool wants_in,
                           struct pli_group_build *b, int64_t *n_out)
{
    struct filter f = { .y = y, .wants_in = wants_in, .b = b };
    f.lines = pli_group_index_lines(y, &f.scratch);
    for (int i = 0; i < x->n_run; i++) {
        const struct pli_group_run *r = &x->runs[i];
        if (r->n > 1 && stays_on_lines(&f, r)) {
            filter_lines(&f, r);
        } else {
            filter_members(&f, r);
        }
    }
    free(f.pieces);
    *n_out = f.n_kept;
    return f.has_failed ? pli_fail(PLI_ERR_NOMEM, "no memory to combine two groups") : PLI_OK;
}

static enum pli_err combine(struct pli_group *a, struct pli_group *b, bool wants_in,
                            struct pli_group **out)
{
    struct pli_group_build build;
    int64_t n;
    enum pli_err err = pli_group_check_session(a, b);
    if (err != PLI_OK) {
        return err;
    }
    pli_group_build_init(&build);
    err = filter(a, b, wants_in, &build, &n);
    if (err != PLI_OK) {
        pli_group_build_fini(&build);
        return err;
    }
    return pli_group_build_finish(&build, a->session, a->me, out);
}

enum pli_err pli_group_sets_intersection(struct pli_group *a, struct pli_group *b,
                                         struct pli_group **out)
{
    return combine(a, b, true, out);
}

enum pli_err pli_group_sets_difference(struct pli_group *a, struct pli_group *b,
                                       struct pli_group **out)
{
    return combine(a, b, false, out);
}

enum pli_err pli_group_sets_union(struct pli_group *a, struct pli_group *b, struct pli_group **out)
{
    struct pli_group_build build;
    int64_t n;
    const struct pli_group *asks = a->size > 0 ? a : b;
    enum pli_err err = pli_group_check_session(a, b);
    if (err != PLI_OK) {
        return err;
    }
    pli_group_build_init(&build);
    for (int i = 0; i < a->n_run; i++) {
        pli_group_build_add(&build, a->runs[i]);
    }
    err = filter(b, a, false, &build, &n);
    if (err != PLI_OK) {
        pli_group_build_fini(&build);
        return err;
    }
    return pli_group_build_finish(&build, asks->session, asks->me, out);
}

// Whether the members are the same in the same order, whatever runs they are in.
static bool is_same_list(const struct pli_group *a, const struct pli_group *b)
{
    int i = 0, j = 0;
    for (int rank = 0; rank < a->size;) {
        const struct pli_group_run *x = &a->runs[i], *y = &b->runs[j];
        int left_x = x->base + x->n - rank, left_y = y->base + y->n - rank;
        int n = left_x < left_y ? left_x : left_y;
        struct pli_id p = { x->first.proc + (uint64_t)((int64_t)(rank - x->base) * x->proc_step),
                            x->first.ep + (uint32_t)((int64_t)(rank - x->base) * x->ep_step) };
        struct pli_id q = { y->first.proc + (uint64_t)((int64_t)(rank - y->base) * y->proc_step),
                            y->first.ep + (uint32_t)((int64_t)(rank - y->base) * y->ep_step) };
        bool is_parallel = x->proc_step == y->proc_step && x->ep_step == y->ep_step;
        if (!pli_group_same(p, q) || (n > 1 && !is_parallel)) {
            return false;
        }
        rank += n;
        i += n == left_x;
        j += n == left_y;
    }
    return true;
}

enum pli_err pli_group_sets_relation(const struct pli_group *a, const struct pli_group *b,
                                     int *result_out)
{
    int64_t n_missing = a->size;
    if (a->size == b->size && (a->runs == b->runs || is_same_list(a, b))) {
        *result_out = MPI_IDENT;
        return PLI_OK;
    }
    if (a->size == b->size) {
        enum pli_err err = filter(a, b, false, NULL, &n_missing);
        if (err != PLI_OK) {
            return err;
        }
    }
    *result_out = n_missing == 0 && a->size == b->size ? MPI_SIMILAR : MPI_UNEQUAL;
    return PLI_OK;
}

enum pli_err pli_group_sets_compare(struct pli_group *a, struct pli_group *b, int *result_out)
{
    enum pli_err err = pli_group_check_session(a, b);
    return err == PLI_OK ? pli_group_sets_relation(a, b, result_out) : err;
}
