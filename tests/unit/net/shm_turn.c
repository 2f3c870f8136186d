// SPDX-License-Identifier: BSD-3-Clause
// A mailbox whose reader keeps up needs one page of cells, and has as much room as ever: a burst
// uses all cells, and so does what comes after it.
#include "net/shm/shm.h"

#include "boot/boot.h"
#include "boot/node.h"
#include "msg/lane.h"
#include "t.h"

#include <mpi.h>
#include <sys/mman.h>

enum { LANE = 5, MANY = 6 }; // nobody else uses their mailboxes

static bool has_page(const struct pli_shm_mailbox *box, int cell)
{
    unsigned char is_there = 0;
    uintptr_t at = (uintptr_t)&box->cells[cell] & ~(uintptr_t)4095;
    T_MUST(mincore((void *)at, 1, &is_there) == 0);
    return (is_there & 1) != 0;
}

static int write_some(struct pli_shm_peer *peer, int n, uint32_t n_cell)
{
    for (int i = 0; i < n; i++) {
        uint64_t pos;
        struct pli_shm_cell *cell = pli_shm_claim_row(peer, n_cell, &pos);
        if (cell == NULL) {
            return i;
        }
        cell->size = (uint64_t)i;
        pli_shm_publish(peer, cell, pos);
    }
    return n;
}

static int read_all(struct pli_shm *s, uint32_t n_cell)
{
    int n = 0;
    for (const struct pli_shm_cell *c; (c = pli_shm_peek(s)) != NULL; n++) {
        T_EQ(c->size, n);
        pli_shm_next_row(s, n_cell);
    }
    pli_shm_settle(s);
    return n;
}

static void keeps_up(struct pli_shm *s, struct pli_shm_peer *peer, uint32_t n_cell)
{
    for (int i = 0; i < 10 * PLI_SHM_FEW; i++) {
        int n = i % 7 + 1;
        T_EQ(write_some(&peer[i % 3 == 0], n, n_cell), n);
        T_EQ(read_all(s, n_cell), n);
        T_OK(s->head % PLI_SHM_N_CELL <= PLI_SHM_FEW);
    }
    T_EQ(s->box->is_whole, 0);
    T_OK(has_page(s->box, 0));
    T_OK(!has_page(s->box, 2 * PLI_SHM_FEW));
}

// A place that is claimed and not filled yet is waited for.
static void is_about_to(struct pli_shm *s, struct pli_shm_peer *peer)
{
    while (s->head % PLI_SHM_N_CELL != PLI_SHM_FEW / 2 - 1) {
        T_MUST(write_some(peer, 1, 1) == 1);
        T_MUST(read_all(s, 1) == 1);
    }
    uint64_t pos, filled;
    struct pli_shm_cell *first = pli_shm_claim(peer, &filled), *late = pli_shm_claim(peer, &pos);
    T_MUST(first != NULL && late != NULL);
    first->size = late->size = 0;
    pli_shm_publish(peer, first, filled);
    T_EQ(read_all(s, 1), 1);
    T_EQ(s->head, pos);
    pli_shm_publish(peer, late, pos);
    T_EQ(read_all(s, 1), 1);
    T_EQ(s->head % PLI_SHM_N_CELL, 0);
}

static void bursts(struct pli_shm *s, struct pli_shm_peer *peer)
{
    T_EQ(write_some(&peer[1], 3, 1), 3);
    T_EQ(read_all(s, 1), 3);
    for (int i = 0; i < 3; i++) {
        T_EQ(write_some(&peer[i & 1], 2 * PLI_SHM_N_CELL, 1), PLI_SHM_N_CELL);
        T_EQ(s->box->is_whole, 1);
        T_EQ(read_all(s, 1), PLI_SHM_N_CELL);
    }
    uint64_t head = s->head;
    T_EQ(write_some(peer, PLI_SHM_FEW, 1), PLI_SHM_FEW);
    T_EQ(read_all(s, 1), PLI_SHM_FEW);
    T_EQ(s->head, head + PLI_SHM_FEW);
}

// Many messages, one at a time, use all cells in the end.
static void many(struct pli_shm *s, struct pli_shm_peer *peer)
{
    for (int i = 0; i < 512 * PLI_SHM_FEW; i++) {
        T_MUST(write_some(peer, 1, 1) == 1 && read_all(s, 1) == 1);
    }
    T_EQ(s->box->is_whole, 1);
    T_EQ(s->turn_at, UINT64_MAX);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct pli_shm s, many_s;
    struct pli_shm_peer peer[2], many_peer;
    T_MUST(pli_shm_open(&s, &pli_boot.node, pli_boot.row, LANE) == PLI_OK);
    pli_shm_peer_init(&peer[0], &pli_boot.node, pli_boot.row, LANE);
    pli_shm_peer_init(&peer[1], &pli_boot.node, pli_boot.row, LANE);
    T_MUST(pli_shm_open(&many_s, &pli_boot.node, pli_boot.row, MANY) == PLI_OK);
    pli_shm_peer_init(&many_peer, &pli_boot.node, pli_boot.row, MANY);
    many(&many_s, &many_peer);
    keeps_up(&s, peer, 1);
    keeps_up(&s, peer, 3);
    is_about_to(&s, peer);
    bursts(&s, peer);
    MPI_Finalize();
    return t_status();
}
