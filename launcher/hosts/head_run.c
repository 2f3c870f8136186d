// SPDX-License-Identifier: BSD-3-Clause
// Starts daemons, sends them to work, hears what becomes of it, and notices when one is lost.
#include "launcher/hosts/head_run.h"

#include "tools/lib/job_status.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/gdb_hosts.h"
#include "launcher/hosts/head_state.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/hosts/impi_agents.h"
#include "launcher/hosts/host_join.h"
#include "launcher/hosts/join_call.h"
#include "launcher/observe/record_dir.h"
#include "launcher/ranks/rank_request.h"
#include "base/clock.h"
#include "base/conf.h"
#include "launcher/ranks/stdin.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/launch.h"
#include "launcher/hosts/dlink.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/ranks/process_table.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/ranks/agreement.h"
#include "launcher/hosts/ssh.h"
#include "launcher/hosts/trace_collect.h"
#include "launcher/hosts/head_watchdog.h"
#include "launcher/observe/recording.h"
#include "launcher/ranks/resize_notify.h"
#include "launcher/ranks/resize.h"
#include "launcher/hosts/host_table.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/output.h"
#include "launcher/base/say.h"
#include "launcher/hosts/stack_collect.h"
#include "launcher/hosts/status_pack.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/daemon_tree.h"
#include "launcher/ranks/failure_text.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LEAVE_MS = 3000,
    SHOW_MS = 8000,
    STACKS_MS = 20000,
    ENDED_MS = 10,
    PROGRESS_MS = 500 // between two lines about hosts that are waited for
};

static void show_late(struct pli_timer *t);

// Ranks elsewhere may wait for one that is gone. Not told one by one: often all end together.
static void tell_ended(struct pli_timer *t)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    (void)t;
    if (job->n_over < job->n_task) {
        pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_ENDED, 0, 0, head->ended.data,
                      head->ended.len);
    }
    head->ended.len = 0;
}

static void task_over(struct pli_proc_task *t)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    if (!t->is_over) {
        pli_pack_u32(&head->ended, t->is_spawned ? t->number : t->rank);
        pli_pack_u32(&head->ended, t->n);
        if (t->n_extra > 0) {
            pli_pack_u32(&head->ended, t->extra_rank);
            pli_pack_u32(&head->ended, t->n_extra);
        }
        for (uint32_t r = t->first; r < t->first + t->n; r++) {
            pli_node_set_ended(&job->node, job->node.rows[r].index);
        }
        for (uint32_t r = t->extra; r < t->extra + t->n_extra; r++) {
            pli_node_set_ended(&job->node, job->node.rows[r].index);
        }
        job->hosts[t->host].n_rank -= t->n; // there is room again
        if (head->ended_timer.at == 0) {
            pli_loop_timer(&head->ended_timer, (uint64_t)ENDED_MS * PLI_MS);
        }
        head->hosts[t->host].n_over++;
        pli_stdin_done(t, 0);
        pli_supervisor_over(t);
        pli_resize_gone(t);
        pli_resize_replace(job);
        pli_resize_notify_check(job);
    }
}

static void end_tasks(uint32_t host)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    struct pli_proc_task *t = head->is_started ? pli_job_next(job, NULL) : NULL;
    for (; t != NULL; t = pli_job_next(job, t)) {
        if (t->host == host) {
            pli_output_lines_end(&t->out);
            pli_output_lines_end(&t->err);
            task_over(t);
        }
    }
}

