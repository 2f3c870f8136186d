// SPDX-License-Identifier: BSD-3-Clause
// Takes files through MPI_Fork. A descriptor, a view and an individual pointer are in two processes
// after it without further ado; what members share (the shared pointer, memory for collective
// writing) is made anew by the clones, and threads of a file begin again when they are needed.
#include "io/file_fork.h"

#include "io/file.h"
#include "io/file_async.h"
#include "io/file_map.h"
#include "io/file_range.h"
#include "io/file_list.h"
#include "io/file_shared.h"
#include "io/file_shared_batch.h"
#include "io/file_sys.h"
#include "obj/comm.h"
#include "obj/group.h"
#include "rma/passive.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void suspend_one(struct pli_file *f, void *arg)
{
    (void)arg;
    if (f->split.begin == NULL && atomic_load(&f->n_open) == 0) { // else the fork is refused
        pli_file_async_end(f);
    }
    pli_file_shared_batch_pause(f);
    if (f->pointer.win != NULL) {
        pli_passive_unlock_all(f->pointer.win);
    }
}

void pli_file_fork_suspend(void)
{
    pli_file_list_each(suspend_one, NULL);
}

static void resume_one(struct pli_file *f, void *arg)
{
    enum pli_err *err = arg;
    if (*err == PLI_OK && f->pointer.win != NULL) {
        *err = pli_passive_lock_all(MPI_MODE_NOCHECK, f->pointer.win);
    }
}

enum pli_err pli_file_fork_resume(void)
{
    enum pli_err err = PLI_OK;
    pli_file_list_each(resume_one, &err);
    return err;
}

// Clones make the shared pointer together, file by file, so no thread may be several members.
static bool has_endpoints(const struct pli_file *f)
{
    int n = 0;
    for (int i = 0; i < f->comm->size; i++) {
        n += pli_group_at(f->comm->group, i).proc == f->comm->group->me.proc;
    }
    return n > 1;
}

static void check_one(struct pli_file *f, void *arg)
{
    enum pli_err *err = arg;
    char why[300];
    if (*err != PLI_OK) {
        return;
    }
    *err = pli_file_check_idle(f, "MPI_Fork");
    if (*err != PLI_OK) {
        snprintf(why, sizeof why, "%s", pli_fail_take(NULL));
        pli_fail(*err, "has file %s in use: %s", f->name, why);
    } else if (f->window != NULL) {
        *err = pli_fail(PLI_ERR_UNSUPPORTED,
                        "has file %s with hint pliant_shared_map, whose end clones would not "
                        "know; close it before the call",
                        f->name);
    } else if (has_endpoints(f)) {
        *err = pli_fail(PLI_ERR_UNSUPPORTED,
                        "has file %s, which several of its endpoints have opened together; close "
                        "it before the call",
                        f->name);
    }
}

enum pli_err pli_file_fork_check(void)
{
    enum pli_err err = PLI_OK;
    pli_file_list_each(check_one, &err);
    return err;
}

static void leave_one(struct pli_file *f, void *arg)
{
    (void)arg;
    f->is_clone = true;
    pli_file_sys_part(f->fd);
    f->pos_shared = pli_file_shared_leave(f);
    pli_file_shared_batch_close(f);
    pli_file_map_end(f);
    pli_file_range_leave(f);
    free(f->ring.sizes);
    f->ring = (struct pli_file_ring){ .at = NULL };
}

void pli_file_fork_leave(void)
{
    pli_file_list_each(leave_one, NULL);
    pli_file_shared_forget();
}

static void lose_one(struct pli_file *f, void *arg)
{
    (void)arg;
    if (f->comm->obj.kind == PLI_KIND_LOST) {
        close(f->fd);
        pli_file_list_remove(f);
        atomic_store_explicit(&f->obj.kind, PLI_KIND_LOST, memory_order_relaxed);
    }
}

void pli_file_fork_lose(void)
{
    pli_file_list_each(lose_one, NULL);
}

struct next {
    uint64_t after; // context of the file before
    struct pli_file *f;
};

static void find_next(struct pli_file *f, void *arg)
{
    struct next *n = arg;
    uint64_t context = f->comm->context;
    if (context > n->after && (n->f == NULL || context < n->f->comm->context)) {
        n->f = f;
    }
}

// In the order of their contexts, which is the same for all members of any two files.
enum pli_err pli_file_fork_connect(void)
{
    enum pli_err err = pli_file_fork_resume();
    struct next n = { 0, NULL };
    for (pli_file_list_each(find_next, &n); n.f != NULL && err == PLI_OK;
         pli_file_list_each(find_next, &n)) {
        err = n.f->pointer.win == NULL ? pli_file_shared_make(n.f, n.f->pos_shared) : PLI_OK;
        err = err == PLI_OK && n.f->is_atomic ? pli_file_range_open(n.f) : err;
        n = (struct next){ n.f->comm->context, NULL };
    }
    return err;
}
