// SPDX-License-Identifier: BSD-3-Clause
// The thread of a file, its queue, and requests that end when it has done them.
#include "io/file_async.h"

#include "base/list.h"
#include "ckpt/freeze_wire.h"
#include "io/file.h"
#include "io/file_access.h"
#include "io/file_coll.h"
#include "io/file_datarep.h"
#include "io/file_shared_batch.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/status.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct job {
    struct pli_list link;
    struct pli_file *file;
    struct pli_file_access access;
    struct pli_fail_saved why; // it failed, if it did
    bool is_coll;
    bool is_ended; // the user has what was read
    size_t bytes;
    struct pli_request *request;
};

struct pli_file_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_idle;
    struct pli_list jobs;
    int n_job; // queued or under way
    bool is_ending;
};

static void note(struct job *j, enum pli_err err)
{
    if (err != PLI_OK && j->why.err == PLI_OK) {
        pli_fail_save(&j->why, err);
    }
}

static void end(struct job *j)
{
    if (!j->is_ended) {
        j->is_ended = true;
        note(j, pli_file_access_end(&j->access, j->why.err, &j->bytes));
    }
}

// MPI_Request_get_status may call it several times.
static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    struct job *j = r->ext;
    end(j);
    pli_status_set_one(status, MPI_ANY_SOURCE, MPI_ANY_TAG, j->bytes);
    return pli_fail_repeat(&j->why);
}

static void clean(struct pli_request *r)
{
    end(r->ext); // the request was freed: nobody asked for it
    free(r->ext);
}

