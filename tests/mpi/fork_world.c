// SPDX-License-Identifier: BSD-3-Clause
// MPI_Fork: what clones have, who they are, and that the job goes on as if they had always been.
// "once M": ranks 0 to M-1 are cloned. "again": forks until 8 ranks are there. "refuse": all that
// must fail, and leaves the world as it was.
#include "obj.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1 << 16 };
static int *data;

static int rank_of(MPI_Comm c)
{
    int r = -1;
    MPI_Comm_rank(c, &r);
    return r;
}

static int size_of(MPI_Comm c)
{
    int n = -1;
    MPI_Comm_size(c, &n);
    return n;
}

// Everybody talks to everybody: short, long, collective.
static void talk(MPI_Comm c)
{
    int rank = rank_of(c), size = size_of(c), sum = 0;
    for (int round = 0; round < 5; round++) { // until it has a board, and beyond
        T_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c));
        T_EQ(sum, size * (size - 1) / 2);
    }
    int *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    for (int d = 1; d < size; d++) {
        int to = (rank + d) % size, from = (rank - d + size) % size;
        out[0] = out[N - 1] = rank;
        int n = d % 2 == 0 ? N : 1; // through blocks, in a cell
        T_MPI(MPI_Sendrecv(out, n, MPI_INT, to, d, in, n, MPI_INT, from, d, c, MPI_STATUS_IGNORE));
        T_EQ(in[0], from);
        T_EQ(in[n - 1], from);
    }
    free(in);
    free(out);
    T_MPI(MPI_Barrier(c));
}

