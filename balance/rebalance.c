// SPDX-License-Identifier: BSD-3-Clause
// Decides how many endpoints each process should hold from now on.
#include "balance_priv.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct summary {
    double weight;
    uint64_t parts; // a sum over the names of the registered state: all must agree
    int32_t want;   // endpoints here, as MPIX_Balance_move asks; -1: as the loads ask
    int32_t reserved;
};

struct plan {
    struct summary *summary; // of each process
    double *weight;          // the same for the algorithm
    double *load;            // of each endpoint
    double *mine;
    int *count;
    int *first; // the new sharing out
};

static uint64_t sum_of_names(const struct pli_balance *b)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < b->n_part; i++) {
        for (const char *c = b->part[i].name;; c++) {
            h = (h ^ (unsigned char)*c) * 1099511628211u;
            if (*c == '\0') {
                break;
            }
        }
    }
    return h;
}

static int plan_create(struct pli_balance *b, struct plan *p)
{
    size_t n = (size_t)b->size;
    *p = (struct plan){ .summary = calloc(n, sizeof(struct summary)),
                        .weight = calloc(n, sizeof(double)),
                        .load = calloc((size_t)b->n_ep + 1, sizeof(double)),
                        .mine = calloc((size_t)pli_balance_n(b) + 1, sizeof(double)),
                        .count = calloc(n, sizeof(int)),
                        .first = calloc(n + 1, sizeof(int)) };
    return p->summary != NULL && p->weight != NULL && p->load != NULL && p->mine != NULL &&
                   p->count != NULL && p->first != NULL
               ? MPI_SUCCESS
               : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for the loads of %d endpoints",
                                        b->n_ep);
}

static void plan_destroy(struct plan *p)
{
    free(p->summary);
    free(p->weight);
    free(p->load);
    free(p->mine);
    free(p->count);
    free(p->first);
}

// Gathers the weights and loads of all processes. Where no load was reported all endpoints count
// the same.
static int hear(struct pli_balance *b, struct plan *p, int want)
{
    struct summary mine = { .weight = b->weight, .parts = sum_of_names(b), .want = want };
    int code =
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, p->summary, sizeof mine, MPI_BYTE, b->private);
    if (code != MPI_SUCCESS) {
        return code;
    }
    for (int i = 0; i < pli_balance_n(b); i++) {
        p->mine[i] = b->here[i]->load;
    }
    for (int i = 0; i < b->size; i++) {
        p->count[i] = b->first[i + 1] - b->first[i];
        p->weight[i] = p->summary[i].weight;
    }
    code = MPI_Allgatherv(p->mine, pli_balance_n(b), MPI_DOUBLE, p->load, p->count, b->first,
                          MPI_DOUBLE, b->private);
    double sum = 0;
    for (int i = 0; i < b->n_ep; i++) {
        sum += p->load[i];
    }
    for (int i = 0; i < b->n_ep && sum == 0; i++) {
        p->load[i] = 1;
    }
    return code;
}

// What all see alike, so all fail alike.
static int check(const struct pli_balance *b, const struct plan *p, int is_asked)
{
    double weight = 0;
    long long sum = 0;
    for (int i = 0; i < b->size; i++) {
        weight += p->summary[i].weight;
        sum += p->summary[i].want;
        if (p->summary[i].parts != p->summary[0].parts) {
            return pli_balance_error_code(MPI_ERR_ARG,
                                          "ranks 0 and %d of the parent have registered different "
                                          "kinds of state",
                                          i);
        }
        if (is_asked && p->summary[i].want < 0) {
            return pli_balance_error_code(
                MPI_ERR_ARG,
                "rank %d of the parent asks for %d endpoints; it must not "
                "be negative",
                i, (int)p->summary[i].want);
        }
    }
    if (is_asked && sum != b->n_ep) {
        return pli_balance_error_code(
            MPI_ERR_ARG,
            "the processes ask for %lld endpoints together, but there are "
            "%d",
            sum, b->n_ep);
    }
    if (!is_asked && !(weight > 0)) {
        return pli_balance_error_code(MPI_ERR_ARG, "all processes have weight 0");
    }
    return MPI_SUCCESS;
}

// The largest load by the mean.
static double imbalance(const struct pli_balance *b, const struct plan *p, const int *first)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < b->n_ep; i++) {
        sum += p->load[i];
    }
    for (int i = 0; i < b->size; i++) {
        weight += p->weight[i];
    }
    return sum > 0 ? pli_balance_partition_load(p->load, p->weight, b->size, first) * weight / sum
                   : 1;
}

static void choose(const struct pli_balance *b, struct plan *p, int is_asked)
{
    if (is_asked) {
        for (int i = 0; i < b->size; i++) {
            p->first[i + 1] = p->first[i] + p->summary[i].want;
        }
        return;
    }
    double now = pli_balance_partition_load(p->load, p->weight, b->size, b->first);
    double then = pli_balance_partition(p->load, b->n_ep, p->weight, b->size, b->first, p->first);
    if (!(then * b->gain <= now)) { // too little to gain
        memcpy(p->first, b->first, ((size_t)b->size + 1) * sizeof(int));
    }
}

static int moved(const struct pli_balance *b, const int *first)
{
    int stay = 0;
    for (int p = 0; p < b->size; p++) {
        int from = b->first[p] > first[p] ? b->first[p] : first[p];
        int to = b->first[p + 1] < first[p + 1] ? b->first[p + 1] : first[p + 1];
        stay += to > from ? to - from : 0;
    }
    return b->n_ep - stay;
}

static int rebalance(struct pli_balance *b, int is_asked, int want, MPIX_Balance_result *result)
{
    struct plan p;
    MPIX_Balance_result r = { .moved = 0 };
    int code = pli_balance_migrate_agree(b, plan_create(b, &p), "plan");
    if (code == MPI_SUCCESS) {
        code = hear(b, &p, want);
    }
    if (code == MPI_SUCCESS) {
        code = check(b, &p, is_asked);
    }
    if (code == MPI_SUCCESS) {
        choose(b, &p, is_asked);
        r.moved = moved(b, p.first);
        r.before = imbalance(b, &p, b->first);
        r.after = imbalance(b, &p, p.first);
        code = r.moved > 0 ? pli_balance_migrate(b, p.first, &r.bytes) : MPI_SUCCESS;
    }
    for (int i = 0; i < pli_balance_n(b) && code == MPI_SUCCESS; i++) {
        b->here[i]->load = 0;
    }
    plan_destroy(&p);
    if (code == MPI_SUCCESS && result != NULL) {
        *result = r;
    }
    return pli_balance_error_raise(b, code);
}

static int is_null(MPIX_Balance b)
{
    return b == NULL ? pli_balance_error(NULL, MPI_ERR_ARG, "argument balance is MPIX_BALANCE_NULL")
                     : MPI_SUCCESS;
}

int MPIX_Balance_rebalance(MPIX_Balance b, MPIX_Balance_result *result)
{
    int code = is_null(b);
    return code != MPI_SUCCESS ? code : rebalance(b, 0, -1, result);
}

int MPIX_Balance_move(MPIX_Balance b, int my_num_ep, MPIX_Balance_result *result)
{
    int code = is_null(b);
    return code != MPI_SUCCESS ? code : rebalance(b, 1, my_num_ep, result);
}
