// SPDX-License-Identifier: BSD-3-Clause
// Makes and executes redistribution plans. The members of both versions of the world are the ranks
// of a communicator that the library makes for it without a message: first those of the old
// version, then those that were added. Each pair of processes exchanges one message, so that failed
// processes disturb nobody else; what they had is missing.
#include "elastic/plan.h"

#include "boot/boot.h"
#include "comm/comm_make.h"
#include "elastic/distribution.h"
#include "elastic/elastic_world.h"
#include "elastic/world_next.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/p2p.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/group_sets.h"
#include "obj/type_calls.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = PLI_SETUP_PLAN };

// Pieces of a buffer that go to, or come from, one process.
struct pieces {
    MPI_Count *at, *len;
    int64_t n, cap;
};

struct plan {
    struct pli_comm *wide; // all processes that take part
    enum pli_chan chan;
    int from_rank, to_rank;           // of this process; -1: it is not a member
    struct pli_distribution old, new; // by ranks of `from` and `to`
    int *to_wide;                     // by rank of `to`
    bool *is_lost;                    // by rank of `wide`
    struct pieces *sends, *recvs;     // by rank of `wide`
    struct pieces missing;
    struct pli_range *mine; // of an irregular one: the new ranges, as the buffer has them
    int n_mine;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan **plans; // by number; guarded by lock
static int n_plan;

static enum pli_err no_memory(void)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for a redistribution plan");
}

static void free_plan(struct plan *p)
{
    for (int i = 0; p->wide != NULL && i < p->wide->size; i++) {
        for (int k = 0; k < 2; k++) {
            struct pieces *of = k == 0 ? p->sends : p->recvs;
            if (of != NULL) {
                free(of[i].at);
                free(of[i].len);
            }
        }
    }
    pli_comm_release(p->wide);
    free(p->sends);
    free(p->recvs);
    free(p->to_wide);
    free(p->is_lost);
    free(p->missing.at);
    free(p->missing.len);
    free(p->old.ranges);
    free(p->new.ranges);
    free(p->mine);
    free(p);
}

// Two pieces that follow each other in the buffer are one.
static bool add_piece(struct pieces *to, MPI_Count at, MPI_Count len)
{
    if (to->n > 0 && to->at[to->n - 1] + to->len[to->n - 1] == at) {
        to->len[to->n - 1] += len;
        return true;
    }
    if (to->n == to->cap) {
        int64_t cap = to->cap > 0 ? to->cap * 2 : 4;
        MPI_Count *at_more = realloc(to->at, (size_t)cap * sizeof *at_more);
        to->at = at_more != NULL ? at_more : to->at;
        MPI_Count *len_more =
            at_more != NULL ? realloc(to->len, (size_t)cap * sizeof *len_more) : NULL;
        to->len = len_more != NULL ? len_more : to->len;
        if (len_more == NULL) {
            return false;
        }
        to->cap = cap;
    }
    to->at[to->n] = at;
    to->len[to->n++] = len;
    return true;
}

// Which elements of a rank of `mine` are where in `other`, in the order of the elements: so both
// sides of a message list the same elements in the same order.
static bool find_partners(struct plan *p, bool is_send)
{
    const struct pli_distribution *mine = is_send ? &p->old : &p->new;
    const struct pli_distribution *other = is_send ? &p->new : &p->old;
    int rank = is_send ? p->from_rank : p->to_rank;
    struct pli_range r, part;
    bool is_good = true;
    for (int64_t k = 0; is_good && pli_distribution_next(mine, rank, &k, &r);) {
        for (MPI_Count done = 0; is_good && done < r.count; done += part.count) {
            part = pli_distribution_find(other, r.first + done);
            MPI_Count rest = r.count - done;
            part.count = part.count == 0 || part.count > rest ? rest : part.count;
            int with = part.rank < 0 || !is_send ? part.rank : p->to_wide[part.rank];
            struct pieces *to =
                is_send ? (with < 0 ? NULL : &p->sends[with])
                        : (with < 0 || p->is_lost[with] ? &p->missing : &p->recvs[with]);
            is_good = to == NULL || add_piece(to, r.local + done, part.count);
        }
    }
    return is_good;
}

