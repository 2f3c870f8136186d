// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective with the algorithm that was chosen for it.
#include "coll/coll_run.h"

#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_cma.h"
#include "coll/comm_state.h"
#include "coll/coll_args.h"
#include "coll/coll_select.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/impi/across.h"
#include "coll/impi/across_inter.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/statistics_hooks.h"
#include "obj/comm.h"
#include "obj/impi_span.h"

// An operation without data has no steps; where data is only moved, messages of no bytes are sent,
// so that ranks that disagree get an error.
static bool is_nothing(const struct pli_coll_args *a)
{
    return !a->comm->is_inter && a->op != NULL && pli_coll_args_bytes(a) == 0;
}

static enum pli_err build(const struct pli_coll_args *a, enum pli_sched_use use,
                          pli_coll_build_fn fn, struct pli_sched **out)
{
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, use, &s);
    if (err != PLI_OK) {
        return err;
    }
    if (pli_coll_kind_info[a->kind].is_rooted && !a->comm->is_inter) {
        pli_sched_set_root(s, a->root);
    }
    pli_sched_on(s, a->comm);
    if (fn != NULL) {
        fn(s, a);
    } else if (a->comm->is_span) { // it counts among those that may overlap
        pli_sched_take_own(s, a->comm);
    }
    *out = s;
    return PLI_OK;
}

// A collective by messages among members that also meet on a board: what this one does in it counts
// at the next meeting.
static void note_part(const struct pli_coll_args *a)
{
    struct pli_board *b = a->comm->coll != NULL ? a->comm->coll->board : NULL;
    if (b == NULL) {
        return;
    }
    bool is_from_root =
        a->kind == PLI_COLL_BCAST || a->kind == PLI_COLL_SCATTER || a->kind == PLI_COLL_SCATTERV;
    bool is_to_root = a->kind == PLI_COLL_GATHER || a->kind == PLI_COLL_GATHERV;
    bool is_root = a->root == a->me;
    bool is_taker = (is_from_root && !is_root) || (is_to_root && is_root);
    pli_board_note_part(b, is_taker, is_from_root && !is_root ? a->root : -1);
}

static const struct pli_coll_algo nothing = { .name = "nothing" };
static const struct pli_coll_algo inter_rooted = { .name = "inter", .build = pli_inter_rooted };
static const struct pli_coll_algo inter_all = { .name = "inter", .build = pli_inter_all };

static const struct pli_coll_algo across_now = { .name = "impi", .build = pli_across_now };
static const struct pli_coll_algo across_later = { .name = "impi", .build = pli_across_later };
static const struct pli_coll_algo across_inter = { .name = "impi", .build = pli_across_inter };
static const struct pli_coll_algo inter_later = { .name = "impi", .build = pli_across_inter_later };

// Where ranks belong to other MPI jobs.
__attribute__((cold)) static enum pli_err
choose_across(const struct pli_coll_args *a, bool is_blocking, const struct pli_coll_algo **out)
{
    bool is_later = !is_blocking || a->kind > PLI_COLL_EXSCAN; // or along a topology
    enum pli_err err =
        is_later ? pli_impi_span_check_later(pli_coll_kind_info[a->kind].name, a->comm) : PLI_OK;
    if (!a->comm->is_inter) {
        *out = is_blocking ? &across_now : &across_later;
    } else {
        *out = is_blocking ? &across_inter : &inter_later;
    }
    return err;
}

static enum pli_err choose(const struct pli_coll_args *a, bool is_blocking,
                           const struct pli_coll_algo **out)
{
    if (is_nothing(a)) {
        *out = &nothing;
        return PLI_OK;
    }
    if (__builtin_expect(a->comm->is_span, 0)) {
        return choose_across(a, is_blocking, out);
    }
    if (a->comm->is_inter) {
        *out = pli_coll_kind_info[a->kind].is_rooted ? &inter_rooted : &inter_all;
        return PLI_OK;
    }
    return pli_coll_select(a, is_blocking, out);
}

// The first rank that learns of a death leaves the collective in a way that others may take for a
// mistake of theirs; the failure is known to them too once they look.
__attribute__((cold)) static enum pli_err recheck_failures(const struct pli_coll_args *a,
                                                           enum pli_err err)
{
    if (!pli_err_is_news(err)) {
        pli_failure_look(a->comm->ep->lane);
        return pli_comm_is_stopped(a->comm)
                   ? pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm)
                   : err;
    }
    return err;
}

