// SPDX-License-Identifier: BSD-3-Clause
// Cartesian topologies against a naive model: random grids with and without periods, shifts,
// slices, reordering, and grids that do not fit.
#include "comm.h"

enum { ROUNDS = 40, MAX_DIM = 5 };

struct grid {
    int n_dim, n, dims[MAX_DIM], periods[MAX_DIM];
};

static struct grid random_grid(unsigned seed)
{
    struct grid g = { .n = 1 };
    unsigned s = seed * 977 + 5;
    g.n_dim = (int)(c_random(&s) % (MAX_DIM + 1));
    for (int i = 0; i < g.n_dim; i++) {
        int most = world_size / g.n;
        g.dims[i] = 1 + (int)(c_random(&s) % (unsigned)(most > 4 ? 4 : most));
        g.periods[i] = (int)(c_random(&s) % 2);
        g.n *= g.dims[i];
    }
    return g;
}

// Where a rank is, counted out one by one.
static void place(const struct grid *g, int rank, int coords[])
{
    memset(coords, 0, MAX_DIM * sizeof(int));
    for (int k = 0; k < rank; k++) {
        for (int i = g->n_dim - 1; i >= 0 && ++coords[i] == g->dims[i]; i--) {
            coords[i] = 0;
        }
    }
}

// The rank at coordinates, by looking at all; MPI_PROC_NULL outside.
static int rank_at(const struct grid *g, const int coords[])
{
    int want[MAX_DIM], at[MAX_DIM];
    for (int i = 0; i < g->n_dim; i++) {
        want[i] = coords[i];
        while (g->periods[i] && want[i] < 0) {
            want[i] += g->dims[i];
        }
        while (g->periods[i] && want[i] >= g->dims[i]) {
            want[i] -= g->dims[i];
        }
    }
    for (int r = 0; r < g->n; r++) {
        place(g, r, at);
        if (memcmp(at, want, (size_t)g->n_dim * sizeof(int)) == 0) {
            return r;
        }
    }
    return MPI_PROC_NULL;
}

static void questions(MPI_Comm c, const struct grid *g, unsigned seed)
{
    int rank, n_dim, dims[MAX_DIM], periods[MAX_DIM], coords[MAX_DIM], want[MAX_DIM], got;
    unsigned s = seed;
    MPI_Comm_rank(c, &rank);
    place(g, rank, want);
    T_MPI(MPI_Topo_test(c, &got));
    T_EQ(got, MPI_CART);
    T_MPI(MPI_Cartdim_get(c, &n_dim));
    T_EQ(n_dim, g->n_dim);
    T_MPI(MPI_Cart_get(c, MAX_DIM, dims, periods, coords));
    for (int i = 0; i < g->n_dim; i++) {
        T_OK(dims[i] == g->dims[i] && periods[i] == g->periods[i] && coords[i] == want[i]);
    }
    for (int r = 0; r < g->n; r++) {
        place(g, r, want);
        T_MPI(MPI_Cart_coords(c, r, g->n_dim, coords));
        T_OK(memcmp(coords, want, (size_t)g->n_dim * sizeof(int)) == 0);
        T_MPI(MPI_Cart_rank(c, want, &got));
        T_EQ(got, r);
    }
    for (int k = 0; k < 10 && g->n_dim > 0; k++) {
        int dir = (int)(c_random(&s) % (unsigned)g->n_dim), disp = (int)(c_random(&s) % 13) - 6;
        int from, to, there[MAX_DIM];
        T_MPI(MPI_Cart_shift(c, dir, disp, &from, &to));
        place(g, rank, there);
        there[dir] += disp;
        T_EQ(to, rank_at(g, there));
        there[dir] -= 2 * disp;
        T_EQ(from, rank_at(g, there));
        there[dir] += (int)(c_random(&s) % 3) * 100 * g->dims[dir]; // far outside
        int code = MPI_Cart_rank(c, there, &got);
        int model = rank_at(g, there);
        T_EQ(code == MPI_SUCCESS, model != MPI_PROC_NULL);
        T_EQ(got, code == MPI_SUCCESS ? model : got);
    }
}