// Nothing more will come from this host, or from those that were reached through it.
static void give_up(uint32_t host)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    bool *is_new = pli_say_need(calloc(job->n_host, sizeof *is_new));
    for (uint32_t h = 0; h < job->n_host; h++) {
        bool is_below = h == host || pli_daemon_tree_next(host, h, head->spec.tree) != UINT32_MAX;
        is_new[h] = is_below && !head->hosts[h].is_lost;
        if (is_new[h]) {
            head->hosts[h].is_lost = job->hosts[h].is_lost = true;
            pli_launcher.ckpt_hooks->host_lost(job, h, pli_host_join_is_missed(job, h));
        }
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (is_new[h] && head->is_started && !pli_supervisor_is_ending()) {
            pli_on_failure_lose(job, h, pli_resize_is_new);
        }
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (is_new[h]) {
            pli_spawn_head_lost(job->hosts[h].name);
            end_tasks(h);
        }
    }
    pli_launcher.ckpt_hooks->hosts_lost(job);
    free(is_new);
}

static bool has_left(uint32_t host)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    return head->is_started && head->hosts[host].n_over == job->hosts[host].n_task;
}

static void lose(uint32_t host, const char *why)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    if (head->hosts[host].is_lost || head->is_leaving) {
        return;
    }
    bool is_news =
        !pli_supervisor_is_ending() && (!head->is_started || pli_host_join_is_missed(job, host));
    bool is_survived = head->is_started && pli_on_failure_is_survived(job);
    uint32_t n_below = 0;
    for (uint32_t h = host + 1; h < job->n_host; h++) {
        n_below += pli_daemon_tree_next(host, h, head->spec.tree) != UINT32_MAX;
    }
    if (is_news) {
        char below[80] = "", ran[64] = "UPC threads without a rank";
        if (n_below > 0) {
            snprintf(below, sizeof below, ", and with it %u that were reached through it", n_below);
        }
        uint32_t n = job->hosts[host].n_rank;
        if (n > 0) {
            snprintf(ran, sizeof ran, "%u rank%s", n, n == 1 ? "" : "s");
        }
        pli_say("host %s is lost%s: %s. %s ran there. The %s.", job->hosts[host].name, below, why,
                ran,
                is_survived ? "others go on"
                : job->opt.on_failure == PLI_FAIL_CONTINUE
                    ? "rest of the job is ended unless it can do without"
                    : "rest of the job is ended");
    }
    give_up(host);
    if (is_news && is_survived) {
        pli_on_failure_lost(job);
    } else if (is_news) {
        pli_launcher.ckpt_hooks->job_lost();
        pli_supervisor_fail(1, job->opt.on_failure == PLI_FAIL_CONTINUE);
    }
}

static void hear_failure(struct pli_unpack *u, uint32_t rank, bool is_beside)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_proc_task *t = pli_job_task_of(job, rank);
    if (t == NULL || t->is_dropped) {
        return;
    }
    struct pli_rank_failure c = { .task = t, .row = t->is_spawned ? t->first : rank };
    c.pid = (pid_t)pli_unpack_u32(u);
    c.fault = (enum pli_failure_kind)pli_unpack_u32(u);
    c.number = (int)pli_unpack_u32(u);
    c.state = pli_unpack_u32(u);
    char *why = pli_unpack_text(u);
    c.why = why != NULL ? why : "";
    if (!u->is_bad && pli_resize_is_new(job, c.row)) {
        // The resize fails now, or another rank that becomes ready completes it with a dead one.
        pli_resize_gone(t);
    } else if (!u->is_bad) {
        (is_beside ? pli_on_failure_beside : pli_supervisor_report)(&c);
    }
    free(why);
}

