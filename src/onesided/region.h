// SPDX-License-Identifier: BSD-3-Clause
// One-sided access: memory of every member of a communicator that the other members reach without
// its help. Members on the same host load and store; others are asked by messages, which their
// owner serves whenever it waits or polls, and its progress thread while it does neither, in the
// order they were sent; or they are reached by UCX where that is faster.
//
// A region has a communicator for itself. One thread at a time uses a member's region; what it
// does to one target happens there in that order. Offsets count from the start of a member's part.
// Functions that return an error have left the far side as it was, or part of it written.
// Context of all: no lock held.
#ifndef PLI_ONESIDED_REGION_H
#define PLI_ONESIDED_REGION_H

#include "base/err.h"
#include "onesided/region_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_region;
struct pli_request;

enum { PLI_REGION_ASK = 64 }; // bytes of a question and of its answer

// Answers a question of another member; returns the length of the answer, at most PLI_REGION_ASK.
// Context: no lock held; inside any call that waits, or in another thread, one at a time. It must
// not wait itself.
typedef size_t (*pli_region_answer_fn)(void *arg, int origin, const void *ask, size_t len,
                                       void *answer);

struct pli_region_plan {
    struct pli_comm *comm;       // the region's alone; a reference is taken
    char *const *near;           // by member: where its part is mapped here; NULL: not at all
    size_t size;                 // of one part: what others may reach of mine
    size_t gap;                  // bytes at its start that are not there
    pli_region_answer_fn answer; // NULL: nobody asks
    void *arg;
};

// Local: others' requests wait until the member has made its region.
enum pli_err pli_region_create(const struct pli_region_plan *plan, struct pli_region **out);
// Context: all members have flushed, and none uses it any more.
void pli_region_destroy(struct pli_region *r); // NULL is fine

// Whether devices may hold on to memory of the region, which then must not be given back to the
// system.
bool pli_region_is_lent(const struct pli_region *r);

// The part of a member as this process sees it; NULL: far.
char *pli_region_near(const struct pli_region *r, int member);

// The source may be used again at once; the target has it after a flush. Later accesses of this
// member to the same target see it in any case.
enum pli_err pli_region_put(struct pli_region *r, int to, size_t at, const void *src, size_t len);
enum pli_err pli_region_get(struct pli_region *r, int from, size_t at, void *dst, size_t len);
enum pli_err pli_region_set(struct pli_region *r, int to, size_t at, int byte, size_t len);

// n blocks: at `at`, at + step, ... of the member, and at my, my + my_step, ... here. Steps may be
// negative.
struct pli_region_strided {
    size_t at, block, n;
    ptrdiff_t step, my_step;
};
enum pli_err pli_region_put_strided(struct pli_region *r, int to,
                                    const struct pli_region_strided *s, const void *src);
enum pli_err pli_region_get_strided(struct pli_region *r, int from,
                                    const struct pli_region_strided *s, void *dst);
// n blocks at the offsets at[i], side by side here.
enum pli_err pli_region_put_indexed(struct pli_region *r, int to, const uint64_t *at, size_t n,
                                    size_t block, const void *src);
enum pli_err pli_region_get_indexed(struct pli_region *r, int from, const uint64_t *at, size_t n,
                                    size_t block, void *dst);

// *target = *target op *a, indivisible against all other operations of this kind; b: what
// PLI_REGION_CSWAP stores when the target equals *a. The old value goes to fetch, unless NULL.
enum pli_err pli_region_atomic(struct pli_region *r, int to, size_t at, enum pli_region_type type,
                               enum pli_region_op op, const void *a, const void *b, void *fetch);

// A get under way: *out is NULL when it is over already. Else test or wait ends it, once.
enum pli_err pli_region_get_begin(struct pli_region *r, int from, size_t at, void *dst, size_t len,
                                  struct pli_request **out);
bool pli_region_get_test(struct pli_region *r, struct pli_request *req); // true: over and gone
enum pli_err pli_region_get_wait(struct pli_request *req);

// All that this member did to one target, or to all, is done there and seen by everybody.
enum pli_err pli_region_flush(struct pli_region *r, int to);
enum pli_err pli_region_flush_all(struct pli_region *r);

// Ask a member something and wait for the answer; or just tell it.
enum pli_err pli_region_ask(struct pli_region *r, int to, const void *ask, size_t len, void *answer,
                            size_t *len_out);
enum pli_err pli_region_tell(struct pli_region *r, int to, const void *text, size_t len);

#endif
