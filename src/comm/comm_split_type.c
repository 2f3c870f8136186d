// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split_type: splits by what processes share: memory, a piece of hardware, a process set.
#include "comm/comm_split_type.h"

#include "boot/boot.h"
#include "comm/impi_cid.h"
#include "comm/comm_make.h"
#include "comm/comm_split.h"
#include "comm/locality.h"
#include "obj/comm.h"
#include "obj/comm_hint.h"
#include "obj/group_build.h"
#include "obj/info.h"
#include "obj/impi_span.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char hw_key[] = "mpi_hw_resource_type", pset_key[] = "mpi_pset_name";

enum { NONE = -1, PIECES = -2, UNKNOWN = -3 }; // beside the levels of pieces

struct piece {
    uint64_t node;
    uint32_t at;
};

static bool is_together(const struct pli_locality *a, const struct pli_locality *b, int level)
{
    return a->node == b->node && a->at[level] == b->at[level] && a->at[level] != PLI_HWTREE_ANY;
}

// The first rank that shares the caller's piece of a level, as a color.
static int64_t piece_color(const struct pli_locality all[], int me, int level)
{
    if (all[me].node == PLI_LOCALITY_NO_NODE || all[me].at[level] == PLI_HWTREE_ANY) {
        return PLI_COMM_SPLIT_NO_COLOR;
    }
    int first = 0;
    while (!is_together(&all[first], &all[me], level)) {
        first++;
    }
    return first;
}

// Whether the pieces of a level divide the ranks, so that every child is a smaller one.
static bool is_divided(const struct pli_locality all[], int n, int level)
{
    const struct pli_locality *first = NULL;
    bool has_some = false, has_others = false;
    for (int i = 0; i < n; i++) {
        if (all[i].node == PLI_LOCALITY_NO_NODE) {
            continue;
        }
        first = first == NULL ? &all[i] : first;
        has_some = has_some || all[i].at[level] != PLI_HWTREE_ANY;
        has_others = has_others || !is_together(first, &all[i], level);
    }
    return has_some && has_others;
}

