// SPDX-License-Identifier: BSD-3-Clause
// Runs schedules.
#include "coll/sched.h"

#include "coll/sched_mem.h"
#include "core/alarm.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/p2p.h"
#include "core/progress.h"
#include "core/request.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"
#include "obj/status.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { K_SEND, K_RECV, K_COPY, K_REDUCE, K_WAIT, K_FENCE };

enum { FEW_STEPS = 8, FEW_CHILDREN = 4, INLINE_ROOM = 256, LEAN_STEPS = 5 };

struct step {
    enum kind kind;
    int peer, tag;
    int child; // place among the children; K_WAIT: of the step waited for
    union {
        struct pli_comm *comm; // of what talks
        struct pli_op *op;     // K_REDUCE
    };
    const void *in;
    void *out;
    MPI_Count n_in, n_out;
    struct pli_datatype *in_type, *out_type;
};

struct child {
    struct pli_request_child c; // first
    struct pli_sched *sched;
};

// Memory handed out by pli_sched_bytes.
struct scrap {
    struct scrap *next;
    _Alignas(64) unsigned char data[];
};

struct pli_sched {
    struct pli_task task; // in the lane's list when a wait is over
    enum pli_coll_kind kind;
    const char *name;
    bool is_persistent;
    bool is_lean;        // its memory is of sched_mem.h, and others' is where its arrays would be
    bool has_ghost;      // a child's memory must stay, see PLI_REQ_GHOST
    bool is_span;        // of a communicator that spans MPI jobs
    bool is_doomed;      // it failed for good: what is left is not begun
    const int *among;    // building: who the peers are
    struct pli_comm *on; // building: where steps talk, and under which tag
    int tag;
    struct step *steps;
    int n_step, cap;
    struct child *children;
    int n_child;      // since the last fence: behind it they are used again
    int n_child_most; // at a time
    struct scrap *scraps;
    enum pli_err build_err;
    // Running. The request tells the end; the runner is one thread at a time.
    struct pli_request *req;
    struct pli_lane *lane;
    int at;             // next step
    _Atomic int n_open; // children begun and not done
    int waits_for;      // child, or one of the two below; guarded by the lane's lock
    enum pli_err err;   // first failure; guarded by the lane's lock
    uint64_t got, want; // bytes, for the sentence of a wrong size
    int from;
    // Room for what most operations need: a schedule of a few steps is one piece of memory.
    // bench: tcp_allreduce size=8.
    size_t n_inline; // bytes of `room` that were handed out
    struct step few_steps[FEW_STEPS];
    struct child few_children[FEW_CHILDREN];
    unsigned char room[INLINE_ROOM];
};

enum { FOR_NONE = -1, FOR_ALL = -2, TAGS = 0x40000000, SPAN_FIRST = 2048 };

static void *take(const struct pli_sched *s, size_t size)
{
    return s->is_lean ? pli_sched_mem_take(size, _Alignof(max_align_t)) : malloc(size);
}

static void give(const struct pli_sched *s, void *p)
{
    if (s->is_lean) {
        pli_sched_mem_give(p);
    } else {
        free(p);
    }
}

enum pli_err pli_sched_create(enum pli_coll_kind kind, enum pli_sched_use use,
                              struct pli_sched **out)
{
    const size_t head = offsetof(struct pli_sched, few_steps);
    bool is_lean = use == PLI_SCHED_MANY;
    struct pli_sched *s =
        is_lean ? pli_sched_mem_take(head, _Alignof(struct pli_sched)) : malloc(sizeof *s);
    if (s == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a collective operation");
    }
    memset(s, 0, head);
    s->is_lean = is_lean;
    s->steps = is_lean ? NULL : s->few_steps;
    s->cap = is_lean ? 0 : FEW_STEPS;
    s->n_inline = is_lean ? INLINE_ROOM : 0;
    s->kind = kind;
    s->name = pli_coll_args_name(kind);
    s->is_persistent = use == PLI_SCHED_PERSISTENT;
    s->waits_for = FOR_NONE;
    *out = s;
    return PLI_OK;
}

// Children that other processes may still name stay for ever.
static void keep_ghosts(struct pli_sched *s)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static struct pli_sched *kept;
    pthread_mutex_lock(&guard);
    s->task.link.next = (struct pli_list *)kept;
    kept = s;
    pthread_mutex_unlock(&guard);
}

