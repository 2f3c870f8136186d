// SPDX-License-Identifier: BSD-3-Clause
// The collectives that move data, on communicators that span clients.
#include "shim/shim_coll.h"
#include "shim/shim_plan.h"
#include "shim/shim_parts.h"
#include <stdlib.h>
#include <string.h>

static int check_root(const struct shim_span *s, int root)
{
    return root >= 0 && root < s->size ? MPI_SUCCESS : MPI_ERR_ROOT;
}

int pli_shim_coll_bcast(struct shim_span *s, void *buf, MPI_Count count, MPI_Datatype type,
                        int root)
{
    unsigned char *ext = NULL;
    size_t len;
    int rc = check_root(s, root);
    if (rc == MPI_SUCCESS) {
        rc = s->rank == root ? pli_shim_parts_pack(buf, count, type, &ext, &len)
                             : pli_shim_parts_room(count, type, 1, &ext, &len);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_bcast(s, root, ext, len);
    }
    if (rc == MPI_SUCCESS && s->rank != root) {
        rc = pli_shim_type_unpack(ext, len, buf, count, type);
    }
    free(ext);
    return rc;
}

// All parts, in external32, at the root; then in its buffer. counts NULL: `count` of each.
static int spread(struct shim_span *s, const unsigned char *all, size_t len, void *buf,
                  MPI_Count count, MPI_Datatype type, int skip)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        if (i != skip) {
            rc = pli_shim_type_unpack(all + (size_t)i * len, len,
                                      pli_shim_parts_at(buf, (MPI_Aint)i * count, type), count,
                                      type);
        }
    }
    return rc;
}

int pli_shim_coll_gather(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                         MPI_Datatype recvtype, int root)
{
    unsigned char *mine = NULL, *all = NULL;
    size_t len, len_in = 0;
    bool is_root = s->rank == root, is_place = sendbuf == MPI_IN_PLACE;
    int rc = check_root(s, root);
    if (rc == MPI_SUCCESS) {
        rc = is_place ? pli_shim_parts_pack(
                            pli_shim_parts_at(recvbuf, (MPI_Aint)root * recvcount, recvtype),
                            recvcount, recvtype, &mine, &len)
                      : pli_shim_parts_pack(sendbuf, sendcount, sendtype, &mine, &len);
    }
    if (rc == MPI_SUCCESS && is_root) {
        rc = pli_shim_parts_room(recvcount, recvtype, (size_t)s->size, &all, &len_in);
        if (rc == MPI_SUCCESS && len_in != len) {
            rc = MPI_ERR_COUNT;
        }
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_gather(s, root, mine, len, all);
    }
    if (rc == MPI_SUCCESS && is_root) {
        rc = spread(s, all, len, recvbuf, recvcount, recvtype, is_place ? root : -1);
    }
    free(mine);
    free(all);
    return rc;
}

int pli_shim_coll_scatter(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                          MPI_Datatype recvtype, int root)
{
    unsigned char *mine = NULL, *all = NULL;
    size_t len, len_out = 0;
    bool is_root = s->rank == root, is_place = recvbuf == MPI_IN_PLACE;
    int rc = check_root(s, root);
    if (rc == MPI_SUCCESS && is_root) {
        rc = pli_shim_parts_room(sendcount, sendtype, (size_t)s->size, &all, &len_out);
        for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
            rc = pli_shim_type_pack(pli_shim_parts_at(sendbuf, (MPI_Aint)i * sendcount, sendtype),
                                    sendcount, sendtype, all + (size_t)i * len_out);
        }
    }
    if (rc == MPI_SUCCESS) {
        rc = is_place ? pli_shim_parts_room(sendcount, sendtype, 1, &mine, &len)
                      : pli_shim_parts_room(recvcount, recvtype, 1, &mine, &len);
    }
    if (rc == MPI_SUCCESS && is_root && len != len_out) {
        rc = MPI_ERR_COUNT;
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_scatter(s, root, all, len, mine);
    }
    if (rc == MPI_SUCCESS && !is_place) {
        rc = pli_shim_type_unpack(mine, len, recvbuf, recvcount, recvtype);
    }
    free(mine);
    free(all);
    return rc;
}

int pli_shim_coll_allgather(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype)
{
    unsigned char *mine = NULL, *all = NULL;
    size_t len, len_in;
    bool is_place = sendbuf == MPI_IN_PLACE;
    int rc = is_place ? pli_shim_parts_pack(
                            pli_shim_parts_at(recvbuf, (MPI_Aint)s->rank * recvcount, recvtype),
                            recvcount, recvtype, &mine, &len)
                      : pli_shim_parts_pack(sendbuf, sendcount, sendtype, &mine, &len);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_parts_room(recvcount, recvtype, (size_t)s->size, &all, &len_in);
    }
    if (rc == MPI_SUCCESS && len != len_in) {
        rc = MPI_ERR_COUNT;
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_gather(s, 0, mine, len, all);
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_bcast(s, 0, all, len * (size_t)s->size);
    }
    if (rc == MPI_SUCCESS) {
        rc = spread(s, all, len, recvbuf, recvcount, recvtype, is_place ? s->rank : -1);
    }
    free(mine);
    free(all);
    return rc;
}

