// SPDX-License-Identifier: BSD-3-Clause
// Inside the regions.
#ifndef PLI_ONESIDED_REGION_PRIV_H
#define PLI_ONESIDED_REGION_PRIV_H

#include "msg/lane.h"
#include "onesided/region.h"
#include "onesided/region_wire.h"
#include "msg/request.h"

// Messages to a member that nobody waits for: those sent, and those known to be done.
struct pli_region_mark {
    uint64_t sent, sure;
};

struct pli_region_loan;
struct pli_region_way;

struct pli_region {
    struct pli_comm *comm;
    char **near;
    size_t size;
    pli_region_answer_fn answer;
    void *arg;
    bool has_far;
    bool has_thread;               // the progress thread serves it too
    struct pli_region_mark *marks; // by member
    uint32_t next_tag;
    // Serving: one receive, taken up again when its message is dealt with, so that messages of one
    // member are dealt with in order.
    struct pli_request_child recv;
    struct pli_task task;
    bool is_serving, is_over;
    bool is_waiting; // the receive is posted
    bool is_taking;  // for the data of a large put, straight to its place
    struct pli_region_msg *in, *out;
    // By UCX; NULL: not used.
    size_t gap;
    bool is_native;              // a device here can reach others
    struct pli_region_way *ways; // by member
    struct pli_region_loan *loans;
};

static inline bool pli_region_is_dirty(const struct pli_region *r, int member)
{
    return r->marks[member].sent != r->marks[member].sure;
}

// region_serve.c: begin to answer others. Context: start-up of the region.
enum pli_err pli_region_serve(struct pli_region *r);

// region.c: ask a member for a key; *len_out: bytes of the answer.
enum pli_err pli_region_ask_key(struct pli_region *r, int to, size_t at, struct pli_region_key *key,
                                size_t *len_out);
// A request about a member is over: its result. It is gone.
enum pli_err pli_region_finish(struct pli_request *req, size_t *len_out);

// region_ucx.c: access by UCX, where that is better than messages.
enum pli_err pli_region_ucx_open(struct pli_region *r);
void pli_region_ucx_close(struct pli_region *r);
// Of a transfer of len bytes, how many can go in one piece; 0: use messages.
size_t pli_region_ucx_span(struct pli_region *r, int member, size_t at, size_t len, bool is_put);
// Begin one of that length. What was put before, and what was asked before, is over then.
enum pli_err pli_region_ucx_begin(struct pli_region *r, int member, size_t at, void *mine,
                                  size_t len, bool is_put, struct pli_request **out);
// False: use messages.
bool pli_region_ucx_atomic(struct pli_region *r, int to, size_t at, enum pli_region_type type,
                           enum pli_region_op op, const void *a, const void *b, void *fetch,
                           enum pli_err *err_out);
// What was put there is there, before a message goes.
enum pli_err pli_region_ucx_settle(struct pli_region *r, int to);
// A member asks for a key: its length, 0: none.
size_t pli_region_ucx_lend(struct pli_region *r, uint64_t at, struct pli_region_key *out);

#endif
