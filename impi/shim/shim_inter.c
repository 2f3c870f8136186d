// SPDX-License-Identifier: BSD-3-Clause
// Inter-communicators between groups that have members in several clients. Each side is known to
// the other by its list of WORLD ranks. The leaders exchange what both sides must know; inside a
// side it is spread by collectives of the local group, which keeps a communicator for the purpose.
#include "shim/shim.h"
#include "shim/shim_plan.h"
#include "shim/shim_split.h"
#include "wire/impi_byte.h"
#include <stdlib.h>
#include <string.h>

struct shim_inter {
    MPI_Comm local; // the local group, ours alone: spanning or native
    uint32_t *world;
    int n;
};

enum { TAKEN = 4 }; // context ids: a pair for both sides, a pair for the local groups

void pli_shim_inter_destroy(struct shim_inter *i)
{
    if (i == NULL) {
        return;
    }
    struct shim_span *s = i->local == MPI_COMM_NULL ? NULL : pli_shim_span_find(i->local);
    if (i->local != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&i->local);
    }
    if (s != NULL) {
        pli_shim_span_forget(s);
    }
    free(i->world);
    free(i);
}

int pli_shim_inter_size(const struct shim_span *s)
{
    return s->inter->n;
}

MPI_Comm pli_shim_inter_local(const struct shim_span *s)
{
    return s->inter->local;
}

int pli_shim_inter_refuse(const struct shim_span *s)
{
    return s->inter == NULL
               ? MPI_SUCCESS
               : pli_shim_fail(MPI_ERR_COMM,
                               "this is not done on an inter-communicator between different MPIs");
}

static int show(const uint32_t *world, int n, MPI_Group *out)
{
    uint32_t *copy = malloc(((size_t)n + 1) * sizeof *copy);
    if (copy == NULL) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(copy, world, (size_t)n * sizeof *copy);
    return pli_shim_group_show(copy, n, out);
}

int pli_shim_inter_group(const struct shim_span *s, MPI_Group *out)
{
    return show(s->inter->world, s->inter->n, out);
}

static bool is_here(uint32_t world)
{
    return world >= pli_shim.first && world < pli_shim.first + (uint32_t)pli_shim.n_local;
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

// A native communicator of those of both lists that are in this client, by WORLD rank.
static int native_of(const uint32_t *a, int n_a, const uint32_t *b, int n_b, int tag, MPI_Comm *out)
{
    MPI_Group whole, some;
    int n = 0, *rank = malloc(((size_t)n_a + (size_t)n_b + 1) * sizeof *rank);
    if (rank == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n_a + n_b; i++) {
        uint32_t w = i < n_a ? a[i] : b[i - n_a];
        if (is_here(w)) {
            rank[n++] = (int)(w - pli_shim.first);
        }
    }
    qsort(rank, (size_t)n, sizeof *rank, by_value);
    int rc = pli_shim_setup_meet(rank, n, tag);
    rc = rc == MPI_SUCCESS ? PMPI_Comm_group(MPI_COMM_WORLD, &whole) : rc;
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Group_incl(whole, n, rank, &some);
        (void)PMPI_Group_free(&whole);
    }
    if (rc == MPI_SUCCESS) {
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_create_group(MPI_COMM_WORLD, some, tag, out));
        (void)PMPI_Group_free(&some);
    }
    free(rank);
    return rc;
}

// The communicator of the local group: of context `cid` if it spans.
static int local_of(const uint32_t *world, int n, int me, int tag, uint64_t cid, MPI_Comm *out)
{
    MPI_Comm here;
    struct shim_span *made;
    bool is_native = true;
    int rc = native_of(world, n, NULL, 0, tag, &here);
    for (int i = 0; i < n; i++) {
        is_native = is_native && is_here(world[i]);
    }
    if (rc == MPI_SUCCESS) { // from the order of the world to that of the group
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_split(here, 0, me, out));
        (void)PMPI_Comm_free(&here);
    }
    return rc == MPI_SUCCESS && !is_native
               ? pli_shim_span_create(*out, MPI_COMM_NULL, world, n, cid, &made)
               : rc;
}

