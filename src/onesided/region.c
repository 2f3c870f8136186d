// SPDX-License-Identifier: BSD-3-Clause
// A region's life, access to bytes in the order of the calls, and remote completion. UCX promises
// no order between its own puts, nor between those and messages. So an access after a put by UCX,
// or one that changes from messages to UCX, first waits until what was before is done. That costs a
// trip, and UCX is used for accesses to which it matters little.
#include "onesided/region.h"

#include "base/conf.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "onesided/region_layout.h"
#include "onesided/region_msg.h"
#include "onesided/region_priv.h"
#include "onesided/region_serve.h"
#include "onesided/region_datatype.h"
#include "onesided/region_ucx.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 8192, // data in one message of many blocks
    SMALL = 8192, // below, a put is a message that is not waited for
    MANY_OUT = 64 // messages on their way after which an access waits for room
};

// A copy of the table of mapped members; false: no memory.
static bool copy_near(struct pli_region *r, char *const *near)
{
    size_t n = (size_t)r->comm->size;
    char **copy = near != NULL ? malloc(n * sizeof *copy) : NULL;
    if (copy != NULL) {
        memcpy(copy, near, n * sizeof *copy);
    }
    r->plan.near = copy;
    return near == NULL || copy != NULL;
}

enum pli_err pli_region_create(const struct pli_region_plan *plan, struct pli_region **out)
{
    size_t n = (size_t)plan->comm->size;
    struct pli_region *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->plan = *plan;
        r->comm = r->plan.comm = pli_comm_retain(plan->comm);
        r->data_tag = pli_region_msg_data_tag(r->comm);
        r->plan.may_register = plan->may_register && strcmp(pli_conf.ucx_rma, "never") != 0;
        r->is_always = strcmp(pli_conf.ucx_rma, "always") == 0;
        r->members = calloc(n, sizeof *r->members);
    }
    if (r == NULL || !copy_near(r, plan->near) || r->members == NULL) {
        pli_region_destroy(r);
        return pli_fail(PLI_ERR_NOMEM, "no memory for one-sided access to %zu members", n);
    }
    enum pli_err err = pli_region_ucx_open(r);
    err = err == PLI_OK ? pli_region_serve_open(r) : err;
    if (err != PLI_OK) {
        pli_region_destroy(r);
        return err;
    }
    *out = r;
    return PLI_OK;
}

void pli_region_destroy(struct pli_region *r)
{
    if (r == NULL) {
        return;
    }
    if (r->members != NULL) {
        pli_region_serve_close(r);
        pli_region_ucx_close(r);
    }
    if (r->comm != NULL) {
        pli_comm_release(r->comm);
    }
    free((void *)r->plan.near);
    free(r->members);
    free(r);
}

bool pli_region_is_registered(const struct pli_region *r)
{
    return r->has_ucx;
}

char *pli_region_near(const struct pli_region *r, int member)
{
    return r->plan.near != NULL ? r->plan.near[member] : NULL;
}

enum pli_err pli_region_flush_ucx(struct pli_region *r, int to)
{
    struct pli_region_ucx_flush f;
    enum pli_err err = pli_region_ucx_flush_begin(r, to, &f);
    return err == PLI_OK ? pli_region_ucx_flush_end(&f) : err;
}

static enum pli_err refused(int to, int32_t err)
{
    return err == PLI_OK ? PLI_OK
                         : pli_fail((enum pli_err)err, "an access to rank %d was refused there: %s",
                                    to, pli_err_text((enum pli_err)err));
}

static enum pli_err begin_flush(struct pli_region *r, int to, int32_t *reply,
                                struct pli_region_question *q)
{
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_FLUSH, 0);
    *reply = PLI_OK;
    return m == NULL ? PLI_ERR_NOMEM : pli_region_msg_ask(r, to, m, 0, reply, sizeof *reply, q);
}

enum pli_err pli_region_flush(struct pli_region *r, int to)
{
    struct pli_region_question q;
    int32_t reply;
    enum pli_err err = pli_region_flush_ucx(r, to);
    if (err != PLI_OK || !pli_region_is_dirty(&r->members[to])) {
        return err;
    }
    err = begin_flush(r, to, &reply, &q);
    err = err == PLI_OK ? pli_region_msg_wait_answer(&q, NULL) : err;
    return err == PLI_OK ? refused(to, reply) : err;
}

