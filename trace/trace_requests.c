// SPDX-License-Identifier: BSD-3-Clause
// Waits and tests: which requests they completed, and whom the time was spent waiting for. And what
// frees a handle without being recorded.
#include "trace/trace_sample.h"

#include <stdlib.h>
#include <string.h>

enum { N_NEAR = 64 }; // requests whose copies fit on the stack

struct completed {
    int n;
    MPI_Request *handles;
    MPI_Status *statuses;
};

// Copies of handles, because the call sets them to null; statuses, where the program wants none.
struct batch {
    struct completed of;
    MPI_Request near_handles[N_NEAR];
    MPI_Status near_statuses[N_NEAR];
};

static void open_batch(struct batch *b, int n, const MPI_Request *requests, MPI_Status *statuses)
{
    b->of.n = n > 0 && requests != NULL ? n : 0;
    bool is_near = b->of.n <= N_NEAR;
    b->of.handles = is_near ? b->near_handles : malloc((size_t)b->of.n * sizeof *b->of.handles);
    bool is_own = statuses == MPI_STATUSES_IGNORE;
    b->of.statuses = !is_own   ? statuses
                     : is_near ? b->near_statuses
                               : malloc((size_t)b->of.n * sizeof *b->of.statuses);
    if (b->of.handles == NULL || b->of.statuses == NULL) {
        b->of.n = 0; // the call goes on, and its requests are not followed
        b->of.statuses = statuses;
        return;
    }
    if (b->of.n > 0) {
        memcpy(b->of.handles, requests, (size_t)b->of.n * sizeof *requests);
    }
}

static void close_batch(struct batch *b, const MPI_Status *statuses)
{
    if (b->of.handles != b->near_handles) {
        free(b->of.handles);
    }
    if (b->of.statuses != b->near_statuses && b->of.statuses != statuses) {
        free(b->of.statuses);
    }
}

// One request became complete.
static void complete(struct pli_trace_thread *self, MPI_Request handle, const MPI_Status *status,
                     uint64_t begin, uint64_t end, uint64_t share, uint32_t site)
{
    struct pli_trace_request *r = handle != MPI_REQUEST_NULL ? pli_trace_find(self, handle) : NULL;
    if (r == NULL) {
        return;
    }
    pli_trace_blame(self, r, status, share);
    struct pli_trace_event e = {
        .begin = begin,
        .end = end,
        .function = r->function,
        .kind = PLI_TRACE_EVENT_COMPLETE,
        .flags = r->flags,
        .site = (uint16_t)site,
        .peer = r->peer,
        .peer_ep = r->peer_ep,
        .source = PLI_TRACE_NOBODY,
        .tag = r->tag,
        .number = r->number,
        .request = r->serial,
        .bytes = r->bytes,
        .context = r->context,
    };
    pli_trace_put(self, &e);
    pli_trace_forget(self, r);
}

static void put_call(struct pli_trace_thread *self, enum pli_trace_fn function, uint64_t begin,
                     uint64_t end, uint32_t site)
{
    struct pli_trace_event e = {
        .begin = begin,
        .end = end,
        .function = (uint16_t)function,
        .site = (uint16_t)site,
        .peer = PLI_TRACE_NOBODY,
        .source = PLI_TRACE_NOBODY,
    };
    pli_trace_put(self, &e);
}

// The calls of which most are counted only: those for one request, and MPI_Waitall.
static void sample(struct pli_trace_thread *self, enum pli_trace_fn function, const void *site,
                   uint32_t at, uint64_t begin, uint64_t end, const struct completed *b)
{
    enum pli_trace_kind kind = function == PLI_TRACE_FN_Wait      ? PLI_TRACE_KIND_Wait
                               : function == PLI_TRACE_FN_Test    ? PLI_TRACE_KIND_Test
                               : function == PLI_TRACE_FN_Waitall ? PLI_TRACE_KIND_Waitall
                                                                  : PLI_TRACE_KIND_NONE;
    if (kind == PLI_TRACE_KIND_NONE) {
        return;
    }
    const struct pli_trace_request *r = b->n > 0 ? pli_trace_find(self, b->handles[0]) : NULL;
    struct pli_trace_args a = { .function = function,
                                .site = site,
                                .count = b->n,
                                .kind = kind,
                                .is_wait = function != PLI_TRACE_FN_Test };
    struct pli_trace_event e = { .begin = begin,
                                 .end = end,
                                 .site = (uint16_t)at,
                                 .peer = r != NULL ? r->peer : PLI_TRACE_NOBODY,
                                 .peer_ep = r != NULL ? r->peer_ep : 0 };
    pli_trace_sample_timed(self, &a, &e);
}

