// SPDX-License-Identifier: BSD-3-Clause
// All ranks put themselves on the processor of rank 0 again and again, free themselves, and
// exchange messages in pairs. At the end their affinity is what it was. "bound": they stay bound.
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 100, MESSAGES = 20 };

static void bind_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    int me, is_bound = argc > 1 && strcmp(argv[1], "bound") == 0;
    cpu_set_t before, after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    sched_getaffinity(0, sizeof before, &before);
    for (int i = 0; i < ROUNDS; i++) {
        int cpu = sched_getcpu();
        MPI_Bcast(&cpu, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (me > 0 || is_bound) {
            bind_to(cpu);
        }
        if (!is_bound) {
            sched_setaffinity(0, sizeof before, &before);
        }
        for (int k = 0; k < MESSAGES; k++) {
            MPI_Sendrecv_replace(&cpu, 1, MPI_INT, me ^ 1, 0, me ^ 1, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        }
    }
    sched_getaffinity(0, sizeof after, &after);
    if (!is_bound && !CPU_EQUAL(&before, &after)) {
        printf("rank %d: its affinity has changed\n", me);
    } else if (is_bound && CPU_COUNT(&after) != 1) {
        printf("rank %d: it is not bound any more\n", me);
    }
    MPI_Finalize();
    return 0;
}
