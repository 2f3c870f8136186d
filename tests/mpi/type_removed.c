// SPDX-License-Identifier: BSD-3-Clause
// Functions that MPI 3.0 took out still do what they did.
#include "t.h"

#include <mpi.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

struct particle {
    int kind;
    double at[3];
    char name;
};

static int n_error;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    n_error++;
}

// A structure with its end marked, as it was written before MPI_Type_create_resized.
static void structures(int rank, int size)
{
    struct particle p[3] = { { 0 } }, got[3] = { { 0 } };
    MPI_Aint at[4], base, lb, ub, extent;
    int lens[4] = { 1, 3, 1, 1 };
    MPI_Datatype types[4] = { MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_UB }, type;
    MPI_Address(&p[0], &base);
    MPI_Address(&p[0].kind, &at[0]);
    MPI_Address(p[0].at, &at[1]);
    MPI_Address(&p[0].name, &at[2]);
    MPI_Address(&p[1], &at[3]);
    for (int i = 0; i < 4; i++) {
        at[i] -= base;
    }
    T_EQ(MPI_Type_struct(4, lens, at, types, &type), MPI_SUCCESS);
    MPI_Type_commit(&type);
    MPI_Type_extent(type, &extent);
    T_EQ(extent, sizeof p[0]);
    for (int i = 0; i < 3; i++) {
        p[i] = (struct particle){ rank + i, { i, 2 * i, 3 * i }, (char)('a' + i) };
    }
    MPI_Sendrecv(p, 3, type, (rank + 1) % size, 1, got, 3, type, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) {
        T_EQ(got[i].kind, (rank + size - 1) % size + i);
        T_OK(got[i].at[2] == 3 * i);
        T_EQ(got[i].name, 'a' + i);
    }
    MPI_Type_free(&type);
    // Both ends, and where nothing else is.
    T_EQ(MPI_Type_struct(3, (int[]){ 1, 2, 1 }, (MPI_Aint[]){ -8, 0, 40 },
                         (MPI_Datatype[]){ MPI_LB, MPI_INT, MPI_UB }, &type),
         MPI_SUCCESS);
    MPI_Type_lb(type, &lb);
    MPI_Type_ub(type, &ub);
    MPI_Type_extent(type, &extent);
    T_EQ(lb, -8);
    T_EQ(ub, 40);
    T_EQ(extent, 48);
    MPI_Type_free(&type);
    T_EQ(MPI_Type_struct(2, (int[]){ 1, 1 }, (MPI_Aint[]){ 4, 20 },
                         (MPI_Datatype[]){ MPI_LB, MPI_UB }, &type),
         MPI_SUCCESS);
    MPI_Type_extent(type, &extent);
    T_EQ(extent, 16);
    MPI_Type_free(&type);
}

// The markers are datatypes without data, for MPI_Type_create_struct too, and what they mark stays
// marked in datatypes that are made of the new one.
static void markers(void)
{
    MPI_Datatype inner, outer;
    MPI_Aint lb, extent;
    int size, v = 7, got = 0;
    T_EQ(MPI_Type_create_struct(2, (int[]){ 1, 1 }, (MPI_Aint[]){ 0, 24 },
                                (MPI_Datatype[]){ MPI_INT, MPI_UB }, &inner),
         MPI_SUCCESS);
    T_EQ(MPI_Type_contiguous(3, inner, &outer), MPI_SUCCESS);
    MPI_Type_get_extent(outer, &lb, &extent);
    T_EQ(lb, 0);
    T_EQ(extent, 3 * 24);
    MPI_Type_free(&outer);
    // The end is marked at 24 + 24, wherever other data ends; the beginning is the data's.
    T_EQ(MPI_Type_create_struct(2, (int[]){ 1, 5 }, (MPI_Aint[]){ 24, 40 },
                                (MPI_Datatype[]){ inner, MPI_DOUBLE }, &outer),
         MPI_SUCCESS);
    MPI_Type_get_extent(outer, &lb, &extent);
    T_EQ(lb, 24);
    T_EQ(extent, 24);
    MPI_Type_free(&outer);
    MPI_Type_free(&inner);
    MPI_Type_size(MPI_UB, &size);
    T_EQ(size, 0);
    T_EQ(MPI_Type_ub(MPI_LB, &extent), MPI_SUCCESS);
    T_EQ(extent, 0);
    T_EQ(
        MPI_Sendrecv(&v, 1, MPI_UB, 0, 3, &got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_SUCCESS);
    T_EQ(got, 0);
}

static void vectors(void)
{
    MPI_Datatype type;
    MPI_Aint extent;
    int size;
    T_EQ(MPI_Type_hvector(3, 2, 16, MPI_INT, &type), MPI_SUCCESS);
    MPI_Type_extent(type, &extent);
    T_EQ(extent, 2 * 16 + 2 * (int)sizeof(int));
    MPI_Type_free(&type);
    T_EQ(MPI_Type_hindexed(2, (int[]){ 1, 2 }, (MPI_Aint[]){ 0, 24 }, MPI_INT, &type), MPI_SUCCESS);
    MPI_Type_size(type, &size);
    T_EQ(size, 3 * sizeof(int));
    MPI_Type_free(&type);
}

static void handlers(void)
{
    MPI_Handler_function *f = on_error;
    MPI_Comm_errhandler_fn *same = f; // what MPI 2 called it
    MPI_Errhandler mine, old, now;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Errhandler_get(comm, &old);
    T_EQ(MPI_Errhandler_create(same, &mine), MPI_SUCCESS);
    T_EQ(MPI_Errhandler_set(comm, mine), MPI_SUCCESS);
    MPI_Errhandler_get(comm, &now);
    T_OK(now == mine);
    int v = 0;
    T_OK(MPI_Send(&v, 1, MPI_INT, 7, 0, comm) != MPI_SUCCESS);
    T_EQ(n_error, 1);
    MPI_Errhandler_set(comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&old);
    MPI_Errhandler_free(&now);
    MPI_Errhandler_free(&mine);
    MPI_Comm_free(&comm);
}

// Mistakes are told.
static void mistakes(void)
{
    MPI_Datatype type;
    MPI_Aint extent;
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    T_OK(MPI_Type_struct(-1, NULL, NULL, NULL, &type) != MPI_SUCCESS);
    T_OK(MPI_Type_struct(1, NULL, NULL, NULL, &type) != MPI_SUCCESS);
    T_OK(MPI_Type_extent(MPI_DATATYPE_NULL, &extent) != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    structures(rank, size);
    markers();
    vectors();
    handlers();
    mistakes();
    MPI_Finalize();
    return t_status();
}
