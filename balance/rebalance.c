// SPDX-License-Identifier: BSD-3-Clause
// Decides which process should hold each endpoint from now on.
#include "balance_priv.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// How the new map is found.
enum how { BY_LOAD, BY_COUNT, BY_MAP };

// What each process tells the others.
struct summary {
    double weight;
    double load, measured; // sums over its endpoints
    uint64_t parts;        // pli_balance_image_names
    int32_t want;          // endpoints here, as MPIX_Balance_move asks
    int32_t reserved;
};

struct plan {
    struct summary *summary; // of each process
    double *weight;          // the same for the algorithm
    double *load;            // of each endpoint
    double *all;             // the same, ordered by process
    double *sum;             // of each process
    double *mine;
    int *count, *first, *next; // of each process
    int *owner;                // the new map
};

static int plan_create(struct pli_balance *b, struct plan *p)
{
    size_t n = (size_t)b->size, n_ep = (size_t)b->n_ep + 1;
    *p = (struct plan){ .summary = calloc(n, sizeof(struct summary)),
                        .weight = calloc(n, sizeof(double)),
                        .load = calloc(n_ep, sizeof(double)),
                        .all = calloc(n_ep, sizeof(double)),
                        .sum = calloc(n, sizeof(double)),
                        .mine = calloc((size_t)b->n_here + 1, sizeof(double)),
                        .count = calloc(n, sizeof(int)),
                        .first = calloc(n + 1, sizeof(int)),
                        .next = calloc(n + 1, sizeof(int)),
                        .owner = calloc(n_ep, sizeof(int)) };
    return p->summary != NULL && p->weight != NULL && p->load != NULL && p->all != NULL &&
                   p->sum != NULL && p->mine != NULL && p->count != NULL && p->first != NULL &&
                   p->next != NULL && p->owner != NULL
               ? MPI_SUCCESS
               : pli_balance_error_code(MPI_ERR_NO_MEM, "no memory for the loads of %d endpoints",
                                        b->n_ep);
}

static void plan_destroy(struct plan *p)
{
    free(p->summary);
    free(p->weight);
    free(p->load);
    free(p->all);
    free(p->sum);
    free(p->mine);
    free(p->count);
    free(p->first);
    free(p->next);
    free(p->owner);
}

// How many endpoints each process has, and where its loads begin among all.
static void count_owners(const struct pli_balance *b, struct plan *p)
{
    for (int r = 0; r < b->n_ep; r++) {
        p->count[b->owner[r]]++;
    }
    for (int i = 0; i < b->size; i++) {
        p->first[i + 1] = p->next[i + 1] = p->first[i] + p->count[i];
    }
}

// Gathers the weights and loads of all processes: what was reported or, where nobody reports, what
// was measured. Where there is neither all endpoints count the same.
static int hear(struct pli_balance *b, struct plan *p, int want)
{
    struct summary mine = { .weight = b->weight,
                            .parts = pli_balance_image_names(b),
                            .want = want };
    double load = 0, measured = 0;
    pli_balance_measure_end(b);
    for (int i = 0; i < b->n_here; i++) {
        mine.load += b->here[i]->load;
        mine.measured += b->here[i]->measured;
    }
    int code =
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, p->summary, sizeof mine, MPI_BYTE, b->private);
    for (int i = 0; i < b->size && code == MPI_SUCCESS; i++) {
        p->weight[i] = p->summary[i].weight;
        load += p->summary[i].load;
        measured += p->summary[i].measured;
    }
    for (int i = 0; i < b->n_here; i++) {
        p->mine[i] = load > 0 ? b->here[i]->load : measured > 0 ? b->here[i]->measured : 1;
    }
    count_owners(b, p);
    if (code == MPI_SUCCESS) {
        code = MPI_Allgatherv(p->mine, b->n_here, MPI_DOUBLE, p->all, p->count, p->first,
                              MPI_DOUBLE, b->private);
    }
    for (int r = 0; r < b->n_ep; r++) { // each process sent its own in ascending order
        p->load[r] = p->all[p->next[b->owner[r]]++];
    }
    return code;
}

// What all see alike, so all fail alike.
static int check(const struct pli_balance *b, const struct plan *p, enum how how)
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
        if (how == BY_COUNT && p->summary[i].want < 0) {
            return pli_balance_error_code(
                MPI_ERR_ARG,
                "rank %d of the parent asks for %d endpoints; it must not "
                "be negative",
                i, (int)p->summary[i].want);
        }
    }
    if (how == BY_COUNT && sum != b->n_ep) {
        return pli_balance_error_code(
            MPI_ERR_ARG,
            "the processes ask for %lld endpoints together, but there are "
            "%d",
            sum, b->n_ep);
    }
    if (how == BY_LOAD && !(weight > 0)) {
        return pli_balance_error_code(MPI_ERR_ARG, "all processes have weight 0");
    }
    return MPI_SUCCESS;
}

static double worst(const struct pli_balance *b, const struct plan *p, const int *owner)
{
    return pli_balance_partition_load(p->load, b->n_ep, p->weight, b->size, owner, p->sum);
}

// The largest load by the mean.
static double imbalance(const struct pli_balance *b, const struct plan *p, const int *owner)
{
    double sum = 0, weight = 0;
    for (int i = 0; i < b->n_ep; i++) {
        sum += p->load[i];
    }
    for (int i = 0; i < b->size; i++) {
        weight += p->weight[i];
    }
    return sum > 0 ? worst(b, p, owner) * weight / sum : 1;
}

