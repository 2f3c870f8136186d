// SPDX-License-Identifier: BSD-3-Clause
// Packs buffers for collectives.
#include "shim/shim_parts.h"
#include <stdlib.h>

void *pli_shim_parts_at(const void *buf, MPI_Aint n, MPI_Datatype type)
{
    MPI_Aint lb, extent;
    (void)PMPI_Type_get_extent(type, &lb, &extent);
    return (char *)(uintptr_t)buf + n * extent;
}

int pli_shim_parts_pack(const void *buf, MPI_Count count, MPI_Datatype type, unsigned char **out,
                        size_t *len)
{
    size_t size;
    int rc = count < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    *len = size * (size_t)count;
    *out = malloc(*len + 1);
    if (*out == NULL) {
        return MPI_ERR_NO_MEM;
    }
    rc = buf == NULL && *len == 0 ? MPI_SUCCESS : pli_shim_type_pack(buf, count, type, *out);
    if (rc != MPI_SUCCESS) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

int pli_shim_parts_room(MPI_Count count, MPI_Datatype type, size_t times, unsigned char **out,
                        size_t *len)
{
    size_t size;
    int rc = count < 0 ? MPI_ERR_COUNT : pli_shim_type_size(type, &size);
    if (rc == MPI_SUCCESS) {
        *len = size * (size_t)count;
        *out = malloc(*len * times + 1);
        rc = *out == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    return rc;
}

void pli_shim_parts_free(struct shim_parts *p)
{
    free(p->base);
    free(p->part);
    free(p->lens);
}

int pli_shim_parts_make(int n, struct shim_list counts, const MPI_Datatype *types, int stride,
                        struct shim_parts *p)
{
    *p = (struct shim_parts){ 0 };
    p->part = malloc((size_t)n * sizeof *p->part);
    p->lens = malloc((size_t)n * sizeof *p->lens);
    int rc = p->part == NULL || p->lens == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        size_t size = 0;
        MPI_Count count = pli_shim_list_at(counts, i);
        rc = count < 0 ? MPI_ERR_COUNT : pli_shim_type_size(types[i * stride], &size);
        p->lens[i] = size * (size_t)count;
        p->total += p->lens[i];
    }
    p->base = rc == MPI_SUCCESS ? malloc(p->total + 1) : NULL;
    if (p->base == NULL) {
        pli_shim_parts_free(p);
        *p = (struct shim_parts){ 0 };
        return rc != MPI_SUCCESS ? rc : MPI_ERR_NO_MEM;
    }
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        p->part[i] = p->base + at;
        at += p->lens[i];
    }
    return MPI_SUCCESS;
}
