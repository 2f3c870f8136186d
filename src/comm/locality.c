// SPDX-License-Identifier: BSD-3-Clause
// Gathers on every rank where all ranks run.
#include "comm/locality.h"

#include "base/log.h"
#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "boot/hwtree.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/handle.h"
#include "obj/info.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_WORD = 128, MAX_REASON = 512 }; // 8192 processors

_Static_assert(PLI_GATEWAY_N_HOST <= 1 << 16, "hosts fit below the client's number");

// What a rank tells the others about itself.
struct rank_place {
    uint64_t node;
    uint64_t n_word; // of its mask
};

// What all ranks told, and their masks.
struct job_places {
    struct rank_place *places;
    uint64_t *masks; // n_word for each
    size_t n_word;
};

static const char *const names[PLI_N_HWTREE] = {
    [PLI_HWTREE_MACHINE] = "hwloc://Machine", [PLI_HWTREE_PACKAGE] = "hwloc://Package",
    [PLI_HWTREE_DIE] = "hwloc://Die",         [PLI_HWTREE_NUMA] = "hwloc://NUMANode",
    [PLI_HWTREE_L4] = "hwloc://L4Cache",      [PLI_HWTREE_L3] = "hwloc://L3Cache",
    [PLI_HWTREE_L2] = "hwloc://L2Cache",      [PLI_HWTREE_L1] = "hwloc://L1Cache",
    [PLI_HWTREE_CORE] = "hwloc://Core",       [PLI_HWTREE_PU] = "hwloc://PU",
};

const char *pli_locality_name(enum pli_hwtree_level level)
{
    return names[level];
}

int pli_locality_level(const char *name)
{
    static const char prefix[] = "hwloc://";
    size_t skip = sizeof prefix - 1;
    if (strncasecmp(name, prefix, skip) == 0) {
        name += skip;
    }
    for (int i = 0; i < PLI_N_HWTREE; i++) {
        if (strcasecmp(name, names[i] + skip) == 0) {
            return i;
        }
    }
    return -1;
}

uint64_t pli_locality_node(void)
{
    // Jobs that IMPI joins have one job number, and each numbers its hosts from 0.
    uint64_t client = pli_boot.gateway != NULL ? pli_boot.gateway->client : 0;
    return pli_boot.job | client << 16 | pli_boot.host;
}

// The calling thread's mask, without the zeros at its end; its number of words. The binding may
// change, so it is read anew each time.
static size_t read_mask(uint64_t mask[MAX_WORD])
{
    size_t n = MAX_WORD;
    memset(mask, 0, MAX_WORD * sizeof mask[0]);
    if (sched_getaffinity(0, MAX_WORD * sizeof mask[0], (cpu_set_t *)mask) != 0) {
        pli_log(PLI_WARN, "the processors of this process cannot be read: %s", strerror(errno));
        return 0; // as one that is not bound
    }
    while (n > 0 && mask[n - 1] == 0) {
        n--;
    }
    return n;
}

static enum pli_err gather_places(struct pli_comm *comm, bool takes_part, struct job_places *r)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    size_t n = (size_t)comm->size;
    uint64_t mask[MAX_WORD];
    struct rank_place mine = { takes_part ? pli_locality_node() : PLI_LOCALITY_NO_NODE,
                               read_mask(mask) };
    r->places = malloc(n * sizeof *r->places);
    if (r->places == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the places of %zu ranks", n);
    }
    enum pli_err err =
        pli_coll_allgather(&mine, sizeof mine, byte, r->places, sizeof mine, byte, comm);
    if (err != PLI_OK) {
        return err;
    }
    r->n_word = 1;
    for (size_t i = 0; i < n; i++) {
        r->n_word = r->places[i].n_word > r->n_word ? (size_t)r->places[i].n_word : r->n_word;
    }
    size_t len = r->n_word * sizeof mask[0];
    r->masks = malloc(n * len);
    if (r->masks == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the places of %zu ranks", n);
    }
    return pli_coll_allgather(mask, (MPI_Count)len, byte, r->masks, (MPI_Count)len, byte, comm);
}

static const uint64_t *mask_of(const struct job_places *r, int rank)
{
    return r->masks + (size_t)rank * r->n_word;
}

// Whether the caller is the first rank of its node and so the one that asks hwloc.
static bool is_first(const struct job_places *r, int me)
{
    for (int i = 0; i < me; i++) {
        if (r->places[i].node == r->places[me].node) {
            return false;
        }
    }
    return r->places[me].node != PLI_LOCALITY_NO_NODE;
}

static bool is_bound_apart(const struct job_places *r, int n, int me)
{
    for (int i = me + 1; i < n; i++) {
        if (r->places[i].node == r->places[me].node &&
            memcmp(mask_of(r, i), mask_of(r, me), r->n_word * sizeof r->masks[0]) != 0) {
            return true;
        }
    }
    return false;
}

