// SPDX-License-Identifier: BSD-3-Clause
// MPI_Win_allocate and MPI_Win_allocate_shared. Guards are in front of the memory.
#include "rma/win_alloc.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/lane.h"
#include "obj/comm.h"
#include "obj/info.h"
#include "onesided/region_lock.h"
#include "rma/win.h"
#include "rma/win_free.h"
#include "rma/win_make.h"
#include "rma/win_memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = sizeof(struct pli_guard), ALIGN_MAX = 1 << 30, PAGE = 4096 };

static enum pli_err no_memory(size_t len)
{
    return pli_fail(PLI_ERR_NOMEM, "cannot allocate %zu bytes", len);
}

static enum pli_err alignment(struct pli_info *info, size_t *out)
{
    const char *text = pli_info_find(info, "mpi_minimum_memory_alignment");
    size_t n = text != NULL ? strtoul(text, NULL, 10) : ALIGN;
    if (n == 0 || n > ALIGN_MAX || (n & (n - 1)) != 0) {
        return pli_fail(PLI_ERR_INFO_VALUE,
                        "info key mpi_minimum_memory_alignment is \"%s\", but must be a power of "
                        "two up to 2^30",
                        text);
    }
    *out = n < ALIGN ? ALIGN : n;
    return PLI_OK;
}

static char *aligned(char *p, size_t align)
{
    return (char *)(((uintptr_t)p + align - 1) / align * align);
}

// Buffers of programs often begin with a page. Processors that compare the low 12 bits of addresses
// first copy a fifth slower between two places that begin at about the same place in a page, so
// a larger window begins in the middle of one.
static char *in_mid_page(char *p)
{
    return aligned(p + PAGE / 2, PAGE) - PAGE / 2;
}

// A guard, then the memory.
static enum pli_err allocate(struct pli_win *w, const struct pli_comm *comm, struct pli_info *info)
{
    size_t align = ALIGN, size = (size_t)w->size, front = pli_region_lock_bytes(comm->size);
    enum pli_err err = alignment(info, &align);
    if (err != PLI_OK) {
        return err;
    }
    if (size > SIZE_MAX / 4) {
        return no_memory(size);
    }
    bool is_mid = size >= PAGE && align <= PAGE / 2;
    w->guard = pli_win_memory_take_pages(&w->memory, size + front + (is_mid ? PAGE : align));
    if (w->guard != NULL) {
        memset(w->guard, 0, front);
        char *behind = (char *)w->guard + front;
        w->base = is_mid ? in_mid_page(behind) : aligned(behind, align);
        return PLI_OK;
    }
    w->memory.where = PLI_MEMORY_PRIVATE;
    if (posix_memalign(&w->memory.at, align, size > 0 ? size : 1) != 0) {
        w->memory.at = NULL;
        return no_memory(size);
    }
    w->base = w->memory.at;
    return PLI_OK;
}

// What all kinds of allocation begin with.
static enum pli_err prepare(int flavor, MPI_Aint size, MPI_Aint unit, struct pli_comm *comm,
                            struct pli_win **out)
{
    enum pli_err err = pli_win_check_comm(comm);
    *out = err == PLI_OK ? pli_win_new(flavor) : NULL;
    if (*out == NULL) {
        return err == PLI_OK ? PLI_ERR_NOMEM : err;
    }
    (*out)->size = size;
    (*out)->unit = unit;
    return PLI_OK;
}

static enum pli_err return_window(struct pli_win *w, enum pli_err err, void *base_out,
                                  struct pli_win **out)
{
    if (err != PLI_OK) {
        pli_win_free_local(w);
        return err;
    }
    memcpy(base_out, &w->base, sizeof w->base);
    *out = w;
    return PLI_OK;
}

enum pli_err pli_win_alloc(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                           struct pli_comm *comm, void *base_out, struct pli_win **out)
{
    struct pli_win *w = NULL;
    enum pli_err err = prepare(MPI_WIN_FLAVOR_ALLOCATE, size, unit, comm, &w);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_win_check(size, unit);
    err = err == PLI_OK ? allocate(w, comm, info) : err;
    return return_window(w, pli_win_make(w, comm, info, err), base_out, out);
}

// What members tell each other before one of them allocates for all.
struct size_request {
    int64_t size;
    uint32_t err;
    uint32_t can_lead; // it has a segment
};

// Where all the memory is: guards, then the parts one after the other.
struct placement {
    uint64_t at;
    uint32_t where, err;
};

static enum pli_err on_this_host(const struct pli_comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        uint32_t row;
        if (!pli_boot_is_here(pli_proc.boot, pli_group_at(comm->group, i).proc, &row)) {
            return pli_fail(PLI_ERR_RMA_SHARED,
                            "rank %d is on another host; MPI_Comm_split_type with "
                            "MPI_COMM_TYPE_SHARED makes communicators that can share memory",
                            i);
        }
    }
    return PLI_OK;
}

