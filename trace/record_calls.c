// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of --record and --replay. Each is there twice: for programs of the standard ABI, and
// for our libraries of other ABIs.
#include "trace/record_complete.h"

#include <string.h>

#define ENTER(name, comm)                                                                          \
    struct pli_record_call call;                                                                   \
    bool is_seen = pli_record_enter(&call, "MPI_" #name, __builtin_return_address(0),              \
                                    __builtin_frame_address(0), is_std, comm);                     \
    const struct pli_record_calls *next = is_std ? &pli_record_mpi : &pli_record_next;
#define DEFINE(prefix, name, params)                                                               \
    int prefix##MPI_##name params;                                                                 \
    int prefix##MPI_##name params

#define RECV_PARAMS(count_type)                                                                    \
    (void *buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm,           \
     MPI_Status *status)
#define IRECV_PARAMS(count_type)                                                                   \
    (void *buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm,           \
     MPI_Request *request)
#define SENDRECV_PARAMS(count_type, out)                                                           \
    (const void *sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag,      \
     void *buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm, out)
#define REPLACE_PARAMS(count_type, out)                                                            \
    (void *buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, int tag,   \
     MPI_Comm comm, out)

// A call that waits for a message: args are those of MPI with source and status as they are here.
#define BLOCKING(prefix, name, params, args)                                                       \
    DEFINE(prefix, name, params)                                                                   \
    {                                                                                              \
        ENTER(name, comm)                                                                          \
        if (!is_seen || source != MPI_ANY_SOURCE) {                                                \
            return next->name args;                                                                \
        }                                                                                          \
        MPI_Status own;                                                                            \
        int expected, any = source;                                                                \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                      \
        source = pli_record_pin(&call, false, source, tag, &expected);                             \
        int err = next->name args;                                                                 \
        pli_record_received(&call, false, any, tag, expected, status, err);                        \
        return err;                                                                                \
    }

// A nonblocking receive. One whose outcome is not known waits for the end of the record, unless it
// sends too.
#define NONBLOCKING(prefix, name, params, args, can_wait)                                          \
    DEFINE(prefix, name, params)                                                                   \
    {                                                                                              \
        ENTER(name, comm)                                                                          \
        if (!is_seen || source != MPI_ANY_SOURCE || request == NULL) {                             \
            return next->name args;                                                                \
        }                                                                                          \
        struct pli_record_request r = { .is_active = true,                                         \
                                        .is_tag_any = tag == MPI_ANY_TAG,                          \
                                        .buf = buf,                                                \
                                        .count = count,                                            \
                                        .datatype = type,                                          \
                                        .tag = tag,                                                \
                                        .comm = comm,                                              \
                                        .under_way = MPI_REQUEST_NULL };                           \
        r.is_deferred = !pli_record_post(&call, &source, tag, &comm, &r.number) && (can_wait);     \
        r.has_other = r.is_deferred;                                                               \
        int err = r.is_deferred                                                                    \
                      ? pli_record_mpi.Recv_init_c(buf, count, type, source, tag, comm, request)   \
                      : next->name args;                                                           \
        r.handle = *request;                                                                       \
        if (err == MPI_SUCCESS) {                                                                  \
            pli_record_keep(&call, &r);                                                            \
        } else {                                                                                   \
            pli_record_unpost(&call);                                                              \
        }                                                                                          \
        return err;                                                                                \
    }

#define PERSISTENT(prefix, name, params, args)                                                     \
    DEFINE(prefix, name, params)                                                                   \
    {                                                                                              \
        ENTER(name, comm)                                                                          \
        int err = next->name args;                                                                 \
        if (is_seen && source == MPI_ANY_SOURCE && err == MPI_SUCCESS) {                           \
            const struct pli_record_request r = { .handle = *request,                              \
                                                  .is_persistent = true,                           \
                                                  .has_other = pli_record_is_replay(),             \
                                                  .is_tag_any = tag == MPI_ANY_TAG,                \
                                                  .buf = buf,                                      \
                                                  .count = count,                                  \
                                                  .datatype = type,                                \
                                                  .tag = tag,                                      \
                                                  .comm = comm,                                    \
                                                  .under_way = MPI_REQUEST_NULL };                 \
            pli_record_keep(&call, &r);                                                            \
        }                                                                                          \
        return err;                                                                                \
    }

// A call without a communicator, done by pli_record_do_: args of MPI, and those after the call.
#define DONE(prefix, name, params, args, condition, how)                                           \
    DEFINE(prefix, name, params)                                                                   \
    {                                                                                              \
        ENTER(name, NULL)                                                                          \
        return is_seen && (condition) ? (how) : next->name args;                                   \
    }