enum pli_err pli_region_flush_ucx_all(struct pli_region *r)
{
    struct pli_region_ucx_flush *begun = NULL;
    enum pli_err err = PLI_OK;
    int n_begun = 0;
    for (int i = 0; r->has_ucx && i < r->comm->size; i++) {
        if (!pli_region_ucx_is_dirty(r, i)) {
            continue;
        }
        if (begun == NULL && (begun = malloc((size_t)r->comm->size * sizeof *begun)) == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory to flush %d members", r->comm->size);
        }
        enum pli_err e = pli_region_ucx_flush_begin(r, i, &begun[n_begun]);
        n_begun += e == PLI_OK;
        err = err == PLI_OK ? e : err;
    }
    for (int i = 0; i < n_begun; i++) {
        enum pli_err e = pli_region_ucx_flush_end(&begun[i]);
        err = err == PLI_OK ? e : err;
    }
    free(begun);
    return err;
}

// A member that was asked to flush.
struct flush {
    struct pli_region_question q;
    int32_t reply;
    int member;
};

enum pli_err pli_region_flush_all(struct pli_region *r)
{
    int n_asked = 0;
    struct flush *asked = NULL;
    enum pli_err err = pli_region_flush_ucx_all(r);
    for (int i = 0; i < r->comm->size; i++) {
        if (!pli_region_is_dirty(&r->members[i])) {
            continue;
        }
        if (asked == NULL && (asked = malloc((size_t)r->comm->size * sizeof *asked)) == NULL) {
            return pli_fail(PLI_ERR_NOMEM, "no memory to flush %d members", r->comm->size);
        }
        struct flush *f = &asked[n_asked];
        f->member = i;
        enum pli_err e = begin_flush(r, i, &f->reply, &f->q);
        n_asked += e == PLI_OK;
        err = err == PLI_OK ? e : err;
    }
    for (int i = 0; i < n_asked; i++) {
        enum pli_err e = pli_region_msg_wait_answer(&asked[i].q, NULL);
        e = e == PLI_OK ? refused(asked[i].member, asked[i].reply) : e;
        err = err == PLI_OK ? e : err;
    }
    free(asked);
    atomic_thread_fence(memory_order_seq_cst);
    return err;
}

void pli_region_drain(struct pli_region *r)
{
    pli_region_msg_throttle(r, 0);
}

void pli_region_complete_local(struct pli_region *r, int member, const char *call)
{
    pli_region_msg_complete_local(r, member, call);
}

void pli_region_complete_gets(struct pli_region *r, int member, const char *call)
{
    if (atomic_exchange_explicit(&r->members[member].is_reading, false, memory_order_relaxed)) {
        pli_region_msg_complete_local(r, member, call);
    }
}

enum pli_err pli_region_fault(struct pli_region *r, int member)
{
    _Atomic int *at = &r->members[member].fault;
    return atomic_load_explicit(at, memory_order_relaxed) == PLI_OK
               ? PLI_OK
               : (enum pli_err)atomic_exchange_explicit(at, PLI_OK, memory_order_relaxed);
}

void pli_region_report(struct pli_region *r, int member, enum pli_err err)
{
    atomic_store_explicit(&r->members[member].fault, (int)err, memory_order_relaxed);
}

// A message with one block, which the data follows.
static struct pli_region_part *message(struct pli_region *r, enum pli_region_kind kind,
                                       struct pli_region_block b, size_t data)
{
    struct pli_region_part *m = pli_region_msg_new(r, kind, sizeof b + data);
    if (m != NULL) {
        pli_region_msg_blocks(m, &b, 1);
        m->msg.bytes = b.len * b.n;
    }
    return m;
}

// Send a message that is not answered, after what UCX did.
static enum pli_err send(struct pli_region *r, int to, struct pli_region_part *m, size_t len)
{
    enum pli_err err = m == NULL ? PLI_ERR_NOMEM : pli_region_flush_ucx(r, to);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    pli_region_msg_throttle(r, MANY_OUT);
    return pli_region_msg_send(m, to, len);
}

