// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split against a naive model: random colors and keys, children of children, colors left
// out, and a bad color that leaves nobody waiting.
#include "comm.h"

enum { ROUNDS = 40, DEPTH = 4, MAX = 64 };

struct member {
    int color, key, who; // rank in the world
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->who - y->who;
}

// Split a communicator whose members are known, check the child, and go on with it.
static void descend(MPI_Comm comm, const int members[], int n, unsigned seed, int depth)
{
    struct member rows[MAX];
    int want[MAX], n_want = 0, me = 0;
    unsigned s = seed;
    int n_color = 1 + (int)(c_random(&s) % 3), kind = (int)(c_random(&s) % 3);
    for (int i = 0; i < n; i++) {
        rows[i].color =
            c_random(&s) % 7 == 0 ? MPI_UNDEFINED : (int)(c_random(&s) % n_color) * 1000;
        rows[i].key = kind == 0 ? 0 : kind == 1 ? -i : (int)(c_random(&s) % 3) - 1;
        rows[i].who = i;
        me = members[i] == world_rank ? i : me;
    }
    int color = rows[me].color;
    MPI_Comm child;
    T_MPI(MPI_Comm_split(comm, color, rows[me].key, &child));
    if (color == MPI_UNDEFINED) {
        T_OK(child == MPI_COMM_NULL);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (rows[i].color == color) {
            rows[n_want++] = rows[i];
        }
    }
    qsort(rows, (size_t)n_want, sizeof rows[0], by_key);
    for (int i = 0; i < n_want; i++) {
        want[i] = members[rows[i].who];
    }
    c_intra(child, want, n_want);
    if (child != MPI_COMM_NULL && depth > 1) {
        descend(child, want, n_want, seed * 7 + (unsigned)color, depth - 1);
    }
    if (child != MPI_COMM_NULL) {
        T_MPI(MPI_Comm_free(&child));
        T_OK(child == MPI_COMM_NULL);
    }
}

// The last rank gives a negative color: it gets an error, the others a communicator without it.
static void bad_color(void)
{
    MPI_Comm child = MPI_COMM_NULL;
    int want[MAX];
    for (int i = 0; i < world_size - 1; i++) {
        want[i] = i;
    }
    if (world_rank == world_size - 1) {
        T_REFUSED(MPI_Comm_split(MPI_COMM_WORLD, -7, 0, &child), MPI_ERR_ARG, "color is -7");
        T_OK(child == MPI_COMM_NULL);
    } else {
        T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &child));
        c_intra(child, want, world_size - 1);
        MPI_Comm_free(&child);
    }
}

// Extreme keys must not overflow on their way.
static void far_keys(void)
{
    MPI_Comm child;
    int want[MAX], n = 0;
    for (int half = 1; half >= 0; half--) {
        for (int i = 0; i < world_size; i++) {
            if (i % 2 == half) {
                want[n++] = i;
            }
        }
    }
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 2147483647, world_rank % 2 ? -2147483647 - 1 : 2147483647,
                         &child));
    c_intra(child, want, n);
    MPI_Comm_free(&child);
}

int main(int argc, char **argv)
{
    int all[MAX];
    c_start(&argc, &argv);
    for (int i = 0; i < world_size; i++) {
        all[i] = i;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        descend(MPI_COMM_WORLD, all, world_size, round * 2654435761u + 1, DEPTH);
    }
    bad_color();
    far_keys();
    MPI_Comm no = MPI_COMM_NULL;
    T_REFUSED(MPI_Comm_split(MPI_COMM_NULL, 0, 0, &no), MPI_ERR_COMM, "MPI_COMM_NULL");
    T_REFUSED(MPI_Comm_split(MPI_COMM_SELF, 0, 0, NULL), MPI_ERR_ARG, "newcomm");
    return t_end();
}
