// SPDX-License-Identifier: BSD-3-Clause
// Wildcard receives of --record and --replay. A nonblocking one is numbered when it is posted, and
// recorded when the program sees that it is complete; replaying posts it with the recorded source.
// The tag follows from that, as messages of one rank keep their order, and is only compared.
#include "trace/record.h"

#include <stdlib.h>
#include <string.h>

uint64_t pli_record_tag_number(struct pli_record_stream *s, int tag)
{
    int64_t step = (int64_t)tag - s->last_tag;
    s->last_tag = tag;
    return step < 0 ? (uint64_t)(-step) * 2 - 1 : (uint64_t)step * 2;
}

int pli_record_number_tag(struct pli_record_stream *s, uint64_t number)
{
    int64_t step = number % 2 != 0 ? -(int64_t)(number / 2) - 1 : (int64_t)(number / 2);
    s->last_tag = (int)(s->last_tag + step);
    return s->last_tag;
}

int pli_record_pin(const struct pli_record_call *call, bool is_probe, int source, int tag,
                   int *expected_tag)
{
    const uint64_t *numbers;
    enum pli_record_kind kind, want = is_probe ? PLI_RECORD_PROBE : PLI_RECORD_RECV;
    enum pli_record_kind with_tag = is_probe ? PLI_RECORD_PROBE_TAG : PLI_RECORD_RECV_TAG;
    *expected_tag = MPI_ANY_TAG;
    want = tag == MPI_ANY_TAG ? with_tag : want;
    if (source != MPI_ANY_SOURCE || !pli_record_is_replay() ||
        !pli_record_take(call, want, want, &numbers, &kind)) {
        return source;
    }
    if (tag == MPI_ANY_TAG) {
        *expected_tag = pli_record_number_tag(call->stream, numbers[1]);
    }
    return (int)numbers[0] - 1;
}

static void check_tag(const struct pli_record_call *call, const MPI_Status *status, int expected)
{
    if (status->MPI_TAG != expected) {
        pli_record_differ(call, "a message of rank %d with tag %d, and now its tag is %d",
                          status->MPI_SOURCE, expected, status->MPI_TAG);
    }
}

void pli_record_received(const struct pli_record_call *call, bool is_probe, int source, int tag,
                         int expected_tag, const MPI_Status *status, int err)
{
    if (source != MPI_ANY_SOURCE || (err != MPI_SUCCESS && status->MPI_SOURCE < 0)) {
        return;
    }
    if (pli_record_is_replay()) {
        if (expected_tag != MPI_ANY_TAG) {
            check_tag(call, status, expected_tag);
        }
        return;
    }
    uint64_t numbers[2] = { (uint64_t)status->MPI_SOURCE + 1, 0 };
    bool has_tag = tag == MPI_ANY_TAG;
    if (has_tag) {
        numbers[1] = pli_record_tag_number(call->stream, status->MPI_TAG);
    }
    enum pli_record_kind kind = is_probe ? PLI_RECORD_PROBE : PLI_RECORD_RECV;
    pli_record_put(call, has_tag ? kind + 1 : kind, has_tag ? 2 : 1, numbers);
}

static unsigned bucket_of(MPI_Request handle)
{
    return (unsigned)(((uintptr_t)handle * 0x9e3779b97f4a7c15u) >> 40) % PLI_RECORD_N_BUCKET;
}

struct pli_record_request *pli_record_find(struct pli_record_stream *s, MPI_Request handle)
{
    if (handle == MPI_REQUEST_NULL) {
        return NULL;
    }
    struct pli_record_request *r = s->buckets[bucket_of(handle)];
    while (r != NULL && r->handle != handle) {
        r = r->next;
    }
    return r;
}

void pli_record_forget(struct pli_record_stream *s, struct pli_record_request *r)
{
    struct pli_record_request **at = &s->buckets[bucket_of(r->handle)];
    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    free(r);
}

static void add_posted(const struct pli_record_call *call, uint64_t number, bool is_tag_any)
{
    struct pli_record_stream *s = call->stream;
    if (s->n_posted == s->cap_posted) {
        size_t cap = s->cap_posted > 0 ? s->cap_posted * 2 : 64;
        struct pli_record_posted *more = realloc(s->posted, cap * sizeof *more);
        if (more == NULL) {
            pli_record_no_memory();
        }
        s->posted = more;
        s->cap_posted = cap;
    }
    s->posted[s->n_posted++] =
        (struct pli_record_posted){ .number = number, .is_tag_any = is_tag_any };
}

