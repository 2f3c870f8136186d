// SPDX-License-Identifier: BSD-3-Clause
// MPI and UPC without any rule between them: a thread that is blocked in MPI serves what others do
// with its shared memory, and one that is blocked in UPC lets messages of MPI go on.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>

enum { LEN = 1 << 20 };
shared [64] int data[64 * THREADS];
upc_lock_t *lk;

static int get_while_owner_receives(void)
{
    int bad = 0, word = 0;
    if (MYTHREAD == 0) {
        MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        bad = word != 64 || data[3] != 33;
    } else if (MYTHREAD == 1) {
        for (int i = 0; i < 64; i++) {
            word += data[i] == i;
        }
        data[3] = 33;
        upc_fence;
        upc_lock(lk); // the lock is thread 0's too
        upc_unlock(lk);
        MPI_Send(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    return bad;
}

static int send_while_receiver_is_at_a_barrier(void)
{
    int bad = 0;
    int *big = malloc(LEN * sizeof *big);
    MPI_Request r = MPI_REQUEST_NULL;
    if (MYTHREAD == 0) {
        MPI_Irecv(big, LEN, MPI_INT, 1, 8, MPI_COMM_WORLD, &r);
    } else if (MYTHREAD == 1) {
        for (int i = 0; i < LEN; i++) {
            big[i] = i ^ 5;
        }
        MPI_Ssend(big, LEN, MPI_INT, 0, 8, MPI_COMM_WORLD); // thread 0 is at the barrier by now
    }
    upc_barrier 1;
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; MYTHREAD == 0 && i < LEN; i++) {
        bad |= big[i] != (i ^ 5);
    }
    free(big);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0, all;
    MPI_Init(&argc, &argv);
    lk = upc_all_lock_alloc();
    upc_forall(int i = 0; i < 64 * THREADS; i++; &data[i]) data[i] = i;
    upc_barrier;
    bad |= get_while_owner_receives();
    bad |= send_while_receiver_is_at_a_barrier();
    for (int k = 0; k < 50; k++) { // in turn, with no rule
        int sum, me = MYTHREAD;
        upc_notify k;
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        upc_wait k;
        bad |= sum != THREADS * (THREADS - 1) / 2;
    }
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    upc_barrier; // UPC goes on after MPI
    if (MYTHREAD == 0) {
        printf("%s\n", all ? "bad" : "good");
    }
    return all;
}