// The same for one that is answered; the answer is under way.
static enum pli_err ask_begin(struct pli_region *r, int to, struct pli_region_part *m, size_t len,
                              void *answer, size_t room, struct pli_region_question *q)
{
    enum pli_err err = m == NULL ? PLI_ERR_NOMEM : pli_region_flush_ucx(r, to);
    if (err != PLI_OK) {
        free(m);
        return err;
    }
    return pli_region_msg_ask(r, to, m, len, answer, room, q);
}

static enum pli_err ask(struct pli_region *r, int to, struct pli_region_part *m, size_t len,
                        void *answer, size_t room, size_t *len_out)
{
    struct pli_region_question q;
    enum pli_err err = ask_begin(r, to, m, len, answer, room, &q);
    return err == PLI_OK ? pli_region_msg_wait_answer(&q, len_out) : err;
}

// Begin a transfer by UCX, after all that was before it.
static enum pli_err begin_ucx(struct pli_region *r, int member, size_t at, void *mine, size_t len,
                              bool is_put, struct pli_request **out)
{
    enum pli_err err = pli_region_flush(r, member);
    struct pli_region_access *op = err == PLI_OK ? pli_region_msg_begin(r, member, true) : NULL;
    if (op == NULL) {
        return err == PLI_OK ? PLI_ERR_NOMEM : err;
    }
    return pli_region_msg_end(op, pli_region_ucx_move(op, member, at, mine, len, is_put), out);
}

// Whether a member has these bytes: all have as much as this one. The owner complains of others.
static bool is_inside(const struct pli_region *r, size_t at, size_t len)
{
    return at <= r->plan.size && len <= r->plan.size - at;
}

// Small puts are messages that are not waited for; what follows one had better be a message, too.
static bool is_for_ucx(struct pli_region *r, int member, size_t at, size_t len, bool is_put)
{
    if (!r->has_ucx ||
        (!r->is_always && len < SMALL && (is_put || pli_region_is_dirty(&r->members[member])))) {
        return false;
    }
    return is_inside(r, at, len) && pli_region_ucx_has(r, member, at, len);
}

enum pli_err pli_region_put(struct pli_region *r, int to, size_t at, const void *src, size_t len)
{
    char *near = pli_region_near(r, to);
    if (len == 0) { // src may be NULL then
        return PLI_OK;
    }
    if (near != NULL) {
        memcpy(near + at, src, len);
        return PLI_OK;
    }
    struct pli_request *req = NULL;
    enum pli_err err;
    if (is_for_ucx(r, to, at, len, true)) {
        err = begin_ucx(r, to, at, (void *)src, len, true, &req);
    } else {
        struct pli_datatype *byte = pli_region_msg_byte();
        struct pli_region_place place = { to, (int64_t)at, (MPI_Count)len, byte };
        struct pli_region_side from = { (void *)src, (MPI_Count)len, byte };
        err = pli_region_flush_ucx(r, to);
        if (err == PLI_OK) {
            err = pli_region_datatype_put_msg(r, &place, len, &from,
                                              len >= PLI_REGION_LARGE ? &req : NULL);
        }
    }
    return err == PLI_OK && req != NULL ? pli_region_msg_finish(req, NULL) : err;
}

enum pli_err pli_region_get_begin(struct pli_region *r, int from, size_t at, void *dst, size_t len,
                                  struct pli_request **out)
{
    char *near = pli_region_near(r, from);
    *out = NULL;
    if (len == 0) { // dst may be NULL then
        return PLI_OK;
    }
    if (near != NULL) {
        memcpy(dst, near + at, len);
        return PLI_OK;
    }
    if (is_for_ucx(r, from, at, len, false)) {
        return begin_ucx(r, from, at, dst, len, false, out);
    }
    struct pli_region_question q;
    struct pli_region_block b = { (int64_t)at, len, 0, 1 };
    enum pli_err err =
        ask_begin(r, from, message(r, PLI_REGION_MSG_GET, b, 0), sizeof b, dst, len, &q);
    if (err == PLI_OK) {
        *out = q.req;
    }
    return err;
}

enum pli_err pli_region_get_test(struct pli_region *r, struct pli_request *req)
{
    if (!pli_request_is_done(req)) {
        pli_progress_once(pli_region_msg_lane(r));
    }
    return pli_request_is_done(req) ? pli_region_msg_finish(req, NULL) : PLI_AGAIN;
}