void pli_sched_destroy(struct pli_sched *s)
{
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < s->n_step; i++) {
        pli_datatype_release(s->steps[i].in_type);
        pli_datatype_release(s->steps[i].out_type);
        if (s->steps[i].kind == K_REDUCE && s->steps[i].op != NULL) {
            pli_op_release(s->steps[i].op);
        }
    }
    while (s->scraps != NULL) {
        struct scrap *next = s->scraps->next;
        give(s, s->scraps);
        s->scraps = next;
    }
    if (s->is_lean || s->steps != s->few_steps) {
        give(s, s->steps);
    }
    if (s->has_ghost) {
        keep_ghosts(s);
        return;
    }
    if (s->is_lean || s->children != s->few_children) {
        give(s, s->children);
    }
    give(s, s);
}

void pli_sched_on(struct pli_sched *s, struct pli_comm *comm)
{
    // Half of the tags for each kind: a persistent operation keeps its own for long.
    s->on = comm;
    s->is_span = s->is_span || comm->is_span;
    uint32_t first = comm->is_span ? SPAN_FIRST : 0; // below are those that IMPI gives
    s->tag = s->is_persistent ? (int)(comm->n_coll_init++ % TAGS + TAGS)
                              : (int)(first + comm->n_coll++ % (TAGS - first));
}

void pli_sched_pass(struct pli_comm *comm)
{
    comm->n_coll++;
}

void pli_sched_among(struct pli_sched *s, const int *ranks)
{
    s->among = ranks;
}

int pli_sched_tag(const struct pli_sched *s)
{
    return s->tag;
}

void pli_sched_back(struct pli_sched *s, struct pli_comm *comm, int tag)
{
    s->on = comm;
    s->tag = tag;
}

bool pli_sched_ok(const struct pli_sched *s)
{
    return s->build_err == PLI_OK;
}

static void out_of_memory(struct pli_sched *s)
{
    if (s->build_err == PLI_OK) {
        s->build_err = pli_fail(PLI_ERR_NOMEM, "no memory for the steps of %s", s->name);
    }
}

void pli_sched_lack(struct pli_sched *s)
{
    out_of_memory(s);
}

// More room for steps. False: no memory.
static bool grow(struct pli_sched *s)
{
    int cap = s->cap == 0 ? LEAN_STEPS : s->cap * 2;
    struct step *more = take(s, (size_t)cap * sizeof *more);
    if (more == NULL) {
        out_of_memory(s);
        return false;
    }
    if (s->n_step > 0) {
        memcpy(more, s->steps, (size_t)s->n_step * sizeof *more);
    }
    if (s->is_lean || s->steps != s->few_steps) {
        give(s, s->steps);
    }
    s->steps = more;
    s->cap = cap;
    return true;
}

// The next step; a place to write to even when there is no memory for it.
static struct step *add(struct pli_sched *s, enum kind kind)
{
    static _Thread_local struct step nowhere;
    if (s->n_step == s->cap && !grow(s)) {
        return &nowhere;
    }
    struct step *p = &s->steps[s->n_step++];
    *p = (struct step){ .kind = kind, .child = FOR_NONE };
    return p;
}

// A step that found no memory is never given back: it must keep nothing.
static struct pli_datatype *keep(const struct pli_sched *s, struct pli_datatype *type)
{
    return s->build_err == PLI_OK ? pli_datatype_retain(type) : NULL;
}

static struct step *add_talk(struct pli_sched *s, enum kind kind, int peer, MPI_Count count,
                             struct pli_datatype *type)
{
    struct step *p = add(s, kind);
    p->peer = s->among != NULL ? s->among[peer] : peer;
    p->comm = s->on;
    p->tag = s->tag;
    p->n_in = count;
    p->in_type = keep(s, type);
    p->child = s->n_child++;
    s->n_child_most = s->n_child > s->n_child_most ? s->n_child : s->n_child_most;
    return p;
}

int pli_sched_send(struct pli_sched *s, const void *buf, MPI_Count count, struct pli_datatype *type,
                   int dest)
{
    if (dest == MPI_PROC_NULL) {
        return FOR_NONE;
    }
    struct step *p = add_talk(s, K_SEND, dest, count, type);
    p->in = buf;
    return p->child;
}

