// SPDX-License-Identifier: BSD-3-Clause
// Messages between members of a region, and the operations that they are parts of. Nothing here
// waits, except for room and where a function says so.
#ifndef PLI_ONESIDED_REGION_MSG_H
#define PLI_ONESIDED_REGION_MSG_H

#include "msg/lane.h"
#include "msg/request.h"
#include "onesided/region_wire.h"

struct pli_comm;
struct pli_datatype;
struct pli_region;
struct pli_region_member;

// An operation that ends when all its parts have: a transfer from or to memory of the caller.
struct pli_region_access {
    struct pli_region *region;
    struct pli_region_member *member;
    uint32_t n_left; // parts, and one until all are begun; guarded by the lane's lock
    enum pli_err err;
    struct pli_request *user; // NULL: the caller has no request for it
    struct pli_task task;
    // Answers that come packed go to the caller's memory at the end.
    char *packed;
    size_t bytes;
    void *buf;
    MPI_Count count;
    struct pli_datatype *type; // with a reference; NULL: nothing to release
};

// A message, or another part of an operation.
struct pli_region_part {
    struct pli_request_child child;
    struct pli_region *region;
    struct pli_region_member *member; // the other side
    struct pli_region_access *op;
    struct pli_region_msg msg;
};

// A new message of this kind with room for blocks and data; NULL: no memory, noted.
struct pli_region_part *pli_region_msg_new(struct pli_region *r, enum pli_region_kind kind,
                                           size_t len);
// Free the memory of a request that is over, or was not begun; NULL: nothing. Where the other side
// may still name it, it stays for ever.
void pli_region_msg_free(struct pli_request_child *c);
// Its blocks. Data comes behind them.
void pli_region_msg_blocks(struct pli_region_part *m, const struct pli_region_block *blocks, int n);
// Send it; it belongs to the library from now on, also after a failure.
enum pli_err pli_region_msg_send(struct pli_region_part *m, int to, size_t len);
// Send bytes that stay where they are until the part is over, or receive them.
enum pli_err pli_region_msg_send_data(struct pli_region_part *m, int to, uint32_t tag,
                                      const void *buf, MPI_Count count, struct pli_datatype *type);
enum pli_err pli_region_msg_receive(struct pli_region_part *m, int from, uint32_t tag, void *buf,
                                    MPI_Count count, struct pli_datatype *type);
// The part becomes a request without a message, which the caller completes. Context: lane
// locked.
struct pli_request *pli_region_msg_plain(struct pli_region_part *m, int to, size_t bytes);
// An empty message with a tag of the client's.
enum pli_err pli_region_msg_notify(struct pli_region *r, int to, uint32_t tag);

// Begin to receive one.
enum pli_err pli_region_msg_await(struct pli_region *r, int from, uint32_t tag,
                                  struct pli_request **out);

uint32_t pli_region_msg_tag(struct pli_region *r);
struct pli_lane *pli_region_msg_lane(const struct pli_region *r);
struct pli_datatype *pli_region_msg_byte(void); // MPI_BYTE

// An operation on a member; want_request: the caller gets one. NULL: no memory, noted.
struct pli_region_access *pli_region_msg_begin(struct pli_region *r, int member, bool want_request);
// It gets one more part. Context: no lock held.
void pli_region_msg_add(struct pli_region_access *op, struct pli_region_part *m);
// No more parts will come; err: whether they could all be begun. The request, if one is wanted.
enum pli_err pli_region_msg_end(struct pli_region_access *op, enum pli_err err,
                                struct pli_request **out);
// Wait for a request, which is gone then: its result.
enum pli_err pli_region_msg_finish(struct pli_request *req, size_t *len_out);

// Wait until no more than so many messages are on their way.
void pli_region_msg_throttle(struct pli_region *r, uint32_t most);
// Wait until memory here that operations on a member use is free: local completion.
void pli_region_msg_complete_local(struct pli_region *r, int member, const char *call);

// A question to a member: its answer arrives in memory of the caller.
struct pli_region_question {
    struct pli_request *req;
    struct pli_region_member *member;
    uint64_t sent; // messages before it
};
// data: what follows the head of the message.
enum pli_err pli_region_msg_ask(struct pli_region *r, int to, struct pli_region_part *m, size_t len,
                                void *answer, size_t room, struct pli_region_question *q);
// Wait for the answer. All messages before the question are dealt with then.
enum pli_err pli_region_msg_wait_answer(struct pli_region_question *q, size_t *len_out);

// Threads of this process that serve the region, and those that synchronise, are in order by way of
// other processes; this says so to a tool that looks at this process alone.
void pli_region_msg_order(struct pli_region *r);

uint32_t pli_region_msg_data_tag(const struct pli_comm *c); // added to the tags of data

#endif
