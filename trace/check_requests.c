// SPDX-License-Identifier: BSD-3-Clause
// Requests under way: their buffers must not be changed, freed or used twice, and each must be
// completed.
#include "trace/check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N_BUCKET = 1024, N_SCAN = 256, N_NEAR = 64 };

static struct pli_check_request *buckets[N_BUCKET], *newest;
_Atomic int pli_check_n_active;

static unsigned hash(MPI_Request handle)
{
    return (unsigned)(((uintptr_t)handle * 0x9e3779b97f4a7c15u) >> 40) % N_BUCKET;
}

static struct pli_check_request *find(MPI_Request handle)
{
    struct pli_check_request *r = handle != MPI_REQUEST_NULL ? buckets[hash(handle)] : NULL;
    while (r != NULL && r->handle != handle) {
        r = r->next;
    }
    return r;
}

static void activate(struct pli_check_request *r)
{
    r->is_active = true;
    r->newer = NULL;
    r->older = newest;
    if (newest != NULL) {
        newest->newer = r;
    }
    newest = r;
    pli_check_n_active++;
}

static void deactivate(struct pli_check_request *r)
{
    if (!r->is_active) {
        return;
    }
    r->is_active = false;
    if (r->newer != NULL) {
        r->newer->older = r->older;
    } else {
        newest = r->older;
    }
    if (r->older != NULL) {
        r->older->newer = r->newer;
    }
    pli_check_n_active--;
}

static void unlink_request(struct pli_check_request *r)
{
    struct pli_check_request **at = &buckets[hash(r->handle)];
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
}

static void forget(struct pli_check_request *r)
{
    if (!r->is_replaced) {
        unlink_request(r);
    }
    deactivate(r);
    pli_check_receive_destroy(r->receive);
    r->receive = NULL;
    free(r->part_sums);
    r->part_sums = NULL;
    pli_check_parts_forget(r->parts);
    r->parts = NULL;
    r->is_replaced = r->is_forgotten = true; // no handle leads to it
    if (r->n_call == 0) {
        free(r);
    }
}

void pli_check_request_overlap(const struct pli_check_call *call, const char *begin, size_t n,
                               bool is_recv)
{
    int i = 0;
    for (const struct pli_check_request *r = newest; r != NULL && i < N_SCAN; r = r->older, i++) {
        bool is_conflict =
            r->n > 0 && (is_recv || r->is_recv) && r->begin < begin + n && begin < r->begin + r->n;
        if (is_conflict) {
            const char *kind = !is_recv     ? "send-overlap"
                               : r->is_recv ? "receive-overlap"
                                            : "receive-into-send";
            pli_check_say(kind, call->site, pli_line_place(r->site),
                          "the buffer of %s at %s overlaps that of %s at %s, which is under way; "
                          "complete it first, or use another buffer",
                          pli_check_name(call->function), pli_line_of(call->site),
                          pli_check_name(r->function), pli_line_of(r->site));
            return;
        }
    }
}

void pli_check_request_watch(struct pli_check_call *call, const void *buf, MPI_Count count,
                             MPI_Datatype type, bool is_into)
{
    struct pli_check_memory *m = call->memory;
    pli_check_lock();
    if (pli_check_range(buf, count, type, &m->begin, &m->n)) {
        m->is_into = is_into;
        call->sum = is_into || call->request == NULL ? 0 : pli_check_sum(m->begin, m->n);
        pli_check_request_overlap(call, m->begin, m->n, is_into);
    } else {
        m->n = 0;
    }
    pli_check_unlock();
}

void pli_check_request_freed(const void *begin, size_t n, const void *site, const char *kind)
{
    int i = 0;
    if (!pli_check_try_lock()) { // the loader frees with its own lock held, for which others wait
        return;
    }
    for (struct pli_check_request *r = newest; r != NULL && i < N_SCAN; r = r->older, i++) {
        if (r->n > 0 && r->begin < (const char *)begin + n &&
            (const char *)begin < r->begin + r->n) {
            r->n = 0; // it cannot be read any more
            pli_check_receive_freed(r->receive);
            const void *maker = r->site;
            enum pli_check_fn function = r->function;
            pli_check_unlock();
            bool is_free = kind[0] == 'f';
            pli_check_say(kind, site, pli_line_place(maker),
                          "%s at %s %s the buffer of %s at %s, which is under way; complete the "
                          "request first",
                          is_free ? "free" : "munmap", pli_line_of(site),
                          is_free ? "frees" : "gives back", pli_check_name(function),
                          pli_line_of(maker));
            return;
        }
    }
    pli_check_unlock();
}

