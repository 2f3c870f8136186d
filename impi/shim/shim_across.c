// SPDX-License-Identifier: BSD-3-Clause
// Collectives on inter-communicators that span clients, by the rules of docs/design/impi.md: inside
// a group a collective of that group, between the groups messages under the operation's tag. On an
// inter-communicator s->size is the other group's.
#include "shim/shim_coll.h"
#include "shim/shim_local.h"
#include "shim/shim_plan.h"
#include "shim/shim_parts.h"
#include <stdlib.h>

// What happens inside the local group, which spans clients or is native. Rank 0 is the root.
static int group_barrier(struct shim_span *s)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    return g != NULL ? pli_shim_plan_barrier(g) : pli_shim_local_barrier(pli_shim_inter_local(s));
}

static int group_bcast(struct shim_span *s, void *buf, MPI_Count count, MPI_Datatype type)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    return g != NULL ? pli_shim_coll_bcast(g, buf, count, type, 0)
                     : pli_shim_local_bcast(pli_shim_inter_local(s), 0, buf, count, type);
}

static int group_gather(struct shim_span *s, const void *mine, void *all, MPI_Count count,
                        MPI_Datatype type)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    return g != NULL ? pli_shim_coll_gather(g, mine, count, type, all, count, type, 0)
                     : pli_shim_local_gather(pli_shim_inter_local(s), 0, mine, all, count, type);
}

static int group_scatter(struct shim_span *s, const void *all, void *mine, MPI_Count count,
                         MPI_Datatype type)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    return g != NULL ? pli_shim_coll_scatter(g, all, count, type, mine, count, type, 0)
                     : pli_shim_local_scatter(pli_shim_inter_local(s), 0, all, mine, count, type);
}

static int group_scatterv(struct shim_span *s, const void *all, struct shim_list counts,
                          struct shim_list displs, void *mine, MPI_Datatype type)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    MPI_Count count = pli_shim_list_at(counts, s->rank);
    return g != NULL ? pli_shim_coll_scatterv(g, all, counts, displs, type, mine, count, type, 0)
                     : pli_shim_local_scatterv(pli_shim_inter_local(s), 0, all, counts, displs,
                                               mine, count, type);
}

static int group_reduce(struct shim_span *s, const void *mine, void *sum, MPI_Count count,
                        MPI_Datatype type, MPI_Op op)
{
    struct shim_span *g = pli_shim_span_find(pli_shim_inter_local(s));
    return g != NULL
               ? pli_shim_coll_reduce(g, mine, sum, count, type, op, 0)
               : pli_shim_local_reduce(pli_shim_inter_local(s), 0, mine, sum, count, type, op);
}

int pli_shim_across_barrier(struct shim_span *s)
{
    int rc = group_barrier(s);
    if (rc == MPI_SUCCESS && s->rank == 0) {
        rc = pli_shim_plan_exchange(s, 0, PLI_IMPI_TAG_BARRIER, NULL, 0, NULL, 0);
    }
    return rc == MPI_SUCCESS ? group_bcast(s, NULL, 0, MPI_BYTE) : rc;
}

// Whether this process has a part in it; if not, *rc says whether the root is wrong.
static bool has_part(const struct shim_span *s, int root, int *rc)
{
    bool is_good = root == MPI_ROOT || (root >= 0 && root < s->size);
    *rc = is_good || root == MPI_PROC_NULL ? MPI_SUCCESS : MPI_ERR_ROOT;
    return is_good;
}

static int send_one(struct shim_span *s, int to, int tag, const void *buf, MPI_Count count,
                    MPI_Datatype type)
{
    struct shim_piece p = { .rank = to };
    unsigned char *data = NULL;
    int rc = pli_shim_parts_pack(buf, count, type, &data, &p.len);
    p.data = data;
    rc = rc == MPI_SUCCESS ? pli_shim_plan_pieces(s, tag, &p, 1, NULL, 0) : rc;
    free(data);
    return rc;
}

