// SPDX-License-Identifier: BSD-3-Clause
// Writes cells to the mailboxes of the ranks. A rank that does not read does not hold up the
// others.
#include "impi/agent_native/native_agent_priv.h"

#include "boot/node.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct queued {
    struct pli_list link;
    struct pli_shm_cell cell;
};

bool pli_native_agent_box_init(struct pli_native_agent *a)
{
    size_t n = (size_t)a->n_row * PLI_NODE_N_LANE;
    a->boxes = calloc(n, sizeof *a->boxes);
    for (size_t i = 0; a->boxes != NULL && i < n; i++) {
        pli_list_init(&a->boxes[i].queue);
        pli_list_init(&a->boxes[i].stalled);
    }
    pli_list_init(&a->stalled);
    return a->boxes != NULL;
}

static bool write_cell(struct pli_native_agent_box *b, const struct pli_shm_cell *from)
{
    uint64_t pos;
    struct pli_shm_cell *cell = pli_shm_claim(&b->peer, &pos);
    if (cell == NULL) {
        return false;
    }
    enum { SEQ = sizeof cell->seq }; // all but the word that publishes it
    memcpy((char *)cell + SEQ, (const char *)from + SEQ, sizeof *cell - SEQ);
    pli_shm_publish(&b->peer, cell, pos);
    return true;
}

void pli_native_agent_box_post(struct pli_native_agent *a, uint32_t row, uint32_t lane,
                               const struct pli_shm_cell *cell)
{
    struct pli_native_agent_box *b = &a->boxes[(size_t)row * PLI_NODE_N_LANE + lane];
    if (!b->is_open) {
        b->is_open = true;
        pli_shm_peer_init(&b->peer, a->node, row, (int)lane);
    }
    if (pli_list_is_empty(&b->queue) && write_cell(b, cell)) {
        return;
    }
    struct queued *q = malloc(sizeof *q);
    if (q == NULL) {
        pli_native_agent_fail(a, "no memory to keep a message for a rank");
        return;
    }
    memcpy(&q->cell, cell, sizeof q->cell);
    pli_list_push(&b->queue, &q->link);
    if (pli_list_is_empty(&b->stalled)) {
        pli_list_push(&a->stalled, &b->stalled);
    }
}

int pli_native_agent_box_retry(struct pli_native_agent *a)
{
    int n = 0;
    struct pli_list *at = a->stalled.next;
    while (at != &a->stalled) {
        struct pli_native_agent_box *b = PLI_CONTAINER(at, struct pli_native_agent_box, stalled);
        at = at->next;
        while (!pli_list_is_empty(&b->queue)) {
            struct queued *q = PLI_CONTAINER(b->queue.next, struct queued, link);
            if (!write_cell(b, &q->cell)) {
                break;
            }
            pli_list_remove(&q->link);
            free(q);
            n++;
        }
        if (pli_list_is_empty(&b->queue)) {
            pli_list_remove(&b->stalled);
        }
    }
    return n;
}