// All daemons and, in an IMPI job, all agents are there: start the tasks.
static void start(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    struct pli_pack p = { 0 };
    if (head->n_up < job->n_host || !pli_impi_agents_are_up(job) || pli_supervisor_is_ending()) {
        return;
    }
    if (!pli_host_table_pack_all(job, head->host_info, &p) || !pli_head_watchdog_start(job) ||
        !pli_gdb_hosts_open(job)) {
        pli_supervisor_fail(1, false);
        return;
    }
    for (uint32_t i = 0; i < job->n_task; i++) {
        job->tasks[i].job = job;
        pli_launch_open_remote(job, &job->tasks[i], pli_head_credit);
        pli_stdin_add_remote(job, &job->tasks[i], pli_head_input);
    }
    pli_launcher.ckpt_hooks->hosts_begin(job);
    head->is_started = true;
    pli_output_progress("%s", "");
    job->n_started = job->n_begun = job->n_task;
    pli_head_watchdog_tell((uint32_t)PLI_DLINK_ALL);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_START, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
    if (job->opt.is_verbose) {
        pli_say("%u hosts are there after %.1f ms and start %u ranks", job->n_host,
                (double)(pli_clock_ns() - job->start_ns) / 1e6, job->n_rank);
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (head->hosts[h].is_lost) {
            end_tasks(h);
        }
    }
    pli_gdb_hosts_begin();
    pli_trace_collect_begin();
    pli_stdin_begin();
    pli_launcher.ckpt_hooks->begin();
    pli_rank_request_begun();
}

static void hear_hello(struct pli_head_host *side, uint32_t host, struct pli_unpack *u)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    if (side->is_up || !pli_host_table_unpack(job, u, &head->host_info[host])) {
        lose(host, "it sent something that makes no sense");
        return;
    }
    side->is_up = true;
    head->n_up++;
    start();
}

static void check_shown(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (!head->hosts[h].is_shown && !head->hosts[h].is_lost) {
            return;
        }
    }
    if (head->on_shown != NULL) {
        void (*done)(void) = head->on_shown;
        head->on_shown = NULL;
        done();
    }
}

static void hear_status(struct pli_head_host *side, const struct pli_dframe *f,
                        struct pli_unpack *u)
{
    struct pli_node *node = &pli_launcher.job->node;
    side->is_shown = true;
    if (f->flag == PLI_LOOK_STACKS) {
        pli_stack_collect_take(node, u);
    } else {
        pli_status_pack_unpack_rows(node, u, pli_launcher.head->sites);
    }
    check_shown();
}

static void hear_task(uint32_t host, const struct pli_dframe *f, struct pli_unpack *u)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    struct pli_proc_task *t = pli_job_find_task(job, f->a);
    if (t == NULL || t->host != host || !head->is_started) {
        return;
    }
    struct pli_output_lines *s = f->flag == STDERR_FILENO ? &t->err : &t->out;
    if (f->kind == PLI_DLINK_OVER) {
        task_over(t);
    } else if (f->kind == PLI_DLINK_IN_DONE) {
        pli_stdin_done(t, pli_unpack_u32(u));
    } else if (f->len == 0) {
        pli_output_lines_end(s);
    } else if (!pli_output_lines_feed(s, f->data, f->len) && !s->is_ended) {
        lose(host, "it sent more than it may");
    }
}

static void hear_stuck(struct pli_head_host *side, const struct pli_dframe *f, struct pli_unpack *u)
{
    side->is_stuck = pli_unpack_u32(u) != 0;
    if (f->a != 0) { // it was asked
        side->round = f->a;
        side->is_sure = side->is_stuck;
        side->mark = pli_unpack_u64(u);
        side->n_poll = pli_unpack_u32(u);
    }
}

// Process sets are kept here for hosts that join.
static void hear_made(struct pli_job *job, uint32_t host, struct pli_unpack *from)
{
    struct pli_pack p = { 0 };
    if (pli_host_table_count_made(job, from, &p)) {
        pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_SETS, 0, host, p.data, p.len);
    }
    pli_pack_fini(&p);
}

static void hear_agent(uint32_t host, const struct pli_dframe *f)
{
    if (pli_impi_agents_hear(pli_launcher.job, host, f->flag, f->data, f->len)) {
        const char *why = pli_record_dir_world(pli_launcher.job);
        if (why != NULL) {
            pli_supervisor_lose(why);
            return;
        }
        start();
        pli_launcher.job->base = f->a;
    }
}