int pli_sched_recv(struct pli_sched *s, void *buf, MPI_Count count, struct pli_datatype *type,
                   int source)
{
    if (source == MPI_PROC_NULL) {
        return FOR_NONE;
    }
    struct step *p = add_talk(s, K_RECV, source, count, type);
    p->out = buf;
    return p->child;
}

void pli_sched_copy(struct pli_sched *s, const void *src, MPI_Count n_src,
                    struct pli_datatype *src_type, void *dst, MPI_Count n_dst,
                    struct pli_datatype *dst_type)
{
    struct step *p = add(s, K_COPY);
    p->in = src;
    p->n_in = n_src;
    p->in_type = keep(s, src_type);
    p->out = dst;
    p->n_out = n_dst;
    p->out_type = keep(s, dst_type);
}

void pli_sched_reduce(struct pli_sched *s, const void *in, void *inout, MPI_Count count,
                      struct pli_datatype *type, struct pli_op *op)
{
    struct step *p = add(s, K_REDUCE);
    p->in = in;
    p->out = inout;
    p->n_in = count;
    p->in_type = keep(s, type);
    p->op = s->build_err == PLI_OK ? pli_op_retain(op) : NULL;
}

void pli_sched_wait(struct pli_sched *s, int step)
{
    if (step >= 0) {
        add(s, K_WAIT)->child = step;
    }
}

void pli_sched_fence(struct pli_sched *s)
{
    add(s, K_FENCE);
    s->n_child = 0;
}

void *pli_sched_bytes(struct pli_sched *s, size_t size)
{
    const size_t align = _Alignof(struct scrap); // more than malloc gives
    size_t skip = -(uintptr_t)(s->room + s->n_inline) % align;
    size_t left = INLINE_ROOM - s->n_inline;
    if (skip <= left && size <= left - skip) {
        s->n_inline += skip + size;
        return s->room + s->n_inline - size;
    }
    void *mem = s->is_lean ? pli_sched_mem_take(sizeof(struct scrap) + size, align) : NULL;
    if (mem == NULL &&
        (s->is_lean || posix_memalign(&mem, align, sizeof(struct scrap) + size) != 0)) {
        static _Alignas(64) unsigned char nowhere[64]; // a builder may write a few words here
        out_of_memory(s);
        return nowhere; // else only pointed to: a schedule that lacks memory never runs
    }
    struct scrap *scrap = mem;
    scrap->next = s->scraps;
    s->scraps = scrap;
    return scrap->data;
}

void *pli_sched_room(struct pli_sched *s, MPI_Count count, const struct pli_datatype *type)
{
    if (count == 0) {
        return pli_sched_bytes(s, 1);
    }
    MPI_Count step = type->extent < 0 ? -type->extent : type->extent;
    MPI_Count span, size;
    if (__builtin_mul_overflow(count - 1, step, &span) ||
        __builtin_add_overflow(span, type->true_extent, &size)) {
        out_of_memory(s);
        return pli_sched_bytes(s, 1);
    }
    char *p = pli_sched_bytes(s, (size_t)size + 1);
    // Element 0 is the highest one where the extent is negative.
    return (void *)((uintptr_t)p - (uintptr_t)type->true_lb +
                    (uintptr_t)(type->extent < 0 ? span : 0));
}

// Note the first thing that went wrong. Context: lane locked.
static void note(struct pli_sched *s, const struct pli_request *r)
{
    bool is_wrong_size = (r->flags & PLI_REQ_SEND) == 0 && r->bytes != r->size;
    if (s->err == PLI_OK && (r->err != PLI_OK || is_wrong_size)) {
        s->err = r->err != PLI_OK ? (enum pli_err)r->err : PLI_ERR_TRUNC;
        s->got = r->bytes;
        s->want = r->size;
        s->from = r->source;
    }
}

// Context: lane locked.
static void child_done(struct pli_request_child *c)
{
    struct child *child = (struct child *)c;
    struct pli_sched *s = child->sched;
    note(s, &c->r);
    s->has_ghost = s->has_ghost || (c->r.state & PLI_REQ_GHOST) != 0;
    int left = atomic_fetch_sub_explicit(&s->n_open, 1, memory_order_relaxed) - 1;
    bool is_over = s->waits_for == FOR_ALL ? left == 0 : s->waits_for == child - s->children;
    if (s->waits_for != FOR_NONE && is_over) {
        s->waits_for = FOR_NONE;
        pli_lane_defer(s->lane, &s->task);
    }
}

