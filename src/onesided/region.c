// SPDX-License-Identifier: BSD-3-Clause
// The asking side: mapped members by load and store, others by messages.
#include "onesided/region_priv.h"

#include "msg/endpoint.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

enum pli_err pli_region_create(const struct pli_region_plan *plan, struct pli_region **out)
{
    size_t n = (size_t)plan->comm->size;
    struct pli_region *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->comm = pli_comm_retain(plan->comm);
        r->near = malloc(n * sizeof *r->near);
        r->marks = calloc(n, sizeof *r->marks);
        r->size = plan->size;
        r->gap = plan->gap;
        r->answer = plan->answer;
        r->arg = plan->arg;
    }
    if (r == NULL || r->near == NULL || r->marks == NULL) {
        pli_region_destroy(r);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a region of %zu members", n);
    }
    for (size_t i = 0; i < n; i++) {
        r->near[i] = plan->near[i];
        r->has_far = r->has_far || plan->near[i] == NULL;
    }
    enum pli_err err = PLI_OK;
    if (r->has_far || r->answer != NULL) {
        r->in = malloc(sizeof *r->in);
        r->out = malloc(sizeof *r->out);
        err = r->in == NULL || r->out == NULL
                  ? pli_fail(PLI_ERR_NOMEM, "no memory to serve a region")
                  : pli_region_serve(r);
    }
    if (err == PLI_OK && r->has_far) {
        err = pli_region_ucx_open(r);
    }
    if (err == PLI_OK && r->has_far && pli_progress_thread_serves(false)) {
        r->has_thread = true;
        pli_progress_thread_retain();
    }
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
    if (r->has_thread) {
        pli_progress_thread_release();
    }
    r->is_over = true;
    if (r->is_serving && r->is_waiting) {
        r->recv.r.ops->cancel(&r->recv.r);
    }
    pli_region_ucx_close(r);
    if (r->comm != NULL) {
        pli_comm_release(r->comm);
    }
    free(r->near);
    free(r->marks);
    free(r->in);
    free(r->out);
    free(r);
}

bool pli_region_is_lent(const struct pli_region *r)
{
    return r->ways != NULL;
}

char *pli_region_near(const struct pli_region *r, int member)
{
    return r->near[member];
}

// The data is not cleared: it is long.
static void begin(struct pli_region_msg *m, enum pli_region_kind kind)
{
    memset(m, 0, PLI_REGION_HEAD);
    m->kind = (uint8_t)kind;
}

static enum pli_err message(struct pli_region *r, int to, const struct pli_region_msg *m,
                            size_t data)
{
    return pli_p2p_send_on(m, (MPI_Count)(PLI_REGION_HEAD + data), pli_datatype_basic(MPI_BYTE), to,
                           PLI_REGION_TAG_ASK, r->comm, PLI_CHAN_P2P, 0);
}

// Send a message and the data behind its header, which is in the message already.
static enum pli_err post(struct pli_region *r, int to, const struct pli_region_msg *m, size_t data)
{
    enum pli_err err = pli_region_ucx_settle(r, to);
    return err != PLI_OK ? err : message(r, to, m, data);
}

// The same for one that is not answered.
static enum pli_err send(struct pli_region *r, int to, const struct pli_region_msg *m, size_t data)
{
    r->marks[to].sent++;
    return post(r, to, m, data);
}

static uint32_t new_tag(struct pli_region *r)
{
    r->next_tag = r->next_tag % (PLI_REGION_TAG_DATA - 1) + PLI_REGION_TAG_FIRST;
    return r->next_tag;
}

// Send a message and begin to receive its answer.
static enum pli_err ask_begin(struct pli_region *r, int to, struct pli_region_msg *m, size_t data,
                              void *answer, size_t room, struct pli_request **out)
{
    static char nowhere;
    m->tag = new_tag(r);
    enum pli_err err =
        pli_p2p_irecv_on(room == 0 ? &nowhere : answer, (MPI_Count)room,
                         pli_datatype_basic(MPI_BYTE), to, (int)m->tag, r->comm, PLI_CHAN_P2P, out);
    if (err == PLI_OK) {
        err = post(r, to, m, data);
        if (err != PLI_OK) {
            (*out)->ops->cancel(*out);
            pli_request_forget(*out);
        }
    }
    return err;
}

enum pli_err pli_region_finish(struct pli_request *req, size_t *len_out)
{
    MPI_Status status;
    bool is_gone;
    pli_progress_wait(req);
    size_t len = req->bytes;
    enum pli_err err = pli_request_report(req, &status, &is_gone);
    if (err == PLI_OK && len_out != NULL) {
        *len_out = len;
    }
    return err;
}

static enum pli_err ask(struct pli_region *r, int to, struct pli_region_msg *m, size_t data,
                        void *answer, size_t room, size_t *len_out)
{
    struct pli_request *req;
    uint64_t sent = r->marks[to].sent; // more may be told while we wait
    enum pli_err err = ask_begin(r, to, m, data, answer, room, &req);
    err = err == PLI_OK ? pli_region_finish(req, len_out) : err;
    if (err == PLI_OK) {
        r->marks[to].sure = sent; // they are dealt with in order
    }
    return err;
}