static void hear_started(const struct pli_job *job, uint32_t host, struct pli_unpack *u)
{
    while (u->at < u->end && !u->is_bad) {
        uint32_t task = pli_unpack_u32(u), pid = pli_unpack_u32(u);
        if (!u->is_bad && task < job->n_first && job->tasks[task].host == host) {
            pli_process_table_add(job, task, job->hosts[host].name, (pid_t)pid);
        }
    }
}

static void hear_rest(struct pli_job *job, uint32_t host, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (f->kind == PLI_DLINK_STARTED) {
        hear_started(job, host, &u);
    } else if (!pli_trace_collect_told(job, host, f) && !pli_gdb_hosts_shown(host, f)) {
        pli_spawn_head_hear_clone(job, host, f);
    }
}

static void hear(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    uint32_t host = f->host;
    if (host >= job->n_host ||
        pli_daemon_tree_next(PLI_DAEMON_TREE_TOP, host, head->spec.tree) != l->host) {
        return;
    }
    struct pli_head_host *side = &head->hosts[host];
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    switch (f->kind) {
    case PLI_DLINK_HELLO:
        hear_hello(side, host, &u);
        break;
    case PLI_DLINK_OUT:
    case PLI_DLINK_IN_DONE:
    case PLI_DLINK_OVER:
        hear_task(host, f, &u);
        break;
    case PLI_DLINK_FAILURE:
        if (head->is_started) {
            hear_failure(&u, f->a, f->flag != 0);
        }
        break;
    case PLI_DLINK_ASK:
        pli_rank_request_far(job, host, f->a, f->flag, f->data, f->len);
        break;
    case PLI_DLINK_KNOWN:
    case PLI_DLINK_BEGUN:
        pli_spawn_head_hear(f->kind, f->a, f->data, f->len);
        break;
    case PLI_DLINK_READY:
        pli_spawn_head_ready(job, f->a);
        break;
    case PLI_DLINK_AGREE:
        pli_agreement_unpack(job, f->data, f->len);
        break;
    case PLI_DLINK_FREED:
        pli_rank_rows_unpack_free(job, &u);
        break;
    case PLI_DLINK_SAY:
        pli_say_plain("%.*s", (int)f->len, (const char *)f->data);
        break;
    case PLI_DLINK_FAILED:
        pli_supervisor_fail((int)f->a, false);
        break;
    case PLI_DLINK_ROWS:
        pli_status_pack_unpack_states(&job->node, &u);
        pli_resize_notify_check(job);
        break;
    case PLI_DLINK_MADE:
        hear_made(job, host, &u);
        break;
    case PLI_DLINK_AGENT:
        hear_agent(host, f);
        break;
    case PLI_DLINK_CKPT_STAGE:
        pli_launcher.ckpt_hooks->hear_daemon(job, host, f);
        break;
    case PLI_DLINK_STUCK:
        hear_stuck(side, f, &u);
        break;
    case PLI_DLINK_STATUS:
        hear_status(side, f, &u);
        break;
    case PLI_DLINK_LOST:
        if (f->a < job->n_host) {
            char *why = pli_unpack_text(&u);
            lose(f->a, why != NULL ? why : "it cannot be reached");
            free(why);
        }
        break;
    default:
        hear_rest(job, host, f);
        break;
    }
}

static void link_lost(struct pli_dlink *l, const char *why)
{
    lose(l->host, why);
    check_shown();
}

static void came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    if (pli_launcher.ckpt_hooks->daemon_came(fd, host, keys) ||
        pli_join_call_came(fd, host, keys) || pli_host_join_came(fd, host, keys)) {
        return;
    }
    bool is_ours =
        host < job->n_host && pli_daemon_tree_parent(host, head->spec.tree) == PLI_DAEMON_TREE_TOP;
    if (!is_ours || head->hosts[host].link.watch.fd >= 0 || head->hosts[host].is_lost) {
        close(fd);
        return;
    }
    struct pli_dlink *l = &head->hosts[host].link;
    *l = (struct pli_dlink){ .host = host, .hear = hear, .lost = link_lost };
    pli_dlink_open(l, fd, keys);
    pli_ssh_came(host);
}

