// SPDX-License-Identifier: BSD-3-Clause
// One-sided access: memory of every member of a communicator that the other members reach without
// its help. MPI windows and UPC use it. Members on the same host load and store; others are reached
// by messages, which the owner serves whenever it waits or polls, and its progress thread while it
// does neither, in the order they were sent; or by UCX where the network does it better.
//
// A region has a communicator for itself. Offsets count from the start of a member's memory.
// The functions of this file keep the order of what one member does to one target, and one thread
// at a time uses them; those of region_datatype.h promise no order, and any thread may use them.
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
struct pli_guard;
struct pli_region;
struct pli_region_block;
struct pli_request;

enum { PLI_REGION_ASK = 64 }; // bytes of a question of pli_region_ask, and of its answer

// Another member asks the client something, or tells it, when tag is 0. The answer is given by
// pli_region_serve_answer, at once or later. Context: no lock held; inside any call that waits, or
// in another thread, one at a time. It must not wait itself.
typedef void (*pli_region_message_fn)(struct pli_region *r, void *arg, int origin, uint32_t tag,
                                      const void *text, size_t len);

struct pli_region_plan {
    struct pli_comm *comm; // the region's alone; a reference is taken
    char *base;            // of this member's memory; NULL: others name addresses
    size_t size;           // bytes of it that others may reach
    size_t gap;            // bytes at its start that are not there
    // By member: where its memory is mapped here; NULL: it is far. No table: the client itself
    // loads and stores where it can.
    char *const *near;
    bool has_far;      // some members are far
    bool has_thread;   // the progress thread serves it
    bool may_register; // UCX may reach the memory; without a network that can, nothing happens
    struct pli_guard *guard; // accumulations of region_datatype.h hold it; NULL: there are none
    // Whether others may reach these bytes; NULL: all from 0 to size.
    bool (*has)(void *arg, int64_t at, uint64_t len);
    // An access is refused because it is outside of the memory; NULL: its origin is told, no more.
    // Context as of on_message.
    void (*refused)(struct pli_region *r, void *arg, int origin, const struct pli_region_block *b);
    pli_region_message_fn on_message; // NULL: no member asks
    void *arg;
};

// Local: others' requests wait until the member has made its region.
enum pli_err pli_region_create(const struct pli_region_plan *plan, struct pli_region **out);
// Waits until nothing that this member sent or asked for is under way. It comes before the barrier
// after which a region is destroyed: the other members must still serve.
void pli_region_drain(struct pli_region *r);
// Context: all members have flushed and drained, and none uses it any more.
void pli_region_destroy(struct pli_region *r); // NULL is fine

// Whether devices may hold on to memory of the region, which then must not be given back to the
// system.
bool pli_region_is_registered(const struct pli_region *r);

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

// A get under way: *out is NULL when it is over already. Else test or wait ends it, once. test
// returns PLI_AGAIN while it is under way.
enum pli_err pli_region_get_begin(struct pli_region *r, int from, size_t at, void *dst, size_t len,
                                  struct pli_request **out);
enum pli_err pli_region_get_test(struct pli_region *r, struct pli_request *req);
enum pli_err pli_region_get_wait(struct pli_request *req);

// All that this member did to one target, or to all, is done there and seen by all members: remote
// completion. Operations that still use memory here must be settled before. Context: any thread.
enum pli_err pli_region_flush(struct pli_region *r, int to);
enum pli_err pli_region_flush_all(struct pli_region *r);
// The part of it that UCX did, for a client whose own message is answered after all others.
enum pli_err pli_region_flush_ucx(struct pli_region *r, int to);
enum pli_err pli_region_flush_ucx_all(struct pli_region *r);
// Operations on a member that use memory here are over: local completion. Context: any thread.
void pli_region_complete_local(struct pli_region *r, int member, const char *call);
// The same of gets that read the member's memory after its owner went on, if there are any.
void pli_region_complete_gets(struct pli_region *r, int member, const char *call);
// An access to a member that failed and was not reported yet; PLI_OK: none.
enum pli_err pli_region_fault(struct pli_region *r, int member);
// The client found that one has failed.
void pli_region_report(struct pli_region *r, int member, enum pli_err err);

// Ask a member's client something and wait for the answer; or just tell it.
enum pli_err pli_region_ask(struct pli_region *r, int to, const void *ask, size_t len, void *answer,
                            size_t *len_out);
enum pli_err pli_region_tell(struct pli_region *r, int to, const void *text, size_t len);

#endif
