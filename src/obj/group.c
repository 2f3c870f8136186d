// SPDX-License-Identifier: BSD-3-Clause
// Groups: their life and the questions about one.
#include "obj/group.h"

#include "boot/boot.h"
#include "obj/group_build.h"
#include "obj/group_index.h"
#include "obj/session.h"

#include <mpi.h>

struct pli_group pli_group_empty = { .obj = { .kind = PLI_KIND_GROUP, .value = 0x109, .refs = 1 },
                                     .runs = &pli_group_empty.one };

static bool is_clone; // of a process that may have made groups: they are seen by that one

// The first endpoint of this process.
static struct pli_id first_endpoint(void)
{
    return (struct pli_id){ pli_boot.job | pli_boot.index, 0 };
}

enum pli_err pli_group_create(const struct pli_id *ids, int n, struct pli_session *session,
                              struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        pli_group_build_add_id(&b, ids[i]);
    }
    return pli_group_build_finish(&b, session, first_endpoint(), out);
}

enum pli_err pli_group_create_run(struct pli_group_run run, struct pli_session *session,
                                  struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    if (run.n > 0) {
        pli_group_build_add(&b, run);
    }
    return pli_group_build_finish(&b, session, first_endpoint(), out);
}

void pli_group_release(struct pli_group *g)
{
    if (g != NULL && g->obj.value == 0 && pli_handle_release(g)) {
        pli_group_index_release(g->store);
        pli_session_release(g->session);
        pli_handle_destroy(g, sizeof *g);
    }
}

enum pli_err pli_group_dup(struct pli_group *g, struct pli_id me, struct pli_group **out)
{
    if (g->size == 0) {
        *out = &pli_group_empty;
        return PLI_OK;
    }
    struct pli_group *copy = pli_handle_create(PLI_KIND_GROUP, sizeof *copy);
    if (copy == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a group");
    }
    copy->session = pli_session_retain(g->session);
    copy->size = g->size;
    copy->n_run = g->n_run;
    copy->one = g->one;
    copy->store = pli_group_index_retain(g->store);
    copy->runs = copy->store != NULL ? pli_group_index_runs(copy->store) : &copy->one;
    copy->me = me;
    *out = copy;
    return PLI_OK;
}

// Where an identity is in a run, or -1.
static int64_t place_in(const struct pli_group_run *r, struct pli_id id)
{
    int64_t far = (int64_t)(id.proc - r->first.proc), i = 0;
    if (far > (INT64_MAX >> 1) || far < (INT64_MIN >> 1)) {
        return -1; // farther than any run is long
    }
    if (r->proc_step != 0) {
        i = r->proc_step == 1 ? far : far / r->proc_step;
    } else if (r->ep_step != 0) {
        i = ((int64_t)id.ep - (int64_t)r->first.ep) / r->ep_step;
    }
    return i >= 0 && i < r->n && far == i * r->proc_step &&
                   id.ep == r->first.ep + (uint32_t)(i * r->ep_step)
               ? i
               : -1;
}

int pli_group_rank_of(const struct pli_group *g, struct pli_id id)
{
    if (g->n_run > 4) {
        return pli_group_index_find(g, id);
    }
    for (int k = 0; k < g->n_run; k++) {
        int64_t i = place_in(&g->runs[k], id);
        if (i >= 0) {
            return g->runs[k].base + (int)i;
        }
    }
    return -1;
}

enum pli_err pli_group_check_session(const struct pli_group *a, const struct pli_group *b)
{
    if (a->session != b->session && a->size > 0 && b->size > 0) {
        return pli_fail(PLI_ERR_GROUP, a->session != NULL && b->session != NULL
                                           ? "the groups come from different sessions, which "
                                             "cannot be mixed in one call"
                                           : "one group comes from a session and one from "
                                             "MPI_COMM_WORLD, which cannot be mixed in one call");
    }
    return PLI_OK;
}

enum pli_err pli_group_get_size(struct pli_group *g, int *size_out)
{
    *size_out = g->size;
    return PLI_OK;
}

void pli_group_clone(void)
{
    is_clone = true;
}

enum pli_err pli_group_get_rank(struct pli_group *g, int *rank_out)
{
    bool is_mine = !is_clone || g->me.proc == (pli_boot.job | pli_boot.index);
    int rank = is_mine ? pli_group_rank_of(g, g->me) : -1;
    *rank_out = rank >= 0 ? rank : MPI_UNDEFINED;
    return PLI_OK;
}

enum pli_err pli_group_free(struct pli_group *g)
{
    pli_group_release(g);
    return PLI_OK;
}

enum pli_err pli_group_translate_ranks(struct pli_group *a, int n, const int ranks[],
                                       struct pli_group *b, int out[])
{
    bool is_same = a == b || (a->store != NULL && a->store == b->store);
    enum pli_err err = pli_group_check_session(a, b);
    if (err == PLI_OK && n > 0 && (ranks == NULL || out == NULL)) {
        err = pli_fail(PLI_ERR_ARG, "an array of ranks is NULL, but n is %d", n);
    }
    for (int i = 0; err == PLI_OK && i < n; i++) {
        if (ranks[i] != MPI_PROC_NULL && (ranks[i] < 0 || ranks[i] >= a->size)) {
            err = pli_fail(PLI_ERR_RANK,
                           "element %d of ranks1 is %d, but group1 has %d ranks, and it is not "
                           "MPI_PROC_NULL",
                           i, ranks[i], a->size);
        }
    }
    pli_group_index_expect(b, n);
    for (int i = 0; err == PLI_OK && i < n; i++) {
        int rank = ranks[i];
        if (rank != MPI_PROC_NULL && !is_same) {
            rank = pli_group_rank_of(b, pli_group_at(a, rank));
            rank = rank >= 0 ? rank : MPI_UNDEFINED;
        }
        out[i] = rank;
    }
    return err;
}
