// SPDX-License-Identifier: BSD-3-Clause
// Takes windows through MPI_Fork. While it lasts no window has a region, so nothing of it is under
// way in the process that is copied. A clone then makes the regions anew, for the members that its
// communicators have become.
#include "rma/win_fork.h"

#include "coll/icoll.h"
#include "comm/comm_make.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "rma/rma_target.h"
#include "rma/win.h"
#include "rma/win_make.h"
#include "rma/win_memory.h"
#include "rma/win_region.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_in_node_memory(const struct pli_win *w)
{
    return w->memory.where == PLI_MEMORY_SEGMENT || w->memory.where == PLI_MEMORY_ARENA;
}

struct check {
    const struct pli_group *world;
    enum pli_err err;
};

static enum pli_err check_members(const struct pli_win *w, const struct pli_group *world)
{
    for (int i = 0; i < w->comm->size; i++) {
        struct pli_id id = { pli_group_at(w->comm->group, i).proc, world->me.ep };
        if (pli_group_rank_of(world, id) < 0) {
            return pli_fail(PLI_ERR_OTHER,
                            "has %s, whose rank %d is not of the world that is cloned; free it "
                            "before the call",
                            pli_win_say(w), i);
        }
    }
    return PLI_OK;
}

static void check_one(struct pli_win *w, void *arg)
{
    struct check *c = arg;
    if (c->err != PLI_OK) {
        return;
    }
    char why[300];
    c->err = pli_rma_target_no_epoch(w, "MPI_Fork");
    if (c->err != PLI_OK) {
        snprintf(why, sizeof why, "%s", pli_fail_take(NULL));
        pli_fail(c->err, "has an open epoch: %s", why);
    } else if (w->is_posted) {
        c->err = pli_fail(PLI_ERR_RMA_SYNC,
                          "has exposed %s; MPI_Win_wait must come before MPI_Fork", pli_win_say(w));
    } else if (is_in_node_memory(w) && w->memory.pages == NULL) {
        c->err = pli_fail(PLI_ERR_UNSUPPORTED,
                          "has %s, whose memory cannot be copied here; free it before the call",
                          pli_win_say(w));
    } else {
        c->err = check_members(w, c->world);
    }
}

enum pli_err pli_win_fork_check(const struct pli_group *world)
{
    struct check c = { world, PLI_OK };
    pli_win_each(check_one, &c);
    return c.err;
}

static void count_one(struct pli_win *w, void *arg)
{
    (void)w;
    ++*(size_t *)arg;
}

size_t pli_win_fork_count(void)
{
    size_t n = 0;
    pli_win_each(count_one, &n);
    return n;
}

static void suspend_one(struct pli_win *w, void *arg)
{
    (void)arg;
    pli_win_region_close(w);
}

void pli_win_fork_suspend(void)
{
    pli_win_each(suspend_one, NULL);
    pli_progress_thread_rest(); // it served them, and would not exist in a clone
}

static void resume_one(struct pli_win *w, void *arg)
{
    enum pli_err *err = arg;
    *err = *err == PLI_OK ? pli_win_region_open(w) : *err;
}

enum pli_err pli_win_fork_resume(void)
{
    enum pli_err err = PLI_OK;
    pli_win_each(resume_one, &err);
    return err;
}

struct owner {
    const struct pli_win *asker;
    bool is_here;
};

static void find_owner(struct pli_win *w, void *arg)
{
    struct owner *o = arg;
    o->is_here = o->is_here || (w != o->asker && w->memory.pages == o->asker->memory.pages &&
                                (w->memory.at != NULL || w->memory.where == PLI_MEMORY_COPY));
}

// Whether another window of this process, an endpoint's, has taken this memory for all.
static bool is_of_another(const struct pli_win *w)
{
    struct owner o = { w, false };
    if (w->memory.at == NULL) {
        pli_win_each(find_owner, &o);
    }
    return o.is_here;
}

// The guard of a clone's memory is made when the clone has an arena.
static void copy_one(struct pli_win *w, void *arg)
{
    enum pli_err *err = arg;
    if (*err == PLI_OK && is_in_node_memory(w)) {
        if (is_of_another(w)) {
            w->memory.where = PLI_MEMORY_NONE;
            w->memory.is_lent = true;
        } else {
            *err = pli_win_memory_copy(&w->memory);
        }
    }
    if (w->is_guard_own) {
        free(w->guard);
    }
    w->guard = NULL; // in the arena it is the parent's
    w->is_guard_own = w->is_guard_arena = false;
    w->epochs = NULL; // the parent's
}