static enum pli_err make_wide(struct plan *p, uint32_t version, struct pli_group *from,
                              struct pli_group *to)
{
    struct pli_endpoint *ep = pli_process_ep();
    struct pli_group *all = NULL;
    enum pli_err err = pli_group_sets_union(from, to, &all);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_comm_create(pli_endpoint_retain(ep), ep->id, all, NULL,
                          pli_process_part_context(version, PLI_PART_PLAN), &p->wide);
    pli_group_release(all);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
        return err;
    }
    snprintf(p->wide->name, sizeof p->wide->name, "plan@%u", version);
    return PLI_OK;
}

// Who takes part, and with which ranks.
static enum pli_err note_ranks(struct plan *p, struct pli_group *from, struct pli_group *to,
                               struct pli_group *lost)
{
    int n = p->wide->size;
    p->to_wide = calloc((size_t)to->size + 1, sizeof *p->to_wide);
    p->is_lost = calloc((size_t)n + 1, sizeof *p->is_lost);
    p->sends = calloc((size_t)n + 1, sizeof *p->sends);
    p->recvs = calloc((size_t)n + 1, sizeof *p->recvs);
    if (p->to_wide == NULL || p->is_lost == NULL || p->sends == NULL || p->recvs == NULL) {
        return no_memory();
    }
    struct pli_id me = p->wide->ep->id;
    me = p->chan == PLI_CHAN_P2P ? me : pli_group_at(p->wide->group, p->wide->rank);
    p->from_rank = pli_group_rank_of(from, me);
    p->to_rank = pli_group_rank_of(to, me);
    p->old.size = from->size;
    p->new.size = to->size;
    for (int i = 0; i < to->size; i++) {
        p->to_wide[i] = pli_group_rank_of(p->wide->group, pli_group_at(to, i));
    }
    for (int i = 0; lost != NULL && i < lost->size; i++) {
        p->is_lost[pli_group_rank_of(p->wide->group, pli_group_at(lost, i))] = true;
    }
    return PLI_OK;
}

static enum pli_err join_versions(struct plan *p, uint32_t before, uint32_t behind)
{
    struct pli_group *from = NULL, *to = NULL, *lost = NULL;
    enum pli_err err = pli_world_next_members(before, &from);
    err = err == PLI_OK ? pli_world_next_members(behind, &to) : err;
    err = err == PLI_OK ? pli_world_next_lost(from, to, &lost) : err;
    err = err == PLI_OK ? make_wide(p, behind, from, to) : err;
    err = err == PLI_OK ? note_ranks(p, from, to, lost) : err;
    pli_group_release(from);
    pli_group_release(to);
    pli_group_release(lost);
    return err;
}

// A communicator's version of the world; MPI_UNDEFINED: it is none.
static enum pli_err version_of(MPI_Comm h, const char *what, struct pli_comm **comm, int *version)
{
    *comm = h == MPI_COMM_NULL ? NULL : pli_comm_any(h);
    *version = MPI_UNDEFINED;
    if (*comm == NULL && h != MPI_COMM_NULL) {
        return pli_fail(PLI_ERR_COMM, "argument %s is no communicator", what);
    }
    if (*comm != NULL && (*comm)->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument %s is an intercommunicator", what);
    }
    if (*comm != NULL && (*comm)->is_span) {
        return pli_comm_refuse_span(*comm, "a redistribution plan");
    }
    return *comm != NULL ? pli_elastic_world_version_of(*comm, version) : PLI_OK;
}

