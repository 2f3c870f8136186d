// SPDX-License-Identifier: BSD-3-Clause
// Copies large messages with two threads of the process.
// The receiver cuts the message into chunks and both sides take chunks until none is left, one from
// the front and one from the back. The thread that finishes the last one tells the other. The
// sender's thread waits for the copy anyway, and two cores copy faster than one. Which side begins
// at which end depends on the lanes and not on which one sends: when the same buffers are used
// again, to and fro, each core finds its part of them in its own cache, where chunks taken by
// chance would be fetched from the other's. bench: ep_bw size=1048576.
#include "msg/coop_copy.h"

#include "msg/lane.h"
#include "msg/request.h"
#include "msg/msg_wire.h"
#include "msg/rndv.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32768, WORTH = 131072 };

// Chunks taken from the front are counted in the low half of a word, from the back in the high one.
#define BACK (UINT64_C(1) << 32)

struct job {
    const char *src;
    char *dst;
    uint64_t size;
    uint32_t n;
    struct pli_request *recv;
    _Alignas(64) _Atomic uint64_t taken;
    _Atomic uint32_t n_done;
    _Atomic uint32_t refs; // both sides hold one
};

static void release(struct job *j)
{
    if (atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) == 1) {
        free(j);
    }
}

bool pli_coop_copy_is_worth(const struct pli_request *send, const struct pli_request *recv)
{
    return send->size >= WORTH && recv->size >= WORTH && send->type->is_dense &&
           recv->type->is_dense && !pli_lane_is_oversubscribed();
}

// Take chunks while there are any. True: this side finished the last one.
static bool work(struct job *j, bool is_back)
{
    uint32_t mine = 0;
    for (;;) {
        uint64_t old =
            atomic_fetch_add_explicit(&j->taken, is_back ? BACK : 1, memory_order_relaxed);
        uint32_t front = (uint32_t)old, back = (uint32_t)(old >> 32);
        if (front + back >= j->n) {
            break;
        }
        uint64_t at = (uint64_t)(is_back ? j->n - 1 - back : front) * CHUNK;
        uint64_t len = j->size - at < CHUNK ? j->size - at : CHUNK;
        memcpy(j->dst + at, j->src + at, len);
        mine++;
    }
    return mine > 0 &&
           atomic_fetch_add_explicit(&j->n_done, mine, memory_order_acq_rel) + mine == j->n;
}

static void end_receive(struct pli_request *recv)
{
    pli_request_complete(recv, recv->bytes > recv->size ? PLI_ERR_TRUNC : PLI_OK);
}

bool pli_coop_copy_copy(const struct pli_request *send, struct pli_request *recv,
                        struct pli_conn *from)
{
    struct job *j = aligned_alloc(_Alignof(struct job), sizeof *j);
    if (j == NULL) {
        return false;
    }
    memset(j, 0, sizeof *j);
    j->src = (const char *)send->buf + send->type->true_lb;
    j->dst = (char *)recv->buf + recv->type->true_lb;
    j->size = send->size < recv->size ? send->size : recv->size;
    j->n = (uint32_t)((j->size + CHUNK - 1) / CHUNK);
    j->recv = recv;
    atomic_store_explicit(&j->refs, 2, memory_order_relaxed);
    uint64_t name = (uint64_t)(uintptr_t)send;
    pli_lane_note(from, PLI_MSG_COPY_HELP, name, (uint64_t)(uintptr_t)j, 0);
    if (work(j, recv->lane->index > from->peer_lane)) {
        end_receive(recv);
        pli_lane_note(from, PLI_MSG_FIN, name, 0, 0);
    }
    release(j);
    return true;
}

void pli_coop_copy_help(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct job *j = (struct job *)(uintptr_t)cell->word[1];
    if (work(j, lane->index > cell->src_lane)) {
        struct pli_conn *back = pli_lane_conn(lane, (struct pli_id){ lane->proc, cell->src_lane });
        uint64_t recv = (uint64_t)(uintptr_t)j->recv;
        pli_rndv_end_send((struct pli_request *)(uintptr_t)cell->word[0]);
        pli_lane_note(back, PLI_MSG_COPY_DONE, recv, 0, 0);
    }
    release(j);
}