static int recv_one(struct shim_span *s, int from, int tag, void *buf, MPI_Count count,
                    MPI_Datatype type)
{
    struct shim_piece p = { .rank = from };
    unsigned char *data = NULL;
    int rc = pli_shim_parts_room(count, type, 1, &data, &p.len);
    p.data = data;
    rc = rc == MPI_SUCCESS ? pli_shim_plan_pieces(s, tag, NULL, 0, &p, 1) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_type_unpack(data, p.len, buf, count, type) : rc;
    free(data);
    return rc;
}

// The ranks 0 tell each other.
static int swap(struct shim_span *s, int tag, const void *out, MPI_Count n_out,
                MPI_Datatype out_type, void *in, MPI_Count n_in, MPI_Datatype in_type)
{
    unsigned char *there = NULL, *back = NULL;
    size_t out_len = 0, in_len = 0;
    int rc = pli_shim_parts_pack(out, n_out, out_type, &there, &out_len);
    rc = rc == MPI_SUCCESS ? pli_shim_parts_room(n_in, in_type, 1, &back, &in_len) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_plan_exchange(s, 0, tag, there, out_len, back, in_len) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_type_unpack(back, in_len, in, n_in, in_type) : rc;
    free(there);
    free(back);
    return rc;
}

int pli_shim_across_bcast(struct shim_span *s, void *buf, MPI_Count count, MPI_Datatype type,
                          int root)
{
    int rc;
    if (!has_part(s, root, &rc)) {
        return rc;
    }
    if (root == MPI_ROOT) {
        return send_one(s, 0, PLI_IMPI_TAG_BCAST, buf, count, type);
    }
    if (s->rank == 0) {
        rc = recv_one(s, root, PLI_IMPI_TAG_BCAST, buf, count, type);
    }
    return rc == MPI_SUCCESS ? group_bcast(s, buf, count, type) : rc;
}

// A part of every rank of the other group, at the root.
struct buffer_side {
    void *buf;
    struct shim_list counts, displs; // counts none: `each`
    MPI_Count each;
    MPI_Datatype type;
};

static void *part_at(const struct buffer_side *x, int i)
{
    return pli_shim_parts_at(x->buf,
                             pli_shim_list_is(x->counts) ? pli_shim_list_at(x->displs, i)
                                                         : (MPI_Aint)i * x->each,
                             x->type);
}

static MPI_Count part_count(const struct buffer_side *x, int i)
{
    return pli_shim_list_is(x->counts) ? pli_shim_list_at(x->counts, i) : x->each;
}

// Send or receive the parts of all ranks of the other group.
static int exchange_parts(struct shim_span *s, int tag, const struct buffer_side *x, bool is_out)
{
    struct shim_parts p = { 0 };
    int n = s->size, rc = MPI_SUCCESS;
    MPI_Count *counts = calloc((size_t)n + 1, sizeof *counts);
    struct shim_piece *piece = malloc(((size_t)n + 1) * sizeof *piece);
    if (counts == NULL || piece == NULL) {
        rc = MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        counts[i] = part_count(x, i);
    }
    rc = rc == MPI_SUCCESS ? pli_shim_parts_make(n, PLI_SHIM_LIST_WIDE(counts), &x->type, 0, &p)
                           : rc;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        piece[i] = (struct shim_piece){ i, p.part[i], p.lens[i] };
        rc = is_out ? pli_shim_type_pack(part_at(x, i), counts[i], x->type, p.part[i]) : rc;
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_pieces(s, tag, piece, is_out ? n : 0, piece, is_out ? 0 : n);
    }
    for (int i = 0; i < n && rc == MPI_SUCCESS && !is_out; i++) {
        rc = pli_shim_type_unpack(p.part[i], p.lens[i], part_at(x, i), counts[i], x->type);
    }
    pli_shim_parts_free(&p);
    free(counts);
    free(piece);
    return rc;
}

static int gather(struct shim_span *s, int tag, const void *sendbuf, MPI_Count sendcount,
                  MPI_Datatype sendtype, const struct buffer_side *all, int root)
{
    int rc;
    if (!has_part(s, root, &rc)) {
        return rc;
    }
    return root == MPI_ROOT ? exchange_parts(s, tag, all, false)
                            : send_one(s, root, tag, sendbuf, sendcount, sendtype);
}

