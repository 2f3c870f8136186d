// SPDX-License-Identifier: BSD-3-Clause
// Endpoints without a world: over a communicator of a session, and communicators without a parent
// whose members are endpoints. ep_session K: K endpoints per process, a thread each.
#include "ep_t.h"

static int n_each;

static int sum_of(MPI_Comm comm, int value)
{
    int sum = -1;
    T_EQ(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    return sum;
}

// Some endpoints of a group, without the others knowing.
static void from_group(MPI_Comm comm)
{
    int rank, size, r, n;
    MPI_Group all, mine;
    MPI_Comm made;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_group(comm, &all);
    T_EQ(MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
         MPI_SUCCESS);
    MPI_Comm_rank(made, &r);
    T_EQ(r, rank);
    T_EQ(sum_of(made, rank), size * (size - 1) / 2);
    MPI_Comm_free(&made);
    int range[1][3] = { { rank % 2, size - 1, 2 } };
    MPI_Group_range_incl(all, 1, range, &mine);
    MPI_Group_rank(mine, &r);
    T_EQ(r, rank / 2);
    for (int i = 0; i < 5; i++) {
        T_EQ(MPI_Comm_create_from_group(mine, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
             MPI_SUCCESS);
        MPI_Comm_size(made, &n);
        T_EQ(n, (size + 1 - rank % 2) / 2);
        T_EQ(sum_of(made, 1), n);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
}

// Even and odd endpoints, which are often of one process, on the sides of an intercommunicator.
static void sides(MPI_Comm comm)
{
    int rank, size, n_far, sum = -1;
    MPI_Group all, mine, far;
    MPI_Comm inter, merged;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size < 2) {
        return;
    }
    MPI_Comm_group(comm, &all);
    int here[1][3] = { { rank % 2, size - 1, 2 } }, there[1][3] = { { 1 - rank % 2, size - 1, 2 } };
    MPI_Group_range_incl(all, 1, here, &mine);
    MPI_Group_range_incl(all, 1, there, &far);
    T_EQ(MPI_Intercomm_create_from_groups(mine, 0, far, 0, "sides", MPI_INFO_NULL,
                                          MPI_ERRORS_RETURN, &inter),
         MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &n_far);
    T_EQ(n_far, (size + rank % 2) / 2);
    int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    T_EQ(sum, n_far);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    T_EQ(sum_of(merged, rank), size * (size - 1) / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Group_free(&mine);
    MPI_Group_free(&far);
    MPI_Group_free(&all);
}

static void all_of_it(MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    T_EQ(sum_of(comm, 1), size);
    from_group(comm);
    sides(comm);
}

// What the program leaves is freed by the session, endpoints and all.
static void leave(MPI_Comm parent)
{
    MPI_Comm left[3];
    T_EQ(MPI_Comm_create_endpoints(parent, 3, MPI_INFO_NULL, left), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    n_each = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    for (int round = 0; round < 2; round++) {
        T_MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        T_MUST(MPI_Comm_create_from_group(group, "world", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                          &comm) == MPI_SUCCESS);
        ep_run(comm, n_each, all_of_it);
        leave(comm);
        MPI_Group_free(&group);
        MPI_Comm_free(&comm);
        T_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
    }
    MPI_Info_free(&info);
    return t_status();
}
