// SPDX-License-Identifier: BSD-3-Clause
// A program that is told of a new number of ranks by the status of any MPI call, as the paper on
// elastic execution proposes (its approach A), and has the same answer whatever happens.
//
//     mpiexec --elastic 1:8 --on-resize=error -n 2 ./told [ITEMS [CHANGES]] &
//     mpictl grow 2
//     mpictl shrink 3
//
// There are ITEMS pieces of work. In every round each rank does the next one of its own and passes
// a token around the ring; after every call it looks at the status, and shares the items out anew
// when that is MPI_WORLD_RESIZED.
//
// With CHANGES the program waits, at even distances, until so many changes have come: for tests.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 100000 };

static int items = 2000, changes, n_change, rank, size, is_over;
static double result[MOST];        // of the items that this rank knows, 0: not done
static int todo[MOST], n_todo, at; // what is left, and the next round

static double work(int item)
{
    double x = item + 1;
    for (int i = 0; i < 2000; i++) {
        x = x * 0.999 + 1.0 / (item + i + 1);
    }
    return x;
}

// All ranks learn which parts are done, and so which are left for each. Called by all ranks.
static int share_out(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int status = MPI_Allreduce(MPI_IN_PLACE, &n_change, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (status == MPI_SUCCESS) {
        status = MPI_Allreduce(MPI_IN_PLACE, result, items, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    n_todo = at = 0;
    for (int i = 0; i < items; i++) {
        if (result[i] == 0) {
            todo[n_todo++] = i;
        }
    }
    return status;
}

// After any MPI operation, with its status. True: the round begins anew.
static int repartition_data(int status)
{
    int is_new = 0;
    while (status == MPI_WORLD_RESIZED && !is_over) {
        MPI_Comm before;
        MPIX_Comm_world_at(n_change++, &before);
        // Some may leave: what they have goes to the others, in the world as it was.
        MPI_Allreduce(MPI_IN_PLACE, result, items, MPI_DOUBLE, MPI_MAX, before);
        MPIX_World_leaving(&is_over);
        if (!is_over) {
            status = MPI_Barrier(MPI_COMM_WORLD); // new ranks wait for it in MPI_Init
            status = status == MPI_SUCCESS ? share_out() : status;
        }
        is_new = 1;
    }
    return is_new;
}

// All ranks pass a token on; a rank that has not done so waits for the others.
static int pass_on(void)
{
    int token = rank, status = MPI_SUCCESS;
    if (size == 1) {
        return repartition_data(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (rank % 2 == 0) {
        status = MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        if (repartition_data(status)) {
            return 1;
        }
    }
    status = MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
    if (repartition_data(status)) {
        return 1;
    }
    if (rank % 2 != 0) {
        status = MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        return repartition_data(status);
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD,
                            MPI_ERRORS_RETURN); // else there is no status to look at
    items = argc > 1 && atoi(argv[1]) <= MOST ? atoi(argv[1]) : items;
    changes = argc > 2 ? atoi(argv[2]) : 0;
    repartition_data(share_out()); // ranks that came later take part in that of the others
    while (!is_over && (at < n_todo || repartition_data(share_out()) || n_todo > 0)) {
        int done = items - n_todo + at;
        if (n_change < (int)((long long)done * (changes + 1) / (items + 1))) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); // a change is due
        } else {
            if (at + rank < n_todo) {
                result[todo[at + rank]] = work(todo[at + rank]);
            }
            at += size;
        }
        pass_on();
    }
    if (!is_over) {
        double sum = 0;
        for (int i = 0; i < items; i++) {
            sum += result[i];
        }
        if (rank == 0) {
            printf("%d items, %d changes, %d ranks at the end: sum %.17g\n", items, n_change, size,
                   sum);
        }
    }
    MPI_Finalize();
    return 0;
}