enum pli_err pli_region_get_wait(struct pli_request *req)
{
    return pli_region_msg_finish(req, NULL);
}

enum pli_err pli_region_get(struct pli_region *r, int from, size_t at, void *dst, size_t len)
{
    struct pli_request *req;
    enum pli_err err = pli_region_get_begin(r, from, at, dst, len, &req);
    return err == PLI_OK && req != NULL ? pli_region_msg_finish(req, NULL) : err;
}

enum pli_err pli_region_set(struct pli_region *r, int to, size_t at, int byte, size_t len)
{
    char *near = pli_region_near(r, to);
    if (len == 0) {
        return PLI_OK;
    }
    if (near != NULL) {
        memset(near + at, byte, len);
        return PLI_OK;
    }
    struct pli_region_block b = { (int64_t)at, len, 0, 1 };
    struct pli_region_part *m = message(r, PLI_REGION_MSG_SET, b, 0);
    if (m != NULL) {
        m->msg.op = (uint8_t)byte;
    }
    return send(r, to, m, sizeof b);
}

enum pli_err pli_region_atomic(struct pli_region *r, int to, size_t at, enum pli_region_type type,
                               enum pli_region_op op, const void *a, const void *b, void *fetch)
{
    enum { OPERANDS = 16 };
    char *near = pli_region_near(r, to);
    enum pli_err err;
    if (near != NULL) {
        pli_region_type_apply(near + at, type, op, a, b, fetch);
        return PLI_OK;
    }
    // One that returns nothing is a message that is not waited for, and one after such a message
    // had better be a message, too.
    size_t size = pli_region_type_size(type);
    if (fetch != NULL && !pli_region_is_dirty(&r->members[to]) && is_inside(r, at, size) &&
        !pli_region_ucx_is_dirty(r, to) &&
        pli_region_ucx_atomic(r, to, at, type, op, a, b, fetch, &err)) {
        return err;
    }
    struct pli_region_block block = { (int64_t)at, size, 0, 1 };
    struct pli_region_part *m = message(r, PLI_REGION_MSG_WORD, block, OPERANDS);
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    m->msg.op = (uint8_t)op;
    m->msg.elem.number = (uint8_t)type;
    unsigned char *data = m->msg.data + sizeof block;
    memset(data, 0, OPERANDS);
    if (a != NULL) {
        memcpy(data, a, size);
    }
    if (b != NULL) {
        memcpy(data + OPERANDS / 2, b, size);
    }
    size_t len = sizeof block + OPERANDS;
    return fetch == NULL ? send(r, to, m, len) : ask(r, to, m, len, fetch, size, NULL);
}

static struct pli_region_part *text_message(struct pli_region *r, const void *text, size_t len)
{
    struct pli_region_part *m = pli_region_msg_new(r, PLI_REGION_MSG_ASK, len);
    if (m != NULL) {
        memcpy(m->msg.data, text, len);
    }
    return m;
}

enum pli_err pli_region_ask(struct pli_region *r, int to, const void *text, size_t len,
                            void *answer, size_t *len_out)
{
    return ask(r, to, text_message(r, text, len), len, answer, PLI_REGION_ASK, len_out);
}

enum pli_err pli_region_tell(struct pli_region *r, int to, const void *text, size_t len)
{
    if (to == r->comm->rank) {
        r->plan.on_message(r, r->plan.arg, to, 0, text, len);
        return PLI_OK;
    }
    // It is in no order with accesses: the thread that serves sends it too, beside the one that
    // accesses.
    struct pli_region_part *m = text_message(r, text, len);
    return m == NULL ? PLI_ERR_NOMEM : pli_region_msg_send(m, to, len);
}

static void pack(unsigned char *to, const char *from, size_t block, size_t n, ptrdiff_t step)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to + i * block, from + (ptrdiff_t)i * step, block);
    }
}

static void unpack(char *to, const unsigned char *from, size_t block, size_t n, ptrdiff_t step)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to + (ptrdiff_t)i * step, from + i * block, block);
    }
}

