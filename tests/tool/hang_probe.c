// SPDX-License-Identifier: BSD-3-Clause
// Programs that hang, each by a classic mistake, and programs that only look as if they did.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size, v;
static char big[1 << 20];

static void send(int to, int tag, MPI_Comm comm)
{
    MPI_Send(&v, 1, MPI_INT, to, tag, comm);
}

static void recv(int from, int tag, MPI_Comm comm)
{
    MPI_Recv(&v, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

static void compute(double seconds)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9 < seconds);
}

// Mistakes.

static void both_receive(void)
{
    recv(!rank, 7, MPI_COMM_WORLD);
    send(!rank, 7, MPI_COMM_WORLD);
}

static void wrong_tag(void)
{
    if (rank == 0) {
        send(1, 7, MPI_COMM_WORLD);
    }
    recv(!rank, 8, MPI_COMM_WORLD);
}

static void wrong_rank(void)
{
    send(77, 7, MPI_COMM_WORLD);
}

static void wrong_tag_ssend(void)
{
    if (rank == 0) {
        MPI_Ssend(&v, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else {
        recv(0, 8, MPI_COMM_WORLD);
    }
}

static void wrong_source(void)
{
    if (rank == 1) {
        send(0, 5, MPI_COMM_WORLD);
    } else if (rank == 0) {
        recv(2, 5, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void different_collectives(void)
{
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Bcast(&v, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(&v, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
}

static void crossed_collectives(void)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    MPI_Barrier(rank == 0 ? MPI_COMM_WORLD : other);
    MPI_Barrier(rank == 0 ? other : MPI_COMM_WORLD);
}

static void one_leaves(void)
{
    if (rank != 1) {
        recv(1, 3, MPI_COMM_WORLD);
    }
}

static void head_to_head(void)
{
    MPI_Send(big, sizeof big, MPI_CHAR, !rank, 1, MPI_COMM_WORLD);
    MPI_Recv(big, sizeof big, MPI_CHAR, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_comm(void)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    if (rank == 0) {
        MPI_Ssend(&v, 1, MPI_INT, 1, 4, other);
    } else {
        recv(0, 4, MPI_COMM_WORLD);
    }
}

static void not_everybody(void)
{
    if (rank == 0) {
        recv(1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        send(0, 2, MPI_COMM_WORLD);
    }
}

// Rank 1 stays behind in collectives that rank 0 may leave before others come, until it has no room
// for more.
enum { TOGETHER = 20, MANY = 1000 };

static void call_ahead(int (*call)(void), void (*stay_behind)(void))
{
    for (int i = 0; i < MANY; i++) {
        if (i == TOGETHER && rank == 1) {
            stay_behind();
        }
        call();
    }
}

static int call_bcast(void)
{
    return MPI_Bcast(&v, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static int call_scatter(void)
{
    return MPI_Scatter(big, 1, MPI_INT, rank == 0 ? MPI_IN_PLACE : (void *)&v, 1, MPI_INT, 0,
                       MPI_COMM_WORLD);
}

static int call_gather(void)
{
    return MPI_Gather(&v, 1, MPI_INT, big, 1, MPI_INT, 1, MPI_COMM_WORLD);
}

static void wait_in_vain(void)
{
    recv(0, 2, MPI_COMM_WORLD);
}

// Of two ranks, as a message: the root waits for the other one, which waits for something else.
static void bcast_long(void)
{
    static char data[200000];
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(MPI_COMM_WORLD); // from now on there is a board
    }
    if (rank == 1) {
        MPI_Bcast(data, sizeof data, MPI_CHAR, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(data, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void bcast_ahead(void)
{
    call_ahead(call_bcast, wait_in_vain);
}

static void scatter_ahead(void)
{
    call_ahead(call_scatter, wait_in_vain);
}

static void gather_ahead(void)
{
    call_ahead(call_gather, wait_in_vain);
}

// The same, but what rank 1 waits for comes.
static void wait_long(void)
{
    recv(2, 2, MPI_COMM_WORLD);
}

static void send_late(void)
{
    if (rank == 2) {
        usleep(1500000);
        send(1, 2, MPI_COMM_WORLD);
    }
}

static void late_reader(void)
{
    for (int i = 0; i < TOGETHER; i++) {
        call_scatter();
    }
    send_late();
    call_ahead(call_scatter, wait_long);
}

// The parts of a collective on several hosts are not what the program has called.
static void parts_of_hosts(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    not_everybody();
}

static void probe_in_vain(void)
{
    MPI_Status s;
    MPI_Probe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &s);
}

// Two threads of a process, each with an endpoint.
static MPI_Comm ep[2];

static void *use_endpoint(void *arg)
{
    MPI_Comm c = *(MPI_Comm *)arg;
    int me;
    MPI_Comm_rank(c, &me);
    if (me == 2 * size - 1) {
        recv(0, 9, c);
    } else {
        MPI_Barrier(c);
    }
    return NULL;
}

static void endpoints(void)
{
    pthread_t t;
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, ep);
    MPI_Comm_set_name(ep[0], "ends");
    MPI_Comm_set_name(ep[1], "ends");
    pthread_create(&t, NULL, use_endpoint, &ep[1]);
    use_endpoint(&ep[0]);
    pthread_join(t, NULL);
}

// One thread drives both; nobody sends to the second.
static void endpoints_of_one(void)
{
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, 2, MPI_INFO_NULL, ep);
    recv(MPI_ANY_SOURCE, 4, ep[1]);
}

static void *sleep_on(void *arg)
{
    recv(rank, 5, *(MPI_Comm *)arg);
    return NULL;
}

// The first thread that sleeps is woken and sleeps again, while the second goes on sleeping.
static void second_sleep(void)
{
    pthread_t t;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 1) {
        sleep(1);
        send(0, 6, MPI_COMM_WORLD);
    } else {
        pthread_create(&t, NULL, sleep_on, &other);
        recv(1, 6, MPI_COMM_WORLD);
    }
    recv(1 - rank, 7, MPI_COMM_WORLD);
}

// Healthy ones.

static void long_computation(void)
{
    if (rank == 0) {
        compute(1.8);
        send(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
    }
}

static void system_calls(void)
{
    if (rank == 0) {
        sleep(2);
        send(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
    }
}

static void probe_loop(void)
{
    if (rank == 0) {
        for (int i = 0, flag = 0; i < 1800 && !flag; i++) {
            MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            usleep(1000);
        }
        send(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
    }
}

static void test_loop(void)
{
    MPI_Request r;
    if (rank == 0) {
        MPI_Irecv(&v, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &r);
        for (int i = 0, flag; i < 18; i++) {
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            usleep(100000);
        }
        send(1, 0, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
        send(0, 9, MPI_COMM_WORLD);
    }
}

static void late_start(void)
{
    long_computation(); // main lets rank 0 start late as well
}

static void *sleep_and_send(void *arg)
{
    sleep(2);
    MPI_Send(&v, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    return arg;
}

static void other_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, sleep_and_send, NULL);
    recv(rank, 0, MPI_COMM_WORLD);
    pthread_join(t, NULL);
}

static void stopped(void)
{
    if (rank == 0) {
        pid_t me = getpid();
        if (fork() == 0) {
            sleep(2);
            kill(me, SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
        send(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
    }
}

// A rank that sleeps in a receive is stopped before its message comes: the message is there, and
// the rank has not been able to look.
static void stopped_asleep(void)
{
    int pid = (int)getpid(), all[8] = { 0 };
    MPI_Allgather(&pid, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(500000);
        kill(all[1], SIGSTOP);
        if (fork() == 0) {
            sleep(3);
            kill(all[1], SIGCONT);
            _exit(0);
        }
        send(1, 0, MPI_COMM_WORLD);
        recv(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
        send(0, 0, MPI_COMM_WORLD);
    }
}

// Rounds of collectives, files and messages with pauses, in which the others fall asleep; from
// outside, ranks are stopped and continued meanwhile (their numbers are printed).
static void paused_rounds(void)
{
    int sum = 0;
    char name[64];
    MPI_File f;
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    snprintf(name, sizeof name, "/tmp/hang_probe.%d", (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 24; i++) {
        if (rank == i % size) {
            usleep(200000);
        }
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
        MPI_File_close(&f);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &v, 1, MPI_INT,
                     (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        unlink(name);
    }
}

// Polls for a message from the other rank until it comes or the time is over.
static bool polls(int tag, double seconds)
{
    MPI_Request r;
    int flag = 0;
    double end = MPI_Wtime() + seconds;
    MPI_Irecv(&v, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, &r);
    while (!flag && MPI_Wtime() < end) {
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    if (!flag) {
        MPI_Cancel(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    return flag != 0;
}

static void both_poll(void)
{
    polls(7, 1e9);
}

static void one_probes(void)
{
    if (rank == 0) {
        for (int flag = 0; !flag;) {
            MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    } else {
        recv(0, 5, MPI_COMM_WORLD);
    }
}

// It looks like a deadlock until a rank gives up.
static void poll_gives_up(void)
{
    if (rank == 0) {
        polls(7, 6);
        send(1, 0, MPI_COMM_WORLD);
    } else {
        recv(0, 0, MPI_COMM_WORLD);
    }
}

// Messages come, each after a poll that is longer than a deadlock takes to be told in this test.
static void poll_slowly(void)
{
    for (int i = 0; i < 4; i++) {
        if (rank == i % 2) {
            usleep(1500000);
            send(1 - rank, i, MPI_COMM_WORLD);
        } else if (!polls(i, 60)) {
            abort();
        }
    }
}

static void work_after_finalize(void)
{
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_SELF);
    }
}

static void slow_ring(void)
{
    for (int i = 0; i < 6; i++) {
        if (rank == i % size) {
            usleep(300000);
            send((rank + 1) % size, i, MPI_COMM_WORLD);
        }
        if (rank == (i + 1) % size) {
            recv(i % size, i, MPI_COMM_WORLD);
        }
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    { "both_receive", both_receive },
    { "wrong_tag", wrong_tag },
    { "wrong_rank", wrong_rank },
    { "wrong_tag_ssend", wrong_tag_ssend },
    { "wrong_source", wrong_source },
    { "one_leaves", one_leaves },
    { "different_collectives", different_collectives },
    { "crossed_collectives", crossed_collectives },
    { "head_to_head", head_to_head },
    { "wrong_comm", wrong_comm },
    { "not_everybody", not_everybody },
    { "bcast_ahead", bcast_ahead },
    { "bcast_long", bcast_long },
    { "scatter_ahead", scatter_ahead },
    { "gather_ahead", gather_ahead },
    { "late_reader", late_reader },
    { "parts_of_hosts", parts_of_hosts },
    { "probe_in_vain", probe_in_vain },
    { "endpoints", endpoints },
    { "endpoints_of_one", endpoints_of_one },
    { "second_sleep", second_sleep },
    { "system_calls", system_calls },
    { "long_computation", long_computation },
    { "probe_loop", probe_loop },
    { "test_loop", test_loop },
    { "late_start", late_start },
    { "other_thread", other_thread },
    { "stopped", stopped },
    { "stopped_asleep", stopped_asleep },
    { "paused_rounds", paused_rounds },
    { "both_poll", both_poll },
    { "one_probes", one_probes },
    { "poll_gives_up", poll_gives_up },
    { "poll_slowly", poll_slowly },
    { "work_after_finalize", work_after_finalize },
    { "slow_ring", slow_ring },
};

int main(int argc, char **argv)
{
    int provided;
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "late_start") == 0 && argc > 2 && strcmp(argv[2], "late") == 0) {
        sleep(1);
    }
    bool has_threads = strcmp(name, "other_thread") == 0 || strcmp(name, "endpoints") == 0 ||
                       strcmp(name, "second_sleep") == 0;
    int level = has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) == 0) {
            all[i].run();
            MPI_Finalize();
            if (strcmp(name, "work_after_finalize") == 0 && rank == 0) {
                sleep(2);
            }
            if (rank == 0) {
                puts("done");
            }
            return 0;
        }
    }
    fprintf(stderr, "no program '%s'\n", name);
    return 2;
}
