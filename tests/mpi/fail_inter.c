// SPDX-License-Identifier: BSD-3-Clause
// Members of an intercommunicator die while the others are in the call that the first argument
// names: between two halves of the world, or between a world and the processes it spawned. The
// second argument is the rank that dies, counted through the group that has rank 0 of the job and
// then the other one. Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { LARGE = 1 << 17, KIDS = 3 };

static int me, n_low, n_all, victim; // places as the second argument counts them
static bool is_low, is_alone;        // nobody of the other group lives
static double *big, *big2;

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void expect(int code, int class)
{
    char text[MPI_MAX_ERROR_STRING] = "", who[64];
    int len;
    MPI_Error_string(code, text, &len);
    if (class_of(code) != class) {
        fprintf(stderr, "place %d: class %d, not %d: %s\n", me, class_of(code), class, text);
        t_failed++;
    }
    if (class == MPIX_ERR_PROC_FAILED) {
        int rank = victim < n_low ? victim : victim - n_low;
        snprintf(who, sizeof who, "rank %d of the %s group (process ", rank,
                 (victim < n_low) == is_low ? "local" : "remote");
        T_HAS(text, who);
    }
}

static bool is_other(int place)
{
    return (place < n_low) != is_low;
}

// The first one of the other group that lives, by its rank there.
static int peer(void)
{
    int first = is_low ? n_low : 0;
    return first == victim ? 1 : 0;
}

static int remote_size(MPI_Comm c)
{
    int n;
    MPI_Comm_remote_size(c, &n);
    return n;
}

static int do_recv(MPI_Comm c)
{
    int x, rank = victim < n_low ? victim : victim - n_low;
    return is_other(victim) ? MPI_Recv(&x, 1, MPI_INT, rank, 1, c, MPI_STATUS_IGNORE)
                            : MPI_Barrier(c); // who is in a group of its own cannot wait for it
}

static int do_send(MPI_Comm c)
{
    int rank = victim < n_low ? victim : victim - n_low;
    return is_other(victim) ? MPI_Send(big, LARGE, MPI_DOUBLE, rank, 1, c) : MPI_Barrier(c);
}

// Nobody of the own group could send this, so its deaths do not matter.
static int do_any(MPI_Comm c)
{
    int x = -1;
    if (is_other(victim)) {
        int rc = MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 2, c, MPI_STATUS_IGNORE);
        MPI_Send(&me, 1, MPI_INT, peer(), 3, c);
        return rc;
    }
    int rc = MPI_Barrier(c);
    if (me == (is_low ? 0 : n_low) + (victim == (is_low ? 0 : n_low))) { // whom the others call
        for (int i = 0; i < remote_size(c); i++) {
            T_EQ(MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 3, c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
    return rc;
}

static int do_barrier(MPI_Comm c)
{
    return MPI_Barrier(c);
}

static int do_allreduce(MPI_Comm c)
{
    return MPI_Allreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c);
}

static int do_small(MPI_Comm c)
{
    return MPI_Allreduce(big, big2, 1, MPI_DOUBLE, MPI_SUM, c);
}

// Several, because a root does not wait for the others.
static int do_bcast(MPI_Comm c)
{
    int rc = MPI_SUCCESS, root = victim == 0 ? 1 : 0;
    for (int i = 0; i < 50 && rc == MPI_SUCCESS; i++) {
        rc = MPI_Bcast(big, LARGE, MPI_DOUBLE,
                       !is_low      ? root
                       : me == root ? MPI_ROOT
                                    : MPI_PROC_NULL,
                       c);
        rc = rc == MPI_SUCCESS ? MPI_Barrier(c) : rc;
    }
    return rc;
}

static int do_iallreduce(MPI_Comm c)
{
    MPI_Request r;
    int rc = MPI_Iallreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c, &r);
    return rc == MPI_SUCCESS ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
}

static int do_dup(MPI_Comm c)
{
    MPI_Comm d;
    return MPI_Comm_dup(c, &d);
}

static int do_merge(MPI_Comm c)
{
    MPI_Comm d;
    return MPI_Intercomm_merge(c, is_low, &d);
}

static int do_agree(MPI_Comm c)
{
    int flag = is_low ? 6 : 3;
    int rc = MPIX_Comm_agree(c, &flag);
    T_EQ(flag, is_alone ? -1 : is_low ? 3 : 6); // that of the other group
    return rc;
}

static const struct {
    const char *name;
    int (*fn)(MPI_Comm c);
} ops[] = { { "recv", do_recv },
            { "send", do_send },
            { "any", do_any },
            { "barrier", do_barrier },
            { "allreduce", do_allreduce },
            { "small", do_small },
            { "bcast", do_bcast },
            { "iallreduce", do_iallreduce },
            { "dup", do_dup },
            { "merge", do_merge },
            { "agree", do_agree } };

