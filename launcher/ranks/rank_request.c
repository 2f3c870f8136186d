// SPDX-License-Identifier: BSD-3-Clause
// Serves the requests of ranks and of mpictl. Each socket carries one: it is collected as it comes,
// done when it is complete, answered and forgotten.
#include "launcher/ranks/rank_request.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "launcher/job/ckpt_hooks.h"
#include "boot/launcher_wire.h"
#include "launcher/job/job.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURN_MS = 50 }; // until what the job was too busy for is tried again

struct pli_rank_request {
    struct pli_watch watch; // first: the loop gets it
    struct pli_job *job;
    struct pli_rank_request
        *next;       // of those that are over, or of those that are asked of or by another host
    uint32_t id;     // of those
    uint32_t host;   // where it comes from; only in mpiexec
    bool is_far;     // it comes from another host
    bool is_pending; // the answer comes later
    struct pli_rank_request *held;   // the next of those that wait until the ranks go on
    struct pli_rank_request *behind; // the next that waits for its turn
    bool is_told;                    // that it waits
    bool is_its_turn;
    size_t len, want;
    char *body; // head and what follows
};

void pli_rank_request_sweep(void)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    while (self->over != NULL) {
        struct pli_rank_request *a = self->over;
        self->over = a->next;
        free(a->body);
        free(a);
    }
}

static struct pli_rank_request **find_far(uint32_t host, uint32_t id)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    struct pli_rank_request **at = &self->far;
    while (*at != NULL && ((*at)->host != host || (*at)->id != id)) {
        at = &(*at)->next;
    }
    return at;
}

static void unlist(struct pli_rank_request **at, const struct pli_rank_request *a)
{
    while (*at != NULL && *at != a) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = a->next;
    }
}

static void let_go(const struct pli_rank_request *a)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    struct pli_rank_request **at = &self->held;
    while (*at != NULL && *at != a) {
        at = &(*at)->held;
    }
    if (*at != NULL) {
        *at = a->held;
    }
}

// Requests that look at a job do not wait for those that change it.
static struct pli_rank_request **queue_of(const struct pli_rank_request *a)
{
    const struct pli_ask_head *head = (const struct pli_ask_head *)a->body;
    return &pli_launcher.rank_request->queues[(head->kind & ~PLI_ASK_WAITS) == PLI_ASK_LOOK];
}

static void leave_queue(const struct pli_rank_request *a)
{
    struct pli_rank_request **at = queue_of(a);
    while (*at != NULL && *at != a) {
        at = &(*at)->behind;
    }
    if (*at != NULL) {
        *at = a->behind;
    }
}

static void finish(struct pli_rank_request *a)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    let_go(a);
    leave_queue(a);
    unlist(&self->far, a);
    unlist(&self->early, a);
    pli_loop_close(&a->watch);
    a->next = self->over;
    self->over = a;
}

// A process that does not wait for the answer gets none.
static void send_answer(const struct pli_rank_request *a, const struct pli_answer *answer)
{
    if (a->is_far) {
        pli_launcher.role->answer_request(a->host, a->id, answer);
    } else {
        ssize_t sent = send(a->watch.fd, answer, sizeof *answer, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
    }
}

static bool may_wait(const struct pli_rank_request *a)
{
    return (((const struct pli_ask_head *)a->body)->kind & PLI_ASK_WAITS) != 0;
}

static void next_turn(struct pli_timer *t);

// Wait for another turn: the first that is tried again, or behind all others.
static void wait_turn(struct pli_rank_request *a, bool is_first, const struct pli_answer *why)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    struct pli_rank_request **at = queue_of(a);
    while (*at != NULL && !is_first) {
        at = &(*at)->behind;
    }
    a->behind = *at;
    *at = a;
    a->is_pending = true;
    a->is_its_turn = false;
    if (!a->is_told) {
        send_answer(a, why);
        a->is_told = true;
    }
    self->turns.fire = next_turn;
    pli_loop_timer(&self->turns, (uint64_t)TURN_MS * PLI_MS);
}