// Context: locked.
void pli_check_request_keep(struct pli_check_call *call, bool is_send, bool is_recv,
                            bool is_persistent)
{
    if (*call->request == MPI_REQUEST_NULL) {
        pli_check_receive_destroy(call->receive);
        pli_check_parts_forget(call->parts);
        return;
    }
    struct pli_check_request *r = find(*call->request);
    if (r != NULL && r->is_active && r->n_call > 0) {
        unlink_request(r);
        r->is_replaced = true;
    } else if (r != NULL) { // completed in a way that is not seen here
        forget(r);
    }
    r = calloc(1, sizeof *r);
    if (r == NULL && call->receive != NULL) {
        abort(); // the data would never reach the program
    } else if (r == NULL) {
        pli_check_parts_forget(call->parts);
        return;
    }
    r->handle = *call->request;
    r->function = call->function;
    r->site = call->site;
    r->comm = call->comm;
    r->is_send = is_send;
    r->is_recv = is_recv;
    r->is_persistent = is_persistent;
    r->posted = call->posted;
    r->parts = call->parts;
    r->receive = call->receive;
    r->call = *call;
    r->sum = call->sum;
    if (is_send != is_recv) {
        const void *buf = is_send ? call->sendbuf : call->recvbuf;
        bool has = pli_check_range(buf, is_send ? call->sendcount : call->recvcount,
                                   is_send ? call->sendtype : call->recvtype, &r->begin, &r->n);
        r->n = has ? r->n : 0;
    } else if (call->memory != NULL && call->memory->n > 0) {
        const struct pli_check_memory *m = call->memory;
        r->begin = m->begin;
        r->n = m->n;
        r->n_part = m->n_part;
        r->is_recv = m->is_into;
        r->is_send = !m->is_into;
        if (r->is_send && r->n_part > 0) {
            r->part_sums = calloc((size_t)r->n_part, sizeof *r->part_sums);
        }
    }
    r->next = buckets[hash(r->handle)];
    buckets[hash(r->handle)] = r;
    if (!is_persistent) {
        activate(r);
        pli_check_receive_guard(r->receive);
    }
}

// Memory that was given back to the system cannot be read.
bool pli_check_is_mapped(const char *p, size_t n)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p & ~(page - 1);
    return n < 65536 || msync((void *)from, (uintptr_t)p + n - from, MS_ASYNC) == 0;
}

static uint64_t sum_of_part(const struct pli_check_request *r, int i)
{
    size_t each = r->n / (size_t)r->n_part;
    return pli_check_sum(r->begin + (size_t)i * each, each);
}

void pli_check_request_marked(const struct pli_check_call *call)
{
    const struct pli_check_memory *m = call->memory;
    pli_check_lock();
    struct pli_check_request *r = find(m->marked);
    for (int k = 0; r != NULL && r->part_sums != NULL && r->n > 0 && k < m->n_part; k++) {
        int i = m->parts != NULL ? m->parts[k] : m->part + k;
        if (r->is_active && i >= 0 && i < r->n_part) {
            r->part_sums[i] = sum_of_part(r, i);
        }
    }
    pli_check_unlock();
}

// Whether partitions are what they were when they were marked; a next round begins.
static bool has_same_parts(struct pli_check_request *r)
{
    bool is_same = true;
    for (int i = 0; r->part_sums != NULL && i < r->n_part; i++) {
        is_same &= r->part_sums[i] == 0 || r->part_sums[i] == sum_of_part(r, i);
        r->part_sums[i] = 0;
    }
    return is_same;
}

