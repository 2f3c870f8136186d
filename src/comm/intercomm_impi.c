// SPDX-License-Identifier: BSD-3-Clause
// Makes intercommunicators across MPI jobs. Each group finds the largest context in use; its leader
// sends it to the other leader together with the ranks of the members in MPI_COMM_WORLD, and sends
// its group what it received.
#include "comm/intercomm_impi.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/impi_cid.h"
#include "comm/comm_make.h"
#include "comm/leader_exchange.h"
#include "comm/intercomm.h"
#include "impi/coll/impi_coll.h"
#include "msg/p2p.h"
#include "msg/sendrecv.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/group_build.h"
#include "obj/impi_span.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 8, EACH = 4 };
#define NOWHERE UINT32_MAX // the rank of a process that is not in MPI_COMM_WORLD

// What the other leader sent, as bytes; NULL: there is no memory, or nothing came.
struct heard {
    unsigned char *data;
    int len;
};

static void put_members(const struct pli_group *g, unsigned char *p)
{
    for (int i = 0; i < g->size; i++) {
        uint64_t proc = pli_group_at(g, i).proc;
        uint32_t world = htobe32(pli_impi_span_is_inside(proc) ? (uint32_t)proc : NOWHERE);
        memcpy(p + (size_t)EACH * (size_t)i, &world, EACH);
    }
}

static unsigned char *describe(const struct pli_group *g, uint64_t max, int *len_out)
{
    *len_out = HEAD + EACH * g->size;
    unsigned char *p = malloc((size_t)*len_out);
    if (p != NULL) {
        max = htobe64(max);
        memcpy(p, &max, HEAD);
        put_members(g, p + HEAD);
    }
    return p;
}

static enum pli_err no_memory(int len)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for %d bytes that two groups exchange", len);
}

// The leaders' part: with the program's tag on the communicator they share.
static enum pli_err exchange_as_leader(const struct pli_comm *local, uint64_t max,
                                       const struct pli_intercomm_lead *lead, struct heard *in)
{
    int len;
    unsigned char *mine = describe(local->group, max, &len);
    if (mine == NULL) {
        return no_memory(len);
    }
    enum pli_err err =
        pli_leader_exchange_open(lead->peer, lead->far, lead->tag, mine, len, &in->data, &in->len);
    free(mine);
    return err;
}

// The leader sends its group what it received: the length and the bytes, or its error as a negative
// length.
static enum pli_err spread(struct pli_comm *local, int leader, enum pli_err why, struct heard *in)
{
    int len = why == PLI_OK ? in->len : (int)why;
    enum pli_err err = pli_coll_bcast(&len, 1, pli_datatype_basic(MPI_INT), leader, local);
    if (err != PLI_OK || why != PLI_OK) {
        return why != PLI_OK ? why : err;
    }
    if (len < HEAD) {
        why = len < 0 && len > -PLI_N_ERR ? (enum pli_err)len : PLI_ERR_OTHER;
        return pli_fail(why, "the leader of the group, rank %d, failed: %s", leader,
                        pli_err_text(why));
    }
    if (in->data == NULL) {
        in->len = len;
        in->data = malloc((size_t)len);
    }
    return in->data == NULL ? no_memory(len)
                            : pli_coll_bcast(in->data, len, pli_comm_make_byte(), leader, local);
}

static enum pli_err get_members(const struct pli_comm *local, const unsigned char *p, int n,
                                struct pli_group **out)
{
    struct pli_group_build b;
    struct pli_id me = local->group->me;
    pli_group_build_init(&b);
    for (int i = 0; i < n; i++) {
        uint32_t world;
        memcpy(&world, p + (size_t)EACH * (size_t)i, EACH);
        world = be32toh(world);
        struct pli_id id = { pli_node_job_of(me.proc) | world, 0 };
        if (world >= pli_boot.n_world) {
            pli_group_build_finish(&b, local->group->session, me, out);
            pli_group_release(*out);
            return world == NOWHERE
                       ? pli_fail(PLI_ERR_COMM, "the other group has processes that were spawned "
                                                "or belong to a job that IMPI does not know")
                       : pli_fail(PLI_ERR_OTHER, "the other group has rank %u of %u", world,
                                  pli_boot.n_world);
        }
        pli_group_build_add_id(&b, id);
    }
    return pli_group_build_finish(&b, local->group->session, me, out);
}