// Across MPI jobs no call tells of a failure at one rank: what depends on it is sent empty, so that
// its receivers fail too instead of waiting, or going on with wrong data.
static bool has_no_data(struct pli_sched *s)
{
    if (__builtin_expect(!s->is_span, 1)) {
        return false;
    }
    pli_lock_take(&s->lane->lock);
    bool has_failed = s->err != PLI_OK;
    pli_lock_drop(&s->lane->lock);
    return has_failed;
}

static void begin_child(struct pli_sched *s, const struct step *p)
{
    struct child *c = &s->children[p->child];
    MPI_Count n_send = p->kind == K_SEND && has_no_data(s) ? 0 : p->n_in;
    atomic_fetch_add_explicit(&s->n_open, 1, memory_order_relaxed);
    enum pli_err err = p->kind == K_SEND
                           ? pli_p2p_begin_send(&c->c, p->in, n_send, p->in_type, p->peer, p->tag,
                                                p->comm, PLI_CHAN_COLL)
                           : pli_p2p_begin_recv(&c->c, p->out, p->n_in, p->in_type, p->peer, p->tag,
                                                p->comm, PLI_CHAN_COLL);
    if (err != PLI_OK) {
        pli_lock_take(&s->lane->lock);
        s->err = s->err == PLI_OK ? err : s->err;
        atomic_store_explicit(&c->c.r.is_done, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&s->n_open, 1, memory_order_relaxed);
        pli_lock_drop(&s->lane->lock);
    }
}

// Whether the wait is over; if not, the child that ends it calls us back.
static bool is_over(struct pli_sched *s, int what)
{
    pli_lock_take(&s->lane->lock);
    bool is = what == FOR_ALL ? atomic_load_explicit(&s->n_open, memory_order_relaxed) == 0
                              : pli_request_is_done(&s->children[what].c.r);
    s->waits_for = is ? FOR_NONE : what;
    s->is_doomed = s->is_doomed || pli_err_is_news(s->err);
    pli_lock_drop(&s->lane->lock);
    return is;
}

static void finish(struct pli_sched *s)
{
    struct pli_lane *lane = s->lane;
    pli_lock_take(&lane->lock);
    pli_request_complete(s->req, s->err); // s may be gone as soon as the lock is
    pli_lock_drop(&lane->lock);
}

static void go_on(struct pli_task *t)
{
    struct pli_sched *s = PLI_CONTAINER(t, struct pli_sched, task);
    while (s->at < s->n_step) {
        const struct step *p = &s->steps[s->at];
        if (__builtin_expect(s->is_doomed, 0) && s->at < s->n_step - 1) {
            s->at++; // only the last fence counts
            continue;
        }
        switch (p->kind) {
        case K_SEND:
        case K_RECV:
            s->at++; // before: the wait of a later step may be over while we begin this one
            begin_child(s, p);
            break;
        case K_COPY:
            s->at++;
            pli_cursor_copy(p->in, p->n_in, p->in_type, p->out, p->n_out, p->out_type);
            break;
        case K_REDUCE:
            s->at++;
            if (!has_no_data(s)) {
                pli_op_apply(p->op, p->in, p->out, p->n_in, p->in_type);
            }
            break;
        case K_WAIT:
        case K_FENCE:
            s->at++;
            if (!is_over(s, p->kind == K_WAIT ? p->child : FOR_ALL)) {
                return;
            }
            break;
        }
    }
    s->at = s->n_step + 1;
    finish(s);
}

// Once before the first run: children for all that talks.
static enum pli_err prepare(struct pli_sched *s, struct pli_comm *comm)
{
    pli_sched_fence(s);
    s->lane = comm->ep->lane;
    s->task.run = go_on;
    s->task.is_users = true; // reductions
    pli_list_init(&s->task.link);
    size_t n = (size_t)s->n_child_most;
    if (n > 0 && s->build_err == PLI_OK) {
        bool is_few = !s->is_lean && n <= FEW_CHILDREN;
        s->children = is_few ? s->few_children : take(s, n * sizeof *s->children);
        if (s->children == NULL) {
            out_of_memory(s);
        }
    }
    for (size_t i = 0; s->children != NULL && i < n; i++) {
        s->children[i].sched = s;
        s->children[i].c.done = child_done;
    }
    return s->build_err;
}

