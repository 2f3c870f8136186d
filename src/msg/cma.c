// SPDX-License-Identifier: BSD-3-Clause
// Copies large messages once, from buffer to buffer, through the kernel.
// Where a piece cannot be copied (a buffer that the kernel does not reach, a process that is gone)
// the whole message goes through blocks instead, where a bad buffer is found by its own process.
#include "msg/cma.h"

#include "base/clock.h"
#include "base/conf.h"
#include "msg/copy_select.h"
#include "msg/copy_job.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/request.h"
#include "net/shm/other_job.h"
#include "net/shm/peer_memory.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    WORTH = 4097,       // below it blocks are faster everywhere
    HELP_WORTH = 65536, // from here on the sender's core may help. bench: lat
    BOTH_WORTH = 65536, // from here on data that goes both ways is a case of its own
    BOTH_STAYS = 64,    // messages: the other side may have read its window before this one has
    MANY_WORTH = 65536, // below it a buffer that several ranks get is not read by them
    COLL_READ = 131072, // between these a collective that also sends reads alone
    COLL_READ_END = 1 << 20, // and below that a root does not
    ROOT_READ_END = 1 << 19, // below it what comes from a root is read
    CHUNK_MIN = 32768,       // of a common copy
    CHUNK_MAX = 262144,
    STEP = 1 << 20,   // what one system call copies at most
    PIECE_MIN = 1024, // mean piece of a layout with holes. bench: strided
};

enum { MAY_READ = 1, MAY_NOT_READ = 2 };

// Whether memory of the process at the other end may be read: tried at the first call, and again
// after a while, because it may have ended and another one have its number.
static bool may_read(struct pli_conn *c, uint64_t now_ns)
{
    if (c->memory == MAY_READ && now_ns - c->memory_ns > PLI_PEER_MEMORY_HOLDS_NS) {
        c->memory = pli_peer_memory_is_owner(c->shm.box) ? MAY_READ : MAY_NOT_READ;
        c->memory_ns = now_ns;
    } else if (c->memory == 0) {
        bool may = pli_conf.onecopy[0] != 'o' && pli_peer_memory_probe(c->shm.box);
        c->memory = may ? MAY_READ : MAY_NOT_READ;
        c->memory_ns = now_ns;
    }
    return c->memory == MAY_READ;
}

// The pieces of a layout with holes, if they are few and large; NULL: they are not.
static struct iovec *pieces_of(const struct pli_request *send, int *n_out)
{
    struct iovec at[PLI_PEER_MEMORY_PIECES];
    struct pli_cursor c;
    pli_cursor_init(&c, send->buf, send->count, send->type);
    uint64_t len = pli_cursor_iov(&c, at, PLI_PEER_MEMORY_PIECES, send->size, n_out);
    if (len < send->size || send->size / (uint64_t)*n_out < PIECE_MIN) {
        return NULL;
    }
    struct iovec *pieces = malloc((size_t)*n_out * sizeof *pieces);
    if (pieces != NULL) {
        memcpy(pieces, at, (size_t)*n_out * sizeof *pieces);
    }
    return pieces;
}

// A collective sends the same buffer to several ranks: those that read it at the same time are in
// each other's way at its pages. They are few where ranks share cores.
static bool is_offered(const struct pli_request *send)
{
    static const void *last[PLI_NODE_N_LANE];
    const void **at = &last[send->lane->index];
    bool is = !pli_lane_is_oversubscribed() && send->lane->n_offer > 0 && *at == send->buf &&
              send->size < MANY_WORTH && (send->item.context & 3) == PLI_CHAN_COLL;
    *at = send->buf;
    return is;
}

// Whether one rank gives to several others, or takes from them, and is to copy as little as can be:
// they copy at the same time, and it could not. Where every rank has a core whoever waits helps,
// chunk by chunk; where ranks share cores it may not run just then.
static bool is_rooted(const struct pli_request *r)
{
    return (r->flags & PLI_REQ_ROOTED) != 0 && pli_lane_is_oversubscribed();
}

// Jobs that outlive failures withdraw sends while a receiver may be reading: theirs go in blocks.
void pli_cma_offer(struct pli_request *send, struct pli_shm_cell *cell)
{
    cell->word[1] = cell->word[2] = 0;
    if (pli_conf.onecopy[0] == 'o' || pli_request_may_be_withdrawn ||
        pli_lane_is_within(send->lane, send->conn) ||
        (pli_conf.onecopy[0] != 'c' && (send->size < WORTH || is_offered(send) ||
                                        (is_rooted(send) && send->size < COLL_READ_END)))) {
        return;
    }
    send->state |= PLI_REQ_OFFERED;
    send->lane->n_offer++;
    if (pli_datatype_is_run(send->type, send->count)) {
        cell->word[1] = (uint64_t)(uintptr_t)send->buf + (uint64_t)send->type->true_lb;
        cell->word[2] = 1;
        return;
    }
    int n = 0;
    send->pieces = pieces_of(send, &n);
    bool is_one = send->pieces != NULL && n == 1; // the receiver asks for no list then
    cell->word[1] = (uint64_t)(uintptr_t)(is_one ? send->pieces[0].iov_base : send->pieces);
    cell->word[2] = (uint64_t)n;
}