// Slices of a grid: members, order, dimensions and periods.
static void slices(MPI_Comm c, const struct grid *g, const int world_of[], unsigned seed)
{
    int remain[MAX_DIM], mine[MAX_DIM], at[MAX_DIM], want[64], n = 0, rank;
    struct grid sub = { .n = 1 };
    unsigned s = seed;
    MPI_Comm_rank(c, &rank);
    place(g, rank, mine);
    for (int i = 0; i < g->n_dim; i++) {
        remain[i] = (int)(c_random(&s) % 2);
        if (remain[i]) {
            sub.dims[sub.n_dim] = g->dims[i];
            sub.periods[sub.n_dim++] = g->periods[i];
            sub.n *= g->dims[i];
        }
    }
    for (int r = 0; r < g->n; r++) {
        int is_mate = 1;
        place(g, r, at);
        for (int i = 0; i < g->n_dim; i++) {
            is_mate = is_mate && (remain[i] || at[i] == mine[i]);
        }
        if (is_mate) {
            want[n++] = world_of[r];
        }
    }
    MPI_Comm slice;
    T_MPI(MPI_Cart_sub(c, remain, &slice));
    c_intra(slice, want, n);
    questions(slice, &sub, seed);
    MPI_Comm_free(&slice);
}

static void random_grids(void)
{
    int world_of[64], map;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct grid g = random_grid(round);
        MPI_Comm c;
        T_MPI(MPI_Cart_map(MPI_COMM_WORLD, g.n_dim, g.dims, g.periods, &map));
        T_EQ(map, world_rank < g.n ? world_rank : MPI_UNDEFINED);
        T_MPI(MPI_Cart_create(MPI_COMM_WORLD, g.n_dim, g.dims, g.periods, (int)round % 2, &c));
        if (c == MPI_COMM_NULL) {
            T_OK(world_rank >= g.n);
            continue;
        }
        T_MPI(MPI_Allgather(&world_rank, 1, MPI_INT, world_of, 1, MPI_INT, c));
        c_intra(c, world_of, g.n);
        for (int i = 0; i < g.n && round % 2 == 0; i++) {
            T_EQ(world_of[i], i);
        }
        questions(c, &g, round);
        slices(c, &g, world_of, round * 3 + 1);
        MPI_Comm_free(&c);
    }
}

// Neighbours of collectives are those of shifts, also where both directions meet.
static void neighbors(void)
{
    int dims[2] = { world_size, 1 }, periods[2] = { 1, 0 }, got[4] = { -9, -9, -9, -9 };
    int send[4] = { 10 * world_rank, 10 * world_rank + 1, 7, 8 }, from, to;
    MPI_Comm c;
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c));
    T_MPI(MPI_Cart_shift(c, 0, 1, &from, &to));
    T_MPI(MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, c));
    T_EQ(got[0], 10 * from + 1);
    T_EQ(got[1], 10 * to);
    T_OK(got[2] == -9 && got[3] == -9);
    MPI_Comm_free(&c);
}

static void mistakes(void)
{
    MPI_Comm c = MPI_COMM_NULL, grid, self_grid;
    int dims[2] = { world_size, 2 }, periods[2] = { 0, 0 }, one = 1, x, y, at[2] = { 0, 0 };
    T_REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c), MPI_ERR_DIMS,
              "processes or more");
    dims[1] = 0;
    T_REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c), MPI_ERR_DIMS,
              "dims[1] is 0");
    T_REFUSED(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, periods, 0, &c), MPI_ERR_DIMS, "ndims");
    T_REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 1, NULL, periods, 0, &c), MPI_ERR_ARG, "dims");
    T_REFUSED(MPI_Cart_rank(MPI_COMM_WORLD, at, &x), MPI_ERR_TOPOLOGY, "MPI_COMM_WORLD has no");
    dims[1] = 1;
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    at[0] = world_size;
    T_REFUSED(MPI_Cart_rank(grid, at, &x), MPI_ERR_ARG, "not periodic");
    T_REFUSED(MPI_Cart_shift(grid, 2, 1, &x, &y), MPI_ERR_DIMS, "2 dimensions");
    T_REFUSED(MPI_Cart_coords(grid, world_size, 2, at), MPI_ERR_RANK, "rank");
    T_REFUSED(MPI_Cart_coords(grid, 0, 1, at), MPI_ERR_ARG, "maxdims");
    T_REFUSED(MPI_Cart_get(grid, 1, at, at, at), MPI_ERR_ARG, "maxdims");
    T_REFUSED(MPI_Graphdims_get(grid, &x, &y), MPI_ERR_TOPOLOGY, "a cartesian topology");
    T_REFUSED(MPI_Cart_sub(grid, NULL, &c), MPI_ERR_ARG, "remain_dims");
    T_MPI(MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 1, &self_grid));
    T_MPI(MPI_Cart_shift(self_grid, 0, -2147483647 - 1, &x, &y));
    T_OK(x == 0 && y == 0);
    MPI_Comm_free(&self_grid);
    MPI_Comm_free(&grid);
    T_OK(c == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    random_grids();
    neighbors();
    mistakes();
    return t_end();
}
