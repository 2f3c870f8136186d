// SPDX-License-Identifier: BSD-3-Clause
// Everybody leaves a vote. Whoever sees that all who live have come counts the votes and writes the
// result, all of it in one word; the first one to do so decides, and it does not matter who. For
// the members of a smaller communicator it is enough to agree on how many processes had died,
// because deaths are numbered.
#include "comm/pact.h"

#include "boot/alarm_wire.h"
#include "boot/boot.h"
#include "comm/comm_make.h"
#include "core/alarm.h"
#include "core/arena.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/process.h"
#include "core/progress.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include <mpi.h>

enum { SEQ_SHIFT = 33 };

static enum pli_err no_room(void)
{
    return pli_fail(PLI_ERR_NOMEM, "there is no shared memory for an agreement");
}

static enum pli_err find(struct pli_comm *c, struct pli_alarm_pact **out)
{
    uint32_t row;
    if (c->is_span) {
        return pli_comm_refuse_span(c, "agreement among survivors");
    }
    for (int i = 0; i < c->size && !c->is_inter; i++) {
        if (!pli_boot_is_here(&pli_boot, pli_group_at(c->group, i).proc, &row)) {
            return pli_fail(PLI_ERR_UNSUPPORTED,
                            "rank %d of %s is not in this job on this host, "
                            "and survivors agree on one host only",
                            i, pli_comm_say(c));
        }
    }
    if (c->is_inter) {
        return pli_fail(PLI_ERR_COMM,
                        "%s is an intercommunicator, but must be an "
                        "intracommunicator",
                        pli_comm_say(c));
    }
    struct pli_alarm_mark *m = pli_alarm_find(c->context, true);
    if (m == NULL) {
        return no_room();
    }
    uint64_t at = atomic_load_explicit(&m->pact, memory_order_acquire);
    if (at == 0) {
        struct pli_alarm_pact *fresh =
            pli_arena_take(sizeof *fresh + (size_t)c->size * sizeof(struct pli_alarm_vote));
        if (fresh == NULL) {
            return no_room();
        }
        if (atomic_compare_exchange_strong(&m->pact, &at, pli_arena_offset(fresh))) {
            at = pli_arena_offset(fresh);
        } else {
            pli_arena_give(fresh);
        }
    }
    *out = pli_arena_at(at);
    return PLI_OK;
}

static bool is_dead(const struct pli_comm *c, int rank, uint32_t n_failed)
{
    uint32_t at = pli_alarm_failed_at(pli_group_at(c->group, rank).proc);
    return at != 0 && at <= n_failed;
}

// Count the votes of an agreement if all are there.
static void decide(const struct pli_comm *c, struct pli_alarm_pact *p, uint32_t seq, bool is_shrink)
{
    uint32_t n_failed = atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_acquire);
    uint64_t before = atomic_load_explicit(&p->result, memory_order_acquire);
    uint32_t value = UINT32_MAX, n_dead = 0, least = UINT32_MAX, most = 0;
    for (int i = 0; i < c->size; i++) {
        struct pli_alarm_vote *v = &p->votes[i];
        if (is_dead(c, i, n_failed)) {
            n_dead++;
            continue;
        }
        if (atomic_load_explicit(&v->seq, memory_order_seq_cst) < seq) {
            return;
        }
        uint32_t acked = atomic_load_explicit(&v->n_acked, memory_order_relaxed);
        value &= atomic_load_explicit(&v->value, memory_order_relaxed);
        least = acked < least ? acked : least;
        most = acked > most ? acked : most;
    }
    uint64_t dirty = least == n_dead && most == n_dead ? 0 : PLI_ALARM_DIRTY;
    uint64_t result = (uint64_t)seq << SEQ_SHIFT | dirty | (is_shrink ? n_failed : value);
    if (before >> SEQ_SHIFT < seq && atomic_compare_exchange_strong(&p->result, &before, result)) {
        pli_shm_wake_node(&pli_boot.node);
    }
}

// Leave a vote and wait for the result.
static uint64_t agree(struct pli_comm *c, struct pli_alarm_pact *p, uint32_t value, bool is_shrink)
{
    struct pli_waiter w = { .lane = c->ep->lane,
                            .comm = c,
                            .call = is_shrink ? "MPIX_Comm_shrink" : "MPIX_Comm_agree" };
    struct pli_alarm_vote *mine = &p->votes[c->rank];
    uint32_t seq = ++c->n_pact, seen = 0;
    atomic_store_explicit(&mine->value, value, memory_order_relaxed);
    atomic_store_explicit(&mine->n_acked, (uint32_t)c->n_acked, memory_order_relaxed);
    atomic_store_explicit(&mine->context[seq & 1], pli_process_context(), memory_order_relaxed);
    atomic_store_explicit(&mine->seq, seq, memory_order_seq_cst);
    bool is_first = true;
    uint64_t result;
    while ((result = atomic_load_explicit(&p->result, memory_order_acquire)) >> SEQ_SHIFT < seq) {
        uint32_t news = atomic_load_explicit(pli_alarm_news, memory_order_acquire);
        if (is_first || news != seen) { // the last one to come decides, or who hears of a death
            is_first = false;
            seen = news;
            decide(c, p, seq, is_shrink);
        } else {
            pli_progress_step(&w);
        }
    }
    pli_progress_end(&w);
    return result;
}

enum pli_err pli_pact_agree(struct pli_comm *comm, int *flag)
{
    struct pli_alarm_pact *p;
    enum pli_err err = find(comm, &p);
    if (err != PLI_OK) {
        return err;
    }
    uint64_t result = agree(comm, p, (uint32_t)*flag, false);
    *flag = (int)(uint32_t)result;
    if ((result & PLI_ALARM_DIRTY) == 0) {
        return PLI_OK;
    }
    pli_alarm_look(comm->ep->lane); // somebody else may have been the first to hear
    return pli_alarm_explain(PLI_ERR_PROC_FAILED, "agreement", comm);
}

enum pli_err pli_pact_shrink(struct pli_comm *comm, struct pli_comm **out)
{
    struct pli_alarm_pact *p;
    struct pli_group *group;
    struct pli_group_build b;
    enum pli_err err = find(comm, &p);
    if (err != PLI_OK) {
        return err;
    }
    uint32_t n_failed = (uint32_t)agree(comm, p, 0, true);
    uint64_t context = 0;
    pli_group_build_init(&b);
    for (int i = 0; i < comm->size; i++) {
        if (is_dead(comm, i, n_failed)) {
            continue;
        }
        if (context == 0) {
            context =
                atomic_load_explicit(&p->votes[i].context[comm->n_pact & 1], memory_order_relaxed);
        }
        pli_group_build_add_id(&b, pli_group_at(comm->group, i));
    }
    err = pli_group_build_finish(&b, comm->group->session, comm->group->me, &group);
    if (err == PLI_OK) {
        err = pli_comm_make_child(comm, group, NULL, context, out);
        pli_group_release(group);
    }
    return err;
}