static enum pli_err join_comms(struct plan *p, MPI_Comm from, MPI_Comm to)
{
    struct pli_comm *old, *new;
    int before, behind;
    enum pli_err err = version_of(from, "from", &old, &before);
    err = err == PLI_OK ? version_of(to, "to", &new, &behind) : err;
    if (err != PLI_OK) {
        return err;
    }
    if (old == NULL && new == NULL) {
        return pli_fail(PLI_ERR_COMM, "arguments from and to are both MPI_COMM_NULL");
    }
    if (old == new) {
        p->wide = pli_comm_retain(old);
        p->chan = PLI_CHAN_SETUP;
        return note_ranks(p, old->group, old->group, NULL);
    }
    before = old == NULL && behind > 0 ? behind - 1 : before;
    behind = new == NULL &&before != MPI_UNDEFINED ? before + 1 : behind;
    if (before < 0 || behind != before + 1) {
        return pli_fail(PLI_ERR_COMM,
                        "arguments from and to are neither the same communicator nor a version of "
                        "the world and the next one, as MPIX_World_next returns it");
    }
    p->chan = PLI_CHAN_P2P;
    return join_versions(p, (uint32_t)before, (uint32_t)behind);
}

static enum pli_err add_plan(struct plan *p, int *plan_out)
{
    int at = 0;
    pthread_mutex_lock(&lock);
    while (at < n_plan && plans[at] != NULL) {
        at++;
    }
    if (at == n_plan) {
        struct plan **more = realloc(plans, ((size_t)n_plan + 8) * sizeof(struct plan *));
        if (more == NULL) {
            pthread_mutex_unlock(&lock);
            return no_memory();
        }
        memset(more + n_plan, 0, 8 * sizeof(struct plan *));
        plans = more;
        n_plan += 8;
    }
    plans[at] = p;
    pthread_mutex_unlock(&lock);
    *plan_out = at;
    return PLI_OK;
}

static enum pli_err find_plan(int number, struct plan **out)
{
    pthread_mutex_lock(&lock);
    *out = number >= 0 && number < n_plan ? plans[number] : NULL;
    pthread_mutex_unlock(&lock);
    return *out != NULL
               ? PLI_OK
               : pli_fail(PLI_ERR_ARG,
                          "argument plan is %d, which is no plan, or one that was freed", number);
}

// The distributions are known: who exchanges what.
static enum pli_err finish_plan(struct plan *p, enum pli_err err, int *plan_out)
{
    if (err == PLI_OK && !(find_partners(p, true) && find_partners(p, false))) {
        err = no_memory();
    }
    err = err == PLI_OK ? add_plan(p, plan_out) : err;
    if (err != PLI_OK) {
        free_plan(p);
    }
    return err;
}

static enum pli_err create_regular(MPI_Comm from, MPI_Comm to, struct pli_distribution like,
                                   int *plan_out)
{
    if (like.n < 0 || like.block < 1) {
        return pli_fail(
            PLI_ERR_COUNT, "argument %s is %lld, but must be %s", like.n < 0 ? "n" : "blocksize",
            (long long)(like.n < 0 ? like.n : like.block), like.n < 0 ? "0 or more" : "1 or more");
    }
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return no_memory();
    }
    p->old = p->new = like;
    return finish_plan(p, join_comms(p, from, to), plan_out);
}

enum pli_err pli_plan_create_block(MPI_Comm from, MPI_Comm to, MPI_Count n, int *plan_out)
{
    return create_regular(from, to, (struct pli_distribution){ PLI_BLOCK, .n = n, .block = 1 },
                          plan_out);
}

enum pli_err pli_plan_create_cyclic(MPI_Comm from, MPI_Comm to, MPI_Count n, MPI_Count block,
                                    int *plan_out)
{
    return create_regular(from, to, (struct pli_distribution){ PLI_CYCLIC, .n = n, .block = block },
                          plan_out);
}

static enum pli_err wait_all(struct pli_request **requests, int n)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < n; i++) {
        bool is_gone;
        pli_progress_wait(requests[i]);
        enum pli_err one = pli_request_report(requests[i], MPI_STATUS_IGNORE, &is_gone);
        err = err == PLI_OK ? one : err;
    }
    return err;
}

// What one process says of its part: how many ranges it has and is to have; -1: its arguments are
// wrong. The ranges follow, first and count of each.
struct said {
    int64_t n_old, n_new;
    struct pli_range *ranges;
};