static void check_unchanged(struct pli_check_request *r, const void *site)
{
    bool is_kept = r->is_send && !r->is_recv && r->n > 0 && (r->sum != 0 || r->part_sums != NULL);
    if (!is_kept) {
        return;
    }
    if (!pli_check_is_mapped(r->begin, r->n)) {
        pli_check_say("unmapped", r->site, 0,
                      "the buffer of %s at %s was given back to the system before %s completed it",
                      pli_check_name(r->function), pli_line_of(r->site), pli_line_of(site));
    } else if (r->part_sums != NULL ? !has_same_parts(r)
                                    : pli_check_sum(r->begin, r->n) != r->sum) {
        pli_check_say("changed", r->site, pli_line_place(site),
                      "the buffer of %s at %s was changed before the request was completed at %s; "
                      "wait first, then write",
                      pli_check_name(r->function), pli_line_of(r->site), pli_line_of(site));
    }
}

static void complete(struct pli_check_request *r, const MPI_Status *status, int err,
                     const void *site)
{
    int is_cancelled = 0;
    if (r == NULL || !r->is_active) {
        return;
    }
    check_unchanged(r, site);
    if (r->is_send && !r->is_recv && r->call.has_sent && err == MPI_SUCCESS) {
        pli_check_lib.test_cancelled(status, &is_cancelled);
        if (is_cancelled != 0) {
            pli_check_p2p_unsent(&r->call);
        }
    }
    pli_check_receive_deliver(r->receive, status, err, site);
    if (r->posted != NULL) {
        pli_check_p2p_received(r->comm, r->posted, status, err);
        r->posted = NULL;
    }
    if (r->parts != NULL) {
        pli_check_parts_received(r->comm, r->parts, err);
        r->parts = NULL;
    }
    if (r->is_persistent) {
        deactivate(r);
    } else {
        forget(r);
    }
}

void pli_check_request_end(const struct pli_check_call *call, int err)
{
    pli_check_lock();
    complete(find(*call->request), call->status, err, call->site);
    pli_check_unlock();
}

// Complete, but the request stays: the program may use the buffer from now on.
static void ready(struct pli_check_request *r, const MPI_Status *status, int err, const void *site)
{
    if (r != NULL && r->is_active) {
        pli_check_receive_deliver(r->receive, status, err, site);
        pli_check_receive_freed(r->receive);
    }
}

static void start(MPI_Request handle, void *site)
{
    struct pli_check_request *r = find(handle);
    if (r == NULL || !r->is_persistent || r->is_active) {
        return;
    }
    struct pli_check_call call = r->call;
    MPI_Request one = handle;
    call.site = site;
    call.request = &one;
    // As the nonblocking call of the same kind.
    static const enum pli_check_fn as[][2] = {
        { PLI_CHECK_FN_Send_init, PLI_CHECK_FN_Isend },
        { PLI_CHECK_FN_Ssend_init, PLI_CHECK_FN_Issend },
        { PLI_CHECK_FN_Bsend_init, PLI_CHECK_FN_Ibsend },
        { PLI_CHECK_FN_Rsend_init, PLI_CHECK_FN_Irsend },
        { PLI_CHECK_FN_Recv_init, PLI_CHECK_FN_Irecv },
    };
    for (size_t i = 0; i < sizeof as / sizeof as[0]; i++) {
        if (call.function == as[i][0]) {
            call.function = as[i][1];
            call.posted = NULL;
            pli_check_unlock();
            pli_check_p2p_begin(&call, r->is_send, r->is_recv);
            pli_check_lock();
            r->posted = call.posted;
            r->sum = call.sum;
            r->call.has_sent = call.has_sent;
            memcpy(r->call.sent, call.sent, sizeof r->call.sent);
        }
    }
    activate(r);
    pli_check_receive_guard(r->receive);
}

// Receives that the program has freed while they were under way: their data is handed over in the
// next call that finds it.
static struct pli_check_request *orphans;
static _Atomic int n_orphan;