// What all of them do behind the call: n requests, by their places in the batch or all.
static void finish(struct pli_trace_thread *self, enum pli_trace_fn function, const void *site,
                   uint64_t begin, const struct completed *b, int n, const int *places)
{
    uint64_t end = pli_trace_ticks();
    begin = pli_trace_since(self, begin, end);
    struct pli_trace_site *s = pli_trace_count(self, function, site, begin, end);
    uint32_t at = (uint32_t)(s - self->slot->sites);
    sample(self, function, site, at, begin, end, b);
    if (n <= 0) {
        return;
    }
    // The events of what was completed come before that of the call.
    uint64_t share = (end - begin) / (uint64_t)n;
    for (int i = 0; i < n; i++) {
        int k = places != NULL ? places[i] : i;
        if (k >= 0 && k < b->n) {
            complete(self, b->handles[k], &b->statuses[i], begin, end, share, at);
        }
    }
    put_call(self, function, begin, end, at);
}

static inline struct pli_trace_sampled *
begin_sampled(struct pli_trace_thread *self, const void *site, enum pli_trace_kind kind, int n)
{
    uint64_t key = pli_trace_sample_key(site, kind, true);
    return self != NULL ? pli_trace_sample_begin(self, key, NULL, NULL, (uint32_t)n, 0) : NULL;
}

// Ends a call that was not timed. Long ones were, from when they became so on.
static inline void finish_sampled(struct pli_trace_thread *self, struct pli_trace_sampled *q,
                                  const struct completed *b, int n)
{
    if (!pli_trace_sample_end(self)) {
        uint64_t begin = pli_trace_sample_long(self);
        finish(self, (enum pli_trace_fn)self->slot->sites[q->site].function,
               (const void *)(uintptr_t)q->address, begin, b, n, NULL);
    }
}

typedef int wait_function(MPI_Request *request, MPI_Status *status);
typedef int test_function(MPI_Request *request, int *flag, MPI_Status *status);
typedef int waitall_function(int n, MPI_Request requests[], MPI_Status statuses[]);

// False: the call is to be timed.
static inline bool wait_sampled(struct pli_trace_thread *self, const void *site,
                                wait_function *next, MPI_Request *request, MPI_Status *status,
                                int *err_out)
{
    struct pli_trace_sampled *q =
        request != NULL ? begin_sampled(self, site, PLI_TRACE_KIND_Wait, 1) : NULL;
    if (q == NULL) {
        return false;
    }
    MPI_Request handle = *request;
    MPI_Status own;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    *err_out = next(request, status);
    finish_sampled(self, q, &(struct completed){ 1, &handle, status }, *err_out == MPI_SUCCESS);
    return true;
}

static inline bool test_sampled(struct pli_trace_thread *self, const void *site,
                                test_function *next, MPI_Request *request, int *flag,
                                MPI_Status *status, int *err_out)
{
    struct pli_trace_sampled *q =
        request != NULL && flag != NULL ? begin_sampled(self, site, PLI_TRACE_KIND_Test, 1) : NULL;
    if (q == NULL) {
        return false;
    }
    *err_out = next(request, flag, status);
    finish_sampled(self, q, &(struct completed){ 0 }, 0);
    return true;
}

static inline bool waitall_sampled(struct pli_trace_thread *self, const void *site,
                                   waitall_function *next, int n, MPI_Request *requests,
                                   MPI_Status *statuses, int *err_out)
{
    struct pli_trace_sampled *q = begin_sampled(self, site, PLI_TRACE_KIND_Waitall, n);
    if (q == NULL) {
        return false;
    }
    struct batch b;
    open_batch(&b, n, requests, statuses);
    *err_out = next(n, requests, b.of.statuses);
    finish_sampled(self, q, &b.of, *err_out == MPI_SUCCESS ? b.of.n : 0);
    close_batch(&b, statuses);
    return true;
}

