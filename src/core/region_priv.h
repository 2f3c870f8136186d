// SPDX-License-Identifier: BSD-3-Clause
// Inside the regions.
#ifndef PLI_CORE_REGION_PRIV_H
#define PLI_CORE_REGION_PRIV_H

#include "core/lane.h"
#include "core/region.h"
#include "core/region_wire.h"
#include "core/request.h"

struct pli_region {
    struct pli_comm *comm;
    char **near;
    size_t size;
    pli_region_answer_fn answer;
    void *arg;
    bool has_far;
    bool *is_dirty; // by member: something was sent that may not be done
    uint32_t next_tag;
    // Serving: one receive, taken up again when its message is dealt with, so that messages of one
    // member are dealt with in order.
    struct pli_request_child recv;
    struct pli_task task;
    bool is_serving, is_over;
    bool is_waiting; // the receive is posted
    struct pli_region_msg *in, *out;
};

// region_serve.c: begin to answer others. Context: start-up of the region.
enum pli_err pli_region_serve(struct pli_region *r);

#endif