// It works, for all kinds of traffic.
static void use(MPI_Comm c, int n_here, int n_there)
{
    int n, rank, sum, x = 1;
    MPI_Comm_size(c, &n);
    T_EQ(n, n_here);
    T_EQ(remote_size(c), n_there);
    MPI_Comm_rank(c, &rank);
    for (int i = 0; i < 10; i++) {
        T_EQ(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, c), MPI_SUCCESS);
        T_EQ(sum, n_there);
        T_EQ(MPI_Allreduce(big, big2, LARGE, MPI_DOUBLE, MPI_SUM, c), MPI_SUCCESS);
        if (rank == 0) {
            T_EQ(MPI_Sendrecv(big, LARGE, MPI_DOUBLE, 0, 7, big2, LARGE, MPI_DOUBLE, 0, 7, c,
                              MPI_STATUS_IGNORE),
                 MPI_SUCCESS);
        }
        T_EQ(MPI_Barrier(c), MPI_SUCCESS);
    }
    MPI_Comm all;
    T_EQ(MPI_Intercomm_merge(c, !is_low, &all), MPI_SUCCESS);
    T_EQ(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, all), MPI_SUCCESS);
    T_EQ(sum, n_here + n_there);
    MPI_Comm_free(&all);
}

static void check_failed(MPI_Comm c)
{
    MPI_Group g;
    int n = 0;
    while (n == 0) {
        MPIX_Comm_get_failed(c, &g);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
    }
    T_EQ(n, 1);
    T_EQ(MPIX_Comm_ack_failed(c, 1, &n), MPI_SUCCESS);
    T_EQ(n, 1);
}

// One revokes, the others wait for each other in several ways.
static void do_revoke(MPI_Comm c)
{
    int x = 0, flag;
    if (me == 0) {
        usleep(50000);
        T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
    } else if (me % 3 == 1) {
        expect(MPI_Recv(&x, 1, MPI_INT, 0, 11, c, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED);
    } else {
        expect(me % 3 == 2 ? MPI_Barrier(c) : do_allreduce(c), MPIX_ERR_REVOKED);
    }
    T_EQ(MPIX_Comm_is_revoked(c, &flag), MPI_SUCCESS);
    T_EQ(flag, 1);
    expect(MPI_Send(&x, 1, MPI_INT, 0, 11, c), MPIX_ERR_REVOKED);
    expect(do_small(c), MPIX_ERR_REVOKED);
    T_EQ(do_agree(c), MPI_SUCCESS);
}

static void run(const char *name, MPI_Comm c, bool is_last)
{
    int n_here = is_low ? n_low : n_all - n_low, rc = -1;
    MPI_Comm next = MPI_COMM_NULL;
    if (strcmp(name, "revoke") == 0) {
        do_revoke(c);
    } else {
        for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
            if (strcmp(ops[i].name, name) == 0 && me == victim) {
                usleep(100000);
                kill(getpid(), SIGKILL);
            }
            rc = strcmp(ops[i].name, name) == 0 ? ops[i].fn(c) : rc;
        }
        expect(rc, MPIX_ERR_PROC_FAILED);
        check_failed(c);
        is_alone = is_last;
        expect(do_small(c), MPIX_ERR_PROC_FAILED);
        T_EQ(do_agree(c), MPI_SUCCESS);
        n_here -= !is_other(victim);
        n_all--;
    }
    T_EQ(MPIX_Comm_shrink(c, &next), MPI_SUCCESS);
    if (is_last) {
        T_OK(next == MPI_COMM_NULL);
        return;
    }
    use(next, n_here, n_all - n_here);
    MPI_Comm_free(&next);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm parent, half = MPI_COMM_NULL, c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    T_MUST(argc > 2);
    victim = atoi(argv[2]);
    big = calloc(LARGE, sizeof *big);
    big2 = calloc(LARGE, sizeof *big2);
    T_MUST(big != NULL && big2 != NULL);
    bool is_spawn = argc > 3 && strcmp(argv[3], "spawn") == 0;
    if (parent != MPI_COMM_NULL) {
        c = parent;
        n_low = remote_size(c);
        n_all = n_low + size;
    } else if (is_spawn) {
        MPI_Comm_spawn(argv[0], argv + 1, KIDS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c,
                       MPI_ERRCODES_IGNORE);
        n_low = size;
        n_all = size + KIDS;
        is_low = true;
    } else {
        n_low = argc > 3 ? atoi(argv[3]) : size / 2;
        n_all = size;
        is_low = rank < n_low;
        MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? n_low : 0, 5, &c);
    }
    me = parent != MPI_COMM_NULL ? n_low + rank : rank;
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) { // boards are there
        T_EQ(MPI_Barrier(c), MPI_SUCCESS);
        T_EQ(do_allreduce(c), MPI_SUCCESS);
    }
    T_EQ(do_agree(c), MPI_SUCCESS); // nobody dies before all have come so far
    run(argv[1], c, n_all - n_low == 1);
    MPI_Comm_free(&c);
    if (half != MPI_COMM_NULL) {
        MPI_Comm_free(&half);
    }
    MPI_Finalize();
    return t_status();
}
