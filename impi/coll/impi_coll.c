// SPDX-License-Identifier: BSD-3-Clause
// Plans of the global phases. Barrier, broadcast and reduce are as the protocol's known text has
// them; gather, scatter, scan and alltoall are our choice within its rules, since no text of them
// could be found.
#include "impi/coll/impi_coll.h"
#include <stdlib.h>

struct making {
    const struct pli_impi_map *m;
    int me, root;
    struct pli_impi_coll_plan *plan;
};

static void add(struct making *k, enum pli_impi_coll_kind kind, int rank)
{
    k->plan->step[k->plan->n_step++] = (struct pli_impi_coll_step){ .kind = kind, .rank = rank };
}

static int ceil_log2(int n)
{
    int dim = 0;
    while (1 << dim < n) {
        dim++;
    }
    return dim;
}

static int high_bit(int v)
{
    int h = -1;
    while (v > 0) {
        v >>= 1;
        h++;
    }
    return h;
}

static void barrier(struct making *k, int maxlinear)
{
    const struct pli_impi_map *m = k->m;
    int n = m->n_master, v = m->number[k->me];
    if (!pli_impi_map_is_master(m, k->me)) {
        return;
    }
    if (n <= maxlinear && v > 0) {
        add(k, PLI_IMPI_STEP_SEND, m->master[0]);
        add(k, PLI_IMPI_STEP_RECV, m->master[0]);
        return;
    }
    if (n <= maxlinear) {
        for (int i = 1; i < n; i++) {
            add(k, PLI_IMPI_STEP_RECV, m->master[i]);
        }
        for (int i = 1; i < n; i++) {
            add(k, PLI_IMPI_STEP_SEND, m->master[i]);
        }
        return;
    }
    int dim = ceil_log2(n), h = high_bit(v);
    for (int i = dim - 1; i > h; i--) {
        if ((v | 1 << i) < n) {
            add(k, PLI_IMPI_STEP_RECV, m->master[v | 1 << i]);
        }
    }
    if (v > 0) {
        add(k, PLI_IMPI_STEP_SEND, m->master[v & ~(1 << h)]);
        add(k, PLI_IMPI_STEP_RECV, m->master[v & ~(1 << h)]);
    }
    for (int i = h + 1; i < dim; i++) {
        if ((v | 1 << i) < n) {
            add(k, PLI_IMPI_STEP_SEND, m->master[v | 1 << i]);
        }
    }
}

// The head of the client that is `v` places after the root's.
static int head_at(const struct making *k, int v)
{
    int n = k->m->n_master;
    return pli_impi_map_head(k->m, k->root, k->m->master[(v + k->m->number[k->root]) % n]);
}

static bool is_head(const struct making *k)
{
    return pli_impi_map_head(k->m, k->root, k->me) == k->me;
}

static void bcast(struct making *k, int maxlinear)
{
    const struct pli_impi_map *m = k->m;
    int n = m->n_master;
    int v = (m->number[k->me] - m->number[k->root] + n) % n;
    if (!is_head(k)) {
        return;
    }
    if (n <= maxlinear && v > 0) {
        add(k, PLI_IMPI_STEP_RECV, k->root);
        return;
    }
    if (n <= maxlinear) {
        for (int i = 0; i < n; i++) {
            if (i != m->number[k->root]) {
                add(k, PLI_IMPI_STEP_SEND, m->master[i]);
            }
        }
        return;
    }
    int dim = ceil_log2(n), h = high_bit(v);
    if (v > 0) {
        add(k, PLI_IMPI_STEP_RECV, head_at(k, v & ~(1 << h)));
    }
    for (int i = h + 1; i < dim; i++) {
        if ((v | 1 << i) < n) {
            add(k, PLI_IMPI_STEP_SEND, head_at(k, v | 1 << i));
        }
    }
}

static void reduce(struct making *k, int maxlinear)
{
    const struct pli_impi_map *m = k->m;
    int n = m->n_master;
    int v = (m->number[k->me] - m->number[k->root] + n) % n;
    if (!is_head(k)) {
        return;
    }
    if (n <= maxlinear && v > 0) {
        add(k, PLI_IMPI_STEP_SEND, k->root);
        return;
    }
    if (n <= maxlinear) {
        for (int i = 0; i < n; i++) {
            if (i != m->number[k->root]) {
                add(k, PLI_IMPI_STEP_FOLD, m->master[i]);
            }
        }
        return;
    }
    for (int i = 0; i < ceil_log2(n); i++) {
        if ((v >> i & 1) != 0) {
            add(k, PLI_IMPI_STEP_SEND, head_at(k, v & ~(1 << i)));
            return;
        }
        if ((v | 1 << i) < n) {
            add(k, PLI_IMPI_STEP_FOLD, head_at(k, v | 1 << i));
        }
    }
}

static void reduce_ordered(struct making *k)
{
    if (k->me != k->root) {
        add(k, PLI_IMPI_STEP_SEND, k->root);
        return;
    }
    for (int i = k->m->size - 1; i >= 0; i--) {
        add(k, PLI_IMPI_STEP_FOLD, i);
        k->plan->step[k->plan->n_step - 1].is_first = i == k->m->size - 1;
    }
}

// Clients whole, one message each, between heads.
static void by_client(struct making *k, enum pli_impi_coll_kind at_root)
{
    const struct pli_impi_map *m = k->m;
    bool is_root = k->me == k->root;
    for (int i = 0; i < m->n_master && is_head(k); i++) {
        int head = pli_impi_map_head(m, k->root, m->master[i]);
        bool is_mine = is_root ? head != k->root : head == k->me;
        if (is_mine) {
            enum pli_impi_coll_kind other =
                at_root == PLI_IMPI_STEP_RECV ? PLI_IMPI_STEP_SEND : PLI_IMPI_STEP_RECV;
            add(k, is_root ? at_root : other, is_root ? head : k->root);
            k->plan->step[k->plan->n_step - 1].is_block = true;
        }
    }
}