static void adopt(struct pli_check_request *r)
{
    struct pli_check_request *o = malloc(sizeof *o);
    if (o == NULL) {
        abort(); // the data would never reach the program
    }
    *o = *r;
    pli_check_receive_open(o->receive); // the program has no call that would complete it
    o->next = orphans;
    orphans = o;
    n_orphan++;
    r->receive = NULL;
}

void pli_check_request_poll(void)
{
    if (atomic_load_explicit(&n_orphan, memory_order_relaxed) == 0) {
        return;
    }
    pli_check_lock();
    for (struct pli_check_request **at = &orphans, *o; (o = *at) != NULL;) {
        MPI_Status status = { 0 };
        int flag = 0;
        int err = pli_check_lib.test(&o->handle, &flag, &status);
        if (flag == 0 && err == MPI_SUCCESS) {
            at = &o->next;
            continue;
        }
        pli_check_receive_deliver(o->receive, &status, err, o->site);
        if (o->handle != MPI_REQUEST_NULL) {
            pli_check_lib.request_free(&o->handle);
        }
        *at = o->next;
        pli_check_receive_destroy(o->receive);
        free(o);
        n_orphan--;
    }
    pli_check_unlock();
}

// MPI_Request_free: the outcome of a receive will not be known. True: the checker frees it.
static bool lose(MPI_Request handle)
{
    struct pli_check_request *r = find(handle);
    if (r == NULL) {
        return false;
    }
    struct pli_check_comm *c = r->posted != NULL ? pli_check_comm_of(r->comm) : NULL;
    if (c != NULL && r->is_active) {
        c->is_lost = true;
    }
    bool is_kept = r->is_active && r->receive != NULL;
    if (is_kept) {
        adopt(r);
    }
    forget(r);
    return is_kept;
}

static void say_unfinished(const struct pli_check_request *r)
{
    const char *name = pli_check_name(r->function), *half = strstr(name, "_begin");
    if (r->is_persistent && !r->is_active) {
        pli_check_say("request-leak", r->site, 0,
                      "the persistent request of %s at %s was never freed; call MPI_Request_free",
                      name, pli_line_of(r->site));
    } else if (half != NULL) {
        pli_check_say("unfinished", r->site, 0, "%s at %s was never completed; call %.*s_end", name,
                      pli_line_of(r->site), (int)(half - name), name);
    } else {
        pli_check_say("unfinished", r->site, 0,
                      "the request of %s at %s was never completed; call MPI_Wait", name,
                      pli_line_of(r->site));
    }
}

void pli_check_request_finalize(void)
{
    for (int i = 0; i < N_BUCKET; i++) {
        for (const struct pli_check_request *r = buckets[i]; r != NULL; r = r->next) {
            say_unfinished(r);
        }
    }
}

// The requests, because the call sets handles to null and another thread may get the same ones; and
// statuses, where the program wants none.
struct batch {
    struct pli_check_call call;
    int n;
    bool is_kept; // MPI_Request_get_status: what is complete stays
    const MPI_Request *requests;
    struct pli_check_request **found;
    MPI_Status *statuses, *theirs;
    struct pli_check_request *near_found[N_NEAR];
    MPI_Status near_statuses[N_NEAR];
};

static void open_batch(struct batch *b, enum pli_check_fn function, void *site, int n,
                       const MPI_Request *requests, MPI_Status *statuses)
{
    b->call = (struct pli_check_call){ .function = function, .site = site };
    pli_check_begin(&b->call);
    b->n = n > 0 && requests != NULL ? n : 0;
    b->is_kept = false;
    b->requests = requests;
    bool is_near = b->n <= N_NEAR;
    b->theirs = statuses;
    b->found = is_near ? b->near_found : malloc((size_t)b->n * sizeof *b->found);
    b->statuses = statuses != MPI_STATUSES_IGNORE ? statuses
                  : is_near                       ? b->near_statuses
                                                  : malloc((size_t)b->n * sizeof *b->statuses);
    if (b->n > 0 && (b->found == NULL || b->statuses == NULL)) {
        abort(); // data that was received would not reach the program
    }
    pli_check_lock();
    for (int i = 0; i < b->n; i++) {
        b->found[i] = find(requests[i]);
        if (b->found[i] != NULL) {
            b->found[i]->n_call++;
        }
    }
    pli_check_unlock();
}

