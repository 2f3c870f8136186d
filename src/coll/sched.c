// SPDX-License-Identifier: BSD-3-Clause
// Builds schedules, step by step.
#include "coll/sched.h"

#include "base/conf.h"
#include "coll/sched_mem.h"
#include "coll/scratch.h"
#include "coll/sched_priv.h"
#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *pli_sched_take(const struct pli_sched *s, size_t size)
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
    s->mark = (uint32_t)kind;
    s->root = -1;
    s->name = pli_coll_kind_info[kind].name;
    s->is_persistent = use == PLI_SCHED_PERSISTENT;
    s->waits_for = FOR_NONE;
    *out = s;
    return PLI_OK;
}

// Keep the memory of children that messages of other processes may still refer to.
static void keep_memory(struct pli_sched *s)
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
    while (s->scratch_list != NULL) {
        struct pli_scratch *next = s->scratch_list->next;
        if (s->is_lean) {
            pli_sched_mem_give(s->scratch_list);
        } else {
            pli_scratch_give(s->scratch_list);
        }
        s->scratch_list = next;
    }
    if (s->is_lean || s->steps != s->few_steps) {
        give(s, s->steps);
    }
    if (s->has_withdrawn) {
        keep_memory(s);
        return;
    }
    if (s->is_lean || s->children != s->few_children) {
        give(s, s->children);
    }
    give(s, s);
}

static uint32_t mark_of(enum pli_coll_kind kind, int root)
{
    return (uint32_t)kind + (uint32_t)root * MARK_KINDS % MARKS;
}

void pli_sched_set_root(struct pli_sched *s, int root)
{
    s->root = root;
    s->mark = mark_of(s->kind, root);
}

static int tag_of(uint32_t n, uint32_t mark)
{
    return (int)(n % (TAGS / MARKS) * MARKS + mark);
}