// The places of the caller's node.
static enum pli_err ask_hwloc(const struct job_places *r, int n, int me, uint32_t at[])
{
    enum pli_err err = pli_hwtree_load();
    for (int i = me; err == PLI_OK && i < n; i++) {
        if (r->places[i].node == r->places[me].node) {
            err = pli_hwtree_find(mask_of(r, i), (uint32_t)r->n_word, at + i * PLI_N_HWTREE);
        }
    }
    return err;
}

// Send all ranks the error text of the rank that failed.
static enum pli_err share_reason(struct pli_comm *comm, int from)
{
    char why[MAX_REASON] = "";
    if (comm->rank == from) {
        snprintf(why, sizeof why, "%s", pli_fail_take(NULL));
    }
    enum pli_err err = pli_coll_bcast(why, sizeof why, pli_comm_make_byte(), from, comm);
    return err != PLI_OK ? err : pli_fail(PLI_ERR_OTHER, "on the node of rank %d, %s", from, why);
}

// at: all PLI_HWTREE_ANY, and a mark for the first rank that failed. A rank that knows a place
// knows a smaller number, so the least is the answer.
static enum pli_err find_places(struct pli_comm *comm, const struct job_places *r, bool is_hint,
                                uint32_t at[], uint32_t all[])
{
    int n = comm->size, me = comm->rank, n_at = n * PLI_N_HWTREE;
    if (is_first(r, me) && (!is_hint || is_bound_apart(r, n, me)) &&
        ask_hwloc(r, n, me, at) != PLI_OK) {
        at[n_at] = (uint32_t)me;
        if (is_hint) {
            pli_log(PLI_WARN, "ranks are ordered by node only: %s", pli_fail_take(NULL));
        }
    }
    enum pli_err err = pli_coll_allreduce(at, all, n_at + 1, pli_datatype_basic(MPI_UINT32_T),
                                          pli_handle_get(MPI_MIN, PLI_KIND_OP), comm);
    if (err == PLI_OK && !is_hint && all[n_at] != PLI_HWTREE_ANY) {
        return share_reason(comm, (int)all[n_at]);
    }
    return err;
}

static enum pli_err gather(struct pli_comm *comm, bool takes_part, bool is_hint,
                           struct pli_locality **out)
{
    size_t n = (size_t)comm->size, n_at = n * PLI_N_HWTREE + 1;
    struct job_places r = { 0 };
    struct pli_locality *all = malloc(n * sizeof *all);
    uint32_t *at = malloc(2 * n_at * sizeof *at);
    enum pli_err err = all != NULL && at != NULL
                           ? gather_places(comm, takes_part, &r)
                           : pli_fail(PLI_ERR_NOMEM, "no memory for the places of %zu ranks", n);
    if (err == PLI_OK) {
        memset(at, 0xff, n_at * sizeof *at);
        err = find_places(comm, &r, is_hint, at, at + n_at);
    }
    for (size_t i = 0; err == PLI_OK && i < n; i++) {
        all[i].node = r.places[i].node;
        memcpy(all[i].at, at + n_at + i * PLI_N_HWTREE, sizeof all[i].at);
        all[i].at[PLI_HWTREE_MACHINE] = 0;
    }
    free(r.places);
    free(r.masks);
    free(at);
    if (err != PLI_OK) {
        free(all);
        return err;
    }
    *out = all;
    return PLI_OK;
}

enum pli_err pli_locality_gather(struct pli_comm *comm, bool takes_part, struct pli_locality **out)
{
    return gather(comm, takes_part, false, out);
}

enum pli_err pli_locality_compare(struct pli_comm *comm, struct pli_locality **out)
{
    return gather(comm, true, true, out);
}

enum pli_err pli_locality_info(struct pli_info **out)
{
    struct pli_info *info;
    uint64_t mask[MAX_WORD];
    uint32_t at[PLI_N_HWTREE];
    enum pli_err err = pli_hwtree_load();
    if (err == PLI_OK) {
        err = pli_hwtree_find(mask, (uint32_t)read_mask(mask), at);
    }
    if (err == PLI_OK) {
        err = pli_info_create(&info);
    }
    if (err != PLI_OK) {
        return err;
    }
    for (int i = 0; err == PLI_OK && i < PLI_N_HWTREE; i++) {
        if (pli_hwtree_has((enum pli_hwtree_level)i)) {
            err = pli_info_set(info, names[i], at[i] != PLI_HWTREE_ANY ? "true" : "false");
        }
    }
    if (err != PLI_OK) {
        pli_info_release(info);
        return err;
    }
    *out = info;
    return PLI_OK;
}
