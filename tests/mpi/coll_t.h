// SPDX-License-Identifier: BSD-3-Clause
// For the tests of collectives: streams of ints in buffers of several layouts, and the three forms
// of every operation.
#ifndef PLI_TESTS_COLL_T_H
#define PLI_TESTS_COLL_T_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "t.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, N_FORM };
enum { HOLE = -77 };

// A datatype of `width` ints at these offsets, the next element `extent` ints further on.
struct layout {
    MPI_Datatype type;
    int width, extent, offset[2];
};

static struct layout layouts[3];
static int me, n;

static inline void make_layouts(void)
{
    layouts[0] = (struct layout){ MPI_INT, 1, 1, { 0, 0 } };
    layouts[1] = (struct layout){ MPI_DATATYPE_NULL, 2, 3, { 0, 2 } };
    T_MUST(MPI_Type_vector(2, 1, 2, MPI_INT, &layouts[1].type) == MPI_SUCCESS);
    layouts[2] = (struct layout){ MPI_DATATYPE_NULL, 2, 5, { 3, 1 } };
    int lengths[2] = { 1, 1 };
    MPI_Aint displs[2] = { 3 * sizeof(int), 1 * sizeof(int) };
    MPI_Datatype raw;
    T_MUST(MPI_Type_create_hindexed(2, lengths, displs, MPI_INT, &raw) == MPI_SUCCESS);
    T_MUST(MPI_Type_create_resized(raw, 0, 5 * sizeof(int), &layouts[2].type) == MPI_SUCCESS);
    T_MUST(MPI_Type_free(&raw) == MPI_SUCCESS);
    T_MUST(MPI_Type_commit(&layouts[1].type) == MPI_SUCCESS);
    T_MUST(MPI_Type_commit(&layouts[2].type) == MPI_SUCCESS);
}

static inline void free_layouts(void)
{
    MPI_Type_free(&layouts[1].type);
    MPI_Type_free(&layouts[2].type);
}

// Ints that a buffer for a stream of m ints takes.
static inline size_t span(const struct layout *l, int m)
{
    return (size_t)m / (size_t)l->width * (size_t)l->extent + 8;
}

static inline size_t place(const struct layout *l, int k)
{
    return (size_t)(k / l->width) * (size_t)l->extent + (size_t)l->offset[k % l->width];
}

static inline int value(int from, int to, int k)
{
    return from * 1000003 + to * 10007 + k * 7 + 1;
}

static inline int *fresh(size_t len)
{
    int *b = malloc((len + 1) * sizeof *b);
    T_MUST(b != NULL);
    for (size_t i = 0; i < len; i++) {
        b[i] = HOLE;
    }
    return b;
}

static inline void put(int *b, const struct layout *l, int m, int from, int to)
{
    for (int k = 0; k < m; k++) {
        b[place(l, k)] = value(from, to, k);
    }
}

static inline void same(const char *what, const int *got, const int *want, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (got[i] != want[i]) {
            fprintf(stderr, "rank %d of %d: %s: int %zu is %d, expected %d\n", me, n, what, i,
                    got[i], want[i]);
            t_failed++;
            return;
        }
    }
}

#define GOOD(call) T_EQ(call, MPI_SUCCESS)

// One operation in one of its forms; a persistent one is started `rounds` times.
#define COLL(form, rounds, name, iname, ...)                                                       \
    do {                                                                                           \
        MPI_Request q_ = MPI_REQUEST_NULL;                                                         \
        if ((form) == BLOCKING) {                                                                  \
            GOOD(MPI_##name(__VA_ARGS__));                                                         \
        } else if ((form) == NONBLOCKING) {                                                        \
            GOOD(MPI_##iname(__VA_ARGS__, &q_));                                                   \
            GOOD(MPI_Wait(&q_, MPI_STATUS_IGNORE));                                                \
            T_OK(q_ == MPI_REQUEST_NULL);                                                          \
        } else {                                                                                   \
            GOOD(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &q_));                              \
            for (int r_ = 0; r_ < (rounds); r_++) {                                                \
                GOOD(MPI_Start(&q_));                                                              \
                GOOD(MPI_Wait(&q_, MPI_STATUS_IGNORE));                                            \
            }                                                                                      \
            GOOD(MPI_Request_free(&q_));                                                           \
        }                                                                                          \
    } while (0)

#endif
