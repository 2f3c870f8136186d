// SPDX-License-Identifier: BSD-3-Clause
// Tests, waits and probes of --record and --replay. A test that was recorded as false returns false
// at once, one that was true waits.
#include "trace/record_complete.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { N_NEAR = 64 };

// Requests of one call: as the program has them, and as they are posted.
struct batch {
    const struct pli_record_call *call;
    int n;
    MPI_Request *theirs, *before, *real;
    MPI_Status *statuses;
    MPI_Request near_before[N_NEAR], near_real[N_NEAR];
    MPI_Status near_statuses[N_NEAR], *mine;
};

static void *need(void *p)
{
    if (p == NULL) {
        pli_record_no_memory();
    }
    return p;
}

static void open_batch(struct batch *b, const struct pli_record_call *call, int n,
                       MPI_Request *requests, MPI_Status *statuses)
{
    bool is_near = n <= N_NEAR;
    size_t m = (size_t)(n > 0 ? n : 1);
    b->call = call;
    b->n = n;
    b->theirs = requests;
    b->before = is_near ? b->near_before : need(malloc(m * sizeof *b->before));
    b->real = is_near ? b->near_real : need(malloc(m * sizeof *b->real));
    b->mine = is_near ? b->near_statuses : need(malloc(m * sizeof *b->mine));
    b->statuses = statuses != MPI_STATUSES_IGNORE ? statuses : b->mine;
    for (int i = 0; i < n; i++) {
        struct pli_record_request *r = pli_record_find(call->stream, requests[i]);
        b->before[i] = requests[i];
        bool is_other = r != NULL && r->has_other && r->is_active && !r->is_deferred;
        b->real[i] = is_other ? r->under_way : requests[i];
    }
}

// The request is going to be waited for.
static void await(struct batch *b, int i)
{
    struct pli_record_request *r = pli_record_find(b->call->stream, b->before[i]);
    if (r != NULL && r->is_deferred) {
        pli_record_await(b->call, r);
        b->real[i] = r->under_way;
    }
}

static void complete(struct batch *b, int i, const MPI_Status *status)
{
    struct pli_record_stream *s = b->call->stream;
    struct pli_record_request *r = pli_record_find(s, b->before[i]);
    if (r == NULL) {
        return;
    }
    pli_record_complete(b->call, r, status);
    if (r->is_persistent) {
        r->under_way = MPI_REQUEST_NULL;
        b->real[i] = b->before[i];
        return;
    }
    if (r->has_other) {
        MPI_Request stand_in = b->before[i];
        pli_record_mpi.Request_free(&stand_in);
    }
    b->real[i] = MPI_REQUEST_NULL;
    pli_record_forget(s, r);
}

static int close_batch(struct batch *b, int err)
{
    for (int i = 0; i < b->n; i++) {
        const struct pli_record_request *r = pli_record_find(b->call->stream, b->before[i]);
        if (r == NULL || !r->has_other) {
            b->theirs[i] = b->real[i];
        }
    }
    if (b->before != b->near_before) {
        free(b->before);
        free(b->real);
        free(b->mine);
    }
    return err;
}

// Waits for the requests at these places, all of them where places is NULL; the statuses come one
// after the other.
static int wait_places(struct batch *b, int n, const int *places)
{
    MPI_Request near[N_NEAR],
        *chosen = n <= N_NEAR ? near : need(malloc((size_t)n * sizeof *chosen));
    for (int j = 0; j < n; j++) {
        int i = places != NULL ? places[j] : j;
        await(b, i);
        chosen[j] = b->real[i];
    }
    int err = n == 1 ? pli_record_mpi.Wait(chosen, b->statuses)
                     : pli_record_mpi.Waitall(n, chosen, b->statuses);
    bool is_each = err == MPI_ERR_IN_STATUS && n != 1;
    for (int j = 0; j < n; j++) {
        int i = places != NULL ? places[j] : j;
        b->real[i] = chosen[j];
        if (!is_each || b->statuses[j].MPI_ERROR != MPI_ERR_PENDING) {
            complete(b, i, &b->statuses[j]);
        }
    }
    if (chosen != near) {
        free(chosen);
    }
    return err;
}

int pli_record_do_wait(const struct pli_record_call *call, MPI_Request *q, MPI_Status *s)
{
    struct batch b;
    open_batch(&b, call, 1, q, s);
    return close_batch(&b, wait_places(&b, 1, NULL));
}