// One message of n blocks of a strided transfer, from `at` there and `mine` here.
static enum pli_err strided_piece(struct pli_region *r, int member,
                                  const struct pli_region_strided *s, size_t at, size_t n,
                                  char *mine, bool is_put)
{
    unsigned char packed[PIECE];
    size_t bytes = n * s->block;
    struct pli_region_block b = { (int64_t)at, s->block, s->step, n };
    struct pli_region_part *m =
        message(r, is_put ? PLI_REGION_MSG_PUT : PLI_REGION_MSG_GET, b, is_put ? bytes : 0);
    if (m != NULL && is_put) {
        pack(m->msg.data + sizeof b, mine, s->block, n, s->my_step);
        return send(r, member, m, sizeof b + bytes);
    }
    enum pli_err err = ask(r, member, m, sizeof b, packed, bytes, NULL);
    if (err == PLI_OK) {
        unpack(mine, packed, s->block, n, s->my_step);
    }
    return err;
}

// What is near or long goes block by block.
static enum pli_err one_block(struct pli_region *r, int member, size_t at, char *mine, size_t block,
                              bool is_put)
{
    return is_put ? pli_region_put(r, member, at, mine, block)
                  : pli_region_get(r, member, at, mine, block);
}

static enum pli_err move_strided(struct pli_region *r, int member,
                                 const struct pli_region_strided *s, char *mem, bool is_put)
{
    enum pli_err err = PLI_OK;
    bool is_packed = pli_region_near(r, member) == NULL && s->block <= PIECE / 2;
    size_t some = is_packed && s->block > 0 ? PIECE / s->block : 1;
    for (size_t i = 0; i < s->n && s->block > 0 && err == PLI_OK; i += some) {
        size_t n = s->n - i < some ? s->n - i : some, at = s->at + i * (size_t)s->step;
        char *mine = mem + (ptrdiff_t)i * s->my_step;
        err = is_packed ? strided_piece(r, member, s, at, n, mine, is_put)
                        : one_block(r, member, at, mine, s->block, is_put);
    }
    return err;
}

enum pli_err pli_region_put_strided(struct pli_region *r, int to,
                                    const struct pli_region_strided *s, const void *src)
{
    return move_strided(r, to, s, (char *)src, true);
}

enum pli_err pli_region_get_strided(struct pli_region *r, int from,
                                    const struct pli_region_strided *s, void *dst)
{
    return move_strided(r, from, s, dst, false);
}

static enum pli_err indexed_piece(struct pli_region *r, int member,
                                  const struct pli_region_block *blocks, int n, size_t bytes,
                                  char *mine, bool is_put)
{
    size_t head = (size_t)n * sizeof *blocks, len = head + (is_put ? bytes : 0);
    struct pli_region_part *m =
        pli_region_msg_new(r, is_put ? PLI_REGION_MSG_PUT : PLI_REGION_MSG_GET, len);
    if (m == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_region_msg_blocks(m, blocks, n);
    m->msg.bytes = bytes;
    if (!is_put) {
        return ask(r, member, m, len, mine, bytes, NULL);
    }
    memcpy(m->msg.data + head, mine, bytes);
    return send(r, member, m, len);
}

static enum pli_err move_indexed(struct pli_region *r, int member, const uint64_t *at, size_t n,
                                 size_t block, char *mem, bool is_put)
{
    enum pli_err err = PLI_OK;
    bool is_packed = pli_region_near(r, member) == NULL && block <= PIECE / 2;
    for (size_t i = 0, k = 1; i < n && block > 0 && err == PLI_OK; i += k) {
        struct pli_region_block blocks[PLI_REGION_N_BLOCK];
        char *mine = mem + i * block;
        int n_block = 0;
        if (!is_packed) {
            err = one_block(r, member, at[i], mine, block, is_put);
            continue;
        }
        for (k = 0;
             i + k < n && (k + 1) * block <= PIECE &&
             pli_region_block_add(blocks, &n_block, PLI_REGION_N_BLOCK, (int64_t)at[i + k], block);
             k++) {
        }
        err = indexed_piece(r, member, blocks, n_block, k * block, mine, is_put);
    }
    return err;
}

enum pli_err pli_region_put_indexed(struct pli_region *r, int to, const uint64_t *at, size_t n,
                                    size_t block, const void *src)
{
    return move_indexed(r, to, at, n, block, (char *)src, true);
}

enum pli_err pli_region_get_indexed(struct pli_region *r, int from, const uint64_t *at, size_t n,
                                    size_t block, void *dst)
{
    return move_indexed(r, from, at, n, block, dst, false);
}
