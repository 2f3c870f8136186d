// SPDX-License-Identifier: BSD-3-Clause
// Extensions of MPICH: generalized requests that MPI polls, ranks that are threads, streams,
// segments of datatypes.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of MPICH 4.1 and 4.2, which the header of 4.0 does not declare.
extern int MPIX_Threadcomm_init(MPI_Comm comm, int n, MPI_Comm *to) __attribute__((weak));
extern int MPIX_Threadcomm_start(MPI_Comm comm) __attribute__((weak));
extern int MPIX_Threadcomm_finish(MPI_Comm comm) __attribute__((weak));
extern int MPIX_Threadcomm_free(MPI_Comm *comm) __attribute__((weak));
extern int MPIX_Comm_test_threadcomm(MPI_Comm comm, int *flag) __attribute__((weak));
extern int MPIX_Stream_create(MPI_Info info, int *stream) __attribute__((weak));
extern int MPIX_Stream_free(int *stream) __attribute__((weak));
extern int MPIX_Stream_comm_create(MPI_Comm comm, int stream, MPI_Comm *to) __attribute__((weak));
extern int MPIX_Comm_get_stream(MPI_Comm comm, int i, int *stream) __attribute__((weak));
extern int MPIX_Stream_progress(int stream) __attribute__((weak));
extern int MPIX_Info_set_hex(MPI_Info info, const char *key, const void *value, int size)
    __attribute__((weak));
struct iov { // MPIX_Iov
    void *base;
    MPI_Aint len;
};
extern int MPIX_Type_iov_len(MPI_Datatype type, MPI_Count max_bytes, MPI_Count *n, MPI_Count *bytes)
    __attribute__((weak));
extern int MPIX_Type_iov(MPI_Datatype type, MPI_Count skip, struct iov *to, MPI_Count max,
                         MPI_Count *n) __attribute__((weak));
enum { STREAM_NULL = 0x3d000000 };

static atomic_int n_failed;
static int rank, size;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("rank %d: failed: %s\n", rank, what);
        n_failed++;
    }
}

struct work {
    MPI_Request request;
    int n_poll, n_wait, n_free, last;
};

static int query(void *extra, MPI_Status *status)
{
    struct work *w = extra;
    MPI_Status_set_elements(status, MPI_INT, w->last);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 7;
    status->MPI_TAG = 8;
    return MPI_SUCCESS;
}

