// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of message calls: each is named with its value and what would be right.
#include "obj.h"

static void numbers(int size)
{
    char range[96], who[32] = "", x[8];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (T_IS_ENDPOINT) {
        snprintf(who, sizeof who, " (endpoint rank %d)", rank);
    }
    snprintf(range, sizeof range, "dest is %d, but communicator MPI_COMM_WORLD%s has %d rank", size,
             who, size);
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, range);
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_PROC_NULL");
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, -9, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is -9");
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
              "MPI_ANY_SOURCE");
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, 0, -3, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -3");
    T_REFUSED(MPI_Send(x, 1, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG, "MPI_ANY_TAG");
    T_REFUSED(MPI_Send(x, -1, MPI_CHAR, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
    T_REFUSED(MPI_Send_c(x, -1, MPI_CHAR, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "count is -1");
    T_REFUSED(MPI_Recv(x, 1, MPI_CHAR, size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK,
              "MPI_ANY_SOURCE or MPI_PROC_NULL");
    T_REFUSED(MPI_Recv(x, 1, MPI_CHAR, 0, -7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG,
              "or MPI_ANY_TAG");
}

static void objects(void)
{
    MPI_Datatype t, stale;
    char x[64];
    T_REFUSED(MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
              "datatype is MPI_DATATYPE_NULL");
    T_REFUSED(MPI_Send(x, 1, (MPI_Datatype)MPI_SUM, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
              "operation");
    T_REFUSED(MPI_Send(x, 1, (MPI_Datatype)x, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "not a handle");
    T_MPI(MPI_Type_contiguous(2, MPI_INT, &t));
    T_MPI(MPI_Type_set_name(t, "pair"));
    T_REFUSED(MPI_Send(x, 1, t, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "pair");
    T_REFUSED(MPI_Send(x, 1, t, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "MPI_Type_commit");
    stale = t;
    T_MPI(MPI_Type_free(&t));
    T_REFUSED_FREED(MPI_Send(x, 1, stale, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "freed");
    T_REFUSED(MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_COMM_NULL");
    T_REFUSED(MPI_Send(x, 1, MPI_INT, 0, 0, (MPI_Comm)MPI_INT), MPI_ERR_COMM, "a datatype");
    T_REFUSED(MPI_Send(x, 1, MPI_INT, 0, 0, (MPI_Comm)(x + 1)), MPI_ERR_COMM, "not a handle");
    // Every small number and a sweep of addresses: none may crash.
    for (uintptr_t v = 0; v < 4096; v++) {
        int r;
        if (v != 0x101 && v != 0x102) { // MPI_COMM_WORLD and MPI_COMM_SELF
            T_OK(MPI_Comm_rank((MPI_Comm)v, &r) != MPI_SUCCESS);
        }
    }
    MPI_Info info;
    T_MPI(MPI_Info_create(&info));
    for (uintptr_t v = (uintptr_t)info - 4096; v < (uintptr_t)info + 8192; v += 8) {
        int r;
        T_OK(MPI_Group_size((MPI_Group)v, &r) != MPI_SUCCESS);
    }
    T_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int size;
    t_start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    numbers(size);
    objects();
    return t_end();
}
