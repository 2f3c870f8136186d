// SPDX-License-Identifier: BSD-3-Clause
// Answers queries about communicators, and makes new ones from those that span clients.
#include "shim/impi.h"
#include "shim/shim.h"
#include "shim/shim_plan.h"
#include "shim/shim_task.h"
#include <stdlib.h>
#include <string.h>

PLI_SHIM_API int MPI_Comm_size(MPI_Comm comm, int *size)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Comm_size(comm, size);
    }
    *size = s->inter != NULL ? pli_shim_inter_size(s) : s->size;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Comm_rank(comm, rank);
    }
    *rank = s->rank;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Comm_group(comm, group);
    }
    if (s->inter != NULL) {
        return pli_shim_end(comm, pli_shim_inter_group(s, group));
    }
    uint32_t *world = malloc((size_t)s->size * sizeof *world);
    if (world == NULL) {
        return pli_shim_end(comm, MPI_ERR_NO_MEM);
    }
    memcpy(world, s->world, (size_t)s->size * sizeof *world);
    return pli_shim_end(comm, pli_shim_group_show(world, s->size, group));
}

PLI_SHIM_API int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int *result)
{
    PLI_SHIM_ENTER;
    MPI_Group ga, gb;
    if (pli_shim_span_find(a) == NULL && pli_shim_span_find(b) == NULL) {
        return PMPI_Comm_compare(a, b, result);
    }
    if (a == b) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    int rc = MPI_Comm_group(a, &ga);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = MPI_Comm_group(b, &gb);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Group_compare(ga, gb, result);
        (void)MPI_Group_free(&gb);
    }
    (void)MPI_Group_free(&ga);
    *result = rc == MPI_SUCCESS && *result == MPI_IDENT ? MPI_CONGRUENT : *result;
    return rc;
}

int pli_shim_comm_place(const uint32_t *world, int n)
{
    for (int i = 0; i < n; i++) {
        if (world[i] == pli_shim.first + (uint32_t)pli_shim.me) {
            return i;
        }
    }
    return -1;
}

static bool has_foreign(const uint32_t *world, int n)
{
    for (int i = 0; i < n; i++) {
        if (world[i] < pli_shim.first || world[i] >= pli_shim.first + (uint32_t)pli_shim.n_local) {
            return true;
        }
    }
    return false;
}

int pli_shim_comm_build(struct shim_span *s, const uint32_t *world, int n, int colour, uint64_t cid,
                        MPI_Comm *out)
{
    struct shim_span *made;
    int rank = pli_shim_comm_place(world, n);
    int rc = PLI_SHIM_OUTSIDE(
        PMPI_Comm_split(s->handle, rank < 0 ? MPI_UNDEFINED : colour, rank < 0 ? 0 : rank, out));
    if (rc != MPI_SUCCESS || rank < 0 || !has_foreign(world, n)) {
        return rc;
    }
    return pli_shim_span_create(*out, MPI_COMM_NULL, world, n, cid, &made);
}

typedef int (*dup_fn)(MPI_Comm comm, MPI_Comm *out, void *arg);

static int dup_plain(MPI_Comm comm, MPI_Comm *out, void *arg)
{
    (void)arg;
    return PMPI_Comm_dup(comm, out);
}

static int dup_info(MPI_Comm comm, MPI_Comm *out, void *arg)
{
    return PMPI_Comm_dup_with_info(comm, *(MPI_Info *)arg, out);
}

static int dup(MPI_Comm comm, MPI_Comm *out, dup_fn fn, void *arg)
{
    struct shim_span *s = pli_shim_span_find(comm), *made = NULL;
    MPI_Comm local = MPI_COMM_NULL;
    uint64_t cid;
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(fn(comm, out, arg));
    }
    if (s->inter != NULL) {
        return pli_shim_end(comm, pli_shim_inter_dup(s, out));
    }
    int rc = pli_shim_plan_cid(s, 2, &cid);
    if (rc == MPI_SUCCESS) {
        rc = PLI_SHIM_OUTSIDE(fn(comm, out, arg)); // with attributes, as their functions say
    }
    if (rc == MPI_SUCCESS) { // not of `out`: attributes are copied once
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->local, &local));
    }
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_span_create(*out, local, s->world, s->size, cid, &made);
    }
    if (rc == MPI_SUCCESS && s->topo != NULL) {
        made->topo = pli_shim_topo_copy(s->topo);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    return dup(comm, newcomm, dup_plain, NULL);
}

