// SPDX-License-Identifier: BSD-3-Clause
// Making a window: each member tells what memory it brings, in one exchange, which also brings the
// context of the window's own communicator.
#include "rma/win_make.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/arena.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/info.h"
#include "onesided/region_lock.h"
#include "rma/win.h"
#include "rma/win_attach.h"
#include "rma/win_epoch.h"
#include "rma/win_free.h"
#include "rma/win_info.h"
#include "rma/win_memory.h"
#include "rma/rma_cma.h"
#include "rma/win_region.h"
#include "rma/win_ring.h"
#include "rma/win_ring_serve.h"

#include <stdlib.h>
#include <string.h>

// How this member reaches another one.
static void connect_member(const struct pli_win *w, struct pli_id id,
                           const struct pli_win_member *c, struct pli_win_peer *p)
{
    const struct pli_boot *boot = &pli_boot;
    uint32_t row;
    p->size = c->size;
    p->unit = c->unit;
    if (id.proc == w->comm->group->me.proc) {
        p->is_near = true;
        p->same = (struct pli_win *)(uintptr_t)c->window;
        p->base = w->flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : (uintptr_t)c->base;
        p->guard = p->same->guard;
    } else if (c->where == PLI_MEMORY_SEGMENT || c->where == PLI_MEMORY_ARENA) {
        bool is_here = w->flavor == MPI_WIN_FLAVOR_SHARED ? pli_boot_is_here(boot, id.proc, &row)
                                                          : pli_boot_shares(boot, id.proc, &row);
        void *at = is_here ? pli_win_memory_in(&w->memory, c->where, c->memory) : NULL;
        if (at != NULL) {
            p->is_near = true;
            p->base = (uintptr_t)at;
            p->guard = pli_win_memory_in(&w->memory, c->where, c->guard);
        }
    }
    if (p->same != NULL) {
        return;
    }
    struct pli_shm_mailbox *box = pli_rma_cma_box(id);
    p->window = c->window;
    p->may_ring = pli_win_ring_may(id);
    if (p->is_near) {
        p->box = box;
    } else {
        bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
        p->address = is_dynamic ? 0 : c->base;
        bool is_told = (c->arena & PLI_WIN_ARENA_GUARD) != 0;
        bool has_guard = (box != NULL || p->may_ring) && is_told;
        p->guard = has_guard ? pli_arena_at(c->guard) : NULL;
        p->box = is_dynamic && !has_guard ? NULL : box;
        p->attached = is_dynamic && has_guard ? pli_win_attach_wire(p->guard, w->comm->size) : NULL;
    }
}

enum pli_err pli_win_make_connect(struct pli_win *w, const struct pli_win_member *infos)
{
    size_t n = (size_t)w->comm->size;
    pli_win_ring_clone(w);
    free(w->peers);
    w->peers = calloc(n, sizeof *w->peers);
    if (w->peers == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a window of %zu members", n);
    }
    w->is_all_near = true;
    for (size_t i = 0; i < n; i++) {
        connect_member(w, pli_group_at(w->comm->group, (int)i), &infos[i], &w->peers[i]);
        pli_win_epoch_connect(w, (int)i, infos);
        w->is_all_near = w->is_all_near && w->peers[i].is_near;
    }
    return PLI_OK;
}

struct pli_win_member pli_win_make_tell(const struct pli_win *w)
{
    return (struct pli_win_member){ .base = (uintptr_t)w->base,
                                    .window = (uintptr_t)w,
                                    .size = (uint64_t)w->size,
                                    .unit = w->unit,
                                    .memory = pli_win_memory_offset(&w->memory, w->base),
                                    .guard = w->is_guard_arena
                                                 ? pli_arena_offset(w->guard)
                                                 : pli_win_memory_offset(&w->memory, w->guard),
                                    .arena = pli_win_epoch_offset(w) |
                                             (w->is_guard_arena ? PLI_WIN_ARENA_GUARD : 0),
                                    .where = (int32_t)w->memory.where };
}

// All infos; every member fails where one does.
static enum pli_err exchange(struct pli_win *w, struct pli_comm *comm, enum pli_err why,
                             struct pli_win_member *infos)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    struct pli_fail_saved saved;
    pli_fail_save(&saved, why);
    struct pli_win_member mine = pli_win_make_tell(w);
    mine.context = comm->rank == 0 ? pli_process_context() : 0;
    mine.err = (int32_t)why;
    enum pli_err err = pli_coll_allgather(&mine, sizeof mine, byte, infos, sizeof mine, byte, comm);
    if (why != PLI_OK) {
        return pli_fail_repeat(&saved);
    }
    for (int i = 0; i < comm->size && err == PLI_OK; i++) {
        if (infos[i].err != PLI_OK) {
            err = pli_fail((enum pli_err)infos[i].err, "rank %d could not take part: %s", i,
                           pli_err_text((enum pli_err)infos[i].err));
        }
    }
    return err;
}