// Each tells all others; is_head: the numbers, otherwise the ranges.
static enum pli_err tell_all(struct plan *p, struct said *said, bool is_head)
{
    int n = p->wide->size, me = p->wide->rank, k = 0;
    struct pli_request **reqs = calloc(2 * (size_t)n + 1, sizeof(struct pli_request *));
    enum pli_err err = reqs != NULL ? PLI_OK : no_memory();
    for (int step = 0; step < 2 * n && err == PLI_OK; step++) {
        int with = step % n;
        bool is_send = step >= n;
        struct said *s = is_send ? &said[me] : &said[with];
        void *buf = is_head ? (void *)&s->n_old : (void *)s->ranges;
        size_t len =
            is_head ? 2 * sizeof(int64_t) : (size_t)(s->n_old + s->n_new) * sizeof *s->ranges;
        if (with == me || p->is_lost[with] || len == 0) {
            continue;
        }
        err = is_send ? pli_p2p_isend_on(buf, (MPI_Count)len, pli_comm_make_byte(), with, TAG,
                                         p->wide, p->chan, 0, &reqs[k])
                      : pli_p2p_irecv_on(buf, (MPI_Count)len, pli_comm_make_byte(), with, TAG,
                                         p->wide, p->chan, &reqs[k]);
        k += err == PLI_OK;
    }
    enum pli_err waited = wait_all(reqs, k);
    free(reqs);
    return err == PLI_OK ? waited : err;
}

static bool is_good_list(int n, const MPI_Count first[], const MPI_Count count[])
{
    bool is_good = n >= 0 && (n == 0 || (first != NULL && count != NULL));
    for (int i = 0; is_good && i < n; i++) {
        MPI_Count end;
        is_good =
            first[i] >= 0 && count[i] >= 0 && !__builtin_add_overflow(first[i], count[i], &end);
    }
    return is_good;
}

static void list_ranges(struct pli_range *to, int n, const MPI_Count first[],
                        const MPI_Count count[])
{
    MPI_Count local = 0;
    for (int i = 0; i < n; i++) {
        to[i] = (struct pli_range){ first[i], count[i], local, 0 };
        local += count[i];
    }
}

// All ranges of one distribution, of the ranks that said some.
static enum pli_err collect(struct plan *p, struct said *said, bool is_new)
{
    struct pli_distribution *d = is_new ? &p->new : &p->old;
    int64_t n = 0;
    for (int i = 0; i < p->wide->size; i++) {
        n += is_new ? said[i].n_new : said[i].n_old;
    }
    d->kind = PLI_IRREGULAR;
    d->ranges = malloc((size_t)n * sizeof *d->ranges + 1);
    if (d->ranges == NULL) {
        return no_memory();
    }
    for (int r = 0; r < d->size; r++) {
        const struct said *s = &said[is_new ? p->to_wide[r] : r];
        for (int64_t i = 0; i < (is_new ? s->n_new : s->n_old); i++) {
            struct pli_range range = s->ranges[is_new ? s->n_old + i : i];
            range.rank = r;
            d->ranges[d->n_range] = range;
            d->n_range += range.count > 0;
        }
    }
    return pli_distribution_sort(d);
}

static enum pli_err exchange_ranges(struct plan *p, struct said *said)
{
    enum pli_err err = tell_all(p, said, true);
    if (err == PLI_OK && said[p->wide->rank].n_old < 0) {
        return pli_fail(
            PLI_ERR_ARG,
            "the ranges are wrong: their number, first elements and counts must be 0 or "
            "more, and a rank that is not a member of from has none before, one that is "
            "not a member of to none afterwards");
    }
    for (int i = 0; i < p->wide->size && err == PLI_OK; i++) {
        bool is_told = i != p->wide->rank && !p->is_lost[i];
        if (said[i].n_old < 0) {
            return pli_fail(PLI_ERR_ARG, "another rank of the plan gave wrong ranges");
        }
        if (is_told) {
            said[i].ranges =
                malloc((size_t)(said[i].n_old + said[i].n_new) * sizeof *said[i].ranges + 1);
            err = said[i].ranges != NULL ? PLI_OK : no_memory();
        }
    }
    err = err == PLI_OK ? tell_all(p, said, false) : err;
    err = err == PLI_OK ? collect(p, said, false) : err;
    return err == PLI_OK ? collect(p, said, true) : err;
}

