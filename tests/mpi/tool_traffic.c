// SPDX-License-Identifier: BSD-3-Clause
// Performance variables and events of MPI_T against a pattern of messages that is known.
// Arguments: the transport between the ranks, as variables name it, the class of peer, and a word
// where only messages are to be looked at.
#include "t.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { N = 20, SMALL = 8, LARGE = 200000, TAG = 5 };

static MPI_T_pvar_session session;
static int rank, size;
static const char *transport = "shm", *peer = "host";
static char large[LARGE];

struct var {
    MPI_T_pvar_handle h;
};

static struct var make(const char *name, int class, MPI_Comm *comm)
{
    struct var v = { MPI_T_PVAR_HANDLE_NULL };
    int index, count;
    T_MUST(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    T_MUST(MPI_T_pvar_handle_alloc(session, index, comm, &v.h, &count) == MPI_SUCCESS);
    return v;
}

static struct var counter(const char *fmt, const char *word, MPI_Comm *comm)
{
    char name[64];
    snprintf(name, sizeof name, fmt, word);
    return make(
        name, strstr(name, "bytes") != NULL ? MPI_T_PVAR_CLASS_AGGREGATE : MPI_T_PVAR_CLASS_COUNTER,
        comm);
}

static unsigned long long value(struct var v)
{
    unsigned long long n = ~0ull;
    T_EQ(MPI_T_pvar_read(session, v.h, &n), MPI_SUCCESS);
    return n;
}

static double seconds(struct var v)
{
    double s = -1;
    T_EQ(MPI_T_pvar_read(session, v.h, &s), MPI_SUCCESS);
    return s;
}

static void start(void)
{
    T_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
}

// N small and one large message from rank 0 to rank 1 with nothing else meanwhile: the answer goes
// the other way.
static void send_pattern(MPI_Comm comm)
{
    char small[SMALL] = "";
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            MPI_Send(small, SMALL, MPI_CHAR, 1, TAG, comm);
        } else if (rank == 1) {
            MPI_Recv(small, SMALL, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) {
        MPI_Send(large, LARGE, MPI_CHAR, 1, TAG, comm);
        MPI_Recv(small, 1, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(large, LARGE, MPI_CHAR, 0, TAG, comm, MPI_STATUS_IGNORE);
        MPI_Send(small, 1, MPI_CHAR, 0, TAG, comm);
    }
}

static void check_messages(void)
{
    MPI_Comm comm, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    struct var eager = counter("%s_eager_messages", transport, NULL),
               rndv = counter("%s_rendezvous_messages", transport, NULL),
               eager_bytes = counter("%s_eager_bytes", transport, NULL),
               rndv_bytes = counter("%s_rendezvous_bytes", transport, NULL),
               to_peer = counter("sent_%s_messages", peer, NULL),
               received = counter("received_%s", "messages", NULL),
               received_bytes = counter("received_%s", "bytes", NULL),
               sent = counter("comm_%s_messages", "sent", &comm),
               sent_bytes = counter("comm_%s_bytes", "sent", &comm),
               got = counter("comm_%s_messages", "received", &comm),
               got_bytes = counter("comm_%s_bytes", "received", &comm),
               not_sent = counter("comm_%s_messages", "sent", &other);
    send_pattern(comm); // before the start: not counted
    start();
    T_EQ(value(eager), 0);
    send_pattern(comm);
    T_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    send_pattern(comm); // after the stop: neither
    if (rank == 0) {
        T_EQ(value(eager), N);
        T_EQ(value(rndv), 1);
        T_EQ(value(eager_bytes), N * SMALL);
        T_EQ(value(rndv_bytes), LARGE);
        T_EQ(value(to_peer), N + 1);
        T_EQ(value(sent), N + 1);
        T_EQ(value(sent_bytes), N * SMALL + LARGE);
        T_EQ(value(got), 1);
        T_EQ(value(received), 1);
    } else {
        T_EQ(value(eager), 1);
        T_EQ(value(rndv), 0);
        T_EQ(value(received), N + 1);
        T_EQ(value(received_bytes), N * SMALL + LARGE);
        T_EQ(value(got_bytes), N * SMALL + LARGE);
    }
    T_EQ(value(not_sent), 0);
    // It goes on from where it stopped; a second handle has a value of its own.
    struct var second = counter("%s_eager_messages", transport, NULL);
    start();
    send_pattern(comm);
    unsigned long long n = 0, once = rank == 0 ? N : 1;
    T_EQ(value(eager), 2 * once);
    T_EQ(value(second), once);
    T_EQ(MPI_T_pvar_readreset(session, second.h, &n), MPI_SUCCESS);
    T_EQ(n, once);
    T_EQ(value(second), 0);
    n = 100;
    T_EQ(MPI_T_pvar_write(session, second.h, &n), MPI_SUCCESS);
    send_pattern(comm);
    T_EQ(value(second), 100 + once);
    T_EQ(value(eager), 3 * once);
    T_EQ(MPI_T_pvar_reset(session, eager.h), MPI_SUCCESS);
    T_EQ(value(eager), 0);
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
}

// Messages that wait for their receive, and receives that wait for their message.
static void check_queues(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    struct var unexpected = make("unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL, NULL),
               of_comm = make("comm_unexpected_queue_length", MPI_T_PVAR_CLASS_LEVEL, &comm),
               posted = make("comm_posted_queue_length", MPI_T_PVAR_CLASS_LEVEL, &comm),
               most = make("unexpected_queue_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL),
               most_posted = make("posted_queue_length", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL),
               memory = make("unexpected_memory", MPI_T_PVAR_CLASS_LEVEL, NULL),
               most_memory = make("unexpected_memory", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL),
               part = make("unexpected_memory", MPI_T_PVAR_CLASS_PERCENTAGE, NULL),
               n = counter("%s_messages", "unexpected", NULL);
    char small[SMALL] = "";
    MPI_Request req[N];
    start();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < N; i++) {
            MPI_Send(small, SMALL, MPI_CHAR, 1, i, comm);
        }
        MPI_Send(small, 0, MPI_CHAR, 1, N, comm);
        MPI_Recv(small, 0, MPI_CHAR, 1, N, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(small, 0, MPI_CHAR, 0, N, comm, MPI_STATUS_IGNORE); // all others came before it
        T_EQ(value(of_comm), N);
        T_OK(value(unexpected) >= N);
        T_OK(value(most) >= N && value(n) >= N);
        T_OK(value(memory) >= N * SMALL && value(most_memory) >= N * SMALL);
        T_OK(seconds(part) > 0 && seconds(part) < 0.01);
        for (int i = N - 1; i >= 0; i--) {
            MPI_Recv(small, SMALL, MPI_CHAR, 0, i, comm, MPI_STATUS_IGNORE);
        }
        T_EQ(value(of_comm), 0);
        T_OK(value(most) >= N);
        for (int i = 0; i < N; i++) {
            MPI_Irecv(small, SMALL, MPI_CHAR, 0, 100 + i, comm, &req[i]);
        }
        T_EQ(value(posted), N);
        T_OK(value(most_posted) >= N);
        T_EQ(MPI_T_pvar_reset(session, most.h), MPI_SUCCESS);
        T_OK(value(most) < N);
        for (int i = 0; i < N; i++) {
            MPI_Cancel(&req[i]);
        }
        MPI_Waitall(N, req, MPI_STATUSES_IGNORE);
        T_EQ(value(posted), 0);
        MPI_Send(small, 0, MPI_CHAR, 0, N, comm);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_free(&comm);
}

static void check_collectives(void)
{
    MPI_Comm comm, other;
    int one = 1, sum = 0, n = 0;
    MPI_Request req;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    struct var all = counter("coll_%s", "allreduce", NULL),
               barrier = counter("coll_%s", "barrier", NULL),
               on_comm = counter("comm_%s", "collectives", &comm),
               on_other = counter("comm_%s", "collectives", &other);
    MPI_T_pvar_handle by[64];
    char name[64];
    MPI_T_pvar_get_num(&sum);
    for (int i = 0; i < sum; i++) { // all algorithms of MPI_Allreduce
        int len = sizeof name, class, count;
        MPI_T_pvar_get_info(i, name, &len, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                            NULL);
        if (strncmp(name, "coll_allreduce_", 15) == 0) {
            T_EQ(MPI_T_pvar_handle_alloc(session, i, NULL, &by[n++], &count), MPI_SUCCESS);
        }
    }
    T_OK(n > 4);
    start();
    for (int i = 0; i < N; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Barrier(other);
    unsigned long long total = 0;
    for (int i = 0; i < n; i++) {
        total += value((struct var){ by[i] });
    }
    T_EQ(value(all), N + 1);
    T_EQ(total, N + 1);
    T_EQ(value(barrier), 1);
    T_EQ(value(on_comm), N + 1);
    T_EQ(value(on_other), 1);
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
}

static void check_rma(void)
{
    long *base, one = 1, got = 0, compare = 0;
    MPI_Win win;
    struct var put = counter("rma_%s_calls", "put", NULL),
               get = counter("rma_%s_calls", "get", NULL),
               put_bytes = counter("rma_%s_bytes", "put", NULL),
               acc = counter("rma_%s_calls", "accumulate", NULL),
               fetch = counter("rma_%s_calls", "get_accumulate", NULL),
               swap = counter("rma_%s_calls", "compare_and_swap", NULL),
               windows = make("windows", MPI_T_PVAR_CLASS_LEVEL, NULL);
    unsigned long long before = value(windows);
    MPI_Win_allocate(sizeof(long) * 4, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    T_EQ(value(windows), before + 1);
    memset(base, 0, sizeof(long) * 4);
    MPI_Win_fence(0, win);
    start();
    int to = (rank + 1) % size;
    for (int i = 0; i < N; i++) {
        MPI_Put(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
    }
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_LONG, to, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    T_EQ(got, 1);
    MPI_Accumulate(&one, 1, MPI_LONG, to, 1, 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &got, MPI_LONG, to, 2, MPI_SUM, win);
    MPI_Compare_and_swap(&one, &compare, &got, MPI_LONG, to, 3, win);
    MPI_Win_fence(0, win);
    T_EQ(value(put), N);
    T_EQ(value(put_bytes), N * sizeof(long));
    T_EQ(value(get), 1);
    T_EQ(value(acc), 1);
    T_EQ(value(fetch), 1);
    T_EQ(value(swap), 1);
    MPI_Win_free(&win);
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
}

#if MPI_VERSION >= 4 // other MPIs build this too, and older ones have no events
struct seen {
    int n, source, tag, n_bad;
    MPI_Count bytes, last;
};

static void on_unexpected(MPI_T_event_instance e, MPI_T_event_registration r,
                          MPI_T_cb_safety safety, void *data)
{
    struct seen *s = data;
    MPI_Count when = 0;
    int source = -1, tag = -1, from = -1;
    int64_t copy[4] = { 0 };
    (void)r;
    T_EQ(safety, MPI_T_CB_REQUIRE_NONE);
    T_EQ(MPI_T_event_read(e, 0, &source), MPI_SUCCESS);
    T_EQ(MPI_T_event_read(e, 1, &tag), MPI_SUCCESS);
    T_EQ(MPI_T_event_read(e, 4, &tag), MPI_T_ERR_INVALID_ITEM);
    T_EQ(MPI_T_event_copy(e, copy), MPI_SUCCESS);
    T_EQ(MPI_T_event_get_timestamp(e, &when), MPI_SUCCESS);
    T_EQ(MPI_T_event_get_source(e, &from), MPI_SUCCESS);
    T_EQ(from, 0);
    s->n_bad += when < s->last;
    s->last = when;
    int copied;
    memcpy(&copied, copy, sizeof copied);
    T_EQ(copied, source);
    if (tag >= 1000) { // of this check
        s->n++;
        s->source = source;
        s->tag = tag;
        s->bytes = (MPI_Count)copy[2];
        int flag; // all of MPI may be called
        T_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

static void on_wait(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety,
                    void *data)
{
    (void)e;
    (void)r;
    (void)safety;
    ++*(int *)data;
}

static MPI_T_event_registration listen(const char *name, MPI_T_event_cb_function *fn, void *data)
{
    int index;
    MPI_T_event_registration r;
    T_MUST(MPI_T_event_get_index(name, &index) == MPI_SUCCESS);
    T_MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    T_EQ(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, data, fn),
         MPI_SUCCESS);
    return r;
}

static void check_events(void)
{
    struct seen s = { 0 };
    int n_begin = 0, n_end = 0;
    char small[SMALL] = "";
    MPI_Count first, last;
    struct var waits = counter("wai%s", "ts", NULL),
               wait_time = make("wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    MPI_T_source_get_timestamp(0, &first);
    MPI_T_event_registration a = listen("unexpected_message", on_unexpected, &s),
                             b = listen("wait_begin", on_wait, &n_begin),
                             c = listen("wait_end", on_wait, &n_end);
    start();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < N; i++) {
            MPI_Send(small, SMALL, MPI_CHAR, 1, 1000 + i, MPI_COMM_WORLD);
        }
        MPI_Recv(small, SMALL, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // waits
    } else {
        for (int i = N - 1; i >= 0; i--) {
            MPI_Recv(small, SMALL, MPI_CHAR, 0, 1000 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Send(small, SMALL, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    T_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    T_EQ(MPI_T_event_handle_free(a, NULL, NULL), MPI_SUCCESS); // what has happened is told first
    T_EQ(MPI_T_event_handle_free(b, NULL, NULL), MPI_SUCCESS);
    T_EQ(MPI_T_event_handle_free(c, NULL, NULL), MPI_SUCCESS);
    MPI_T_source_get_timestamp(0, &last);
    if (rank == 1) { // the last one was received first, so that at least the others were kept
        T_OK(s.n == N - 1 || s.n == N);
        T_EQ(s.source, 0);
        T_EQ(s.tag, 1000 + s.n - 1);
        T_EQ(s.bytes, SMALL);
        T_OK(s.last >= first && s.last <= last && s.n_bad == 0);
    } else {
        T_OK(value(waits) >= 1 && n_begin >= 1 && n_end >= 1);
        T_OK(seconds(wait_time) > 0 && seconds(wait_time) < 1e-9 * (double)(last - first));
    }
    T_EQ(n_begin, n_end);
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
}

static MPI_Count n_lost;

static void on_lost(MPI_Count n, MPI_T_event_registration r, int source, MPI_T_cb_safety safety,
                    void *data)
{
    (void)r;
    (void)safety;
    (void)data;
    T_EQ(source, 0);
    n_lost += n;
}

// More happens than can be kept before a callback can be called: the rest is counted. A callback
// that is being called keeps others from being called.
static void on_first(MPI_T_event_instance e, MPI_T_event_registration r, MPI_T_cb_safety safety,
                     void *data)
{
    enum { MANY = 6000 };
    (void)e;
    (void)r;
    (void)safety;
    if (++*(int *)data == 1) {
        for (int i = 0; i < MANY; i++) {
            MPI_Send(NULL, 0, MPI_CHAR, rank, 2000, MPI_COMM_WORLD);
        }
        for (int i = 0; i < MANY; i++) {
            MPI_Recv(NULL, 0, MPI_CHAR, rank, 2000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void check_dropped(void)
{
    int n = 0;
    MPI_T_event_registration r = listen("unexpected_message", on_first, &n);
    T_EQ(MPI_T_event_set_dropped_handler(r, on_lost), MPI_SUCCESS);
    MPI_Send(NULL, 0, MPI_CHAR, rank, 2001, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_CHAR, rank, 2001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    T_EQ(MPI_T_event_handle_free(r, NULL, NULL), MPI_SUCCESS);
    T_OK(n_lost > 0);
    T_OK(n + n_lost >= 6001); // and what the other rank sent meanwhile
    MPI_Barrier(MPI_COMM_WORLD);
}
#endif

#ifdef MPI_COMM_ENDPOINTS
// Two endpoints of each process, each with a thread that sends to the next one: of the process, and
// of the other.
static MPI_Comm points[2];

static void *send_around(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int me, n, word = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < N; i++) {
        MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, TAG, &word, 1, MPI_INT, (me + n - 1) % n, TAG,
                     comm, MPI_STATUS_IGNORE);
        T_EQ(word, (me + n - 1) % n);
    }
    return NULL;
}

static void *free_point(void *arg)
{
    T_EQ(MPI_Comm_free(arg), MPI_SUCCESS);
    return NULL;
}

static void run_threads(void *(*fn)(void *))
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        T_MUST(pthread_create(&t[i], NULL, fn, &points[i]) == 0);
    }
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
}

static void check_endpoints(void)
{
    T_MUST(MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, points) == MPI_SUCCESS);
    struct var inside = counter("sent_%s_messages", "process", NULL),
               outside = counter("sent_%s_messages", peer, NULL),
               bytes = counter("sent_%s_bytes", peer, NULL),
               received = counter("received_%s", "messages", NULL),
               first = counter("comm_%s_messages", "sent", &points[0]),
               second = counter("comm_%s_messages", "received", &points[1]);
    start();
    run_threads(send_around);
    T_EQ(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    T_EQ(value(inside), N);
    T_EQ(value(outside), N);
    T_EQ(value(bytes), N * sizeof(int));
    T_EQ(value(received), 2 * N);
    T_EQ(value(first), N);
    T_EQ(value(second), N);
    MPI_T_pvar_session_free(&session);
    MPI_T_pvar_session_create(&session);
    run_threads(free_point);
}
#endif

static _Atomic int is_over;

static void *read_all(void *arg)
{
    int n, index, count;
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h;
    unsigned long long v = 0, last = 0;
    (void)arg;
    T_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &n), MPI_SUCCESS);
    T_EQ(n, MPI_THREAD_MULTIPLE);
    MPI_T_pvar_session_create(&s);
    T_EQ(MPI_T_pvar_get_index("received_messages", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_handle_alloc(s, index, NULL, &h, &count), MPI_SUCCESS);
    T_EQ(MPI_T_pvar_start(s, h), MPI_SUCCESS);
    while (!atomic_load(&is_over)) {
        T_EQ(MPI_T_pvar_read(s, h, &v), MPI_SUCCESS);
        T_OK(v >= last);
        last = v;
    }
    MPI_T_pvar_session_free(&s);
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    return NULL;
}

// Threads read variables while others send and receive.
static void check_threads(void)
{
    pthread_t t[2];
    struct var n = counter("received_%s", "messages", NULL);
    start();
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, read_all, NULL);
    }
    for (int i = 0; i < 50; i++) {
        send_pattern(MPI_COMM_WORLD);
    }
    atomic_store(&is_over, 1);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    T_EQ(value(n), rank == 0 ? 50 : 50 * (N + 1));
    MPI_T_pvar_session_free(&session);
}

int main(int argc, char **argv)
{
    int provided;
    transport = argc > 1 ? argv[1] : transport;
    peer = argc > 2 ? argv[2] : peer;
    T_EQ(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    T_EQ(provided, MPI_THREAD_MULTIPLE);
    MPI_T_pvar_session_create(&session);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(size == 2);
    check_messages();
    if (argc > 3) {
        MPI_T_pvar_session_free(&session);
        MPI_Finalize();
        T_EQ(MPI_T_finalize(), MPI_SUCCESS);
        return t_status();
    }
    check_queues();
    check_collectives();
    check_rma();
#if MPI_VERSION >= 4
    check_events();
    check_dropped();
#endif
#ifdef MPI_COMM_ENDPOINTS
    check_endpoints();
#endif
    check_threads();
    MPI_Finalize();
    T_EQ(MPI_T_finalize(), MPI_SUCCESS);
    return t_status();
}
