// SPDX-License-Identifier: BSD-3-Clause
// Waits for ranks that are to leave the world. No rank is made to leave: it gets its notice, hands
// over its work and ends by itself. A rank that does not is named in a message, so that the user
// can look after it.
#include "launcher/ranks/leave.h"

#include "launcher/base/launcher.h"
#include "launcher/ranks/rank_request.h"
#include "boot/launcher_wire.h"
#include "boot/node.h"
#include "launcher/job/job.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATE_S = 10 }; // after which a rank that has not left is named

// A request that waits until all leaving ranks are gone.
struct pli_leave_wait {
    struct pli_leave_wait *next;
    struct pli_timer timer;
    void *token;
};

static void late(struct pli_timer *t);

static bool is_leaving(uint32_t row)
{
    const struct pli_node_row *r = &pli_launcher.job->node.rows[row];
    return atomic_load_explicit(&r->leave, memory_order_relaxed) != 0 && r->has_ended == 0;
}

// How many have not left; their numbers, as far as there is room.
static uint32_t count(char *text, size_t cap)
{
    uint32_t n = 0;
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t row = 0; row < pli_node_n_used(&pli_launcher.job->node); row++) {
        const struct pli_node_row *r = &pli_launcher.job->node.rows[row];
        if (is_leaving(row)) {
            int len = snprintf(text + at, cap - at, "%srank %u (process %u)", n > 0 ? ", " : "",
                               r->version > 0 ? r->index - r->world : r->index,
                               (uint32_t)atomic_load(&r->pid));
            at = at + (size_t)len < cap ? at + (size_t)len : at;
            text[at] = '\0';
            n++;
        }
    }
    return n;
}

static void name_them(const char *who)
{
    struct pli_leave_state *self = pli_launcher.leave;
    uint32_t version = (uint32_t)atomic_load(&pli_launcher.job->node.header->world);
    if (self->named != version) {
        self->named = version;
        pli_say(
            "not a member of version %u of the world, told so, and still there: %s. A rank sees "
            "its notice by MPIX_World_leaving, and ends by itself.",
            version, who);
    }
}

static void late(struct pli_timer *t)
{
    char who[200];
    (void)t;
    if (count(who, sizeof who) > 0) {
        name_them(who);
    }
}

void pli_leave_begin(struct pli_job *job)
{
    struct pli_leave_state *self = pli_launcher.leave;
    if (job->opt.is_verbose) {
        char who[200];
        count(who, sizeof who);
        pli_say("resize: to leave: %s", who);
    }
    self->patience.fire = late;
    pli_loop_timer(&self->patience, (uint64_t)LATE_S * 1000 * PLI_MS);
}

// Answer a request, also when ranks are still there.
static void answer(struct pli_leave_wait *w)
{
    struct pli_answer a = { 0 };
    void *token = w->token;
    w->token = NULL;
    a.n = count(a.text, sizeof a.text);
    a.first = (uint32_t)atomic_load(&pli_launcher.job->node.header->world);
    if (a.n > 0) {
        name_them(a.text);
    }
    if (token != NULL) {
        pli_rank_request_answer(token, &a);
    }
}

static void too_long(struct pli_timer *t)
{
    answer((struct pli_leave_wait *)((char *)t - offsetof(struct pli_leave_wait, timer)));
}

// Those whose answer was given, in a turn of the loop before this one.
static void sweep(void)
{
    struct pli_leave_state *self = pli_launcher.leave;
    while (self->over != NULL) {
        struct pli_leave_wait *w = self->over;
        self->over = w->next;
        pli_loop_forget(&w->timer);
        free(w);
    }
    struct pli_leave_wait **at = &self->waits;
    while (*at != NULL) {
        struct pli_leave_wait *w = *at;
        if (w->token == NULL) {
            *at = w->next;
            w->next = self->over;
            self->over = w;
        } else {
            at = &w->next;
        }
    }
}

void pli_leave_check(void)
{
    struct pli_leave_state *self = pli_launcher.leave;
    char who[200];
    if (self->waits == NULL || count(who, sizeof who) > 0) {
        return;
    }
    for (struct pli_leave_wait *w = self->waits; w != NULL; w = w->next) {
        if (w->token != NULL) {
            answer(w);
        }
    }
}

bool pli_leave_ask(struct pli_job *job, const char *body, size_t len, void *token,
                   struct pli_answer *a)
{
    struct pli_leave_state *self = pli_launcher.leave;
    struct pli_ask_left ask = { 0 };
    memcpy(&ask, body, len < sizeof ask ? len : sizeof ask);
    sweep();
    a->n = count(a->text, sizeof a->text);
    a->first = (uint32_t)atomic_load(&job->node.header->world);
    struct pli_leave_wait *w = a->n > 0 && ask.wait_ms > 0 ? calloc(1, sizeof *w) : NULL;
    if (w == NULL) {
        return true;
    }
    w->token = token;
    w->timer.fire = too_long;
    w->next = self->waits;
    self->waits = w;
    pli_loop_timer(&w->timer, (uint64_t)ask.wait_ms * PLI_MS);
    return false;
}

void pli_leave_forget(const void *token)
{
    struct pli_leave_state *self = pli_launcher.leave;
    for (struct pli_leave_wait *w = self->waits; w != NULL; w = w->next) {
        w->token = w->token == token ? NULL : w->token;
    }
}
