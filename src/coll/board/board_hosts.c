// SPDX-License-Identifier: BSD-3-Clause
// Collectives with a board on each host and messages between the leaders of the hosts.
#include "coll/board/board_hosts.h"

#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/hier.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/comm_state.h"
#include "obj/comm.h"
#include "obj/handle.h"
#include "obj/op.h"

// Whether it is so at all members: when one host has no memory all do without.
static enum pli_err agree(struct pli_comm *comm, bool is_good, bool *out)
{
    int v = is_good;
    struct pli_coll_args a = { .kind = PLI_COLL_ALLREDUCE,
                               .n = comm->size,
                               .me = comm->rank,
                               .comm = comm,
                               .is_in_place = true,
                               .op = pli_handle_get(MPI_MIN, PLI_KIND_OP) };
    a.recv = (struct pli_blocks){ .buf = &v, .count = 1, .type = pli_datatype_basic(MPI_INT) };
    a.send = a.recv;
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(PLI_COLL_ALLREDUCE, PLI_SCHED_ONCE, &s);
    if (err == PLI_OK) {
        pli_sched_on(s, comm);
        pli_allreduce_hier(s, &a);
        err = pli_sched_run(s, comm);
        pli_sched_destroy(s);
    }
    *out = err == PLI_OK && v != 0;
    return err;
}

enum pli_err pli_board_hosts_ready(const struct pli_coll_args *a, size_t half)
{
    struct pli_coll *c = a->comm->coll; // the hosts were asked for before
    enum pli_err err = PLI_OK;
    bool is_alone = c->hosts->n_member == 1, is_good;
    if (!c->has_here) {
        if (!pli_board_life_is_worth(a->comm)) {
            return PLI_AGAIN;
        }
        c->has_here = true;
        c->here = pli_board_life_make(a->comm, c->hosts);
        err = agree(a->comm, is_alone || c->here != NULL, &c->is_hosted);
    }
    if (err != PLI_OK || !c->is_hosted || half <= c->half) {
        return err != PLI_OK ? err : c->is_hosted ? PLI_OK : PLI_AGAIN;
    }
    if (c->has_no_half) {
        return PLI_AGAIN;
    }
    err = is_alone ? PLI_OK : pli_board_widen(c->here, a, half);
    if (err != PLI_OK && err != PLI_AGAIN) {
        return err;
    }
    err = agree(a->comm, err == PLI_OK, &is_good);
    c->has_no_half = !is_good;
    c->half = is_good ? half : c->half;
    return err != PLI_OK ? err : is_good ? PLI_OK : PLI_AGAIN;
}

struct pli_board_hosts pli_board_hosts_view(const struct pli_coll_args *a, int root)
{
    const struct pli_hostmap *h = a->comm->coll->hosts;
    int leader = root >= 0 && h->host_of[root] == h->my_host ? root : h->leaders[h->my_host];
    return (struct pli_board_hosts){ .hosts = h,
                                     .leader = pli_hostmap_index(h, leader),
                                     .is_leader = leader == a->comm->rank,
                                     .is_alone = h->n_member == 1 };
}

enum pli_err pli_board_hosts_between(const struct pli_board_hosts *v, const struct pli_coll_args *a,
                                     int root, pli_coll_build_fn fn)
{
    if (!v->is_leader) {
        pli_sched_skip(a->comm);
        return PLI_OK;
    }
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err == PLI_OK) {
        pli_sched_on(s, a->comm);
        struct pli_hier h = pli_hier_make(s, a, root);
        pli_sched_among(s, h.leaders);
        fn(s, &h.across);
        err = pli_sched_run(s, a->comm);
        pli_sched_destroy(s);
    }
    return err;
}

enum pli_err pli_board_hosts_spread(const struct pli_board_hosts *v, const struct pli_coll_args *a,
                                    enum pli_err err)
{
    if (v->is_alone || pli_err_is_news(err)) {
        return err; // a failure that the others learn of too
    }
    struct pli_coll_args l = *a;
    l.kind = PLI_COLL_BCAST;
    l.root = v->leader;
    char nothing = 0;
    if (err != PLI_OK && v->is_leader) { // a size that no member expects makes the others fail
        bool has_data = l.recv.count * l.recv.type->size > 0;
        l.recv = (struct pli_blocks){ .buf = &nothing,
                                      .count = has_data ? 0 : 1,
                                      .type = pli_datatype_basic(MPI_BYTE) };
    }
    struct pli_board *b = pli_comm_state_here(a->comm);
    b->whole = a;
    enum pli_err sent = pli_bcast_board(&l);
    b->whole = NULL;
    return err != PLI_OK ? err : sent;
}
