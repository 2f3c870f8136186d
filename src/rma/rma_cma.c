// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and accumulations by the kernel.
// An access is over when the call returns, at both sides: flushes have nothing to do for it. No
// order is to be kept with other puts and gets; who accumulates looks for others under way before.
#include "rma/rma_cma.h"

#include "base/clock.h"
#include "base/conf.h"
#include "boot/boot.h"
#include "msg/request.h"
#include "net/shm/peer_memory.h"
#include "net/shm/shm.h"
#include "onesided/region_apply.h"
#include "rma/rma_target.h"
#include "rma/win_attach.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { PIECE = 65536 }; // of an accumulation: others wait for so long

struct pli_shm_mailbox *pli_rma_cma_box(struct pli_id id)
{
    uint32_t row;
    bool is_wanted = pli_conf.onecopy[0] != 'o' && !pli_request_may_be_withdrawn;
    if (!is_wanted || !pli_boot_shares(&pli_boot, id.proc, &row)) {
        return NULL;
    }
    return pli_shm_box(&pli_boot.node, row, (int)(id.ep % PLI_NODE_N_LANE));
}

bool pli_rma_cma_may(const struct pli_shm_mailbox *box)
{
    return pli_peer_memory_probe(box);
}

bool pli_rma_cma_read(const struct pli_shm_mailbox *box, void *to, uint64_t from, size_t bytes)
{
    struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };
    return pli_peer_memory_is_owner(box) && pli_peer_memory_read(box, &local, 1, &remote, 1, bytes);
}

// The mailbox of a process whose memory may be read, now; NULL: it may not.
static struct pli_shm_mailbox *reach(struct pli_win_peer *p)
{
    struct pli_shm_mailbox *box = atomic_load_explicit(&p->box, memory_order_relaxed);
    if (box == NULL) {
        return NULL;
    }
    uint64_t now = pli_clock_ns(), was = atomic_load_explicit(&p->box_ns, memory_order_relaxed);
    if (was != 0 && now - was < PLI_PEER_MEMORY_HOLDS_NS) {
        return box;
    }
    bool may = was == 0 ? pli_peer_memory_probe(box) : pli_peer_memory_is_owner(box);
    if (!may) {
        atomic_store_explicit(&p->box, NULL, memory_order_relaxed);
        return NULL;
    }
    atomic_store_explicit(&p->box_ns, now, memory_order_relaxed);
    return box;
}

// The same for these bytes at a place, all of which are to be attached in a dynamic window.
static struct pli_shm_mailbox *reach_at(struct pli_win_peer *p, uint64_t address, size_t bytes)
{
    bool is_there = p->attached == NULL || pli_win_attach_sees(p->attached, address, bytes);
    return is_there ? reach(p) : NULL;
}

static uint64_t address_of(const struct pli_rma_target *t)
{
    return t->peer->address + (uint64_t)t->at + (uint64_t)t->type->true_lb;
}

bool pli_rma_cma_put(const struct pli_rma_target *t, const void *from, size_t bytes)
{
    const struct pli_shm_mailbox *box = reach_at(t->peer, address_of(t), bytes);
    return box != NULL && pli_peer_memory_write(box, address_of(t), from, bytes);
}

bool pli_rma_cma_get(const struct pli_rma_target *t, void *to, size_t bytes)
{
    const struct pli_shm_mailbox *box = reach_at(t->peer, address_of(t), bytes);
    struct iovec local = { to, bytes };
    struct iovec remote = { (void *)(uintptr_t)address_of(t), bytes };
    return box != NULL && pli_peer_memory_read(box, &local, 1, &remote, 1, bytes);
}

bool pli_rma_cma_may_reach(const struct pli_rma_target *t, size_t bytes)
{
    return reach_at(t->peer, address_of(t), bytes) != NULL;
}

bool pli_rma_cma_copy(struct pli_win_peer *p, void *here, uint64_t there, size_t bytes, bool is_put)
{
    const struct pli_shm_mailbox *box = reach(p);
    struct iovec local = { here, bytes }, remote = { (void *)(uintptr_t)there, bytes };
    return box != NULL && (is_put ? pli_peer_memory_write(box, there, here, bytes)
                                  : pli_peer_memory_read(box, &local, 1, &remote, 1, bytes));
}

bool pli_rma_cma_move(struct pli_win_peer *p, const struct iovec *here, const struct iovec *there,
                      int n, size_t bytes, bool is_put)
{
    const struct pli_shm_mailbox *box = n > 0 ? reach(p) : NULL;
    for (int i = 0; p->attached != NULL && box != NULL && i < n; i++) {
        box = reach_at(p, (uintptr_t)there[i].iov_base, there[i].iov_len);
    }
    return n == 0 ||
           (box != NULL && (is_put ? pli_peer_memory_write_pieces(box, there, n, here, n, bytes)
                                   : pli_peer_memory_read(box, here, n, there, n, bytes)));
}

// One piece, at `done` from the front. Context: the guard is held.
static bool update_piece(const struct pli_shm_mailbox *box, uint64_t target,
                         const struct pli_rma_cma_update *u, size_t done, size_t len, char *here)
{
    bool is_replace = u->in != NULL && u->combine == NULL;
    char *old = u->out != NULL ? u->out + done : here;
    struct iovec local = { old, len }, remote = { (void *)(uintptr_t)(target + done), len };
    if ((u->out != NULL || !is_replace) && !pli_peer_memory_read(box, &local, 1, &remote, 1, len)) {
        return false;
    }
    if (u->in == NULL || is_replace) {
        return u->in == NULL || pli_peer_memory_write(box, target + done, u->in + done, len);
    }
    if (old != here) {
        memcpy(here, old, len);
    }
    u->combine(u->in + done, here, len / u->elem);
    return pli_peer_memory_write(box, target + done, here, len);
}

size_t pli_rma_cma_update(const struct pli_rma_target *t, const struct pli_rma_cma_update *u)
{
    const struct pli_shm_mailbox *box =
        t->peer->guard != NULL ? reach_at(t->peer, address_of(t), u->bytes) : NULL;
    size_t most = PIECE - PIECE % u->elem, done = 0;
    char *here = box != NULL ? malloc(u->bytes < most ? u->bytes : most) : NULL;
    bool is_done = here != NULL;
    while (is_done && done < u->bytes) {
        size_t len = u->bytes - done < most ? u->bytes - done : most;
        pli_region_apply_lock(t->peer->guard);
        is_done = update_piece(box, address_of(t), u, done, len, here);
        pli_region_apply_unlock(t->peer->guard);
        done += is_done ? len : 0;
    }
    free(here);
    return done;
}
