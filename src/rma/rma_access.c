// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put and MPI_Get: a copy where memory is near, the region's access where it is far.
#include "rma/rma_access.h"

#include "base/copy_stream.h"
#include "msg/statistics_hooks.h"
#include "obj/cursor.h"
#include "onesided/region_apply.h"
#include "onesided/region_datatype.h"
#include "rma/rma_cma.h"
#include "rma/rma_near.h"
#include "rma/rma_target.h"
#include "rma/win_flush.h"
#include "rma/win_ring.h"
#include "rma/win_ring_copy.h"

static enum pli_err too_long(size_t from, size_t to)
{
    return pli_fail(PLI_ERR_TRUNC,
                    "%zu bytes do not fit into the %zu that the other side describes", from, to);
}

static __attribute__((noinline)) enum pli_err
put(const void *from, MPI_Count n, struct pli_datatype *type, int target, MPI_Aint disp,
    MPI_Count n_to, struct pli_datatype *to_type, struct pli_win *w, struct pli_request **out)
{
    struct pli_rma_target t;
    size_t bytes;
    enum pli_err err = pli_rma_target_find(w, target, disp, n_to, to_type, &t);
    if (__builtin_expect(err != PLI_OK, 0)) {
        return err;
    }
    if (t.peer == NULL) {
        return pli_region_datatype_nothing(w->region, out);
    }
    if (!pli_datatype_bytes(type, n, &bytes) || bytes > t.bytes) {
        return too_long(bytes, t.bytes);
    }
    if (pli_statistics_is_on()) {
        pli_statistics_hooks->access(PLI_STAT_PUT, bytes);
    }
    if (!t.peer->is_near) {
        const char *run = (const char *)from + type->true_lb;
        if (bytes > 0 && type->is_dense && to_type->is_dense &&
            (pli_win_ring_put(w, &t, run, bytes) ||
             pli_win_ring_copy(w, &t, (char *)run, bytes, true) ||
             pli_rma_cma_put(&t, run, bytes))) {
            return pli_region_datatype_nothing(w->region, out);
        }
        struct pli_region_side side = { (void *)from, n, type };
        struct pli_region_place place = { t.rank, t.at, t.count, t.type };
        return pli_region_datatype_put(w->region, &place, bytes, &side, out);
    }
    if (type->is_dense && to_type->is_dense) {
        const char *run = (const char *)from + type->true_lb;
        if (!pli_win_ring_copy(w, &t, (char *)run, bytes, true)) {
            pli_copy_stream(pli_rma_target_here(&t) + to_type->true_lb, run, bytes);
        }
    } else {
        pli_cursor_copy(from, n, type, pli_rma_target_here(&t), n_to, to_type);
    }
    return pli_region_datatype_nothing(w->region, out);
}

static __attribute__((noinline)) enum pli_err get(void *to, MPI_Count n, struct pli_datatype *type,
                                                  int target, MPI_Aint disp, MPI_Count n_from,
                                                  struct pli_datatype *from_type, struct pli_win *w,
                                                  struct pli_request **out)
{
    struct pli_rma_target t;
    size_t room;
    enum pli_err err = pli_rma_target_find(w, target, disp, n_from, from_type, &t);
    if (__builtin_expect(err != PLI_OK, 0)) {
        return err;
    }
    if (t.peer == NULL) {
        return pli_region_datatype_nothing(w->region, out);
    }
    if (!pli_datatype_bytes(type, n, &room) || room < t.bytes) {
        return too_long(t.bytes, room);
    }
    if (pli_statistics_is_on()) {
        pli_statistics_hooks->access(PLI_STAT_GET, t.bytes);
    }
    if (!t.peer->is_near) {
        char *run = (char *)to + type->true_lb;
        if (t.bytes > 0 && type->is_dense && from_type->is_dense &&
            ((out == NULL && pli_win_ring_get(w, &t, run, t.bytes)) ||
             pli_win_ring_copy(w, &t, run, t.bytes, false) || pli_rma_cma_get(&t, run, t.bytes))) {
            return pli_region_datatype_nothing(w->region, out);
        }
        struct pli_region_side side = { to, n, type };
        struct pli_region_place place = { t.rank, t.at, t.count, t.type };
        return t.bytes == 0 ? pli_region_datatype_nothing(w->region, out)
                            : pli_region_datatype_get(w->region, &place, t.bytes, &side, out);
    }
    if (type->is_dense && from_type->is_dense) {
        char *run = (char *)to + type->true_lb;
        if (!pli_win_ring_copy(w, &t, run, t.bytes, false)) {
            pli_copy_stream(run, pli_rma_target_here(&t) + from_type->true_lb, t.bytes);
        }
    } else {
        pli_cursor_copy(pli_rma_target_here(&t), n_from, from_type, to, n, type);
    }
    return pli_region_datatype_nothing(w->region, out);
}

enum pli_err pli_rma_access_put(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_win *w)
{
    size_t bytes, room;
    char *to = pli_rma_near_at(w, target, disp, n_to, to_type, &room);
    if (__builtin_expect(to != NULL, 1) && from_type->is_dense &&
        pli_datatype_bytes(from_type, n_from, &bytes) && bytes <= room &&
        bytes < PLI_WIN_RING_COPY_NEAR) {
        pli_region_apply_copy(to, (const char *)from + from_type->true_lb, bytes);
        if (pli_statistics_is_on()) {
            pli_statistics_hooks->access(PLI_STAT_PUT, bytes);
        }
        return PLI_OK;
    }
    return put(from, n_from, from_type, target, disp, n_to, to_type, w, NULL);
}

enum pli_err pli_rma_access_rput(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                 int target, MPI_Aint disp, MPI_Count n_to,
                                 struct pli_datatype *to_type, struct pli_win *w,
                                 struct pli_request **out)
{
    return pli_win_flush_poll_after(
        put(from, n_from, from_type, target, disp, n_to, to_type, w, out), w, target);
}

enum pli_err pli_rma_access_get(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                struct pli_win *w)
{
    size_t bytes, room;
    const char *from = pli_rma_near_at(w, target, disp, n_from, from_type, &bytes);
    if (__builtin_expect(from != NULL, 1) && to_type->is_dense &&
        pli_datatype_bytes(to_type, n_to, &room) && bytes <= room &&
        bytes < PLI_WIN_RING_COPY_NEAR) {
        pli_region_apply_copy((char *)to + to_type->true_lb, from, bytes);
        if (pli_statistics_is_on()) {
            pli_statistics_hooks->access(PLI_STAT_GET, bytes);
        }
        return PLI_OK;
    }
    return get(to, n_to, to_type, target, disp, n_from, from_type, w, NULL);
}

enum pli_err pli_rma_access_rget(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                 MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                 struct pli_win *w, struct pli_request **out)
{
    return pli_win_flush_poll_after(get(to, n_to, to_type, target, disp, n_from, from_type, w, out),
                                    w, target);
}