static void start(struct pli_sched *s)
{
    s->at = 0;
    s->err = PLI_OK;
    s->is_doomed = false;
    go_on(&s->task);
}

static enum pli_err explain(const struct pli_sched *s, const struct pli_comm *comm)
{
    if (s->err == PLI_ERR_TRUNC && s->is_span && s->got == 0) {
        return pli_fail(
            PLI_ERR_CONVERSION,
            "%s on %s: nothing came from rank %d where %llu bytes were expected: a value "
            "there or before does not fit external32, in which a long has 4 bytes, or "
            "the ranks' counts do not fit together",
            s->name, pli_comm_say(comm), s->from, (unsigned long long)s->want);
    }
    if (s->err == PLI_ERR_CONVERSION) {
        return pli_fail(
            PLI_ERR_CONVERSION,
            "%s on %s: a value does not fit external32, in which a long has 4 bytes, and "
            "not all clients of the IMPI job, or not its server, know of longs of 8",
            s->name, pli_comm_say(comm));
    }
    if (s->err == PLI_ERR_TRUNC) {
        return pli_fail(PLI_ERR_TRUNC,
                        "%s on %s: %llu bytes came from rank %d where %llu were expected; the "
                        "ranks' counts and datatypes do not fit together",
                        s->name, pli_comm_say(comm), (unsigned long long)s->got, s->from,
                        (unsigned long long)s->want);
    }
    if (pli_err_is_news(s->err)) {
        return pli_alarm_explain(s->err, s->name, comm);
    }
    return s->err == PLI_OK ? PLI_OK
                            : pli_fail(s->err, "%s on %s failed: %s", s->name, pli_comm_say(comm),
                                       pli_err_text(s->err));
}

static enum pli_err request_start(struct pli_request *r)
{
    struct pli_sched *s = r->ext;
    if (s->has_ghost) { // on what will never work again
        s->err = (enum pli_err)r->err;
        return PLI_OK;
    }
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    r->err = PLI_OK;
    start(s);
    return PLI_OK;
}

static enum pli_err request_finish(struct pli_request *r, MPI_Status *status)
{
    pli_status_set_empty(status);
    return r->err == PLI_OK ? PLI_OK : explain(r->ext, r->comm);
}

static void request_clean(struct pli_request *r)
{
    pli_sched_destroy(r->ext);
}

static const struct pli_request_ops ops = {
    .name = "collective",
    .start = request_start,
    .cancel = pli_request_no_cancel,
    .finish = request_finish,
    .clean = request_clean,
};

enum pli_err pli_sched_run(struct pli_sched *s, struct pli_comm *comm)
{
    enum pli_err err = prepare(s, comm);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_request r = { .ops = &ops, .lane = s->lane, .comm = comm };
    r.flags = PLI_REQ_STACK | PLI_REQ_NO_STATUS;
    r.ext = s;
    s->req = &r;
    start(s);
    struct pli_waiter w = { .lane = s->lane, .comm = comm, .call = pli_coll_args_call(s->kind) };
    w.is_far = comm->is_span;
    while (!pli_request_is_done(&r)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return s->err == PLI_OK ? PLI_OK : explain(s, comm);
}

enum pli_err pli_sched_begin(struct pli_sched *s, struct pli_comm *comm, struct pli_request **out)
{
    enum pli_err err = prepare(s, comm);
    if (err != PLI_OK) {
        return err;
    }
    pli_lock_take(&s->lane->lock);
    struct pli_request *r = pli_request_create(s->lane);
    pli_lock_drop(&s->lane->lock);
    if (r == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a request");
    }
    r->ops = &ops;
    r->comm = pli_comm_retain(comm);
    r->flags = PLI_REQ_NO_STATUS;
    r->ext = s;
    s->req = r;
    if (s->is_persistent) {
        r->flags |= PLI_REQ_PERSISTENT;
        atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    } else {
        start(s);
        // A program that begins very many must still take in what the others send.
        pli_progress_once(r->lane);
    }
    *out = r;
    return PLI_OK;
}
