// SPDX-License-Identifier: BSD-3-Clause
// The functions for large counts of the test program, where its MPI has them; where not, those for
// int take part with the others.
#include "world.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if MPI_VERSION >= 4
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#define LARGE(name) name##_c
#else
typedef int count_t;
typedef int place_t;
#define LARGE(name) name
#endif

static int me, n;

static void messages(void)
{
    int to = (me + 1) % n, from = (me + n - 1) % n, got[4] = { 0 }, v[3] = { me, me + 1, me + 2 };
    MPI_Request req[2];
    MPI_Status st;
    MPI_Message message;
    count_t count = -1;
    LARGE(MPI_Irecv)(got, (count_t)4, MPI_INT, from, 1, MPI_COMM_WORLD, &req[0]);
    LARGE(MPI_Send)(v, (count_t)3, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Wait(&req[0], &st);
    LARGE(MPI_Get_count)(&st, MPI_INT, &count);
    CHECK(count == 3 && got[0] == from && got[2] == from + 2);
    LARGE(MPI_Get_elements)(&st, MPI_INT, &count);
    CHECK(count == 3);
    LARGE(MPI_Isend)(v, (count_t)2, MPI_INT, to, 2, MPI_COMM_WORLD, &req[1]);
    MPI_Mprobe(from, 2, MPI_COMM_WORLD, &message, &st);
    LARGE(MPI_Get_count)(&st, MPI_INT, &count);
    CHECK(count == 2);
    got[1] = -1;
    LARGE(MPI_Mrecv)(got, (count_t)4, MPI_INT, &message, MPI_STATUS_IGNORE);
    CHECK(got[0] == from && got[1] == from + 1);
    MPI_Wait(&req[1], MPI_STATUS_IGNORE);
}

static void packing(void)
{
    int v[2] = { 5, -6 }, w[2] = { 0 };
    count_t size = 0, at = 0, back = 0;
    LARGE(MPI_Pack_size)((count_t)2, MPI_INT, MPI_COMM_WORLD, &size);
    CHECK(size >= 8);
    char *p = malloc((size_t)size);
    LARGE(MPI_Pack)(v, (count_t)2, MPI_INT, p, size, &at, MPI_COMM_WORLD);
    LARGE(MPI_Unpack)(p, at, &back, w, (count_t)2, MPI_INT, MPI_COMM_WORLD);
    CHECK(w[0] == 5 && w[1] == -6 && back == at);
    free(p);
}

// Rank r has r + 1 numbers for everybody, and 2 elements between the blocks.
static void collectives(void)
{
    size_t total = 0;
    count_t *counts = malloc((size_t)n * sizeof *counts);
    place_t *displs = malloc((size_t)n * sizeof *displs);
    for (int r = 0; r < n; r++) {
        counts[r] = r + 1;
        displs[r] = (place_t)total;
        total += (size_t)r + 3;
    }
    int *all = calloc(total, sizeof *all), *mine = malloc((size_t)n * sizeof *mine), sum = -1;
    for (int i = 0; i < n; i++) {
        mine[i] = 100 * me + i;
    }
    LARGE(MPI_Allreduce)(&me, &sum, (count_t)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == n * (n - 1) / 2);
    LARGE(MPI_Bcast)(&sum, (count_t)1, MPI_INT, n - 1, MPI_COMM_WORLD);
    for (int pass = 0; pass < 3; pass++) { // to everybody, to one, and while nothing is waited for
        MPI_Request req = MPI_REQUEST_NULL;
        for (size_t i = 0; i < total; i++) {
            all[i] = -1;
        }
        if (pass == 0) {
            LARGE(MPI_Allgatherv)
            (mine, (count_t)me + 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
        } else if (pass == 1) { // the lists are looked at by the root alone
            LARGE(MPI_Gatherv)
            (mine, (count_t)me + 1, MPI_INT, all, me == 1 ? counts : NULL, me == 1 ? displs : NULL,
             MPI_INT, 1, MPI_COMM_WORLD);
        } else {
            LARGE(MPI_Iallgatherv)
            (mine, (count_t)me + 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD, &req);
        }
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        for (int r = 0; r < n && (pass != 1 || me == 1); r++) {
            CHECK(all[displs[r]] == 100 * r && all[displs[r] + r] == 100 * r + r &&
                  all[displs[r] + r + 1] == -1);
        }
    }
    free(counts);
    free(displs);
    free(all);
    free(mine);
}

// Counts and displacements that are no int, where the functions for large counts are there. What is
// sent is little, and of the memory only what is received is touched.
static void many(void)
{
    enum { LEN = 40 };
    const count_t far = sizeof(count_t) > 4 ? (count_t)3000000000LL : 1;
    const place_t step = sizeof(place_t) > 4 ? (place_t)2200000000LL : LEN;
    int to = (me + 1) % n, from = (me + n - 1) % n;
    size_t room = (size_t)step * (size_t)n + (size_t)far;
    char v[LEN], *big = mmap(NULL, room, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    count_t *counts = malloc((size_t)n * sizeof *counts), count = -1;
    place_t *displs = malloc((size_t)n * sizeof *displs);
    MPI_Datatype nothing;
    MPI_Request req;
    MPI_Status st;
    CHECK(big != MAP_FAILED && counts != NULL && displs != NULL);
    memset(v, me + 1, LEN);
    LARGE(MPI_Irecv)(big, far > LEN ? far : LEN, MPI_CHAR, from, 3, MPI_COMM_WORLD, &req);
    MPI_Send(v, LEN, MPI_CHAR, to, 3, MPI_COMM_WORLD);
    MPI_Wait(&req, &st);
    LARGE(MPI_Get_count)(&st, MPI_CHAR, &count);
    CHECK(count == LEN && big[LEN - 1] == from + 1 && big[LEN] == 0);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    LARGE(MPI_Isend)(v, far, nothing, to, 4, MPI_COMM_WORLD, &req);
    LARGE(MPI_Recv)(v, far, nothing, from, 4, MPI_COMM_WORLD, &st);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    LARGE(MPI_Get_count)(&st, MPI_CHAR, &count);
    CHECK(count == 0);
    LARGE(MPI_Bcast)(v, far, nothing, 0, MPI_COMM_WORLD);
    MPI_Type_free(&nothing);
    for (int i = 0; i < n; i++) { // parts that are farther apart than an int counts
        counts[i] = LEN - i;
        displs[i] = (place_t)i * step;
    }
    LARGE(MPI_Allgatherv)
    (v, (count_t)LEN - me, MPI_CHAR, big, counts, displs, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        CHECK(big[displs[i]] == i + 1 && big[displs[i] + LEN - i - 1] == i + 1);
        big[displs[i]] = 0;
    }
    LARGE(MPI_Gatherv)
    (v, (count_t)LEN - me, MPI_CHAR, big, counts, displs, MPI_CHAR, n - 1, MPI_COMM_WORLD);
    for (int i = 0; i < n && me == n - 1; i++) {
        CHECK(big[displs[i]] == i + 1);
    }
    munmap(big, room);
    free(counts);
    free(displs);
}

void world_large(int rank, int size)
{
    me = rank;
    n = size;
    if (n < 2) {
        return;
    }
    messages();
    packing();
    collectives();
    many();
}