static void by_rank(struct making *k, enum pli_impi_coll_kind at_root)
{
    const struct pli_impi_map *m = k->m;
    if (k->me == k->root) {
        for (int i = 0; i < m->size; i++) {
            if (!pli_impi_map_are_local(m, i, k->root)) {
                add(k, at_root, i);
            }
        }
    } else if (!pli_impi_map_are_local(m, k->me, k->root)) {
        add(k, at_root == PLI_IMPI_STEP_RECV ? PLI_IMPI_STEP_SEND : PLI_IMPI_STEP_RECV, k->root);
    }
}

// No rank is flooded: each begins with the next rank, and takes from the one before first.
static void alltoall(struct making *k)
{
    const struct pli_impi_map *m = k->m;
    for (int i = 1; i < m->size; i++) {
        int to = (k->me + i) % m->size;
        if (!pli_impi_map_are_local(m, k->me, to)) {
            add(k, PLI_IMPI_STEP_SEND, to);
        }
    }
    for (int i = 1; i < m->size; i++) {
        int from = (k->me - i + m->size) % m->size;
        if (!pli_impi_map_are_local(m, k->me, from)) {
            add(k, PLI_IMPI_STEP_RECV, from);
        }
    }
}

static void scan(struct making *k)
{
    if (k->me > 0) {
        add(k, PLI_IMPI_STEP_FOLD, k->me - 1);
    }
    if (k->me < k->m->size - 1) {
        add(k, PLI_IMPI_STEP_SEND, k->me + 1);
    }
}

static const int tag_of[PLI_IMPI_N_COLL] = {
    [PLI_IMPI_COLL_BARRIER] = PLI_IMPI_TAG_BARRIER,
    [PLI_IMPI_COLL_BCAST] = PLI_IMPI_TAG_BCAST,
    [PLI_IMPI_COLL_REDUCE] = PLI_IMPI_TAG_REDUCE,
    [PLI_IMPI_COLL_REDUCE_ORDERED] = PLI_IMPI_TAG_REDUCE,
    [PLI_IMPI_COLL_GATHER] = PLI_IMPI_TAG_GATHER,
    [PLI_IMPI_COLL_GATHER_LONG] = PLI_IMPI_TAG_GATHER,
    [PLI_IMPI_COLL_GATHERV] = PLI_IMPI_TAG_GATHERV,
    [PLI_IMPI_COLL_SCATTER] = PLI_IMPI_TAG_SCATTER,
    [PLI_IMPI_COLL_SCATTER_LONG] = PLI_IMPI_TAG_SCATTER,
    [PLI_IMPI_COLL_SCATTERV] = PLI_IMPI_TAG_SCATTERV,
    [PLI_IMPI_COLL_ALLTOALL] = PLI_IMPI_TAG_ALLTOALL,
    [PLI_IMPI_COLL_ALLTOALLV] = PLI_IMPI_TAG_ALLTOALLV,
    [PLI_IMPI_COLL_SCAN] = PLI_IMPI_TAG_SCAN,
};

enum pli_impi_err pli_impi_coll_make(const struct pli_impi_map *m, enum pli_impi_coll_op op, int me,
                                     int root, int maxlinear, struct pli_impi_coll_plan **out)
{
    size_t most = 2 * (size_t)m->size + 2; // no rank is met more than twice
    struct making k = { .m = m, .me = me, .root = root };
    k.plan = calloc(1, sizeof *k.plan + most * sizeof k.plan->step[0]);
    if (k.plan == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    k.plan->tag = tag_of[op];
    switch (op) {
    case PLI_IMPI_COLL_BARRIER:
        barrier(&k, maxlinear);
        break;
    case PLI_IMPI_COLL_BCAST:
        bcast(&k, maxlinear);
        break;
    case PLI_IMPI_COLL_REDUCE:
        reduce(&k, maxlinear);
        break;
    case PLI_IMPI_COLL_REDUCE_ORDERED:
        reduce_ordered(&k);
        break;
    case PLI_IMPI_COLL_GATHER:
        by_client(&k, PLI_IMPI_STEP_RECV);
        break;
    case PLI_IMPI_COLL_SCATTER:
        by_client(&k, PLI_IMPI_STEP_SEND);
        break;
    case PLI_IMPI_COLL_GATHER_LONG:
    case PLI_IMPI_COLL_GATHERV:
        by_rank(&k, PLI_IMPI_STEP_RECV);
        break;
    case PLI_IMPI_COLL_SCATTER_LONG:
    case PLI_IMPI_COLL_SCATTERV:
        by_rank(&k, PLI_IMPI_STEP_SEND);
        break;
    case PLI_IMPI_COLL_ALLTOALL:
    case PLI_IMPI_COLL_ALLTOALLV:
        alltoall(&k);
        break;
    case PLI_IMPI_COLL_SCAN:
        scan(&k);
        break;
    default:
        free(k.plan);
        return PLI_IMPI_ERR_ARG;
    }
    *out = k.plan;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_coll_take_cid(uint64_t *max, unsigned n, uint64_t *cid_out)
{
    if (*max > UINT64_MAX - n) {
        return PLI_IMPI_ERR_RANGE;
    }
    *cid_out = *max + 1;
    *max += n;
    return PLI_IMPI_OK;
}