// The first host of which nothing was heard yet is named: that is the one to look at.
static void show_progress(struct pli_timer *t)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    uint32_t n = 0, missing = 0;
    for (uint32_t h = job->n_host; h-- > 0;) {
        bool is_heard = head->hosts[h].is_up || head->hosts[h].is_lost;
        n += is_heard;
        missing = is_heard ? missing : h;
    }
    if (head->is_started || pli_supervisor_is_ending() || n == job->n_host) {
        pli_output_progress("%s", "");
        return;
    }
    pli_output_progress("%u of %u hosts have answered, not yet: %s%s", n, job->n_host,
                        job->hosts[missing].name, n + 1 < job->n_host ? " ..." : "");
    pli_loop_timer(t, (uint64_t)PROGRESS_MS * PLI_MS);
}

static void cannot_reach(uint32_t host, const char *why)
{
    (void)host;
    if (!pli_supervisor_is_ending()) {
        pli_say("%s", why);
    }
    pli_supervisor_fail(1, false);
}

bool pli_head_run_begin(struct pli_job *job, char **argv)
{
    struct pli_head *head = pli_launcher.head;
    head->program = argv;
    head->hear = hear;
    head->lost = link_lost;
    head->ended_timer.fire = tell_ended;
    head->show_timer.fire = show_late;
    head->progress_timer.fire = show_progress;
    pli_loop_timer(&head->progress_timer, (uint64_t)PROGRESS_MS * PLI_MS);
    head->leave_timer.fire = show_late;           // only to wake up
    uint32_t cap = job->n_host + PLI_NODE_N_LATE; // what is pointed to stays where it is
    head->hosts = pli_say_need(calloc(cap, sizeof *head->hosts));
    head->host_info = pli_say_need(calloc(cap, sizeof *head->host_info));
    job->hosts = pli_say_need(reallocarray(job->hosts, cap, sizeof *job->hosts));
    head->sites = pli_say_need(
        calloc(job->node.header->n_row + job->node.header->n_more, sizeof *head->sites));
    for (uint32_t h = 0; h < cap; h++) {
        head->hosts[h].link.watch.fd = -1;
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        head->hosts[h].is_lost = job->hosts[h].is_lost; // before the checkpoint was made
        head->n_up += head->hosts[h].is_lost;
    }
    memcpy(head->spec.secret, job->node.header->secret, sizeof head->spec.secret);
    static const unsigned char none[PLI_DAEMON_HANDSHAKE_SECRET];
    if (memcmp(head->spec.secret, none, sizeof none) == 0) {
        pli_say("this system gives no random numbers, without which no other host can be trusted");
        return false;
    }
    head->spec.job_id = job->node.header->job;
    head->spec.launcher = pli_ssh_words(job);
    if (head->spec.launcher == NULL && job->opt.is_movable) {
        pli_say("--movable needs --launcher ssh: srun starts one daemon on a host");
        return false;
    }
    head->spec.agent = pli_ssh_self();
    if (job->opt.agent != NULL) {
        head->spec.agent = pli_say_need(strdup(job->opt.agent));
    }
    // srun has a tree of its own.
    head->spec.tree.n = job->n_host;
    head->spec.tree.fan = head->spec.launcher != NULL && !job->opt.is_movable && head->n_up == 0
                              ? (uint32_t)pli_conf.launch_fan
                              : job->n_host;
    pli_daemon_spec_make(&head->spec, job);
    if (!pli_daemon_auth_open(head->spec.secret, came, &head->place) ||
        (job->opt.is_open_world && !pli_join_call_open(job))) {
        return false;
    }
    pli_ssh_begin(job, &head->spec, PLI_DAEMON_TREE_TOP, &head->place, cannot_reach);
    return true;
}

