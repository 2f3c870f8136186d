// SPDX-License-Identifier: BSD-3-Clause
// Groups with members in other clients. The program holds a native group of one member in their
// place, made for the purpose, so that the handle is unlike any other.
#include "shim/shim.h"
#include <stdlib.h>
#include <string.h>

struct entry {
    MPI_Group token;
    struct shim_group g;
    struct entry *next;
};

static struct entry *all;

static struct entry *find(MPI_Group group)
{
    struct entry *e = pli_shim.is_on ? all : NULL;
    while (e != NULL && e->token != group) {
        e = e->next;
    }
    return e;
}

int pli_shim_group_show(uint32_t *world, int n, MPI_Group *out)
{
    MPI_Group whole;
    struct entry *e = NULL;
    const int zero = 0;
    int rc = PMPI_Comm_group(MPI_COMM_WORLD, &whole);
    if (rc == MPI_SUCCESS && n == 0) { // the native library counts who will free its empty group
        rc = PMPI_Group_incl(whole, 0, NULL, out);
        (void)PMPI_Group_free(&whole);
        free(world);
        return rc;
    }
    if (rc == MPI_SUCCESS) {
        e = calloc(1, sizeof *e);
        rc = e == NULL ? MPI_ERR_NO_MEM : PMPI_Group_incl(whole, 1, &zero, &e->token);
        (void)PMPI_Group_free(&whole);
    }
    if (rc != MPI_SUCCESS) {
        free(e);
        free(world);
        return rc;
    }
    e->g = (struct shim_group){ n, world };
    e->next = all;
    all = e;
    *out = e->token;
    return MPI_SUCCESS;
}

static int native_list(MPI_Group group, struct shim_group *out)
{
    MPI_Group whole;
    int n = 0;
    int rc = PMPI_Group_size(group, &n);
    int *from = malloc(2 * ((size_t)n + 1) * sizeof *from), *to = from + n;
    uint32_t *world = malloc(((size_t)n + 1) * sizeof *world);
    if (rc == MPI_SUCCESS && (from == NULL || world == NULL)) {
        rc = MPI_ERR_NO_MEM;
    }
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Comm_group(MPI_COMM_WORLD, &whole);
    }
    if (rc == MPI_SUCCESS) {
        for (int i = 0; i < n; i++) {
            from[i] = i;
        }
        rc = PMPI_Group_translate_ranks(group, n, from, whole, to);
        (void)PMPI_Group_free(&whole);
    }
    for (int i = 0; rc == MPI_SUCCESS && i < n; i++) {
        if (to[i] == MPI_UNDEFINED) {
            rc = pli_shim_fail(MPI_ERR_GROUP, "a member of a group is in no client of the job");
        }
        world[i] = pli_shim.first + (uint32_t)to[i];
    }
    free(from);
    if (rc != MPI_SUCCESS) {
        free(world);
        return rc;
    }
    *out = (struct shim_group){ n, world };
    return MPI_SUCCESS;
}

int pli_shim_group_list(MPI_Group group, struct shim_group *out)
{
    const struct entry *e = find(group);
    if (e == NULL) {
        return native_list(group, out);
    }
    uint32_t *world = malloc(((size_t)e->g.n + 1) * sizeof *world);
    if (world == NULL) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(world, e->g.world, (size_t)e->g.n * sizeof *world);
    *out = (struct shim_group){ e->g.n, world };
    return MPI_SUCCESS;
}

int pli_shim_group_native(MPI_Comm comm, MPI_Group g, MPI_Group *o)
{
    const struct entry *e = find(g);
    MPI_Group whole, parent;
    if (e == NULL) {
        *o = g;
        return MPI_SUCCESS;
    }
    (void)comm;
    int *rank = malloc((size_t)e->g.n * sizeof *rank), rc = MPI_SUCCESS;
    if (rank == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < e->g.n && rc == MPI_SUCCESS; i++) {
        uint32_t at = e->g.world[i] - pli_shim.first;
        rank[i] = (int)at;
        rc =
            at < (uint32_t)pli_shim.n_local
                ? MPI_SUCCESS
                : pli_shim_fail(MPI_ERR_GROUP, "the group has members that the communicator lacks");
    }
    rc = rc == MPI_SUCCESS ? PMPI_Comm_group(MPI_COMM_WORLD, &whole) : rc;
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Group_incl(whole, e->g.n, rank, &parent);
        (void)PMPI_Group_free(&whole);
        *o = parent;
    }
    free(rank);
    return rc;
}