// Both groups are known, and the first of TAKEN ids.
static int build(const uint32_t *mine, int n_mine, const uint32_t *theirs, int n_theirs,
                 uint64_t cid, MPI_Comm *out)
{
    struct shim_span *made;
    struct shim_inter *i = calloc(1, sizeof *i);
    uint32_t *copy = malloc(((size_t)n_mine + 1) * sizeof *copy);
    int me = pli_shim_comm_place(mine, n_mine);
    if (i == NULL || copy == NULL) {
        free(i);
        free(copy);
        return MPI_ERR_NO_MEM;
    }
    memcpy(copy, mine, (size_t)n_mine * sizeof *copy);
    *i = (struct shim_inter){ .local = MPI_COMM_NULL, .world = copy, .n = n_mine };
    // the native library tells apart those that threads make at once by the tag
    int tag = (int)((cid * 0x9e3779b97f4a7c15u >> 33) % (uint64_t)pli_shim.native_tag_ub);
    int rc = local_of(mine, n_mine, me, tag, pli_shim_setup_local(cid), &i->local);
    if (rc == MPI_SUCCESS) {
        rc = native_of(mine, n_mine, theirs, n_theirs, tag, out);
    }
    if (rc != MPI_SUCCESS) {
        pli_shim_inter_destroy(i);
        return rc;
    }
    return pli_shim_span_create_inter(*out, MPI_COMM_NULL, theirs, n_theirs, cid, me, i, &made);
}

// The largest context id in use by any member of `comm`.
static int max_of(MPI_Comm comm, uint64_t *max)
{
    struct shim_span *s = pli_shim_span_find(comm);
    uint64_t mine = pli_shim_setup_proposal();
    *max = mine;
    return s != NULL ? pli_shim_plan_max(s, max)
                     : PLI_SHIM_OUTSIDE(PMPI_Allreduce(&mine, max, 1, MPI_UINT64_T, MPI_MAX, comm));
}

// A group, as the WORLD ranks of its members, Uint4 each.
static void put_members(unsigned char *p, const uint32_t *world, int n)
{
    for (int i = 0; i < n; i++) {
        pli_impi_byte_put32(p + 4 * i, world[i]);
    }
}

static int get_members(const unsigned char *p, uint32_t *world, int n)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        world[i] = pli_impi_byte_get32(p + 4 * i);
        rc = world[i] < pli_shim.job->n_proc ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
    return rc;
}

// The offer of a side: Uint8 largest id, then its members.
static unsigned char *make_offer(uint64_t max, const struct shim_group *g, int *len)
{
    *len = 8 + 4 * g->n;
    unsigned char *p = malloc((size_t)*len);
    if (p != NULL) {
        pli_impi_byte_put64(p, max);
        put_members(p + 8, g->world, g->n);
    }
    return p;
}

static int trade_offers(MPI_Comm peer, int other, int tag, const unsigned char *out, int len,
                        unsigned char **in, int *in_len)
{
    MPI_Request req;
    MPI_Status st;
    int rc = MPI_Isend(out, len, MPI_BYTE, other, tag, peer, &req);
    if (rc == MPI_SUCCESS) {
        rc = MPI_Probe(other, tag, peer, &st);
    }
    if (rc == MPI_SUCCESS) {
        (void)MPI_Get_count(&st, MPI_BYTE, in_len);
        *in = malloc((size_t)*in_len + 1);
        rc = *in == NULL ? MPI_ERR_NO_MEM
                         : MPI_Recv(*in, *in_len, MPI_BYTE, other, tag, peer, MPI_STATUS_IGNORE);
    }
    return rc == MPI_SUCCESS ? MPI_Wait(&req, MPI_STATUS_IGNORE) : rc;
}

