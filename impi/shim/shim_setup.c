// SPDX-License-Identifier: BSD-3-Clause
// Communicators whose number one process makes up and the others are told, so that several can be
// made at once and by some members of the parent only: MPI_Comm_create_group and MPI_Comm_idup.
// Such numbers have the two bits below the highest set, which no number that is counted up has;
// then the rank in MPI_COMM_WORLD of the process that made it, and a count in steps of 4: the
// first of four is for messages, the next for collectives, the last for setting up. One that is
// counted up has its numbers for setting up in the same region, without the second of the bits.
#include "shim/shim_local.h"
#include "shim/shim_plan.h"
#include "shim/shim_task.h"
#include "shim/shim_topo.h"
#include "wire/impi_byte.h"
#include <stdlib.h>

#define MADE_HERE ((uint64_t)3 << 61)
#define LOCAL_GROUP ((uint64_t)1 << 37) // no count gets there
#define COUNTED_UP ((uint64_t)1 << 62)

enum { MAKER_BIT = 38, MAKER_MAX = 0xffffff, SETUP = 3, NUMBERS = 16 };

uint64_t pli_shim_setup_number(void)
{
    static uint64_t n;
    uint64_t maker = (pli_shim.first + (uint32_t)pli_shim.me) & MAKER_MAX;
    return MADE_HERE | maker << MAKER_BIT | ++n * 4;
}

uint64_t pli_shim_setup_proposal(void)
{
    return (pli_shim.job->features & PLI_IMPI_HAS_MADE) != 0 ? pli_shim_setup_number()
                                                             : pli_shim.max_cid;
}

bool pli_shim_setup_is_made(uint64_t cid)
{
    return (cid & MADE_HERE) == MADE_HERE;
}

uint64_t pli_shim_setup_local(uint64_t cid)
{
    return pli_shim_setup_is_made(cid) ? cid ^ LOCAL_GROUP : cid + 2;
}

static uint64_t setup_cid(const struct shim_span *s)
{
    return (s->cid >> 60 != 0 ? s->cid : COUNTED_UP | s->cid << 2) | SETUP;
}

// Inside the client the messages of all parents share one communicator: the tag tells them apart.
static int native_tag(const struct shim_span *s, int tag)
{
    uint64_t mix = (setup_cid(s) ^ (uint64_t)tag << 40 ^ (uint64_t)tag) * 0x9e3779b97f4a7c15u;
    return (int)((mix >> 32) % (uint64_t)pli_shim.native_tag_ub);
}

// Eight bytes to or from a rank of the parent.
static int move(struct shim_span *s, int tag, int rank, bool is_out, unsigned char *data)
{
    struct shim_piece p = { rank, data, 8 };
    MPI_Request req;
    if (s->native[rank] < 0) {
        return pli_shim_plan_pieces_on(s, setup_cid(s), tag, &p, is_out, &p, !is_out);
    }
    int to = (int)(s->world[rank] - pli_shim.first), its = native_tag(s, tag);
    int rc = is_out ? PMPI_Isend(data, 8, MPI_BYTE, to, its, pli_shim.setup, &req)
                    : PMPI_Irecv(data, 8, MPI_BYTE, to, its, pli_shim.setup, &req);
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, MPI_STATUS_IGNORE) : rc;
}

// Each tells the one 1, 2, 4... places behind it.
int pli_shim_setup_meet(const int *rank, int n, int tag)
{
    int me = 0, rc = MPI_SUCCESS;
    MPI_Request req[2];
    while (me < n && rank[me] != pli_shim.me) {
        me++;
    }
    for (int far = 1; pli_shim.has_threads && far < n && rc == MPI_SUCCESS; far *= 2) {
        int to = rank[(me + far) % n], from = rank[(me + n - far) % n];
        rc = PMPI_Irecv(NULL, 0, MPI_BYTE, from, tag, pli_shim.setup, &req[0]);
        rc = rc == MPI_SUCCESS ? PMPI_Isend(NULL, 0, MPI_BYTE, to, tag, pli_shim.setup, &req[1])
                               : rc;
        for (int i = 0; i < 2 && rc == MPI_SUCCESS; i++) {
            rc = pli_shim_req_wait_native(&req[i], MPI_STATUS_IGNORE);
        }
    }
    return rc;
}

int pli_shim_setup_meet_all(const struct shim_span *s)
{
    return pli_shim.has_threads ? pli_shim_local_barrier(s->local) : MPI_SUCCESS;
}

// The first of `n` ranks of the parent tells the others, along a binomial tree, by `step`.
typedef int (*step_fn)(struct shim_span *s, int tag, int rank, bool is_out, unsigned char *data);

