// SPDX-License-Identifier: BSD-3-Clause
// A resize is told by an error of the next call on the world, exactly once at every rank, also in
// calls that wait; nothing is lost or doubled. Needs mpiexec --elastic --on-resize=error and 4
// ranks.
#include <mpi.h>

#include "t.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 18, OLD = 4 };

static int rank;
static double *big;

static bool is_told(int code)
{
    int class = -1, len;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    T_OK((class == MPI_WORLD_RESIZED) == (code == MPI_WORLD_RESIZED)); // programs compare with it
    if (code == MPI_WORLD_RESIZED) {
        MPI_Error_string(code, text, &len);
        T_OK(strstr(text, "ranks now, which MPI_COMM_WORLD means from here on") != NULL);
    }
    return code == MPI_WORLD_RESIZED;
}

// MPI_COMM_WORLD is the new version, and no error comes any more.
static void use(int want)
{
    int size, one = 1, sum = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_EQ(size, want);
    for (int i = 0; i < 50; i++) {
        T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
        T_EQ(sum, want);
        T_EQ(MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % size, 3, &sum, 1, MPI_INT,
                          (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
        T_EQ(sum, i);
    }
}

// One half of each is done when it is interrupted, and is not done again when it is repeated: rank
// 0 has sent, rank 2 has received, into what it sends from as well.
static int exchange(MPI_Comm c, int *x)
{
    int nine = 9, rc;
    MPI_Status s;
    if (rank == 0) {
        rc = MPI_Sendrecv(&nine, 1, MPI_INT, 3, 6, x, 1, MPI_INT, 1, 9, c, &s);
        T_OK(rc != MPI_SUCCESS || (s.MPI_SOURCE == 1 && s.MPI_TAG == 9 && *x == 7));
        return rc;
    }
    rc = MPI_Sendrecv_replace(big, LARGE, MPI_DOUBLE, 1, 2, MPI_ANY_SOURCE, 8, c, &s);
    if (rc == MPI_SUCCESS) {
        int n;
        MPI_Get_count(&s, MPI_DOUBLE, &n);
        T_OK(s.MPI_SOURCE == 3 && s.MPI_TAG == 8 && n == 3 && big[2] == 3 && big[3] == 3);
    } else {
        T_OK(big[0] == 0 && big[2] == 2); // what is to be sent is there
        big[3] = 3;
    }
    return rc;
}

// Everybody waits in another call.
static void blocked(void)
{
    MPI_Comm c = MPI_COMM_WORLD, old;
    int x = 0, rc = MPI_SUCCESS, seven = 7, version, flag = 1;
    double three[3] = { 1, 2, 3 };
    MPI_Request r = MPI_REQUEST_NULL;
    if (rank == 0) {
        MPI_Isend(&seven, 1, MPI_INT, 1, 5, c, &r); // comes before, and is received after
    } else if (rank == 3) {
        MPI_Send(three, 3, MPI_DOUBLE, 2, 8, c);
    }
    T_EQ(MPI_Barrier(c), MPI_SUCCESS); // all are there before the first resize
    if (rank == 0) {
        rc = exchange(c, &x);
    } else if (rank == 1) {
        usleep(100000);
        T_EQ(MPIX_World_resize(MPI_COMM_SELF, OLD + 2), MPI_SUCCESS);
        rc = MPI_Probe(0, 1, c, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        for (int i = 0; i < LARGE; i++) {
            big[i] = i;
        }
        rc = exchange(c, NULL);
    } else {
        MPI_Irecv(&x, 1, MPI_INT, 0, 4, c, &r);
        rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
        T_OK(r != MPI_REQUEST_NULL);
    }
    T_OK(is_told(rc));
    T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS); // with those who wait in MPI_Init
    T_EQ(MPIX_Comm_world_at(0, &old), MPI_SUCCESS);
    MPIX_World_version(&version);
    T_EQ(version, 1);
    // The old version is as it was.
    if (rank == 0) {
        T_EQ(exchange(old, &x), MPI_SUCCESS);
        T_EQ(MPI_Send(&seven, 1, MPI_INT, 3, 4, old), MPI_SUCCESS);
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else if (rank == 1) {
        T_EQ(MPI_Send(&seven, 1, MPI_INT, 0, 9, old), MPI_SUCCESS);
        T_EQ(MPI_Recv(&x, 1, MPI_INT, 0, 5, old, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(x, 7);
        T_EQ(MPI_Recv(big, LARGE, MPI_DOUBLE, 2, 2, old, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_OK(big[LARGE - 1] == LARGE - 1 && big[2] == 2);
        usleep(50000);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, old, &flag, MPI_STATUS_IGNORE);
        T_EQ(flag, 0); // nothing was doubled
    } else if (rank == 2) {
        T_EQ(exchange(old, NULL), MPI_SUCCESS);
    } else {
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS); // comes behind what follows
        T_EQ(x, 7);
        T_EQ(MPI_Recv(&x, 1, MPI_INT, 0, 6, old, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(x, 9);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, old, &flag, MPI_STATUS_IGNORE);
        T_EQ(flag, 0);
    }
    T_EQ(MPI_Barrier(old), MPI_SUCCESS);
}

// Ranks that run ahead of others are told at the same collective.
static void together(int n, int rounds)
{
    int one = 1, sum = 0, i, least, most, told = 0, to = n + 1;
    for (i = 0; i < 1000000 && told == 0; i++) {
        int root = i % n, x = rank == root ? i : -1;
        if (rank == 0 && i == rounds) {
            T_EQ(MPIX_World_resize(MPI_COMM_SELF, to), MPI_SUCCESS);
        }
        int rc = i % 3 == 0 ? MPI_Bcast(&x, 1, MPI_INT, root, MPI_COMM_WORLD)
                            : MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        told += is_told(rc);
        if (told == 0) {
            T_EQ(rc, MPI_SUCCESS);
            T_OK(i % 3 == 0 ? x == i : sum == n);
        }
    }
    T_EQ(told, 1);
    T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    i = told == 1 ? i : -1;
    MPI_Allreduce(&i, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&i, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    T_EQ(most, i);
    T_OK(least == i || least == 0); // 0: of the new ones
}

// Nobody is told of a fork, which all ranks call; of the resize after it old and new ranks are.
static void fork_all(int n)
{
    int got = MPI_Fork(2), version;
    T_OK(got == 2 || got == 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_World_version(&version);
    T_EQ(version, 3);
    use(n + 2);
    together(n + 2, 10);
}

int main(int argc, char **argv)
{
    int version, size, last = OLD + 3;
    bool with_fork = argc > 1 && strcmp(argv[1], "fork") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPIX_Comm_world_version(MPI_COMM_WORLD, &version); // that this rank was started for
    big = calloc(LARGE, sizeof *big);
    T_MUST(big != NULL);
    if (version == 0) {
        blocked();
    }
    if (version <= 1) {
        use(OLD + 2);
        together(OLD + 2, 40);
    }
    if (version > 1) { // what the others do after they were told
        int zero = 0, x;
        MPI_Allreduce(&zero, &x, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        MPI_Allreduce(&zero, &x, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (version <= 2) {
        use(last);
    }
    if (with_fork && version <= 2) {
        fork_all(last);
    }
    last += with_fork ? 3 : 0;
    use(last);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_EQ(size, last);
    free(big);
    MPI_Finalize();
    return t_status();
}