static int create(MPI_Comm local, int leader, MPI_Comm peer, int other, int tag, MPI_Comm *out)
{
    struct shim_group mine = { 0 };
    MPI_Group group;
    uint64_t max = 0, cid;
    int rank = 0, len = 0, in_len = 0;
    unsigned char *offer = NULL, *in = NULL;
    uint32_t *theirs = NULL;
    int rc = MPI_Comm_group(local, &group);
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_group_list(group, &mine);
        (void)MPI_Group_free(&group);
    }
    rc = rc == MPI_SUCCESS ? max_of(local, &max) : rc;
    (void)MPI_Comm_rank(local, &rank);
    int why = MPI_SUCCESS;
    if (rc == MPI_SUCCESS && rank == leader) {
        offer = make_offer(max, &mine, &len);
        why = peer == MPI_COMM_NULL ? MPI_ERR_COMM
              : offer == NULL       ? MPI_ERR_NO_MEM
                                    : trade_offers(peer, other, tag, offer, len, &in, &in_len);
        in_len = why == MPI_SUCCESS ? in_len : 0; // the others are not left waiting
    }
    rc = rc == MPI_SUCCESS ? MPI_Bcast(&in_len, 1, MPI_INT, leader, local) : rc;
    if (rc == MPI_SUCCESS && in_len < 8) {
        rc = why != MPI_SUCCESS ? why
                                : pli_shim_fail(MPI_ERR_OTHER, "the leader of the group failed");
    }
    if (rc == MPI_SUCCESS && rank != leader) {
        in = malloc((size_t)in_len + 1);
    }
    int n_theirs = in_len < 8 ? 0 : (in_len - 8) / 4;
    theirs = malloc(((size_t)n_theirs + 1) * sizeof *theirs);
    if (rc == MPI_SUCCESS && (in == NULL || theirs == NULL || n_theirs == 0)) {
        rc = MPI_ERR_NO_MEM;
    }
    rc = rc == MPI_SUCCESS ? MPI_Bcast(in, in_len, MPI_BYTE, leader, local) : rc;
    rc = rc == MPI_SUCCESS ? get_members(in + 8, theirs, n_theirs) : rc;
    if (rc == MPI_SUCCESS) {
        uint64_t their_max = pli_impi_byte_get64(in);
        rc = pli_shim_plan_take(their_max > max ? their_max : max, TAKEN, &cid);
    }
    rc = rc == MPI_SUCCESS ? build(mine.world, mine.n, theirs, n_theirs, cid, out) : rc;
    free(mine.world);
    free(theirs);
    free(offer);
    free(in);
    return rc;
}

PLI_SHIM_API int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer,
                                      int remote_leader, int tag, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(local);
    int rank, ours = s != NULL, theirs = 0;
    int rc = MPI_Comm_rank(local, &rank);
    if (!pli_shim.is_on || rc != MPI_SUCCESS) {
        return PLI_SHIM_OUTSIDE(
            PMPI_Intercomm_create(local, local_leader, peer, remote_leader, tag, newcomm));
    }
    if (rank == local_leader && peer != MPI_COMM_NULL && pli_shim_span_find(peer) != NULL) {
        ours = 1;
    } else if (rank == local_leader && peer != MPI_COMM_NULL) {
        // both leaders are here: a word between them, whether one of the groups spans clients
        rc = MPI_Sendrecv(&ours, 1, MPI_INT, remote_leader, tag, &theirs, 1, MPI_INT, remote_leader,
                          tag, peer, MPI_STATUS_IGNORE);
        ours = ours != 0 || theirs != 0;
    }
    if (s == NULL) { // only the leader knows the peer communicator
        rc = PLI_SHIM_OUTSIDE(PMPI_Bcast(&ours, 1, MPI_INT, local_leader, local));
        if (rc != MPI_SUCCESS || ours == 0) {
            return rc != MPI_SUCCESS ? rc
                                     : PLI_SHIM_OUTSIDE(PMPI_Intercomm_create(
                                           local, local_leader, peer, remote_leader, tag, newcomm));
        }
    }
    rc = s != NULL ? pli_shim_inter_refuse(s) : MPI_SUCCESS;
    return pli_shim_end(local, rc == MPI_SUCCESS
                                   ? create(local, local_leader, peer, remote_leader, tag, newcomm)
                                   : rc);
}

// The first of each side tell each other some bytes; all of a side know what came.
static int exchange(struct shim_span *s, int tag, const unsigned char *out, int out_len,
                    unsigned char *in, int in_len)
{
    int rc = MPI_SUCCESS;
    if (s->rank == 0) {
        rc = pli_shim_plan_exchange(s, 0, tag, out, (size_t)out_len, in, (size_t)in_len);
    }
    return rc == MPI_SUCCESS ? MPI_Bcast(in, in_len, MPI_BYTE, 0, s->inter->local) : rc;
}

