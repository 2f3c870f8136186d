// SPDX-License-Identifier: BSD-3-Clause
// A program whose result depends on the order in which messages come, by every call that can tell.
// Ranks other than 0 send after random times; rank 0 prints a sum over all that it saw.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static uint64_t sum = 0xcbf29ce484222325u;
static unsigned chance;

static void see(int v)
{
    sum = (sum ^ (uint64_t)(unsigned)v) * 0x100000001b3u;
}

static void see_status(const MPI_Status *s, int v)
{
    see(s->MPI_SOURCE);
    see(s->MPI_TAG);
    see(v);
}

static void pause_a_while(void)
{
    chance = chance * 1103515245u + 12345u;
    struct timespec t = { 0, (long)(chance >> 8) % 300000 };
    nanosleep(&t, NULL);
}

// Each of the others sends n numbers to rank 0, with tags of their own.
static void send_some(MPI_Comm comm, int n, int first)
{
    for (int i = 0; i < n; i++) {
        int v = rank * 1000 + i;
        pause_a_while();
        MPI_Send(&v, 1, MPI_INT, 0, first + i % 3, comm);
    }
}

// A debugger stops here.
__attribute__((noinline)) static void half_way(void)
{
    __asm__ volatile("" ::: "memory");
}

static void by_receives(int n)
{
    MPI_Status s;
    int v;
    for (int i = 0; i < n; i++) {
        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        see_status(&s, v);
        if (i == n / 2) {
            half_way();
        }
    }
}

static void by_probes(int n)
{
    MPI_Status s;
    MPI_Message m;
    int v, flag;
    for (int i = 0; i < n; i++) {
        switch (i % 4) {
        case 0:
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            break;
        case 1:
            for (flag = 0; !flag;) {
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
                see(flag);
            }
            break;
        case 2:
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s);
            break;
        default:
            for (flag = 0; !flag;) {
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &s);
                see(flag);
            }
        }
        if (i % 4 < 2) {
            MPI_Recv(&v, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, &s);
        } else {
            MPI_Mrecv(&v, 1, MPI_INT, &m, &s);
        }
        see_status(&s, v);
    }
}

enum { N_AT_ONCE = 4 };

static void post(int *v, MPI_Request *q)
{
    MPI_Irecv(v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, q);
}

static void by_requests(int n)
{
    int v[N_AT_ONCE], done = 0, posted = 0, at[N_AT_ONCE], m, flag;
    MPI_Request q[N_AT_ONCE];
    MPI_Status s[N_AT_ONCE];
    for (; posted < N_AT_ONCE; posted++) {
        post(&v[posted], &q[posted]);
    }
    for (int turn = 0; done < n; turn++) {
        m = 0;
        switch (turn % 8) {
        case 0:
            MPI_Waitany(N_AT_ONCE, q, at, s);
            m = at[0] != MPI_UNDEFINED;
            break;
        case 1:
            MPI_Waitsome(N_AT_ONCE, q, &m, at, s);
            break;
        case 2:
            MPI_Testany(N_AT_ONCE, q, at, &flag, s);
            m = flag && at[0] != MPI_UNDEFINED;
            see(flag);
            break;
        case 3:
            MPI_Testsome(N_AT_ONCE, q, &m, at, s);
            break;
        case 4:
            at[0] = turn / 8 % N_AT_ONCE;
            MPI_Test(&q[at[0]], &m, s);
            see(m);
            m = m && s[0].MPI_SOURCE >= 0;
            break;
        case 5:
            MPI_Request_get_status(q[0], &flag, MPI_STATUS_IGNORE);
            see(flag);
            break;
        case 6:
            MPI_Request_get_status_any(N_AT_ONCE, q, at, &flag, MPI_STATUS_IGNORE);
            see(flag);
            break;
        default:
            MPI_Testall(N_AT_ONCE, q, &flag, s);
            see(flag);
            for (int i = 0; flag && i < N_AT_ONCE; i++) {
                at[m] = i;
                s[m] = s[i];
                m += s[i].MPI_SOURCE >= 0;
            }
        }
        for (int i = 0; i < m; i++, done++) {
            see(at[i]);
            see_status(&s[i], v[at[i]]);
            if (posted < n) {
                post(&v[at[i]], &q[at[i]]);
                posted++;
            }
        }
    }
    MPI_Waitall(N_AT_ONCE, q, MPI_STATUSES_IGNORE);
}

