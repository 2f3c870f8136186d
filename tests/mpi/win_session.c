// SPDX-License-Identifier: BSD-3-Clause
// Windows of sessions, without a world.
#include "t.h"

#include <mpi.h>

int main(void)
{
    for (int round = 0; round < 3; round++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        MPI_Win win;
        int me, n, *mem, got = -1;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm_create_from_group(group, "win_session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &comm);
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &n);
        MPI_Win_allocate(sizeof *mem, sizeof *mem, MPI_INFO_NULL, comm, &mem, &win);
        MPI_Comm_free(&comm); // the window has its own
        *mem = 100 + me;
        MPI_Win_fence(0, win);
        MPI_Get(&got, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        T_EQ(got, 100 + (me + 1) % n);
        MPI_Win_post(group, 0, win);
        MPI_Win_start(group, 0, win);
        MPI_Accumulate(&(int){ 1 }, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        T_EQ(*mem, me == 0 ? 100 + n : 100 + me);
        MPI_Win_free(&win);
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
    }
    return t_status();
}