// A rank that only gives has done its part when sizes do not fit: those that get report it.
static bool is_for_others(const struct pli_coll_args *a, enum pli_err err)
{
    bool is_root = pli_coll_args_is_root(a);
    return err == PLI_ERR_TRUNC &&
           ((a->kind == PLI_COLL_GATHER && !is_root) || (a->kind == PLI_COLL_SCATTER && is_root));
}

static enum pli_err run_schedule(const struct pli_coll_args *a, const struct pli_coll_algo *algo)
{
    struct pli_sched *s;
    note_part(a);
    enum pli_err err = build(a, PLI_SCHED_ONCE, algo->build, &s);
    if (err == PLI_OK) {
        err = pli_sched_run(s, a->comm);
        pli_sched_destroy(s);
    }
    return err;
}

// All members agreed to take another algorithm than one that copies from buffer to buffer, or than
// one that lacks memory.
static enum pli_err run_other(const struct pli_coll_args *a, const struct pli_coll_algo *than)
{
    enum pli_err err = PLI_AGAIN;
    while (err == PLI_AGAIN) {
        const struct pli_coll_algo *algo = NULL;
        err = pli_coll_select_other(a, than, &algo);
        if (err == PLI_OK) {
            err = algo->direct != NULL ? algo->direct(a) : run_schedule(a, algo);
        }
        than = algo;
    }
    pli_board_cma_other_end(pli_comm_state_here(a->comm));
    return err;
}

enum pli_err pli_coll_run_full(struct pli_coll_args *a)
{
    const struct pli_coll_algo *algo = NULL;
    enum pli_err err = pli_coll_args_check(a);
    if (err == PLI_OK && __builtin_expect(pli_request_may_be_withdrawn, 0)) {
        err = pli_failure_enter(pli_coll_kind_info[a->kind].name, a->comm);
    }
    if (err == PLI_OK) {
        err = choose(a, true, &algo);
    }
    if (err != PLI_OK) {
        return is_for_others(a, err) ? PLI_OK : err;
    }
    if (pli_statistics_is_on()) {
        pli_coll_select_count(a, algo);
    }
    if (algo == &nothing) {
        return PLI_OK;
    }
    if (algo->direct != NULL) {
        err = algo->direct(a);
        if (__builtin_expect(err == PLI_AGAIN, 0)) {
            err = run_other(a, algo);
        }
        if (__builtin_expect(err != PLI_OK && pli_request_may_be_withdrawn, 0)) {
            err = recheck_failures(a, err);
        }
        return __builtin_expect(err == PLI_OK || is_for_others(a, err), 1) ? PLI_OK : err;
    }
    return run_schedule(a, algo);
}

// Nothing but one small message to the root: it may go at once, without a schedule.
static bool is_leaf(const struct pli_coll_args *a, const struct pli_coll_algo *algo)
{
    return algo->build == pli_gather_linear && !a->comm->is_inter && a->root != a->me;
}

enum pli_err pli_coll_run_begin(struct pli_coll_args *a, bool is_persistent,
                                struct pli_request **out)
{
    const struct pli_coll_algo *algo = NULL;
    struct pli_sched *s = NULL;
    enum pli_err err = pli_coll_args_check(a);
    if (err == PLI_OK && __builtin_expect(pli_request_may_be_withdrawn, 0)) {
        err = pli_failure_enter(pli_coll_kind_info[a->kind].name, a->comm);
    }
    if (err == PLI_OK) {
        err = choose(a, false, &algo);
    }
    if (err == PLI_OK && pli_statistics_is_on()) {
        pli_coll_select_count(a, algo);
    }
    note_part(a);
    if (err == PLI_OK && !is_persistent && algo == &nothing && !a->comm->is_span) {
        return pli_sched_nothing(a->comm, out);
    }
    if (err == PLI_OK && !is_persistent && is_leaf(a, algo)) {
        struct pli_block mine = pli_blocks_one(&a->send);
        if (pli_sched_send_now(a->kind, a->root, &mine, a->comm, out)) {
            return PLI_OK;
        }
    }
    if (err == PLI_OK) {
        bool has_many_ranks = a->comm->size >= PLI_SCHED_MANY_RANKS;
        enum pli_sched_use use = is_persistent    ? PLI_SCHED_PERSISTENT
                                 : has_many_ranks ? PLI_SCHED_MANY
                                                  : PLI_SCHED_ONCE;
        err = build(a, use, algo->build, &s);
    }
    if (err == PLI_OK) {
        err = pli_sched_begin(s, a->comm, out);
    }
    if (err != PLI_OK) {
        pli_sched_destroy(s);
    }
    return err;
}