#define SIZED(prefix, suffix, count_type)                                                          \
    BLOCKING(prefix, Recv##suffix, RECV_PARAMS(count_type),                                        \
             (buf, count, type, source, tag, comm, status))                                        \
    BLOCKING(prefix, Sendrecv##suffix, SENDRECV_PARAMS(count_type, MPI_Status *status),            \
             (sendbuf, sendcount, sendtype, dest, sendtag, buf, count, type, source, tag, comm,    \
              status))                                                                             \
    BLOCKING(prefix, Sendrecv_replace##suffix, REPLACE_PARAMS(count_type, MPI_Status *status),     \
             (buf, count, type, dest, sendtag, source, tag, comm, status))                         \
    NONBLOCKING(prefix, Irecv##suffix, IRECV_PARAMS(count_type),                                   \
                (buf, count, type, source, tag, comm, request), true)                              \
    NONBLOCKING(prefix, Isendrecv##suffix, SENDRECV_PARAMS(count_type, MPI_Request *request),      \
                (sendbuf, sendcount, sendtype, dest, sendtag, buf, count, type, source, tag, comm, \
                 request),                                                                         \
                false)                                                                             \
    NONBLOCKING(prefix, Isendrecv_replace##suffix,                                                 \
                REPLACE_PARAMS(count_type, MPI_Request *request),                                  \
                (buf, count, type, dest, sendtag, source, tag, comm, request), false)              \
    PERSISTENT(prefix, Recv_init##suffix, IRECV_PARAMS(count_type),                                \
               (buf, count, type, source, tag, comm, request))

#define PROBES(prefix)                                                                             \
    DEFINE(prefix, Probe, (int source, int tag, MPI_Comm comm, MPI_Status *s))                     \
    {                                                                                              \
        ENTER(Probe, comm)                                                                         \
        return is_seen ? pli_record_do_probe(&call, source, tag, comm, NULL, s)                    \
                       : next->Probe(source, tag, comm, s);                                        \
    }                                                                                              \
    DEFINE(prefix, Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *m, MPI_Status *s))    \
    {                                                                                              \
        ENTER(Mprobe, comm)                                                                        \
        return is_seen && m != NULL ? pli_record_do_probe(&call, source, tag, comm, m, s)          \
                                    : next->Mprobe(source, tag, comm, m, s);                       \
    }                                                                                              \
    DEFINE(prefix, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *s))         \
    {                                                                                              \
        ENTER(Iprobe, comm)                                                                        \
        return is_seen && flag != NULL                                                             \
                   ? pli_record_do_iprobe(&call, source, tag, comm, flag, NULL, s)                 \
                   : next->Iprobe(source, tag, comm, flag, s);                                     \
    }                                                                                              \
    DEFINE(prefix, Improbe,                                                                        \
           (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *m, MPI_Status *s))         \
    {                                                                                              \
        ENTER(Improbe, comm)                                                                       \
        return is_seen && flag != NULL && m != NULL                                                \
                   ? pli_record_do_iprobe(&call, source, tag, comm, flag, m, s)                    \
                   : next->Improbe(source, tag, comm, flag, m, s);                                 \
    }