static enum pli_err build(struct pli_comm *local, uint64_t max, const struct heard *in,
                          struct pli_comm **out)
{
    uint64_t cid, theirs;
    struct pli_group *remote;
    memcpy(&theirs, in->data, HEAD);
    theirs = be64toh(theirs);
    enum pli_err err = pli_impi_cid_take(theirs > max ? theirs : max, PLI_INTERCOMM_N_CID, &cid);
    if (err == PLI_OK) {
        err = get_members(local, in->data + HEAD, (in->len - HEAD) / EACH, &remote);
    }
    if (err != PLI_OK) {
        return err;
    }
    err = pli_intercomm_check_disjoint(local->group, remote);
    if (err == PLI_OK) {
        err = pli_comm_make_inter(local, local->group, remote, pli_impi_cid_context(cid),
                                  pli_impi_cid_context(pli_impi_cid_local(cid)), out);
    }
    pli_group_release(remote);
    return err;
}

enum pli_err pli_intercomm_impi_create(struct pli_comm *local, int leader,
                                       const struct pli_intercomm_lead *lead, struct pli_comm **out)
{
    uint64_t max;
    struct heard in = { NULL, 0 };
    enum pli_err why = lead->why, err = pli_impi_cid_max(local, &max);
    if (err == PLI_OK && local->rank == leader && why == PLI_OK) {
        why = exchange_as_leader(local, max, lead, &in);
    }
    if (err == PLI_OK) {
        err = spread(local, leader, local->rank == leader ? why : PLI_OK, &in);
    }
    if (err == PLI_OK &&
        pli_impi_span_has_outside(local->group)) { // the others learn of it from its ranks
        err = pli_fail(PLI_ERR_COMM,
                       "argument local_comm has processes that were spawned or belong to another "
                       "job, and the other group or peer_comm spans jobs that IMPI joins, which "
                       "does not know those");
    }
    if (err == PLI_OK) {
        err = build(local, max, &in, out);
    }
    free(in.data);
    return err;
}

// What the groups of an intercommunicator that spans jobs exchange through their ranks 0: the
// largest context in use and a flag, both big-endian on the wire.
struct proposal {
    uint64_t max;
    uint32_t flag;
} __attribute__((packed));
_Static_assert(sizeof(struct proposal) == 12, "other MPIs send it too");

// The first ranks of both groups exchange elements, and each broadcasts in its group what it got.
static enum pli_err sendrecv(struct pli_comm *inter, int tag, struct pli_datatype *type,
                             const void *out, int n_out, void *in, int n_in)
{
    enum pli_err err = PLI_OK;
    if (inter->rank == 0) {
        err = pli_sendrecv_on(out, n_out, type, 0, tag, in, n_in, type, 0, tag, inter,
                              PLI_CHAN_COLL, MPI_STATUS_IGNORE, NULL);
    }
    return err == PLI_OK ? pli_coll_bcast(in, n_in, type, 0, inter->local) : err;
}

static enum pli_err agree(struct pli_comm *inter, int tag, uint32_t *flag, unsigned n,
                          uint64_t *cid_out)
{
    uint64_t max;
    struct proposal mine = { .flag = htobe32(*flag) }, theirs = { 0 };
    enum pli_err err = pli_impi_cid_max(inter->local, &max);
    if (err != PLI_OK) {
        return err;
    }
    mine.max = htobe64(max);
    err = sendrecv(inter, tag, pli_comm_make_byte(), &mine, sizeof mine, &theirs, sizeof theirs);
    if (err != PLI_OK) {
        return err;
    }
    uint64_t other = be64toh(theirs.max);
    *flag = be32toh(theirs.flag);
    return pli_impi_cid_take(other > max ? other : max, n, cid_out);
}

enum pli_err pli_intercomm_impi_merge(struct pli_comm *inter, bool high, bool *their_high_out,
                                      uint64_t *context_out)
{
    uint64_t cid = 0;
    uint32_t flag = high;
    enum pli_err err = agree(inter, PLI_IMPI_TAG_MERGE, &flag, 2, &cid);
    *their_high_out = flag != 0;
    *context_out = pli_impi_cid_context(cid);
    return err;
}