static void by_persistent(int n)
{
    int v[2], at;
    MPI_Request q[2];
    MPI_Status s;
    for (int i = 0; i < 2; i++) {
        MPI_Recv_init(&v[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q[i]);
    }
    MPI_Startall(2, q);
    for (int done = 0; done < n; done++) {
        MPI_Waitany(2, q, &at, &s);
        see(at);
        see_status(&s, v[at]);
        if (done + 2 < n) {
            MPI_Start(&q[at]);
        }
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

// A receive that is freed while it is under way, one that is cancelled, and a call that sends too.
static void by_others(int n)
{
    int v, freed = -1, mine = 7, is_cancelled;
    MPI_Request q;
    MPI_Status s;
    post(&freed, &q);
    MPI_Request_free(&q);
    for (int i = 0; i < 3; i++) { // by then it may be complete
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &is_cancelled, MPI_STATUS_IGNORE);
        pause_a_while();
    }
    MPI_Irecv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, &s);
    MPI_Test_cancelled(&s, &is_cancelled);
    see(is_cancelled);
    for (int i = 1; i < n; i++) {
        MPI_Sendrecv(&mine, 1, MPI_INT, MPI_PROC_NULL, 0, &v, 1, MPI_INT, MPI_ANY_SOURCE,
                     MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        see_status(&s, v);
    }
    see(freed); // as a message of the same rank came after it, or none
}

static int main_order(int n)
{
    void (*const ways[])(int) = { by_receives, by_probes, by_requests, by_persistent, by_others };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (rank == 0) {
            ways[i](n * (size - 1));
        } else {
            send_some(MPI_COMM_WORLD, n, (int)i * 5);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("sum %016llx\n", (unsigned long long)sum);
    }
    return 0;
}

// Ends by a signal in the middle; what rank 0 saw up to there is printed line by line.
static int main_killed(int n)
{
    int v, total = n * (size - 1);
    MPI_Status s;
    MPI_Barrier(MPI_COMM_WORLD); // all have begun to record
    if (rank != 0) {
        send_some(MPI_COMM_WORLD, n, 0);
    }
    for (int i = 0; rank == 0 && i < total; i++) {
        MPI_Request q[2];
        post(&v, &q[0]);
        MPI_Wait(&q[0], &s);
        see_status(&s, v);
        printf("sum %016llx\n", (unsigned long long)sum);
        fflush(stdout);
        if (i == total / 2 && getenv("PROBE_LIVES") == NULL) {
            post(&v, &q[1]);
            raise(SIGKILL);
        }
    }
    return 0;
}

static int main_many(int n)
{
    int v = 0;
    MPI_Status s;
    for (int i = 0; i < n; i++) {
        if (rank != 0) {
            MPI_Send(&v, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
        for (int k = 1; rank == 0 && k < size; k++) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            see(s.MPI_SOURCE);
        }
    }
    if (rank == 0) {
        printf("sum %016llx\n", (unsigned long long)sum);
    }
    return 0;
}

// The record has a receive where the program tests, when the variable is set.
static int main_differs(void)
{
    int v = 0, flag;
    MPI_Request q;
    if (rank != 0) {
        MPI_Send(&v, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        return 0;
    }
    for (int i = 1; i < size; i++) {
        if (i == 2 && getenv("PROBE_DIFFERS") != NULL) {
            MPI_Irecv(&v, 1, MPI_INT, 2, 3, MPI_COMM_WORLD, &q);
            MPI_Test(&q, &flag, MPI_STATUS_IGNORE); // here: differs
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return 0;
}

// Two receives that name their source: only the order of their completion is recorded.
static int main_some(void)
{
    int v[2] = { 1, 2 }, at[2], n = 0;
    MPI_Request q[2];
    for (int i = 0; i < 2; i++) {
        if (rank == 0) {
            MPI_Irecv(&v[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &q[i]);
        } else {
            MPI_Send(&v[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
    }
    for (int done = 0; rank == 0 && done < 2; done += n) {
        MPI_Waitsome(2, q, &n, at, MPI_STATUSES_IGNORE);
    }
    return 0;
}

// Calls that fail say the same again.
static int main_errors(void)
{
    int flag, n, at, classes[4] = { 0 };
    MPI_Request bad = (MPI_Request)MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int errs[] = { MPI_Iprobe(size, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),
                   MPI_Iprobe(MPI_ANY_SOURCE, -7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),
                   MPI_Testsome(1, &bad, &n, &at, MPI_STATUSES_IGNORE),
                   MPI_Request_get_status(bad, &flag, MPI_STATUS_IGNORE) };
    for (int i = 0; i < 4; i++) {
        MPI_Error_class(errs[i], &classes[i]);
    }
    printf("sum %d: %d %d %d %d\n", rank, classes[0], classes[1], classes[2], classes[3]);
    return classes[0] == 0 || classes[1] == 0 || classes[2] == 0 || classes[3] == 0;
}

// Probes until one fails, because a rank has died.
static int main_died(void)
{
    int flag = 0, err = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1) {
        raise(SIGKILL);
    }
    while (err == MPI_SUCCESS && !flag) {
        err = MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    printf("sum %d\n", flag);
    return 0;
}

static void *second(void *arg)
{
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); // here: second
    return arg;
}

static int main_threads(void)
{
    pthread_t t;
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    pthread_create(&t, NULL, second, NULL);
    pthread_join(t, NULL);
    return 0;
}

// Two endpoints of each process, each driven by a thread of its own.
enum { N_EP = 2 };
static MPI_Comm ep[N_EP];
static uint64_t ep_sum[N_EP];

static void *endpoint(void *arg)
{
    int at = (int)(intptr_t)arg, me, n, v;
    MPI_Status s;
    MPI_Comm_rank(ep[at], &me);
    MPI_Comm_size(ep[at], &n);
    for (int round = 0; round < 20; round++) {
        for (int to = 0; to < n; to++) {
            v = me * 100 + round;
            struct timespec t = { 0, (long)(((unsigned)v * 2654435761u ^ chance) % 100000) };
            nanosleep(&t, NULL);
            if (to != me) {
                MPI_Send(&v, 1, MPI_INT, to, round, ep[at]);
            }
        }
        for (int i = 1; i < n; i++) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, round, ep[at], &s);
            ep_sum[at] = ep_sum[at] * 31 + (uint64_t)v;
        }
    }
    return arg;
}

// What a thread completes first need not be a receive.
static void meet(MPI_Comm comm)
{
    MPI_Request r;
    MPI_Ibarrier(comm, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void *own_endpoint(void *arg)
{
    MPI_Comm mine = ep[(intptr_t)arg];
    MPI_Comm_attach(mine);
    meet(mine);
    endpoint(arg);
    MPI_Comm_detach(mine);
    return arg;
}

static int main_endpoints(void)
{
    pthread_t t[N_EP];
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, N_EP, MPI_INFO_NULL, ep);
    for (int i = 0; i < N_EP; i++) {
        pthread_create(&t[i], NULL, own_endpoint, (void *)(intptr_t)i);
    }
    uint64_t all[N_EP * 16];
    for (int i = 0; i < N_EP; i++) {
        pthread_join(t[i], NULL);
        MPI_Comm_free(&ep[i]);
    }
    MPI_Gather(ep_sum, N_EP, MPI_UINT64_T, all, N_EP, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * N_EP; i++) {
        printf("sum %d %016llx\n", i, (unsigned long long)all[i]);
    }
    return 0;
}

// The same by threads that attach themselves, while the main thread only waits for them.
static void *attached(void *arg)
{
    int at = (int)(intptr_t)arg;
    MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, at);
    ep[at] = MPI_COMM_ENDPOINTS;
    meet(ep[at]);
    endpoint(arg);
    MPI_Comm_detach(MPI_COMM_ENDPOINTS);
    return arg;
}

static int main_attached(void)
{
    pthread_t t[N_EP];
    for (int i = 0; i < N_EP; i++) {
        pthread_create(&t[i], NULL, attached, (void *)(intptr_t)i);
    }
    for (int i = 0; i < N_EP; i++) {
        pthread_join(t[i], NULL);
    }
    uint64_t all[N_EP * 16];
    MPI_Gather(ep_sum, N_EP, MPI_UINT64_T, all, N_EP, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * N_EP; i++) {
        printf("sum %d %016llx\n", i, (unsigned long long)all[i]);
    }
    return 0;
}

// Messages of all before and after the ranks are cloned; each rank prints what it saw.
static int main_fork(int n)
{
    uint64_t all[16];
    for (int round = 0; round < 2; round++) {
        int v, to_come = n * (size - 1);
        MPI_Status s;
        for (int i = 0; i < n; i++) {
            for (int to = 0; to < size; to++) {
                v = rank * 100 + i;
                struct timespec t = { 0, (long)(((unsigned)v * 2654435761u ^ chance) % 100000) };
                nanosleep(&t, NULL);
                if (to != rank) {
                    MPI_Send(&v, 1, MPI_INT, to, i, MPI_COMM_WORLD);
                }
            }
        }
        for (; to_come > 0; to_come--) {
            MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
            see_status(&s, v);
        }
        if (round == 0 && MPI_Fork(size) < 0) {
            return 1;
        }
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        chance ^= (unsigned)getpid() * 104729u;
    }
    MPI_Gather(&sum, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++) {
        printf("sum %d %016llx\n", i, (unsigned long long)all[i]);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "order";
    int n = argc > 2 ? atoi(argv[2]) : 20, level, err = 2;
    bool is_threaded = strcmp(what, "threads") == 0 || strcmp(what, "endpoints") == 0 ||
                       strcmp(what, "attached") == 0;
    MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    chance = (unsigned)now.tv_nsec ^ (unsigned)getpid() * 7919u;
    err = strcmp(what, "order") == 0       ? main_order(n)
          : strcmp(what, "killed") == 0    ? main_killed(n)
          : strcmp(what, "many") == 0      ? main_many(n)
          : strcmp(what, "differs") == 0   ? main_differs()
          : strcmp(what, "some") == 0      ? main_some()
          : strcmp(what, "errors") == 0    ? main_errors()
          : strcmp(what, "died") == 0      ? main_died()
          : strcmp(what, "threads") == 0   ? main_threads()
          : strcmp(what, "endpoints") == 0 ? main_endpoints()
          : strcmp(what, "attached") == 0  ? main_attached()
          : strcmp(what, "fork") == 0      ? main_fork(n)
                                           : err;
    MPI_Finalize();
    return err;
}