// Whether a request is as it was: of an error that says why it cannot be completed now the handle
// stays (a failed process, MPI_WORLD_RESIZED).
static bool is_undone(const struct batch *b, int k, int err)
{
    bool stays = b->requests[k] != MPI_REQUEST_NULL && b->found[k] != NULL &&
                 !b->found[k]->is_persistent && !b->is_kept;
    return err == MPI_ERR_PENDING || (err != MPI_SUCCESS && stays);
}

// n requests are complete, by their places or all of them from the first.
static int close_batch(struct batch *b, int n, const int *places, int err)
{
    bool is_each = err == MPI_ERR_IN_STATUS;
    int first = err;
    pli_check_lock();
    for (int i = 0; i < n && (first == MPI_SUCCESS || is_each || b->n == 1); i++) {
        int k = places != NULL ? places[i] : i;
        int own = is_each ? b->statuses[i].MPI_ERROR : first;
        if (is_each && b->theirs == MPI_STATUSES_IGNORE && err == MPI_ERR_IN_STATUS &&
            own != MPI_ERR_PENDING && own != MPI_SUCCESS) {
            err = own; // as without statuses
        }
        if (k < 0 || k >= b->n || is_undone(b, k, own)) {
            continue;
        }
        if (b->is_kept) {
            ready(b->found[k], &b->statuses[i], own, b->call.site);
        } else {
            complete(b->found[k], &b->statuses[i], own, b->call.site);
        }
    }
    for (int i = 0; i < b->n; i++) {
        struct pli_check_request *r = b->found[i];
        if (r != NULL && --r->n_call == 0 && r->is_forgotten) {
            free(r);
        }
    }
    pli_check_unlock();
    if (b->found != b->near_found) {
        free(b->found);
    }
    if (b->statuses != b->near_statuses && b->statuses != b->theirs) {
        free(b->statuses);
    }
    return pli_check_end(&b->call, err);
}

#define ENTER(is_std)                                                                              \
    void *site = __builtin_return_address(0);                                                      \
    bool is_seen = pli_check_enter(&site, __builtin_frame_address(0), is_std);                     \
    void **next = is_std ? pli_check_next_std : pli_check_next;
#define CALL(name, types, args) (((int(*) types)next[PLI_CHECK_SYM_##name])args)
#define DEFINE(prefix, name, types, params)                                                        \
    int prefix##MPI_##name params;                                                                 \
    int prefix##MPI_##name params