static void answer_with(struct pli_rank_request *a, const struct pli_answer *answer)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    if (answer->error == EBUSY && may_wait(a)) {
        unlist(&self->far, a); // where a daemon had asked mpiexec
        a->id = 0;
        wait_turn(a, true, answer);
        return;
    }
    send_answer(a, answer);
    finish(a);
}

void pli_rank_request_answer(void *token, const struct pli_answer *answer)
{
    answer_with(token, answer);
}

// NULL: there is no such kind.
static const struct pli_request_op *find_op(uint32_t kind)
{
    const struct pli_request_op *op = pli_launcher.requests;
    while (op->kind != kind && op->kind != 0) {
        op++;
    }
    return op->kind != 0 ? op : NULL;
}

// What concerns the whole job is for mpiexec to decide: a daemon sends it there.
static bool is_forwarded(struct pli_rank_request *a, const struct pli_ask_head *head)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    uint32_t id = self->n_asked + 1;
    if (!pli_launcher.role->forward_request((uint16_t)(head->kind & ~PLI_ASK_WAITS), id,
                                            a->body + sizeof *head, head->len)) {
        return false;
    }
    a->id = self->n_asked = id;
    a->next = self->far;
    self->far = a;
    return true;
}

// A resize of a job whose hosts have not all begun waits until they have.
static bool is_early(struct pli_rank_request *a)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    bool is = !pli_launcher.role->has_begun();
    if (is) {
        a->next = self->early;
        self->early = a;
    }
    return is;
}

// While the ranks stand still for a checkpoint or a move nothing else is begun. It waits, after
// what came before it.
static bool is_held(struct pli_rank_request *a)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    struct pli_rank_request **last = &self->held;
    if (!pli_launcher.ckpt_hooks->is_stopping()) {
        return false;
    }
    while (*last != NULL) {
        last = &(*last)->held;
    }
    *last = a;
    a->held = NULL;
    return true;
}

static bool is_put_off(struct pli_rank_request *a, const struct pli_request_op *op,
                       const struct pli_ask_head *head)
{
    return (!op->is_for_stops && is_held(a)) || (op->is_for_job && is_forwarded(a, head)) ||
           (op->needs_begin && is_early(a));
}

static void serve(struct pli_rank_request *a)
{
    const struct pli_ask_head *head = (const struct pli_ask_head *)a->body;
    const struct pli_request_op *op = find_op(head->kind & ~(uint32_t)PLI_ASK_WAITS);
    struct pli_answer answer = { 0 };
    if (may_wait(a) && !a->is_its_turn && *queue_of(a) != NULL && !pli_supervisor_is_ending()) {
        answer.error = EBUSY;
        snprintf(answer.text, sizeof answer.text, "other requests to this job came before");
        wait_turn(a, false, &answer);
        return;
    }
    a->is_pending = false;
    if (pli_supervisor_is_ending()) {
        answer.error = ECANCELED;
        snprintf(answer.text, sizeof answer.text, "the job is ending");
    } else if (op == NULL) {
        answer.error = ENOSYS;
        snprintf(answer.text, sizeof answer.text,
                 "this mpiexec does not know requests of kind %u; use mpiexec and library of one "
                 "installation",
                 head->kind);
    } else {
        a->is_pending = is_put_off(a, op, head) ||
                        !op->serve(a->job, a->body + sizeof *head, head->len, a, &answer);
    }
    if (!a->is_pending) {
        answer_with(a, &answer);
    } else if (a->is_told) {
        answer.error = EINPROGRESS;
        send_answer(a, &answer);
        a->is_told = false;
    }
}

// Try the first of each queue again. One that still cannot be begun is the first again.
static void next_turn(struct pli_timer *t)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    (void)t;
    for (int i = 0; i < PLI_RANK_REQUEST_N_QUEUE; i++) {
        struct pli_rank_request *a = self->queues[i];
        if (a != NULL) {
            self->queues[i] = a->behind;
            a->is_its_turn = true;
            serve(a);
        }
        if (self->queues[i] != NULL) {
            pli_loop_timer(&self->turns, (uint64_t)TURN_MS * PLI_MS);
        }
    }
}