static const struct pli_request_ops file_ops = {
    .name = "file access",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

struct pli_obj *pli_file_async_owner(const struct pli_request *r)
{
    return r->ops == &file_ops ? &((struct job *)r->ext)->file->obj : NULL;
}

static void do_job(struct job *j)
{
    enum pli_err err = pli_fail_repeat(&j->why);
    j->why.err = PLI_OK;
    bool is_together = j->is_coll && !j->file->comm->is_span;
    err = is_together     ? pli_file_coll_run(&j->access, err)
          : err != PLI_OK ? err
                          : pli_file_access_run(&j->access);
    note(j, err);
    // Functions of the program are called in its own threads, while these are in MPI.
    if (j->access.is_write || !pli_file_datarep_is_users(j->access.rep)) {
        end(j);
    }
}

// The error is told by finish, so the request itself has none.
static void complete(struct job *j)
{
    struct pli_lane *lane = j->request->lane;
    // Before: the thread that waits for the request may close the file as soon as it is done.
    atomic_fetch_sub_explicit(&j->file->n_open, 1, memory_order_release);
    pli_lock_take(&lane->lock);
    pli_request_complete(j->request, j->why.err);
    pli_lock_drop(&lane->lock);
}

static void *body(void *arg)
{
    struct pli_file_worker *w = arg;
    prctl(PR_SET_NAME, "mpi-file");
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (pli_list_is_empty(&w->jobs) && !w->is_ending) {
            pthread_cond_wait(&w->has_work, &w->lock);
        }
        if (pli_list_is_empty(&w->jobs)) {
            break;
        }
        struct job *j = PLI_CONTAINER(w->jobs.next, struct job, link);
        pli_list_remove(&j->link);
        pthread_mutex_unlock(&w->lock);
        do_job(j);
        complete(j);
        pthread_mutex_lock(&w->lock);
        if (--w->n_job == 0) {
            pthread_cond_broadcast(&w->is_idle);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// Signals are the program's, but for the one with which every thread takes part in a checkpoint.
int pli_file_async_begin_thread(pthread_t *out, void *(*fn)(void *), void *arg)
{
    sigset_t blocked, old;
    sigfillset(&blocked);
    sigdelset(&blocked, PLI_FREEZE_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    int rc = pthread_create(out, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

static enum pli_err begin(struct pli_file *f)
{
    struct pli_file_worker *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for nonblocking access");
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->has_work, NULL);
    pthread_cond_init(&w->is_idle, NULL);
    pli_list_init(&w->jobs);
    pli_process_lock(); // from now on a second thread is inside the library
    int rc = pli_file_async_begin_thread(&w->thread, body, w);
    if (rc != 0) {
        free(w);
        return pli_fail(PLI_ERR_OTHER,
                        "no thread can be started for nonblocking access to file %s: %s", f->name,
                        strerror(rc));
    }
    f->worker = w;
    return PLI_OK;
}

static void add(struct pli_file_worker *w, struct job *j)
{
    pthread_mutex_lock(&w->lock);
    pli_list_push(&w->jobs, &j->link);
    w->n_job++;
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
}

static enum pli_err make(struct pli_file *f, struct job **out)
{
    struct pli_lane *lane = f->comm->ep->lane;
    struct job *j = calloc(1, sizeof *j);
    struct pli_request *r = NULL;
    if (j != NULL) {
        pli_lock_take(&lane->lock);
        r = pli_request_create(lane);
        pli_lock_drop(&lane->lock);
    }
    if (r == NULL) {
        free(j);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a nonblocking access");
    }
    r->ops = &file_ops;
    r->ext = j;
    j->request = r;
    j->file = f;
    *out = j;
    return PLI_OK;
}

static bool is_busy(struct pli_file_worker *w)
{
    pthread_mutex_lock(&w->lock);
    bool is = w->n_job > 0;
    pthread_mutex_unlock(&w->lock);
    return is;
}

enum { SMALL = 64 * 1024 };

enum pli_err pli_file_async_start(struct pli_file_access *a, enum pli_err err, bool is_coll,
                                  struct pli_request **out)
{
    struct pli_file *f = a->file;
    struct job *j = NULL;
    size_t unused;
    struct pli_fail_saved why;
    pli_fail_save(&why, err);
    bool may_wait = is_coll && !f->comm->is_span; // for other members
    enum pli_err made = f->worker == NULL && (may_wait || a->len > SMALL) ? begin(f) : PLI_OK;
    made = made == PLI_OK ? make(f, &j) : made;
    if (made != PLI_OK && may_wait) { // the others wait for this member in any case
        pli_file_async_drain(f);
        made = pli_file_coll_run(a, made);
    }
    // An access of one member that cannot be is refused at once.
    if (made != PLI_OK || (err != PLI_OK && !is_coll)) {
        if (j != NULL) {
            pli_request_destroy(j->request);
        }
        pli_file_access_end(a, err, &unused);
        return made != PLI_OK ? made : pli_fail_repeat(&why);
    }
    j->access = *a;
    j->access.is_async = true;
    j->is_coll = is_coll;
    j->why = why;
    *out = j->request;
    atomic_fetch_add_explicit(&f->n_open, 1, memory_order_relaxed);
    if (f->worker == NULL || (!may_wait && a->len <= SMALL && !is_busy(f->worker))) {
        do_job(j); // that is over sooner than a thread would begin
        complete(j);
        return PLI_OK;
    }
    add(f->worker, j);
    return PLI_OK;
}

void pli_file_async_drain(struct pli_file *f)
{
    struct pli_file_worker *w = f->worker;
    if (w == NULL) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    while (w->n_job > 0) {
        pthread_cond_wait(&w->is_idle, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

enum pli_err pli_file_async_settle(struct pli_file *f, const char *call)
{
    pli_file_async_drain(f);
    enum pli_err err = pli_file_check_split(f, call);
    return err == PLI_OK ? pli_file_shared_batch_settle(f) : err;
}

void pli_file_async_end(struct pli_file *f)
{
    struct pli_file_worker *w = f->worker;
    if (w == NULL) {
        return;
    }
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->has_work);
    pthread_cond_destroy(&w->is_idle);
    free(w);
    f->worker = NULL;
}
