// SPDX-License-Identifier: BSD-3-Clause
// Thousands of communicators made and freed: memory stays flat, handles are used again, and it
// takes no longer when hundreds of others live.
#include "comm.h"

#include <unistd.h>

enum { WARM = 100, CYCLES = 1600, LIVE = 400 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GROWTH = 1 << 20 }; // sanitizers keep freed memory for a while
#else
enum { GROWTH = CYCLES / 8 }; // kilobytes: no cycle loses as much as a small object
#endif
enum { LANES = 1024, ARENA = CYCLES / 4 }; // kilobytes for messages from each rank, for objects

// Kilobytes of memory that is ours alone, or shared with the other ranks. Of the latter each page
// may be touched for the first time at any moment, when messages happen to pile up.
static struct memory {
    long alone, shared;
} resident(void)
{
    long size = 0, pages = 0, shared = 0, kilo = sysconf(_SC_PAGESIZE) / 1024;
    FILE *f = fopen("/proc/self/statm", "r");
    T_MUST(f != NULL && fscanf(f, "%ld %ld %ld", &size, &pages, &shared) == 3);
    fclose(f);
    return (struct memory){ (pages - shared) * kilo, shared * kilo };
}

static void cycle(int i)
{
    MPI_Comm c, d;
    MPI_Request r;
    int dim = world_size, period = 1;
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, (world_rank + i) % 2, i % 3 ? -world_rank : 0, &c));
    T_MPI(MPI_Comm_dup(c, &d));
    T_MPI(MPI_Comm_free(&c));
    T_MPI(MPI_Comm_idup(d, &c, &r));
    T_MPI(MPI_Wait(&r, MPI_STATUS_IGNORE));
    T_MPI(MPI_Comm_free(&d));
    T_MPI(MPI_Comm_free(&c));
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &dim, &period, 0, &c));
    T_MPI(MPI_Barrier(c));
    T_MPI(MPI_Comm_free(&c));
}

int main(int argc, char **argv)
{
    static MPI_Comm live[LIVE];
    c_start(&argc, &argv);
    uintptr_t lowest = UINTPTR_MAX, highest = 0;
    for (int i = 0; i < WARM; i++) {
        cycle(i);
    }
    struct memory before = resident();
    double start = MPI_Wtime();
    for (int i = 0; i < CYCLES; i++) {
        cycle(i);
        MPI_Comm c;
        T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &c));
        lowest = (uintptr_t)c < lowest ? (uintptr_t)c : lowest;
        highest = (uintptr_t)c > highest ? (uintptr_t)c : highest;
        T_MPI(MPI_Comm_free(&c));
    }
    double alone = MPI_Wtime() - start;
    struct memory after = resident();
    long grown = after.alone - before.alone, touched = after.shared - before.shared;
    T_OK(grown < GROWTH);
    T_OK(touched < world_size * LANES + ARENA);
    T_OK(highest - lowest < 256 * 1024); // the same few slots again and again
    for (int i = 0; i < LIVE; i++) {
        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &live[i]));
    }
    start = MPI_Wtime();
    for (int i = 0; i < CYCLES / 4; i++) {
        cycle(i);
    }
    double crowded = (MPI_Wtime() - start) * 4;
    T_OK(crowded <
         10 * alone + 1); // a machine with other work jumps, but not by the 1000 that live
    for (int i = 0; i < LIVE; i++) {
        T_MPI(MPI_Comm_free(&live[i]));
    }
    if (world_rank == 0) {
        printf("comm_cycles ranks=%d cycle=%.1f us, with %d live %.1f us, grown %ld and %ld KiB\n",
               world_size, alone / CYCLES * 1e6, LIVE, crowded / CYCLES * 1e6, grown, touched);
    }
    return t_end();
}
