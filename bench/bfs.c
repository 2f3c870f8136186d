// SPDX-License-Identifier: BSD-3-Clause
// Breadth-first search in a random graph, level by level, as Graph500's reference does it: vertices
// go to their owners in buffers, and every wait is a loop of MPI_Test. With more ranks than cores a
// rank that looks in vain keeps the one it waits for from working.
#include "bench.h"

#include <stdbool.h>

enum { SCALE = 15, DEGREE = 16, ROOM = 256, TAG_VISIT = 1, TAG_END = 2, CHUNKS = 5 };

struct out {
    int n;
    int at[ROOM];
    int flying[ROOM];
    MPI_Request sent;
};

static int me, n_rank, n_mine, n_ended;
static int *edges; // DEGREE of each vertex of mine
static char *seen; // of mine
static int *next;  // vertices of mine that the next level begins with
static int n_next;
static struct out *outs; // to each rank
static int in[ROOM];
static MPI_Request coming;

static unsigned long long dice(unsigned long long x) // splitmix64
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void visit(int vertex)
{
    int i = vertex / n_rank;
    if (!seen[i]) {
        seen[i] = 1;
        next[n_next++] = i;
    }
}

// Look once at what has come.
static void poll(void)
{
    MPI_Status s;
    int flag, n;
    MPI_Test(&coming, &flag, &s);
    if (!flag) {
        return;
    }
    MPI_Get_count(&s, MPI_INT, &n);
    for (int i = 0; i < n; i++) {
        visit(in[i]);
    }
    n_ended += s.MPI_TAG == TAG_END;
    MPI_Irecv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &coming);
}

static void flush(int rank, int tag)
{
    struct out *o = &outs[rank];
    int flag = 0;
    for (MPI_Test(&o->sent, &flag, MPI_STATUS_IGNORE); !flag;
         MPI_Test(&o->sent, &flag, MPI_STATUS_IGNORE)) {
        poll();
    }
    memcpy(o->flying, o->at, sizeof o->at);
    MPI_Isend(o->flying, o->n, MPI_INT, rank, tag, MPI_COMM_WORLD, &o->sent);
    o->n = 0;
}

static void reach(int vertex)
{
    int rank = vertex % n_rank;
    struct out *o = &outs[rank];
    if (rank == me) {
        visit(vertex);
        return;
    }
    o->at[o->n++] = vertex;
    if (o->n == ROOM) {
        flush(rank, TAG_VISIT);
    }
}

static void run_level(const int *level, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < DEGREE; k++) {
            reach(edges[level[i] * DEGREE + k]);
        }
        poll();
    }
    for (int r = 0; r < n_rank; r++) {
        if (r != me) {
            flush(r, TAG_END);
        }
    }
    while (n_ended < n_rank - 1) {
        poll();
    }
    n_ended = 0;
}

// Search from one vertex; how many were reached.
static long search(int root)
{
    static int *level;
    long reached = 0, sum = 1;
    level = level != NULL ? level : b_alloc((size_t)n_mine * sizeof(int));
    memset(seen, 0, (size_t)n_mine);
    n_next = 0;
    if (root % n_rank == me) {
        visit(root);
    }
    while (sum > 0) {
        int n = n_next;
        memcpy(level, next, (size_t)n * sizeof(int));
        reached += n;
        n_next = 0;
        run_level(level, n);
        long mine = n_next;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Allreduce(&reached, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int main(int argc, char **argv)
{
    me = b_start(&argc, &argv, 0);
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    n_mine = ((1 << SCALE) + n_rank - 1) / n_rank;
    edges = b_alloc((size_t)n_mine * DEGREE * sizeof(int));
    seen = b_alloc((size_t)n_mine);
    next = b_alloc((size_t)n_mine * sizeof(int));
    outs = b_alloc((size_t)n_rank * sizeof *outs);
    for (int i = 0; i < n_mine * DEGREE; i++) {
        unsigned long long edge = (unsigned long long)i * (unsigned)n_rank + (unsigned)me;
        edges[i] = (int)(dice(edge) % (unsigned)(n_mine * n_rank));
    }
    for (int r = 0; r < n_rank; r++) {
        outs[r].n = 0;
        outs[r].sent = MPI_REQUEST_NULL;
    }
    MPI_Irecv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &coming);
    double v[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        double t = MPI_Wtime();
        if (search(i) < 1 << SCALE >> 1) {
            b_die("the search did not reach the graph");
        }
        v[i] = MPI_Wtime() - t;
    }
    MPI_Cancel(&coming);
    MPI_Wait(&coming, MPI_STATUS_IGNORE);
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "scale=%d ranks=%d", SCALE, n_rank);
        b_report("bfs", params, b_median(v, CHUNKS) * 1e3, "ms");
    }
    MPI_Finalize();
    return 0;
}
