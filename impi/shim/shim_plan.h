// SPDX-License-Identifier: BSD-3-Clause
// Collectives on communicators that span clients, on bytes of external32. Each function returns an
// MPI error code.
#ifndef PLI_SHIM_PLAN_H
#define PLI_SHIM_PLAN_H

#include "impi/coll/impi_coll.h"
#include "shim/shim.h"

int pli_shim_plan_barrier(struct shim_span *s);
int pli_shim_plan_bcast(struct shim_span *s, int root, void *buf, size_t len);
int pli_shim_plan_gather(struct shim_span *s, int root, const void *mine, size_t len, void *all);
int pli_shim_plan_gatherv(struct shim_span *s, int root, const void *mine, size_t len,
                          unsigned char *const *part, const size_t *lens);
int pli_shim_plan_scatter(struct shim_span *s, int root, const void *all, size_t len, void *mine);
int pli_shim_plan_scatterv(struct shim_span *s, int root, unsigned char *const *part,
                           const size_t *lens, void *mine, size_t len);
int pli_shim_plan_alltoall(struct shim_span *s, bool is_v, unsigned char *const *out,
                           const size_t *out_len, unsigned char *const *in, const size_t *in_len);
typedef int (*pli_shim_fold_fn)(void *arg, const unsigned char *in, size_t len, bool is_first);
typedef int (*pli_shim_show_fn)(void *arg, unsigned char *out); // the result so far
int pli_shim_plan_fold(struct shim_span *s, enum pli_impi_coll_op op, int root, size_t len,
                       pli_shim_fold_fn fold, pli_shim_show_fn show, void *arg);
int pli_shim_plan_max(struct shim_span *s, uint64_t *max); // the largest of all members
int pli_shim_plan_cid(struct shim_span *s, unsigned n, uint64_t *cid_out); // n ids, agreed upon
int pli_shim_plan_take(uint64_t max, unsigned n, uint64_t *cid_out);       // above `max`
// Bytes to and from ranks outside any plan, on the context of collectives: all are sent, then all
// received, in the order of the lists.
struct shim_piece {
    int rank;
    void *data;
    size_t len;
};
int pli_shim_plan_pieces(struct shim_span *s, int tag, const struct shim_piece *out, int n_out,
                         const struct shim_piece *in, int n_in);
// The same on another context, to and from other clients only.
int pli_shim_plan_pieces_on(struct shim_span *s, uint64_t cid, int tag,
                            const struct shim_piece *out, int n_out, const struct shim_piece *in,
                            int n_in);
int pli_shim_plan_exchange(struct shim_span *s, int rank, int tag, const void *out, size_t out_len,
                           void *in, size_t in_len);
struct shim_parts; // one part of each for every rank of the other group
int pli_shim_plan_across(struct shim_span *s, bool is_v, const struct shim_parts *out,
                         const struct shim_parts *in);

#endif
