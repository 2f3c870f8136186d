// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split and MPI_Comm_split_type on communicators that span clients.
#include "shim/shim_split.h"
#include "shim/shim_plan.h"
#include "shim/shim_req.h"
#include "wire/impi_byte.h"
#include <stdlib.h>

enum { EACH = PLI_SHIM_SPLIT_EACH };

int pli_shim_split_votes(MPI_Comm comm, int colour, int key, unsigned char *all)
{
    unsigned char mine[EACH];
    pli_impi_byte_put32(mine, (uint32_t)(colour == MPI_UNDEFINED ? -1 : colour));
    pli_impi_byte_put32(mine + 4, (uint32_t)key);
    return MPI_Allgather(mine, EACH, MPI_BYTE, all, EACH, MPI_BYTE, comm);
}

struct entry {
    int key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int pli_shim_split_pick(const unsigned char *votes, const uint32_t *from, int n, int colour,
                        uint32_t *world, int *n_out)
{
    struct entry *entry = malloc((size_t)n * sizeof *entry);
    *n_out = 0;
    if (entry == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; colour != MPI_UNDEFINED && i < n; i++) {
        if ((int)pli_impi_byte_get32(votes + EACH * i) == colour) {
            entry[(*n_out)++] = (struct entry){ (int)pli_impi_byte_get32(votes + EACH * i + 4), i };
        }
    }
    qsort(entry, (size_t)*n_out, sizeof *entry, by_key);
    for (int i = 0; i < *n_out; i++) {
        world[i] = from[entry[i].rank];
    }
    free(entry);
    return MPI_SUCCESS;
}

static int split(struct shim_span *s, int colour, int key, MPI_Comm *out)
{
    size_t size = (size_t)s->size;
    uint64_t cid;
    unsigned char *votes = malloc(EACH * size);
    uint32_t *world = malloc(size * sizeof *world);
    int n = 0;
    int rc = votes == NULL || world == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    rc = rc == MPI_SUCCESS ? pli_shim_split_votes(s->handle, colour, key, votes) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_plan_cid(s, 2, &cid) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_split_pick(votes, s->world, s->size, colour, world, &n) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_comm_build(s, world, n, colour, cid, out) : rc;
    free(votes);
    free(world);
    return rc;
}

PLI_SHIM_API int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Comm_split(comm, color, key, newcomm));
    }
    if (color < 0 && color != MPI_UNDEFINED) {
        return pli_shim_end(comm, MPI_ERR_ARG);
    }
    return pli_shim_end(comm, s->inter != NULL ? pli_shim_inter_split(s, color, key, newcomm)
                                               : split(s, color, key, newcomm));
}

// Clients share nothing that can be split by: each finds out by itself which of its processes
// belong together, and the first of those, by rank, is the colour of a split of all. -1: in none.
static int find_piece(struct shim_span *s, int type, MPI_Info info, int *colour_out)
{
    MPI_Comm piece;
    MPI_Request req;
    *colour_out = s->rank;
    int rc = pli_shim_setup_meet_all(s);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = PLI_SHIM_OUTSIDE(PMPI_Comm_split_type(s->local, type, s->rank, info, &piece));
    if (rc != MPI_SUCCESS || piece == MPI_COMM_NULL) {
        *colour_out = -1;
        return rc;
    }
    rc = PMPI_Ibcast(colour_out, 1, MPI_INT, 0, piece, &req);
    rc = rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, MPI_STATUS_IGNORE) : rc;
    (void)PMPI_Comm_free(&piece);
    return rc;
}

PLI_SHIM_API int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                     MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    int colour;
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Comm_split_type(comm, type, key, info, newcomm));
    }
    int rc = pli_shim_inter_refuse(s);
    rc = rc == MPI_SUCCESS ? find_piece(s, type, info, &colour) : rc;
    if (rc == MPI_SUCCESS) {
        rc = split(s, colour < 0 ? MPI_UNDEFINED : colour, key, newcomm);
    }
    return pli_shim_end(comm, rc);
}