enum pli_err pli_plan_create_irregular(MPI_Comm from, MPI_Comm to, int n_old,
                                       const MPI_Count old_first[], const MPI_Count old_count[],
                                       int n_new, const MPI_Count new_first[],
                                       const MPI_Count new_count[], int *plan_out)
{
    struct plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return no_memory();
    }
    enum pli_err err = join_comms(p, from, to);
    if (err != PLI_OK) {
        free_plan(p);
        return err;
    }
    struct said *said = calloc((size_t)p->wide->size, sizeof *said);
    bool is_good = is_good_list(n_old, old_first, old_count) &&
                   is_good_list(n_new, new_first, new_count) && (p->from_rank >= 0 || n_old == 0) &&
                   (p->to_rank >= 0 || n_new == 0);
    struct pli_range *mine =
        malloc((is_good ? (size_t)n_old + (size_t)n_new : 0) * sizeof *mine + 1);
    if (said == NULL || mine == NULL) {
        err = no_memory();
    } else {
        said[p->wide->rank] = (struct said){ is_good ? n_old : -1, is_good ? n_new : -1, mine };
        if (is_good) {
            list_ranges(mine, n_old, old_first, old_count);
            list_ranges(mine + n_old, n_new, new_first, new_count);
        }
        err = exchange_ranges(p, said);
    }
    if (err == PLI_OK) {
        p->n_mine = n_new;
        p->mine = malloc((size_t)n_new * sizeof *p->mine + 1);
        err = p->mine != NULL ? PLI_OK : no_memory();
    }
    if (err == PLI_OK && n_new > 0) {
        memcpy(p->mine, mine + n_old, (size_t)n_new * sizeof *p->mine);
    }
    for (int i = 0; said != NULL && i < p->wide->size; i++) {
        if (i != p->wide->rank) {
            free(said[i].ranges);
        }
    }
    free(said);
    free(mine);
    return finish_plan(p, err, plan_out);
}

// Begin the message with one process: a piece as it is, several as one datatype.
static enum pli_err begin_message(struct plan *p, const struct pieces *of, bool is_send, int with,
                                  const void *buf, struct pli_datatype *type,
                                  struct pli_request **out)
{
    struct pli_datatype *used = type;
    MPI_Count count = of->len[0];
    uintptr_t at = (uintptr_t)buf + (uintptr_t)(of->at[0] * type->extent);
    enum pli_err err = PLI_OK;
    if (of->n > 1) {
        err = pli_type_indexed(of->n, (struct pli_ints){ of->len, true },
                               (struct pli_ints){ of->at, true }, type, &used);
        err = err == PLI_OK ? pli_type_commit(used) : err;
        count = 1;
        at = (uintptr_t)buf;
    }
    if (err == PLI_OK) {
        err = is_send ? pli_p2p_isend_on((const void *)at, count, used, with, TAG, p->wide, p->chan,
                                         0, out)
                      : pli_p2p_irecv_on((void *)at, count, used, with, TAG, p->wide, p->chan, out);
    }
    if (used != type) {
        pli_datatype_release(used); // the request has its own reference
    }
    return err;
}

static enum pli_err check_buffers(const struct plan *p, const void *sendbuf, const void *recvbuf)
{
    MPI_Count had = pli_distribution_count(&p->old, p->from_rank);
    MPI_Count has = pli_distribution_count(&p->new, p->to_rank);
    if (sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE) {
        return pli_fail(PLI_ERR_BUFFER, "MPI_IN_PLACE is not for this call: data moves from "
                                        "sendbuf to recvbuf");
    }
    return had == 0 || has == 0 || sendbuf == NULL || sendbuf != recvbuf
               ? PLI_OK
               : pli_fail(PLI_ERR_BUFFER, "sendbuf and recvbuf are the same memory; they may not "
                                          "overlap");
}