static int drop(void *extra)
{
    ((struct work *)extra)->n_free++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static int poll(void *extra, MPI_Status *status)
{
    struct work *w = extra;
    (void)status;
    if (++w->n_poll == w->last) {
        MPI_Grequest_complete(w->request);
    }
    return MPI_SUCCESS;
}

// May be called in place of the other, for several at once.
static int wait_for(int n, void **extra, double timeout, MPI_Status *status)
{
    (void)timeout;
    for (int i = 0; i < n; i++) {
        struct work *w = extra[i];
        w->n_wait++;
        while (w->n_poll < w->last) {
            poll(w, status);
        }
    }
    return MPI_SUCCESS;
}

static void polled(void)
{
    struct work w = { .last = 50 };
    MPI_Status status;
    int n = 0, flag = 0;
    MPIX_Grequest_start(query, drop, cancel, poll, wait_for, &w, &w.request);
    MPI_Wait(&w.request, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check(w.n_poll == 50 && w.n_free == 1 && n == 50 && status.MPI_SOURCE == 7,
          "a request that is polled");
    check(w.request == MPI_REQUEST_NULL, "it is gone");

    struct work t = { .last = 20 };
    MPIX_Grequest_start(query, drop, cancel, poll, wait_for, &t, &t.request);
    while (!flag) {
        MPI_Test(&t.request, &flag, &status);
    }
    check(t.n_poll == 20 && t.n_free == 1, "one that is tested");

    if (MPIX_Threadcomm_init != NULL) { // MPICH 4.0 refuses it
        struct work only = { .last = 1 };
        MPIX_Grequest_start(query, drop, cancel, NULL, wait_for, &only, &only.request);
        MPI_Wait(&only.request, MPI_STATUS_IGNORE);
        check(only.n_wait == 1 && only.n_free == 1, "one that has a function to wait alone");
    }
}

// Beside messages, and of a class.
static void classes(void)
{
    enum { N = 10 };
    MPIX_Grequest_class class, other;
    struct work w[N];
    MPI_Request all[N + 2], none;
    MPI_Status statuses[N + 2];
    int to = rank, from = -1, ok = 1;
    memset(w, 0, sizeof w);
    check(MPIX_Grequest_class_create(query, drop, cancel, poll, wait_for, &class) == MPI_SUCCESS,
          "a class");
    check(MPIX_Grequest_class_create(query, drop, cancel, poll, wait_for, &other) == MPI_SUCCESS &&
              other != class,
          "another");
    for (int i = 0; i < N; i++) {
        w[i].last = 10 * i + 1;
        MPIX_Grequest_class_allocate(i % 2 ? class : other, &w[i], &w[i].request);
        all[i] = w[i].request;
    }
    MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &all[N]);
    MPI_Isend(&to, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &all[N + 1]);
    MPI_Waitall(N + 2, all, statuses);
    for (int i = 0; i < N; i++) {
        ok &= w[i].n_poll == w[i].last && w[i].n_free == 1;
    }
    check(ok && from == (rank + size - 1) % size, "requests of a class, and messages");
    if (MPIX_Threadcomm_init != NULL) { // MPICH 4.0 does not look
        check(MPIX_Grequest_class_allocate(12345, &w[0], &none) != MPI_SUCCESS,
              "a class that is not there");
    }
}

enum { N_THREAD = 3, N_ROUND = 4 };
static MPI_Comm threads;
static atomic_int seen[64];

static void *thread(void *arg)
{
    for (int round = 0; round < N_ROUND; round++) {
        int me = -1, n = 0, sum = 0, from = -1;
        MPI_Status status;
        MPI_Comm dup;
        check(MPIX_Threadcomm_start(threads) == MPI_SUCCESS, "start");
        MPI_Comm_rank(threads, &me);
        MPI_Comm_size(threads, &n);
        check(n == N_THREAD * size && me / N_THREAD == rank, "rank and size of a thread");
        seen[me]++;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, threads);
        check(sum == n * (n - 1) / 2, "a sum over threads");
        MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, round, &from, 1, MPI_INT, MPI_ANY_SOURCE, round,
                     threads, &status);
        check(from == (me + n - 1) % n && status.MPI_SOURCE == from,
              "a message around the threads");
        MPI_Comm_dup(threads, &dup);
        MPI_Barrier(dup);
        MPI_Comm_free(&dup);
        check(MPIX_Threadcomm_finish(threads) == MPI_SUCCESS, "finish");
    }
    return arg;
}

static void threadcomm(void)
{
    pthread_t t[N_THREAD];
    int flag = -1, ok = 1;
    check(MPIX_Threadcomm_init(MPI_COMM_WORLD, N_THREAD, &threads) == MPI_SUCCESS,
          "a communicator of threads");
    check(MPIX_Comm_test_threadcomm(threads, &flag) == MPI_SUCCESS && flag == 1, "it is one");
    check(MPIX_Comm_test_threadcomm(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == 0,
          "the world is none");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(threads, &flag) != MPI_SUCCESS, "outside it has no rank");
    check(MPIX_Threadcomm_finish(threads) != MPI_SUCCESS, "it was not started");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < N_THREAD; i++) {
        pthread_create(&t[i], NULL, thread, NULL);
    }
    for (int i = 0; i < N_THREAD; i++) {
        pthread_join(t[i], NULL);
    }
    for (int i = rank * N_THREAD; i < (rank + 1) * N_THREAD; i++) {
        ok &= seen[i] == N_ROUND;
    }
    check(ok, "each rank once in a round");
    check(MPIX_Threadcomm_free(&threads) == MPI_SUCCESS && threads == MPI_COMM_NULL, "free");
}