enum pli_err pli_intercomm_impi_dup(struct pli_comm *inter, uint64_t contexts_out[2])
{
    uint64_t cid = 0;
    uint32_t none = 0;
    enum pli_err err = agree(inter, PLI_IMPI_TAG_DUP, &none, PLI_INTERCOMM_N_CID, &cid);
    contexts_out[0] = pli_impi_cid_context(cid);
    contexts_out[1] = pli_impi_cid_context(pli_impi_cid_local(cid));
    return err;
}

enum pli_err pli_intercomm_impi_leave(struct pli_comm *inter)
{
    enum pli_err err = pli_coll_barrier(inter->local);
    return err == PLI_OK
               ? sendrecv(inter, PLI_IMPI_TAG_COMM_FREE, pli_comm_make_byte(), NULL, 0, NULL, 0)
               : err;
}

static enum pli_err other_call(void)
{
    return pli_fail(PLI_ERR_OTHER, "the other group is in a different call");
}

static enum pli_err make(struct pli_comm *inter, struct pli_group *group, struct pli_group *remote,
                         uint64_t cid, struct pli_comm **out)
{
    bool is_member = pli_comm_make_is_member(inter, group);
    return remote->size > 0 && is_member
               ? pli_comm_make_inter(inter, group, remote, pli_impi_cid_context(cid),
                                     pli_impi_cid_context(pli_impi_cid_local(cid)), out)
               : PLI_OK;
}

enum pli_err pli_intercomm_impi_of_groups(struct pli_comm *inter, struct pli_group *group,
                                          struct pli_comm **out)
{
    uint64_t cid = 0;
    uint32_t n = (uint32_t)group->size;
    struct pli_group *remote = NULL;
    enum pli_err err = agree(inter, PLI_IMPI_TAG_CREATE, &n, PLI_INTERCOMM_N_CID, &cid);
    if (err != PLI_OK || n > (uint32_t)inter->n_peer) {
        return err != PLI_OK ? err : other_call();
    }
    int n_mine = EACH * group->size, n_theirs = EACH * (int)n;
    unsigned char *mine = malloc((size_t)n_mine + (size_t)n_theirs + 1), *theirs = mine + n_mine;
    if (mine == NULL) {
        return no_memory(n_mine + n_theirs);
    }
    put_members(group, mine);
    err =
        sendrecv(inter, PLI_IMPI_TAG_CREATE, pli_comm_make_byte(), mine, n_mine, theirs, n_theirs);
    err = err == PLI_OK ? get_members(inter, theirs, (int)n, &remote) : err;
    err = err == PLI_OK ? make(inter, group, remote, cid, out) : err;
    pli_group_release(remote);
    free(mine);
    return err;
}

enum pli_err pli_intercomm_impi_split(struct pli_comm *inter, int color, int key,
                                      struct pli_comm **out)
{
    uint64_t cid = 0;
    uint32_t n = (uint32_t)inter->size;
    int *votes = NULL, *theirs = malloc(2 * (size_t)inter->n_peer * sizeof *theirs);
    struct pli_group *group = NULL, *remote = NULL;
    struct pli_id me = inter->group->me;
    enum pli_err err = pli_impi_cid_votes(inter->local, color, key, &votes);
    if (err == PLI_OK) {
        err = theirs == NULL ? no_memory(2 * EACH * inter->n_peer)
                             : agree(inter, PLI_IMPI_TAG_SPLIT, &n, PLI_INTERCOMM_N_CID, &cid);
    }
    if (err == PLI_OK && n != (uint32_t)inter->n_peer) {
        err = other_call();
    }
    if (err == PLI_OK) {
        err = sendrecv(inter, PLI_IMPI_TAG_SPLIT, pli_datatype_basic(MPI_INT), votes,
                       2 * inter->size, theirs, 2 * inter->n_peer);
    }
    if (err == PLI_OK && color >= 0) {
        err = pli_impi_cid_group(inter->group, votes, color, me, &group);
        err = err == PLI_OK ? pli_impi_cid_group(inter->remote, theirs, color, me, &remote) : err;
        err = err == PLI_OK ? make(inter, group, remote, cid, out) : err;
    }
    pli_group_release(group);
    pli_group_release(remote);
    free(votes);
    free(theirs);
    return err;
}
