// SPDX-License-Identifier: BSD-3-Clause
// Messages between different layouts of one signature: a column becomes a row, blocks become a
// list; short, long, cut short, and to oneself.
#include "t.h"

#include <mpi.h>

enum { ROWS = 1200, COLS = 40 };

static int me, n_rank;

// `from` of one rank to `to` of the next: every element must arrive in its place.
static void exchange(const void *from, int n_from, MPI_Datatype from_type, void *to, int n_to,
                     MPI_Datatype to_type, int n_elem)
{
    MPI_Status st;
    int n;
    int next = (me + 1) % n_rank, last = (me + n_rank - 1) % n_rank;
    T_EQ(MPI_Sendrecv(from, n_from, from_type, next, 3, to, n_to, to_type, last, 3, MPI_COMM_WORLD,
                      &st),
         MPI_SUCCESS);
    T_EQ(MPI_Get_elements(&st, to_type, &n), MPI_SUCCESS);
    T_EQ(n, n_elem);
    T_EQ(st.MPI_SOURCE, last);
}

static double matrix[ROWS][COLS], other[ROWS][COLS];

static void fill(void)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            matrix[i][j] = i * 1000 + j;
            other[i][j] = -1;
        }
    }
}

static void test_column(int rows)
{
    MPI_Datatype column;
    static double line[ROWS];
    MPI_Type_vector(rows, 1, COLS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    fill();
    memset(line, 0, sizeof line);
    exchange(&matrix[0][3], 1, column, line, rows, MPI_DOUBLE, rows);
    for (int i = 0; i < rows; i++) {
        T_OK(line[i] == i * 1000 + 3);
    }
    exchange(line, rows, MPI_DOUBLE, &other[0][7], 1, column, rows);
    for (int i = 0; i < rows; i++) {
        T_OK(other[i][7] == i * 1000 + 3 && other[i][6] == -1 && other[i][8] == -1);
    }
    MPI_Type_free(&column);
}

// The transpose: columns one after the other become rows.
static void test_transpose(void)
{
    MPI_Datatype column, columns;
    static double turned[COLS][ROWS];
    MPI_Type_vector(ROWS, 1, COLS, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_commit(&columns);
    fill();
    exchange(matrix, COLS, columns, turned, ROWS * COLS, MPI_DOUBLE, ROWS * COLS);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) {
            wrong += turned[j][i] != i * 1000 + j;
        }
    }
    T_EQ(wrong, 0);
    MPI_Type_free(&column);
    MPI_Type_free(&columns);
}

// A block of the matrix into scattered pairs, sent before it is received, freed at once.
static void test_block(void)
{
    int sizes[] = { ROWS, COLS }, subs[] = { 300, 20 }, starts[] = { 100, 11 };
    static int places[3000];
    MPI_Datatype block, list;
    for (int i = 0; i < 3000; i++) {
        places[i] = (i * 7 % 3000) * 4 + i % 3;
    }
    MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, MPI_DOUBLE, &block);
    MPI_Type_create_indexed_block(3000, 2, places, MPI_DOUBLE, &list);
    MPI_Type_commit(&block);
    MPI_Type_commit(&list);
    fill();
    MPI_Request reqs[2];
    int next = (me + 1) % n_rank, last = (me + n_rank - 1) % n_rank;
    double *to = &other[0][0];
    MPI_Isend(matrix, 1, block, next, 9, MPI_COMM_WORLD, &reqs[0]);
    MPI_Irecv(to, 1, list, last, 9, MPI_COMM_WORLD, &reqs[1]);
    MPI_Type_free(&block);
    MPI_Type_free(&list);
    T_EQ(MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    int wrong = 0;
    for (int i = 0; i < 6000; i++) {
        double want = (100 + i / 20) * 1000 + 11 + i % 20;
        wrong += to[places[i / 2] + i % 2] != want;
    }
    T_EQ(wrong, 0);
}

// Less arrives than there is room for; the count says how much, and the rest is untouched.
static void test_partial(void)
{
    struct {
        int a;
        double b;
    } to[4];
    int lens[] = { 1, 1 }, count;
    MPI_Aint at[] = { 0, 8 };
    MPI_Datatype types[] = { MPI_INT, MPI_DOUBLE }, t;
    MPI_Type_create_struct(2, lens, at, types, &t);
    MPI_Type_commit(&t);
    struct {
        int a;
        double b;
    } from[2] = { { 1, 2 }, { 3, 4 } };
    MPI_Status st;
    MPI_Datatype one_and_half;
    int n2[] = { 1, 1 };
    MPI_Aint at2[] = { 0, 16 };
    MPI_Datatype types2[] = { t, MPI_INT };
    MPI_Type_create_struct(2, n2, at2, types2, &one_and_half);
    MPI_Type_commit(&one_and_half);
    for (int i = 0; i < 4; i++) {
        to[i].a = -7;
        to[i].b = -7;
    }
    int next = (me + 1) % n_rank, last = (me + n_rank - 1) % n_rank;
    MPI_Sendrecv(from, 1, one_and_half, next, 1, to, 4, t, last, 1, MPI_COMM_WORLD, &st);
    T_EQ(MPI_Get_count(&st, t, &count), MPI_SUCCESS);
    T_EQ(count, MPI_UNDEFINED);
    T_EQ(MPI_Get_elements(&st, t, &count), MPI_SUCCESS);
    T_EQ(count, 3);
    T_OK(to[0].a == 1 && to[0].b == 2 && to[1].a == 3 && to[1].b == -7 && to[2].a == -7);
    MPI_Type_free(&t);
    MPI_Type_free(&one_and_half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    test_column(1);
    test_column(30);
    test_column(ROWS);
    test_transpose();
    test_block();
    test_partial();
    MPI_Finalize();
    return t_status();
}