// Cut `len` bytes off the front of a list of pieces; how many pieces they are.
static int cut(struct iovec *from, int *at, struct iovec *out, size_t len)
{
    int n = 0;
    while (len > 0) {
        struct iovec *p = &from[*at];
        size_t k = p->iov_len < len ? p->iov_len : len;
        out[n++] = (struct iovec){ p->iov_base, k };
        p->iov_base = (char *)p->iov_base + k;
        p->iov_len -= k;
        len -= k;
        *at += p->iov_len == 0;
    }
    return n;
}

// Read all of the message alone. Any layout on both sides.
static bool read_all(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                     struct iovec *list)
{
    struct pli_cursor c;
    struct iovec to[PLI_PEER_MEMORY_PIECES], part[PLI_PEER_MEMORY_PIECES];
    pli_cursor_init(&c, recv->buf, recv->count, recv->type);
    int at = 0;
    for (uint64_t done = 0; done < want;) {
        int n;
        uint64_t step = want - done < STEP ? want - done : STEP;
        uint64_t len = pli_cursor_iov(&c, to, PLI_PEER_MEMORY_PIECES, step, &n);
        if (len == 0 || (n > 1 && len / (uint64_t)n < PIECE_MIN)) {
            return false;
        }
        int m = cut(list, &at, part, len);
        if (!pli_peer_memory_read(from->shm.box, to, n, part, m, len) ||
            (want > STEP && !may_read(from, pli_clock_ns()))) {
            return false;
        }
        done += len;
    }
    return true;
}

// Which end of a common copy this side begins at.
static bool is_back(const struct pli_lane *lane, const struct pli_conn *other)
{
    return (lane->proc << 3 | (uint64_t)lane->index) > other->key;
}

static void release(struct pli_shm_block *block)
{
    if (pli_copy_job_release(pli_shm_block_data(block))) {
        pli_shm_block_done(block);
    }
}

static uint32_t chunk_for(uint64_t size)
{
    uint64_t chunk = size / 16 & ~(uint64_t)4095;
    return (uint32_t)(chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk);
}

// What each side begins with: three eighths, so that a sender that comes late has something to do.
static uint64_t first_for(uint64_t size)
{
    uint64_t first = size / 8 * 3 & ~(uint64_t)4095;
    return first < CHUNK_MIN ? CHUNK_MIN : first > STEP ? STEP : first;
}

// The outcome of a common copy for the side that takes no more chunks.
static enum pli_cma_result result_of(struct pli_copy_job *j, uint32_t mine)
{
    if (!pli_copy_job_end(j, mine)) {
        return PLI_CMA_UNDER_WAY;
    }
    bool is_failed = atomic_load_explicit(&j->is_failed, memory_order_relaxed) != 0;
    return is_failed ? PLI_CMA_FAILED : PLI_CMA_DONE;
}

// Read the message with whatever help the sender gives. False: nothing was begun.
static bool read_together(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                          uint64_t address, enum pli_cma_result *out)
{
    struct pli_shm_block *block = pli_shm_block_take(&recv->lane->shm, sizeof(struct pli_copy_job));
    if (block == NULL) {
        return false;
    }
    struct pli_copy_job *j = pli_shm_block_data(block);
    pli_copy_job_init(j, address, (uint64_t)(uintptr_t)recv->buf + (uint64_t)recv->type->true_lb,
                      want, first_for(want), chunk_for(want), (uint64_t)(uintptr_t)recv);
    pli_lane_note(from, PLI_MSG_HELP_WRITE, recv->remote,
                  pli_shm_block_offset(&recv->lane->shm, block) | from->mark, 0);
    uint32_t mine = 0;
    uint64_t at, len;
    for (; pli_copy_job_take(j, is_back(recv->lane, from), &at, &len); mine++) {
        struct iovec to = { (void *)(uintptr_t)(j->dst + at), len };
        struct iovec source = { (void *)(uintptr_t)(j->src + at), len };
        if (!may_read(from, pli_clock_ns()) ||
            !pli_peer_memory_read(from->shm.box, &to, 1, &source, 1, len)) {
            atomic_store_explicit(&j->is_failed, 1, memory_order_relaxed);
        }
    }
    *out = result_of(j, mine);
    release(block);
    return true;
}

