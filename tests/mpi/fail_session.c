// SPDX-License-Identifier: BSD-3-Clause
// Communicators from groups when members die: before, while the others wait for them, or while
// others who do not need them make one. The argument is how often somebody dies. Without MPI_Init.
// Needs mpiexec --on-failure=shrink.
#include "session.h"

#include <signal.h>
#include <unistd.h>

static int rank, size;
static MPI_Session session;

static MPI_Info hint(const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "pliant_skip_failed", value);
    return info;
}

// Those who live, whoever else is in the group: the same at all of them.
static void skip(MPI_Group group, int n, const char *tag)
{
    MPI_Info info = hint("true");
    for (int i = 0; i < 3; i++) {
        MPI_Comm c = MPI_COMM_NULL;
        int got = -1, one = 1;
        T_MPI(MPI_Comm_create_from_group(group, tag, info, MPI_ERRORS_RETURN, &c));
        T_MPI(MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, c));
        T_EQ(got, n);
        T_MPI(MPI_Comm_free(&c));
    }
    MPI_Info_free(&info);
}

static void refuse(MPI_Group group, int dead)
{
    char who[32], text[MPI_MAX_ERROR_STRING];
    snprintf(who, sizeof who, "rank %d ", dead);
    for (int i = 0; i < 3; i++) {
        MPI_Comm c = MPI_COMM_NULL;
        int class = 0, len,
            code = MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
        MPI_Error_class(code, &class);
        T_EQ(class, MPIX_ERR_PROC_FAILED);
        MPI_Error_string(code, text, &len);
        T_HAS(text, who);
        T_OK(c == MPI_COMM_NULL);
    }
}

// In the group of the even or odd ranks.
static int last_of(int first)
{
    return (size - 1 - first) / 2;
}

// Between the even and the odd ones: those of a group without dead members fail too.
static void between(MPI_Group world, int leader, int far_leader)
{
    MPI_Group mine, far;
    MPI_Comm c = MPI_COMM_NULL;
    int class = 0, first[1][3] = { { rank % 2, size - 1, 2 } };
    MPI_Group_range_incl(world, 1, first, &mine);
    first[0][0] = 1 - rank % 2;
    MPI_Group_range_incl(world, 1, first, &far);
    for (int i = 0; i < 3; i++) {
        MPI_Error_class(MPI_Intercomm_create_from_groups(mine, leader, far, far_leader, "between",
                                                         MPI_INFO_NULL, MPI_ERRORS_RETURN, &c),
                        &class);
        T_EQ(class, MPIX_ERR_PROC_FAILED);
        T_OK(c == MPI_COMM_NULL);
    }
    MPI_Group_free(&mine);
    MPI_Group_free(&far);
}

// The last `n_dead` have died or will; the others make communicators without them.
static void others(MPI_Group world, int n_dead)
{
    MPI_Group group;
    MPI_Comm c;
    int last[1][3] = { { size - n_dead, size - 1, 1 } }, one = 1, got;
    MPI_Group_range_excl(world, 1, last, &group);
    for (int i = 0; i < 20; i++) {
        T_MPI(MPI_Comm_create_from_group(group, "others", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
        T_MPI(MPI_Allreduce(&one, &got, 1, MPI_INT, MPI_SUM, c));
        T_EQ(got, size - n_dead);
        T_MPI(MPI_Comm_free(&c));
    }
    MPI_Group_free(&group);
}

// The next one dies when all the others are done with what they do with it.
static void die(MPI_Group world, int dead)
{
    MPI_Group group;
    MPI_Comm c;
    MPI_Group_range_incl(world, 1, (int[1][3]){ { 0, dead, 1 } }, &group);
    T_MPI(MPI_Comm_create_from_group(group, "farewell", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
    for (int i = 0; rank == dead && i < dead; i++) {
        T_MPI(MPI_Recv(NULL, 0, MPI_INT, i, 0, c, MPI_STATUS_IGNORE));
    }
    if (rank == dead) {
        raise(SIGKILL);
    }
    T_MPI(MPI_Send(NULL, 0, MPI_INT, dead, 0, c));
    MPI_Comm_free(&c);
    MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    T_MUST(argc == 2);
    int n_death = atoi(argv[1]);
    T_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Group world = s_group(session, "mpi://WORLD");
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    MPI_Comm c;
    MPI_Info bad = hint("yes");
    T_REFUSED(MPI_Comm_create_from_group(world, "t", bad, MPI_ERRORS_RETURN, &c),
              MPI_ERR_INFO_VALUE, "pliant_skip_failed");
    MPI_Info_free(&bad);
    skip(world, size, "living");
    for (int dead = size - 1; dead >= size - n_death; dead--) {
        die(world, dead);
        others(world, size - dead);
        refuse(world, size - 1); // the first that died is named
        skip(world, dead, "living");
        between(world, 0, 0);
        between(world, last_of(rank % 2), last_of(1 - rank % 2)); // one at least is dead
    }
    MPI_Group_free(&world);
    T_MPI(MPI_Session_finalize(&session));
    return t_status();
}