enum pli_err pli_win_fork_copy(void)
{
    enum pli_err err = PLI_OK;
    pli_win_each(copy_one, &err);
    return err;
}

static void lose(struct pli_win *w)
{
    pli_win_forget(w);
    atomic_store_explicit(&w->obj.kind, PLI_KIND_LOST, memory_order_relaxed);
}

static void lose_one(struct pli_win *w, void *arg)
{
    (void)arg;
    if (w->comm->obj.kind == PLI_KIND_LOST) {
        lose(w);
    }
}

void pli_win_fork_lose(void)
{
    pli_win_each(lose_one, NULL);
}

// What the members of one window tell each other. All windows do it at once, as this thread may be
// several members of one.
struct exchange {
    struct exchange *next;
    struct pli_win *win;
    struct pli_win_member mine, *infos;
    struct pli_request *req;
};

struct exchanges {
    struct exchange *first;
    enum pli_err err;
};

static void tell(struct exchanges *all, struct pli_win *w, struct pli_win_member mine)
{
    struct exchange *x = calloc(1, sizeof *x);
    struct pli_datatype *byte = pli_comm_make_byte();
    struct pli_win_member *infos = x != NULL ? calloc((size_t)w->comm->size, sizeof *infos) : NULL;
    if (infos == NULL) {
        free(x);
        all->err = pli_fail(PLI_ERR_NOMEM, "no memory for windows");
        return;
    }
    *x = (struct exchange){ .next = all->first, .win = w, .mine = mine, .infos = infos };
    all->first = x;
    all->err = pli_icoll_allgather(&x->mine, sizeof x->mine, byte, infos, sizeof x->mine, byte,
                                   w->comm, &x->req);
}

static enum pli_err finish(struct pli_request *req)
{
    MPI_Status status;
    bool is_gone;
    pli_progress_wait(req);
    return pli_request_report(req, &status, &is_gone);
}

// All have told; `use` is what to do about it.
static enum pli_err hear(struct exchanges *all, enum pli_err (*use)(const struct exchange *x))
{
    for (struct exchange *x = all->first; x != NULL; x = x->next) {
        enum pli_err err = x->req != NULL ? finish(x->req) : PLI_OK;
        all->err = all->err == PLI_OK ? err : all->err;
    }
    while (all->first != NULL) {
        struct exchange *x = all->first;
        all->first = x->next;
        all->err = all->err == PLI_OK ? use(x) : all->err;
        free(x->infos);
        free(x);
    }
    return all->err;
}

// Memory that processes share: each clone has a copy of all of it, and one gives its own to the
// others.
static bool is_shared_by_processes(const struct pli_win *w)
{
    bool is = false;
    for (int i = 0; i < w->comm->size; i++) {
        is = is || pli_group_at(w->comm->group, i).proc != w->comm->group->me.proc;
    }
    return is && w->flavor == MPI_WIN_FLAVOR_SHARED;
}

static void offer_one(struct pli_win *w, void *arg)
{
    struct exchanges *all = arg;
    struct pli_win_member mine = { .where = PLI_MEMORY_NONE };
    if (all->err != PLI_OK || !is_shared_by_processes(w)) {
        return;
    }
    if (w->comm->rank == 0) {
        mine.where = pli_win_make_offer(w, &mine.memory);
    }
    tell(all, w, mine);
}

static enum pli_err join_one(const struct exchange *x)
{
    if (x->infos[0].where == PLI_MEMORY_NONE) {
        lose(x->win);
        return PLI_OK;
    }
    return pli_win_make_join(x->win, x->infos[0].where, x->infos[0].memory);
}

static void tell_one(struct pli_win *w, void *arg)
{
    struct exchanges *all = arg;
    all->err = all->err == PLI_OK ? pli_win_make_guard(w, w->comm, PLI_OK) : all->err;
    if (all->err == PLI_OK) {
        tell(all, w, pli_win_make_tell(w));
    }
}

static enum pli_err connect_one(const struct exchange *x)
{
    enum pli_err err = pli_win_make_connect(x->win, x->infos);
    return err == PLI_OK ? pli_win_region_open(x->win) : err;
}

enum pli_err pli_win_fork_connect(void)
{
    struct exchanges all = { NULL, PLI_OK };
    pli_win_each(offer_one, &all);
    enum pli_err err = hear(&all, join_one);
    if (err == PLI_OK) {
        pli_win_each(tell_one, &all);
        err = hear(&all, connect_one);
    }
    return err;
}