enum pli_err pli_win_make_guard(struct pli_win *w, const struct pli_comm *comm, enum pli_err why)
{
    bool is_dynamic = w->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    size_t len = is_dynamic ? pli_win_attach_bytes(comm->size) : pli_region_lock_bytes(comm->size);
    if (w->guard == NULL && (w->guard = pli_arena_take(len)) != NULL) {
        w->is_guard_arena = true;
    } else if (w->guard == NULL) {
        w->guard = calloc(1, len);
        w->is_guard_own = true;
    }
    pli_win_epoch_make(w, comm->size);
    if (w->attached != NULL && w->guard != NULL) { // in a clone, which has all that its parent had
        pli_win_attach_publish(w);
    }
    return why != PLI_OK || w->guard != NULL
               ? why
               : pli_fail(PLI_ERR_NOMEM, "no memory for the lock of a window");
}

enum pli_err pli_win_make(struct pli_win *w, struct pli_comm *comm, struct pli_info *info,
                          enum pli_err why)
{
    struct pli_win_member *infos = malloc((size_t)comm->size * sizeof *infos);
    why = pli_win_make_guard(w, comm, why);
    pli_win_ring_serve_init();
    if (infos == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a window of %d members", comm->size);
    }
    w->is_first_only = pli_info_find(info, "pliant_first_only") != NULL;
    w->unit_int = w->unit > INT32_MAX ? MPI_UNDEFINED : (int)w->unit;
    enum pli_err err = exchange(w, comm, why, infos);
    if (err == PLI_OK) {
        err = pli_comm_make_child(comm, comm->group, NULL, infos[0].context, &w->comm);
    }
    err = err == PLI_OK ? pli_win_make_connect(w, infos) : err;
    err = err == PLI_OK ? pli_win_info_keep(w, info) : err;
    err = err == PLI_OK ? pli_win_region_open(w) : err;
    free(infos);
    return err;
}

static bool is_on_this_host(const struct pli_comm *comm)
{
    bool is = true;
    for (int i = 0; i < comm->size && is; i++) {
        uint32_t row;
        is = pli_boot_is_here(&pli_boot, pli_group_at(comm->group, i).proc, &row);
    }
    return is;
}

int pli_win_make_offer(struct pli_win *w, uint64_t *offset_out)
{
    int n = w->comm->size;
    if (!is_on_this_host(w->comm) || !pli_win_memory_offer_copy(&w->memory, offset_out)) {
        return PLI_MEMORY_NONE;
    }
    memset(pli_win_memory_at((int)w->memory.where, *offset_out), 0,
           (size_t)n * pli_region_lock_bytes(n)); // the guards, which are in front
    return (int)w->memory.where;
}

enum pli_err pli_win_make_join(struct pli_win *w, int where, uint64_t offset)
{
    size_t guard = pli_region_lock_bytes(w->comm->size) * (size_t)w->comm->rank;
    w->guard = (struct pli_guard *)(void *)((char *)w->memory.pages + guard);
    return pli_win_memory_join(&w->memory, where, offset);
}

static enum pli_err create(int flavor, void *base, MPI_Aint size, MPI_Aint unit,
                           struct pli_info *info, struct pli_comm *comm, struct pli_win **out)
{
    enum pli_err err = pli_win_check_comm(comm);
    struct pli_win *w = err == PLI_OK ? pli_win_new(flavor) : NULL;
    if (w == NULL) {
        return err == PLI_OK ? PLI_ERR_NOMEM : err;
    }
    w->base = base;
    w->size = size;
    w->unit = unit;
    err = pli_win_check(size, unit);
    if (err == PLI_OK && size > 0 && base == NULL && flavor == MPI_WIN_FLAVOR_CREATE) {
        err = pli_fail(PLI_ERR_BASE, "argument base is NULL, but size is %lld", (long long)size);
    }
    err = pli_win_make(w, comm, info, err);
    if (err != PLI_OK) {
        pli_win_free_local(w);
        return err;
    }
    *out = w;
    return PLI_OK;
}

enum pli_err pli_win_make_create(void *base, MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                 struct pli_comm *comm, struct pli_win **out)
{
    return create(MPI_WIN_FLAVOR_CREATE, base, size, unit, info, comm, out);
}

enum pli_err pli_win_make_dynamic(struct pli_info *info, struct pli_comm *comm,
                                  struct pli_win **out)
{
    return create(MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, 0, 1, info, comm, out);
}