static int place(const struct shim_group *g, uint32_t world)
{
    for (int i = 0; i < g->n; i++) {
        if (g->world[i] == world) {
            return i;
        }
    }
    return -1;
}

static int end(int rc)
{
    return pli_shim_end(MPI_COMM_WORLD, rc);
}

PLI_SHIM_API int MPI_Group_size(MPI_Group group, int *size)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    if (e == NULL) {
        return PMPI_Group_size(group, size);
    }
    *size = e->g.n;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Group_rank(MPI_Group group, int *rank)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    if (e == NULL) {
        return PMPI_Group_rank(group, rank);
    }
    int at = place(&e->g, pli_shim.first + (uint32_t)pli_shim.me);
    *rank = at < 0 ? MPI_UNDEFINED : at;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Group_free(MPI_Group *group)
{
    PLI_SHIM_ENTER;
    for (struct entry **at = &all; *at != NULL; at = &(*at)->next) {
        struct entry *e = *at;
        if (e->token == *group) {
            *at = e->next;
            int rc = PMPI_Group_free(group);
            free(e->g.world);
            free(e);
            return rc;
        }
    }
    return PMPI_Group_free(group);
}

// Both as lists. False in *ours: both are native, and nothing was made.
static int two(MPI_Group a, MPI_Group b, bool *ours, struct shim_group *x, struct shim_group *y)
{
    *ours = find(a) != NULL || find(b) != NULL;
    if (!*ours) {
        return MPI_SUCCESS;
    }
    int rc = pli_shim_group_list(a, x);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_group_list(b, y);
        if (rc != MPI_SUCCESS) {
            free(x->world);
        }
    }
    return rc;
}

PLI_SHIM_API int MPI_Group_translate_ranks(MPI_Group a, int n, const int from[], MPI_Group b,
                                           int to[])
{
    PLI_SHIM_ENTER;
    bool ours;
    struct shim_group x, y;
    int rc = two(a, b, &ours, &x, &y);
    if (rc != MPI_SUCCESS || !ours) {
        return rc != MPI_SUCCESS ? end(rc) : PMPI_Group_translate_ranks(a, n, from, b, to);
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (from[i] == MPI_PROC_NULL) {
            to[i] = MPI_PROC_NULL;
        } else if (from[i] < 0 || from[i] >= x.n) {
            rc = MPI_ERR_RANK;
        } else {
            int at = place(&y, x.world[from[i]]);
            to[i] = at < 0 ? MPI_UNDEFINED : at;
        }
    }
    free(x.world);
    free(y.world);
    return end(rc);
}

PLI_SHIM_API int MPI_Group_compare(MPI_Group a, MPI_Group b, int *result)
{
    PLI_SHIM_ENTER;
    bool ours;
    struct shim_group x, y;
    int rc = two(a, b, &ours, &x, &y);
    if (rc != MPI_SUCCESS || !ours) {
        return rc != MPI_SUCCESS ? end(rc) : PMPI_Group_compare(a, b, result);
    }
    *result = x.n == y.n ? MPI_IDENT : MPI_UNEQUAL;
    for (int i = 0; i < x.n && *result != MPI_UNEQUAL; i++) {
        if (x.world[i] != y.world[i]) {
            *result = place(&y, x.world[i]) < 0 ? MPI_UNEQUAL : MPI_SIMILAR;
        }
    }
    free(x.world);
    free(y.world);
    return MPI_SUCCESS;
}

enum set { UNION, INTERSECTION, DIFFERENCE };

static int combine(MPI_Group a, MPI_Group b, enum set set, MPI_Group *out, bool *ours)
{
    struct shim_group x, y;
    int rc = two(a, b, ours, &x, &y), n = 0;
    if (rc != MPI_SUCCESS || !*ours) {
        return rc;
    }
    uint32_t *world = malloc(((size_t)x.n + (size_t)y.n + 1) * sizeof *world);
    for (int i = 0; world != NULL && i < x.n; i++) {
        bool in_y = place(&y, x.world[i]) >= 0;
        if (set == UNION || in_y == (set == INTERSECTION)) {
            world[n++] = x.world[i];
        }
    }
    for (int i = 0; world != NULL && set == UNION && i < y.n; i++) {
        if (place(&x, y.world[i]) < 0) {
            world[n++] = y.world[i];
        }
    }
    free(x.world);
    free(y.world);
    return world == NULL ? MPI_ERR_NO_MEM : pli_shim_group_show(world, n, out);
}