enum pli_err pli_region_ask_key(struct pli_region *r, int to, size_t at, struct pli_region_key *key,
                                size_t *len_out)
{
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_KEY);
    m.at = at;
    return ask(r, to, &m, 0, key, sizeof *key, len_out);
}

// From this memory into that of the owner, who receives it there.
static enum pli_err put_large(struct pli_region *r, int to, size_t at, const char *src, size_t len)
{
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_TAKE);
    m.at = at;
    m.block = len;
    m.tag = PLI_REGION_TAG_DATA + new_tag(r);
    enum pli_err err = send(r, to, &m, 0);
    return err != PLI_OK ? err
                         : pli_p2p_send_on(src, (MPI_Count)len, pli_datatype_basic(MPI_BYTE), to,
                                           (int)m.tag, r->comm, PLI_CHAN_P2P, 0);
}

static enum pli_err put_messages(struct pli_region *r, int to, size_t at, const char *src,
                                 size_t len)
{
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_PUT);
    enum pli_err err = PLI_OK;
    for (size_t done = 0; done < len && err == PLI_OK; done += PLI_REGION_PIECE) {
        size_t n = len - done < PLI_REGION_PIECE ? len - done : PLI_REGION_PIECE;
        m.at = at + done;
        memcpy(m.data, src + done, n);
        err = send(r, to, &m, n);
    }
    return err;
}

// As much as goes by UCX in one piece; all that is left in *len_io: it takes messages.
static enum pli_err move_ucx(struct pli_region *r, int member, size_t *at_io, char **mine_io,
                             size_t *len_io, bool is_put)
{
    enum pli_err err = PLI_OK;
    size_t n;
    while (err == PLI_OK && *len_io > 0 &&
           (n = pli_region_ucx_span(r, member, *at_io, *len_io, is_put)) > 0) {
        struct pli_request *req;
        err = pli_region_ucx_begin(r, member, *at_io, *mine_io, n, is_put, &req);
        err = err == PLI_OK ? pli_region_finish(req, NULL) : err;
        *at_io += n;
        *mine_io += n;
        *len_io -= n;
    }
    return err;
}

enum pli_err pli_region_put(struct pli_region *r, int to, size_t at, const void *src, size_t len)
{
    if (len == 0) { // src may be NULL then
        return PLI_OK;
    }
    if (r->near[to] != NULL) {
        memcpy(r->near[to] + at, src, len);
        return PLI_OK;
    }
    char *mine = (char *)src;
    enum pli_err err = move_ucx(r, to, &at, &mine, &len, true);
    if (err != PLI_OK || len == 0) {
        return err;
    }
    return len < PLI_REGION_LARGE ? put_messages(r, to, at, mine, len)
                                  : put_large(r, to, at, mine, len);
}

enum pli_err pli_region_get_begin(struct pli_region *r, int from, size_t at, void *dst, size_t len,
                                  struct pli_request **out)
{
    *out = NULL;
    if (r->near[from] != NULL) {
        if (len > 0) { // dst may be NULL otherwise
            memcpy(dst, r->near[from] + at, len);
        }
        return PLI_OK;
    }
    if (len == 0) {
        return PLI_OK;
    }
    if (pli_region_ucx_span(r, from, at, len, false) == len) {
        return pli_region_ucx_begin(r, from, at, dst, len, false, out);
    }
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_GET);
    m.at = at;
    m.block = len;
    return ask_begin(r, from, &m, 0, dst, len, out);
}

bool pli_region_get_test(struct pli_region *r, struct pli_request *req)
{
    if (!pli_request_is_done(req)) {
        pli_progress_once(r->comm->ep->lane);
    }
    return pli_request_is_done(req) && pli_region_finish(req, NULL) == PLI_OK;
}

enum pli_err pli_region_get_wait(struct pli_request *req)
{
    return pli_region_finish(req, NULL);
}

enum pli_err pli_region_get(struct pli_region *r, int from, size_t at, void *dst, size_t len)
{
    struct pli_request *req = NULL;
    char *mine = dst;
    enum pli_err err = r->near[from] == NULL ? move_ucx(r, from, &at, &mine, &len, false) : PLI_OK;
    if (err == PLI_OK) {
        err = pli_region_get_begin(r, from, at, mine, len, &req);
    }
    return err == PLI_OK && req != NULL ? pli_region_finish(req, NULL) : err;
}

enum pli_err pli_region_set(struct pli_region *r, int to, size_t at, int byte, size_t len)
{
    if (r->near[to] != NULL) {
        memset(r->near[to] + at, byte, len);
        return PLI_OK;
    }
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_SET);
    m.at = at;
    m.block = len;
    m.byte = (uint8_t)byte;
    return len == 0 ? PLI_OK : send(r, to, &m, 0);
}