static void resume(struct pli_timer *t)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    (void)t;
    struct pli_rank_request *a = self->held;
    self->held = NULL;
    while (a != NULL) {
        struct pli_rank_request *next = a->held;
        serve(a);
        a = next;
    }
}

void pli_rank_request_resume(void)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    if (self->held != NULL) { // not in the middle of a step of the checkpoint
        self->timer.fire = resume;
        pli_loop_timer(&self->timer, 0);
    }
}

void pli_rank_request_begun(void)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    while (self->early != NULL) {
        struct pli_rank_request *a = self->early;
        self->early = a->next;
        serve(a);
    }
}

// Read once. False: the other end is gone or says nonsense.
static bool take(struct pli_rank_request *a)
{
    ssize_t n = recv(a->watch.fd, a->body + a->len, a->want - a->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (n <= 0) {
        return false;
    }
    a->len += (size_t)n;
    if (a->len == sizeof(struct pli_ask_head) && a->want == a->len) {
        const struct pli_ask_head head = *(struct pli_ask_head *)a->body;
        char *more = head.len <= PLI_ASK_MOST ? realloc(a->body, sizeof head + head.len) : NULL;
        if (more == NULL) {
            return false;
        }
        a->body = more;
        a->want += head.len;
    }
    return true;
}

// The process that asked does not wait for the answer any more.
static void give_up(struct pli_rank_request *a)
{
    if (a->id != 0 && !a->is_far) {
        pli_launcher.role->drop_request(a->id);
    }
    for (const struct pli_request_op *op = pli_launcher.requests; op->kind != 0; op++) {
        op->forget(a);
    }
    finish(a);
}

static void fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct pli_rank_request *a = (struct pli_rank_request *)watch;
    if (a->is_pending) { // nothing more is to come but the end
        give_up(a);
    } else if (!take(a)) {
        finish(a);
    } else if (a->len == a->want && a->len > 0) {
        serve(a);
    }
}

void pli_rank_request_begin(struct pli_job *job, int fd)
{
    struct pli_rank_request *a = calloc(1, sizeof *a);
    char *body = calloc(1, sizeof(struct pli_ask_head));
    if (a == NULL || body == NULL) {
        free(a);
        free(body);
        close(fd); // the process that asks sees the socket closed
        return;
    }
    *a = (struct pli_rank_request){ .watch = { .fd = fd, .fire = fire },
                                    .job = job,
                                    .want = sizeof(struct pli_ask_head),
                                    .body = body };
    pli_loop_watch(&a->watch, EPOLLIN);
}

void pli_rank_request_far(struct pli_job *job, uint32_t host, uint32_t id, uint16_t kind,
                          const void *body, size_t len)
{
    struct pli_rank_request_state *self = pli_launcher.rank_request;
    struct pli_rank_request *a = *find_far(host, id);
    if (kind == 0 && a != NULL) {
        give_up(a);
    }
    if (kind == 0 || a != NULL || len > PLI_ASK_MOST) {
        return;
    }
    const struct pli_ask_head head = { kind, (uint32_t)len };
    a = pli_say_need(calloc(1, sizeof *a));
    *a = (struct pli_rank_request){ .watch = { .fd = -1 },
                                    .job = job,
                                    .next = self->far,
                                    .id = id,
                                    .host = host,
                                    .is_far = true,
                                    .body = pli_say_need(malloc(sizeof head + len)) };
    self->far = a;
    memcpy(a->body, &head, sizeof head);
    memcpy(a->body + sizeof head, body, len);
    serve(a);
}

void pli_rank_request_answered(uint32_t id, const void *answer, size_t len)
{
    struct pli_rank_request *a = *find_far(0, id);
    struct pli_answer copy;
    if (a != NULL && len == sizeof copy) {
        memcpy(&copy, answer, sizeof copy);
        answer_with(a, &copy);
    }
}
