// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of sessions: opening one, communicators of its sets, and whether they work.
#ifndef PLI_TESTS_MPI_SESSION_H
#define PLI_TESTS_MPI_SESSION_H

#include "obj.h"

static inline MPI_Session s_open(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    T_MUST(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    T_MUST(s != MPI_SESSION_NULL);
    return s;
}

static inline MPI_Session s_open_threads(void)
{
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    T_MUST(MPI_Session_init(info, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    MPI_Info_free(&info);
    return s;
}

static inline MPI_Group s_group(MPI_Session s, const char *set)
{
    MPI_Group g = MPI_GROUP_NULL;
    T_MUST(MPI_Group_from_session_pset(s, set, &g) == MPI_SUCCESS);
    return g;
}

static inline MPI_Comm s_comm(MPI_Session s, const char *set, const char *tag)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group g = s_group(s, set);
    T_MPI(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c));
    T_MUST(c != MPI_COMM_NULL);
    MPI_Group_free(&g);
    return c;
}

// Number and rank by the process set of all.
static inline void s_world(MPI_Session s, int *rank, int *size)
{
    MPI_Group g = s_group(s, "mpi://WORLD");
    MPI_Group_rank(g, rank);
    MPI_Group_size(g, size);
    MPI_Group_free(&g);
}

// Messages around the ring, then a sum over all: nothing of another communicator may get in.
static inline void s_check(MPI_Comm c, int salt)
{
    int rank, size, got = -1;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    int mine = salt * 1000 + rank, from = (rank + size - 1) % size;
    T_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT, from, 7, c,
                       MPI_STATUS_IGNORE));
    T_EQ(got, salt * 1000 + from);
    T_MPI(MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, c));
    T_EQ(got, size * salt * 1000 + size * (size - 1) / 2);
}

#endif
