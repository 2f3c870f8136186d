// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split: from one allgather of (color, key, a proposed context) each rank knows the
// members of its new communicator and, from its first member, the context; there is no second
// round.
#include "comm/comm_split.h"

#include "coll/coll.h"
#include "comm/impi_cid.h"
#include "comm/comm_make.h"
#include "comm/leader_exchange.h"
#include "comm/intercomm.h"
#include "comm/intercomm_impi.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include <stdlib.h>

enum { ON_STACK = 64 };

struct vote {
    int64_t color;
    uint64_t context, local_context; // proposals, used if this rank is the first member
    int32_t key;
    int32_t rank; // sent: whether the rank asks for more; received: its rank, for sorting
};
_Static_assert(sizeof(struct vote) == 32, "crosses processes");

static int by_key(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->rank > y->rank) - (x->rank < y->rank);
}

// Bring the votes for a color to the front, in order; returns how many.
static int pick(struct vote votes[], int n, int64_t color)
{
    int m = 0;
    bool is_sorted = true;
    for (int i = 0; i < n; i++) {
        if (votes[i].color == color) {
            votes[m] = votes[i];
            votes[m].rank = i;
            is_sorted = is_sorted && (m == 0 || votes[m - 1].key <= votes[m].key);
            m++;
        }
    }
    if (!is_sorted) {
        qsort(votes, (size_t)m, sizeof votes[0], by_key);
    }
    return m;
}

static enum pli_err group_of(const struct vote votes[], int n, const struct pli_group *from,
                             struct pli_id me, struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        pli_group_build_add_id(&b, pli_group_at(from, votes[i].rank));
    }
    return pli_group_build_finish(&b, from->session, me, out);
}

static enum pli_err split_intra(struct pli_comm *comm, struct vote votes[], int64_t color,
                                struct pli_comm **out)
{
    if (color == PLI_COMM_SPLIT_NO_COLOR) {
        return PLI_OK;
    }
    struct pli_group *group;
    int n = pick(votes, comm->size, color);
    enum pli_err err = group_of(votes, n, comm->group, comm->group->me, &group);
    if (err == PLI_OK) {
        err = pli_comm_make_child(comm, group, NULL, votes[0].context, out);
        pli_group_release(group);
    }
    return err;
}

// The leaders also exchange the votes of their groups. All ranks take part, also those without
// color.
static enum pli_err split_inter(struct pli_comm *comm, struct vote votes[], int64_t color,
                                struct pli_comm **out)
{
    struct pli_leader_exchange t;
    struct pli_group *group = NULL, *remote = NULL;
    size_t len = (size_t)comm->size * sizeof *votes;
    enum pli_err err = pli_leader_exchange_inter(comm, votes, len, &t);
    if (err != PLI_OK || color == PLI_COMM_SPLIT_NO_COLOR) {
        free(t.mine);
        return err;
    }
    struct vote *theirs = (struct vote *)t.theirs;
    if (t.n_theirs != (size_t)comm->n_peer * sizeof *theirs) {
        free(t.mine);
        return pli_fail(PLI_ERR_OTHER, "the other group is in a different call");
    }
    int n = pick(votes, comm->size, color);
    int n_theirs = pick(theirs, comm->n_peer, color);
    if (n_theirs > 0) {
        struct pli_id me = comm->group->me;
        err = group_of(votes, n, comm->group, me, &group);
        if (err == PLI_OK) {
            err = group_of(theirs, n_theirs, comm->remote, me, &remote);
        }
        if (err == PLI_OK) {
            bool is_low = pli_intercomm_is_low(comm);
            err = pli_comm_make_inter(comm, group, remote,
                                      is_low ? votes[0].context : theirs[0].context,
                                      votes[0].local_context, out);
        }
        pli_group_release(group);
        pli_group_release(remote);
    }
    free(t.mine);
    return err;
}

enum pli_err pli_comm_split_ask(struct pli_comm *comm, int64_t color, int key, bool asks,
                                bool *any_out, struct pli_comm **out)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    struct vote on_stack[ON_STACK], *votes = on_stack;
    if (comm->size > ON_STACK) {
        votes = malloc((size_t)comm->size * sizeof *votes);
        if (votes == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory to split %d ranks", comm->size);
        }
    }
    struct vote mine = {
        .color = color, .context = pli_process_context(), .key = key, .rank = asks
    };
    if (comm->is_inter) {
        mine.local_context = pli_process_context();
    }
    enum pli_err err = pli_coll_allgather(&mine, sizeof mine, byte, votes, sizeof mine, byte,
                                          comm->is_inter ? comm->local : comm);
    *any_out = false;
    for (int i = 0; err == PLI_OK && i < comm->size; i++) {
        *any_out = *any_out || votes[i].rank != 0;
    }
    if (err == PLI_OK) {
        err = comm->is_inter ? split_inter(comm, votes, color, out)
                             : split_intra(comm, votes, color, out);
    }
    if (votes != on_stack) {
        free(votes);
    }
    return err;
}

enum pli_err pli_comm_split_by(struct pli_comm *comm, int64_t color, int key, struct pli_comm **out)
{
    bool any;
    return pli_comm_split_ask(comm, color, key, false, &any, out);
}

enum pli_err pli_comm_split_split(struct pli_comm *comm, int color, int key, struct pli_comm **out)
{
    // A rank with a wrong color takes part all the same, so that the others do not wait for it.
    bool is_somewhere = color >= 0;
    enum pli_err err =
        comm->is_span && comm->is_inter ? pli_intercomm_impi_split(comm, color, key, out)
        : comm->is_span
            ? pli_impi_cid_split(comm, color, key, out)
            : pli_comm_split_by(comm, is_somewhere ? color : PLI_COMM_SPLIT_NO_COLOR, key, out);
    if (err == PLI_OK && !is_somewhere && color != MPI_UNDEFINED) {
        err = pli_fail(PLI_ERR_ARG, "argument color is %d, but must be 0 or more, or MPI_UNDEFINED",
                       color);
    }
    return err;
}