// The fork must be done.
static int split(int m)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, got = MPI_Fork(m);
    if (got < 0) {
        MPI_Error_string(-got, text, &len);
        fprintf(stderr, "%s\n", text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return got;
}

static void check_memory(int was)
{
    int bad = 0;
    for (int i = 0; i < N; i++) {
        bad += data[i] != was * N + i;
    }
    T_EQ(bad, 0);
    data[rank_of(MPI_COMM_WORLD)] = -1; // this process's alone
}

static void once(int m)
{
    int was = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD), pid = (int)getpid(), key, flag;
    MPI_Comm dup, self, old;
    MPI_Datatype pair;
    void *value;
    for (int i = 0; i < N; i++) {
        data[i] = was * N + i;
    }
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &self));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, data);
    talk(MPI_COMM_WORLD);
    T_OK(MPI_COMM_PARENTS == MPI_COMM_NULL && MPI_COMM_CHILDREN == MPI_COMM_NULL);
    // Messages that nobody has asked for stay with the rank they were sent to.
    int word = was, other = (was + 1) % n, before = (was + n - 1) % n;
    T_MPI(MPI_Send(&word, 1, MPI_INT, other, 77, MPI_COMM_WORLD));
    MPI_Comm world0;
    T_MPI(MPIX_Comm_world_at(0, &world0));
    T_OK(world0 == MPI_COMM_WORLD);

    int got = split(m);

    int now = rank_of(MPI_COMM_WORLD), is_new = (int)getpid() != pid;
    T_EQ(got, is_new ? 0 : m);
    T_EQ(size_of(MPI_COMM_WORLD), n + m);
    T_EQ(now, is_new ? was + n : was);
    check_memory(was);
    T_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
    T_OK(flag && value == data);
    T_MPI(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    MPI_Comm_free_keyval(&key);
    talk(MPI_COMM_WORLD);
    T_OK((MPI_COMM_PARENTS == MPI_COMM_NULL) == is_new);
    T_OK((MPI_COMM_CHILDREN == MPI_COMM_NULL) == !is_new);
    talk(is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS);
    T_EQ(size_of(is_new ? MPI_COMM_CHILDREN : MPI_COMM_PARENTS), is_new ? m : n);
    T_MPI(MPIX_Comm_world_at(0, &old));
    T_OK((old == MPI_COMM_NULL) == is_new);
    int two[2] = { now, now }, in[2] = { -1, -1 };
    int right = (now + 1) % (n + m), left = (now + n + m - 1) % (n + m);
    T_MPI(MPI_Sendrecv(two, 1, pair, right, 1, in, 1, pair, left, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    T_EQ(in[1], left);
    MPI_Type_free(&pair);
    T_EQ(rank_of(self), 0);
    T_EQ(rank_of(MPI_COMM_SELF), 0);
    talk(self);
    if (is_new && n > 1) {
        int x;
        T_REFUSED(MPI_Comm_rank(dup, &x), MPI_ERR_COMM, "made before MPI_Fork");
    } else if (!is_new) {
        T_EQ(size_of(old), n);
        T_MPI(MPI_Recv(&word, 1, MPI_INT, before, 77, old, MPI_STATUS_IGNORE));
        T_EQ(word, before);
        talk(old);
        talk(dup);
    }
    T_MPI(MPI_Comm_free(&dup));
    T_OK(dup == MPI_COMM_NULL);
    T_MPI(MPI_Comm_free(&self));
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    talk(dup);
    T_MPI(MPI_Comm_free(&dup));
    printf("rank %d of %d was rank %d\n", now, n + m, was);
}

static void again(void)
{
    int n_fork = 0, n_new = 0;
    while (size_of(MPI_COMM_WORLD) < 8) {
        int n = size_of(MPI_COMM_WORLD), m = n == 1 ? 1 : n == 2 ? 1 : n == 3 ? 3 : 8 - n;
        int got = split(m), version;
        n_fork++;
        n_new = got == 0 ? n_fork : n_new;
        T_OK(got == 0 || got == m);
        T_EQ(size_of(MPI_COMM_WORLD), n + m);
        MPIX_World_version(&version);
        T_EQ(version, n_fork);
        talk(MPI_COMM_WORLD);
    }
    // Whoever was there at a fork is still in its parts.
    for (int v = 1; v <= n_fork; v++) {
        MPI_Comm parents, children;
        T_MPI(MPIX_Comm_parents_at(v, &parents));
        T_MPI(MPIX_Comm_children_at(v, &children));
        T_OK((parents != MPI_COMM_NULL) == (n_new < v));
        T_OK((children != MPI_COMM_NULL) == (n_new == v));
        if (n_new <= v) {
            talk(n_new == v ? children : parents);
        }
    }
    talk(MPI_COMM_WORLD);
}

static void refused(int got, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;
    T_OK(got < 0);
    MPI_Error_string(-got, text, &len);
    if (strstr(text, piece) == NULL || strncmp(text, "MPI_Fork", 8) != 0) {
        fprintf(stderr, "the sentence is \"%s\", but \"%s\" was wanted\n", text, piece);
        t_failed++;
    }
    talk(MPI_COMM_WORLD);
}

static void refuse(void)
{
    int rank = rank_of(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD), x, flag;
    MPI_Request r;
    refused(MPI_Fork(0), "it must be 1 to");
    refused(MPIX_Fork(n + 1), "rank 0 has argument m =");
    refused(MPI_Fork(rank == 1 ? 2 : 1), "different values");
    if (rank == 1) {
        MPI_Irecv(&x, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &r);
    }
    refused(MPI_Fork(1), "rank 1 has 1 request ");
    if (rank == 1) {
        MPI_Cancel(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    MPI_Request p;
    MPI_Send_init(&x, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &p);
    refused(MPI_Fork(1), "rank 0 has 1 request ");
    MPI_Request_free(&p);
    MPI_Win win;
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    refused(MPI_Fork(1), "has 1 windows");
    MPI_Win_free(&win);
    MPI_Comm c;
    T_REFUSED(MPIX_Comm_parents_at(1, &c), MPI_ERR_ARG, "versions 1 to 0");
    MPI_Initialized(&flag);
    T_OK(flag);
    once(1); // and after all that it works
}

int main(int argc, char **argv)
{
    t_start(&argc, &argv);
    T_MUST(argc > 1);
    data = malloc(N * sizeof *data);
    if (strcmp(argv[1], "once") == 0) {
        once(atoi(argv[2]));
    } else if (strcmp(argv[1], "again") == 0) {
        again();
    } else {
        refuse();
    }
    free(data);
    return t_end();
}
