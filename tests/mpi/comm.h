// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of communicators: whether one has the members it should and carries messages.
#ifndef PLI_TESTS_MPI_COMM_H
#define PLI_TESTS_MPI_COMM_H

#include "obj.h"

static int world_rank, world_size;

static inline void c_start(int *argc, char ***argv)
{
    t_start(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

// Numbers that are the same at every rank when the seed is.
static inline unsigned c_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// The ranks in MPI_COMM_WORLD of a group's members are want[0] to want[n-1].
static inline void c_members(MPI_Group group, const int want[], int n)
{
    MPI_Group world;
    int size, mine[64], got[64];
    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    T_MPI(MPI_Group_size(group, &size));
    T_EQ(size, n);
    for (int i = 0; i < n; i++) {
        mine[i] = i;
    }
    if (size == n && n > 0) {
        T_MPI(MPI_Group_translate_ranks(group, n, mine, world, got));
        T_OK(memcmp(got, want, (size_t)n * sizeof(int)) == 0);
    }
    MPI_Group_free(&world);
    if (group != MPI_GROUP_EMPTY) {
        MPI_Group_free(&group);
    }
}

// An intracommunicator of these members, seen from one of them: its group, my rank, and messages
// around the ring that nothing else can catch.
static inline void c_intra(MPI_Comm comm, const int want[], int n)
{
    T_OK(comm != MPI_COMM_NULL);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    int rank, size, flag, got = -1, sum = 0, all = 0;
    MPI_Group group;
    MPI_Status status;
    T_MPI(MPI_Comm_group(comm, &group));
    c_members(group, want, n);
    T_MPI(MPI_Comm_rank(comm, &rank));
    T_MPI(MPI_Comm_size(comm, &size));
    T_MPI(MPI_Comm_test_inter(comm, &flag));
    T_EQ(flag, 0);
    T_EQ(size, n);
    if (size != n || rank < 0 || rank >= n) {
        t_failed++;
        return;
    }
    T_EQ(want[rank], world_rank);
    T_MPI(MPI_Sendrecv(&world_rank, 1, MPI_INT, (rank + 1) % n, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE,
                       MPI_ANY_TAG, comm, &status));
    T_EQ(got, want[(rank + n - 1) % n]);
    T_EQ(status.MPI_SOURCE, (rank + n - 1) % n);
    T_MPI(MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < n; i++) {
        all += want[i];
    }
    T_EQ(sum, all);
}

// An intercommunicator: both groups, and a message from every member to every one over there.
static inline void c_inter(MPI_Comm comm, const int local[], int n, const int remote[], int m)
{
    T_OK(comm != MPI_COMM_NULL);
    if (comm == MPI_COMM_NULL) {
        return;
    }
    int rank, size, far, flag, got[64];
    MPI_Group group;
    MPI_Request reqs[128];
    T_MPI(MPI_Comm_test_inter(comm, &flag));
    T_EQ(flag, 1);
    T_MPI(MPI_Comm_group(comm, &group));
    c_members(group, local, n);
    T_MPI(MPI_Comm_remote_group(comm, &group));
    c_members(group, remote, m);
    T_MPI(MPI_Comm_rank(comm, &rank));
    T_MPI(MPI_Comm_size(comm, &size));
    T_MPI(MPI_Comm_remote_size(comm, &far));
    T_EQ(size, n);
    T_EQ(far, m);
    if (size != n || far != m) {
        return;
    }
    T_EQ(local[rank], world_rank);
    for (int i = 0; i < m; i++) {
        T_MPI(MPI_Irecv(&got[i], 1, MPI_INT, i, 3, comm, &reqs[i]));
        T_MPI(MPI_Isend(&world_rank, 1, MPI_INT, i, 3, comm, &reqs[m + i]));
    }
    T_MPI(MPI_Waitall(2 * m, reqs, MPI_STATUSES_IGNORE));
    for (int i = 0; i < m; i++) {
        T_EQ(got[i], remote[i]);
    }
    T_MPI(MPI_Barrier(comm));
}

#endif
