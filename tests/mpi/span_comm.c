// SPDX-License-Identifier: BSD-3-Clause
// Constructors of communicators and groups, topologies, and the attributes of IMPI: on one job, and
// over several that IMPI joins.
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "t.h"

static int rank, size;

// All ranks of a communicator hear from each other.
static void talk(MPI_Comm c, int expect)
{
    int r, n, sum = -1;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    T_EQ(n, expect);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, c);
    T_EQ(sum, n * (n - 1) / 2);
    int to = (r + 1) % n, from = (r + n - 1) % n, got = -1;
    MPI_Sendrecv(&r, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, c, MPI_STATUS_IGNORE);
    T_EQ(got, from);
}

static int attr(MPI_Comm c, int key)
{
    int *value, flag;
    MPI_Comm_get_attr(c, key, &value, &flag);
    T_EQ(flag, 1);
    return flag ? *value : -1;
}

static void copies(void)
{
    MPI_Comm a, b, d, e;
    MPI_Request q[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(a, &b);
    talk(b, size);
    // The same tag on two communicators does not mix.
    int x = 1, y = 2, got[2] = { 0, 0 }, to = (rank + size / 2) % size;
    int from = (rank + size - size / 2) % size;
    MPI_Irecv(&got[0], 1, MPI_INT, from, 5, b, &q[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, from, 5, a, &q[1]);
    MPI_Send(&x, 1, MPI_INT, to, 5, a);
    MPI_Send(&y, 1, MPI_INT, to, 5, b);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    T_EQ(got[0], 2);
    T_EQ(got[1], 1);
    MPI_Comm_free(&a);
    MPI_Comm_idup(b, &d, &q[0]);
    MPI_Comm_idup(b, &e, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    talk(d, size);
    talk(e, size);
    int result;
    MPI_Comm_compare(d, e, &result);
    T_EQ(result, MPI_CONGRUENT);
    MPI_Comm_free(&d);
    MPI_Comm_free(&e);
    MPI_Comm_dup_with_info(b, MPI_INFO_NULL, &d);
    MPI_Comm_idup_with_info(b, MPI_INFO_NULL, &e, &q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    talk(d, size);
    talk(e, size);
    MPI_Comm_free(&b);
    MPI_Comm_free(&d);
    MPI_Comm_free(&e);
}

static void parts(void)
{
    MPI_Comm c, half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);
    talk(c, rank % 2 ? size / 2 : (size + 1) / 2);
    MPI_Comm_free(&c);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 7, rank, &c);
    T_EQ(c == MPI_COMM_NULL, rank == 0);
    if (c != MPI_COMM_NULL) {
        talk(c, size - 1);
        MPI_Comm_free(&c);
    }
    MPI_Group world, group;
    int last[1][3] = { { size - 1, 0, -2 } }; // every other rank, backwards
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, last, &group);
    int n;
    MPI_Group_size(group, &n);
    MPI_Comm_create(MPI_COMM_WORLD, group, &half);
    MPI_Group_rank(group, &(int){ 0 });
    if (half != MPI_COMM_NULL) {
        talk(half, n);
        MPI_Comm_create_group(half, group, 9, &c);
        talk(c, n);
        MPI_Comm_free(&c);
        MPI_Comm_free(&half);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void pairs(void)
{
    MPI_Comm half, inter, all, copy;
    int first = size / 2, low = rank < first, n, got = -1;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? first : 0, 17, &inter);
    MPI_Comm_remote_size(inter, &n);
    T_EQ(n, low ? size - first : first);
    int me;
    MPI_Comm_rank(inter, &me);
    if (me < n && me < size - n) {
        MPI_Sendrecv(&rank, 1, MPI_INT, me, 3, &got, 1, MPI_INT, me, 3, inter, MPI_STATUS_IGNORE);
        T_EQ(got, low ? first + me : me);
    }
    int sum = 0, mine = 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    T_EQ(sum, n);
    MPI_Comm_dup(inter, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Intercomm_merge(inter, low, &all); // the second half first
    talk(all, size);
    MPI_Comm_rank(all, &me);
    T_EQ(me, low ? size - first + rank : rank - first);
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void grids(void)
{
    MPI_Comm grid, row, graph;
    int dims[2] = { 2, size / 2 }, periods[2] = { 1, 1 }, keep[2] = { 1, 0 };
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    T_EQ(grid == MPI_COMM_NULL, rank >= size / 2 * 2 && grid == MPI_COMM_NULL);
    if (grid != MPI_COMM_NULL) {
        talk(grid, size / 2 * 2);
        int up, down, me, got = -1, in[4], out;
        MPI_Comm_rank(grid, &me);
        MPI_Cart_shift(grid, 0, 1, &up, &down);
        MPI_Sendrecv(&me, 1, MPI_INT, down, 1, &got, 1, MPI_INT, up, 1, grid, MPI_STATUS_IGNORE);
        T_EQ(got, up);
        out = me;
        MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, grid);
        T_EQ(in[0], up);
        T_EQ(in[1], down);
        MPI_Cart_sub(grid, keep, &row);
        talk(row, 2);
        MPI_Comm_free(&row);
        MPI_Comm_free(&grid);
    }
    int index[64], edges[128];
    for (int i = 0; i < size; i++) { // a ring
        index[i] = 2 * i + 2;
        edges[2 * i] = (i + 1) % size;
        edges[2 * i + 1] = (i + size - 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &graph);
    talk(graph, size);
    MPI_Comm_free(&graph);
}

// The colors of a communicator are those of its members alone, counted from 0, and the same exactly
// for those of one client (host).
static void count_colors(MPI_Comm c, int size_key, int color_key, int whole_key, int n_max)
{
    int n, n_color = attr(c, size_key), mine[2] = { attr(c, color_key), 0 };
    int all[64][2], seen[64] = { 0 }, n_seen = 0;
    mine[1] = attr(MPI_COMM_WORLD, whole_key);
    MPI_Comm_size(c, &n);
    MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, c);
    for (int i = 0; i < n; i++) {
        T_OK(all[i][0] >= 0 && all[i][0] < n_color);
        n_seen += seen[all[i][0]]++ == 0;
        for (int k = 0; k < i; k++) {
            T_EQ(all[i][0] == all[k][0], all[i][1] == all[k][1]);
        }
    }
    T_EQ(n_seen, n_color);
    T_OK(n_color <= n_max);
}

static void colors(int n_client, int n_host)
{
    MPI_Comm c, shared, host;
    for (int way = 0; way < 3; way++) {
        if (way == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &c);
        } else { // backwards; or all but the first, so that a client may have no member
            MPI_Comm_split(MPI_COMM_WORLD, way == 1 || rank > 0 ? 0 : MPI_UNDEFINED, -rank, &c);
        }
        if (c != MPI_COMM_NULL) {
            count_colors(c, IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR, IMPI_CLIENT_COLOR, n_client);
            count_colors(c, IMPI_HOST_SIZE, IMPI_HOST_COLOR, IMPI_HOST_COLOR, n_host);
            MPI_Comm_free(&c);
        }
    }
    int result;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared);
    MPI_Comm_split(MPI_COMM_WORLD, attr(MPI_COMM_WORLD, IMPI_HOST_COLOR), rank, &host);
    MPI_Comm_compare(shared, host, &result);
    T_OK(result == MPI_CONGRUENT || n_client == 1); // a job alone does not count its hosts
    MPI_Comm_free(&shared);
    MPI_Comm_free(&host);
}

// Splits by type with an info entry, one rank staying out if there are several; how many are in.
static int pieces(int type, const char *key, const char *value, MPI_Info *used_out)
{
    MPI_Comm c;
    MPI_Info info;
    int n = 0;
    MPI_Info_create(&info);
    if (key != NULL) {
        MPI_Info_set(info, key, value);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, size > 1 && rank == size - 1 ? MPI_UNDEFINED : type, -rank,
                        info, &c);
    T_EQ(c == MPI_COMM_NULL, size > 1 && rank == size - 1);
    if (c != MPI_COMM_NULL) {
        MPI_Comm_size(c, &n);
        talk(c, n);
        MPI_Comm_free(&c);
    }
    if (used_out != NULL) {
        *used_out = info;
    } else {
        MPI_Info_free(&info);
    }
    return n;
}

// The types that are not memory: sets of processes, and hardware, of which each client has its own.
static void types(int n_client)
{
    MPI_Comm mine;
    int n, in, flag = 0, len = MPI_MAX_INFO_VAL;
    char what[MPI_MAX_INFO_VAL] = "";
    MPI_Info used;
    if (n_client == 1) {
        return; // comm_type has those
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mine);
    MPI_Comm_size(mine, &n);
    int last = rank == size - 1, has_last;
    MPI_Allreduce(&last, &has_last, 1, MPI_INT, MPI_MAX, mine);
    MPI_Comm_free(&mine);
    in = last ? 0 : n - has_last;
    T_EQ(pieces(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD", NULL),
         last ? 0 : size - 1);
    T_EQ(pieces(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF", NULL), !last);
    T_EQ(pieces(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory", NULL), in);
    T_EQ(pieces(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://Machine", NULL), in);
    T_EQ(pieces(MPI_COMM_TYPE_HW_UNGUIDED, NULL, NULL, &used), in);
    MPI_Info_get_string(used, "mpi_hw_resource_type", &len, what, &flag);
    T_EQ(flag, !last);
    T_OK(last || strcmp(what, "hwloc://Machine") == 0);
    MPI_Info_free(&used);
}

static void clients(int n_client, int n_host)
{
    MPI_Comm mine;
    int n = attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE), color = attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR);
    T_EQ(n, n_client);
    T_OK(color >= 0 && color < n);
    T_EQ(attr(MPI_COMM_SELF, IMPI_CLIENT_SIZE), 1);
    T_EQ(attr(MPI_COMM_SELF, IMPI_CLIENT_COLOR), 0);
    T_EQ(attr(MPI_COMM_WORLD, IMPI_HOST_SIZE), n_host);
    int host = attr(MPI_COMM_WORLD, IMPI_HOST_COLOR);
    T_OK(n_host == n_client ? host == color : host >= color && host < n_host);
    T_OK(attr(MPI_COMM_WORLD, MPI_TAG_UB) >= 32767);
    if (n_client > 1) { // inside a job more can be spawned
        T_OK(attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE) > size);
    }
    colors(n_client, n_host);
    types(n_client);
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &mine);
    T_EQ(attr(mine, IMPI_CLIENT_SIZE), 1);
    int m;
    MPI_Comm_size(mine, &m);
    talk(mine, m);
    MPI_Comm_free(&mine);
}

// Say that all have come, and wait for a line on standard input at rank 0: for tests that end
// something meanwhile.
static void wait_for_line(void)
{
    char line[16];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        puts("ready");
        fflush(stdout);
        while (fgets(line, sizeof line, stdin) == NULL) {
            pause(); // there will be none: something is to end this process
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        wait_for_line();
        MPI_Finalize();
        return t_status();
    }
    copies();
    parts();
    pairs();
    grids();
    int n_client = argc > 1 ? atoi(argv[1]) : 1; // and hosts, if there are more
    clients(n_client, argc > 2 ? atoi(argv[2]) : n_client);
    MPI_Finalize();
    return t_status();
}