static void own(struct plan *p, int n_process, const int *first)
{
    for (int i = 0; i < n_process; i++) {
        for (int r = first[i]; r < first[i + 1]; r++) {
            p->owner[r] = i;
        }
    }
}

static void choose_ours(const struct pli_balance *b, struct plan *p)
{
    double now = worst(b, p, b->owner);
    pli_balance_partition(p->load, b->n_ep, p->weight, b->size, p->first, p->next);
    own(p, b->size, p->next);
    if (!(worst(b, p, p->owner) * b->gain <= now)) { // too little to gain
        memcpy(p->owner, b->owner, (size_t)b->n_ep * sizeof(int));
    }
}

// A map that the program gave: it must be one, and the same everywhere.
static int check_map(const struct pli_balance *b, const int *owner)
{
    uint64_t h = 14695981039346656037u, pair[2], least[2];
    int code = MPI_SUCCESS;
    for (int r = 0; r < b->n_ep; r++) {
        h = (h ^ (uint32_t)owner[r]) * 1099511628211u;
        if (code == MPI_SUCCESS && (owner[r] < 0 || owner[r] >= b->size)) {
            code = pli_balance_error_code(
                MPI_ERR_RANK,
                "the map gives endpoint %d to process %d; there are processes 0 to %d", r, owner[r],
                b->size - 1);
        }
    }
    code = pli_balance_migrate_agree(b, code, "use its map");
    pair[0] = h;
    pair[1] = ~h;
    if (code == MPI_SUCCESS) {
        code = MPI_Allreduce(pair, least, 2, MPI_UINT64_T, MPI_MIN, b->private);
    }
    if (code == MPI_SUCCESS && least[0] != ~least[1]) {
        code = pli_balance_error_code(MPI_ERR_ARG, "the processes have different maps");
    }
    return code;
}

static int choose(struct pli_balance *b, struct plan *p, enum how how, const int *map)
{
    int code = MPI_SUCCESS;
    if (how == BY_COUNT) {
        for (int i = 0; i < b->size; i++) {
            p->first[i + 1] = p->first[i] + p->summary[i].want;
        }
        own(p, b->size, p->first);
    } else if (how == BY_LOAD && b->partition == NULL) {
        choose_ours(b, p);
    } else if (how == BY_LOAD) {
        code = b->partition(b->n_ep, p->load, b->size, p->weight, b->owner, p->owner,
                            b->partition_arg);
        code = pli_balance_migrate_agree(b, code, "compute a map");
        code = code == MPI_SUCCESS ? check_map(b, p->owner) : code;
    } else {
        memcpy(p->owner, map, (size_t)b->n_ep * sizeof(int));
        code = check_map(b, p->owner);
    }
    return code;
}

static int count_moved(const struct pli_balance *b, const int *owner)
{
    int n = 0;
    for (int r = 0; r < b->n_ep; r++) {
        n += owner[r] != b->owner[r];
    }
    return n;
}

static int rebalance(struct pli_balance *b, enum how how, int want, const int *map,
                     MPIX_Balance_result *result)
{
    struct plan p;
    MPIX_Balance_result r = { .moved = 0 };
    int code = plan_create(b, &p);
    if (code == MPI_SUCCESS && how == BY_MAP && map == NULL && b->n_ep > 0) {
        code = pli_balance_error_code(MPI_ERR_ARG, "argument parent_rank is NULL");
    }
    code = pli_balance_migrate_agree(b, code, "plan");
    if (code == MPI_SUCCESS) {
        code = hear(b, &p, want);
    }
    if (code == MPI_SUCCESS) {
        code = check(b, &p, how);
    }
    if (code == MPI_SUCCESS) {
        code = choose(b, &p, how, map);
    }
    if (code == MPI_SUCCESS) {
        r.moved = count_moved(b, p.owner);
        r.before = imbalance(b, &p, b->owner);
        r.after = imbalance(b, &p, p.owner);
        code = r.moved > 0 ? pli_balance_migrate(b, b->n_ep, p.owner, &r.bytes) : MPI_SUCCESS;
    }
    for (int i = 0; i < b->n_here && code == MPI_SUCCESS; i++) {
        b->here[i]->load = b->here[i]->measured = 0;
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
    return code != MPI_SUCCESS ? code : rebalance(b, BY_LOAD, -1, NULL, result);
}

int MPIX_Balance_move(MPIX_Balance b, int my_num_ep, MPIX_Balance_result *result)
{
    int code = is_null(b);
    return code != MPI_SUCCESS ? code : rebalance(b, BY_COUNT, my_num_ep, NULL, result);
}

int MPIX_Balance_map(MPIX_Balance b, const int parent_rank[], MPIX_Balance_result *result)
{
    int code = is_null(b);
    return code != MPI_SUCCESS ? code : rebalance(b, BY_MAP, -1, parent_rank, result);
}

int MPIX_Balance_set_partition(MPIX_Balance b, MPIX_Balance_partition partition, void *arg)
{
    int code = is_null(b);
    if (code == MPI_SUCCESS) {
        b->partition = partition;
        b->partition_arg = arg;
    }
    return code;
}
