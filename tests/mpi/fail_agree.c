// SPDX-License-Identifier: BSD-3-Clause
// Agreements that nobody waits for, many at once, while a rank dies; and communicators that are
// revoked, shrunk and freed more often than there is room for. Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <unistd.h>

enum { MANY = 23, TAKEN = 32 };

static int rank, size;

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

// All begin many, and complete them in any order.
static void at_once(MPI_Comm c)
{
    MPI_Request r[MANY + 2];
    MPI_Comm made[2] = { MPI_COMM_NULL, MPI_COMM_NULL };
    int flag[MANY], n, result;
    T_EQ(MPIX_Comm_ishrink(c, &made[0], &r[MANY]), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        flag[i] = 1 << i | (rank == i % size ? 0 : 1 << 30);
        T_EQ(MPIX_Comm_iagree(c, &flag[i], &r[i]), MPI_SUCCESS);
    }
    T_EQ(MPIX_Comm_ishrink(c, &made[1], &r[MANY + 1]), MPI_SUCCESS);
    if (rank % 2 == 0) {
        T_EQ(MPI_Wait(&r[MANY + 1], MPI_STATUS_IGNORE), MPI_SUCCESS); // the last one first
    }
    T_EQ(MPI_Waitall(MANY + 2, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        T_EQ(flag[i], 1 << i);
    }
    for (int i = 0; i < 2; i++) {
        T_MUST(made[i] != MPI_COMM_NULL);
        MPI_Comm_compare(made[i], c, &result);
        T_EQ(result, MPI_CONGRUENT);
        MPI_Comm_size(made[i], &n);
        T_EQ(n, size);
        T_EQ(MPI_Barrier(made[i]), MPI_SUCCESS);
        MPI_Comm_free(&made[i]);
    }
}

// The n-th agreement ends in the same way everywhere: what each rank got is compared afterwards.
static void while_dying(MPI_Comm c)
{
    int victim = size / 2, flag[TAKEN], seen[TAKEN][2], got, n;
    MPI_Request r[TAKEN];
    MPI_Comm next = MPI_COMM_NULL;
    for (int i = 0; i < TAKEN; i++) {
        if (rank == victim && i == TAKEN / 2) {
            usleep(20000);
            kill(getpid(), SIGKILL);
        }
        flag[i] = ~(rank == victim ? 1 << 5 : 0);
        T_EQ(MPIX_Comm_iagree(c, &flag[i], &r[i]), MPI_SUCCESS);
    }
    for (int i = 0; i < TAKEN; i++) {
        int rc = MPI_SUCCESS, done = 0;
        while (!done && i % 2 == 0) {
            rc = MPI_Test(&r[i], &done, MPI_STATUS_IGNORE);
        }
        rc = i % 2 == 0 ? rc : MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        T_OK(rc == MPI_SUCCESS || class_of(rc) == MPIX_ERR_PROC_FAILED);
        T_OK(r[i] == MPI_REQUEST_NULL);
        seen[i][0] = flag[i];
        seen[i][1] = rc != MPI_SUCCESS;
    }
    T_EQ(seen[TAKEN - 1][0], ~0); // without the one that died
    T_EQ(seen[TAKEN - 1][1], 1);
    MPI_Request last;
    T_EQ(MPIX_Comm_ishrink(c, &next, &last), MPI_SUCCESS);
    T_EQ(MPI_Wait(&last, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_size(next, &n);
    T_EQ(n, size - 1);
    for (int i = 0; i < TAKEN; i++) {
        for (int k = 0; k < 2; k++) {
            MPI_Allreduce(&seen[i][k], &got, 1, MPI_INT, MPI_MIN, next);
            T_EQ(got, seen[i][k]);
            MPI_Allreduce(&seen[i][k], &got, 1, MPI_INT, MPI_MAX, next);
            T_EQ(got, seen[i][k]);
        }
    }
    MPI_Comm_free(&next);
}

// Each communicator is revoked by another rank, while the others are in a collective on it.
static void cycles(MPI_Comm c, int n)
{
    MPI_Comm at, next;
    int flag, x = 1, sum;
    T_EQ(MPI_Comm_dup(c, &at), MPI_SUCCESS);
    for (int i = 0; i < n && t_failed == 0; i++) {
        T_EQ(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, at), MPI_SUCCESS);
        T_EQ(sum, size);
        flag = 1;
        T_EQ(MPIX_Comm_agree(at, &flag), MPI_SUCCESS); // all have the sum
        T_EQ(i % size == rank ? MPIX_ERR_REVOKED : class_of(MPI_Barrier(at)), MPIX_ERR_REVOKED);
        T_EQ(MPIX_Comm_revoke(at), MPI_SUCCESS);
        flag = 1 << rank | 1 << 20;
        T_EQ(MPIX_Comm_agree(at, &flag), MPI_SUCCESS);
        T_EQ(flag, (size == 1 ? 1 : 0) | 1 << 20);
        T_EQ(MPIX_Comm_shrink(at, &next), MPI_SUCCESS);
        MPI_Comm_free(&at);
        at = next;
    }
    MPI_Comm_free(&at);
    T_EQ(MPIX_Comm_is_revoked(c, &flag), MPI_SUCCESS);
    T_EQ(flag, 0);
}

// The last rank dies and has freed none of what the others freed: there is room again.
static void swept(MPI_Comm c)
{
    enum { FIRST = 1600, THEN = 600 };
    static MPI_Comm made[FIRST];
    MPI_Comm next;
    int flag = 1, n = 0;
    for (int i = 0; i < FIRST; i++) {
        T_EQ(MPI_Comm_dup(c, &made[i]), MPI_SUCCESS);
    }
    for (int i = 0; i < FIRST && rank == 0; i++) {
        T_EQ(MPIX_Comm_revoke(made[i]), MPI_SUCCESS);
    }
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS);
    if (rank == size - 1) {
        kill(getpid(), SIGKILL);
    }
    for (int i = 0; i < FIRST; i++) {
        MPI_Comm_free(&made[i]);
    }
    T_EQ(class_of(MPIX_Comm_agree(c, &flag)), MPIX_ERR_PROC_FAILED);
    T_EQ(MPIX_Comm_shrink(c, &next), MPI_SUCCESS);
    for (; n < THEN; n++) {
        T_EQ(MPI_Comm_dup(next, &made[n]), MPI_SUCCESS);
        T_EQ(MPIX_Comm_revoke(made[n]), MPI_SUCCESS);
    }
    while (n-- > 0) {
        MPI_Comm_free(&made[n]);
    }
    MPI_Comm_free(&next);
}

// Those of others have the same context.
static void self_only(MPI_Comm c)
{
    int flag = -1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        T_EQ(MPIX_Comm_revoke(MPI_COMM_SELF), MPI_SUCCESS);
    }
    // The first one to leave a barrier may die before it has come to its end everywhere.
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS);
    T_EQ(MPIX_Comm_is_revoked(MPI_COMM_SELF, &flag), MPI_SUCCESS);
    T_EQ(flag, rank == 0);
    T_EQ(class_of(MPI_Barrier(MPI_COMM_SELF)), rank == 0 ? MPIX_ERR_REVOKED : MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    T_MUST(argc > 1);
    if (strcmp(argv[1], "cycles") == 0) {
        cycles(c, atoi(argv[2]));
    } else if (strcmp(argv[1], "swept") == 0) {
        swept(c);
    } else {
        at_once(c);
        self_only(c);
        while_dying(c);
    }
    MPI_Finalize();
    return t_status();
}