static int compare(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->node != y->node ? (x->node < y->node ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

// How many ranks the ranks' children would have, added up. Pieces are nested, so of two levels the
// one with larger pieces has more.
static int64_t children(const struct pli_locality all[], int n, int level, struct piece rows[])
{
    int n_row = 0;
    int64_t sum = 0, run = 0;
    for (int i = 0; i < n; i++) {
        if (all[i].node != PLI_LOCALITY_NO_NODE && all[i].at[level] != PLI_HWTREE_ANY) {
            rows[n_row++] = (struct piece){ all[i].node, all[i].at[level] };
        }
    }
    qsort(rows, (size_t)n_row, sizeof *rows, compare);
    for (int i = 0; i < n_row; i++) {
        run = i > 0 && compare(&rows[i - 1], &rows[i]) == 0 ? run + 1 : 1;
        sum += 2 * run - 1; // 1 + 3 + 5 ... is the square
    }
    return sum;
}

// The largest pieces that divide the communicator. Whether memory nodes, packages or caches are the
// larger ones depends on the machine.
static enum pli_err find_level(const struct pli_locality all[], int n, int *level_out)
{
    int64_t best = 0;
    struct piece *rows = malloc((size_t)n * sizeof *rows);
    if (rows == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to compare the places of %d ranks", n);
    }
    *level_out = UNKNOWN;
    for (int level = 0; level < PLI_N_HWTREE; level++) {
        int64_t size = is_divided(all, n, level) ? children(all, n, level, rows) : 0;
        if (size > best) {
            best = size;
            *level_out = level;
        }
    }
    free(rows);
    return PLI_OK;
}

// Which pieces the communicator was split by, for an info object if there is one.
static enum pli_err report_level(struct pli_info *info, enum pli_hwtree_level level,
                                 struct pli_comm *made)
{
    enum pli_err err = info != NULL ? pli_info_set(info, hw_key, pli_locality_name(level)) : PLI_OK;
    if (err != PLI_OK) {
        pli_comm_release(made);
    }
    return err;
}

static bool is_set(int type, struct pli_info *info, const char *name)
{
    const char *pset = pli_info_find(info, pset_key);
    return type == MPI_COMM_TYPE_RESOURCE_GUIDED && pset != NULL && strcasecmp(pset, name) == 0;
}

// Split by pieces of hardware. level: PIECES for the largest that divide the communicator; the info
// object then gets their name.
static enum pli_err split_pieces(struct pli_comm *comm, int level, int key, struct pli_info *info,
                                 struct pli_comm **out)
{
    struct pli_locality *all;
    bool is_free = level == PIECES;
    enum pli_err err = pli_locality_gather(comm, level != NONE, &all);
    if (err != PLI_OK) {
        return err;
    }
    if (is_free) {
        err = find_level(all, comm->size, &level);
    }
    int64_t color = level >= 0 ? piece_color(all, comm->rank, level) : PLI_COMM_SPLIT_NO_COLOR;
    free(all);
    enum pli_err split_err = pli_comm_split_by(comm, color, key, out); // whatever happened here
    err = err == PLI_OK ? split_err : err;
    if (err == PLI_OK && is_free && *out != NULL) {
        err = report_level(info, (enum pli_hwtree_level)level, *out);
    }
    return err;
}

// What the arguments ask for: a level or NONE, PIECES, UNKNOWN; *color_out where a color is enough.
static int choose_level(const struct pli_comm *comm, int type, struct pli_info *info,
                        int64_t *color_out)
{
    const char *what = pli_info_find(info, hw_key), *pset = pli_info_find(info, pset_key);
    bool is_shared = type == MPI_COMM_TYPE_SHARED;
    *color_out = PLI_COMM_SPLIT_NO_COLOR; // unknown sets and kinds of hardware give MPI_COMM_NULL
    if (type == MPI_COMM_TYPE_HW_UNGUIDED) {
        return PIECES;
    }
    if (type == MPI_UNDEFINED) {
        return NONE;
    }
    if (type == MPI_COMM_TYPE_RESOURCE_GUIDED && pset != NULL) {
        if (is_set(type, info, "mpi://SELF")) {
            *color_out = comm->rank;
        } else if (is_set(type, info, "mpi://WORLD")) { // the processes that were started together
            *color_out = (int64_t)(pli_boot.job & INT64_MAX);
        }
        return NONE;
    }
    if (is_shared || (what != NULL && strcmp(what, "mpi_shared_memory") == 0)) {
        *color_out = (int64_t)(pli_locality_node() & INT64_MAX); // never PLI_COMM_SPLIT_NO_COLOR
        return NONE;
    }
    int level = what != NULL ? pli_locality_level(what) : UNKNOWN;
    return level >= 0 ? level : NONE;
}

static enum pli_err split_here(struct pli_comm *comm, int type, int key, struct pli_info *info,
                               struct pli_comm **out)
{
    // Ranks with MPI_UNDEFINED do not know what the others ask for, but must make the same calls.
    int64_t color;
    bool any;
    int level = choose_level(comm, type, info, &color);
    enum pli_err err = pli_comm_split_ask(comm, color, key, level != NONE, &any, out);
    if (err != PLI_OK || !any) {
        return err;
    }
    return split_pieces(comm, level, key, info, out);
}

// A communicator of the ranks of this job.
static enum pli_err make_job(struct pli_comm *comm, struct pli_comm **out)
{
    struct pli_group_build b;
    struct pli_group *group;
    uint32_t mine = pli_impi_span_client((uint32_t)comm->group->me.proc);
    pli_group_build_init(&b);
    for (int i = 0; i < comm->size; i++) {
        struct pli_id id = pli_group_at(comm->group, i);
        if (pli_impi_span_client((uint32_t)id.proc) == mine) {
            pli_group_build_add_id(&b, id);
        }
    }
    enum pli_err err = pli_group_build_finish(&b, comm->group->session, comm->group->me, &group);
    if (err == PLI_OK) {
        err = pli_comm_make_sub(comm, group, PLI_SETUP_CREATE, out);
        pli_group_release(group);
    }
    return err;
}

// Jobs share neither memory nor, as far as they know, hardware: each finds out by itself which of
// its ranks belong together. Then all ranks are split by the first rank of each such group, as IMPI
// defines MPI_Comm_split.
static enum pli_err split_jobs(struct pli_comm *comm, int type, int key, struct pli_info *info,
                               struct pli_comm **out)
{
    enum { EVERYBODY = INT_MAX }; // no rank
    struct pli_comm *job = NULL, *piece = NULL;
    bool is_free = type == MPI_COMM_TYPE_HW_UNGUIDED; // several jobs are divided by machines
    int color = -1;
    enum pli_err err = make_job(comm, &job);
    if (err == PLI_OK) {
        err = split_here(job, is_free ? MPI_COMM_TYPE_SHARED : type, 0, info, &piece);
    }
    if (err == PLI_OK && piece != NULL) {
        color = is_set(type, info, "mpi://WORLD")
                    ? EVERYBODY
                    : pli_group_rank_of(comm->group, pli_group_at(piece->group, 0));
    }
    pli_comm_release(piece);
    pli_comm_release(job);
    enum pli_err split_err = pli_impi_cid_split(comm, color, key, out); // whatever happened here
    err = err == PLI_OK ? split_err : err;
    if (err == PLI_OK && is_free && *out != NULL) {
        err = report_level(info, PLI_HWTREE_MACHINE, *out);
    }
    return err;
}

enum pli_err pli_comm_split_type_split(struct pli_comm *comm, int type, int key,
                                       struct pli_info *info, struct pli_comm **out)
{
    bool by_piece = type == MPI_COMM_TYPE_HW_GUIDED || type == MPI_COMM_TYPE_HW_UNGUIDED ||
                    type == MPI_COMM_TYPE_RESOURCE_GUIDED;
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_UNDEFINED && !by_piece) {
        return pli_fail(PLI_ERR_ARG,
                        "argument split_type is %d, but must be MPI_COMM_TYPE_SHARED, "
                        "HW_GUIDED, HW_UNGUIDED, RESOURCE_GUIDED or MPI_UNDEFINED",
                        type);
    }
    if (by_piece && comm->is_inter) {
        return pli_fail(PLI_ERR_COMM,
                        "%s is an intercommunicator, which cannot be split by "
                        "hardware",
                        pli_comm_say(comm));
    }
    enum pli_err err = comm->is_span && !comm->is_inter ? split_jobs(comm, type, key, info, out)
                                                        : split_here(comm, type, key, info, out);
    return err == PLI_OK && *out != NULL ? pli_comm_hint_set(*out, info) : err;
}
