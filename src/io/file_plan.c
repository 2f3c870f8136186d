// SPDX-License-Identifier: BSD-3-Clause
// Writes the nodes of a copy plan behind each other, every one after the ones it is made of, and
// makes a plan of them again.
#include "io/file_plan.h"

#include "obj/datatype.h"
#include "obj/type_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct head {
    int64_t size, lb, extent, true_lb, true_extent;
    uint32_t n_node, is_dense;
};

// What a node says of itself; behind it are disps, starts and the numbers of its parts.
struct row {
    int64_t kind, disp, size, runs, n, len, stride, has_starts;
};

// The nodes met so far, each once.
struct book {
    const struct pli_type_node **nodes;
    size_t n, cap;
    uint32_t *slots; // by hash, number + 1
    size_t n_slot;
    bool has_failed;
};

static size_t hash(const struct book *b, const struct pli_type_node *p)
{
    return ((uintptr_t)p >> 4) * (size_t)0x9e3779b97f4a7c15u >> 20 & (b->n_slot - 1);
}

static uint32_t *slot_of(const struct book *b, const struct pli_type_node *p)
{
    size_t i = hash(b, p);
    while (b->slots[i] != 0 && b->nodes[b->slots[i] - 1] != p) {
        i = (i + 1) & (b->n_slot - 1);
    }
    return &b->slots[i];
}

static void grow(struct book *b)
{
    size_t cap = b->cap == 0 ? 64 : 2 * b->cap;
    const struct pli_type_node **nodes = realloc(b->nodes, cap * sizeof *nodes);
    uint32_t *slots = calloc(2 * cap, sizeof *slots);
    b->nodes = nodes != NULL ? nodes : b->nodes;
    if (nodes == NULL || slots == NULL) {
        free(slots);
        b->has_failed = true;
        return;
    }
    free(b->slots);
    b->slots = slots;
    b->n_slot = 2 * cap;
    b->cap = cap;
    for (size_t i = 0; i < b->n; i++) {
        *slot_of(b, b->nodes[i]) = (uint32_t)i + 1;
    }
}

// Enter a node behind its parts.
static void enter(struct book *b, const struct pli_type_node *p)
{
    if (b->has_failed || (b->n_slot > 0 && *slot_of(b, p) != 0)) {
        return;
    }
    if (p->kind == PLI_NODE_LOOP) {
        enter(b, p->child);
    }
    for (MPI_Count i = 0; p->kind == PLI_NODE_LIST && i < p->n; i++) {
        enter(b, p->kids[i]);
    }
    if (b->n == b->cap) {
        grow(b);
    }
    if (!b->has_failed) {
        *slot_of(b, p) = (uint32_t)b->n + 1;
        b->nodes[b->n++] = p;
    }
}

static bool has_disps(int64_t kind)
{
    return kind == PLI_NODE_BLOCKS || kind == PLI_NODE_LIST;
}

static size_t row_bytes(const struct pli_type_node *p)
{
    size_t n = (size_t)p->n, bytes = sizeof(struct row);
    bytes += has_disps(p->kind) ? n * 8 : 0;
    bytes += p->starts != NULL ? (n + 1) * 8 : 0;
    bytes += p->kind == PLI_NODE_LIST ? n * 8 : p->kind == PLI_NODE_LOOP ? 8 : 0;
    return bytes;
}

static char *put(char *at, const void *from, size_t len)
{
    memcpy(at, from, len);
    return at + len;
}

static char *put_number(char *at, const struct book *b, const struct pli_type_node *p)
{
    int64_t number = *slot_of(b, p) - 1;
    return put(at, &number, sizeof number);
}

static char *put_row(char *at, const struct book *b, const struct pli_type_node *p)
{
    struct row r = {
        p->kind, p->disp, p->size, p->runs, p->n, p->len, p->stride, p->starts != NULL
    };
    at = put(at, &r, sizeof r);
    if (has_disps(p->kind)) {
        at = put(at, p->disps, (size_t)p->n * 8);
    }
    if (p->starts != NULL) {
        at = put(at, p->starts, ((size_t)p->n + 1) * 8);
    }
    if (p->kind == PLI_NODE_LOOP) {
        at = put_number(at, b, p->child);
    }
    for (MPI_Count i = 0; p->kind == PLI_NODE_LIST && i < p->n; i++) {
        at = put_number(at, b, p->kids[i]);
    }
    return at;
}

enum pli_err pli_file_plan_encode(const struct pli_datatype *t, char **out, size_t *len_out)
{
    struct book b = { .n = 0 };
    if (t->plan != NULL && !t->is_dense) {
        enter(&b, t->plan);
    }
    size_t len = sizeof(struct head);
    for (size_t i = 0; i < b.n; i++) {
        len += row_bytes(b.nodes[i]);
    }
    char *bytes = b.has_failed ? NULL : malloc(len);
    if (bytes != NULL) {
        struct head h = { t->size,        t->lb,         t->extent,  t->true_lb,
                          t->true_extent, (uint32_t)b.n, t->is_dense };
        char *at = put(bytes, &h, sizeof h);
        for (size_t i = 0; i < b.n; i++) {
            at = put_row(at, &b, b.nodes[i]);
        }
    }
    free(b.nodes);
    free(b.slots);
    *out = bytes;
    *len_out = len;
    return bytes != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for a file view");
}

