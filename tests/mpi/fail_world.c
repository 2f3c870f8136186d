// SPDX-License-Identifier: BSD-3-Clause
// Ranks die while the others are in the call that the first argument names; the others must come
// out of it with the right error, and work on without them. Needs mpiexec --on-failure=shrink. The
// second argument is the rank that dies, the third how many of those from it on.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 18, MANY = 3000 }; // doubles; small messages

static int rank, size, victim, n_victim;
static double *big, *big2;
static double due; // when the first one dies

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(double s)
{
    struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
    nanosleep(&t, NULL);
}

static bool is_victim(int r)
{
    return r >= victim && r < victim + n_victim;
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void expect(int code, int class)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    MPI_Error_string(code, text, &len);
    if (class_of(code) != class) {
        fprintf(stderr, "rank %d: class %d, not %d: %s\n", rank, class_of(code), class, text);
        t_failed++;
    }
    if (class == MPIX_ERR_PROC_FAILED) {
        char who[32];
        snprintf(who, sizeof who, "rank %d (process ", victim);
        T_HAS(text, who);
        T_HAS(text, " on host ");
        T_HAS(text, "was killed by signal 9, SIGKILL");
    }
}

// The next one that lives.
static int some(void)
{
    int r = (rank + 1) % size;
    while (is_victim(r)) {
        r = (r + 1) % size;
    }
    return r;
}

static int do_recv(MPI_Comm c)
{
    int x;
    return MPI_Recv(&x, 1, MPI_INT, victim, 1, c, MPI_STATUS_IGNORE);
}

static int do_recv_large(MPI_Comm c)
{
    return MPI_Recv(big, LARGE, MPI_DOUBLE, victim, 1, c, MPI_STATUS_IGNORE);
}

static int do_any(MPI_Comm c)
{
    int x;
    return MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, c, MPI_STATUS_IGNORE);
}

static int do_barrier(MPI_Comm c)
{
    return MPI_Barrier(c);
}

static int do_small(MPI_Comm c)
{
    double x = 1, y;
    return MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, c);
}

static int do_large(MPI_Comm c)
{
    return MPI_Allreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c);
}

static int do_bcast(MPI_Comm c)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < 100 && rc == MPI_SUCCESS; i++) { // a root does not wait for the others
        rc = MPI_Bcast(big, LARGE, MPI_DOUBLE, victim == 0 ? 1 : 0, c);
    }
    return rc;
}

static int do_gather(MPI_Comm c)
{
    int all[64], rc = MPI_SUCCESS;
    for (int i = 0; i < 2 && rc == MPI_SUCCESS; i++) { // only the root waits
        rc = MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, victim == 0 ? 1 : 0, c);
        rc = rc == MPI_SUCCESS ? MPI_Barrier(c) : rc;
    }
    return rc;
}

static int do_alltoall(MPI_Comm c)
{
    return MPI_Alltoall(big, LARGE / 64, MPI_DOUBLE, big2, LARGE / 64, MPI_DOUBLE, c);
}

static int do_iallreduce(MPI_Comm c)
{
    MPI_Request r;
    int rc = MPI_Iallreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c, &r);
    return rc == MPI_SUCCESS ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
}

