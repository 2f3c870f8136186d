// SPDX-License-Identifier: BSD-3-Clause
// State of endpoints that knows what it must be: a field whose length depends on the rank, and a
// note that only odd ranks have.
#ifndef PLI_TESTS_MPI_BALANCE_T_H
#define PLI_TESTS_MPI_BALANCE_T_H

#include <mpi.h>
#include <mpix_balance.h>

#include "t.h"

struct field {
    int rank, n, age;
    double value[];
};

static int n_alive;                           // fields and notes here
static int fail_size, fail_pack, fail_unpack; // the next call of these fails with this code
static int n_touched;                         // calls of size, pack and unpack

static inline double value_of(int rank, int i, int age)
{
    return rank * 1000.0 + i + age * 0.25;
}

static inline struct field *field_create(int rank, int age)
{
    int n = rank * 37 % 101;
    struct field *f = malloc(sizeof *f + (size_t)n * sizeof(double));
    *f = (struct field){ rank, n, age };
    for (int i = 0; i < n; i++) {
        f->value[i] = value_of(rank, i, age);
    }
    n_alive++;
    return f;
}

static inline int field_size(const void *data, void *arg, MPI_Count *bytes)
{
    const struct field *f = data;
    T_OK(arg == &n_alive);
    n_touched++;
    *bytes = (MPI_Count)(sizeof *f + (size_t)f->n * sizeof(double));
    return fail_size;
}

static inline int field_pack(const void *data, void *arg, void *buf, MPI_Count bytes)
{
    (void)arg;
    T_EQ((size_t)buf % 16, 0);
    memcpy(buf, data, (size_t)bytes);
    n_touched++;
    return fail_pack;
}

static inline int field_unpack(const void *buf, MPI_Count bytes, void *arg, void **data)
{
    (void)arg;
    n_touched++;
    if (fail_unpack != 0) {
        return fail_unpack;
    }
    *data = malloc((size_t)bytes);
    memcpy(*data, buf, (size_t)bytes);
    n_alive++;
    return MPI_SUCCESS;
}

static inline int note_size(const void *data, void *arg, MPI_Count *bytes)
{
    (void)arg;
    *bytes = (MPI_Count)strlen(data) + 1;
    return MPI_SUCCESS;
}

static inline void drop(void *data, void *arg)
{
    (void)arg;
    free(data);
    n_alive--;
}

static const MPIX_Balance_state field_calls = { field_size, field_pack, field_unpack, drop };
static const MPIX_Balance_state note_calls = { note_size, field_pack, field_unpack, drop };
static int field_part, note_part;

static inline MPI_Comm balance_comm_at(MPIX_Balance b, int i)
{
    MPI_Comm c;
    T_MUST(MPIX_Balance_comm(b, i, &c) == MPI_SUCCESS);
    return c;
}

static inline int balance_count(MPIX_Balance b)
{
    int n;
    T_MUST(MPIX_Balance_count(b, &n) == MPI_SUCCESS);
    return n;
}

static inline int rank_at(MPIX_Balance b, int i)
{
    int rank;
    T_MUST(MPI_Comm_rank(balance_comm_at(b, i), &rank) == MPI_SUCCESS);
    return rank;
}

static inline void state_create(MPIX_Balance b)
{
    T_MUST(MPIX_Balance_register(b, "field", &field_calls, &n_alive, &field_part) == MPI_SUCCESS);
    T_MUST(MPIX_Balance_register(b, "note", &note_calls, NULL, &note_part) == MPI_SUCCESS);
    for (int i = 0; i < balance_count(b); i++) {
        int rank = rank_at(b, i);
        T_MUST(MPIX_Balance_set(b, i, field_part, field_create(rank, 0)) == MPI_SUCCESS);
        if (rank % 2 == 1) {
            char *note = malloc(40);
            snprintf(note, 40, "the note of rank %d", rank);
            n_alive++;
            T_MUST(MPIX_Balance_set(b, i, note_part, note) == MPI_SUCCESS);
        }
    }
}

// Every endpoint here has what it must have, and there is nothing else.
static inline void state_check(MPIX_Balance b, int age)
{
    int n_want = 0;
    for (int i = 0; i < balance_count(b); i++) {
        int rank = rank_at(b, i);
        void *data;
        T_MUST(MPIX_Balance_get(b, i, field_part, &data) == MPI_SUCCESS && data != NULL);
        struct field *f = data;
        T_EQ(f->rank, rank);
        T_EQ(f->n, rank * 37 % 101);
        T_EQ(f->age, age);
        for (int k = 0; k < f->n; k++) {
            T_OK(f->value[k] == value_of(rank, k, age));
        }
        T_MUST(MPIX_Balance_get(b, i, note_part, &data) == MPI_SUCCESS);
        T_EQ(data != NULL, rank % 2);
        if (data != NULL) {
            char want[40];
            snprintf(want, sizeof want, "the note of rank %d", rank);
            T_STR(data, want);
        }
        n_want += 1 + rank % 2;
    }
    T_EQ(n_alive, n_want);
}

#endif
