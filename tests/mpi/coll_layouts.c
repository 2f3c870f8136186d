// SPDX-License-Identifier: BSD-3-Clause
// Every rank describes the same data by a datatype of its own choice, in messages and collectives
// of random sizes: ints in a row, one block in a larger extent, pieces with gaps, pieces in
// another order. Types are random by rank, everything else is the same at all ranks.
#include <mpi.h>

#include <stdbool.h>
#include <stdint.h>

#include "t.h"

enum { ROUNDS = 60, MOST = 90000, N_KIND = 6 };

static int me, n;
static uint64_t common = 5, own;
static int *stream, *want;

static uint32_t next(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33) % below;
}

// Room for blocks of `n_int` ints each.
struct place {
    MPI_Datatype type;
    int n_int, n_elem; // of a block; the type's
    MPI_Aint block;    // bytes from one to the next
    char *memory, *buf;
};

// One block of ints.
static MPI_Datatype make(uint32_t kind, int n_int)
{
    MPI_Datatype t, row;
    int half[2] = { n_int / 3, n_int - n_int / 3 };
    MPI_Aint at[2] = { 4 * (MPI_Aint)half[1] + 8, 0 };
    switch (kind) {
    case 1:
        MPI_Type_create_subarray(1, (int[]){ n_int + 50 }, &n_int, (int[]){ 20 }, MPI_ORDER_C,
                                 MPI_INT, &t);
        break;
    case 2:
        MPI_Type_contiguous(n_int, MPI_INT, &row);
        MPI_Type_create_resized(row, -4, 4 * (MPI_Aint)n_int + 12, &t);
        MPI_Type_free(&row);
        break;
    case 3:
        MPI_Type_create_hvector(n_int, 1, 12, MPI_INT, &t);
        break;
    case 4:
        MPI_Type_create_hindexed(2, half, at, MPI_INT, &t);
        break;
    default:
        MPI_Type_contiguous(n_int, MPI_INT, &t);
    }
    MPI_Type_commit(&t);
    return t;
}

static struct place take_place(int n_int, int n_block)
{
    static const int parts[] = { 1, 1, 2, 5, 16 };
    struct place p = { .n_int = n_int };
    uint32_t kind = next(&own, N_KIND);
    int n_part = parts[next(&own, 5)];
    p.n_elem = n_int % n_part == 0 ? n_part : 1;
    p.type = make(kind, n_int / p.n_elem);
    if (kind == 0) { // the basic type itself
        MPI_Type_free(&p.type);
        MPI_Type_dup(MPI_INT, &p.type);
        p.n_elem = n_int;
    }
    MPI_Aint lb, extent;
    MPI_Type_get_extent(p.type, &lb, &extent);
    p.block = p.n_elem * extent;
    p.memory = calloc(1, (size_t)(n_block * p.block) + 4 * (size_t)n_int + 256);
    T_MUST(p.memory != NULL);
    p.buf = p.memory + 64;
    return p;
}

static void give_place(struct place *p)
{
    MPI_Type_free(&p->type);
    free(p->memory);
}

static void make_data(int *to, int n_int, int from, int dest, int round)
{
    for (int i = 0; i < n_int; i++) {
        to[i] = from * 7919 + dest * 104729 + round * 31 + i;
    }
}

static void put(const struct place *p, int block, int from, int dest, int round)
{
    int at = 0, size = 4 * p->n_int;
    make_data(stream, p->n_int, from, dest, round);
    MPI_Unpack(stream, size, &at, p->buf + block * p->block, p->n_elem, p->type, MPI_COMM_SELF);
}

static void look(const struct place *p, int block, int from, int dest, int round)
{
    int at = 0, size = 4 * p->n_int;
    MPI_Pack(p->buf + block * p->block, p->n_elem, p->type, stream, size, &at, MPI_COMM_SELF);
    make_data(want, p->n_int, from, dest, round);
    T_OK(memcmp(stream, want, (size_t)size) == 0);
}

static void finish(MPI_Request *r)
{
    MPI_Wait(r, MPI_STATUS_IGNORE);
}

