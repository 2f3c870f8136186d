// SPDX-License-Identifier: BSD-3-Clause
// One request per socket: collected as it comes, done when it is complete, answered, forgotten.
#include "launcher/ranks/rank_request.h"

#include "boot/launcher_wire.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_wait.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/head.h"
#include "launcher/job/job.h"
#include "launcher/ranks/leave.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/hosts/migrate_ranks.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/hosts/status_collect.h"
#include "launcher/base/loop.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/ranks/resize.h"
#include "launcher/base/say.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/spawn_fail.h"
#include "launcher/ranks/job_ports.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct ask {
    struct pli_watch watch; // first: the loop gets it
    struct pli_job *job;
    struct ask *next; // of those that are over, or of those that are asked of or by another host
    uint32_t id;      // of those
    uint32_t host;    // where it comes from; only in mpiexec
    bool is_far;      // it comes from another host
    bool is_pending;  // the answer comes later
    struct ask *held; // the next of those that wait until the ranks go on
    size_t len, want;
    char *body; // head and what follows
};

static struct ask *over;  // to be forgotten: events of this turn may still name them
static struct ask *far;   // in mpiexec: from other hosts; in a daemon: asked of mpiexec
static uint32_t n_asked;  // in a daemon
static struct ask *held;  // came while the ranks stood still
static struct ask *early; // in mpiexec: for when all hosts have begun

void pli_rank_request_sweep(void)
{
    while (over != NULL) {
        struct ask *a = over;
        over = a->next;
        free(a->body);
        free(a);
    }
}

static struct ask **find_far(uint32_t host, uint32_t id)
{
    struct ask **at = &far;
    while (*at != NULL && ((*at)->host != host || (*at)->id != id)) {
        at = &(*at)->next;
    }
    return at;
}

static void unlist(struct ask **at, const struct ask *a)
{
    while (*at != NULL && *at != a) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = a->next;
    }
}

static void let_go(const struct ask *a)
{
    struct ask **at = &held;
    while (*at != NULL && *at != a) {
        at = &(*at)->held;
    }
    if (*at != NULL) {
        *at = a->held;
    }
}

static void finish(struct ask *a)
{
    let_go(a);
    unlist(&far, a);
    unlist(&early, a);
    pli_loop_close(&a->watch);
    a->next = over;
    over = a;
}

