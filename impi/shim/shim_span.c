// SPDX-License-Identifier: BSD-3-Clause
// The table of communicators that span clients.
#include "shim/shim.h"
#include <stdlib.h>
#include <string.h>

static struct shim_span *all;

struct shim_span *pli_shim_span_find(MPI_Comm comm)
{
    if (!pli_shim.is_on) {
        return NULL;
    }
    for (struct shim_span **at = &all; *at != NULL; at = &(*at)->next) {
        struct shim_span *s = *at;
        if (s->handle == comm) {
            if (at != &all) { // the next look finds it at once
                *at = s->next;
                s->next = all;
                all = s;
            }
            return s;
        }
    }
    return NULL;
}

static void destroy(struct shim_span *s)
{
    if (s->local != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&s->local);
    }
    pli_impi_map_destroy(s->map);
    free(s->world);
    free(s->native);
    free(s->rank_of);
    free(s->topo);
    pli_shim_inter_destroy(s->inter);
    free(s);
}

static bool is_here(uint32_t world)
{
    return world >= pli_shim.first && world < pli_shim.first + (uint32_t)pli_shim.n_local;
}

static void number(struct shim_span *s)
{
    int n = 0;
    for (int i = 0; i < s->size; i++) {
        uint32_t w = s->world[i];
        s->native[i] = is_here(w) ? n : -1;
        if (is_here(w)) {
            s->rank_of[n++] = i;
        }
        if (w == pli_shim.first + (uint32_t)pli_shim.me) {
            s->rank = i;
        }
    }
    s->client_size = s->map->n_master;
    s->client_colour = s->map->number[s->rank];
    s->host_size = s->map->n_host;
    s->host_colour = s->map->host[s->rank];
}

// Native ranks of the remote group in a communicator that has the WORLD order.
static int number_inter(struct shim_span *s)
{
    MPI_Group whole, both;
    int rc = PMPI_Comm_group(MPI_COMM_WORLD, &whole);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = PMPI_Comm_group(s->handle, &both);
    for (int i = 0; rc == MPI_SUCCESS && i < s->size; i++) {
        int native = (int)(s->world[i] - pli_shim.first);
        s->native[i] = -1;
        if (is_here(s->world[i])) {
            rc = PMPI_Group_translate_ranks(whole, 1, &native, both, &s->native[i]);
        }
        if (rc == MPI_SUCCESS && s->native[i] >= 0) {
            s->rank_of[s->native[i]] = i;
        }
    }
    (void)PMPI_Group_free(&both);
    (void)PMPI_Group_free(&whole);
    return rc;
}

// Constructors of several threads at once do not hear of each other.
static int check_cid(uint64_t cid)
{
    for (const struct shim_span *s = all; s != NULL; s = s->next) {
        if (s->cid == cid) {
            return pli_shim_fail(MPI_ERR_OTHER,
                                 "threads have made communicators that span clients at the same "
                                 "time, and two have one number; make one after the other");
        }
    }
    return MPI_SUCCESS;
}

static int create(MPI_Comm handle, const uint32_t *world, int size, uint64_t cid, size_t n_native,
                  struct shim_span **out)
{
    struct shim_span *s = calloc(1, sizeof *s);
    size_t n = (size_t)size;
    if (s == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *s = (struct shim_span){
        .handle = handle, .local = MPI_COMM_NULL, .size = size, .cid = cid, .n_user = 1
    };
    s->world = malloc(n * sizeof *s->world);
    s->native = malloc(n * sizeof *s->native);
    s->rank_of = malloc(n_native * sizeof *s->rank_of);
    if (s->world == NULL || s->native == NULL || s->rank_of == NULL) {
        destroy(s);
        return MPI_ERR_NO_MEM;
    }
    memcpy(s->world, world, n * sizeof *s->world);
    *out = s;
    return MPI_SUCCESS;
}

// Enter a complete communicator into the table, unless there was an error.
static int enter(struct shim_span *s, int rc)
{
    if (rc == MPI_SUCCESS && s->local == MPI_COMM_NULL) {
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->handle, &s->local));
        s->local = rc == MPI_SUCCESS ? s->local : MPI_COMM_NULL;
    }
    rc = rc == MPI_SUCCESS ? check_cid(s->cid) : rc;
    if (rc != MPI_SUCCESS) {
        destroy(s);
        return rc;
    }
    s->next = all;
    all = s;
    return MPI_SUCCESS;
}

int pli_shim_span_create_inter(MPI_Comm handle, MPI_Comm local, const uint32_t *world, int size,
                               uint64_t cid, int rank, struct shim_inter *inter,
                               struct shim_span **out)
{
    int rc = create(handle, world, size, cid, (size_t)pli_shim.n_local, out);
    if (rc != MPI_SUCCESS) {
        pli_shim_inter_destroy(inter);
        return rc;
    }
    (*out)->local = local;
    (*out)->rank = rank;
    (*out)->inter = inter;
    return enter(*out, number_inter(*out));
}

int pli_shim_span_create(MPI_Comm handle, MPI_Comm local, const uint32_t *world, int size,
                         uint64_t cid, struct shim_span **out)
{
    int rc = create(handle, world, size, cid, (size_t)size, out);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    (*out)->local = local;
    if (pli_impi_map_create(pli_shim.job, world, size, &(*out)->map) != PLI_IMPI_OK) {
        return enter(*out, MPI_ERR_NO_MEM);
    }
    number(*out);
    return enter(*out, MPI_SUCCESS);
}

void pli_shim_span_retain(struct shim_span *s)
{
    s->n_user++;
}

void pli_shim_span_release(struct shim_span *s)
{
    if (--s->n_user == 0) {
        destroy(s);
    }
}

void pli_shim_span_forget(struct shim_span *s)
{
    struct shim_span **at = &all;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    pli_shim_span_release(s);
}

int pli_shim_span_rank_of(const struct shim_span *s, uint32_t world)
{
    if (world < (uint32_t)s->size && s->world[world] == world) {
        return (int)world; // the world, and what begins like it
    }
    for (int i = 0; i < s->size; i++) {
        if (s->world[i] == world) {
            return i;
        }
    }
    return -1;
}
