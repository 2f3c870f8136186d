// SPDX-License-Identifier: BSD-3-Clause
// Access to members on other hosts by UCX's own put, get and atomic operations.
#ifndef PLI_ONESIDED_REGION_UCX_H
#define PLI_ONESIDED_REGION_UCX_H

#include "base/err.h"
#include "onesided/region_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_region;
struct pli_region_key;
struct pli_region_member;
struct pli_region_access;
struct pli_request;

enum pli_err pli_region_ucx_open(struct pli_region *r);
void pli_region_ucx_close(struct pli_region *r);

// Whether UCX reaches these bytes of a member, and should: a device does the work, or the user
// wants it. Where that is not known yet the owner is asked, and the answer is no until it comes.
bool pli_region_ucx_has(struct pli_region *r, int member, uint64_t at, size_t len);
// Add the transfer to an operation. pli_region_ucx_has said yes. Nothing is in order with anything
// else.
enum pli_err pli_region_ucx_move(struct pli_region_access *op, int member, uint64_t at, void *mine,
                                 size_t len, bool is_put);
// An atomic operation that returns the old value; waits for it. False: use messages.
bool pli_region_ucx_atomic(struct pli_region *r, int to, uint64_t at, enum pli_region_type type,
                           enum pli_region_op op, const void *a, const void *b, void *fetch,
                           enum pli_err *err_out);
// Whether what was put at a member may not be there yet.
bool pli_region_ucx_is_dirty(struct pli_region *r, int member);
// Begin to flush that, and wait for the end of it.
struct pli_region_ucx_flush {
    struct pli_request *req; // NULL: there is nothing to wait for
    struct pli_region_member *member;
    uint64_t n_put;
};
enum pli_err pli_region_ucx_flush_begin(struct pli_region *r, int to,
                                        struct pli_region_ucx_flush *f);
enum pli_err pli_region_ucx_flush_end(struct pli_region_ucx_flush *f);

// The owner's side: the key of the chunk around an offset; returns its length, 0: there is none.
// Context: the thread that serves.
size_t pli_region_ucx_register(struct pli_region *r, uint64_t at, struct pli_region_key *out);

#endif
