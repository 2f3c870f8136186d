// SPDX-License-Identifier: BSD-3-Clause
// Time to make and free a communicator. Argument: comm_dup or comm_split.
#include "bench.h"
#include "coll.h"

static int me;

static void comm_dup(int size)
{
    (void)size;
    MPI_Comm c;
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_free(&c);
}

static void comm_split(int size)
{
    (void)size;
    MPI_Comm c;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &c);
    MPI_Comm_free(&c);
}

// The halves are separate: the sum over mine is that of the ranks of my kind.
static void check(int n)
{
    MPI_Comm c;
    int sum, want = 0;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &c);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, c);
    MPI_Comm_free(&c);
    for (int i = me % 2; i < n; i += 2) {
        want += i;
    }
    if (sum != want) {
        b_die("a half of the world has other members");
    }
}

int main(int argc, char **argv)
{
    me = b_start(&argc, &argv, 0);
    int n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (argc != 2 || (strcmp(argv[1], "comm_dup") != 0 && strcmp(argv[1], "comm_split") != 0)) {
        b_die("the argument is comm_dup or comm_split");
    }
    check(n);
    double t = c_measure(strcmp(argv[1], "comm_dup") == 0 ? comm_dup : comm_split, 0);
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "size=0 ranks=%d", n);
        b_report(argv[1], params, t * 1e6, "us");
    }
    MPI_Finalize();
    return 0;
}