// What is left of the bytes.
struct reader {
    const char *at;
    size_t left;
    bool is_bad;
};

static const void *take(struct reader *r, size_t n, size_t each)
{
    const char *at = r->at;
    size_t len;
    if (r->is_bad || __builtin_mul_overflow(n, each, &len) || len > r->left) {
        r->is_bad = true;
        return NULL;
    }
    r->at += len;
    r->left -= len;
    return at;
}

// A copy of n numbers, in memory of the type.
static MPI_Count *take_numbers(struct reader *r, size_t n)
{
    const void *from = take(r, n, 8);
    MPI_Count *to = from != NULL ? malloc((n + 1) * 8) : NULL;
    r->is_bad = r->is_bad || to == NULL;
    if (to != NULL) {
        memcpy(to, from, n * 8);
    }
    return to;
}

static void take_parts(struct reader *r, struct pli_type_node *p, struct pli_type_node **nodes,
                       size_t n_known)
{
    size_t n = p->kind == PLI_NODE_LOOP ? 1 : (size_t)p->n;
    MPI_Count *numbers = take_numbers(r, n);
    const struct pli_type_node **kids = r->is_bad ? NULL : malloc(n * sizeof *kids);
    for (size_t i = 0; kids != NULL && i < n; i++) {
        bool is_known = numbers[i] >= 0 && (size_t)numbers[i] < n_known;
        r->is_bad = r->is_bad || !is_known;
        kids[i] = is_known ? nodes[numbers[i]] : NULL;
    }
    r->is_bad = r->is_bad || kids == NULL;
    free(numbers);
    if (p->kind == PLI_NODE_LOOP) {
        p->child = kids != NULL ? kids[0] : NULL;
        free(kids);
    } else {
        p->kids = kids;
    }
}

static struct pli_type_node *take_row(struct reader *r, struct pli_type_node **nodes,
                                      size_t n_known)
{
    const void *from = take(r, 1, sizeof(struct row));
    struct pli_type_node *p = from != NULL ? calloc(1, sizeof *p) : NULL;
    if (p == NULL) {
        r->is_bad = true;
        return NULL;
    }
    struct row w;
    memcpy(&w, from, sizeof w);
    *p = (struct pli_type_node){ .kind = (enum pli_node_kind)w.kind,
                                 .disp = w.disp,
                                 .size = w.size,
                                 .runs = w.runs,
                                 .n = w.n,
                                 .len = w.len,
                                 .stride = w.stride };
    r->is_bad = w.kind < PLI_NODE_RUN || w.kind > PLI_NODE_LIST || w.size <= 0 || w.n < 0 ||
                (w.kind == PLI_NODE_STRIDED && (w.n < 1 || w.stride <= 0));
    if (!r->is_bad && has_disps(w.kind)) {
        p->disps = take_numbers(r, (size_t)w.n);
    }
    if (!r->is_bad && w.has_starts != 0) {
        p->starts = take_numbers(r, (size_t)w.n + 1);
    }
    if (!r->is_bad && (w.kind == PLI_NODE_LOOP || w.kind == PLI_NODE_LIST)) {
        take_parts(r, p, nodes, n_known);
    }
    return p;
}

void pli_file_plan_free(struct pli_datatype *t)
{
    if (t == NULL) {
        return;
    }
    for (struct pli_type_node *p = t->nodes, *next; p != NULL; p = next) {
        next = p->next;
        free((void *)(uintptr_t)p->disps);
        free((void *)(uintptr_t)p->starts);
        free((void *)(uintptr_t)p->kids);
        free(p);
    }
    free(t);
}

enum pli_err pli_file_plan_decode(const char *bytes, size_t len, struct pli_datatype **out)
{
    struct reader r = { .at = bytes, .left = len };
    const void *from = take(&r, 1, sizeof(struct head));
    struct pli_datatype *t = calloc(1, sizeof *t);
    struct head h = { .n_node = 0 };
    if (from != NULL) {
        memcpy(&h, from, sizeof h);
    }
    struct pli_type_node **nodes = calloc((size_t)h.n_node + 1, sizeof(struct pli_type_node *));
    r.is_bad = r.is_bad || t == NULL || nodes == NULL || h.n_node > len / sizeof(struct row);
    for (uint32_t i = 0; i < h.n_node && !r.is_bad; i++) {
        struct pli_type_node *p = take_row(&r, nodes, i);
        if (p != NULL) {
            p->next = t->nodes;
            t->nodes = p;
            nodes[i] = p;
        }
    }
    if (!r.is_bad) {
        t->size = h.size;
        t->lb = h.lb;
        t->extent = h.extent;
        t->true_lb = h.true_lb;
        t->true_extent = h.true_extent;
        t->is_dense = h.is_dense != 0;
        t->plan = h.n_node > 0 ? nodes[h.n_node - 1] : NULL;
    }
    free(nodes);
    if (r.is_bad) {
        pli_file_plan_free(t);
        return pli_fail(PLI_ERR_OTHER, "another process sent a file view that is none");
    }
    *out = t;
    return PLI_OK;
}
