// SPDX-License-Identifier: BSD-3-Clause
// <gasp_upc.h>: the events of UPC programs that a GASP tool is told of, with what follows the
// column. A place that is not known is NULL, 0, 0.
#ifndef PLI_UPC_GASP_UPC_H
#define PLI_UPC_GASP_UPC_H
#include <stdint.h>

#define GASP_UPC_VERSION 20060914

// A pointer-to-shared as C has it: pass it on, or look at it by UPC code. Arguments are addresses
// of such.
typedef uint64_t gasp_upc_PTS_t;
typedef uint64_t gasp_upc_lock_t;

enum {
    GASP_UPC_COLLECTIVE_EXIT = 1,    // start, end: int status
    GASP_UPC_NONCOLLECTIVE_EXIT = 2, // atomic: int status
    GASP_UPC_NOTIFY = 10,            // start, end: int named, int expr
    GASP_UPC_WAIT = 11,
    GASP_UPC_BARRIER = 12,
    GASP_UPC_GLOBAL_ALLOC = 20, // start: size_t nblocks, size_t nbytes; end: also gasp_upc_PTS_t *
    GASP_UPC_ALL_ALLOC = 21,
    GASP_UPC_ALLOC = 22,             // start: size_t nbytes; end: also gasp_upc_PTS_t *
    GASP_UPC_FREE = 23,              // start, end: gasp_upc_PTS_t *
    GASP_UPC_GLOBAL_LOCK_ALLOC = 30, // start: nothing; end: gasp_upc_lock_t *
    GASP_UPC_ALL_LOCK_ALLOC = 31,
    GASP_UPC_LOCK_FREE = 32, // start, end: gasp_upc_lock_t *
    GASP_UPC_LOCK = 33,
    GASP_UPC_LOCK_ATTEMPT = 34, // end: also int result
    GASP_UPC_UNLOCK = 35,
    GASP_UPC_MEMGET = 40,        // start, end: void *dst, gasp_upc_PTS_t *src, size_t n
    GASP_UPC_MEMPUT = 41,        // gasp_upc_PTS_t *dst, void *src, size_t n
    GASP_UPC_MEMCPY = 42,        // gasp_upc_PTS_t *dst, gasp_upc_PTS_t *src, size_t n
    GASP_UPC_MEMSET = 43,        // gasp_upc_PTS_t *dst, int c, size_t n
    GASP_UPC_ALL_BROADCAST = 50, // gasp_upc_PTS_t *dst, gasp_upc_PTS_t *src, size_t n, int flags
    GASP_UPC_ALL_SCATTER = 51,
    GASP_UPC_ALL_GATHER = 52,
    GASP_UPC_ALL_GATHER_ALL = 53,
    GASP_UPC_ALL_EXCHANGE = 54,
    GASP_UPC_ALL_PERMUTE = 55,       // gasp_upc_PTS_t *dst, *src, *perm, size_t n, int flags
    GASP_UPC_USEREVT_START = 100000, // what gasp_create_event returns is from here
    GASP_UPC_USEREVT_END = 999999    // to here
};

#endif
