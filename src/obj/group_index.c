// SPDX-License-Identifier: BSD-3-Clause
// The index over the runs of a group: sorted lines, or a table of members.
#include "obj/group_index.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct slot {
    uint64_t proc;
    uint32_t ep;
    int32_t rank; // -1: empty
};

// Every member of a group. Direct: one endpoint number and processes close together, so that the
// process is the place. Else open addressing.
struct table {
    bool is_direct;
    uint32_t ep;        // direct: of all members
    uint64_t min;       // direct: process of the first place
    uint64_t n;         // places; a power of two unless direct
    int32_t *ranks;     // direct
    struct slot *slots; // else
};

struct pli_group_store {
    _Atomic int refs;
    int n_run, size;
    struct pli_group_run *runs;
    _Atomic(struct pli_group_lines *) lines; // made when first needed
    _Atomic(struct table *) table;
    _Atomic bool is_plain; // see comm_hold.c
};

struct pli_group_store *pli_group_index_create(struct pli_group_run *runs, int n_run, int size)
{
    struct pli_group_store *s = calloc(1, sizeof *s);
    if (s != NULL) {
        struct pli_group_run *fit = realloc(runs, (size_t)n_run * sizeof *runs);
        *s =
            (struct pli_group_store){ 1, n_run, size, fit != NULL ? fit : runs, NULL, NULL, false };
    }
    return s;
}

bool pli_group_index_is_plain(const struct pli_group_store *s)
{
    return atomic_load_explicit(&s->is_plain, memory_order_relaxed);
}

void pli_group_index_set_plain(struct pli_group_store *s)
{
    atomic_store_explicit(&s->is_plain, true, memory_order_relaxed);
}

struct pli_group_store *pli_group_index_retain(struct pli_group_store *s)
{
    if (s != NULL) {
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    }
    return s;
}

static void lines_destroy(struct pli_group_lines *l)
{
    if (l != NULL) {
        free(l->rows);
        free(l);
    }
}

static void table_destroy(struct table *t)
{
    if (t != NULL) {
        free(t->ranks);
        free(t->slots);
        free(t);
    }
}

void pli_group_index_release(struct pli_group_store *s)
{
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        lines_destroy(atomic_load_explicit(&s->lines, memory_order_relaxed));
        table_destroy(atomic_load_explicit(&s->table, memory_order_relaxed));
        free(s->runs);
        free(s);
    }
}

const struct pli_group_run *pli_group_index_runs(const struct pli_group_store *s)
{
    return s->runs;
}

struct pli_group_place pli_group_index_place(const struct pli_group_class *c, struct pli_id id)
{
    if (c->proc_step == 0) {
        uint32_t step = (uint32_t)c->ep_step;
        return (struct pli_group_place){ { id.proc, id.ep % step }, id.ep / step };
    }
    uint64_t t = id.proc, left = 0;
    if (c->proc_step != 1) {
        t = id.proc / (uint32_t)c->proc_step;
        left = id.proc % (uint32_t)c->proc_step;
    }
    return (struct pli_group_place){ { left, id.ep - (uint64_t)(int64_t)c->ep_step * t }, t };
}

// The class of a run's direction, entered when new; NULL: too many directions.
static struct pli_group_class *class_for(struct pli_group_lines *l, const struct pli_group_run *r)
{
    bool is_back = r->proc_step < 0 || (r->proc_step == 0 && r->ep_step < 0);
    int32_t proc = is_back ? -r->proc_step : r->proc_step;
    int32_t ep = is_back ? -r->ep_step : r->ep_step;
    for (int i = 0; i < l->n_class; i++) {
        if (l->classes[i].proc_step == proc && l->classes[i].ep_step == ep) {
            return &l->classes[i];
        }
    }
    if (l->n_class == PLI_GROUP_N_CLASS) {
        return NULL;
    }
    l->classes[l->n_class] = (struct pli_group_class){ proc, ep, 0, 0 };
    return &l->classes[l->n_class++];
}

static struct pli_group_row row_of(const struct pli_group_class *c, const struct pli_group_run *r)
{
    bool is_back = r->proc_step != c->proc_step || r->ep_step != c->ep_step;
    int64_t low = is_back ? r->n - 1 : 0;
    struct pli_id id = { r->first.proc + (uint64_t)(low * r->proc_step),
                         r->first.ep + (uint32_t)(low * r->ep_step) };
    struct pli_group_place p = pli_group_index_place(c, id);
    return (struct pli_group_row){ { p.line[0], p.line[1] }, p.t, r->n, r->base, is_back };
}

