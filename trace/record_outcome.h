// SPDX-License-Identifier: BSD-3-Clause
// What the events of a record mean: which are possible at all, and whom each nonblocking receive
// received from. A record may have been damaged, or made by somebody else: all of it is looked at
// before anything is replayed, in time and memory that its bytes allow.
#ifndef PLI_TRACE_RECORD_OUTCOME_H
#define PLI_TRACE_RECORD_OUTCOME_H

#include "trace/record_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Kinds of events. Numbers of each: a rank is written as rank + 1, 0: the receive was cancelled; a
// tag as its distance from the last one, in zigzag; an index as index + 1, 0: MPI_UNDEFINED.
enum pli_record_kind {
    PLI_RECORD_RECV,            // rank
    PLI_RECORD_RECV_TAG,        // rank, tag: both were wildcards
    PLI_RECORD_FIRST,           // rank: the oldest nonblocking wildcard receive is complete
    PLI_RECORD_FIRST_TAG,       // rank, tag
    PLI_RECORD_LATER,           // how many are older, rank
    PLI_RECORD_LATER_TAG,       // how many are older, rank, tag
    PLI_RECORD_PROBE,           // rank
    PLI_RECORD_PROBE_TAG,       // rank, tag
    PLI_RECORD_IPROBE,          // flag
    PLI_RECORD_IPROBE_FROM,     // rank
    PLI_RECORD_IPROBE_FROM_TAG, // rank, tag
    PLI_RECORD_TEST,            // flag
    PLI_RECORD_TESTALL,         // flag
    PLI_RECORD_TESTANY,         // 0: false, or 1 + index
    PLI_RECORD_WAITANY,         // index
    PLI_RECORD_STATUS,          // MPI_Request_get_status: flag
    PLI_RECORD_STATUS_ALL,      // flag
    PLI_RECORD_STATUS_ANY,      // 0: false, or 1 + index
    PLI_RECORD_PARRIVED,        // flag
    PLI_RECORD_WIN_TEST,        // flag
    PLI_RECORD_N_PLAIN,
    PLI_RECORD_WAITSOME = PLI_RECORD_FILE_LIST, // the indices, or one that is MPI_UNDEFINED
    PLI_RECORD_TESTSOME,
    PLI_RECORD_STATUS_SOME,
    PLI_RECORD_N_KIND
};

// Receives one after the other that received from the same rank.
struct pli_record_outcome {
    uint64_t first;
    uint32_t n;
    int32_t source; // rank + 1; 0: cancelled
};

struct pli_record_outcomes {
    struct pli_record_outcome *runs; // by number
    size_t n, cap;
};

enum { PLI_RECORD_UNKNOWN = -1 };

// Read the whole record. False: it is damaged, or there is no memory.
bool pli_record_outcomes_read(struct pli_record_outcomes *o, const struct pli_record_file *f);
// The source of the receive with this number, as it is written, or PLI_RECORD_UNKNOWN.
int32_t pli_record_outcomes_find(const struct pli_record_outcomes *o, uint64_t number);
void pli_record_outcomes_fini(struct pli_record_outcomes *o);

#endif