// Each is there twice: for programs of the standard ABI, and for our libraries of other ABIs.
#define BOTH(is_std, prefix)                                                                       \
    DEFINE(prefix, Wait, , (MPI_Request * q, MPI_Status * s))                                      \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || q == NULL) {                                                               \
            return CALL(Wait, (MPI_Request *, MPI_Status *), (q, s));                              \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Wait, site, 1, q, s);                                          \
        int err = CALL(Wait, (MPI_Request *, MPI_Status *), (q, b.statuses));                      \
        return close_batch(&b, 1, NULL, err);                                                      \
    }                                                                                              \
    DEFINE(prefix, Test, , (MPI_Request * q, int *flag, MPI_Status *s))                            \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || q == NULL || flag == NULL) {                                               \
            return CALL(Test, (MPI_Request *, int *, MPI_Status *), (q, flag, s));                 \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Test, site, 1, q, s);                                          \
        *flag = 0;                                                                                 \
        int err = CALL(Test, (MPI_Request *, int *, MPI_Status *), (q, flag, b.statuses));         \
        return close_batch(&b, *flag || err != MPI_SUCCESS, NULL, err);                            \
    }                                                                                              \
    DEFINE(prefix, Waitall, , (int n, MPI_Request q[], MPI_Status s[]))                            \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen) {                                                                            \
            return CALL(Waitall, (int, MPI_Request *, MPI_Status *), (n, q, s));                   \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Waitall, site, n, q, s);                                       \
        int err = CALL(Waitall, (int, MPI_Request *, MPI_Status *), (n, q, b.statuses));           \
        return close_batch(&b, b.n, NULL, err);                                                    \
    }                                                                                              \
    DEFINE(prefix, Testall, , (int n, MPI_Request q[], int *flag, MPI_Status s[]))                 \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || flag == NULL) {                                                            \
            return CALL(Testall, (int, MPI_Request *, int *, MPI_Status *), (n, q, flag, s));      \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Testall, site, n, q, s);                                       \
        *flag = 0;                                                                                 \
        int err =                                                                                  \
            CALL(Testall, (int, MPI_Request *, int *, MPI_Status *), (n, q, flag, b.statuses));    \
        return close_batch(&b, *flag || err == MPI_ERR_IN_STATUS ? b.n : 0, NULL, err);            \
    }                                                                                              \
    DEFINE(prefix, Waitany, , (int n, MPI_Request q[], int *at, MPI_Status *s))                    \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || at == NULL) {                                                              \
            return CALL(Waitany, (int, MPI_Request *, int *, MPI_Status *), (n, q, at, s));        \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Waitany, site, n, q, s);                                       \
        int err =                                                                                  \
            CALL(Waitany, (int, MPI_Request *, int *, MPI_Status *), (n, q, at, b.statuses));      \
        return close_batch(&b, err == MPI_SUCCESS, at, err);                                       \
    }                                                                                              \
    DEFINE(prefix, Testany, , (int n, MPI_Request q[], int *at, int *flag, MPI_Status *s))         \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || at == NULL || flag == NULL) {                                              \
            return CALL(Testany, (int, MPI_Request *, int *, int *, MPI_Status *),                 \
                        (n, q, at, flag, s));                                                      \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Testany, site, n, q, s);                                       \
        int err = CALL(Testany, (int, MPI_Request *, int *, int *, MPI_Status *),                  \
                       (n, q, at, flag, b.statuses));                                              \
        return close_batch(&b, err == MPI_SUCCESS && *flag, at, err);                              \
    }                                                                                              \
    DEFINE(prefix, Waitsome, , (int n, MPI_Request q[], int *m, int at[], MPI_Status s[]))         \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || m == NULL) {                                                               \
            return CALL(Waitsome, (int, MPI_Request *, int *, int *, MPI_Status *),                \
                        (n, q, m, at, s));                                                         \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Waitsome, site, n, q, s);                                      \
        int err = CALL(Waitsome, (int, MPI_Request *, int *, int *, MPI_Status *),                 \
                       (n, q, m, at, b.statuses));                                                 \
        bool is_done = err == MPI_SUCCESS || err == MPI_ERR_IN_STATUS;                             \
        return close_batch(&b, is_done && *m > 0 ? *m : 0, at, err);                               \
    }                                                                                              \
    DEFINE(prefix, Testsome, , (int n, MPI_Request q[], int *m, int at[], MPI_Status s[]))         \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || m == NULL) {                                                               \
            return CALL(Testsome, (int, MPI_Request *, int *, int *, MPI_Status *),                \
                        (n, q, m, at, s));                                                         \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Testsome, site, n, q, s);                                      \
        int err = CALL(Testsome, (int, MPI_Request *, int *, int *, MPI_Status *),                 \
                       (n, q, m, at, b.statuses));                                                 \
        bool is_done = err == MPI_SUCCESS || err == MPI_ERR_IN_STATUS;                             \
        return close_batch(&b, is_done && *m > 0 ? *m : 0, at, err);                               \
    }                                                                                              \
    DEFINE(prefix, Start, , (MPI_Request * q))                                                     \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        if (is_seen && q != NULL) {                                                                \
            pli_check_lock();                                                                      \
            start(*q, site);                                                                       \
            pli_check_unlock();                                                                    \
        }                                                                                          \
        return CALL(Start, (MPI_Request *), (q));                                                  \
    }                                                                                              \
    DEFINE(prefix, Startall, , (int n, MPI_Request q[]))                                           \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        for (int i = 0; is_seen && q != NULL && i < n; i++) {                                      \
            pli_check_lock();                                                                      \
            start(q[i], site);                                                                     \
            pli_check_unlock();                                                                    \
        }                                                                                          \
        return CALL(Startall, (int, MPI_Request *), (n, q));                                       \
    }                                                                                              \
    DEFINE(prefix, Request_free, , (MPI_Request * q))                                              \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        bool is_kept = false;                                                                      \
        if (is_seen && q != NULL) {                                                                \
            pli_check_lock();                                                                      \
            is_kept = lose(*q);                                                                    \
            pli_check_unlock();                                                                    \
        }                                                                                          \
        if (is_kept) {                                                                             \
            *q = MPI_REQUEST_NULL;                                                                 \
            return MPI_SUCCESS;                                                                    \
        }                                                                                          \
        return CALL(Request_free, (MPI_Request *), (q));                                           \
    }                                                                                              \
    DEFINE(prefix, Request_get_status, , (MPI_Request q, int *flag, MPI_Status *s))                \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || flag == NULL) {                                                            \
            return CALL(Request_get_status, (MPI_Request, int *, MPI_Status *), (q, flag, s));     \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Request_get_status, site, 1, &q, s);                           \
        b.is_kept = true;                                                                          \
        *flag = 0;                                                                                 \
        int err =                                                                                  \
            CALL(Request_get_status, (MPI_Request, int *, MPI_Status *), (q, flag, b.statuses));   \
        return close_batch(&b, *flag != 0, NULL, err);                                             \
    }                                                                                              \
    DEFINE(prefix, Request_get_status_all, ,                                                       \
           (int n, const MPI_Request q[], int *flag, MPI_Status s[]))                              \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || flag == NULL) {                                                            \
            return CALL(Request_get_status_all, (int, const MPI_Request *, int *, MPI_Status *),   \
                        (n, q, flag, s));                                                          \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Request_get_status_all, site, n, q, s);                        \
        b.is_kept = true;                                                                          \
        *flag = 0;                                                                                 \
        int err = CALL(Request_get_status_all, (int, const MPI_Request *, int *, MPI_Status *),    \
                       (n, q, flag, b.statuses));                                                  \
        return close_batch(&b, *flag ? b.n : 0, NULL, err);                                        \
    }                                                                                              \
    DEFINE(prefix, Request_get_status_any, ,                                                       \
           (int n, const MPI_Request q[], int *at, int *flag, MPI_Status *s))                      \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || at == NULL || flag == NULL) {                                              \
            return CALL(Request_get_status_any,                                                    \
                        (int, const MPI_Request *, int *, int *, MPI_Status *),                    \
                        (n, q, at, flag, s));                                                      \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Request_get_status_any, site, n, q, s);                        \
        b.is_kept = true;                                                                          \
        int err =                                                                                  \
            CALL(Request_get_status_any, (int, const MPI_Request *, int *, int *, MPI_Status *),   \
                 (n, q, at, flag, b.statuses));                                                    \
        return close_batch(&b, err == MPI_SUCCESS && *flag, at, err);                              \
    }                                                                                              \
    DEFINE(prefix, Request_get_status_some, ,                                                      \
           (int n, const MPI_Request q[], int *m, int at[], MPI_Status s[]))                       \
    {                                                                                              \
        ENTER(is_std)                                                                              \
        struct batch b;                                                                            \
        if (!is_seen || m == NULL) {                                                               \
            return CALL(Request_get_status_some,                                                   \
                        (int, const MPI_Request *, int *, int *, MPI_Status *), (n, q, m, at, s)); \
        }                                                                                          \
        open_batch(&b, PLI_CHECK_FN_Request_get_status_some, site, n, q, s);                       \
        b.is_kept = true;                                                                          \
        int err =                                                                                  \
            CALL(Request_get_status_some, (int, const MPI_Request *, int *, int *, MPI_Status *),  \
                 (n, q, m, at, b.statuses));                                                       \
        return close_batch(&b, err == MPI_SUCCESS && *m > 0 ? *m : 0, at, err);                    \
    }

BOTH(false, )
BOTH(true, pli_std_)