// Order by line, then along it.
static int compare_place(const uint64_t line[2], uint64_t t, const struct pli_group_row *row)
{
    if (line[0] != row->line[0]) {
        return line[0] < row->line[0] ? -1 : 1;
    }
    if (line[1] != row->line[1]) {
        return line[1] < row->line[1] ? -1 : 1;
    }
    return t == row->lo ? 0 : t < row->lo ? -1 : 1;
}

static int by_line(const void *a, const void *b)
{
    const struct pli_group_row *x = a;
    return compare_place(x->line, x->lo, b);
}

static void sort_rows(struct pli_group_row *rows, int n)
{
    for (int i = 1; i < n; i++) { // runs often come in order
        if (by_line(&rows[i - 1], &rows[i]) > 0) {
            qsort(rows, (size_t)n, sizeof *rows, by_line);
            return;
        }
    }
}

static struct pli_group_lines *lines_create(const struct pli_group_store *s)
{
    struct pli_group_lines *l = calloc(1, sizeof *l);
    struct pli_group_row *rows = malloc((size_t)s->n_run * sizeof *rows);
    int at[PLI_GROUP_N_CLASS] = { 0 };
    if (l == NULL || rows == NULL) {
        free(l);
        free(rows);
        return NULL;
    }
    l->rows = rows;
    for (int i = 0; i < s->n_run; i++) {
        struct pli_group_class *c = class_for(l, &s->runs[i]);
        if (c == NULL) {
            lines_destroy(l);
            return NULL;
        }
        c->end++;
    }
    for (int i = 0, begin = 0; i < l->n_class; i++) {
        l->classes[i].begin = at[i] = begin;
        begin += l->classes[i].end;
        l->classes[i].end = begin;
    }
    for (int i = 0; i < s->n_run; i++) {
        struct pli_group_class *c = class_for(l, &s->runs[i]);
        rows[at[c - l->classes]++] = row_of(c, &s->runs[i]);
    }
    for (int i = 0; i < l->n_class; i++) {
        sort_rows(rows + l->classes[i].begin, l->classes[i].end - l->classes[i].begin);
    }
    return l;
}

// Lines pay when runs are long, or few.
static bool wants_lines(const struct pli_group *g)
{
    return g->n_run <= 64 || g->n_run <= g->size / 4;
}

const struct pli_group_lines *pli_group_index_lines(const struct pli_group *g,
                                                    struct pli_group_lines *scratch)
{
    if (g->n_run <= 1) {
        memset(scratch, 0, sizeof *scratch);
        scratch->rows = &scratch->one;
        if (g->n_run == 1) {
            struct pli_group_class *c = class_for(scratch, &g->one);
            c->end = 1;
            scratch->one = row_of(c, &g->one);
        }
        return scratch;
    }
    struct pli_group_store *s = g->store;
    struct pli_group_lines *l = atomic_load_explicit(&s->lines, memory_order_acquire);
    if (l == NULL && wants_lines(g)) {
        struct pli_group_lines *made = lines_create(s);
        if (made != NULL && !atomic_compare_exchange_strong_explicit(
                                &s->lines, &l, made, memory_order_acq_rel, memory_order_acquire)) {
            lines_destroy(made); // another thread was first: l is its
        } else {
            l = made;
        }
    }
    return l;
}

int pli_group_index_seek(const struct pli_group_lines *l, const struct pli_group_class *c,
                         struct pli_group_place at)
{
    int lo = c->begin, hi = c->end; // the first row that begins after `at`
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (compare_place(at.line, at.t, &l->rows[mid]) >= 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo > c->begin) {
        const struct pli_group_row *r = &l->rows[lo - 1];
        if (r->line[0] == at.line[0] && r->line[1] == at.line[1] && at.t - r->lo < (uint64_t)r->n) {
            return lo - 1;
        }
    }
    return lo;
}

static int find_in_lines(const struct pli_group_lines *l, struct pli_id id)
{
    for (int i = 0; i < l->n_class; i++) {
        struct pli_group_place at = pli_group_index_place(&l->classes[i], id);
        int k = pli_group_index_seek(l, &l->classes[i], at);
        const struct pli_group_row *r = &l->rows[k];
        if (k < l->classes[i].end && r->line[0] == at.line[0] && r->line[1] == at.line[1] &&
            at.t >= r->lo) {
            int32_t far = (int32_t)(at.t - r->lo);
            return r->is_reversed ? r->base + r->n - 1 - far : r->base + far;
        }
    }
    return -1;
}

