// SPDX-License-Identifier: BSD-3-Clause
// What a dead process leaves in the memory of others: a place in a mailbox that it claimed and did
// not fill, and blocks that it did not give back.
#include "ft/failure.h"

#include "base/clock.h"
#include "boot/failure_wire.h"
#include "boot/boot.h"
#include "msg/failure_hooks.h"
#include "msg/lane.h"
#include "ft/reclaim.h"
#include "msg/msg_wire.h"

#include "t.h"

#include <mpi.h>
#include <unistd.h>

static void hole(struct pli_lane *lane)
{
    struct pli_shm_peer peer;
    uint64_t pos;
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, 0);
    T_MUST(pli_shm_claim(&peer, &pos) != NULL);
    T_OK(pli_shm_has_hole(&lane->shm));
    T_OK(pli_failure_handlers.is_blocked(lane));
    _Atomic uint32_t *claim = &pli_boot.node.rows[pli_boot.row].claims[1];
    *claim = pli_shm_number(pli_boot.row, 0); // a living process is about to fill it
    for (int i = 0; i < 10; i++) {
        pli_failure_look(lane);
        T_OK(pli_failure_handlers.is_blocked(lane));
    }
    *claim = pli_shm_number(pli_boot.row, 1); // or another place
    pli_failure_look(lane);
    T_OK(!pli_failure_handlers.is_blocked(lane));
    *claim = 0;
    T_MUST(pli_shm_claim(&peer, &pos) != NULL); // a writer of another job would not say
    pli_boot.is_linked = true;
    uint64_t begin = pli_clock_ns();
    while (pli_failure_handlers.is_blocked(lane) && pli_clock_ns() - begin < 5000000000u) {
        pli_failure_look(lane);
        usleep(10000);
    }
    pli_boot.is_linked = false;
    T_OK(!pli_failure_handlers.is_blocked(lane));
    T_OK(pli_clock_ns() - begin > 400000000u);
}

// A writer that died over a message in several places leaves nothing that looks like one, and what
// came after it is read.
static void row(struct pli_lane *lane)
{
    enum { SIZE = 2 * PLI_SHM_MORE };
    struct pli_shm_peer peer;
    struct pli_shm_cell *cell = NULL;
    uint64_t pos;
    unsigned char data[SIZE] = { 0 };
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, 0);
    T_EQ(pli_shm_n_cell(SIZE), 3);
    for (int lap = 0; lap <= PLI_SHM_N_CELL / 3; lap++) { // so that places are used again
        T_MUST(pli_shm_claim_row(&peer, 3, &pos) != NULL);
        for (int i = 0; i < SIZE; i += 4) { // what the reader waits for, wherever it looks
            uint32_t seq = (uint32_t)pos + 1 + (uint32_t)lap % 4;
            memcpy(data + i, &seq, sizeof seq);
        }
        pli_shm_fill_row(&peer, pos, data, SIZE);
        T_MUST((cell = pli_shm_claim(&peer, &pos)) != NULL);
        *cell = (struct pli_shm_cell){ .kind = PLI_MSG_EAGER };
        pli_shm_publish(&peer, cell, pos);
        for (int i = 0; i < 3; i++) {
            T_OK(pli_shm_peek(&lane->shm) == NULL);
            T_OK(pli_shm_has_hole(&lane->shm));
            pli_failure_look(lane);
        }
        T_OK(pli_shm_peek(&lane->shm) == cell);
        pli_shm_next(&lane->shm);
    }
}

// There is room for a row or there is not: nothing is claimed of it.
static void room(struct pli_lane *lane)
{
    struct pli_shm_peer peer;
    uint64_t pos;
    pli_shm_settle(&lane->shm);
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, 0);
    for (int i = 0; i < PLI_SHM_N_CELL - 2; i++) {
        T_MUST(pli_shm_claim(&peer, &pos) != NULL);
    }
    T_OK(pli_shm_claim_row(&peer, 3, &pos) == NULL);
    T_OK(pli_shm_claim_row(&peer, 2, &pos) != NULL);
    T_OK(pli_shm_claim(&peer, &pos) == NULL);
    pli_shm_next_row(&lane->shm, PLI_SHM_N_CELL);
    pli_shm_settle(&lane->shm);
    T_OK(!pli_shm_has_hole(&lane->shm));
}

// A writer says where, and takes it back.
static void claim(void)
{
    struct pli_shm_peer peer;
    uint64_t pos;
    _Atomic uint32_t word = 0;
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, 2); // nobody reads there
    peer.claim = &word;
    for (int i = 0; i < PLI_SHM_N_CELL; i++) {
        struct pli_shm_cell *cell = pli_shm_claim(&peer, &pos);
        T_MUST(cell != NULL);
        T_EQ(word, pli_shm_number(pli_boot.row, 2));
        pli_shm_publish(&peer, cell, pos);
        T_EQ(word, 0);
    }
    T_OK(pli_shm_claim(&peer, &pos) == NULL); // full
    T_EQ(word, 0);
}

static void blocks(struct pli_lane *lane)
{
    struct pli_shm_peer peer;
    uint64_t pos;
    struct pli_shm_block *lost = pli_shm_block_take(&lane->shm, 100);
    struct pli_shm_block *sent = pli_shm_block_take(&lane->shm, 100);
    T_MUST(lost != NULL && sent != NULL);
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, 1); // nobody reads there
    pli_boot.node.rows[pli_boot.row].n_lane = 2;
    struct pli_shm_cell *cell = pli_shm_claim(&peer, &pos);
    T_MUST(cell != NULL);
    *cell = (struct pli_shm_cell){ .kind = PLI_MSG_EAGER,
                                   .flags = PLI_MSG_HAS_BLOCK,
                                   .src_lane = (uint8_t)lane->index,
                                   .src_proc = (uint32_t)lane->proc };
    cell->word[0] = pli_shm_block_offset(&lane->shm, sent);
    pli_shm_publish(&peer, cell, pos);
    pli_reclaim_blocks(lane);
    T_EQ(lost->is_busy, 0);
    T_EQ(sent->is_busy, 1); // it waits to be read
    pli_boot.node.rows[pli_boot.row].n_lane = 1;
    pli_reclaim_blocks(lane);
    T_EQ(sent->is_busy, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct pli_lane *lane = pli_proc.lanes[0];
    T_MUST(lane != NULL);
    T_OK(!pli_failure_is_due()); // a job that does not survive failures looks at nothing
    pli_request_may_be_withdrawn = true;
    T_OK(!pli_failure_is_due());
    pli_boot.node.header->n_failed = 1;
    pli_boot.node.header->n_news = 1;
    T_OK(pli_failure_is_due());
    hole(lane);
    row(lane);
    room(lane);
    claim();
    blocks(lane);
    MPI_Finalize();
    return t_status();
}
