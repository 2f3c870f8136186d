// SPDX-License-Identifier: BSD-3-Clause
// Copies large messages with two threads of the process: see copy_job.h. The sender's thread waits
// for the copy anyway, and two cores copy faster than one.
#include "msg/coop_copy.h"

#include "msg/copy_job.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "msg/msg_wire.h"
#include "msg/rndv.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32768, WORTH = 131072 };

static void release(struct pli_copy_job *j)
{
    if (pli_copy_job_release(j)) {
        free(j);
    }
}

bool pli_coop_copy_is_worth(const struct pli_request *send, const struct pli_request *recv)
{
    return send->size >= WORTH && recv->size >= WORTH && send->type->is_dense &&
           recv->type->is_dense && !pli_lane_is_oversubscribed();
}

// Take chunks while there are any. True: this side finished the last one.
static bool work(struct pli_copy_job *j, bool is_back)
{
    uint32_t mine = 0;
    uint64_t at, len;
    for (; pli_copy_job_take(j, is_back, &at, &len); mine++) {
        memcpy((char *)(uintptr_t)(j->dst + at), (const char *)(uintptr_t)(j->src + at), len);
    }
    return pli_copy_job_end(j, mine);
}

static void end_receive(struct pli_request *recv)
{
    pli_request_complete(recv, recv->bytes > recv->size ? PLI_ERR_TRUNC : PLI_OK);
}

bool pli_coop_copy_copy(const struct pli_request *send, struct pli_request *recv,
                        struct pli_conn *from)
{
    struct pli_copy_job *j = aligned_alloc(_Alignof(struct pli_copy_job), sizeof *j);
    if (j == NULL) {
        return false;
    }
    pli_copy_job_init(j, (uint64_t)(uintptr_t)send->buf + (uint64_t)send->type->true_lb,
                      (uint64_t)(uintptr_t)recv->buf + (uint64_t)recv->type->true_lb,
                      send->size < recv->size ? send->size : recv->size, CHUNK, CHUNK,
                      (uint64_t)(uintptr_t)recv);
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
    struct pli_copy_job *j = (struct pli_copy_job *)(uintptr_t)cell->word[1];
    if (work(j, lane->index > cell->src_lane)) {
        struct pli_conn *back = pli_lane_conn(lane, (struct pli_id){ lane->proc, cell->src_lane });
        uint64_t recv = j->recv;
        pli_rndv_end_send((struct pli_request *)(uintptr_t)cell->word[0]);
        pli_lane_note(back, PLI_MSG_COPY_DONE, recv, 0, 0);
    }
    release(j);
}