#define ENTER(name, enter)                                                                         \
    void *site = __builtin_return_address(0);                                                      \
    struct pli_trace_thread *self = enter(&site, __builtin_frame_address(0));
#define SELF(site) pli_trace_enter_sampled(site, __builtin_frame_address(0))
#define SELF_STD(site) pli_trace_enter_sampled_std(site)
#define BEGIN(name) uint64_t begin = pli_trace_begin(self, PLI_TRACE_FN_##name);
#define NEXT(table, name, ...) ((int (*)(__VA_ARGS__))table[PLI_TRACE_SYM_##name])

// Each is there twice: for programs of the standard ABI, and for our libraries of other ABIs.
#define BOTH(enter, self_of, table, prefix)                                                        \
    int prefix##MPI_Wait(MPI_Request *request, MPI_Status *status);                                \
    int prefix##MPI_Wait(MPI_Request *request, MPI_Status *status)                                 \
    {                                                                                              \
        int sampled_err;                                                                           \
        void *site = __builtin_return_address(0);                                                  \
        struct pli_trace_thread *thread = self_of(&site);                                          \
        if (wait_sampled(thread, site, NEXT(table, Wait, MPI_Request *, MPI_Status *), request,    \
                         status, &sampled_err)) {                                                  \
            return sampled_err;                                                                    \
        }                                                                                          \
        struct pli_trace_thread *self = enter(&site, __builtin_frame_address(0));                  \
        int (*next)(MPI_Request *, MPI_Status *) = NEXT(table, Wait, MPI_Request *, MPI_Status *); \
        if (self == NULL || request == NULL) {                                                     \
            return next(request, status);                                                          \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, 1, request, status);                                                        \
        BEGIN(Wait)                                                                                \
        int err = next(request, b.of.statuses);                                                    \
        finish(self, PLI_TRACE_FN_Wait, site, begin, &b.of, err == MPI_SUCCESS ? 1 : 0, NULL);     \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);                     \
    int prefix##MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)                      \
    {                                                                                              \
        int sampled_err;                                                                           \
        void *site = __builtin_return_address(0);                                                  \
        struct pli_trace_thread *thread = self_of(&site);                                          \
        if (test_sampled(thread, site, NEXT(table, Test, MPI_Request *, int *, MPI_Status *),      \
                         request, flag, status, &sampled_err)) {                                   \
            return sampled_err;                                                                    \
        }                                                                                          \
        struct pli_trace_thread *self = enter(&site, __builtin_frame_address(0));                  \
        int (*next)(MPI_Request *, int *, MPI_Status *) =                                          \
            NEXT(table, Test, MPI_Request *, int *, MPI_Status *);                                 \
        if (self == NULL || request == NULL || flag == NULL) {                                     \
            return next(request, flag, status);                                                    \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, 1, request, status);                                                        \
        BEGIN(Test)                                                                                \
        int err = next(request, flag, b.of.statuses);                                              \
        finish(self, PLI_TRACE_FN_Test, site, begin, &b.of, err == MPI_SUCCESS && *flag, NULL);    \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]);                 \
    int prefix##MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])                  \
    {                                                                                              \
        int sampled_err;                                                                           \
        void *site = __builtin_return_address(0);                                                  \
        struct pli_trace_thread *thread = self_of(&site);                                          \
        if (waitall_sampled(thread, site, NEXT(table, Waitall, int, MPI_Request *, MPI_Status *),  \
                            n, requests, statuses, &sampled_err)) {                                \
            return sampled_err;                                                                    \
        }                                                                                          \
        struct pli_trace_thread *self = enter(&site, __builtin_frame_address(0));                  \
        int (*next)(int, MPI_Request *, MPI_Status *) =                                            \
            NEXT(table, Waitall, int, MPI_Request *, MPI_Status *);                                \
        if (self == NULL) {                                                                        \
            return next(n, requests, statuses);                                                    \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, statuses);                                                     \
        BEGIN(Waitall)                                                                             \
        int err = next(n, requests, b.of.statuses);                                                \
        finish(self, PLI_TRACE_FN_Waitall, site, begin, &b.of, err == MPI_SUCCESS ? b.of.n : 0,    \
               NULL);                                                                              \
        close_batch(&b, statuses);                                                                 \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[]);      \
    int prefix##MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])       \
    {                                                                                              \
        ENTER(Testall, enter)                                                                      \
        int (*next)(int, MPI_Request *, int *, MPI_Status *) =                                     \
            NEXT(table, Testall, int, MPI_Request *, int *, MPI_Status *);                         \
        if (self == NULL || flag == NULL) {                                                        \
            return next(n, requests, flag, statuses);                                              \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, statuses);                                                     \
        BEGIN(Testall)                                                                             \
        int err = next(n, requests, flag, b.of.statuses);                                          \
        finish(self, PLI_TRACE_FN_Testall, site, begin, &b.of,                                     \
               err == MPI_SUCCESS && *flag ? b.of.n : 0, NULL);                                    \
        close_batch(&b, statuses);                                                                 \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status);        \
    int prefix##MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)         \
    {                                                                                              \
        ENTER(Waitany, enter)                                                                      \
        int (*next)(int, MPI_Request *, int *, MPI_Status *) =                                     \
            NEXT(table, Waitany, int, MPI_Request *, int *, MPI_Status *);                         \
        if (self == NULL || index == NULL) {                                                       \
            return next(n, requests, index, status);                                               \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, status);                                                       \
        BEGIN(Waitany)                                                                             \
        int err = next(n, requests, index, b.of.statuses);                                         \
        finish(self, PLI_TRACE_FN_Waitany, site, begin, &b.of, err == MPI_SUCCESS ? 1 : 0, index); \
        close_batch(&b, status);                                                                   \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Testany(int n, MPI_Request requests[], int *index, int *flag,                  \
                            MPI_Status *status);                                                   \
    int prefix##MPI_Testany(int n, MPI_Request requests[], int *index, int *flag,                  \
                            MPI_Status *status)                                                    \
    {                                                                                              \
        ENTER(Testany, enter)                                                                      \
        int (*next)(int, MPI_Request *, int *, int *, MPI_Status *) =                              \
            NEXT(table, Testany, int, MPI_Request *, int *, int *, MPI_Status *);                  \
        if (self == NULL || index == NULL || flag == NULL) {                                       \
            return next(n, requests, index, flag, status);                                         \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, status);                                                       \
        BEGIN(Testany)                                                                             \
        int err = next(n, requests, index, flag, b.of.statuses);                                   \
        finish(self, PLI_TRACE_FN_Testany, site, begin, &b.of, err == MPI_SUCCESS && *flag,        \
               index);                                                                             \
        close_batch(&b, status);                                                                   \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Waitsome(int n, MPI_Request requests[], int *outcount, int indices[],          \
                             MPI_Status statuses[]);                                               \
    int prefix##MPI_Waitsome(int n, MPI_Request requests[], int *outcount, int indices[],          \
                             MPI_Status statuses[])                                                \
    {                                                                                              \
        ENTER(Waitsome, enter)                                                                     \
        int (*next)(int, MPI_Request *, int *, int *, MPI_Status *) =                              \
            NEXT(table, Waitsome, int, MPI_Request *, int *, int *, MPI_Status *);                 \
        if (self == NULL || outcount == NULL) {                                                    \
            return next(n, requests, outcount, indices, statuses);                                 \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, statuses);                                                     \
        BEGIN(Waitsome)                                                                            \
        int err = next(n, requests, outcount, indices, b.of.statuses);                             \
        finish(self, PLI_TRACE_FN_Waitsome, site, begin, &b.of,                                    \
               err == MPI_SUCCESS ? *outcount : 0, indices);                                       \
        close_batch(&b, statuses);                                                                 \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Testsome(int n, MPI_Request requests[], int *outcount, int indices[],          \
                             MPI_Status statuses[]);                                               \
    int prefix##MPI_Testsome(int n, MPI_Request requests[], int *outcount, int indices[],          \
                             MPI_Status statuses[])                                                \
    {                                                                                              \
        ENTER(Testsome, enter)                                                                     \
        int (*next)(int, MPI_Request *, int *, int *, MPI_Status *) =                              \
            NEXT(table, Testsome, int, MPI_Request *, int *, int *, MPI_Status *);                 \
        if (self == NULL || outcount == NULL) {                                                    \
            return next(n, requests, outcount, indices, statuses);                                 \
        }                                                                                          \
        struct batch b;                                                                            \
        open_batch(&b, n, requests, statuses);                                                     \
        BEGIN(Testsome)                                                                            \
        int err = next(n, requests, outcount, indices, b.of.statuses);                             \
        finish(self, PLI_TRACE_FN_Testsome, site, begin, &b.of,                                    \
               err == MPI_SUCCESS ? *outcount : 0, indices);                                       \
        close_batch(&b, statuses);                                                                 \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Start(MPI_Request *request);                                                   \
    int prefix##MPI_Start(MPI_Request *request)                                                    \
    {                                                                                              \
        ENTER(Start, enter)                                                                        \
        int (*next)(MPI_Request *) = NEXT(table, Start, MPI_Request *);                            \
        if (self == NULL || request == NULL) {                                                     \
            return next(request);                                                                  \
        }                                                                                          \
        BEGIN(Start)                                                                               \
        int err = next(request);                                                                   \
        start(self, PLI_TRACE_FN_Start, site, begin, 1, request);                                  \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Startall(int n, MPI_Request requests[]);                                       \
    int prefix##MPI_Startall(int n, MPI_Request requests[])                                        \
    {                                                                                              \
        ENTER(Startall, enter)                                                                     \
        int (*next)(int, MPI_Request *) = NEXT(table, Startall, int, MPI_Request *);               \
        if (self == NULL || requests == NULL) {                                                    \
            return next(n, requests);                                                              \
        }                                                                                          \
        BEGIN(Startall)                                                                            \
        int err = next(n, requests);                                                               \
        start(self, PLI_TRACE_FN_Startall, site, begin, n, requests);                              \
        return err;                                                                                \
    }                                                                                              \
    int prefix##MPI_Request_free(MPI_Request *request);                                            \
    int prefix##MPI_Request_free(MPI_Request *request)                                             \
    {                                                                                              \
        ENTER(Request_free, enter)                                                                 \
        int (*next)(MPI_Request *) = NEXT(table, Request_free, MPI_Request *);                     \
        struct pli_trace_request *r =                                                              \
            self != NULL && request != NULL ? pli_trace_find(self, *request) : NULL;               \
        if (r != NULL) {                                                                           \
            r->handle = NULL;                                                                      \
        }                                                                                          \
        (void)site;                                                                                \
        return next(request);                                                                      \
    }                                                                                              \
    int prefix##MPI_Type_free(MPI_Datatype *datatype);                                             \
    int prefix##MPI_Type_free(MPI_Datatype *datatype)                                              \
    {                                                                                              \
        ENTER(Type_free, enter)                                                                    \
        (void)site;                                                                                \
        if (datatype != NULL) {                                                                    \
            pli_trace_change(self, *datatype);                                                     \
        }                                                                                          \
        return NEXT(table, Type_free, MPI_Datatype *)(datatype);                                   \
    }

// Persistent requests that begin again are posted anew.
static void start(struct pli_trace_thread *self, enum pli_trace_fn function, const void *site,
                  uint64_t begin, int n, const MPI_Request *requests)
{
    uint64_t end = pli_trace_ticks();
    begin = pli_trace_since(self, begin, end);
    struct pli_trace_site *s = pli_trace_count(self, function, site, begin, end);
    uint32_t at = (uint32_t)(s - self->slot->sites);
    for (int i = 0; i < n; i++) {
        struct pli_trace_request *r = pli_trace_find(self, requests[i]);
        if (r == NULL) {
            continue;
        }
        r->serial = ++self->n_serial;
        struct pli_trace_event e = {
            .begin = begin,
            .end = end,
            .function = (uint16_t)function,
            .flags = (uint8_t)(r->flags | PLI_TRACE_POSTED),
            .site = (uint16_t)at,
            .peer = r->peer,
            .peer_ep = r->peer_ep,
            .source = PLI_TRACE_NOBODY,
            .tag = r->tag,
            .request = r->serial,
            .bytes = r->bytes,
            .context = r->context,
        };
        pli_trace_put(self, &e);
    }
}

BOTH(pli_trace_enter, SELF, pli_trace_next, )
BOTH(pli_trace_enter_std, SELF_STD, pli_trace_next_std, pli_std_)