enum pli_role_stuck pli_head_run_is_stuck(struct pli_job *job, struct pli_job_status_stuck *out)
{
    struct pli_head *head = pli_launcher.head;
    bool is_stuck = head->is_started, is_answered = true, is_sure = head->this_round > 0;
    uint32_t n_here = 0;
    *out = (struct pli_job_status_stuck){ 0 };
    for (uint32_t h = 0; h < job->n_host; h++) {
        const struct pli_head_host *s = &head->hosts[h];
        if (s->is_lost || has_left(h)) {
            continue;
        }
        n_here++;
        is_stuck &= s->is_stuck;
        is_answered &= s->round == head->this_round;
        is_sure &= s->is_sure;
        out->mark = (out->mark ^ s->mark) * 0x100000001b3u + h;
        out->n_poll += s->n_poll;
    }
    if (!is_stuck || n_here == 0) { // where all have ended no rank waits
        return PLI_ROLE_STUCK_NOT;
    }
    // They all seem to be; only answers to one question, asked when they did, count. The next one
    // is not asked before all have answered. Hosts that came since have not heard it.
    head->this_round += is_answered;
    for (uint32_t h = 0; h < job->n_host; h++) {
        const struct pli_head_host *s = &head->hosts[h];
        if (!s->is_lost && !has_left(h) && s->round != head->this_round) {
            pli_head_send(h, PLI_DLINK_ROUND, 0, head->this_round, NULL, 0);
        }
    }
    return is_answered && is_sure ? PLI_ROLE_STUCK_SURE : PLI_ROLE_STUCK_ASKED;
}

static void show_late(struct pli_timer *t)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    (void)t;
    for (uint32_t h = 0; h < job->n_host; h++) {
        head->hosts[h].is_shown = true;
    }
    check_shown();
}

void pli_head_run_show(enum pli_look what, uint32_t index, void (*done)(void))
{
    struct pli_job *job = pli_launcher.job;
    struct pli_head *head = pli_launcher.head;
    head->on_shown = done;
    if (what == PLI_LOOK_STACKS) {
        pli_stack_collect_clear(&job->node);
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        head->hosts[h].is_shown = false;
    }
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_GET_STATUS, (uint16_t)what, index, NULL, 0);
    pli_loop_timer(&head->show_timer,
                   (uint64_t)(what == PLI_LOOK_STACKS ? STACKS_MS : SHOW_MS) * PLI_MS);
    check_shown();
}

bool pli_head_run_is_showing(void)
{
    struct pli_head *head = pli_launcher.head;
    return head->on_shown != NULL;
}

const char *pli_head_run_site(uint32_t row)
{
    struct pli_head *head = pli_launcher.head;
    return head->sites[row] != NULL ? head->sites[row] : "";
}

void pli_head_run_finish(const struct pli_job *job, bool is_bad)
{
    struct pli_head *head = pli_launcher.head;
    head->is_leaving = true;
    pli_gdb_hosts_close();
    pli_process_table_free();
    pli_trace_collect_all(job);
    pli_recording_finish(job);
    pli_launcher.ckpt_hooks->end_moves();
    pli_host_join_end();
    pli_join_call_end();
    pli_daemon_auth_close();
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_QUIT, is_bad, 0, NULL, 0);
    uint64_t until = pli_clock_ns() + (uint64_t)LEAVE_MS * PLI_MS;
    for (bool is_open = true; is_open && pli_clock_ns() < until;) {
        is_open = false;
        for (uint32_t h = 0; h < job->n_host; h++) {
            is_open |= head->hosts[h].link.watch.fd >= 0;
        }
        if (is_open) {
            pli_loop_timer(&head->leave_timer, 100 * (uint64_t)PLI_MS);
            pli_loop_once(true);
        }
    }
    pli_ssh_end();
}