enum pli_err pli_region_atomic(struct pli_region *r, int to, size_t at, enum pli_region_type type,
                               enum pli_region_op op, const void *a, const void *b, void *fetch)
{
    if (r->near[to] != NULL) {
        pli_region_type_apply(r->near[to] + at, type, op, a, b, fetch);
        return PLI_OK;
    }
    enum pli_err err;
    if (pli_region_ucx_atomic(r, to, at, type, op, a, b, fetch, &err)) {
        return err;
    }
    size_t size = pli_region_type_size(type);
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_ATOMIC);
    m.at = at;
    m.type = (uint8_t)type;
    m.op = (uint8_t)op;
    memset(m.data, 0, 16);
    if (a != NULL) {
        memcpy(m.data, a, size);
    }
    if (b != NULL) {
        memcpy(m.data + 8, b, size);
    }
    return fetch == NULL ? send(r, to, &m, 16) : ask(r, to, &m, 16, fetch, size, NULL);
}

enum pli_err pli_region_flush(struct pli_region *r, int to)
{
    if (!pli_region_is_dirty(r, to)) {
        return pli_region_ucx_settle(r, to);
    }
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_FLUSH);
    return ask(r, to, &m, 0, NULL, 0, NULL);
}

enum pli_err pli_region_flush_all(struct pli_region *r)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; r->has_far && i < r->comm->size && err == PLI_OK; i++) {
        err = pli_region_flush(r, i);
    }
    atomic_thread_fence(memory_order_seq_cst);
    return err;
}

enum pli_err pli_region_ask(struct pli_region *r, int to, const void *text, size_t len,
                            void *answer, size_t *len_out)
{
    if (to == r->comm->rank) {
        *len_out = r->answer(r->arg, to, text, len, answer);
        return PLI_OK;
    }
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_ASK);
    memcpy(m.data, text, len);
    return ask(r, to, &m, len, answer, PLI_REGION_ASK, len_out);
}

enum pli_err pli_region_tell(struct pli_region *r, int to, const void *text, size_t len)
{
    if (to == r->comm->rank) {
        unsigned char nothing[PLI_REGION_ASK];
        r->answer(r->arg, to, text, len, nothing);
        return PLI_OK;
    }
    struct pli_region_msg m;
    begin(&m, PLI_REGION_MSG_ASK);
    memcpy(m.data, text, len);
    // Nobody flushes it, and the thread that serves says it too, beside the one that accesses.
    return message(r, to, &m, len);
}

// Packed pieces of many blocks: as many as fit a message.
static size_t blocks_in_piece(size_t block, size_t extra)
{
    size_t n = PLI_REGION_PIECE / (block + extra);
    return n == 0 ? 1 : n;
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
    unsigned char packed[PLI_REGION_PIECE];
    struct pli_region_msg m;
    begin(&m, is_put ? PLI_REGION_MSG_PUT_STRIDED : PLI_REGION_MSG_GET_STRIDED);
    m.at = at;
    m.block = s->block;
    m.n = n;
    m.step = s->step;
    if (is_put) {
        pack(m.data, mine, s->block, n, s->my_step);
        return send(r, member, &m, n * s->block);
    }
    enum pli_err err = ask(r, member, &m, 0, packed, sizeof packed, NULL);
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
    bool is_packed = r->near[member] == NULL && s->block <= PLI_REGION_PIECE / 2;
    size_t some = is_packed && s->block > 0 ? blocks_in_piece(s->block, 0) : 1;
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

static enum pli_err indexed_piece(struct pli_region *r, int member, const uint64_t *at, size_t n,
                                  size_t block, char *mine, bool is_put)
{
    struct pli_region_msg m;
    size_t index = n * sizeof *at;
    begin(&m, is_put ? PLI_REGION_MSG_PUT_INDEXED : PLI_REGION_MSG_GET_INDEXED);
    m.block = block;
    m.n = n;
    memcpy(m.data, at, index);
    if (!is_put) {
        return ask(r, member, &m, index, mine, n * block, NULL);
    }
    memcpy(m.data + index, mine, n * block);
    return send(r, member, &m, index + n * block);
}

static enum pli_err move_indexed(struct pli_region *r, int member, const uint64_t *at, size_t n,
                                 size_t block, char *mem, bool is_put)
{
    enum pli_err err = PLI_OK;
    bool is_packed = r->near[member] == NULL && block <= PLI_REGION_PIECE / 2;
    size_t some = is_packed ? blocks_in_piece(block, sizeof *at) : 1;
    for (size_t i = 0; i < n && block > 0 && err == PLI_OK; i += some) {
        size_t k = n - i < some ? n - i : some;
        char *mine = mem + i * block;
        err = is_packed ? indexed_piece(r, member, at + i, k, block, mine, is_put)
                        : one_block(r, member, at[i], mine, block, is_put);
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