#define COMPLETIONS(prefix)                                                                        \
    DONE(prefix, Wait, (MPI_Request * q, MPI_Status * s), (q, s), q != NULL,                       \
         pli_record_do_wait(&call, q, s))                                                          \
    DONE(prefix, Waitall, (int n, MPI_Request q[], MPI_Status *s), (n, q, s), n >= 0 && q != NULL, \
         pli_record_do_waitall(&call, n, q, s))                                                    \
    DONE(prefix, Waitany, (int n, MPI_Request q[], int *at, MPI_Status *s), (n, q, at, s),         \
         n >= 0 && q != NULL && at != NULL, pli_record_do_waitany(&call, n, q, at, s))             \
    DONE(prefix, Waitsome, (int n, MPI_Request q[], int *m, int at[], MPI_Status *s),              \
         (n, q, m, at, s), n >= 0 && q != NULL && m != NULL && at != NULL,                         \
         pli_record_do_some(&call, false, n, q, m, at, s))                                         \
    DONE(prefix, Test, (MPI_Request * q, int *flag, MPI_Status *s), (q, flag, s),                  \
         q != NULL && flag != NULL, pli_record_do_test(&call, q, flag, s))                         \
    DONE(prefix, Testall, (int n, MPI_Request q[], int *flag, MPI_Status *s), (n, q, flag, s),     \
         n >= 0 && q != NULL && flag != NULL, pli_record_do_testall(&call, n, q, flag, s))         \
    DONE(prefix, Testany, (int n, MPI_Request q[], int *at, int *flag, MPI_Status *s),             \
         (n, q, at, flag, s), n >= 0 && q != NULL && at != NULL && flag != NULL,                   \
         pli_record_do_testany(&call, n, q, at, flag, s))                                          \
    DONE(prefix, Testsome, (int n, MPI_Request q[], int *m, int at[], MPI_Status *s),              \
         (n, q, m, at, s), n >= 0 && q != NULL && m != NULL && at != NULL,                         \
         pli_record_do_some(&call, true, n, q, m, at, s))                                          \
    DONE(prefix, Request_get_status, (MPI_Request q, int *flag, MPI_Status *s), (q, flag, s),      \
         flag != NULL, pli_record_do_get_status(&call, q, flag, s))                                \
    DONE(prefix, Request_get_status_all, (int n, const MPI_Request q[], int *flag, MPI_Status *s), \
         (n, q, flag, s), n >= 0 && q != NULL && flag != NULL,                                     \
         pli_record_do_get_status_all(&call, n, q, flag, s))                                       \
    DONE(prefix, Request_get_status_any,                                                           \
         (int n, const MPI_Request q[], int *at, int *flag, MPI_Status *s), (n, q, at, flag, s),   \
         n >= 0 && q != NULL && at != NULL && flag != NULL,                                        \
         pli_record_do_get_status_any(&call, n, q, at, flag, s))                                   \
    DONE(prefix, Request_get_status_some,                                                          \
         (int n, const MPI_Request q[], int *m, int at[], MPI_Status *s), (n, q, m, at, s),        \
         n >= 0 && q != NULL && m != NULL && at != NULL,                                           \
         pli_record_do_get_status_some(&call, n, q, m, at, s))                                     \
    DONE(prefix, Parrived, (MPI_Request q, int partition, int *flag), (q, partition, flag),        \
         flag != NULL, pli_record_do_parrived(&call, q, partition, flag))                          \
    DONE(prefix, Win_test, (MPI_Win win, int *flag), (win, flag), flag != NULL,                    \
         pli_record_do_win_test(&call, win, flag))

// The request of a wildcard receive, or NULL.
static struct pli_record_request *find(const struct pli_record_call *call, const MPI_Request *q)
{
    return q != NULL ? pli_record_find(call->stream, *q) : NULL;
}

static int start(const struct pli_record_call *call, MPI_Request *q)
{
    struct pli_record_request *r = find(call, q);
    if (r != NULL && r->is_persistent && !r->is_active) {
        pli_record_start(call, r);
        if (r->has_other) {
            return MPI_SUCCESS;
        }
    }
    return pli_record_mpi.Start(q);
}

static int start_all(const struct pli_record_call *call, int n, MPI_Request *q)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = start(call, &q[i]);
    }
    return err;
}

static int free_request(const struct pli_record_call *call, MPI_Request *q)
{
    if (find(call, q) == NULL) {
        return pli_record_mpi.Request_free(q);
    }
    pli_record_free_request(call, q);
    return MPI_SUCCESS;
}

// Replay cancels what was cancelled: a receive that received something is left to receive it.
static int cancel(const struct pli_record_call *call, MPI_Request *q)
{
    struct pli_record_request *r = find(call, q);
    bool is_known = r != NULL && pli_record_is_forced(call) &&
                    pli_record_outcomes_find(&call->stream->outcomes, r->number) > 0;
    if (is_known || (r != NULL && r->is_deferred)) {
        return MPI_SUCCESS;
    }
    return pli_record_mpi.Cancel(r != NULL && r->has_other && r->is_active ? &r->under_way : q);
}

#define ATTACH(prefix, name, params, args)                                                         \
    DEFINE(prefix, name, params)                                                                   \
    {                                                                                              \
        int err = pli_record_pass(is_std)->name args;                                              \
        if (err == MPI_SUCCESS) {                                                                  \
            pli_record_attached(is_std, comm);                                                     \
        }                                                                                          \
        return err;                                                                                \
    }

#define ATTACHES(prefix)                                                                           \
    ATTACH(prefix, Comm_attach, (MPI_Comm comm), (comm))                                           \
    ATTACH(prefix, Comm_endpoint_attach, (MPI_Comm comm, int index), (comm, index))