// The largest id of both sides; with it goes one number of each side.
static int agree(struct shim_span *s, int tag, uint32_t mine, uint32_t *theirs, uint64_t *max)
{
    unsigned char out[12], in[12];
    pli_shim_setup_settle(s);
    int rc = max_of(s->inter->local, max);
    pli_impi_byte_put64(out, *max);
    pli_impi_byte_put32(out + 8, mine);
    rc = rc == MPI_SUCCESS ? exchange(s, tag, out, sizeof out, in, sizeof in) : rc;
    if (rc == MPI_SUCCESS) {
        uint64_t other = pli_impi_byte_get64(in);
        *max = other > *max ? other : *max;
        *theirs = pli_impi_byte_get32(in + 8);
    }
    return rc;
}

int pli_shim_inter_dup(struct shim_span *s, MPI_Comm *out)
{
    uint64_t max, cid;
    uint32_t none;
    int rc = agree(s, PLI_IMPI_TAG_DUP, 0, &none, &max);
    rc = rc == MPI_SUCCESS ? pli_shim_plan_take(max, TAKEN, &cid) : rc;
    return rc == MPI_SUCCESS ? build(s->inter->world, s->inter->n, s->world, s->size, cid, out)
                             : rc;
}

int pli_shim_inter_rank_of(const struct shim_span *s, uint32_t world)
{
    for (int i = 0; i < s->inter->n; i++) {
        if (s->inter->world[i] == world) {
            return i;
        }
    }
    return -1;
}

// The communicator of parts of both groups, unless one is empty or this process is in none.
static int build_some(const uint32_t *mine, int n_mine, const uint32_t *theirs, int n_theirs,
                      uint64_t cid, MPI_Comm *out)
{
    *out = MPI_COMM_NULL;
    return n_theirs > 0 && pli_shim_comm_place(mine, n_mine) >= 0
               ? build(mine, n_mine, theirs, n_theirs, cid, out)
               : MPI_SUCCESS;
}

static int other_call(void)
{
    return pli_shim_fail(MPI_ERR_OTHER, "the other group of an inter-communicator is in a "
                                        "different call");
}

int pli_shim_inter_of_group(struct shim_span *s, const uint32_t *world, int n, MPI_Comm *out)
{
    uint64_t max, cid;
    uint32_t n_theirs = 0;
    int tag = PLI_IMPI_TAG_CREATE, rc = agree(s, tag, (uint32_t)n, &n_theirs, &max);
    rc = rc == MPI_SUCCESS ? pli_shim_plan_take(max, TAKEN, &cid) : rc;
    if (rc != MPI_SUCCESS || n_theirs > (uint32_t)s->size) {
        return rc != MPI_SUCCESS ? rc : other_call();
    }
    unsigned char *said = malloc(4 * ((size_t)n + n_theirs) + 1), *heard = said + 4 * n;
    uint32_t *theirs = malloc((n_theirs + 1) * sizeof *theirs);
    rc = said == NULL || theirs == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (rc == MPI_SUCCESS) {
        put_members(said, world, n);
        rc = exchange(s, tag, said, 4 * n, heard, 4 * (int)n_theirs);
    }
    rc = rc == MPI_SUCCESS ? get_members(heard, theirs, (int)n_theirs) : rc;
    rc = rc == MPI_SUCCESS ? build_some(world, n, theirs, (int)n_theirs, cid, out) : rc;
    free(said);
    free(theirs);
    return rc;
}

int pli_shim_inter_split(struct shim_span *s, int colour, int key, MPI_Comm *out)
{
    enum { EACH = PLI_SHIM_SPLIT_EACH };
    const struct shim_inter *i = s->inter;
    uint64_t max, cid;
    uint32_t n_theirs = 0;
    int tag = PLI_IMPI_TAG_SPLIT, n = i->n, n_in = 0, n_out = 0;
    unsigned char *votes = malloc(EACH * ((size_t)n + (size_t)s->size)), *heard = votes + EACH * n;
    uint32_t *world = malloc(((size_t)n + (size_t)s->size) * sizeof *world), *theirs = world + n;
    int rc = votes == NULL || world == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    rc = rc == MPI_SUCCESS ? pli_shim_split_votes(i->local, colour, key, votes) : rc;
    rc = rc == MPI_SUCCESS ? agree(s, tag, (uint32_t)n, &n_theirs, &max) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_plan_take(max, TAKEN, &cid) : rc;
    rc = rc == MPI_SUCCESS && n_theirs != (uint32_t)s->size ? other_call() : rc;
    rc = rc == MPI_SUCCESS ? exchange(s, tag, votes, EACH * n, heard, EACH * s->size) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_split_pick(votes, i->world, n, colour, world, &n_in) : rc;
    rc = rc == MPI_SUCCESS ? pli_shim_split_pick(heard, s->world, s->size, colour, theirs, &n_out)
                           : rc;
    rc = rc == MPI_SUCCESS ? build_some(world, n_in, theirs, n_out, cid, out) : rc;
    free(votes);
    free(world);
    return rc;
}

