// SPDX-License-Identifier: BSD-3-Clause
// An iterative solver that loses ranks and has the same answer as if it had not, to the last bit.
//
//     mpiexec --on-failure=shrink -n 4 ./survive [STEPS [RANK STEP]...]
//
// Jacobi relaxation of a rod of POINTS points, cut into blocks. Every EVERY steps each rank keeps a
// copy of its block and gives another to the next rank. When a rank dies the others leave
// whatever they wait for, make a communicator of those that live, put the last copies together, cut
// the rod anew and go on from there. Only when a rank and the keeper of its copy die at once is
// something lost.
//
// With RANK STEP that rank kills itself before that step, when all have come to it: for tests.
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS = 6000, EVERY = 10 };

struct block { // points first to first + n - 1, and one more on either side
    int first, n;
    double at[POINTS + 2];
};

static MPI_Comm world; // of the ranks that live
static int rank, size, step, steps = 500, losses, is_saved;
static struct block mine;
static struct { // what the ranks go back to: my block and that of the rank before me
    int step;
    struct block own, other;
} saved, fresh;

static void cut(const double *rod)
{
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    mine.first = (int)((long long)POINTS * rank / size);
    mine.n = (int)((long long)POINTS * (rank + 1) / size) - mine.first;
    memset(mine.at, 0, sizeof mine.at);
    mine.at[0] = mine.first == 0 ? 1 : 0; // warm at one end
    memcpy(mine.at + 1, rod + mine.first, (size_t)mine.n * sizeof(double));
}

static int relax(void)
{
    static struct block next;
    int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int after = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    int rc = MPI_Sendrecv(&mine.at[1], 1, MPI_DOUBLE, before, 0, &mine.at[mine.n + 1], 1,
                          MPI_DOUBLE, after, 0, world, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Sendrecv(&mine.at[mine.n], 1, MPI_DOUBLE, after, 1, &mine.at[0], 1, MPI_DOUBLE,
                          before, 1, world, MPI_STATUS_IGNORE);
    }
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    next = mine;
    for (int i = 1; i <= mine.n; i++) {
        next.at[i] = (mine.at[i - 1] + mine.at[i + 1]) / 2;
    }
    mine = next;
    step++;
    return MPI_SUCCESS;
}

// Whether all ranks succeeded. A rank that failed calls this too before it recovers: agreements and
// shrinks are collective, and must come in the same order at all ranks.
static int agree(int rc, int *is_good)
{
    *is_good = rc == MPI_SUCCESS;
    if (!*is_good) {
        MPIX_Comm_revoke(world); // others may wait for what will not come
    }
    rc = MPIX_Comm_agree(world, is_good);
    return rc != MPI_SUCCESS ? rc : *is_good ? MPI_SUCCESS : MPI_ERR_OTHER;
}

// A new pair of copies counts when all have theirs.
static int save(void)
{
    int is_good;
    fresh.step = step;
    fresh.own = mine;
    int rc =
        MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, (rank + 1) % size, 2, &fresh.other, sizeof mine,
                     MPI_BYTE, (rank + size - 1) % size, 2, world, MPI_STATUS_IGNORE);
    rc = agree(rc, &is_good);
    if (is_good) {
        saved = fresh; // even if a rank died since
        is_saved = 1;
    }
    return rc;
}

static int is_dead(MPI_Group dead, int r)
{
    MPI_Group all;
    int as;
    MPI_Comm_group(world, &all);
    MPI_Group_translate_ranks(all, 1, &r, dead, &as);
    MPI_Group_free(&all);
    return as != MPI_UNDEFINED;
}

