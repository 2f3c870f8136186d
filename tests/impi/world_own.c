// SPDX-License-Identifier: BSD-3-Clause
// What a program that knows of IMPI can ask: which client it is in. And what a client of another
// MPI is told about that which cannot be done between different MPIs, and can inside its own.
#include "world.h"
#include <impi.h>
#include <stdlib.h>
#include <string.h>

static int attr(MPI_Comm comm, int key)
{
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(flag != 0);
    return *value;
}

// Clients follow each other in the world; each has one agent, so hosts are the same.
static void colors(MPI_Comm comm, int n)
{
    int *all = malloc((size_t)n * sizeof *all), n_client = attr(comm, IMPI_CLIENT_SIZE);
    int mine = attr(comm, IMPI_CLIENT_COLOR);
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < n; i++) {
        CHECK(i == 0 ? all[i] == 0 : all[i] == all[i - 1] || all[i] == all[i - 1] + 1);
    }
    CHECK(all[n - 1] == n_client - 1 && n_client > 1);
    CHECK(attr(comm, IMPI_HOST_SIZE) == n_client && attr(comm, IMPI_HOST_COLOR) == mine);
    free(all);
}

static void must_refuse(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = 0, len;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &len);
    if (class != MPI_ERR_UNSUPPORTED_OPERATION || strstr(text, call) == NULL ||
        strstr(text, "between different MPIs") == NULL) {
        world_fail(call, class, text);
    }
}

static void refusals(MPI_Comm comm, int me, int n)
{
    int far = n - 1 - me, v = me;
    MPI_Comm other;
    must_refuse(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &other,
                               MPI_ERRCODES_IGNORE),
                "MPI_Comm_spawn");
#if MPI_VERSION >= 4
    MPI_Request req;
    must_refuse(MPI_Psend_init(&v, 1, 1, MPI_INT, far, 0, comm, MPI_INFO_NULL, &req),
                "MPI_Psend_init");
#else
    (void)far;
    (void)v;
#endif
}

// The same inside the client.
static void natives(MPI_Comm comm)
{
    int v = 1, sum = 0, n, me;
    MPI_Request req;
    MPI_Comm other;
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &me);
    MPI_Iallreduce(&v, &sum, 1, MPI_INT, MPI_SUM, comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    CHECK(sum == n);
    MPI_Comm_idup(comm, &other, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Barrier(other);
    MPI_Comm_free(&other);
    int next = (me + 1) % n, before = (me + n - 1) % n, got = -1;
    MPI_Dist_graph_create_adjacent(comm, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &other);
    MPI_Neighbor_allgather(&me, 1, MPI_INT, &got, 1, MPI_INT, other);
    CHECK(got == before);
    MPI_Comm_free(&other);
#if MPI_VERSION >= 4
    v = me == 0 ? 77 : 0;
    MPI_Bcast_init(&v, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &req);
    MPI_Start(&req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Request_free(&req);
    CHECK(v == 77);
#endif
}

// Who shares memory: those of a client, in the order of the keys; one of the world stays out.
static void neighbours(MPI_Comm comm, int me, int n)
{
    MPI_Comm near, half;
    MPI_Group of_near, of_comm;
    int color = attr(comm, IMPI_CLIENT_COLOR), size, rank, above = 0, mine = 0;
    int *all = malloc((size_t)n * sizeof *all), zero = 0, last;
    MPI_Allgather(&color, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int i = 0; i < n - 1; i++) {
        mine += all[i] == color;
        above += all[i] == color && i > me;
    }
    MPI_Comm_split_type(comm, me == n - 1 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, -me,
                        MPI_INFO_NULL, &near);
    CHECK((near == MPI_COMM_NULL) == (me == n - 1));
    if (near != MPI_COMM_NULL) {
        MPI_Comm_size(near, &size);
        MPI_Comm_rank(near, &rank);
        CHECK(size == mine && rank == above);
        MPI_Comm_group(near, &of_near);
        MPI_Comm_group(comm, &of_comm);
        MPI_Group_translate_ranks(of_near, 1, &zero, of_comm, &last);
        CHECK(all[last] == color && last == me + above);
        MPI_Group_free(&of_near);
        MPI_Group_free(&of_comm);
        MPI_Barrier(near);
        MPI_Comm_free(&near);
    }
    MPI_Comm_split(comm, me % 2, 0, &half);
    MPI_Comm_split_type(half, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    mine = 0;
    for (int i = me % 2; i < n; i += 2) {
        mine += all[i] == color;
    }
    MPI_Comm_size(near, &size);
    CHECK(size == mine && attr(near, IMPI_CLIENT_SIZE) == 1);
    MPI_Comm_free(&near);
    MPI_Barrier(half); // and the number of what comes next is agreed upon
    MPI_Comm_free(&half);
    free(all);
}

void world_own(int me, int n)
{
    MPI_Comm comm, mine;
    colors(MPI_COMM_WORLD, n);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    colors(comm, n);
    neighbours(comm, me, n);
    MPI_Comm_split(MPI_COMM_WORLD, attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR), me, &mine);
    CHECK(attr(mine, IMPI_CLIENT_SIZE) == 1 && attr(mine, IMPI_CLIENT_COLOR) == 0);
    CHECK(attr(MPI_COMM_SELF, IMPI_CLIENT_SIZE) == 1);
    if (world_is_foreign()) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
        refusals(comm, me, n);
        natives(mine);
    }
    MPI_Comm_free(&mine);
    MPI_Comm_free(&comm);
}

static void must_be_unsupported(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
}

// All refuse it, so nobody waits for who does.
void world_refuse_later(int me, int n)
{
    int dims[1] = { n }, periods[1] = { 1 }, got[2], v = me;
    MPI_Comm comm, other, ring;
    MPI_Request req;
    MPI_Group group;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    must_be_unsupported(MPI_Ibarrier(comm, &req));
    must_be_unsupported(MPI_Iallreduce(&v, got, 1, MPI_INT, MPI_SUM, comm, &req));
    must_be_unsupported(MPI_Comm_idup(comm, &other, &req));
    MPI_Comm_group(comm, &group);
    must_be_unsupported(MPI_Comm_create_group(comm, group, 1, &other));
    MPI_Group_free(&group);
    MPI_Win win;
    must_be_unsupported(MPI_Win_create(&v, sizeof v, 1, MPI_INFO_NULL, comm, &win));
    MPI_File file;
    must_be_unsupported(MPI_File_open(comm, "/tmp/none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    must_be_unsupported(MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, ring));
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
}