enum pli_err pli_plan_execute(int plan, const void *sendbuf, void *recvbuf,
                              struct pli_datatype *type)
{
    struct plan *p;
    enum pli_err err = find_plan(plan, &p);
    err = err == PLI_OK ? check_buffers(p, sendbuf, recvbuf) : err;
    if (err != PLI_OK) {
        return err;
    }
    int n = p->wide->size, k = 0;
    struct pli_request **reqs = calloc(2 * (size_t)n + 1, sizeof(struct pli_request *));
    err = reqs != NULL ? PLI_OK : no_memory();
    for (int step = 0; step < 2 * n && err == PLI_OK; step++) {
        int with = (p->wide->rank + step) % n; // all begin with another one
        bool is_send = step >= n;
        const struct pieces *of = is_send ? &p->sends[with] : &p->recvs[with];
        if (of->n > 0 && type->size > 0) {
            err = begin_message(p, of, is_send, with, is_send ? sendbuf : recvbuf, type, &reqs[k]);
            k += err == PLI_OK;
        }
    }
    struct pli_fail_saved why;
    pli_fail_save(&why, err);
    for (int i = 0; i < k && err != PLI_OK; i++) { // what it would wait for may never come
        reqs[i]->ops->cancel(reqs[i]);
    }
    enum pli_err waited = wait_all(reqs, k);
    free(reqs);
    return err == PLI_OK ? waited : pli_fail_repeat(&why);
}

enum pli_err pli_plan_get_count(int plan, MPI_Count *old_out, MPI_Count *new_out)
{
    struct plan *p;
    enum pli_err err = find_plan(plan, &p);
    if (err == PLI_OK) {
        *old_out = pli_distribution_count(&p->old, p->from_rank);
        *new_out = pli_distribution_count(&p->new, p->to_rank);
    }
    return err;
}

enum pli_err pli_plan_get_global(int plan, MPI_Count local, MPI_Count *global_out)
{
    struct plan *p;
    enum pli_err err = find_plan(plan, &p);
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count n = pli_distribution_count(&p->new, p->to_rank);
    if (local < 0 || local >= n) {
        return pli_fail(PLI_ERR_ARG, "argument local is %lld, but this rank has %lld elements",
                        (long long)local, (long long)n);
    }
    if (p->new.kind == PLI_IRREGULAR) {
        int i = 0;
        while (local >= p->mine[i].local + p->mine[i].count) {
            i++;
        }
        *global_out = p->mine[i].first + local - p->mine[i].local;
    } else if (p->new.kind == PLI_BLOCK) {
        int64_t k = 0;
        struct pli_range r;
        pli_distribution_next(&p->new, p->to_rank, &k, &r);
        *global_out = r.first + local;
    } else {
        *global_out =
            (local / p->new.block * p->new.size + p->to_rank) * p->new.block + local % p->new.block;
    }
    return PLI_OK;
}

enum pli_err pli_plan_get_missing(int plan, int max, MPI_Count first[], MPI_Count count[],
                                  int *n_out)
{
    struct plan *p;
    enum pli_err err = find_plan(plan, &p);
    if (err != PLI_OK) {
        return err;
    }
    if (max < 0 || (max > 0 && (first == NULL || count == NULL))) {
        return pli_fail(PLI_ERR_ARG, max < 0 ? "argument max is below 0"
                                             : "argument first or count is NULL, but max is not 0");
    }
    for (int64_t i = 0; i < max && i < p->missing.n; i++) {
        first[i] = p->missing.at[i];
        count[i] = p->missing.len[i];
    }
    *n_out = (int)p->missing.n;
    return PLI_OK;
}

enum pli_err pli_plan_free(int *plan)
{
    struct plan *p;
    if (plan == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument plan is NULL");
    }
    enum pli_err err = find_plan(*plan, &p);
    if (err == PLI_OK) {
        pthread_mutex_lock(&lock);
        plans[*plan] = NULL;
        pthread_mutex_unlock(&lock);
        free_plan(p);
        *plan = -1;
    }
    return err;
}

void pli_plan_end(void)
{
    for (int i = 0; i < n_plan; i++) {
        if (plans[i] != NULL) {
            free_plan(plans[i]);
        }
    }
    free(plans);
    plans = NULL;
    n_plan = 0;
}
