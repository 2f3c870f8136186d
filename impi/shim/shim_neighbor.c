// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives on communicators that span clients: a message along every edge, under
// the tag of the operation.
#include "shim/shim_coll.h"
#include "shim/shim_parts.h"
#include "shim/shim_plan.h"
#include "shim/shim_topo.h"
#include <stdlib.h>

// One direction of the arguments: block i is `counts[i]` elements of `types[i * stride]` at a
// place. counts none: `count` of each. displs none and bytes NULL: one block behind the other.
struct side {
    char *buf;
    struct shim_list counts, displs;
    const MPI_Aint *bytes;
    const MPI_Datatype *types;
    MPI_Count count;
    int stride;
    bool is_same; // every block is the first
};

static MPI_Count count_of(const struct side *x, int i)
{
    return pli_shim_list_is(x->counts) ? pli_shim_list_at(x->counts, i) : x->count;
}

static void *place_of(const struct side *x, int i)
{
    if (x->bytes != NULL) {
        return x->buf + x->bytes[i];
    }
    MPI_Aint n =
        pli_shim_list_is(x->displs) ? pli_shim_list_at(x->displs, i) : (MPI_Aint)i * x->count;
    return x->is_same ? x->buf : pli_shim_parts_at(x->buf, n, x->types[0]);
}

// Blocks along the edges to or from `rank`, as pieces; those of MPI_PROC_NULL are left out.
static int make_pieces(const struct side *x, const int *rank, int n, bool is_cart_in, bool is_out,
                       struct shim_parts *parts, struct shim_piece *piece, int *n_piece)
{
    int rc = MPI_SUCCESS;
    MPI_Count *counts = calloc((size_t)n + 1, sizeof *counts);
    if (counts == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        counts[i] = count_of(x, i);
    }
    rc = pli_shim_parts_make(n, PLI_SHIM_LIST_WIDE(counts), x->types, x->stride, parts);
    *n_piece = 0;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        // Two processes may be neighbours in both directions of a dimension: what one sends to the
        // right, the other receives from the left.
        int k = is_cart_in ? i ^ 1 : i;
        if (rank[k] == MPI_PROC_NULL) {
            continue;
        }
        piece[(*n_piece)++] = (struct shim_piece){ rank[k], parts->part[k], parts->lens[k] };
        if (is_out) {
            rc = pli_shim_type_pack(place_of(x, k), counts[k], x->types[k * x->stride],
                                    parts->part[k]);
        }
    }
    free(counts);
    return rc;
}

static int unpack(const struct side *x, const int *rank, int n, const struct shim_parts *parts)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        if (rank[i] != MPI_PROC_NULL) {
            rc = pli_shim_type_unpack(parts->part[i], parts->lens[i], place_of(x, i),
                                      count_of(x, i), x->types[i * x->stride]);
        }
    }
    return rc;
}

static int exchange(struct shim_span *s, const struct side *out, const struct side *in)
{
    struct shim_edges e = { 0 };
    struct shim_parts po = { 0 }, pi = { 0 };
    struct shim_piece *piece = NULL;
    int n_out = 0, n_in = 0;
    int rc = pli_shim_topo_edges(s, &e);
    if (rc == MPI_SUCCESS) {
        piece = malloc(((size_t)e.n_in + (size_t)e.n_out + 1) * sizeof *piece);
        rc = piece == NULL ? MPI_ERR_NO_MEM
                           : make_pieces(out, e.out, e.n_out, false, true, &po, piece, &n_out);
    }
    if (rc == MPI_SUCCESS) {
        rc = make_pieces(in, e.in, e.n_in, e.is_cart, false, &pi, piece + e.n_out, &n_in);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_pieces(s, 0, piece, n_out, piece + e.n_out, n_in);
    }
    rc = rc == MPI_SUCCESS ? unpack(in, e.in, e.n_in, &pi) : rc;
    pli_shim_parts_free(&po);
    pli_shim_parts_free(&pi);
    free(piece);
    free(e.in);
    return rc;
}

int pli_shim_coll_neighbor_allgather(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                     MPI_Datatype recvtype)
{
    struct side out = {
        .buf = (char *)(uintptr_t)sendbuf, .count = sendcount, .types = &sendtype, .is_same = true
    };
    struct side in = { .buf = recvbuf, .count = recvcount, .types = &recvtype };
    return exchange(s, &out, &in);
}

int pli_shim_coll_neighbor_allgatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                                      struct shim_list displs, MPI_Datatype recvtype)
{
    struct side out = {
        .buf = (char *)(uintptr_t)sendbuf, .count = sendcount, .types = &sendtype, .is_same = true
    };
    struct side in = { .buf = recvbuf, .counts = counts, .displs = displs, .types = &recvtype };
    return exchange(s, &out, &in);
}

int pli_shim_coll_neighbor_alltoall(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                                    MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                                    MPI_Datatype recvtype)
{
    struct side out = { .buf = (char *)(uintptr_t)sendbuf, .count = sendcount, .types = &sendtype };
    struct side in = { .buf = recvbuf, .count = recvcount, .types = &recvtype };
    return exchange(s, &out, &in);
}

int pli_shim_coll_neighbor_alltoallv(struct shim_span *s, const void *sendbuf,
                                     struct shim_list sendcounts, struct shim_list sdispls,
                                     MPI_Datatype sendtype, void *recvbuf,
                                     struct shim_list recvcounts, struct shim_list rdispls,
                                     MPI_Datatype recvtype)
{
    struct side out = { .buf = (char *)(uintptr_t)sendbuf,
                        .counts = sendcounts,
                        .displs = sdispls,
                        .types = &sendtype };
    struct side in = {
        .buf = recvbuf, .counts = recvcounts, .displs = rdispls, .types = &recvtype
    };
    return exchange(s, &out, &in);
}

int pli_shim_coll_neighbor_alltoallw(struct shim_span *s, const void *sendbuf,
                                     struct shim_list sendcounts, const MPI_Aint sbytes[],
                                     const MPI_Datatype sendtypes[], void *recvbuf,
                                     struct shim_list recvcounts, const MPI_Aint rbytes[],
                                     const MPI_Datatype recvtypes[])
{
    struct side out = { .buf = (char *)(uintptr_t)sendbuf,
                        .counts = sendcounts,
                        .bytes = sbytes,
                        .types = sendtypes,
                        .stride = 1 };
    struct side in = {
        .buf = recvbuf, .counts = recvcounts, .bytes = rbytes, .types = recvtypes, .stride = 1
    };
    return exchange(s, &out, &in);
}