PLI_SHIM_API int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    return dup(comm, newcomm, dup_info, &info);
}

int pli_shim_comm_create(struct shim_span *s, const uint32_t *world, int n, MPI_Comm *out)
{
    uint64_t cid;
    int rc = pli_shim_plan_cid(s, 2, &cid);
    return rc == MPI_SUCCESS ? pli_shim_comm_build(s, world, n, 0, cid, out) : rc;
}

PLI_SHIM_API int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    struct shim_group list;
    if (s == NULL) {
        MPI_Group native;
        int rc = pli_shim_group_native(comm, group, &native);
        if (rc != MPI_SUCCESS) {
            return pli_shim_end(comm, rc);
        }
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_create(comm, native, newcomm));
        if (native != group && native != MPI_GROUP_EMPTY) {
            (void)PMPI_Group_free(&native);
        }
        return rc;
    }
    int rc = pli_shim_group_list(group, &list);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(comm, rc);
    }
    for (int i = 0; i < list.n && rc == MPI_SUCCESS; i++) {
        int rank = s->inter != NULL ? pli_shim_inter_rank_of(s, list.world[i])
                                    : pli_shim_span_rank_of(s, list.world[i]);
        rc = rank < 0 ? MPI_ERR_GROUP : MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS) {
        rc = s->inter != NULL ? pli_shim_inter_of_group(s, list.world, list.n, newcomm)
                              : pli_shim_comm_create(s, list.world, list.n, newcomm);
    }
    free(list.world);
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Comm_free(MPI_Comm *comm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(*comm);
    if (s == NULL) {
        return PMPI_Comm_free(comm);
    }
    if (*comm == MPI_COMM_WORLD) {
        return pli_shim_end(*comm, MPI_ERR_COMM);
    }
    pli_shim_setup_settle(s);
    int rc = pli_shim_task_has_later() ? MPI_SUCCESS // no message is needed
             : s->inter != NULL        ? pli_shim_inter_leave(s)
                                       : pli_shim_plan_barrier(s);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(*comm, rc);
    }
    rc = PMPI_Comm_free(comm);
    pli_shim_span_forget(s);
    return rc;
}

enum { BY_HEADER = 0x494d5001 }; // the first of those in impi.h, for an mpi.h that has none

int *pli_shim_comm_attribute(MPI_Comm comm, int key)
{
    static int one = 1, none = 0; // without a span: one client, one host
    struct shim_span *s = pli_shim_span_find(comm);
    if (key >= BY_HEADER && key < BY_HEADER + 4) {
        key += IMPI_CLIENT_SIZE - BY_HEADER;
    }
    switch (key) {
    case IMPI_CLIENT_SIZE:
        return s != NULL ? &s->client_size : &one;
    case IMPI_CLIENT_COLOR:
        return s != NULL ? &s->client_colour : &none;
    case IMPI_HOST_SIZE:
        return s != NULL ? &s->host_size : &one;
    case IMPI_HOST_COLOR:
        return s != NULL ? &s->host_colour : &none;
    default:
        return pli_shim.is_on && key == MPI_TAG_UB ? &pli_shim.tag_ub : NULL;
    }
}

PLI_SHIM_API int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    PLI_SHIM_ENTER;
    int *found = pli_shim_comm_attribute(comm, key);
    if (found == NULL) {
        return PMPI_Comm_get_attr(comm, key, value, flag);
    }
    *(int **)value = found;
    *flag = 1;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Attr_get(MPI_Comm comm, int key, void *value, int *flag)
{
    PLI_SHIM_ENTER;
    return MPI_Comm_get_attr(comm, key, value, flag);
}