static int tell(struct shim_span *s, int tag, const int *rank, int me, int n, step_fn step,
                unsigned char *data)
{
    int bit = 1, rc = MPI_SUCCESS;
    while (bit < n && (me & bit) == 0) {
        bit <<= 1;
    }
    if (me != 0) {
        rc = step(s, tag, rank != NULL ? rank[me - bit] : me - bit, false, data);
    }
    for (bit >>= 1; bit > 0 && rc == MPI_SUCCESS; bit >>= 1) {
        if (me + bit < n) {
            rc = step(s, tag, rank != NULL ? rank[me + bit] : me + bit, true, data);
        }
    }
    return rc;
}

// A native communicator of the members that are in this client, in the order of the group.
static int native_of(struct shim_span *s, const int *rank, int n, int tag, MPI_Comm *out)
{
    MPI_Group whole, some;
    int k = 0, *native = malloc(2 * ((size_t)n + 1) * sizeof *native);
    if (native == NULL) {
        return MPI_ERR_NO_MEM;
    }
    int *first = native + n; // as ranks of the client
    for (int i = 0; i < n; i++) {
        if (s->native[rank[i]] >= 0) {
            first[k] = (int)(s->world[rank[i]] - pli_shim.first);
            native[k++] = s->native[rank[i]];
        }
    }
    int rc = pli_shim_setup_meet(first, k, native_tag(s, tag));
    rc = rc == MPI_SUCCESS ? PMPI_Comm_group(s->handle, &whole) : rc;
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Group_incl(whole, k, native, &some);
        (void)PMPI_Group_free(&whole);
    }
    if (rc == MPI_SUCCESS) {
        rc = PLI_SHIM_OUTSIDE(PMPI_Comm_create_group(s->handle, some, tag, out));
        (void)PMPI_Group_free(&some);
    }
    free(native);
    return rc;
}

static int create_group(struct shim_span *s, const struct shim_group *g, int tag, MPI_Comm *out)
{
    int me = -1, n_here = 0, rc = MPI_SUCCESS;
    unsigned char data[8];
    struct shim_span *made;
    int *rank = malloc(((size_t)g->n + 1) * sizeof *rank);
    rc = rank == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int i = 0; i < g->n && rc == MPI_SUCCESS; i++) {
        rank[i] = pli_shim_span_rank_of(s, g->world[i]);
        rc = rank[i] < 0 ? MPI_ERR_GROUP : MPI_SUCCESS;
        n_here += rc == MPI_SUCCESS && s->native[rank[i]] >= 0;
        me = rank[i] == s->rank ? i : me;
    }
    if (rc != MPI_SUCCESS || me < 0) {
        *out = MPI_COMM_NULL;
        free(rank);
        return rc;
    }
    if (n_here < g->n && !pli_shim_task_has_later()) {
        free(rank);
        return pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                             PLI_SHIM_LATER("MPI_Comm_create_group"));
    }
    if (n_here < g->n) {
        pli_impi_byte_put64(data, me == 0 ? pli_shim_setup_number() : 0);
        rc = tell(s, tag, rank, me, g->n, move, data);
    }
    rc = rc == MPI_SUCCESS ? native_of(s, rank, g->n, tag, out) : rc;
    if (rc == MPI_SUCCESS && n_here < g->n) {
        rc = pli_shim_span_create(*out, MPI_COMM_NULL, g->world, g->n, pli_impi_byte_get64(data),
                                  &made);
    }
    free(rank);
    return rc;
}

PLI_SHIM_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    struct shim_group list;
    MPI_Group native;
    if (s == NULL) {
        int rc = pli_shim_group_native(comm, group, &native);
        return rc == MPI_SUCCESS
                   ? PLI_SHIM_OUTSIDE(PMPI_Comm_create_group(comm, native, tag, newcomm))
                   : pli_shim_end(comm, rc);
    }
    int rc = pli_shim_inter_refuse(s);
    rc = rc == MPI_SUCCESS ? pli_shim_group_list(group, &list) : rc;
    if (rc == MPI_SUCCESS) {
        rc = create_group(s, &list, tag, newcomm);
        free(list.world);
    }
    return pli_shim_end(comm, rc);
}

// MPI_Comm_idup. Some libraries do theirs by collectives of the parent, begun when progress is
// made. So those of one parent are done one after the other, in the order of the calls, and
// nothing else is done meanwhile that would be such a collective.
typedef int (*idup_fn)(MPI_Comm comm, MPI_Info info, MPI_Comm *out, MPI_Request *request);

struct copying {
    MPI_Comm *out;
    idup_fn fn;
    MPI_Info info;
    uint32_t turn;
};

void pli_shim_setup_settle(const struct shim_span *s)
{
    struct shim_pace pace = { 0 };
    while (s->n_copied != s->n_copy) {
        pli_shim_req_progress(&pace);
        pli_shim_link_pause(&pace, true);
    }
}

// Under the tag of the operation.
static int step_tagged(struct shim_span *s, int tag, int rank, bool is_out, unsigned char *data)
{
    struct shim_piece p = { rank, data, NUMBERS };
    return pli_shim_plan_pieces(s, tag, &p, is_out, &p, !is_out);
}