#define LIVES(prefix)                                                                              \
    DONE(prefix, Start, (MPI_Request * q), (q), q != NULL, start(&call, q))                        \
    DONE(prefix, Startall, (int n, MPI_Request q[]), (n, q), n >= 0 && q != NULL,                  \
         start_all(&call, n, q))                                                                   \
    DONE(prefix, Request_free, (MPI_Request * q), (q), q != NULL, free_request(&call, q))          \
    DONE(prefix, Cancel, (MPI_Request * q), (q), q != NULL, cancel(&call, q))                      \
    DEFINE(prefix, Init, (int *argc, char ***argv))                                                \
    {                                                                                              \
        ENTER(Init, NULL)                                                                          \
        int err = next->Init(argc, argv);                                                          \
        return begun(err, is_seen, "MPI_Init", __builtin_return_address(0));                       \
    }                                                                                              \
    DEFINE(prefix, Init_thread, (int *argc, char ***argv, int required, int *provided))            \
    {                                                                                              \
        ENTER(Init_thread, NULL)                                                                   \
        int err = next->Init_thread(argc, argv, required, provided);                               \
        return begun(err, is_seen, "MPI_Init_thread", __builtin_return_address(0));                \
    }                                                                                              \
    DEFINE(prefix, Init_endpoints,                                                                 \
           (int *argc, void *argv, int count, int required, int *provided))                        \
    {                                                                                              \
        ENTER(Init_endpoints, NULL)                                                                \
        int err = next->Init_endpoints(argc, argv, count, required, provided);                     \
        return begun(err, is_seen, "MPI_Init_endpoints", __builtin_return_address(0));             \
    }                                                                                              \
    DEFINE(prefix, Session_init,                                                                   \
           (MPI_Info info, MPI_Errhandler errhandler, MPI_Session * session))                      \
    {                                                                                              \
        ENTER(Session_init, NULL)                                                                  \
        int err = next->Session_init(info, errhandler, session);                                   \
        return begun(err, is_seen, "MPI_Session_init", __builtin_return_address(0));               \
    }                                                                                              \
    DEFINE(prefix, Session_finalize, (MPI_Session * session))                                      \
    {                                                                                              \
        ENTER(Session_finalize, NULL)                                                              \
        if (is_seen) {                                                                             \
            pli_record_finalize("MPI_Session_finalize", __builtin_return_address(0), false);       \
        }                                                                                          \
        return next->Session_finalize(session);                                                    \
    }                                                                                              \
    DEFINE(prefix, Finalize, (void))                                                               \
    {                                                                                              \
        ENTER(Finalize, NULL)                                                                      \
        if (is_seen) {                                                                             \
            pli_record_finalize("MPI_Finalize", __builtin_return_address(0), true);                \
        }                                                                                          \
        return next->Finalize();                                                                   \
    }                                                                                              \
    DEFINE(prefix, Fork, (int m))                                                                  \
    {                                                                                              \
        ENTER(Fork, NULL)                                                                          \
        return forked(is_seen, next->Fork(m));                                                     \
    }                                                                                              \
    int prefix##MPIX_Fork_with_info(int m, MPI_Info info);                                         \
    int prefix##MPIX_Fork_with_info(int m, MPI_Info info)                                          \
    {                                                                                              \
        ENTER(Fork, NULL)                                                                          \
        (void)next;                                                                                \
        return forked(is_seen, pli_record_fork_with_info(m, info));                                \
    }

static int begun(int err, bool is_seen, const char *name, void *site)
{
    if (err == MPI_SUCCESS && !is_seen) {
        pli_record_initialized(name, site);
        if (strncmp(name, "MPI_Init", 8) == 0) { // a session has no MPI_COMM_SELF
            pli_record_make_quiet();
        }
    }
    return err;
}

static int forked(bool is_seen, int n_or_error)
{
    if (is_seen && n_or_error == 0) {
        pli_record_forked();
    }
    return n_or_error;
}

#define ALL(prefix)                                                                                \
    SIZED(prefix, , int)                                                                           \
    SIZED(prefix, _c, MPI_Count)                                                                   \
    PROBES(prefix)                                                                                 \
    COMPLETIONS(prefix)                                                                            \
    ATTACHES(prefix)                                                                               \
    LIVES(prefix)

#define is_std false
ALL()
int MPIX_Fork(int m) __attribute__((alias("MPI_Fork")));
int MPIX_Comm_attach(MPI_Comm comm) __attribute__((alias("MPI_Comm_attach")));
int MPIX_Comm_endpoint_attach(MPI_Comm comm, int index)
    __attribute__((alias("MPI_Comm_endpoint_attach")));
#undef is_std
#define is_std true
ALL(pli_std_)
