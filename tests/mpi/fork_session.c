// SPDX-License-Identifier: BSD-3-Clause
// A session, a communicator made of its process set, and endpoints go through MPI_Fork: clones have
// them among themselves, see their own process sets, and meet their parents by the newest one.
#include "obj.h"

#include <mpi.h>
#include <string.h>

enum { N_EACH = 2 }; // endpoints of a process

static int lists(MPI_Session session, const char *want)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    int n = 0, n_found = 0;
    T_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    for (int i = 0; i < n; i++) {
        int len = MPI_MAX_PSET_NAME_LEN;
        T_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name));
        n_found += strcmp(name, want) == 0;
    }
    return n_found;
}

static int count(MPI_Comm comm)
{
    int one = 1, sum = 0;
    T_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    return sum;
}

static void count_endpoints(MPI_Comm *ep, int n)
{
    MPI_Request req[N_EACH];
    int one = 1, sum[N_EACH];
    for (int i = 0; i < N_EACH; i++) {
        T_MPI(MPI_Iallreduce(&one, &sum[i], 1, MPI_INT, MPI_SUM, ep[i], &req[i]));
    }
    MPI_Waitall(N_EACH, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N_EACH; i++) {
        T_EQ(sum[i], n * N_EACH);
    }
}

int main(int argc, char **argv)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm old, all, ep[N_EACH];
    int n;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    T_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    T_MPI(MPI_Comm_create_from_group(group, "old", MPI_INFO_NULL, MPI_ERRORS_RETURN, &old));
    T_MPI(MPI_Comm_create_endpoints(MPI_COMM_WORLD, N_EACH, MPI_INFO_NULL, ep));
    MPI_Group_free(&group);
    T_EQ(lists(session, "mpi://WORLD@2"), 0);
    T_OK(MPI_Fork(n) >= 0);
    T_EQ(count(MPI_COMM_WORLD), 2 * n);
    T_EQ(count(old), n); // clones have one of their own
    count_endpoints(ep, n);
    T_EQ(lists(session, "mpi://WORLD@2"), 1);
    T_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD@2", &group));
    T_MPI(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
    T_EQ(count(all), 2 * n);
    MPI_Group_free(&group);
    MPI_Comm_free(&all);
    MPI_Comm_free(&old);
    for (int i = 0; i < N_EACH; i++) {
        MPI_Comm_free(&ep[i]);
    }
    T_MPI(MPI_Session_finalize(&session));
    MPI_Finalize();
    return t_status();
}