int pli_record_do_waitall(const struct pli_record_call *call, int n, MPI_Request *q, MPI_Status *s)
{
    struct batch b;
    open_batch(&b, call, n, q, s);
    int err = n == 0 ? pli_record_mpi.Waitall(n, q, s) : wait_places(&b, n, NULL);
    // One request fails as several do.
    if (n == 1 && err != MPI_SUCCESS) {
        b.statuses[0].MPI_ERROR = err;
        err = MPI_ERR_IN_STATUS;
    }
    return close_batch(&b, err);
}

// Whether the record says what the call returns: its first number.
static bool take_one(const struct pli_record_call *call, enum pli_record_kind kind, uint64_t *out)
{
    const uint64_t *numbers;
    enum pli_record_kind has;
    if (!pli_record_is_forced(call) || !pli_record_take(call, kind, kind, &numbers, &has)) {
        return false;
    }
    *out = numbers[0];
    return true;
}

// A call that failed counts as one that was true: replayed, it is made until it says so.
static bool is_over(int flag, int err)
{
    return flag != 0 || err != MPI_SUCCESS;
}

static void put_one(const struct pli_record_call *call, enum pli_record_kind kind, uint64_t number)
{
    if (!pli_record_is_replay()) {
        pli_record_put(call, kind, 1, &number);
    }
}

int pli_record_do_test(const struct pli_record_call *call, MPI_Request *q, int *flag, MPI_Status *s)
{
    struct batch b;
    uint64_t is_true;
    if (take_one(call, PLI_RECORD_TEST, &is_true)) {
        *flag = is_true != 0;
        return is_true != 0 ? pli_record_do_wait(call, q, s) : MPI_SUCCESS;
    }
    open_batch(&b, call, 1, q, s);
    *flag = 0;
    int err = pli_record_mpi.Test(b.real, flag, b.statuses);
    bool is_done = is_over(*flag, err);
    put_one(call, PLI_RECORD_TEST, is_done);
    if (is_done) {
        complete(&b, 0, b.statuses);
    }
    return close_batch(&b, err);
}

int pli_record_do_testall(const struct pli_record_call *call, int n, MPI_Request *q, int *flag,
                          MPI_Status *s)
{
    struct batch b;
    uint64_t is_true;
    if (take_one(call, PLI_RECORD_TESTALL, &is_true)) {
        *flag = is_true != 0;
        return is_true != 0 ? pli_record_do_waitall(call, n, q, s) : MPI_SUCCESS;
    }
    open_batch(&b, call, n, q, s);
    *flag = 0;
    int err = pli_record_mpi.Testall(n, b.real, flag, b.statuses);
    bool is_done = is_over(*flag, err);
    put_one(call, PLI_RECORD_TESTALL, is_done);
    for (int i = 0; i < n && is_done; i++) {
        if (err != MPI_ERR_IN_STATUS || b.statuses[i].MPI_ERROR != MPI_ERR_PENDING) {
            complete(&b, i, &b.statuses[i]);
        }
    }
    return close_batch(&b, err);
}

static uint64_t number_of(int index)
{
    return index == MPI_UNDEFINED ? 0 : (uint64_t)index + 1;
}

static int index_of(const struct pli_record_call *call, uint64_t number, int n)
{
    if (number > (uint64_t)n) {
        pli_record_differ(call, "request %llu became complete, and now there are %d requests",
                          (unsigned long long)number - 1, n);
    }
    return number == 0 ? MPI_UNDEFINED : (int)number - 1;
}

// Completes the request that the record names; with MPI_UNDEFINED there was none to complete.
static int wait_recorded(struct batch *b, uint64_t number, int *index)
{
    *index = index_of(b->call, number, b->n);
    if (*index != MPI_UNDEFINED) {
        return wait_places(b, 1, index);
    }
    int err = pli_record_mpi.Waitany(b->n, b->real, index, b->statuses);
    if (*index != MPI_UNDEFINED) {
        pli_record_differ(b->call, "no request was active");
    }
    return err;
}

int pli_record_do_waitany(const struct pli_record_call *call, int n, MPI_Request *q, int *index,
                          MPI_Status *s)
{
    struct batch b;
    uint64_t number;
    bool is_forced = take_one(call, PLI_RECORD_WAITANY, &number);
    open_batch(&b, call, n, q, s);
    if (is_forced) {
        return close_batch(&b, wait_recorded(&b, number, index));
    }
    *index = MPI_UNDEFINED;
    int err = pli_record_mpi.Waitany(n, b.real, index, b.statuses);
    put_one(call, PLI_RECORD_WAITANY, number_of(*index));
    if (*index >= 0 && *index < n) {
        complete(&b, *index, b.statuses);
    }
    return close_batch(&b, err);
}

