// SPDX-License-Identifier: BSD-3-Clause
// A sparse world: no MPI_COMM_WORLD, no MPI_Init. Ranks form teams of four (process sets that the
// program makes and names itself), teams talk inside, and only the leaders know each other. A sum
// over all goes up to the leaders, across, and down again.
#include <mpi.h>
#include <stdio.h>

enum { TEAM = 4 };

// Every process makes the set of its own team; the second to come finds it made.
static void name_team(MPI_Session session, int rank, int size)
{
    MPI_Group all, team;
    char name[32];
    int first = rank / TEAM * TEAM, last = first + TEAM < size ? first + TEAM - 1 : size - 1;
    int range[1][3] = { { first, last, 1 } };
    snprintf(name, sizeof name, "team/%d", rank / TEAM);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_range_incl(all, 1, range, &team);
    MPIX_Pset_from_group(session, team, name);
    MPI_Group_free(&team);
    MPI_Group_free(&all);
}

// What MPI_Allreduce over all processes would give, over two levels.
static long sum_of_all(long mine, MPI_Comm team, MPI_Comm leaders)
{
    long part = 0, sum = 0;
    MPI_Reduce(&mine, &part, 1, MPI_LONG, MPI_SUM, 0, team);
    if (leaders != MPI_COMM_NULL) {
        MPI_Allreduce(&part, &sum, 1, MPI_LONG, MPI_SUM, leaders);
    }
    MPI_Bcast(&sum, 1, MPI_LONG, 0, team);
    return sum;
}

int main(void)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Comm team, leaders;
    int rank, size, mates, n_team = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                     &session);                                // it waits for no other process
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all); // a list, not a communicator
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &size);
    MPI_Group_free(&all);

    name_team(session, rank, size);
    for (int t = 0; t <= (size - 1) / TEAM; t++) { // the leaders' communicator needs all names
        char name[32];
        snprintf(name, sizeof name, "team/%d", t);
        MPIX_Pset_wait(session, name);
    }
    MPIX_Comm_create_sparse(session, "team/", "example", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &team,
                            &leaders);

    long sum = sum_of_all(rank + 1, team, leaders), want = (long)size * (size + 1) / 2;
    MPI_Comm_size(team, &mates);
    if (leaders != MPI_COMM_NULL) {
        MPI_Comm_size(leaders, &n_team);
        printf("rank %d leads a team of %d, one of %d teams; the sum over all %d ranks is %ld%s\n",
               rank, mates, n_team, size, sum, sum == want ? ", as it should be" : ": WRONG");
        MPI_Comm_free(&leaders);
    }
    MPI_Comm_free(&team);
    MPI_Session_finalize(&session);
    return sum == want ? 0 : 1;
}