static int gatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                   MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                   struct shim_list displs, MPI_Datatype recvtype, int root, bool to_all)
{
    unsigned char *mine = NULL;
    size_t len = 0;
    struct shim_parts p = { 0 };
    bool has_all = to_all || s->rank == root, is_place = sendbuf == MPI_IN_PLACE;
    int rc = check_root(s, root);
    if (rc == MPI_SUCCESS && has_all) {
        rc = pli_shim_parts_make(s->size, counts, &recvtype, 0, &p);
    }
    if (rc == MPI_SUCCESS) {
        rc = is_place ? pli_shim_parts_pack(
                            pli_shim_parts_at(recvbuf, pli_shim_list_at(displs, s->rank), recvtype),
                            pli_shim_list_at(counts, s->rank), recvtype, &mine, &len)
                      : pli_shim_parts_pack(sendbuf, sendcount, sendtype, &mine, &len);
    }
    if (rc == MPI_SUCCESS && has_all && p.lens[s->rank] != len) {
        rc = MPI_ERR_COUNT;
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_gatherv(s, root, mine, len, s->rank == root ? p.part : NULL, p.lens);
    }
    if (rc == MPI_SUCCESS && to_all) {
        rc = pli_shim_plan_bcast(s, root, p.base, p.total);
    }
    for (int i = 0; i < s->size && has_all && rc == MPI_SUCCESS; i++) {
        if (!is_place || i != s->rank) {
            rc = pli_shim_type_unpack(
                p.part[i], p.lens[i],
                pli_shim_parts_at(recvbuf, pli_shim_list_at(displs, i), recvtype),
                pli_shim_list_at(counts, i), recvtype);
        }
    }
    free(mine);
    pli_shim_parts_free(&p);
    return rc;
}

int pli_shim_coll_scatterv(struct shim_span *s, const void *sendbuf, struct shim_list counts,
                           struct shim_list displs, MPI_Datatype sendtype, void *recvbuf,
                           MPI_Count recvcount, MPI_Datatype recvtype, int root)
{
    unsigned char *mine = NULL;
    size_t len = 0;
    struct shim_parts p = { 0 };
    bool is_root = s->rank == root, is_place = recvbuf == MPI_IN_PLACE;
    int rc = check_root(s, root);
    if (rc == MPI_SUCCESS && is_root) {
        rc = pli_shim_parts_make(s->size, counts, &sendtype, 0, &p);
    }
    for (int i = 0; i < s->size && is_root && rc == MPI_SUCCESS; i++) {
        rc = pli_shim_type_pack(pli_shim_parts_at(sendbuf, pli_shim_list_at(displs, i), sendtype),
                                pli_shim_list_at(counts, i), sendtype, p.part[i]);
    }
    if (rc == MPI_SUCCESS) {
        rc = is_place
                 ? pli_shim_parts_room(pli_shim_list_at(counts, root), sendtype, 1, &mine, &len)
                 : pli_shim_parts_room(recvcount, recvtype, 1, &mine, &len);
    }
    if (rc == MPI_SUCCESS && is_root && p.lens[root] != len) {
        rc = MPI_ERR_COUNT;
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_plan_scatterv(s, root, is_root ? p.part : NULL, p.lens, mine, len);
    }
    if (rc == MPI_SUCCESS && !is_place) {
        rc = pli_shim_type_unpack(mine, len, recvbuf, recvcount, recvtype);
    }
    free(mine);
    pli_shim_parts_free(&p);
    return rc;
}

int pli_shim_coll_gatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                          MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                          struct shim_list displs, MPI_Datatype recvtype, int root)
{
    return gatherv(s, sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, root, false);
}

int pli_shim_coll_allgatherv(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void *recvbuf, struct shim_list counts,
                             struct shim_list displs, MPI_Datatype recvtype)
{
    return gatherv(s, sendbuf, sendcount, sendtype, recvbuf, counts, displs, recvtype, 0, true);
}

struct side { // of an exchange of all with all
    void *buf;
    struct shim_list counts, displs; // displs in bytes
    const MPI_Datatype *types;
    int stride; // of types: 0 if there is one
};

static int pack_all(struct shim_span *s, const struct side *x, struct shim_parts *p)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        rc =
            pli_shim_type_pack((char *)x->buf + pli_shim_list_at(x->displs, i),
                               pli_shim_list_at(x->counts, i), x->types[i * x->stride], p->part[i]);
    }
    return rc;
}

