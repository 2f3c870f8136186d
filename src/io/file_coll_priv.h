// SPDX-License-Identifier: BSD-3-Clause
// A collective access, as the files that do it see it.
#ifndef PLI_IO_FILE_COLL_PRIV_H
#define PLI_IO_FILE_COLL_PRIV_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_file;
struct pli_file_access;
struct pli_file_map;
struct pli_file_overlap;
struct pli_file_view;
struct pli_request;

// The tag is negative: a death of any member ends the wait for one that left because of it.
enum { PLI_FILE_TAG = -20, PLI_FILE_TAG_FREE = -21 };

// What a member wants, as all of them know.
struct pli_file_want {
    MPI_Offset lo, hi; // in the file; lo == hi: nothing
    MPI_Offset pos;
    int64_t len;
    uint64_t run;  // address of its data, where that is one run; else 0
    int64_t flags; // of file_coll.c
};

// A collective access under way.
struct pli_file_op {
    struct pli_file *f;
    struct pli_file_access *a;
    struct pli_file_want *wants;
    MPI_Offset base, part; // aggregator i has [base + i * part, base + (i + 1) * part)
    MPI_Offset end;
    MPI_Offset window; // bytes of a part that are done in a round
    int n_round;
    char *room, *mail;             // aggregator: a buffer of the file, and what comes or goes
    char *buf;                     // the window of this round, in that buffer
    struct pli_file_map *map;      // has the window of this round; NULL: the buffer has it,
    char *plain;                   // where it would be without
    struct pli_request **requests; // aggregator: room for one of each member
    size_t *sizes;                 // aggregator: bytes of each member in this round
    size_t *ahead;                 // the same for the next round
    struct pli_file_overlap *overlap;
    bool is_fine;     // this member does better with others
    bool is_done;     // this member has read its data before it met the others
    bool are_done;    // all have, or want nothing
    bool is_whole;    // members want as many bytes as the range has, in pieces worth a ring
    enum pli_err err; // the first failure of this member
    struct pli_fail_saved why;
};

// The bytes of a member's stream that are in a window.
size_t pli_file_coll_share(const struct pli_file_view *v, const struct pli_file_want *w,
                           MPI_Offset lo, MPI_Offset hi, MPI_Offset *pos_out);
// This member failed; what it failed with first counts.
void pli_file_coll_note(struct pli_file_op *o, enum pli_err err);
// Wait for a request, and note how it ended. Returns how many bytes came; none where it failed.
size_t pli_file_coll_finish(struct pli_file_op *o, struct pli_request *r);

// For an aggregator, whose o->sizes says how much each member wants from `first` on. Whether
// [first, last), of which members have so many bytes, is without gaps; and each run of theirs is
// written by itself from o->buf.
bool pli_file_coll_is_whole(const struct pli_file_op *o, MPI_Offset first, MPI_Offset last,
                            size_t sum);
void pli_file_coll_write_runs(struct pli_file_op *o, MPI_Offset first);
// What members want of [lo, hi): sizes, range and sum. False: nothing.
bool pli_file_coll_trim(const struct pli_file_op *o, MPI_Offset lo, MPI_Offset hi, size_t *sizes,
                        MPI_Offset *first, MPI_Offset *last, size_t *sum_out);
// Put n bytes of this member's stream from `begin` on to memory where offset 0 of the file would be
// at base.
void pli_file_coll_place_own(const struct pli_file_op *o, MPI_Offset begin, size_t n, char *base);

#endif