// Who does not wait for the answer gets none.
static void answer_with(struct ask *a, const struct pli_answer *answer)
{
    if (a->is_far) {
        pli_head_send(a->host, PLI_DLINK_ANSWER, 0, a->id, answer, sizeof *answer);
    } else {
        ssize_t sent = send(a->watch.fd, answer, sizeof *answer, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent;
    }
    finish(a);
}

void pli_rank_request_answer(void *token, const struct pli_answer *answer)
{
    answer_with(token, answer);
}

// What concerns the whole job is for mpiexec to decide.
static bool pass_on(struct ask *a, const struct pli_ask_head *head)
{
    bool is_for_all = head->kind == PLI_ASK_SPAWN || head->kind == PLI_ASK_RESIZE ||
                      head->kind == PLI_ASK_LEFT || head->kind == PLI_ASK_STATE ||
                      head->kind == PLI_ASK_SEAL || head->kind == PLI_ASK_MIGRATE ||
                      head->kind == PLI_ASK_FORK || head->kind == PLI_ASK_FORKED ||
                      head->kind == PLI_ASK_UNSPAWN || head->kind == PLI_ASK_TIE ||
                      head->kind == PLI_ASK_ABORT;
    if (!a->job->is_daemon || !is_for_all) {
        return false;
    }
    a->id = ++n_asked;
    a->next = far;
    far = a;
    pli_daemon_send(PLI_DLINK_ASK, (uint16_t)head->kind, a->id, a->body + sizeof *head, head->len);
    return true;
}

// A resize of a job whose hosts have not all begun waits until they have.
static bool is_early(struct ask *a, const struct pli_ask_head *head)
{
    struct pli_head_means means;
    if (head->kind != PLI_ASK_RESIZE || !pli_job_is_head(a->job)) {
        return false;
    }
    pli_head_side(0, &means);
    if (!means.is_started) {
        a->next = early;
        early = a;
    }
    return !means.is_started;
}

// While the ranks stand still for a checkpoint or a move nothing else is begun. It waits, behind
// what came before it; who wants one of these two waits elsewhere.
static bool is_held(struct ask *a, const struct pli_ask_head *head)
{
    struct ask **last = &held;
    if (head->kind == PLI_ASK_CHECKPOINT || head->kind == PLI_ASK_MIGRATE ||
        !pli_ckpt_is_stopping()) {
        return false;
    }
    while (*last != NULL) {
        last = &(*last)->held;
    }
    *last = a;
    a->held = NULL;
    return true;
}

static void serve(struct ask *a)
{
    const struct pli_ask_head *head = (const struct pli_ask_head *)a->body;
    struct pli_answer answer = { 0 };
    a->is_pending = false;
    if (pli_supervisor_is_ending()) {
        answer.error = ECANCELED;
        snprintf(answer.text, sizeof answer.text, "the job is ending");
    } else if (is_held(a, head) || pass_on(a, head) || is_early(a, head)) {
        a->is_pending = true;
    } else if (head->kind == PLI_ASK_SPAWN && pli_job_is_head(a->job)) {
        a->is_pending =
            !pli_spawn_head_spawn(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else if (head->kind == PLI_ASK_SPAWN) {
        pli_spawn(a->job, a->body + sizeof *head, head->len, &answer);
    } else if (head->kind == PLI_ASK_UNSPAWN) {
        pli_spawn_fail_clear(a->job, a->body + sizeof *head, head->len, &answer);
    } else if (head->kind == PLI_ASK_ABORT) {
        pli_on_failure_abort(a->job, a->body + sizeof *head, head->len, &answer);
    } else if (head->kind == PLI_ASK_TIE) {
        pli_job_ports_serve(a->job, a->body + sizeof *head, head->len, &answer);
    } else if (head->kind == PLI_ASK_RESIZE) {
        a->is_pending = !pli_resize_begin(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else if (head->kind == PLI_ASK_CHECKPOINT) {
        a->is_pending = !pli_ckpt_ask(a, &answer);
    } else if (head->kind == PLI_ASK_STATE) {
        pli_ckpt_state_begin(&answer);
    } else if (head->kind == PLI_ASK_SEAL) {
        a->is_pending = !pli_ckpt_state_seal(a, a->body + sizeof *head, head->len, &answer);
    } else if (head->kind == PLI_ASK_LEFT) {
        a->is_pending = !pli_leave_ask(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else if (head->kind == PLI_ASK_MIGRATE) {
        a->is_pending =
            !pli_migrate_ranks_ask(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else if (head->kind == PLI_ASK_LOOK) {
        a->is_pending = !pli_status_collect_ask(a->job, a, &answer);
    } else if (head->kind == PLI_ASK_FORK) {
        a->is_pending = !pli_resize_fork(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else if (head->kind == PLI_ASK_FORKED) {
        a->is_pending = !pli_resize_forked(a->job, a->body + sizeof *head, head->len, a, &answer);
    } else {
        answer.error = ENOSYS;
        snprintf(answer.text, sizeof answer.text,
                 "this mpiexec does not know requests of kind %u; use mpiexec and library of one "
                 "installation",
                 head->kind);
    }
    if (!a->is_pending) {
        answer_with(a, &answer);
    }
}

static void resume(struct pli_timer *t)
{
    (void)t;
    struct ask *a = held;
    held = NULL;
    while (a != NULL) {
        struct ask *next = a->held;
        serve(a);
        a = next;
    }
}

void pli_rank_request_resume(void)
{
    static struct pli_timer timer = { .fire = resume };
    if (held != NULL) { // not in the middle of a step of the checkpoint
        pli_loop_timer(&timer, 0);
    }
}

void pli_rank_request_begun(void)
{
    while (early != NULL) {
        struct ask *a = early;
        early = a->next;
        serve(a);
    }
}

// Read once. False: the other end is gone or says nonsense.
static bool take(struct ask *a)
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

// Who asked does not wait for the answer any more.
static void give_up(struct ask *a)
{
    if (a->job->is_daemon && a->id != 0) {
        pli_daemon_send(PLI_DLINK_ASK, 0, a->id, NULL, 0);
    }
    pli_spawn_head_forget(a);
    pli_resize_forget(a);
    pli_ckpt_forget(a);
    pli_leave_forget(a);
    pli_migrate_ranks_forget(a);
    pli_status_collect_forget(a);
    finish(a);
}

static void fire(struct pli_watch *watch, uint32_t events)
{
    (void)events;
    struct ask *a = (struct ask *)watch;
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
    struct ask *a = calloc(1, sizeof *a);
    char *body = malloc(sizeof(struct pli_ask_head));
    if (a == NULL || body == NULL) {
        free(a);
        free(body);
        close(fd); // who asks sees its end
        return;
    }
    *a = (struct ask){ .watch = { .fd = fd, .fire = fire },
                       .job = job,
                       .want = sizeof(struct pli_ask_head),
                       .body = body };
    pli_loop_watch(&a->watch, EPOLLIN);
}

void pli_rank_request_far(struct pli_job *job, uint32_t host, uint32_t id, uint16_t kind,
                          const void *body, size_t len)
{
    struct ask *a = *find_far(host, id);
    if (kind == 0 && a != NULL) {
        give_up(a);
    }
    if (kind == 0 || a != NULL || len > PLI_ASK_MOST) {
        return;
    }
    const struct pli_ask_head head = { kind, (uint32_t)len };
    a = pli_say_need(calloc(1, sizeof *a));
    *a = (struct ask){ .watch = { .fd = -1 },
                       .job = job,
                       .next = far,
                       .id = id,
                       .host = host,
                       .is_far = true,
                       .body = pli_say_need(malloc(sizeof head + len)) };
    far = a;
    memcpy(a->body, &head, sizeof head);
    memcpy(a->body + sizeof head, body, len);
    serve(a);
}

void pli_rank_request_answered(uint32_t id, const void *answer, size_t len)
{
    struct ask *a = *find_far(0, id);
    struct pli_answer copy;
    if (a != NULL && len == sizeof copy) {
        memcpy(&copy, answer, sizeof copy);
        answer_with(a, &copy);
    }
}