static int do_ibarrier(MPI_Comm c)
{
    MPI_Request r;
    int flag = 0, rc = MPI_Ibarrier(c, &r);
    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int do_persistent(MPI_Comm c)
{
    MPI_Request r;
    int rc = MPI_Allreduce_init(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    rc = rc == MPI_SUCCESS ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
    MPI_Request_free(&r);
    return rc;
}

static int do_split(MPI_Comm c)
{
    MPI_Comm d;
    return MPI_Comm_split(c, 0, rank, &d);
}

// Wait until all of them are known to be dead.
static void settle(MPI_Comm c)
{
    int n = 0;
    while (n < n_victim) {
        MPI_Group g;
        MPIX_Comm_get_failed(c, &g);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
    }
}

// Of a group with dead members: some of the others have to do with none of them.
static int do_group(MPI_Comm c)
{
    MPI_Group all;
    MPI_Comm d;
    settle(c);
    MPI_Comm_group(c, &all);
    int rc = MPI_Comm_create_group(c, all, 0, &d);
    MPI_Group_free(&all);
    return rc;
}

// The copy never gets a context; MPI_Finalize must not wait for it.
static int do_idup(MPI_Comm c)
{
    MPI_Comm d;
    MPI_Request r;
    int rc = MPI_Comm_idup(c, &d, &r);
    rc = rc == MPI_SUCCESS ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
    if (rank % 2 == 0) {
        MPI_Comm_free(&d);
    }
    return rc;
}

// Nobody comes to the port.
static int do_accept(MPI_Comm c)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm d;
    int root = victim == 0 ? 1 : 0, rc;
    if (rank == root) {
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    rc = MPI_Comm_accept(port, MPI_INFO_NULL, root, c, &d);
    if (rank == root) {
        MPI_Close_port(port);
    }
    return rc;
}

static int do_waitall(MPI_Comm c)
{
    int in[2] = { 0, 0 };
    MPI_Request r[4];
    MPI_Status s[4];
    int to = some(), from = rank;
    do { // who has me as the next one
        from = (from + size - 1) % size;
    } while (is_victim(from));
    MPI_Irecv(&in[0], 1, MPI_INT, victim, 2, c, &r[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, from, 2, c, &r[1]);
    MPI_Isend(&rank, 1, MPI_INT, to, 2, c, &r[2]);
    MPI_Isend(big, LARGE, MPI_DOUBLE, victim, 3, c, &r[3]);
    T_EQ(class_of(MPI_Waitall(4, r, s)), MPI_ERR_IN_STATUS);
    T_EQ(in[1], from);
    T_EQ(s[1].MPI_ERROR, MPI_SUCCESS);
    T_EQ(s[2].MPI_ERROR, MPI_SUCCESS);
    expect(s[3].MPI_ERROR, MPIX_ERR_PROC_FAILED);
    T_OK(r[0] == MPI_REQUEST_NULL && r[3] == MPI_REQUEST_NULL);
    return s[0].MPI_ERROR;
}

static int do_probe(MPI_Comm c)
{
    return MPI_Probe(victim, MPI_ANY_TAG, c, MPI_STATUS_IGNORE);
}

static int do_mprobe(MPI_Comm c)
{
    MPI_Message m;
    return MPI_Mprobe(MPI_ANY_SOURCE, 9, c, &m, MPI_STATUS_IGNORE);
}

static int do_iprobe(MPI_Comm c)
{
    int flag = 0, rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Iprobe(victim, MPI_ANY_TAG, c, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int do_eager(MPI_Comm c)
{
    int rc = MPI_SUCCESS;
    double x[64] = { 0 };
    for (int i = 0; i < MANY * 1000 && rc == MPI_SUCCESS; i++) {
        rc = MPI_Send(x, i % 2 == 0 ? 1 : 64, MPI_DOUBLE, victim, 4, c);
    }
    return rc;
}

static int isends(MPI_Comm c, int count)
{
    static MPI_Request r[MANY];
    int rc = MPI_SUCCESS, n = 0;
    for (int i = 0; i < MANY && rc == MPI_SUCCESS; i++) {
        rc = MPI_Isend(big, count, MPI_DOUBLE, victim, 4, c, &r[n++]);
    }
    rc = MPI_SUCCESS;
    for (int i = 0; i < n; i++) {
        int one = MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        rc = one != MPI_SUCCESS ? one : rc;
    }
    return rc;
}

// Of small ones the buffers of a network may take all.
static int do_isends(MPI_Comm c)
{
    int rc = isends(c, 16);
    return rc == MPI_SUCCESS ? isends(c, 4096) : rc;
}

static int do_rendezvous(MPI_Comm c)
{
    return MPI_Send(big, LARGE, MPI_DOUBLE, victim, 4, c);
}

static int do_ssend(MPI_Comm c)
{
    return MPI_Ssend(big, 1, MPI_DOUBLE, victim, 4, c);
}

static int do_sendrecv(MPI_Comm c)
{
    return MPI_Sendrecv(big, LARGE, MPI_DOUBLE, victim, 5, big2, LARGE, MPI_DOUBLE, victim, 5, c,
                        MPI_STATUS_IGNORE);
}

static int do_agree(MPI_Comm c)
{
    int flag = 6 | (1 << rank % 8 << 4);
    int rc = MPIX_Comm_agree(c, &flag);
    T_EQ(flag & 15, 6);
    return rc;
}

static const struct {
    const char *name;
    int (*fn)(MPI_Comm c);
} ops[] = { { "recv", do_recv },         { "recv_large", do_recv_large },
            { "any", do_any },           { "barrier", do_barrier },
            { "small", do_small },       { "large", do_large },
            { "bcast", do_bcast },       { "gather", do_gather },
            { "alltoall", do_alltoall }, { "iallreduce", do_iallreduce },
            { "ibarrier", do_ibarrier }, { "persistent", do_persistent },
            { "split", do_split },       { "waitall", do_waitall },
            { "probe", do_probe },       { "mprobe", do_mprobe },
            { "iprobe", do_iprobe },     { "eager", do_eager },
            { "isends", do_isends },     { "rendezvous", do_rendezvous },
            { "ssend", do_ssend },       { "sendrecv", do_sendrecv },
            { "agree", do_agree },       { "idup", do_idup },
            { "accept", do_accept },     { "group", do_group } };

// The new communicator works, for all kinds of traffic.
static void use(MPI_Comm c, int want)
{
    int n, me, sum = 0, from;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    T_EQ(n, want);
    for (int round = 0; round < 20; round++) {
        T_EQ(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c), MPI_SUCCESS);
        T_EQ(sum, n * (n - 1) / 2);
        for (int i = 0; i < LARGE; i++) {
            big[i] = me + i % 7;
        }
        from = (me + n - 1) % n;
        T_EQ(MPI_Sendrecv(big, LARGE, MPI_DOUBLE, (me + 1) % n, 7, big2, LARGE, MPI_DOUBLE, from, 7,
                          c, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
        T_OK(big2[0] == from && big2[LARGE - 1] == from + (LARGE - 1) % 7);
        T_EQ(MPI_Allreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c), MPI_SUCCESS);
        T_OK(big2[8] == n * (n - 1) / 2 + n);
        T_EQ(MPI_Bcast(big, LARGE, MPI_DOUBLE, round % n, c), MPI_SUCCESS);
        T_OK(big[8] == round % n + 1);
        T_EQ(MPI_Barrier(c), MPI_SUCCESS);
    }
    MPI_Comm d;
    T_EQ(MPI_Comm_dup(c, &d), MPI_SUCCESS);
    T_EQ(MPI_Barrier(d), MPI_SUCCESS);
    MPI_Comm_free(&d);
}

static void check_failed(MPI_Comm c)
{
    MPI_Group failed, all;
    int n, at[16], as[16] = { 0 };
    for (int i = 0; i < n_victim; i++) {
        at[i] = i;
    }
    MPIX_Comm_get_failed(c, &failed);
    MPI_Group_size(failed, &n);
    T_EQ(n, n_victim);
    MPI_Comm_group(c, &all);
    MPI_Group_translate_ranks(failed, n < n_victim ? n : n_victim, at, all, as);
    for (int i = 0; i < n && i < n_victim; i++) {
        T_OK(is_victim(as[i]));
    }
    MPI_Group_free(&failed);
    MPI_Group_free(&all);
    T_EQ(MPIX_Comm_ack_failed(c, n_victim, &n), MPI_SUCCESS);
    T_EQ(n, n_victim);
    MPIX_Comm_failure_get_acked(c, &failed);
    MPI_Group_size(failed, &n);
    T_EQ(n, n_victim);
    MPI_Group_free(&failed);
}

// The victims die one after the other, however late each of them gets a processor: the next one
// when those before it are known to be dead. So the first one is the one that errors name.
static void die(MPI_Comm c)
{
    int n = 0;
    while (now() < due || n < rank - victim) {
        MPI_Group g;
        nap(0.001);
        MPIX_Comm_get_failed(c, &g);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
    }
    kill(getpid(), SIGKILL);
}

// A timer kills this process in the middle of whatever it does then; its death is by SIGALRM.
static void die_later(double after)
{
    struct itimerval t = { .it_value = { .tv_usec = (int)(after * 1e6) + 1 } };
    setitimer(ITIMER_REAL, &t, NULL);
}

// Nonblocking receives from anybody stay posted.
static void pending(MPI_Comm c)
{
    int x = 0, flag, n;
    MPI_Request r;
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 8, c, &r);
    if (is_victim(rank)) {
        die(c);
    }
    expect(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
    T_OK(r != MPI_REQUEST_NULL);
    settle(c);
    expect(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING);
    T_EQ(class_of(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE)), MPIX_ERR_PROC_FAILED_PENDING);
    T_EQ(MPIX_Comm_failure_ack(c), MPI_SUCCESS);
    T_EQ(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    flag = 1;
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS); // before the first message comes
    n = MPI_Send(&rank, 1, MPI_INT, some(), 8, c);
    T_EQ(n, MPI_SUCCESS);
    T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// A ring in which one is missing: who sends to it still receives, and who receives from it still
// sends. The second time they know that it is dead.
static void halves(MPI_Comm c)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    if (is_victim(rank)) {
        die(c);
    }
    for (int round = 0; round < 4; round++) {
        MPI_Request r;
        int rc;
        big[0] = big[LARGE - 1] = rank + 10 * round;
        big2[0] = big2[LARGE - 1] = -1;
        if (round % 2 == 0) {
            rc = MPI_Sendrecv(big, LARGE, MPI_DOUBLE, to, 9, big2, LARGE, MPI_DOUBLE, from, 9, c,
                              MPI_STATUS_IGNORE);
        } else {
            MPI_Isendrecv(big, LARGE, MPI_DOUBLE, to, 9, big2, LARGE, MPI_DOUBLE, from, 9, c, &r);
            rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        if (is_victim(to) || is_victim(from)) {
            expect(rc, MPIX_ERR_PROC_FAILED);
        } else {
            T_EQ(rc, MPI_SUCCESS);
        }
        T_OK(is_victim(from) || (big2[0] == from + 10 * round && big2[LARGE - 1] == big2[0]));
    }
}

// The first survivor revokes; the others wait for each other in several ways.
static void do_revoke(MPI_Comm c)
{
    int first = victim == 0 ? 1 : 0, flag, n, x;
    MPI_Comm dup;
    if (rank == first) {
        nap(0.05);
        T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
        T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
    } else if (rank % 4 == 1) {
        expect(MPI_Recv(&x, 1, MPI_INT, first, 11, c, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    } else if (rank % 4 == 2) {
        expect(MPI_Send(big, LARGE, MPI_DOUBLE, first, 12, c), MPIX_ERR_REVOKED);
    } else {
        expect(MPI_Barrier(c), MPIX_ERR_REVOKED);
    }
    T_EQ(MPIX_Comm_is_revoked(c, &flag), MPI_SUCCESS);
    T_EQ(flag, 1);
    expect(MPI_Send(&x, 1, MPI_INT, first, 11, c), MPIX_ERR_REVOKED);
    expect(MPI_Bcast(&x, 1, MPI_INT, first, c), MPIX_ERR_REVOKED);
    expect(MPI_Comm_dup(c, &dup), MPIX_ERR_REVOKED);
    T_EQ(MPI_Comm_size(c, &n), MPI_SUCCESS);
    T_EQ(n, size);
    flag = rank == first ? 2 : 3;
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS);
    T_EQ(flag, 2);
}

static void during(MPI_Comm c, bool is_shrink)
{
    int flag = 7;
    MPI_Comm d = MPI_COMM_NULL;
    if (is_victim(rank)) {
        die_later(0.002 * (rank - victim));
    }
    for (int i = 0; i < (is_victim(rank) ? 1000000 : 400); i++) {
        flag = 7;
        int rc = MPI_SUCCESS;
        if (is_shrink) {
            rc = MPIX_Comm_shrink(c, &d);
            T_EQ(rc, MPI_SUCCESS);
            rc = MPI_Comm_free(&d);
        } else {
            rc = MPIX_Comm_agree(c, &flag);
            T_OK(rc == MPI_SUCCESS || class_of(rc) == MPIX_ERR_PROC_FAILED);
            T_EQ(flag, 7);
        }
    }
}

// Everybody sends to everybody as fast as it can, and some are killed in the middle of it: at any
// instruction. Who notices first revokes.
static void storm(MPI_Comm c)
{
    int rc = MPI_SUCCESS;
    double x[64] = { 0 };
    if (is_victim(rank)) {
        die_later(0.02 + 0.0007 * (rank - victim) + 0.00001 * (getpid() % 100));
    }
    for (int i = 0; rc == MPI_SUCCESS; i++) {
        MPI_Request r[4];
        int to = (rank + 1 + i % (size - 1)) % size,
            from = (rank + 2 * size - 1 - i % (size - 1)) % size;
        int n = i % 16 == 0 ? LARGE / 4 : i % 4 == 0 ? 2000 : 2;
        for (int k = 0; k < 50 && n == 2 && rc == MPI_SUCCESS; k++) {
            rc = MPI_Send(x, k % 64, MPI_DOUBLE, to, 21, c);
        }
        MPI_Irecv(big2, n, MPI_DOUBLE, from, 22, c, &r[0]);
        MPI_Isend(big, n, MPI_DOUBLE, to, 22, c, &r[1]);
        for (int k = 0; k < 50 && n == 2 && rc == MPI_SUCCESS; k++) {
            rc = MPI_Recv(x, 64, MPI_DOUBLE, from, 21, c, MPI_STATUS_IGNORE);
        }
        int last = MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        rc = rc == MPI_SUCCESS ? last : rc;
    }
    T_OK(class_of(rc) == MPIX_ERR_PROC_FAILED || class_of(rc) == MPIX_ERR_REVOKED);
    T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
}

static void finish(MPI_Comm c, int want)
{
    MPI_Comm d;
    T_EQ(MPIX_Comm_shrink(c, &d), MPI_SUCCESS);
    use(d, want);
    int bad = 0;
    MPI_Allreduce(&t_failed, &bad, 1, MPI_INT, MPI_SUM, d);
    MPI_Comm_free(&d);
}

static void run(const char *name, MPI_Comm c)
{
    int rc = -1;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            if (is_victim(rank)) {
                die(c);
            }
            rc = ops[i].fn(c);
            double late = (now() - due) * 1e3;
            expect(rc, MPIX_ERR_PROC_FAILED);
            printf("rank %d knew after %.3f ms\n", rank, late);
        }
    }
    T_OK(rc != -1);
    settle(c);
    check_failed(c);
    expect(MPI_Send(&rc, 1, MPI_INT, victim, 1, c), MPIX_ERR_PROC_FAILED);
    expect(MPI_Barrier(c), MPIX_ERR_PROC_FAILED);
    int flag = 5;
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS); // all have acknowledged
    T_EQ(flag, 5);
    finish(c, size - n_victim);
}

int main(int argc, char **argv)
{
    int x = 1, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(argc > 2);
    victim = atoi(argv[2]);
    n_victim = argc > 3 ? atoi(argv[3]) : 1;
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    big = calloc(LARGE, sizeof *big);
    big2 = calloc(LARGE, sizeof *big2);
    T_MUST(big != NULL && big2 != NULL);
    for (int i = 0; i < 5; i++) { // boards are there
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, c);
        MPI_Allreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c);
    }
    due = now() + 0.1;
    MPI_Bcast(&due, 1, MPI_DOUBLE, 0, c);
    if (strcmp(argv[1], "pending") == 0) {
        pending(c);
        finish(c, size - n_victim);
    } else if (strcmp(argv[1], "halves") == 0) {
        halves(c);
        finish(c, size - n_victim);
    } else if (strcmp(argv[1], "revoke") == 0) {
        n_victim = 0;
        do_revoke(c);
        finish(c, size);
    } else if (strcmp(argv[1], "storm") == 0) {
        storm(c);
        settle(c);
        finish(c, size - n_victim);
    } else if (strncmp(argv[1], "during_", 7) == 0) {
        during(c, strcmp(argv[1] + 7, "shrink") == 0);
        settle(c);
        finish(c, size - n_victim);
    } else {
        run(argv[1], c);
    }
    free(big);
    free(big2);
    MPI_Finalize();
    return t_status();
}
