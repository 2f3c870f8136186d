// SPDX-License-Identifier: BSD-3-Clause
// When the job is over the head asks the daemons for what their ranks recorded. Clocks: a question
// and its answer, several times at the start, every few seconds, and at the end; the fastest one
// says best how far a clock is ahead, as the answer was given in the middle of it.
#include "launcher/hosts/trace_collect.h"

#include "base/clock.h"
#include "boot/gateway_wire.h"
#include "boot/node.h"
#include "launcher/base/launcher.h"
#include "launcher/base/loop.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/head_state.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "base/host_clock.h"
#include "launcher/observe/recording.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/observe/trace_world.h"

#include <string.h>

enum {
    ROUNDS = 8,
    ROUND_MS = 20,
    AGAIN_MS = 5000,
    WAIT_MS = 60000,
    LAST = 1,
    SENTENCE = 2,
    WORLD = 3
};

static void ask(void)
{
    struct pli_pack p = { 0 };
    pli_pack_u64(&p, pli_clock_ns());
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_GET_CLOCK, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void ask_again(struct pli_timer *t)
{
    struct pli_head *head = pli_launcher.head;
    if (head->is_leaving) {
        return;
    }
    ask();
    uint64_t ms = ++head->n_clock_asked % ROUNDS != 0 ? ROUND_MS : AGAIN_MS;
    pli_loop_timer(t, ms * PLI_MS);
}

void pli_trace_collect_begin(void)
{
    struct pli_head *head = pli_launcher.head;
    if (pli_recording_is_on()) {
        head->clock_timer.fire = ask_again;
        ask_again(&head->clock_timer);
    }
}

static void answer(const struct pli_dframe *f)
{
    struct pli_pack p = { 0 };
    pli_pack_bytes(&p, f->data, f->len);
    pli_pack_u64(&p, pli_clock_ns());
    pli_daemon_send(PLI_DLINK_CLOCK, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void hear_clock(uint32_t host, struct pli_unpack *u)
{
    uint64_t now = pli_clock_ns(), asked = pli_unpack_u64(u), theirs = pli_unpack_u64(u);
    if (u->is_bad || asked > now) {
        return;
    }
    pli_host_clock_add(pli_recording_clock(host), theirs,
                       (int64_t)(theirs - (asked + (now - asked) / 2)), now - asked);
}

void pli_trace_collect_world(const struct pli_job *job, struct pli_trace_world *out)
{
    const struct pli_gateway *g = pli_node_gateway(&job->node);
    *out = (struct pli_trace_world){
        .client = g->client,
        .n_rank = job->node.header->n_joint,
        .first = g->clients[g->client].first,
        .n = g->clients[g->client].n,
        .begin = g->world_begin,
        .clock = g->clock,
    };
}

static void send_world(void)
{
    struct pli_trace_world w;
    pli_trace_collect_world(pli_launcher.job, &w);
    struct pli_pack p = { 0 };
    const uint32_t who[] = { w.client, w.n_rank, w.first, w.n, w.clock.n };
    for (size_t i = 0; i < sizeof who / sizeof who[0]; i++) {
        pli_pack_u32(&p, who[i]);
    }
    pli_pack_u64(&p, w.begin);
    for (uint32_t i = 0; i < w.clock.n && i < PLI_HOST_CLOCK_N; i++) {
        pli_pack_u64(&p, w.clock.points[i].theirs);
        pli_pack_u64(&p, (uint64_t)w.clock.points[i].ahead);
        pli_pack_u64(&p, w.clock.points[i].way);
    }
    pli_daemon_send(PLI_DLINK_TRACE, WORLD, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void hear_world(uint32_t host, struct pli_unpack *u)
{
    struct pli_trace_world w = { .client = pli_unpack_u32(u) };
    w.n_rank = pli_unpack_u32(u);
    w.first = pli_unpack_u32(u);
    w.n = pli_unpack_u32(u);
    w.clock.n = pli_unpack_u32(u);
    w.begin = pli_unpack_u64(u);
    for (uint32_t i = 0; i < w.clock.n && i < PLI_HOST_CLOCK_N; i++) {
        w.clock.points[i].theirs = pli_unpack_u64(u);
        w.clock.points[i].ahead = (int64_t)pli_unpack_u64(u);
        w.clock.points[i].way = pli_unpack_u64(u);
    }
    if (!u->is_bad) {
        pli_recording_world(&w, host);
    }
}

static void send_all(void)
{
    char why[300];
    const struct pli_job *job = pli_launcher.job;
    if (job->opt.impi_server != NULL && job->here == 0 && job->node.header != NULL) {
        send_world();
    }
    for (uint32_t i = 0; i < pli_trace_memory_count(); i++) {
        struct pli_pack p = { 0 };
        if (pli_trace_memory_pack(i, &p, why, sizeof why)) {
            pli_daemon_send(PLI_DLINK_TRACE, 0, 0, p.data, p.len);
        } else if (why[0] != '\0') {
            pli_daemon_send(PLI_DLINK_TRACE, SENTENCE, 0, why, strlen(why));
        }
        pli_pack_fini(&p);
    }
    pli_daemon_send(PLI_DLINK_TRACE, LAST, 0, NULL, 0);
    pli_trace_memory_close();
}

static void hear(const struct pli_job *job, uint32_t host, const struct pli_dframe *f)
{
    const char *name = job->hosts[host].name;
    if (f->flag == LAST) {
        pli_launcher.head->hosts[host].is_traced = true;
    } else if (f->flag == SENTENCE) {
        pli_say("host %s: %.*s", name, (int)f->len, (const char *)f->data);
    } else if (f->flag == WORLD) {
        struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
        hear_world(host, &u);
    } else {
        pli_recording_hear(host, name, f->data, f->len);
    }
}

bool pli_trace_collect_told(const struct pli_job *job, uint32_t host, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (f->kind == PLI_DLINK_CLOCK) {
        hear_clock(host, &u);
    } else if (f->kind == PLI_DLINK_TRACE) {
        hear(job, host, f);
    }
    return f->kind == PLI_DLINK_CLOCK || f->kind == PLI_DLINK_TRACE;
}

bool pli_trace_collect_asked(const struct pli_dframe *f)
{
    if (f->kind == PLI_DLINK_GET_CLOCK) {
        answer(f);
    } else if (f->kind == PLI_DLINK_GET_TRACE) {
        send_all();
    }
    return f->kind == PLI_DLINK_GET_CLOCK || f->kind == PLI_DLINK_GET_TRACE;
}

// Whether a host that can still answer has not.
static bool is_missing(const struct pli_job *job)
{
    const struct pli_head *head = pli_launcher.head;
    for (uint32_t h = 0; h < job->n_host; h++) {
        const struct pli_head_host *side = &head->hosts[h];
        bool is_direct = side->link.watch.fd >= 0;
        bool is_below = side->is_up && head->spec.tree.fan < job->n_host;
        if (!side->is_lost && !side->is_traced && (is_direct || is_below)) {
            return true;
        }
    }
    return false;
}

static void turn(uint64_t ms)
{
    pli_loop_timer(&pli_launcher.head->leave_timer, ms * PLI_MS);
    pli_loop_once(true);
}

void pli_trace_collect_all(const struct pli_job *job)
{
    if (!pli_recording_is_on() || !pli_launcher.head->is_started) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t until = pli_clock_ns() + (uint64_t)ROUND_MS * PLI_MS;
        ask();
        while (pli_clock_ns() < until && is_missing(job)) {
            turn(ROUND_MS / 4);
        }
    }
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_GET_TRACE, 0, 0, NULL, 0);
    uint64_t until = pli_clock_ns() + (uint64_t)WAIT_MS * PLI_MS;
    while (is_missing(job) && pli_clock_ns() < until) {
        turn(100);
    }
    if (is_missing(job)) {
        pli_say("a host did not send what its ranks recorded; profile and timeline lack a part");
    }
}

int pli_trace_collect_keep(const struct pli_job *job, int fds[3])
{
    int n = pli_recording_fds(fds);
    if (n > 0) {
        pli_recording_clock(job->n_host - 1); // what becomes known of any is seen there
    }
    return n;
}

void pli_trace_collect_killed(void)
{
    pli_recording_killed();
}

void pli_trace_collect_write(const struct pli_job *job)
{
    pli_trace_collect_all(job);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_QUIT, 0, 0, NULL, 0);
    pli_recording_finish(job);
}