void pli_record_drop_posted(struct pli_record_stream *s, size_t i)
{
    s->n_freed -= s->posted[i].is_freed;
    memmove(s->posted + i, s->posted + i + 1, (s->n_posted - i - 1) * sizeof *s->posted);
    s->n_posted--;
}

static size_t place_of(const struct pli_record_stream *s, uint64_t number)
{
    size_t i = 0;
    while (i < s->n_posted && s->posted[i].number != number) {
        i++;
    }
    return i;
}

static __thread MPI_Comm quiet __attribute__((tls_model("initial-exec")));

// Messages are logged by the contexts of their communicators, and a context counts those made
// before: the same are made in a recorded and in a replayed process.
void pli_record_make_quiet(void)
{
    if (quiet == NULL &&
        (getenv("PLIANT_MESSAGE_LOG") != NULL || getenv("PLIANT_MESSAGE_REPLAY") != NULL)) {
        pli_record_mpi.Comm_dup(MPI_COMM_SELF, &quiet);
    }
}

// Where nothing ever comes, for a receive that was cancelled.
static MPI_Comm quiet_comm(const struct pli_record_call *call)
{
    if (quiet == NULL && pli_record_mpi.Comm_dup(MPI_COMM_SELF, &quiet) != MPI_SUCCESS) {
        pli_record_differ(call, "the receive was cancelled, which cannot be repeated here");
    }
    return quiet;
}

bool pli_record_post(const struct pli_record_call *call, int *source, int tag, MPI_Comm *comm,
                     uint64_t *number_out)
{
    struct pli_record_stream *s = call->stream;
    uint64_t number = s->n_post++;
    *number_out = number;
    add_posted(call, number, tag == MPI_ANY_TAG);
    if (!pli_record_is_replay() || s->is_over) {
        return true;
    }
    int32_t from = pli_record_outcomes_find(&s->outcomes, number);
    if (from == PLI_RECORD_UNKNOWN) {
        return false;
    }
    if (from == 0) {
        *source = 0;
        *comm = quiet_comm(call);
    } else {
        *source = from - 1;
    }
    return true;
}

void pli_record_unpost(const struct pli_record_call *call)
{
    call->stream->n_post--;
    pli_record_drop_posted(call->stream, call->stream->n_posted - 1);
}

void pli_record_keep(const struct pli_record_call *call, const struct pli_record_request *as)
{
    struct pli_record_stream *s = call->stream;
    struct pli_record_request *r = pli_record_find(s, as->handle);
    if (r != NULL) { // completed in a way that is not seen here
        pli_record_forget(s, r);
    }
    r = malloc(sizeof *r);
    if (r == NULL) {
        pli_record_no_memory();
    }
    *r = *as;
    r->next = s->buckets[bucket_of(r->handle)];
    s->buckets[bucket_of(r->handle)] = r;
}

static void put_outcome(const struct pli_record_call *call, size_t i, const MPI_Status *status)
{
    struct pli_record_stream *s = call->stream;
    int is_cancelled = 0;
    pli_record_mpi.Test_cancelled(status, &is_cancelled);
    bool is_none = is_cancelled || status->MPI_SOURCE < 0; // or failed before anything came
    bool has_tag = s->posted[i].is_tag_any && !is_none, is_first = i == 0;
    uint64_t numbers[3] = { i };
    numbers[1] = is_none ? 0 : (uint64_t)status->MPI_SOURCE + 1;
    if (has_tag) {
        numbers[2] = pli_record_tag_number(s, status->MPI_TAG);
    }
    enum pli_record_kind kind = is_first ? PLI_RECORD_FIRST : PLI_RECORD_LATER;
    size_t n = (size_t)2 + has_tag - is_first;
    pli_record_put(call, has_tag ? kind + 1 : kind, n, is_first ? numbers + 1 : numbers);
}

