// SPDX-License-Identifier: BSD-3-Clause
// An iterative solver whose number of ranks changes while it runs, with the same answer as if it
// had not.
//
//     mpiexec --elastic 1:8 -n 2 ./resize [STEPS [CHANGES]] &
//     mpictl grow 6
//     mpictl shrink 5
//
// Jacobi relaxation of a plate of SIDE x SIDE points, cut into blocks of rows. In every step the
// ranks go on to the next version of the world together, if there is one: rows go from their old
// owners to their new ones, and the ranks that are to leave do so. All of that is follow().
//
// With CHANGES the program waits, at even distances, until so many changes have come: for tests.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 258, INNER = SIDE - 2 };

struct block { // rows first to first + n - 1 of the inner ones, and one more on either side
    int first, n;
    double *at;
};

static MPI_Comm world; // the version that the ranks work in; MPI_COMM_NULL: not yet
static MPI_Datatype row_type;
static int step, steps = 20000, changes;
static struct block mine;

static double *row(const struct block *b, int i) // by number among all inner rows
{
    return b->at + (size_t)(i - b->first + 1) * SIDE;
}

static struct block make(int first, int n)
{
    struct block b = { first, n, calloc((size_t)(n + 2) * SIDE, sizeof(double)) };
    for (int j = 0; n > 0 && first == 0 && j < SIDE; j++) {
        b.at[j] = 1; // the plate is warm at one side
    }
    return b;
}

// The elastic part: take up the next version of the world, if there is one, and move the rows.
// A process that has just come calls it first. False: this rank is to leave.
static int follow(void)
{
    MPI_Comm next;
    MPI_Count had, has, first = 0;
    int plan;
    MPIX_World_next(&next, MPI_INFO_NULL);
    if (next == world) {
        return 1;
    }
    MPIX_Plan_create_block(world, next, INNER, &plan);
    MPIX_Plan_get_count(plan, &had, &has);
    if (has > 0) {
        MPIX_Plan_get_global(plan, 0, &first);
    }
    struct block moved = make((int)first, (int)has);
    MPIX_Plan_execute(plan, mine.at + SIDE, moved.at + SIDE, row_type);
    MPIX_Plan_free(&plan);
    free(mine.at);
    mine = moved;
    world = next;
    if (world != MPI_COMM_NULL) {
        MPI_Bcast(&step, 1, MPI_INT, 0, world); // rank 0 is always an old one
    }
    return world != MPI_COMM_NULL;
}

// The ranks that the job begins with have their rows from the start.
static void begin(void)
{
    int version, rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPIX_Comm_world_version(MPI_COMM_WORLD, &version);
    world = version == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL;
    int first = INNER * rank / size, end = INNER * (rank + 1) / size;
    mine = version == 0 ? make(first, end - first) : make(0, 0);
    MPI_Type_contiguous(SIDE, MPI_DOUBLE, &row_type);
    MPI_Type_commit(&row_type);
}

static void relax(void)
{
    int rank, size, last = mine.first + mine.n - 1;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int after = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(row(&mine, mine.first), SIDE, MPI_DOUBLE, before, 0, row(&mine, last + 1), SIDE,
                 MPI_DOUBLE, after, 0, world, MPI_STATUS_IGNORE);
    MPI_Sendrecv(row(&mine, last), SIDE, MPI_DOUBLE, after, 1, row(&mine, mine.first - 1), SIDE,
                 MPI_DOUBLE, before, 1, world, MPI_STATUS_IGNORE);
    struct block next = { mine.first, mine.n,
                          malloc((size_t)(mine.n + 2) * SIDE * sizeof(double)) };
    memcpy(next.at, mine.at, (size_t)(mine.n + 2) * SIDE * sizeof(double));
    for (int i = mine.first; i <= last; i++) {
        for (int j = 1; j < SIDE - 1; j++) {
            row(&next, i)[j] = (row(&mine, i - 1)[j] + row(&mine, i + 1)[j] + row(&mine, i)[j - 1] +
                                row(&mine, i)[j + 1]) /
                               4;
        }
    }
    free(mine.at);
    mine = next;
    step++;
}

static int version_of_world(void)
{
    int version = 0;
    if (world != MPI_COMM_NULL) {
        MPIX_Comm_world_version(world, &version);
    }
    return version;
}

// All rows to rank 0, which prints what is the same for every number of ranks, to the last bit.
static void report(void)
{
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    struct block all = make(0, rank == 0 ? INNER : 0);
    int *n = calloc((size_t)size * 2, sizeof *n), *at = n + size;
    for (int r = 0; r < size; r++) {
        at[r] = INNER * r / size;
        n[r] = INNER * (r + 1) / size - at[r];
    }
    MPI_Gatherv(mine.at + SIDE, mine.n, row_type, all.at + SIDE, n, at, row_type, 0, world);
    free(n);
    free(mine.at);
    mine = all;
    if (rank != 0) {
        return;
    }
    uint64_t digest = 0xcbf29ce484222325u;
    double sum = 0;
    const unsigned char *bytes = (const unsigned char *)row(&mine, 0);
    for (size_t i = 0; i < (size_t)INNER * SIDE * sizeof(double); i++) {
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    }
    for (int i = 0; i < INNER * SIDE; i++) {
        sum += row(&mine, 0)[i];
    }
    printf("%d steps, %d changes, %d ranks at the end: sum %.9f, digest %016llx\n", step,
           version_of_world(), size, sum, (unsigned long long)digest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    steps = argc > 1 ? atoi(argv[1]) : steps;
    changes = argc > 2 ? atoi(argv[2]) : 0;
    begin();
    int stays = 1;
    while (step < steps && (stays = follow())) {
        if (version_of_world() < (int)((long long)step * (changes + 1) / steps)) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); // a change is due
        } else {
            relax();
        }
    }
    if (stays) {
        report();
    }
    free(mine.at);
    MPI_Type_free(&row_type);
    MPI_Finalize();
    return 0;
}
