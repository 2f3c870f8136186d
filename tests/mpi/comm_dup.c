// SPDX-License-Identifier: BSD-3-Clause
// Copies: attributes, hints, error handlers, names and topologies; blocking and not; copy callbacks
// that fail; many copies under way while other traffic flows.
#include "comm.h"

enum { MANY = 50 };

static int n_copied, n_deleted, all[64];

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    n_copied++;
    *(void **)out = (char *)in + (intptr_t)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int copy_fails(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_ERR_INTERN;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    n_deleted++;
    return MPI_SUCCESS;
}

typedef void make_fn(MPI_Comm from, MPI_Info info, MPI_Comm *to);

static void dup(MPI_Comm from, MPI_Info info, MPI_Comm *to)
{
    (void)info;
    T_MPI(MPI_Comm_dup(from, to));
}

static void dup_info(MPI_Comm from, MPI_Info info, MPI_Comm *to)
{
    T_MPI(MPI_Comm_dup_with_info(from, info, to));
}

static void idup(MPI_Comm from, MPI_Info info, MPI_Comm *to)
{
    MPI_Request r;
    (void)info;
    T_MPI(MPI_Comm_idup(from, to, &r));
    T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void idup_info(MPI_Comm from, MPI_Info info, MPI_Comm *to)
{
    MPI_Request r;
    int flag = 0;
    T_MPI(MPI_Comm_idup_with_info(from, info, to, &r));
    while (!flag) {
        T_MPI(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
    }
}

static const char *hint(MPI_Comm comm, const char *key)
{
    static char value[32];
    MPI_Info info;
    int flag;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get(info, key, 31, value, &flag);
    MPI_Info_free(&info);
    return flag ? value : "none";
}

// What a copy must and must not take over, whichever way it was made.
static void inherits(make_fn *make, int has_own_info)
{
    int kept, lost, flag, len = 1;
    void *value;
    char name[MPI_MAX_OBJECT_NAME] = "?";
    MPI_Comm from, to;
    MPI_Info info;
    MPI_Errhandler handler;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &from));
    T_MPI(MPI_Comm_set_name(from, "origin"));
    T_MPI(MPI_Comm_create_keyval(copy, drop, &kept, (void *)3));
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &lost, NULL));
    T_MPI(MPI_Comm_set_attr(from, kept, (void *)40));
    T_MPI(MPI_Comm_set_attr(from, lost, (void *)41));
    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    T_MPI(MPI_Comm_set_info(from, info));
    T_MPI(MPI_Info_delete(info, "mpi_assert_no_any_tag"));
    T_MPI(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
    n_copied = n_deleted = 0;
    make(from, info, &to);
    T_EQ(n_copied, 1);
    c_intra(to, all, world_size);
    T_MPI(MPI_Comm_get_attr(to, kept, &value, &flag));
    T_OK(flag && value == (void *)43);
    T_MPI(MPI_Comm_get_attr(to, lost, &value, &flag));
    T_EQ(flag, 0);
    T_MPI(MPI_Comm_get_name(to, name, &len));
    T_EQ(len, 0);
    T_MPI(MPI_Comm_get_errhandler(to, &handler));
    T_OK(handler == MPI_ERRORS_RETURN);
    T_STR(hint(to, "mpi_assert_no_any_tag"), "false");
    T_STR(hint(to, "mpi_assert_exact_length"), has_own_info ? "true" : "false");
    T_MPI(MPI_Comm_compare(from, to, &flag));
    T_EQ(flag, MPI_CONGRUENT);
    T_MPI(MPI_Comm_free(&to));
    T_EQ(n_deleted, 1);
    T_MPI(MPI_Comm_free(&from));
    T_EQ(n_deleted, 3);
    MPI_Comm_free_keyval(&kept);
    MPI_Comm_free_keyval(&lost);
    MPI_Info_free(&info);
}

// One rank's copy callback fails: it alone gets the error, with the user's code, and no
// communicator; what it had copied before is deleted again.
static void failing_copy(int is_nonblocking)
{
    int good, bad, code;
    MPI_Comm from, to = MPI_COMM_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &from));
    T_MPI(MPI_Comm_create_keyval(copy, drop, &good, NULL));
    T_MPI(MPI_Comm_create_keyval(copy_fails, drop, &bad, NULL));
    T_MPI(MPI_Comm_set_attr(from, good, NULL));
    if (world_rank == 0) {
        T_MPI(MPI_Comm_set_attr(from, bad, NULL));
    }
    n_copied = n_deleted = 0;
    code = is_nonblocking ? MPI_Comm_idup(from, &to, &r) : MPI_Comm_dup(from, &to);
    if (world_rank == 0) {
        T_EQ(code, MPI_ERR_INTERN);
        T_OK(to == MPI_COMM_NULL && r == MPI_REQUEST_NULL);
        T_EQ(n_deleted, n_copied);
    } else {
        T_EQ(code, MPI_SUCCESS);
        T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
        T_MPI(MPI_Comm_free(&to));
    }
    T_MPI(MPI_Barrier(from)); // the origin is as good as before
    T_MPI(MPI_Comm_free(&from));
    MPI_Comm_free_keyval(&good);
    MPI_Comm_free_keyval(&bad);
}

