// SPDX-License-Identifier: BSD-3-Clause
// What the opaque words of MPI_Status hold: bytes received and whether it was cancelled.
#ifndef PLI_OBJ_STATUS_H
#define PLI_OBJ_STATUS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Words of MPI_internal. The bytes take two, low and high as the machine orders them.
enum { PLI_STATUS_BYTES = 0, PLI_STATUS_CANCELLED = 2 };

// Part of the bytes: they count in external32, as they came from another MPI. No count is so large.
#define PLI_STATUS_EXTERNAL ((uint64_t)1 << 63)

static inline bool pli_status_is_ignored(const MPI_Status *s)
{
    return s == MPI_STATUS_IGNORE;
}

static inline void pli_status_set_bytes(MPI_Status *s, uint64_t bytes)
{
    memcpy(&s->MPI_internal[PLI_STATUS_BYTES], &bytes, sizeof bytes);
}

static inline uint64_t pli_status_bytes(const MPI_Status *s)
{
    uint64_t bytes;
    memcpy(&bytes, &s->MPI_internal[PLI_STATUS_BYTES], sizeof bytes);
    return bytes & ~PLI_STATUS_EXTERNAL;
}

static inline bool pli_status_is_external(const MPI_Status *s)
{
    uint64_t bytes;
    memcpy(&bytes, &s->MPI_internal[PLI_STATUS_BYTES], sizeof bytes);
    return (bytes & PLI_STATUS_EXTERNAL) != 0;
}

static inline void pli_status_set_cancelled(MPI_Status *s, bool is_cancelled)
{
    s->MPI_internal[PLI_STATUS_CANCELLED] = is_cancelled;
}

static inline bool pli_status_cancelled(const MPI_Status *s)
{
    return s->MPI_internal[PLI_STATUS_CANCELLED] != 0;
}

// All of a finished operation that was not cancelled. s may be MPI_STATUS_IGNORE.
static inline void pli_status_set(MPI_Status *s, int source, int tag, int error, uint64_t bytes)
{
    if (!pli_status_is_ignored(s)) {
        s->MPI_SOURCE = source;
        s->MPI_TAG = tag;
        s->MPI_ERROR = error;
        pli_status_set_bytes(s, bytes);
        pli_status_set_cancelled(s, false);
    }
}

// Same, but MPI_ERROR is left as it is, as the functions with one status must. [MPI-5.0 3.2.5]
static inline void pli_status_set_one(MPI_Status *s, int source, int tag, uint64_t bytes)
{
    if (!pli_status_is_ignored(s)) {
        pli_status_set(s, source, tag, s->MPI_ERROR, bytes);
    }
}

// The status of no operation: a null or inactive request. [MPI-5.0 3.7.3]
static inline void pli_status_set_empty(MPI_Status *s)
{
    pli_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0);
}

// The status of an operation with MPI_PROC_NULL. [MPI-5.0 3.10]
static inline void pli_status_set_proc_null(MPI_Status *s)
{
    pli_status_set(s, MPI_PROC_NULL, MPI_ANY_TAG, 0, 0);
}

#endif