static void compare_outcome(const struct pli_record_call *call, size_t i, const MPI_Status *status)
{
    struct pli_record_stream *s = call->stream;
    const uint64_t *numbers;
    enum pli_record_kind kind, want = i == 0 ? PLI_RECORD_FIRST : PLI_RECORD_LATER;
    if (!pli_record_take(call, want, want + 1, &numbers, &kind)) {
        return;
    }
    size_t at = i == 0 ? 0 : 1;
    if (at == 1 && numbers[0] != i) {
        pli_record_differ(call, "another receive with MPI_ANY_SOURCE became complete here");
    }
    if (kind != want) {
        check_tag(call, status, pli_record_number_tag(s, numbers[at + 1]));
    }
    if (numbers[at] != 0 && status->MPI_SOURCE != (int)numbers[at] - 1) {
        pli_record_differ(call, "the message of a receive with MPI_ANY_SOURCE came from rank %d",
                          (int)numbers[at] - 1);
    }
}

void pli_record_complete(const struct pli_record_call *call, struct pli_record_request *r,
                         const MPI_Status *status)
{
    struct pli_record_stream *s = call->stream;
    if (!r->is_active) {
        return;
    }
    r->is_active = false;
    if (pli_record_is_replay()) {
        pli_record_pass_freed(s); // places are counted without those that were complete before
    }
    size_t i = place_of(s, r->number);
    if (i < s->n_posted && pli_record_is_replay()) {
        compare_outcome(call, i, status);
    } else if (i < s->n_posted) {
        put_outcome(call, i, status);
    }
    if (i < s->n_posted) {
        pli_record_drop_posted(s, i);
    }
}

// Posts what stands for the request of the program.
static int post_other(struct pli_record_request *r, int source, MPI_Comm comm)
{
    r->is_deferred = false;
    return pli_record_mpi.Irecv_c(r->buf, r->count, r->datatype, source, r->tag, comm,
                                  &r->under_way);
}

void pli_record_start(const struct pli_record_call *call, struct pli_record_request *r)
{
    int source = MPI_ANY_SOURCE;
    MPI_Comm comm = r->comm;
    r->is_active = true;
    r->is_deferred = !pli_record_post(call, &source, r->tag, &comm, &r->number);
    r->under_way = MPI_REQUEST_NULL;
    if (r->has_other && !r->is_deferred) {
        post_other(r, source, comm);
    }
}

void pli_record_deferred(const struct pli_record_call *call)
{
    struct pli_record_stream *s = call->stream;
    for (uint64_t i = 0; i < s->n_posted; i++) { // in their order
        for (int b = 0; b < PLI_RECORD_N_BUCKET; b++) {
            for (struct pli_record_request *r = s->buckets[b]; r != NULL; r = r->next) {
                if (r->is_deferred && r->number == s->posted[i].number) {
                    post_other(r, MPI_ANY_SOURCE, r->comm);
                }
            }
        }
    }
}

// The outcome of a receive that the program has freed is looked for later, as MPI would forget it.
void pli_record_free_request(const struct pli_record_call *call, MPI_Request *request)
{
    struct pli_record_stream *s = call->stream;
    struct pli_record_request *r = pli_record_find(s, *request);
    size_t i = r->is_active ? place_of(s, r->number) : s->n_posted;
    if (i < s->n_posted) {
        s->posted[i].is_freed = true;
        s->n_freed++;
    }
    if (pli_record_is_replay()) {
        if (r->has_other && r->is_active && r->under_way != MPI_REQUEST_NULL) {
            pli_record_mpi.Request_free(&r->under_way);
        }
        pli_record_mpi.Request_free(request);
    } else if (i < s->n_posted) {
        s->posted[i].handle = *request;
        *request = MPI_REQUEST_NULL;
    } else {
        pli_record_mpi.Request_free(request);
    }
    pli_record_forget(s, r);
}

void pli_record_look_freed(const struct pli_record_call *call)
{
    struct pli_record_stream *s = call->stream;
    for (size_t i = 0; i < s->n_posted && s->n_freed > 0;) {
        MPI_Status status;
        int flag = 0;
        MPI_Request once = s->posted[i].handle;
        if (s->posted[i].is_freed) {
            pli_record_mpi.Test(&once, &flag, &status);
        }
        if (flag) {
            if (once != MPI_REQUEST_NULL) { // a persistent one
                pli_record_mpi.Request_free(&once);
            }
            put_outcome(call, i, &status);
            pli_record_drop_posted(s, i);
        } else {
            i++;
        }
    }
}

void pli_record_end_freed(struct pli_record_stream *s)
{
    for (size_t i = 0; i < s->n_posted; i++) {
        if (s->posted[i].is_freed) {
            pli_record_mpi.Request_free(&s->posted[i].handle);
        }
    }
    s->n_posted = s->n_freed = 0;
}