int pli_shim_across_gather(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                           MPI_Datatype recvtype, int root)
{
    struct buffer_side all = { recvbuf, PLI_SHIM_LIST_NONE, PLI_SHIM_LIST_NONE, recvcount,
                               recvtype };
    return gather(s, PLI_IMPI_TAG_GATHER, sendbuf, sendcount, sendtype, &all, root);
}

int pli_shim_across_gatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                            struct shim_list displs, MPI_Datatype recvtype, int root)
{
    struct buffer_side all = { recvbuf, counts, displs, 0, recvtype };
    return gather(s, PLI_IMPI_TAG_GATHERV, sendbuf, sendcount, sendtype, &all, root);
}

static int scatter(struct shim_span *s, int tag, const struct buffer_side *all, void *recvbuf,
                   MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    int rc;
    if (!has_part(s, root, &rc)) {
        return rc;
    }
    return root == MPI_ROOT ? exchange_parts(s, tag, all, true)
                            : recv_one(s, root, tag, recvbuf, recvcount, recvtype);
}

int pli_shim_across_scatter(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype, int root)
{
    struct buffer_side all = { (void *)(uintptr_t)sendbuf, PLI_SHIM_LIST_NONE, PLI_SHIM_LIST_NONE,
                               sendcount, sendtype };
    return scatter(s, PLI_IMPI_TAG_SCATTER, &all, recvbuf, recvcount, recvtype, root);
}

int pli_shim_across_scatterv(struct shim_span *s, const void *sendbuf, struct shim_list counts,
                             struct shim_list displs, MPI_Datatype sendtype, void *recvbuf,
                             MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    struct buffer_side all = { (void *)(uintptr_t)sendbuf, counts, displs, 0, sendtype };
    return scatter(s, PLI_IMPI_TAG_SCATTERV, &all, recvbuf, recvcount, recvtype, root);
}

// One message of each group holds all of it.
int pli_shim_across_allgather(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                              MPI_Datatype recvtype)
{
    MPI_Count n = pli_shim_inter_size(s) * sendcount;
    void *all = NULL, *mem = pli_shim_type_buffer(n, sendtype, &all);
    int rc = mem == NULL ? MPI_ERR_NO_MEM : group_gather(s, sendbuf, all, sendcount, sendtype);
    if (rc == MPI_SUCCESS && s->rank == 0) {
        rc = swap(s, PLI_IMPI_TAG_GATHER, all, n, sendtype, recvbuf, s->size * recvcount, recvtype);
    }
    free(mem);
    return rc == MPI_SUCCESS ? group_bcast(s, recvbuf, s->size * recvcount, recvtype) : rc;
}

// Lengths are known where things arrive: every rank sends to the other group's rank 0.
int pli_shim_across_allgatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                               MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                               struct shim_list displs, MPI_Datatype recvtype)
{
    struct shim_parts p = { 0 };
    struct shim_piece mine = { .rank = 0 };
    struct shim_piece *theirs = malloc(((size_t)s->size + 1) * sizeof *theirs);
    unsigned char *data = NULL;
    int rc =
        theirs == NULL ? MPI_ERR_NO_MEM : pli_shim_parts_make(s->size, counts, &recvtype, 0, &p);
    rc = rc == MPI_SUCCESS ? pli_shim_parts_pack(sendbuf, sendcount, sendtype, &data, &mine.len)
                           : rc;
    mine.data = data;
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        theirs[i] = (struct shim_piece){ i, p.part[i], p.lens[i] };
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_pieces(s, PLI_IMPI_TAG_GATHERV, &mine, 1, theirs,
                                  s->rank == 0 ? s->size : 0);
    }
    if (rc == MPI_SUCCESS) {
        rc = group_bcast(s, p.base, (MPI_Count)p.total, MPI_BYTE);
    }
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        rc = pli_shim_type_unpack(p.part[i], p.lens[i],
                                  pli_shim_parts_at(recvbuf, pli_shim_list_at(displs, i), recvtype),
                                  pli_shim_list_at(counts, i), recvtype);
    }
    pli_shim_parts_free(&p);
    free(theirs);
    free(data);
    return rc;
}