static uint64_t mix(uint64_t proc, uint32_t ep)
{
    uint64_t h = (proc ^ ((uint64_t)ep << 32 | ep)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static bool fill_table(struct table *t, const struct pli_group_store *s)
{
    if (t->is_direct) {
        t->ranks = malloc(t->n * sizeof *t->ranks);
    } else {
        t->slots = malloc(t->n * sizeof *t->slots);
    }
    if (t->ranks == NULL && t->slots == NULL) {
        return false;
    }
    memset(t->is_direct ? (void *)t->ranks : (void *)t->slots, 0xff,
           t->n * (t->is_direct ? sizeof *t->ranks : sizeof *t->slots));
    for (int i = 0; i < s->n_run; i++) {
        const struct pli_group_run *r = &s->runs[i];
        for (int64_t k = 0; k < r->n; k++) {
            uint64_t proc = r->first.proc + (uint64_t)(k * r->proc_step);
            uint32_t ep = r->first.ep + (uint32_t)(k * r->ep_step);
            int32_t rank = (int32_t)(r->base + k);
            if (t->is_direct) {
                t->ranks[proc - t->min] = rank;
                continue;
            }
            uint64_t h = mix(proc, ep) & (t->n - 1);
            while (t->slots[h].rank >= 0) {
                h = (h + 1) & (t->n - 1);
            }
            t->slots[h] = (struct slot){ proc, ep, rank };
        }
    }
    return true;
}

static struct table *table_create(const struct pli_group_store *s)
{
    struct table *t = calloc(1, sizeof *t);
    uint64_t min = UINT64_MAX, max = 0;
    bool is_one_ep = true;
    for (int i = 0; i < s->n_run; i++) {
        const struct pli_group_run *r = &s->runs[i];
        uint64_t a = r->first.proc, b = a + (uint64_t)((int64_t)(r->n - 1) * r->proc_step);
        min = a < min ? a : min;
        min = b < min ? b : min;
        max = a > max ? a : max;
        max = b > max ? b : max;
        is_one_ep = is_one_ep && r->ep_step == 0 && r->first.ep == s->runs[0].first.ep;
    }
    if (t == NULL) {
        return NULL;
    }
    t->is_direct = is_one_ep && max - min < 4 * (uint64_t)s->size;
    t->ep = s->runs[0].first.ep;
    t->min = min;
    t->n = max - min + 1;
    if (!t->is_direct) {
        for (t->n = 16; t->n < 2 * (uint64_t)s->size; t->n *= 2) {
        }
    }
    if (!fill_table(t, s)) {
        table_destroy(t);
        return NULL;
    }
    return t;
}

static int find_in_table(const struct table *t, struct pli_id id)
{
    if (t->is_direct) {
        return id.ep == t->ep && id.proc - t->min < t->n ? t->ranks[id.proc - t->min] : -1;
    }
    uint64_t h = mix(id.proc, id.ep) & (t->n - 1);
    while (t->slots[h].rank >= 0 && (t->slots[h].proc != id.proc || t->slots[h].ep != id.ep)) {
        h = (h + 1) & (t->n - 1);
    }
    return t->slots[h].rank;
}

// Without an index: for when there is no memory to make one.
static int find_in_runs(const struct pli_group *g, struct pli_id id)
{
    for (int i = 0; i < g->n_run; i++) {
        struct pli_group_lines l = { 0 };
        struct pli_group_class *c = class_for(&l, &g->runs[i]);
        c->end = 1;
        l.rows = &l.one;
        l.one = row_of(c, &g->runs[i]);
        int rank = find_in_lines(&l, id);
        if (rank >= 0) {
            return rank;
        }
    }
    return -1;
}

// The table of all members, made on first use and kept; NULL: no memory.
static struct table *table_of(struct pli_group_store *s)
{
    struct table *t = atomic_load_explicit(&s->table, memory_order_acquire);
    struct table *made = t == NULL ? table_create(s) : NULL;
    if (made == NULL) {
        return t;
    }
    if (!atomic_compare_exchange_strong_explicit(&s->table, &t, made, memory_order_acq_rel,
                                                 memory_order_acquire)) {
        table_destroy(made);
        return t; // another thread's
    }
    return made;
}

void pli_group_index_expect(const struct pli_group *g, int64_t n)
{
    if (g->store != NULL && g->n_run > 4 && n >= g->size / 8) {
        table_of(g->store);
    }
}

int pli_group_index_find(const struct pli_group *g, struct pli_id id)
{
    struct pli_group_lines scratch;
    struct pli_group_store *s = g->store;
    struct table *t = s != NULL ? atomic_load_explicit(&s->table, memory_order_acquire) : NULL;
    if (t != NULL) {
        return find_in_table(t, id);
    }
    const struct pli_group_lines *l = pli_group_index_lines(g, &scratch);
    if (l != NULL) {
        return find_in_lines(l, id);
    }
    t = table_of(s);
    return t != NULL ? find_in_table(t, id) : find_in_runs(g, id);
}