static void streams(void)
{
    int stream, got = 0, sum = 0, one = 1;
    MPI_Comm comm;
    MPI_Info info;
    check(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_SUCCESS && stream != STREAM_NULL,
          "a stream");
    check(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS,
          "a communicator of a stream");
    check(MPIX_Comm_get_stream(comm, 0, &got) == MPI_SUCCESS && got == stream, "its stream");
    check(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &got) == MPI_SUCCESS && got == STREAM_NULL,
          "the world has none");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size && MPIX_Stream_progress(stream) == MPI_SUCCESS, "a sum");
    MPI_Comm_free(&comm);
    check(MPIX_Stream_free(&stream) == MPI_SUCCESS && stream == STREAM_NULL, "it is freed");
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    unsigned char bytes[3] = { 0x01, 0xab, 0xf0 };
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0, flag = 0;
    check(MPIX_Info_set_hex(info, "value", bytes, sizeof bytes) == MPI_SUCCESS, "digits");
    MPI_Info_get(info, "value", 10, text, &flag);
    check(flag && strcmp(text, "01abf0") == 0, "the digits are those of the bytes");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int code = MPIX_Stream_create(info, &stream);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Error_string(code, text, &len);
    check(code != MPI_SUCCESS && strstr(text, "no streams of devices") != NULL,
          "no streams of devices");
    MPI_Info_free(&info);
}

// What a type's segments are, all at once and in lots of two.
static void check_segments(MPI_Datatype type, int n, const MPI_Aint base[], const MPI_Aint len[],
                           const char *what)
{
    MPI_Count n_all = -1, bytes = -1, n_got = -1;
    MPI_Aint sum = 0;
    struct iov *all = calloc((size_t)n + 1, sizeof *all);
    int ok = MPIX_Type_iov_len(type, -1, &n_all, &bytes) == MPI_SUCCESS && n_all == n;
    ok &= MPIX_Type_iov(type, 0, all, n + 1, &n_got) == MPI_SUCCESS && n_got == n;
    for (int i = 0; ok && i < n; i++) {
        MPI_Count n_less = -1, less = -1;
        struct iov two[2];
        sum += len[i];
        ok &= (MPI_Aint)all[i].base == base[i] && all[i].len == len[i];
        ok &= MPIX_Type_iov_len(type, sum + len[i] / 2 - 1, &n_less, &less) == MPI_SUCCESS &&
              n_less == (len[i] > 1 ? i + 1 : i) && less == (len[i] > 1 ? sum : sum - len[i]);
        ok &= MPIX_Type_iov(type, i, two, 2, &n_got) == MPI_SUCCESS && n_got == (i + 1 < n ? 2 : 1);
        ok &= (MPI_Aint)two[0].base == base[i] && two[0].len == len[i];
    }
    check(ok && bytes == sum, what);
    free(all);
}

static void segments(void)
{
    enum { N = 600 }; // more than the library looks at together
    MPI_Datatype type;
    MPI_Aint base[N], len[N];
    MPI_Count n = -1;
    struct iov none;
    check_segments(MPI_INT, 1, (MPI_Aint[]){ 0 }, (MPI_Aint[]){ 4 }, "one of an int");
    MPI_Type_vector(N, 2, 5, MPI_INT, &type);
    for (int i = 0; i < N; i++) {
        base[i] = (MPI_Aint)i * 20;
        len[i] = 8;
    }
    check_segments(type, N, base, len, "those of a vector");
    check(MPIX_Type_iov(type, N, &none, 1, &n) == MPI_SUCCESS && n == 0, "none behind the last");
    MPI_Type_free(&type);
    MPI_Type_create_hindexed(3, (int[]){ 2, 1, 3 }, (MPI_Aint[]){ -16, -8, 40 }, MPI_INT, &type);
    check_segments(type, 2, (MPI_Aint[]){ -16, 40 }, (MPI_Aint[]){ 12, 12 },
                   "those that touch are one; some are before the element");
    MPI_Type_free(&type);
    MPI_Type_contiguous(0, MPI_INT, &type);
    check_segments(type, 0, base, len, "none of an empty type");
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    int provided, all, mine;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    polled();
    classes();
    if (MPIX_Threadcomm_init != NULL) { // MPICH 4.0 has none
        threadcomm();
        streams();
        segments();
    }
    mine = n_failed;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) {
        puts("all is well");
    }
    MPI_Finalize();
    return all != 0;
}