#define SETS(name, set)                                                                            \
    PLI_SHIM_API int MPI_Group_##name(MPI_Group a, MPI_Group b, MPI_Group *out)                    \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        bool ours;                                                                                 \
        int rc = combine(a, b, set, out, &ours);                                                   \
        return rc == MPI_SUCCESS && !ours ? PMPI_Group_##name(a, b, out) : end(rc);                \
    }

SETS(union, UNION)
SETS(intersection, INTERSECTION)
SETS(difference, DIFFERENCE)

static int include(const struct shim_group *g, int n, const int *rank, MPI_Group *out)
{
    uint32_t *world = malloc(((size_t)n + 1) * sizeof *world);
    int rc = world == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        struct shim_group before = { i, world };
        if (rank[i] < 0 || rank[i] >= g->n || place(&before, g->world[rank[i]]) >= 0) {
            rc = MPI_ERR_RANK;
        } else {
            world[i] = g->world[rank[i]];
        }
    }
    if (rc != MPI_SUCCESS) {
        free(world);
        return rc;
    }
    return pli_shim_group_show(world, n, out);
}

static int exclude(const struct shim_group *g, int n, const int *rank, MPI_Group *out)
{
    int *keep = malloc(((size_t)g->n + 1) * sizeof *keep), n_keep = 0, rc = MPI_SUCCESS;
    if (keep == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int k = 0; k < n; k++) {
        rc = rank[k] < 0 || rank[k] >= g->n ? MPI_ERR_RANK : rc;
    }
    for (int i = 0; i < g->n; i++) {
        bool is_out = false;
        for (int k = 0; k < n; k++) {
            is_out = is_out || rank[k] == i;
        }
        if (!is_out) {
            keep[n_keep++] = i;
        }
    }
    rc = rc == MPI_SUCCESS ? include(g, n_keep, keep, out) : rc;
    free(keep);
    return rc;
}

PLI_SHIM_API int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *out)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    return e == NULL ? PMPI_Group_incl(group, n, ranks, out) : end(include(&e->g, n, ranks, out));
}

PLI_SHIM_API int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *out)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    return e == NULL ? PMPI_Group_excl(group, n, ranks, out) : end(exclude(&e->g, n, ranks, out));
}

// The ranks of triplets (first, last, stride); at most size of them are meant.
static int unroll(const struct shim_group *g, int n, int ranges[][3], int **out, int *n_out)
{
    int count = 0, *rank = malloc(((size_t)g->n + 1) * sizeof *rank);
    if (rank == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        int step = ranges[i][2], last = ranges[i][1];
        for (int r = ranges[i][0]; step != 0 && (step > 0 ? r <= last : r >= last); r += step) {
            if (count == g->n) {
                free(rank);
                return MPI_ERR_RANK;
            }
            rank[count++] = r;
        }
        if (step == 0) {
            free(rank);
            return MPI_ERR_ARG;
        }
    }
    *out = rank;
    *n_out = count;
    return MPI_SUCCESS;
}

static int by_range(const struct shim_group *g, int n, int ranges[][3], bool is_in, MPI_Group *out)
{
    int *rank, count;
    int rc = unroll(g, n, ranges, &rank, &count);
    if (rc == MPI_SUCCESS) {
        rc = is_in ? include(g, count, rank, out) : exclude(g, count, rank, out);
        free(rank);
    }
    return end(rc);
}

PLI_SHIM_API int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *out)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    return e == NULL ? PMPI_Group_range_incl(group, n, ranges, out)
                     : by_range(&e->g, n, ranges, true, out);
}

PLI_SHIM_API int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *out)
{
    PLI_SHIM_ENTER;
    const struct entry *e = find(group);
    return e == NULL ? PMPI_Group_range_excl(group, n, ranges, out)
                     : by_range(&e->g, n, ranges, false, out);
}