static void ring(struct place *s, struct place *r, int round)
{
    int left = (me + n - 1) % n, right = (me + 1) % n;
    put(s, 0, me, right, round);
    MPI_Request out;
    MPI_Isend(s->buf, s->n_elem, s->type, right, round, MPI_COMM_WORLD, &out);
    MPI_Recv(r->buf, r->n_elem, r->type, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    finish(&out);
    look(r, 0, left, me, round);
}

static void bcast(struct place *s, struct place *r, int root, int round, bool waits)
{
    struct place *p = me == root ? s : r;
    MPI_Request all;
    if (me == root) {
        put(p, 0, root, 0, round);
    }
    if (waits) {
        MPI_Ibcast(p->buf, p->n_elem, p->type, root, MPI_COMM_WORLD, &all);
        finish(&all);
    } else {
        MPI_Bcast(p->buf, p->n_elem, p->type, root, MPI_COMM_WORLD);
    }
    look(p, 0, root, 0, round);
}

static void gather(struct place *s, struct place *r, int root, int round, bool waits)
{
    MPI_Request all;
    put(s, 0, me, root, round);
    if (waits) {
        MPI_Igather(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, root, MPI_COMM_WORLD,
                    &all);
        finish(&all);
    } else {
        MPI_Gather(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, root, MPI_COMM_WORLD);
    }
    for (int i = 0; i < n && me == root; i++) {
        look(r, i, i, root, round);
    }
}

static void scatter(struct place *s, struct place *r, int root, int round, bool waits)
{
    MPI_Request all;
    for (int i = 0; i < n && me == root; i++) {
        put(s, i, root, i, round);
    }
    if (waits) {
        MPI_Iscatter(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, root, MPI_COMM_WORLD,
                     &all);
        finish(&all);
    } else {
        MPI_Scatter(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, root, MPI_COMM_WORLD);
    }
    look(r, 0, root, me, round);
}

static void allgather(struct place *s, struct place *r, int round, bool waits)
{
    MPI_Request all;
    put(s, 0, me, 0, round);
    if (waits) {
        MPI_Iallgather(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, MPI_COMM_WORLD,
                       &all);
        finish(&all);
    } else {
        MPI_Allgather(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, MPI_COMM_WORLD);
    }
    for (int i = 0; i < n; i++) {
        look(r, i, i, 0, round);
    }
}

static void alltoall(struct place *s, struct place *r, int round, bool waits)
{
    MPI_Request all;
    for (int i = 0; i < n; i++) {
        put(s, i, me, i, round);
    }
    if (waits) {
        MPI_Ialltoall(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, MPI_COMM_WORLD, &all);
        finish(&all);
    } else {
        MPI_Alltoall(s->buf, s->n_elem, s->type, r->buf, r->n_elem, r->type, MPI_COMM_WORLD);
    }
    for (int i = 0; i < n; i++) {
        look(r, i, i, me, round);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    own = (uint64_t)me * 77 + 3;
    stream = malloc(MOST * sizeof *stream);
    want = malloc(MOST * sizeof *want);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t size = next(&common, 4);
        int n_int = size == 0   ? 1 + (int)next(&common, 40)
                    : size == 1 ? 48 * (1 + (int)next(&common, 100))
                    : size == 2 ? 240 * (1 + (int)next(&common, 100))
                                : 240 * (1 + (int)next(&common, MOST / 240));
        int root = (int)next(&common, (uint32_t)n);
        bool waits = next(&common, 3) == 0;
        struct place s = take_place(n_int, n), r = take_place(n_int, n);
        ring(&s, &r, i);
        switch (next(&common, 5)) {
        case 0:
            bcast(&s, &r, root, i, waits);
            break;
        case 1:
            gather(&s, &r, root, i, waits);
            break;
        case 2:
            scatter(&s, &r, root, i, waits);
            break;
        case 3:
            allgather(&s, &r, i, waits);
            break;
        default:
            alltoall(&s, &r, i, waits);
        }
        give_place(&s);
        give_place(&r);
    }
    free(stream);
    free(want);
    MPI_Finalize();
    return t_status();
}