// Put the last copies together: every rank gives its own, and that of the rank before it if that
// one is dead.
static void recover(void)
{
    static double rod[POINTS];
    MPI_Comm next;
    MPI_Group dead;
    int rc;
    losses++;
    do { // until no rank dies meanwhile
        int known[2] = { 0, 0 };
        MPIX_Comm_revoke(world);
        MPIX_Comm_shrink(world, &next);
        MPIX_Comm_get_failed(world, &dead);
        memset(rod, 0, sizeof rod);
        memcpy(rod + saved.own.first, saved.own.at + 1, (size_t)saved.own.n * sizeof(double));
        known[0] = saved.own.n;
        if (is_dead(dead, (rank + size - 1) % size)) {
            memcpy(rod + saved.other.first, saved.other.at + 1,
                   (size_t)saved.other.n * sizeof(double));
            known[0] += saved.other.n;
        }
        rc = MPI_Allreduce(&known[0], &known[1], 1, MPI_INT, MPI_SUM, next);
        if (rc == MPI_SUCCESS && known[1] != POINTS && is_saved) { // else all begin anew
            fprintf(stderr, "%d points are lost with their copies\n", POINTS - known[1]);
            MPI_Abort(next, 1);
        }
        if (rc == MPI_SUCCESS) {
            rc = MPI_Allreduce(MPI_IN_PLACE, rod, POINTS, MPI_DOUBLE, MPI_SUM, next);
        }
        int is_good = rc == MPI_SUCCESS;
        rc =
            MPIX_Comm_agree(next, &is_good) == MPI_SUCCESS && is_good ? MPI_SUCCESS : MPI_ERR_OTHER;
        if (rc != MPI_SUCCESS) {
            MPI_Comm_free(&next);
        }
        MPI_Group_free(&dead);
    } while (rc != MPI_SUCCESS);
    if (world != MPI_COMM_WORLD) {
        MPI_Comm_free(&world);
    }
    world = next;
    step = saved.step;
    cut(rod);
}

static void report(void)
{
    static double rod[POINTS];
    uint64_t digest = 0xcbf29ce484222325u;
    memcpy(rod + mine.first, mine.at + 1, (size_t)mine.n * sizeof(double));
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : rod, rod, POINTS, MPI_DOUBLE, MPI_SUM, 0, world);
    const unsigned char *bytes = (const unsigned char *)rod;
    for (size_t i = 0; i < sizeof rod; i++) {
        digest = (digest ^ bytes[i]) * 0x100000001b3u;
    }
    if (rank == 0) {
        printf("%d steps, %d losses, %d ranks at the end: digest %016llx\n", step, losses, size,
               (unsigned long long)digest);
    }
}

// Ranks that die in the same step die at once: after the barrier no rank recovers without the
// others, which either come to the agreement or die too, whatever the barrier has returned.
static void die_if_told(int me, int argc, char **argv)
{
    int is_due = 0, is_mine = 0;
    for (int i = 2; i + 1 < argc; i += 2) {
        if (step == atoi(argv[i + 1])) {
            is_due = 1;
            is_mine = is_mine || me == atoi(argv[i]);
        }
    }
    if (is_due) {
        MPI_Barrier(world);
    }
    if (is_mine) {
        kill(getpid(), SIGKILL);
    }
}

int main(int argc, char **argv)
{
    static const double cold[POINTS];
    int me, is_first = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // and so of those made from it
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    steps = argc > 1 ? atoi(argv[1]) : steps;
    world = MPI_COMM_WORLD;
    cut(cold);
    while (step < steps) {
        int rc = MPI_SUCCESS, is_good;
        die_if_told(me, argc, argv);
        if (is_first || (step % EVERY == 0 && step != saved.step)) {
            rc = save();
            is_first = 0;
        }
        if (rc == MPI_SUCCESS) {
            rc = relax();
            if (rc != MPI_SUCCESS || step == steps) { // no rank leaves while others need its copies
                rc = agree(rc, &is_good);
            }
        }
        if (rc != MPI_SUCCESS) {
            recover();
            is_first = 1; // the copies are to be made anew, with the new neighbours
        }
    }
    report();
    MPI_Finalize();
    return 0;
}