// One member allocates for all; sizes are rounded up where parts may lie apart.
static enum pli_err place_all(struct pli_win *w, struct pli_comm *comm,
                              struct size_request *requests, bool is_apart)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    size_t guard = pli_region_lock_bytes(comm->size), guards = (size_t)comm->size * guard;
    size_t total = guards, before = total;
    int leader = 0;
    while (leader < comm->size - 1 && requests[leader].can_lead == 0) {
        leader++;
    }
    leader = requests[leader].can_lead != 0 ? leader : 0;
    for (int i = 0; i < comm->size; i++) {
        size_t size = (size_t)requests[i].size;
        before = i == comm->rank ? total : before;
        if (size > SIZE_MAX / 4 - total) {
            return no_memory(size); // all see that
        }
        total += is_apart ? (size + ALIGN - 1) / ALIGN * ALIGN : size;
    }
    struct placement placement = { 0, 0, 0 };
    if (comm->rank == leader) {
        void *begin = pli_win_memory_take_pages(&w->memory, total);
        placement.err = begin == NULL;
        if (begin != NULL) {
            memset(begin, 0, guards);
            placement.at = pli_win_memory_offset(&w->memory, begin);
            placement.where = w->memory.where;
        }
    }
    enum pli_err err = pli_coll_bcast(&placement, sizeof placement, byte, leader, comm);
    if (err != PLI_OK || placement.err != 0) {
        w->memory.at = NULL;
        return err != PLI_OK ? err : no_memory(total);
    }
    char *all = pli_win_memory_share(&w->memory, (int)placement.where, placement.at, total);
    if (all == NULL) {
        return pli_fail(PLI_ERR_RMA_SHARED, "memory that rank %d shares cannot be mapped", leader);
    }
    w->guard = (struct pli_guard *)(void *)(all + guard * (size_t)comm->rank);
    w->base = all + before;
    return PLI_OK;
}

static enum pli_err share(struct pli_win *w, struct pli_comm *comm, struct pli_info *info)
{
    const struct pli_boot *boot = pli_proc.boot;
    struct pli_datatype *byte = pli_comm_make_byte();
    const char *apart = pli_info_find(info, "alloc_shared_noncontig");
    struct size_request *requests = malloc((size_t)comm->size * sizeof *requests);
    if (requests == NULL) {
        return no_memory((size_t)comm->size * sizeof *requests);
    }
    bool is_good = w->size >= 0 && w->unit > 0;
    struct size_request mine = { w->size, !is_good, boot->row < boot->node.header->n_row };
    enum pli_err err =
        pli_coll_allgather(&mine, sizeof mine, byte, requests, sizeof mine, byte, comm);
    for (int i = 0; i < comm->size && err == PLI_OK && is_good; i++) {
        is_good = requests[i].err == 0;
    }
    if (err == PLI_OK && is_good) {
        err = place_all(w, comm, requests, apart != NULL && strcmp(apart, "true") == 0);
    } else if (err == PLI_OK) {
        err = pli_win_check(w->size, w->unit);
    }
    free(requests);
    return err;
}

enum pli_err pli_win_alloc_shared(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                  struct pli_comm *comm, void *base_out, struct pli_win **out)
{
    struct pli_win *w = NULL;
    enum pli_err err = prepare(MPI_WIN_FLAVOR_SHARED, size, unit, comm, &w);
    if (err != PLI_OK) {
        return err;
    }
    err = on_this_host(comm);
    if (err == PLI_OK) {
        err = share(w, comm, info);
        err = pli_win_make(w, comm, info, err);
    }
    return return_window(w, err, base_out, out);
}

enum pli_err pli_win_alloc_query(struct pli_win *w, int rank, MPI_Aint *size_out,
                                 MPI_Count *unit_out, void *base_out)
{
    bool is_first = rank == MPI_PROC_NULL;
    if (w->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        return pli_fail(PLI_ERR_RMA_FLAVOR,
                        "%s is of MPI_Win_create_dynamic; its memory cannot be "
                        "shared",
                        pli_win_say(w));
    }
    enum pli_err err = is_first ? PLI_OK : pli_win_check_rank(w, rank);
    if (err != PLI_OK) {
        return err;
    }
    for (rank = is_first ? 0 : rank; // the first that has memory, the same for all callers
         is_first && rank < w->comm->size - 1 && w->peers[rank].size == 0; rank++) {
    }
    const struct pli_win_peer *p = &w->peers[rank];
    // Without shared memory there is nothing to load from. [MPI-5.0 12.2.3]
    bool is_none = !p->is_near || p->size == 0;
    void *base = is_none ? NULL : (void *)p->base;
    *size_out = is_none ? 0 : (MPI_Aint)p->size;
    *unit_out = is_none ? (w->flavor == MPI_WIN_FLAVOR_SHARED ? p->unit : 0) : p->unit;
    memcpy(base_out, &base, sizeof base);
    return PLI_OK;
}