bool pli_shim_inter_is_low(const struct shim_span *s)
{
    return s->inter->world[0] < s->world[0];
}

int pli_shim_inter_copy(struct shim_span *s, MPI_Comm local, MPI_Comm local_own, MPI_Comm handle,
                        MPI_Comm own, uint64_t cid, uint64_t local_cid)
{
    struct shim_span *made;
    struct shim_inter *i = calloc(1, sizeof *i);
    uint32_t *copy = malloc((size_t)s->inter->n * sizeof *copy);
    int rc = MPI_SUCCESS;
    if (i == NULL || copy == NULL) {
        free(i);
        free(copy);
        return MPI_ERR_NO_MEM;
    }
    memcpy(copy, s->inter->world, (size_t)s->inter->n * sizeof *copy);
    *i = (struct shim_inter){ .local = local, .world = copy, .n = s->inter->n };
    if (pli_shim_span_find(s->inter->local) != NULL) {
        rc = pli_shim_span_create(local, local_own, copy, i->n, local_cid, &made);
    } else {
        (void)PMPI_Comm_free(&local_own);
    }
    if (rc != MPI_SUCCESS) {
        pli_shim_inter_destroy(i);
        return rc;
    }
    return pli_shim_span_create_inter(handle, own, s->world, s->size, cid, s->rank, i, &made);
}

int pli_shim_inter_leave(struct shim_span *s)
{
    unsigned char in[1];
    int rc = MPI_Barrier(s->inter->local);
    return rc == MPI_SUCCESS ? exchange(s, PLI_IMPI_TAG_COMM_FREE, in, 0, in, 0) : rc;
}

static int merge(struct shim_span *s, int high, MPI_Comm *out)
{
    uint64_t max, cid;
    uint32_t their_high;
    struct shim_span *made;
    const struct shim_inter *i = s->inter;
    int n = i->n + s->size;
    uint32_t *world = malloc((size_t)n * sizeof *world);
    int rc =
        world == NULL ? MPI_ERR_NO_MEM : agree(s, PLI_IMPI_TAG_MERGE, high != 0, &their_high, &max);
    rc = rc == MPI_SUCCESS ? pli_shim_plan_take(max, 2, &cid) : rc;
    if (rc == MPI_SUCCESS) {
        bool is_first = (high != 0) == (their_high != 0) ? i->world[0] < s->world[0] : high == 0;
        memcpy(world + (is_first ? 0 : s->size), i->world, (size_t)i->n * sizeof *world);
        memcpy(world + (is_first ? i->n : 0), s->world, (size_t)s->size * sizeof *world);
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_split(s->handle, 0, pli_shim_comm_place(world, n), out));
    }
    bool is_native = true;
    for (int k = 0; rc == MPI_SUCCESS && k < n; k++) {
        is_native = is_native && is_here(world[k]);
    }
    if (rc == MPI_SUCCESS && !is_native) {
        rc = pli_shim_span_create(*out, MPI_COMM_NULL, world, n, cid, &made);
    }
    free(world);
    return rc;
}

PLI_SHIM_API int MPI_Intercomm_merge(MPI_Comm inter, int high, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(inter);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Intercomm_merge(inter, high, newcomm));
    }
    return pli_shim_end(inter, s->inter == NULL ? MPI_ERR_COMM : merge(s, high, newcomm));
}

PLI_SHIM_API int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Comm_test_inter(comm, flag);
    }
    *flag = s->inter != NULL;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || s->inter == NULL) {
        return s == NULL ? PMPI_Comm_remote_size(comm, size) : pli_shim_end(comm, MPI_ERR_COMM);
    }
    *size = s->size;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL || s->inter == NULL) {
        return s == NULL ? PMPI_Comm_remote_group(comm, group) : pli_shim_end(comm, MPI_ERR_COMM);
    }
    return pli_shim_end(comm, show(s->world, s->size, group));
}
