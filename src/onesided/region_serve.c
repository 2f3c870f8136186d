// SPDX-License-Identifier: BSD-3-Clause
// The owner's side: takes requests of far members one after the other and answers them.
#include "onesided/region_priv.h"

#include "base/log.h"
#include "boot/boot.h"
#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdio.h>
#include <string.h>

static struct pli_datatype *byte_type(void)
{
    return pli_datatype_basic(MPI_BYTE);
}

// A request that reaches beyond the region comes from a pointer gone wild. Going on would spoil
// memory of this process for a mistake of that one.
static _Noreturn void wild(const struct pli_region *r, int origin, uint64_t at, uint64_t len)
{
    char why[200];
    snprintf(why, sizeof why,
             "member %d of %s accesses %llu bytes at offset %llu of member %d, which has %zu",
             origin, pli_comm_say(r->comm), (unsigned long long)len, (unsigned long long)at,
             r->comm->rank, r->size);
    pli_log(PLI_ERROR, "%s", why);
    pli_proc.boot->ops->abort(pli_proc.boot, 1, why);
    __builtin_unreachable();
}

static char *place(const struct pli_region *r, int origin, uint64_t at, uint64_t len)
{
    if (at > r->size || len > r->size - at) {
        wild(r, origin, at, len);
    }
    return r->near[r->comm->rank] + at;
}

static void reply(struct pli_region *r, int to, uint32_t tag, const void *data, size_t len)
{
    if (tag == 0) {
        return;
    }
    atomic_thread_fence(memory_order_seq_cst); // who gets the answer counts on all before it
    enum pli_err err =
        pli_p2p_send_on(data, (MPI_Count)len, byte_type(), to, (int)tag, r->comm, PLI_CHAN_P2P, 0);
    if (err != PLI_OK) {
        pli_log(PLI_ERROR, "cannot answer member %d: %s", to, pli_fail_take(NULL));
    }
}

static void move_strided(struct pli_region *r, int origin, const struct pli_region_msg *m)
{
    bool is_put = m->kind == PLI_REGION_MSG_PUT_STRIDED;
    for (uint64_t i = 0; i < m->n; i++) {
        char *p = place(r, origin, m->at + i * (uint64_t)m->step, m->block);
        if (is_put) {
            memcpy(p, m->data + i * m->block, m->block);
        } else {
            memcpy(r->out->data + i * m->block, p, m->block);
        }
    }
    if (!is_put) {
        reply(r, origin, m->tag, r->out->data, m->n * m->block);
    }
}

static void move_indexed(struct pli_region *r, int origin, const struct pli_region_msg *m)
{
    bool is_put = m->kind == PLI_REGION_MSG_PUT_INDEXED;
    for (uint64_t i = 0; i < m->n; i++) {
        uint64_t at;
        memcpy(&at, m->data + i * sizeof at, sizeof at);
        char *p = place(r, origin, at, m->block);
        if (is_put) {
            memcpy(p, m->data + m->n * sizeof at + i * m->block, m->block);
        } else {
            memcpy(r->out->data + i * m->block, p, m->block);
        }
    }
    if (!is_put) {
        reply(r, origin, m->tag, r->out->data, m->n * m->block);
    }
}

static void apply(struct pli_region *r, int origin, const struct pli_region_msg *m)
{
    enum pli_region_type type = (enum pli_region_type)m->type;
    uint64_t fetch = 0;
    size_t size = pli_region_type_size(type);
    pli_region_type_apply(place(r, origin, m->at, size), type, (enum pli_region_op)m->op, m->data,
                          m->data + 8, &fetch);
    reply(r, origin, m->tag, &fetch, size);
}

static enum pli_err receive(struct pli_region *r, void *to, uint64_t len, int source, uint32_t tag)
{
    r->is_waiting = true;
    return pli_p2p_begin_recv(&r->recv, to, (MPI_Count)len, byte_type(), source, (int)tag, r->comm,
                              PLI_CHAN_P2P);
}

static enum pli_err wait_for_next(struct pli_region *r)
{
    return receive(r, r->in, sizeof *r->in, MPI_ANY_SOURCE, PLI_REGION_TAG_ASK);
}

// What others want waits until the data is here: all that a member says is dealt with in order.
static void take(struct pli_region *r, int origin, const struct pli_region_msg *m)
{
    char *to = place(r, origin, m->at, m->block);
    r->is_taking = true;
    if (receive(r, to, m->block, origin, m->tag) != PLI_OK) {
        r->is_taking = false;
        pli_log(PLI_ERROR, "cannot take what member %d puts here: %s", origin, pli_fail_take(NULL));
    }
}

static void serve(struct pli_region *r, int origin, size_t len)
{
    const struct pli_region_msg *m = r->in;
    size_t data = len - PLI_REGION_HEAD;
    switch (m->kind) {
    case PLI_REGION_MSG_PUT:
        memcpy(place(r, origin, m->at, data), m->data, data);
        break;
    case PLI_REGION_MSG_GET:
        reply(r, origin, m->tag, place(r, origin, m->at, m->block), m->block);
        break;
    case PLI_REGION_MSG_SET:
        memset(place(r, origin, m->at, m->block), m->byte, m->block);
        break;
    case PLI_REGION_MSG_PUT_STRIDED:
    case PLI_REGION_MSG_GET_STRIDED:
        move_strided(r, origin, m);
        break;
    case PLI_REGION_MSG_PUT_INDEXED:
    case PLI_REGION_MSG_GET_INDEXED:
        move_indexed(r, origin, m);
        break;
    case PLI_REGION_MSG_ATOMIC:
        apply(r, origin, m);
        break;
    case PLI_REGION_MSG_FLUSH:
        reply(r, origin, m->tag, NULL, 0);
        break;
    case PLI_REGION_MSG_ASK: {
        unsigned char answer[PLI_REGION_ASK];
        size_t n = r->answer(r->arg, origin, m->data, data, answer);
        reply(r, origin, m->tag, answer, n);
        break;
    }
    case PLI_REGION_MSG_KEY:
        reply(r, origin, m->tag, r->out->data,
              pli_region_ucx_lend(r, m->at, (struct pli_region_key *)(void *)r->out->data));
        break;
    case PLI_REGION_MSG_TAKE:
        take(r, origin, m);
        break;
    default:
        pli_log(PLI_ERROR, "member %d sent something of kind %u", origin, m->kind);
    }
}

static void run(struct pli_task *t)
{
    struct pli_region *r = PLI_CONTAINER(t, struct pli_region, task);
    bool was_data = r->is_taking;
    r->is_taking = false;
    if (!was_data && r->recv.r.bytes >= PLI_REGION_HEAD && r->recv.r.err == PLI_OK) {
        serve(r, r->recv.r.source, r->recv.r.bytes);
    }
    if (!r->is_over && !r->is_taking && wait_for_next(r) != PLI_OK) {
        pli_log(PLI_ERROR, "%s: no more requests can be served: %s", pli_comm_say(r->comm),
                pli_fail_take(NULL));
    }
}

// Context: lane locked, so the work itself is left for later.
static void arrived(struct pli_request_child *c)
{
    struct pli_region *r = PLI_CONTAINER(c, struct pli_region, recv);
    r->is_waiting = false;
    if (!r->is_over) {
        pli_lane_defer(c->r.lane, &r->task);
    }
}

enum pli_err pli_region_serve(struct pli_region *r)
{
    r->recv.done = arrived;
    r->task.run = run;
    r->is_serving = true;
    return wait_for_next(r);
}