int pli_shim_across_reduce(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                           MPI_Datatype type, MPI_Op op, int root)
{
    int rc;
    if (!has_part(s, root, &rc)) {
        return rc;
    }
    if (root == MPI_ROOT) {
        return recv_one(s, 0, PLI_IMPI_TAG_REDUCE, recvbuf, count, type);
    }
    void *sum = NULL, *mem = pli_shim_type_buffer(count, type, &sum);
    rc = mem == NULL ? MPI_ERR_NO_MEM : group_reduce(s, sendbuf, sum, count, type, op);
    if (rc == MPI_SUCCESS && s->rank == 0) {
        rc = send_one(s, root, PLI_IMPI_TAG_REDUCE, sum, count, type);
    }
    free(mem);
    return rc;
}

// At rank 0 the sum of the other group, in `theirs`.
static int swap_sums(struct shim_span *s, const void *sendbuf, void *theirs, MPI_Count count,
                     MPI_Datatype type, MPI_Op op)
{
    void *sum = NULL, *mem = pli_shim_type_buffer(count, type, &sum);
    int rc = mem == NULL ? MPI_ERR_NO_MEM : group_reduce(s, sendbuf, sum, count, type, op);
    if (rc == MPI_SUCCESS && s->rank == 0) {
        rc = swap(s, PLI_IMPI_TAG_REDUCE, sum, count, type, theirs, count, type);
    }
    free(mem);
    return rc;
}

int pli_shim_across_allreduce(struct shim_span *s, const void *sendbuf, void *recvbuf,
                              MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    int rc = swap_sums(s, sendbuf, recvbuf, count, type, op);
    return rc == MPI_SUCCESS ? group_bcast(s, recvbuf, count, type) : rc;
}

int pli_shim_across_reduce_scatter(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                   struct shim_list counts, MPI_Datatype type, MPI_Op op)
{
    int n = pli_shim_inter_size(s);
    MPI_Count total = 0, *displs = malloc((size_t)n * sizeof *displs);
    for (int i = 0; displs != NULL && i < n; i++) {
        displs[i] = total;
        total += pli_shim_list_at(counts, i);
    }
    void *theirs = NULL, *mem = pli_shim_type_buffer(total, type, &theirs);
    int rc = mem == NULL || displs == NULL ? MPI_ERR_NO_MEM
                                           : swap_sums(s, sendbuf, theirs, total, type, op);
    if (rc == MPI_SUCCESS) {
        rc = group_scatterv(s, theirs, counts, PLI_SHIM_LIST_WIDE(displs), recvbuf, type);
    }
    free(mem);
    free(displs);
    return rc;
}

int pli_shim_across_reduce_scatter_block(struct shim_span *s, const void *sendbuf, void *recvbuf,
                                         MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    MPI_Count total = pli_shim_inter_size(s) * count;
    void *theirs = NULL, *mem = pli_shim_type_buffer(total, type, &theirs);
    int rc = mem == NULL ? MPI_ERR_NO_MEM : swap_sums(s, sendbuf, theirs, total, type, op);
    if (rc == MPI_SUCCESS) {
        rc = group_scatter(s, theirs, recvbuf, count, type);
    }
    free(mem);
    return rc;
}

static int no_order(void)
{
    return pli_shim_fail(MPI_ERR_COMM, "an inter-communicator has no MPI_Scan and MPI_Exscan");
}

int pli_shim_across_scan(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                         MPI_Datatype type, MPI_Op op)
{
    (void)s, (void)sendbuf, (void)recvbuf, (void)count, (void)type, (void)op;
    return no_order();
}

int pli_shim_across_exscan(struct shim_span *s, const void *sendbuf, void *recvbuf, MPI_Count count,
                           MPI_Datatype type, MPI_Op op)
{
    (void)s, (void)sendbuf, (void)recvbuf, (void)count, (void)type, (void)op;
    return no_order();
}