// Many copies at once, completed in another order, while messages go round.
static void outstanding(void)
{
    MPI_Comm copies[MANY];
    MPI_Request reqs[MANY];
    for (int i = 0; i < MANY; i++) {
        T_MPI(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &reqs[i]));
        if (i % 10 == 0) {
            T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    int to = (world_rank + 1) % world_size, from = (world_rank + world_size - 1) % world_size, got;
    T_MPI(MPI_Sendrecv(&to, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
    for (int i = MANY - 1; i >= MANY / 2; i--) {
        T_MPI(MPI_Wait(&reqs[i], MPI_STATUS_IGNORE));
    }
    T_MPI(MPI_Waitall(MANY / 2, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        c_intra(copies[(i * 7) % MANY], all, world_size);
    }
    for (int i = 0; i < MANY; i++) {
        T_MPI(MPI_Comm_free(&copies[i]));
    }
}

// A copy of a grid is a grid.
static void topology(void)
{
    int dim = world_size, period = 1, kind, got_dim, got_period, coord;
    MPI_Comm grid, copy_of;
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &period, 0, &grid));
    T_MPI(MPI_Comm_dup(grid, &copy_of));
    T_MPI(MPI_Comm_free(&grid));
    T_MPI(MPI_Topo_test(copy_of, &kind));
    T_EQ(kind, MPI_CART);
    T_MPI(MPI_Cart_get(copy_of, 1, &got_dim, &got_period, &coord));
    T_OK(got_dim == dim && got_period == 1 && coord == world_rank);
    T_MPI(MPI_Comm_free(&copy_of));
}

// Other constructors with an info object take hints from it, and none from the parent.
static void other_hints(void)
{
    MPI_Comm parent, c[4];
    MPI_Info info;
    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "mpi_assert_no_any_source", "true"));
    T_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &parent));
    T_MPI(MPI_Info_delete(info, "mpi_assert_no_any_source"));
    T_MPI(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    T_MPI(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, info, &c[0]));
    T_MPI(MPI_Dist_graph_create_adjacent(parent, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                         info, 0, &c[1]));
    T_MPI(MPI_Dist_graph_create(parent, 0, NULL, NULL, NULL, MPI_UNWEIGHTED, info, 0, &c[2]));
    T_MPI(MPI_Comm_split(parent, 0, 0, &c[3]));
    for (int i = 0; i < 4; i++) {
        T_STR(hint(c[i], "mpi_assert_no_any_source"), "false");
        T_STR(hint(c[i], "mpi_assert_no_any_tag"), i < 3 ? "true" : "false");
        T_MPI(MPI_Comm_free(&c[i]));
    }
    T_MPI(MPI_Comm_split_type(parent, MPI_UNDEFINED, 0, info, &c[0])); // hints for nothing
    T_OK(c[0] == MPI_COMM_NULL);
    T_MPI(MPI_Comm_free(&parent));
    T_MPI(MPI_Info_free(&info));
}

// A message on the new context may arrive before its receiver has the communicator.
static void early_message(void)
{
    MPI_Comm c;
    int got = -1;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &c));
    if (world_rank == 0) {
        for (int i = 1; i < world_size; i++) {
            T_MPI(MPI_Send(&i, 1, MPI_INT, i, 0, c));
        }
    } else {
        T_MPI(MPI_Recv(&got, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE));
        T_EQ(got, world_rank);
    }
    T_MPI(MPI_Comm_free(&c));
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    for (int i = 0; i < world_size; i++) {
        all[i] = i;
    }
    inherits(dup, 0);
    inherits(dup_info, 1);
    inherits(idup, 0);
    inherits(idup_info, 1);
    failing_copy(0);
    failing_copy(1);
    outstanding();
    topology();
    other_hints();
    early_message();
    MPI_Comm c;
    T_REFUSED(MPI_Comm_dup(MPI_COMM_NULL, &c), MPI_ERR_COMM, "MPI_COMM_NULL");
    return t_end();
}