int pli_record_do_testany(const struct pli_record_call *call, int n, MPI_Request *q, int *index,
                          int *flag, MPI_Status *s)
{
    struct batch b;
    uint64_t number;
    bool is_forced = take_one(call, PLI_RECORD_TESTANY, &number);
    if (is_forced && number == 0) {
        *flag = 0;
        *index = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    open_batch(&b, call, n, q, s);
    if (is_forced) {
        *flag = 1;
        return close_batch(&b, wait_recorded(&b, number - 1, index));
    }
    *flag = 0;
    *index = MPI_UNDEFINED;
    int err = pli_record_mpi.Testany(n, b.real, index, flag, b.statuses);
    bool is_done = is_over(*flag, err);
    put_one(call, PLI_RECORD_TESTANY, is_done ? 1 + number_of(*index) : 0);
    if (is_done && *index >= 0 && *index < n) {
        complete(&b, *index, b.statuses);
    }
    return close_batch(&b, err);
}

// A failed call without a list is recorded as one without active requests: it is made again.
static void put_list(const struct pli_record_call *call, enum pli_record_kind kind, int n,
                     const int *indices, int err)
{
    uint64_t near[N_NEAR], none = 0;
    n = n == 0 && err != MPI_SUCCESS ? MPI_UNDEFINED : n;
    uint64_t *numbers = n <= N_NEAR ? near : need(malloc((size_t)n * sizeof *numbers));
    for (int i = 0; i < n; i++) {
        numbers[i] = number_of(indices[i]);
    }
    if (!pli_record_is_replay()) {
        pli_record_put(call, kind, n == MPI_UNDEFINED ? 1 : (size_t)n,
                       n == MPI_UNDEFINED ? &none : numbers);
    }
    if (numbers != near) {
        free(numbers);
    }
}

// Each request is complete once. A record that says otherwise is damaged.
static void check_once(const struct pli_record_call *call, int n, int count, const int *indices)
{
    unsigned char *is_seen = need(calloc((size_t)n + 1, 1));
    for (int i = 0; i < count; i++) {
        if (is_seen[indices[i]]++ != 0) {
            pli_record_differ(call, "request %d became complete twice", indices[i]);
        }
    }
    free(is_seen);
}

// The list that the record has; false: the call is free. *count: as the call returns it.
static bool take_list(const struct pli_record_call *call, enum pli_record_kind kind, int n,
                      int *count, int *indices)
{
    const uint64_t *numbers;
    enum pli_record_kind has;
    if (!pli_record_is_forced(call) || !pli_record_take(call, kind, kind, &numbers, &has)) {
        return false;
    }
    size_t m = call->stream->reader.n_number;
    *count = m == 1 && numbers[0] == 0 ? MPI_UNDEFINED : (int)m;
    if (m > (size_t)n) {
        pli_record_differ(call, "%zu requests became complete, and now there are %d", m, n);
    }
    for (int i = 0; i < *count; i++) {
        indices[i] = index_of(call, numbers[i], n);
    }
    check_once(call, n, *count, indices);
    return true;
}

int pli_record_do_some(const struct pli_record_call *call, bool is_test, int n, MPI_Request *q,
                       int *count, int *indices, MPI_Status *s)
{
    struct batch b;
    enum pli_record_kind kind = is_test ? PLI_RECORD_TESTSOME : PLI_RECORD_WAITSOME;
    bool is_forced = take_list(call, kind, n, count, indices);
    if (is_forced && *count == 0) {
        return MPI_SUCCESS;
    }
    open_batch(&b, call, n, q, s);
    if (is_forced && *count > 0) {
        int err = wait_places(&b, *count, indices);
        if (*count == 1 && err != MPI_SUCCESS) {
            b.statuses[0].MPI_ERROR = err;
            err = MPI_ERR_IN_STATUS;
        }
        return close_batch(&b, err);
    }
    *count = 0;
    int err = is_test ? pli_record_mpi.Testsome(n, b.real, count, indices, b.statuses)
                      : pli_record_mpi.Waitsome(n, b.real, count, indices, b.statuses);
    if (is_forced && *count != MPI_UNDEFINED && err == MPI_SUCCESS) {
        pli_record_differ(call, "no request was active");
    }
    if (!is_forced) {
        put_list(call, kind, *count, indices, err);
    }
    for (int i = 0; i < *count; i++) {
        complete(&b, indices[i], &b.statuses[i]);
    }
    return close_batch(&b, err);
}

// MPI_Request_get_status and its kin leave the requests as they are.

static int poll_places(struct batch *b, int n, const int *places)
{
    int err = MPI_SUCCESS;
    for (int j = 0; j < n && err == MPI_SUCCESS; j++) {
        int i = places != NULL ? places[j] : j, flag = 0;
        await(b, i);
        while (err == MPI_SUCCESS && !flag) {
            err = pli_record_mpi.Request_get_status(b->real[i], &flag, &b->statuses[j]);
            if (!flag) {
                sched_yield();
            }
        }
    }
    return err;
}

int pli_record_do_get_status(const struct pli_record_call *call, MPI_Request q, int *flag,
                             MPI_Status *s)
{
    struct batch b;
    uint64_t is_true = 0;
    bool is_forced = take_one(call, PLI_RECORD_STATUS, &is_true);
    open_batch(&b, call, 1, &q, s);
    int err;
    if (is_forced) {
        *flag = is_true != 0;
        err = is_true != 0 ? poll_places(&b, 1, NULL) : MPI_SUCCESS;
    } else {
        *flag = 0;
        err = pli_record_mpi.Request_get_status(b.real[0], flag, b.statuses);
        put_one(call, PLI_RECORD_STATUS, is_over(*flag, err));
    }
    return close_batch(&b, err);
}

int pli_record_do_get_status_all(const struct pli_record_call *call, int n, const MPI_Request *q,
                                 int *flag, MPI_Status *s)
{
    struct batch b;
    uint64_t is_true = 0;
    MPI_Request *copy = need(malloc((size_t)(n > 0 ? n : 1) * sizeof *copy));
    memcpy(copy, q, (size_t)n * sizeof *copy);
    bool is_forced = take_one(call, PLI_RECORD_STATUS_ALL, &is_true);
    open_batch(&b, call, n, copy, s);
    int err;
    if (is_forced) {
        *flag = is_true != 0;
        err = is_true != 0 ? poll_places(&b, n, NULL) : MPI_SUCCESS;
    } else {
        *flag = 0;
        err = pli_record_mpi.Request_get_status_all(n, b.real, flag, b.statuses);
        put_one(call, PLI_RECORD_STATUS_ALL, is_over(*flag, err));
    }
    err = close_batch(&b, err);
    free(copy);
    return err;
}

int pli_record_do_get_status_any(const struct pli_record_call *call, int n, const MPI_Request *q,
                                 int *index, int *flag, MPI_Status *s)
{
    struct batch b;
    uint64_t number = 0;
    MPI_Request *copy = need(malloc((size_t)(n > 0 ? n : 1) * sizeof *copy));
    memcpy(copy, q, (size_t)n * sizeof *copy);
    bool is_forced = take_one(call, PLI_RECORD_STATUS_ANY, &number);
    open_batch(&b, call, n, copy, s);
    int err = MPI_SUCCESS;
    if (is_forced && number != 1) {
        *flag = number != 0;
        *index = number != 0 ? index_of(call, number - 1, n) : MPI_UNDEFINED;
        err = number != 0 ? poll_places(&b, 1, index) : MPI_SUCCESS;
    } else {
        *flag = 0;
        *index = MPI_UNDEFINED;
        err = pli_record_mpi.Request_get_status_any(n, b.real, index, flag, b.statuses);
        if (!is_forced) {
            bool is_done = is_over(*flag, err);
            put_one(call, PLI_RECORD_STATUS_ANY, is_done ? 1 + number_of(*index) : 0);
        }
    }
    err = close_batch(&b, err);
    free(copy);
    return err;
}

int pli_record_do_get_status_some(const struct pli_record_call *call, int n, const MPI_Request *q,
                                  int *count, int *indices, MPI_Status *s)
{
    struct batch b;
    MPI_Request *copy = need(malloc((size_t)(n > 0 ? n : 1) * sizeof *copy));
    memcpy(copy, q, (size_t)n * sizeof *copy);
    bool is_forced = take_list(call, PLI_RECORD_STATUS_SOME, n, count, indices);
    open_batch(&b, call, n, copy, s);
    int err = MPI_SUCCESS;
    if (is_forced && *count != MPI_UNDEFINED) {
        err = poll_places(&b, *count, indices);
    } else {
        *count = 0;
        err = pli_record_mpi.Request_get_status_some(n, b.real, count, indices, b.statuses);
        if (!is_forced) {
            put_list(call, PLI_RECORD_STATUS_SOME, *count, indices, err);
        }
    }
    err = close_batch(&b, err);
    free(copy);
    return err;
}

static int look(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *s)
{
    return message != NULL ? pli_record_mpi.Mprobe(source, tag, comm, message, s)
                           : pli_record_mpi.Probe(source, tag, comm, s);
}

int pli_record_do_probe(const struct pli_record_call *call, int source, int tag, MPI_Comm comm,
                        MPI_Message *message, MPI_Status *s)
{
    MPI_Status mine;
    int expected;
    s = s == MPI_STATUS_IGNORE ? &mine : s;
    int from = pli_record_pin(call, true, source, tag, &expected);
    int err = look(from, tag, comm, message, s);
    pli_record_received(call, true, source, tag, expected, s, err);
    return err;
}

// What the record says of MPI_Iprobe; a message that was there, or an error, is waited for.
static int probe_recorded(const struct pli_record_call *call, enum pli_record_kind kind,
                          const uint64_t *numbers, int source, int tag, MPI_Comm comm, int *flag,
                          MPI_Message *message, MPI_Status *s)
{
    *flag = kind != PLI_RECORD_IPROBE || numbers[0] != 0;
    if (!*flag) {
        return MPI_SUCCESS;
    }
    int from = kind == PLI_RECORD_IPROBE ? source : (int)numbers[0] - 1;
    int expected =
        kind == PLI_RECORD_IPROBE_FROM_TAG ? pli_record_number_tag(call->stream, numbers[1]) : 0;
    int err = look(from, tag, comm, message, s);
    *flag = err == MPI_SUCCESS;
    if (err == MPI_SUCCESS && from == MPI_ANY_SOURCE) {
        pli_record_differ(call, "an error, and now there is a message of rank %d", s->MPI_SOURCE);
    }
    if (err == MPI_SUCCESS && kind == PLI_RECORD_IPROBE_FROM_TAG && s->MPI_TAG != expected) {
        pli_record_differ(call, "a message of rank %d with tag %d, and now its tag is %d", from,
                          expected, s->MPI_TAG);
    }
    return err;
}

int pli_record_do_iprobe(const struct pli_record_call *call, int source, int tag, MPI_Comm comm,
                         int *flag, MPI_Message *message, MPI_Status *s)
{
    MPI_Status mine;
    const uint64_t *numbers;
    enum pli_record_kind kind, from = PLI_RECORD_IPROBE;
    s = s == MPI_STATUS_IGNORE ? &mine : s;
    if (source == MPI_ANY_SOURCE) {
        from = tag == MPI_ANY_TAG ? PLI_RECORD_IPROBE_FROM_TAG : PLI_RECORD_IPROBE_FROM;
    }
    if (pli_record_is_forced(call) &&
        pli_record_take(call, PLI_RECORD_IPROBE, from, &numbers, &kind)) {
        return probe_recorded(call, kind, numbers, source, tag, comm, flag, message, s);
    }
    *flag = 0;
    int err = message != NULL ? pli_record_mpi.Improbe(source, tag, comm, flag, message, s)
                              : pli_record_mpi.Iprobe(source, tag, comm, flag, s);
    if (pli_record_is_replay()) {
        return err;
    }
    if (*flag && source == MPI_ANY_SOURCE) {
        uint64_t found[2] = { (uint64_t)s->MPI_SOURCE + 1, 0 };
        if (tag == MPI_ANY_TAG) {
            found[1] = pli_record_tag_number(call->stream, s->MPI_TAG);
        }
        pli_record_put(call, from, tag == MPI_ANY_TAG ? 2 : 1, found);
    } else {
        pli_record_flag(call, PLI_RECORD_IPROBE, is_over(*flag, err));
    }
    return err;
}

int pli_record_do_parrived(const struct pli_record_call *call, MPI_Request q, int partition,
                           int *flag)
{
    uint64_t is_true;
    int err = MPI_SUCCESS;
    *flag = 0;
    if (!take_one(call, PLI_RECORD_PARRIVED, &is_true)) {
        err = pli_record_mpi.Parrived(q, partition, flag);
        put_one(call, PLI_RECORD_PARRIVED, is_over(*flag, err));
        return err;
    }
    while (is_true != 0 && !*flag && err == MPI_SUCCESS) {
        err = pli_record_mpi.Parrived(q, partition, flag);
        if (!*flag) {
            sched_yield();
        }
    }
    return err;
}

int pli_record_do_win_test(const struct pli_record_call *call, MPI_Win win, int *flag)
{
    uint64_t is_true;
    if (take_one(call, PLI_RECORD_WIN_TEST, &is_true)) {
        int err = is_true != 0 ? pli_record_mpi.Win_wait(win) : MPI_SUCCESS;
        *flag = is_true != 0 && err == MPI_SUCCESS;
        return err;
    }
    *flag = 0;
    int err = pli_record_mpi.Win_test(win, flag);
    put_one(call, PLI_RECORD_WIN_TEST, is_over(*flag, err));
    return err;
}