static int exchange(struct shim_span *s, bool is_v, const struct side *out, const struct side *in)
{
    struct shim_parts po = { 0 }, pi = { 0 };
    const struct side *from = out->buf == MPI_IN_PLACE ? in : out;
    int rc = pli_shim_parts_make(s->size, from->counts, from->types, from->stride, &po);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_parts_make(s->size, in->counts, in->types, in->stride, &pi);
    }
    if (rc == MPI_SUCCESS) {
        rc = pack_all(s, from, &po);
    }
    if (rc == MPI_SUCCESS) {
        rc = s->inter != NULL ? pli_shim_plan_across(s, is_v, &po, &pi)
                              : pli_shim_plan_alltoall(s, is_v, po.part, po.lens, pi.part, pi.lens);
    }
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        rc = pli_shim_type_unpack(pi.part[i], pi.lens[i],
                                  (char *)in->buf + pli_shim_list_at(in->displs, i),
                                  pli_shim_list_at(in->counts, i), in->types[i * in->stride]);
    }
    pli_shim_parts_free(&po);
    pli_shim_parts_free(&pi);
    return rc;
}

// Counts and displacements, equal or given, in the one form that exchange takes. The memory is one
// piece, to be freed.
static void *make_side(const struct shim_span *s, const void *buf, struct shim_list counts,
                       MPI_Count count, struct shim_list displs, const MPI_Datatype *type,
                       struct side *out)
{
    size_t n = (size_t)s->size;
    MPI_Aint lb, extent = 0;
    MPI_Count *at = malloc(2 * n * sizeof *at), *cnt = at + n;
    if (at == NULL) {
        return NULL;
    }
    if (buf != MPI_IN_PLACE) {
        (void)PMPI_Type_get_extent(*type, &lb, &extent);
    }
    for (int i = 0; i < s->size; i++) {
        bool is_here = buf != MPI_IN_PLACE;
        cnt[i] = !is_here ? 0 : pli_shim_list_is(counts) ? pli_shim_list_at(counts, i) : count;
        at[i] = !is_here
                    ? 0
                    : (pli_shim_list_is(displs) ? pli_shim_list_at(displs, i) : i * count) * extent;
    }
    *out = (struct side){ (void *)(uintptr_t)buf, PLI_SHIM_LIST_WIDE(cnt), PLI_SHIM_LIST_WIDE(at),
                          type, 0 };
    return at;
}

static int alltoall(struct shim_span *s, bool is_v, const void *sendbuf, struct shim_list scounts,
                    MPI_Count scount, struct shim_list sdispls, const MPI_Datatype *stype,
                    void *recvbuf, struct shim_list rcounts, MPI_Count rcount,
                    struct shim_list rdispls, const MPI_Datatype *rtype)
{
    struct side out, in;
    void *a = make_side(s, sendbuf, scounts, scount, sdispls, stype, &out);
    void *b = make_side(s, recvbuf, rcounts, rcount, rdispls, rtype, &in);
    int rc = a == NULL || b == NULL ? MPI_ERR_NO_MEM : exchange(s, is_v, &out, &in);
    free(a);
    free(b);
    return rc;
}

int pli_shim_coll_alltoall(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                           MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                           MPI_Datatype recvtype)
{
    return alltoall(s, false, sendbuf, PLI_SHIM_LIST_NONE, sendcount, PLI_SHIM_LIST_NONE, &sendtype,
                    recvbuf, PLI_SHIM_LIST_NONE, recvcount, PLI_SHIM_LIST_NONE, &recvtype);
}

int pli_shim_coll_alltoallv(struct shim_span *s, const void *sendbuf, struct shim_list sendcounts,
                            struct shim_list sdispls, MPI_Datatype sendtype, void *recvbuf,
                            struct shim_list recvcounts, struct shim_list rdispls,
                            MPI_Datatype recvtype)
{
    return alltoall(s, true, sendbuf, sendcounts, 0, sdispls, &sendtype, recvbuf, recvcounts, 0,
                    rdispls, &recvtype);
}

int pli_shim_coll_alltoallw(struct shim_span *s, const void *sendbuf, struct shim_list sendcounts,
                            struct shim_list sdispls, const MPI_Datatype sendtypes[], void *recvbuf,
                            struct shim_list recvcounts, struct shim_list rdispls,
                            const MPI_Datatype recvtypes[])
{
    struct side out = { (void *)(uintptr_t)sendbuf, sendcounts, sdispls, sendtypes, 1 };
    struct side in = { recvbuf, recvcounts, rdispls, recvtypes, 1 };
    return exchange(s, true, &out, &in);
}

// On an inter-communicator the same, between the groups: s->size is the other one's.
int pli_shim_across_alltoall(struct shim_span *s, const void *sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype)
{
    return pli_shim_coll_alltoall(s, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype);
}

int pli_shim_across_alltoallv(struct shim_span *s, const void *sendbuf, struct shim_list sendcounts,
                              struct shim_list sdispls, MPI_Datatype sendtype, void *recvbuf,
                              struct shim_list recvcounts, struct shim_list rdispls,
                              MPI_Datatype recvtype)
{
    return pli_shim_coll_alltoallv(s, sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype);
}

int pli_shim_across_alltoallw(struct shim_span *s, const void *sendbuf, struct shim_list sendcounts,
                              struct shim_list sdispls, const MPI_Datatype sendtypes[],
                              void *recvbuf, struct shim_list recvcounts, struct shim_list rdispls,
                              const MPI_Datatype recvtypes[])
{
    return pli_shim_coll_alltoallw(s, sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes);
}