// Read the list of pieces of an offer. False: it cannot be read.
static bool fetch_list(struct pli_conn *from, uint64_t want, uint64_t address, uint32_t n_piece,
                       struct iovec *list)
{
    if (n_piece == 1) {
        list[0] = (struct iovec){ (void *)(uintptr_t)address, want };
        return true;
    }
    size_t len = n_piece * sizeof list[0];
    struct iovec to = { list, len }, source = { (void *)(uintptr_t)address, len };
    return pli_peer_memory_read(from->shm.box, &to, 1, &source, 1, len);
}

static bool is_coll(const struct pli_request *recv)
{
    return (recv->item.context & 3) == PLI_CHAN_COLL;
}

// A nonblocking receive that finds its message on a lane that sends as well is read when the
// program waits: the sends that come next are wanted first, else the other side, which is ahead,
// would have nothing to copy until this one has copied all that it posts receives for.
static bool is_read_late(const struct pli_request *recv, uint64_t want)
{
    const struct pli_lane *lane = recv->lane;
    return lane->is_posting && lane->both_left > 0 && want >= BOTH_WORTH && !is_coll(recv);
}

// Whether the lane sends as well, so that this core copies in any case. In collectives many ranks
// do, and are fast only when all go the same way: they do not try ways.
static bool choose_both(const struct pli_request *recv, uint64_t want, enum pli_copy_way *out)
{
    struct pli_lane *lane = recv->lane;
    if (want < BOTH_WORTH) {
        return false;
    }
    if (is_coll(recv)) {
        *out = PLI_COPY_READ;
        return lane->n_offer > 0 && want >= COLL_READ && want < COLL_READ_END;
    }
    bool is_both = lane->n_offer > 0 || lane->both_left > 0;
    if (is_both) {
        *out = pli_copy_select_both(lane, want);
    }
    lane->both_left = lane->n_offer > 0 ? BOTH_STAYS : (uint8_t)(lane->both_left - is_both);
    return is_both;
}

// The way for a message that may be read.
static enum pli_copy_way choose(struct pli_request *recv, uint64_t want, bool is_dense,
                                uint64_t now)
{
    bool has_help = is_dense && want >= HELP_WORTH && !pli_lane_is_oversubscribed();
    int n_way = has_help ? PLI_N_COPY_WAY : PLI_COPY_TOGETHER;
    if (pli_conf.onecopy[0] == 'c') {
        return (enum pli_copy_way)(n_way - 1);
    }
    enum pli_copy_way way;
    if (is_dense && choose_both(recv, want, &way)) {
        return way;
    }
    if (is_rooted(recv) && want < ROOT_READ_END) {
        return PLI_COPY_READ;
    }
    way = pli_copy_select_take(recv->lane, want, n_way);
    if (is_dense) {
        pli_copy_select_begin(recv, way, now);
    }
    return way;
}

enum pli_cma_result pli_cma_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                                   uint64_t address, uint32_t n_piece)
{
    uint64_t now = address != 0 ? pli_clock_ns() : 0;
    if (address == 0 || want == 0 || n_piece > PLI_PEER_MEMORY_PIECES || !may_read(from, now)) {
        return PLI_CMA_FAILED;
    }
    bool is_dense = n_piece == 1 && recv->type->is_dense;
    if (is_dense && is_read_late(recv, want)) {
        return PLI_CMA_LATER;
    }
    enum pli_copy_way way = choose(recv, want, is_dense, now);
    enum pli_cma_result result;
    if (way == PLI_COPY_BLOCKS) {
        return PLI_CMA_FAILED;
    }
    if (way == PLI_COPY_TOGETHER && read_together(recv, from, want, address, &result)) {
        return result;
    }
    struct iovec list[PLI_PEER_MEMORY_PIECES];
    bool is_read =
        fetch_list(from, want, address, n_piece, list) && read_all(recv, from, want, list);
    if (is_read && is_dense && recv->lane->n_offer > 0) {
        pli_copy_select_work(recv->lane, PLI_COPY_WORK_READ, want, want, pli_clock_ns() - now);
    }
    return is_read ? PLI_CMA_DONE : PLI_CMA_FAILED;
}

enum pli_cma_result pli_cma_help(struct pli_lane *lane, struct pli_conn *to, uint64_t where,
                                 uint64_t *recv_out)
{
    struct pli_shm_block *block = pli_other_job_block(lane->shm.base, where);
    struct pli_copy_job *j = pli_shm_block_data(block);
    uint32_t mine = 0;
    uint64_t at, len;
    while (may_read(to, pli_clock_ns()) && pli_copy_job_take(j, is_back(lane, to), &at, &len)) {
        mine++;
        if (!pli_peer_memory_write(to->shm.box, j->dst + at, (const char *)(uintptr_t)(j->src + at),
                                   len)) {
            atomic_store_explicit(&j->is_failed, 1, memory_order_relaxed);
        }
    }
    *recv_out = j->recv;
    enum pli_cma_result result = result_of(j, mine);
    release(block);
    return result;
}
