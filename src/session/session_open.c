// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes sessions: MPI_Session_init to MPI_Session_finalize.
#include "session/session_open.h"
#include "base/glibc.h"
#include "base/cpu.h"

#include "base/log.h"
#include "boot/boot.h"
#include "comm/comm_free.h"
#include "msg/bsend.h"
#include "msg/lane.h"
#include "ft/failure.h"
#include "msg/process.h"
#include "net/list/net_list.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/info.h"
#include "obj/session.h"
#include "obj/session_comms.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int level;
} levels[] = {
    { "MPI_THREAD_SINGLE", MPI_THREAD_SINGLE },
    { "MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED },
    { "MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED },
    { "MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE },
};

enum { N_LEVEL = sizeof levels / sizeof levels[0] };

PLI_START enum pli_err pli_session_open(int level, bool is_locked, struct pli_session **out)
{
    struct pli_session *s;
    enum pli_err err = pli_session_create(&s);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_process_open(is_locked, pli_net_list, &pli_failure_handlers);
    if (err != PLI_OK) {
        pli_session_release(s);
        return err;
    }
    s->level = level;
    if (level >= MPI_THREAD_SERIALIZED) { // the deadlock detector then checks all threads
        atomic_store(&pli_proc.boot->node.rows[pli_proc.boot->row].is_shared, 1);
    }
    *out = s;
    return PLI_OK;
}

void pli_session_open_undo(struct pli_session *s)
{
    atomic_store_explicit(&s->is_over, true, memory_order_relaxed);
    pli_session_release(s);
    pli_process_close();
}

static enum pli_err read_level(struct pli_info *info, int *level_out)
{
    const char *text = pli_info_find(info, "thread_level");
    if (text == NULL) { // no more than the process has
        *level_out = pli_process_has_threads() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
        return PLI_OK;
    }
    for (int i = 0; i < N_LEVEL; i++) {
        if (strcmp(text, levels[i].name) == 0) {
            *level_out = levels[i].level;
            return PLI_OK;
        }
    }
    return pli_fail(PLI_ERR_INFO_VALUE,
                    "hint thread_level is '%s'; it is one of MPI_THREAD_SINGLE, "
                    "MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE",
                    text);
}

PLI_START enum pli_err pli_session_open_init(struct pli_info *info,
                                             struct pli_errhandler *errhandler,
                                             struct pli_session **out)
{
    int level = MPI_THREAD_SINGLE;
    struct pli_session *s;
    enum pli_err err = read_level(info, &level);
    if (err != PLI_OK) {
        return err;
    }
    // The level is a promise about one session, and two sessions may be used by two threads. Only a
    // process with a single thread can do without locks.
    bool is_locked = level != MPI_THREAD_SINGLE || !__libc_single_threaded;
    err = pli_session_open(level, is_locked, &s);
    if (err != PLI_OK) {
        return err;
    }
    const char *strict = pli_info_find(info, "strict_finalize");
    s->is_strict = strict != NULL && strcmp(strict, "true") == 0;
    s->errhandler = pli_errhandler_retain(errhandler);
    *out = s;
    return PLI_OK;
}

enum pli_err pli_session_open_finalize(struct pli_session *s)
{
    struct pli_comm *c;
    int n = pli_session_comms_count(s, &c);
    if (n > 0 && s->is_strict) {
        enum pli_err err =
            pli_fail(PLI_ERR_SESSION,
                     "%d communicator%s of the session %s not freed (%s%s), and hint "
                     "strict_finalize is true",
                     n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
                     c->name[0] != '\0' ? "the first is " : "the first has no name", c->name);
        pli_comm_release(c);
        return err;
    }
    if (n > 0) {
        pli_log(PLI_INFO, "MPI_Session_finalize frees %d communicator%s that the program did not",
                n, n == 1 ? "" : "s");
    }
    enum pli_err err = PLI_OK;
    while (c != NULL) { // comm_free drops the user's reference; that of the search is dropped here
        err = pli_comm_free_free(c);
        pli_comm_release(c);
        if (err != PLI_OK) {
            return err; // of a delete callback
        }
        pli_session_comms_count(s, &c);
    }
    void *buffer;
    MPI_Count size;
    err = pli_bsend_detach_at(&s->buffer, &buffer, &size);
    pli_session_open_undo(s);
    return err;
}

// The number of lanes of other processes that this process has connected to so far.
static uint32_t count_connections(void)
{
    uint32_t n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            n += lane->n_conn;
            pli_lock_drop(&lane->lock);
        }
    }
    return n;
}

enum pli_err pli_session_open_info(struct pli_session *s, struct pli_info **out)
{
    const char *level = levels[0].name;
    char n[16];
    struct pli_info *info;
    for (int i = 0; i < N_LEVEL; i++) {
        level = levels[i].level == s->level ? levels[i].name : level;
    }
    snprintf(n, sizeof n, "%u", count_connections());
    const char *pairs[][2] = {
        { "thread_level", level },
        { "mpi_memory_alloc_kinds", "mpi,system" }, // [MPI-5.0 11.4.3]
        { "strict_finalize", s->is_strict ? "true" : "false" },
        { "pliant_connections", n },
    };
    enum pli_err err = pli_info_create(&info);
    for (size_t i = 0; err == PLI_OK && i < sizeof pairs / sizeof *pairs; i++) {
        err = pli_info_set(info, pairs[i][0], pairs[i][1]);
        if (err != PLI_OK) {
            pli_info_release(info);
        }
    }
    if (err == PLI_OK) {
        *out = info;
    }
    return err;
}

enum pli_err pli_session_open_set_errhandler(struct pli_session *s, struct pli_errhandler *e)
{
    return pli_errhandler_set(&s->obj, e);
}

enum pli_err pli_session_open_get_errhandler(struct pli_session *s, struct pli_errhandler **out)
{
    return pli_errhandler_get(&s->obj, out);
}

enum pli_err pli_session_open_attach(struct pli_session *s, void *buffer, MPI_Count size)
{
    return pli_bsend_attach_at(&s->buffer, buffer, size);
}

enum pli_err pli_session_open_detach(struct pli_session *s, void *buffer_out, MPI_Count *size_out)
{
    return pli_bsend_detach_at(&s->buffer, buffer_out, size_out);
}

enum pli_err pli_session_open_flush(struct pli_session *s)
{
    return pli_bsend_flush_at(&s->buffer);
}

enum pli_err pli_session_open_iflush(struct pli_session *s, struct pli_request **out)
{
    return pli_bsend_iflush_at(&s->buffer, out);
}

static struct pli_bsend **buffer_of(struct pli_comm *comm)
{
    return &comm->session->buffer;
}

PLI_START void pli_session_open_prepare(void)
{
    pli_errhandler_keep(PLI_KIND_SESSION, offsetof(struct pli_session, errhandler));
    pli_bsend_of_session = buffer_of;
}