// Of an operation that was over when it had begun.
static const struct pli_request_ops done_ops = {
    .name = "collective",
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

// Half of the tags for each kind: a persistent operation keeps its own for long. With the mark in
// it, ranks that call different operations wait for each other and are reported, where they would
// else take each other's data.
void pli_sched_on(struct pli_sched *s, struct pli_comm *comm)
{
    s->on = comm;
    s->is_span = s->is_span || comm->is_span;
    if (comm->is_span) { // other MPIs know tags without marks
        s->tag = s->is_persistent ? (int)(comm->n_coll_init++ % TAGS + TAGS)
                                  : (int)(SPAN_INSIDE + comm->n_coll++ % (TAGS - SPAN_INSIDE));
        return;
    }
    uint32_t n = s->is_persistent ? comm->n_coll_init++ : comm->n_coll++;
    s->tag = tag_of(n, s->mark) + (s->is_persistent ? (int)TAGS : 0);
}

bool pli_sched_send_now(enum pli_coll_kind kind, int root, const struct pli_block *b,
                        struct pli_comm *comm, struct pli_request **out)
{
    int tag = tag_of(comm->n_coll, mark_of(kind, root));
    struct pli_request *r = comm->is_span ? NULL
                                          : pli_p2p_isend_now(b->buf, b->count, b->type, root, tag,
                                                              comm, PLI_CHAN_COLL);
    if (r == NULL) {
        return false;
    }
    comm->n_coll++;
    r->ops = &done_ops;
    r->flags = PLI_REQ_NO_STATUS;
    *out = r;
    return true;
}

enum pli_err pli_sched_nothing(struct pli_comm *comm, struct pli_request **out)
{
    enum pli_err err = pli_p2p_nothing(comm, PLI_REQ_NO_STATUS, out);
    if (err == PLI_OK) {
        comm->n_coll++;
        (*out)->ops = &done_ops;
    }
    return err;
}

const char *pli_sched_say_tag(const struct pli_comm *comm, int tag, char to[PLI_SCHED_CALL])
{
    int kind = tag % MARK_KINDS, n_root = MARKS / MARK_KINDS;
    if (kind >= PLI_N_COLL) {
        return "a collective";
    }
    if (!pli_coll_kind_info[kind].is_rooted || comm->is_inter || comm->size > n_root) {
        return pli_coll_kind_info[kind].function;
    }
    snprintf(to, PLI_SCHED_CALL, "%s with root %d", pli_coll_kind_info[kind].function,
             tag / MARK_KINDS % n_root);
    return to;
}

void pli_sched_skip(struct pli_comm *comm)
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

void pli_sched_take_own(struct pli_sched *s, struct pli_comm *comm)
{
    s->own = s->is_persistent ? s->tag
                              : (int)(SPAN_FIRST + comm->n_later++ % (SPAN_INSIDE - SPAN_FIRST));
}

int pli_sched_own(const struct pli_sched *s)
{
    return s->own;
}

void pli_sched_return_to(struct pli_sched *s, struct pli_comm *comm, int tag)
{
    s->on = comm;
    s->tag = tag;
}

bool pli_sched_ok(const struct pli_sched *s)
{
    return s->build_err == PLI_OK;
}

void pli_sched_on_error(struct pli_sched *s, void (*fn)(void *arg, enum pli_err err), void *arg)
{
    s->on_error = fn;
    s->on_error_arg = arg;
}

void pli_sched_no_memory(struct pli_sched *s)
{
    if (s->build_err == PLI_OK) {
        s->build_err = pli_fail(PLI_ERR_NOMEM, "no memory for the steps of %s", s->name);
    }
}

// More room for steps. False: no memory.
static bool grow(struct pli_sched *s)
{
    int cap = s->cap == 0 ? LEAN_STEPS : s->cap * 2;
    struct step *more = pli_sched_take(s, (size_t)cap * sizeof *more);
    if (more == NULL) {
        pli_sched_no_memory(s);
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

static bool is_large(const struct step *p)
{
    return p->n_in * p->in_type->size > pli_conf.coll_eager_max;
}

// A receive that is begun copies a large message that was offered before, and only then would the
// last step, a send, offer its own: two ranks that exchange would copy one after the other. So it
// goes before the receives beside it, which it does not depend on. bench: alltoall size=65536.
static int offer_first(struct pli_sched *s)
{
    int at = s->n_step - 1;
    struct step send = s->steps[at];
    for (; at > 0 && s->steps[at - 1].kind == K_RECV && is_large(&s->steps[at - 1]); at--) {
        s->steps[at] = s->steps[at - 1];
    }
    s->steps[at] = send;
    return send.child;
}

int pli_sched_send(struct pli_sched *s, const void *buf, MPI_Count count, struct pli_datatype *type,
                   int dest)
{
    if (dest == MPI_PROC_NULL) {
        return FOR_NONE;
    }
    struct step *p = add_talk(s, K_SEND, dest, count, type);
    p->in = buf;
    return s->build_err == PLI_OK && is_large(p) ? offer_first(s) : p->child;
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

void pli_sched_rooted(struct pli_sched *s, int step)
{
    int i = s->n_step - 1;
    while (i >= 0 && s->steps[i].child != step) {
        i--;
    }
    if (i >= 0) {
        s->steps[i].is_rooted = true;
    }
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
    const size_t align = _Alignof(struct pli_scratch); // more than malloc gives
    size_t skip = -(uintptr_t)(s->room + s->n_inline) % align;
    size_t left = INLINE_ROOM - s->n_inline;
    if (skip <= left && size <= left - skip) {
        s->n_inline += skip + size;
        return s->room + s->n_inline - size;
    }
    struct pli_scratch *scratch =
        s->is_lean ? pli_sched_mem_take(sizeof *scratch + size, align) : pli_scratch_take(size);
    if (scratch == NULL) {
        static _Alignas(64) unsigned char nowhere[64]; // a builder may write a few words here
        pli_sched_no_memory(s);
        return nowhere; // else only pointed to: a schedule that lacks memory never runs
    }
    scratch->next = s->scratch_list;
    s->scratch_list = scratch;
    return scratch->data;
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
        pli_sched_no_memory(s);
        return pli_sched_bytes(s, 1);
    }
    char *p = pli_sched_bytes(s, (size_t)size + 1);
    // Element 0 is the highest one where the extent is negative.
    return (void *)((uintptr_t)p - (uintptr_t)type->true_lb +
                    (uintptr_t)(type->extent < 0 ? span : 0));
}
