// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are made, used for short and long collectives, and freed, again and again: the
// memory they share comes back.
#include "coll_t.h"

enum { N_ROUND = 300, WARM = 30, LEN = 20000, MORE_KIB = 3000 };

// Shared memory this process has touched, KiB.
static long touched(void)
{
    char line[200];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        sscanf(line, "RssShmem: %ld", &kib);
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int *a = fresh(LEN), *b = fresh(LEN);
    long before = 0;
    for (int i = 0; i < N_ROUND; i++) {
        before = i == WARM ? touched() : before;
        MPI_Comm c;
        GOOD(MPI_Comm_dup(MPI_COMM_WORLD, &c));
        for (int k = 0; k < 5; k++) {
            int x = me + k, sum = 0;
            GOOD(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, c));
            T_EQ(sum, n * (n - 1) / 2 + n * k);
        }
        int root = i % n;
        for (int k = 0; k < LEN; k++) {
            a[k] = me == root ? i + k : -1;
        }
        GOOD(MPI_Bcast(a, LEN, MPI_INT, root, c));
        T_EQ(a[LEN - 1], i + LEN - 1);
        GOOD(MPI_Allreduce(a, b, LEN, MPI_INT, MPI_SUM, c));
        T_EQ(b[LEN - 1], n * (i + LEN - 1));
        GOOD(MPI_Comm_free(&c));
    }
    // Each of them would have touched half a MiB of its own.
    T_OK(before > 0 && touched() - before < MORE_KIB);
    free(a);
    free(b);
    MPI_Finalize();
    return t_status();
}
