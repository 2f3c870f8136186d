// SPDX-License-Identifier: BSD-3-Clause
// Ranks without threads: each rank is a fiber with its own stack, and one thread per process runs
// them all. A fiber that would wait parks its request and gives way; when all are parked the thread
// sleeps in MPI_Waitsome until one may go on. The communicator's handle says which rank speaks, so
// the library need not know that fibers exist.
//
//     mpiexec -n 2 ./ep_fibers 1000
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK = 65536 };

struct fiber {
    ucontext_t here;
    MPI_Comm comm;
    int is_done;
    char *stack;
};

static ucontext_t scheduler;
static struct fiber *current;
static MPI_Request *parked; // of each fiber what it waits for

static void fail(const char *why)
{
    fprintf(stderr, "ep_fibers: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static struct fiber *fibers;

static void wait_for(MPI_Request request)
{
    parked[current - fibers] = request;
    swapcontext(&current->here, &scheduler); // back when it is complete
}

// A token goes around all ranks, each adds itself; then all compare the sum with a reduction's.
static void rank_main(void)
{
    struct fiber *me = current; // current is another one after a wait
    int rank, size;
    long token = 0, mine, sum;
    MPI_Request r;
    MPI_Comm_rank(me->comm, &rank);
    MPI_Comm_size(me->comm, &size);
    mine = rank;
    if (rank > 0) {
        MPI_Irecv(&token, 1, MPI_LONG, rank - 1, 1, me->comm, &r);
        wait_for(r);
    }
    token += rank;
    MPI_Isend(&token, 1, MPI_LONG, (rank + 1) % size, 1, me->comm, &r);
    wait_for(r);
    if (rank == 0) {
        MPI_Irecv(&token, 1, MPI_LONG, size - 1, 1, me->comm, &r);
        wait_for(r);
    }
    MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, me->comm, &r);
    wait_for(r);
    MPI_Ibarrier(me->comm, &r);
    wait_for(r);
    if (sum != (long)size * (size - 1) / 2) {
        fail("the sum is WRONG");
    }
    if (rank == 0) {
        printf("%d ranks as fibers: the token brings %ld, the reduction %ld, %s\n", size, token,
               sum, token == sum ? "right" : "WRONG");
    }
    MPI_Comm_free(&me->comm);
    me->is_done = 1;
}

static void resume(struct fiber *f)
{
    current = f;
    swapcontext(&scheduler, &f->here);
}

static void run_all(int n)
{
    int *ready = malloc((size_t)n * sizeof *ready), n_ready;
    int left = n;
    for (int i = 0; i < n; i++) {
        resume(&fibers[i]);
        left -= fibers[i].is_done;
    }
    while (left > 0) {
        MPI_Waitsome(n, parked, &n_ready, ready, MPI_STATUSES_IGNORE);
        if (n_ready == MPI_UNDEFINED) {
            fail("fibers are left, but none waits");
        }
        for (int i = 0; i < n_ready; i++) { // the request became MPI_REQUEST_NULL
            resume(&fibers[ready[i]]);
            left -= fibers[ready[i]].is_done;
        }
    }
    free(ready);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv); // one thread: no thread level is needed
    int n = argc > 1 ? atoi(argv[1]) : 100;
    if (n < 1) {
        fail("usage: mpiexec -n PROCESSES ep_fibers FIBERS");
    }
    MPI_Comm *comms = malloc((size_t)n * sizeof *comms);
    fibers = calloc((size_t)n, sizeof *fibers);
    parked = malloc((size_t)n * sizeof *parked);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, comms);
    for (int i = 0; i < n; i++) {
        struct fiber *f = &fibers[i];
        parked[i] = MPI_REQUEST_NULL;
        f->comm = comms[i];
        f->stack = malloc(STACK);
        if (f->stack == NULL || getcontext(&f->here) != 0) {
            fail("no memory for the stacks");
        }
        f->here.uc_stack.ss_sp = f->stack;
        f->here.uc_stack.ss_size = STACK;
        f->here.uc_link = &scheduler;
        makecontext(&f->here, rank_main, 0);
    }
    run_all(n);
    for (int i = 0; i < n; i++) {
        free(fibers[i].stack);
    }
    free(parked);
    free(fibers);
    free(comms);
    MPI_Finalize();
    return 0;
}