// The first number alone.
static int step_one(struct shim_span *s, int tag, int rank, bool is_out, unsigned char *data)
{
    struct shim_piece p = { rank, data, NUMBERS / 2 };
    return pli_shim_plan_pieces(s, tag, &p, is_out, &p, !is_out);
}

static int idup_plain(MPI_Comm comm, MPI_Info info, MPI_Comm *out, MPI_Request *request)
{
    (void)info;
    return PMPI_Comm_idup(comm, out, request);
}

// Two copies: the second is for our own messages.
static int copy_native(MPI_Comm comm, idup_fn fn, MPI_Info info, MPI_Comm *out, MPI_Comm *own)
{
    MPI_Request req;
    int rc = fn(comm, info, out, &req);
    rc = rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, MPI_STATUS_IGNORE) : rc;
    rc = rc == MPI_SUCCESS ? PMPI_Comm_idup(*out, own, &req) : rc;
    return rc == MPI_SUCCESS ? pli_shim_req_wait_native(&req, MPI_STATUS_IGNORE) : rc;
}

static int copy_intra(struct shim_span *s, const struct copying *c)
{
    struct shim_span *made;
    unsigned char data[NUMBERS] = { 0 };
    MPI_Comm handle, own;
    pli_impi_byte_put64(data, s->rank == 0 ? pli_shim_setup_number() : 0);
    int rc = tell(s, 0, NULL, s->rank, s->size, step_one, data);
    rc = rc == MPI_SUCCESS ? pli_shim_setup_meet_all(s) : rc;
    rc = rc == MPI_SUCCESS ? copy_native(s->handle, c->fn, c->info, &handle, &own) : rc;
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_span_create(handle, own, s->world, s->size, pli_impi_byte_get64(data), &made);
    }
    if (rc == MPI_SUCCESS && s->topo != NULL) {
        made->topo = pli_shim_topo_copy(s->topo);
        rc = made->topo == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }
    *c->out = rc == MPI_SUCCESS ? handle : MPI_COMM_NULL;
    return rc;
}

// The number of both sides is made by the side whose first process comes first in the world; each
// side makes that of its own group.
static int copy_inter(struct shim_span *s, const struct copying *c)
{
    MPI_Comm local = pli_shim_inter_local(s), handle, own, group, group_own;
    struct shim_span *g = pli_shim_span_find(local);
    unsigned char data[NUMBERS];
    int rc = MPI_SUCCESS;
    pli_impi_byte_put64(data, pli_shim_setup_number());
    pli_impi_byte_put64(data + 8, pli_shim_setup_number());
    if (s->rank == 0) {
        rc = step_one(s, 0, 0, pli_shim_inter_is_low(s), data);
    }
    if (rc == MPI_SUCCESS) {
        rc = g != NULL ? tell(g, 0, NULL, s->rank, g->size, step_tagged, data)
                       : pli_shim_local_bcast(local, 0, data, NUMBERS, MPI_BYTE);
    }
    rc = rc == MPI_SUCCESS ? pli_shim_setup_meet_all(s) : rc;
    rc = rc == MPI_SUCCESS ? copy_native(s->handle, c->fn, c->info, &handle, &own) : rc;
    rc = rc == MPI_SUCCESS ? copy_native(local, idup_plain, MPI_INFO_NULL, &group, &group_own) : rc;
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_inter_copy(s, group, group_own, handle, own, pli_impi_byte_get64(data),
                                 pli_impi_byte_get64(data + 8));
    }
    *c->out = rc == MPI_SUCCESS ? handle : MPI_COMM_NULL;
    return rc;
}

static int run_copy(struct shim_span *s, void *arg)
{
    struct copying *c = arg;
    while (s->n_copied != c->turn) {
        pli_shim_task_yield();
    }
    int rc = s->inter != NULL ? copy_inter(s, c) : copy_intra(s, c);
    s->n_copied++;
    return rc;
}

static int idup(struct shim_span *s, idup_fn fn, MPI_Info info, MPI_Comm *out, MPI_Request *request)
{
    struct copying *c = malloc(sizeof *c);
    struct shim_req *r;
    if (c == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *c = (struct copying){ .out = out, .fn = fn, .info = info, .turn = s->n_copy };
    int rc = pli_shim_task_create(s, PLI_SHIM_LATER("MPI_Comm_idup"), run_copy, c, false, &r);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    s->n_copy++;
    rc = pli_shim_task_start(r);
    return rc == MPI_SUCCESS ? pli_shim_req_show(r, request) : rc;
}

PLI_SHIM_API int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    return s == NULL ? PMPI_Comm_idup(comm, newcomm, request)
                     : pli_shim_end(comm, idup(s, idup_plain, MPI_INFO_NULL, newcomm, request));
}

#if MPI_VERSION >= 4
PLI_SHIM_API int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
                                         MPI_Request *request)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    return s == NULL
               ? PMPI_Comm_idup_with_info(comm, info, newcomm, request)
               : pli_shim_end(comm, idup(s, PMPI_Comm_idup_with_info, info, newcomm, request));
}
#endif
