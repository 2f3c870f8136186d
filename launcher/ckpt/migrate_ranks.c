// SPDX-License-Identifier: BSD-3-Clause
// Moves ranks to another host, in mpiexec. The daemon that is to have the ranks is started first,
// and reports what is wrong there before any rank stops. Until its ranks are all restored, and wait
// for their accept sockets, the original ones only stand still, and resume whatever goes wrong.
#include "launcher/ckpt/migrate_ranks.h"

#include "launcher/hosts/host_join.h"
#include "launcher/ranks/rank_request.h"
#include "base/clock.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/migrate_gather.h"
#include "launcher/job/job.h"
#include "launcher/ranks/stdin.h"
#include "launcher/hosts/daemon_addr.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/hosts/ssh.h"
#include "launcher/base/refuse.h"
#include "launcher/hosts/host_table.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { AGAIN_MS = 20, LEAVE_MS = 2000, MAX_LATER = 16 };

static void go_on(struct pli_timer *t);

struct pli_migrate_ranks_state {
    enum {
        NONE,
        STARTING, // the daemon is on its way
        WAITING,  // for a checkpoint that is being made
        STOPPING, // all ranks stand still, or will; theirs are written
        TAKING,   // the daemon brings them back
        TAKEN,    // it has
        GOING,    // they are there; all are called
        LEAVING   // one of the two daemons has nothing more to do, and is to end
    } stage;
    struct pli_job *job;
    void *token;
    uint32_t host;
    struct pli_host *to;        // where
    struct pli_dlink link, old; // to the daemon there, to the one here when it has lost them
    struct pli_daemon_spec spec;
    struct pli_host_table info;
    struct pli_daemon_addr image_addr; // where it takes the images
    struct pli_timer timer;
    uint64_t stop_ns;
    struct pli_answer answer;
    bool is_early; // the answer is given before the ranks stop
    // Came while a daemon was about to end, and are served when it has.
    struct {
        void *token;
        struct pli_ask_migrate want;
    } later[MAX_LATER];
    uint32_t n_later;
    char said[PLI_CKPT_WHY]; // by the daemon
};

// Made when it is first asked for.
static struct pli_migrate_ranks_state *state(void)
{
    struct pli_migrate_ranks_state *m = pli_launcher.ckpt->migrate_ranks;
    if (m == NULL) {
        m = pli_launcher.ckpt->migrate_ranks = pli_say_need(calloc(1, sizeof *m));
        m->link.watch.fd = m->old.watch.fd = -1;
        m->timer.fire = go_on;
    }
    return m;
}

static void tell(uint16_t kind, uint16_t flag, const struct pli_pack *p)
{
    struct pli_dframe f = { kind, flag, state()->host, 0, p->data, p->len };
    pli_dlink_send(&state()->link, &f);
}

static void quit(struct pli_dlink *l)
{
    struct pli_dframe f = { .kind = PLI_DLINK_QUIT, .host = state()->host };
    pli_dlink_send(l, &f);
}

// The first that can be is begun. The others are refused: a rank that waits for an answer would not
// stop for that.
static void serve_later(void)
{
    uint32_t n = state()->n_later;
    state()->n_later = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pli_answer a = { 0 };
        void *token = state()->later[i].token;
        if (pli_migrate_ranks_ask(state()->job, (const char *)&state()->later[i].want,
                                  sizeof state()->later[i].want, token, &a)) {
            pli_rank_request_answer(token, &a);
        }
    }
}

// The move is over when the daemon that has no ranks any more has ended.
static void finish(void)
{
    if (state()->stage != LEAVING || state()->link.watch.fd >= 0 || state()->old.watch.fd >= 0) {
        return;
    }
    state()->stage = NONE;
    pli_ckpt_hosts_unmark();
    if (state()->answer.error != 0) {
        pli_say("no rank was moved: %s", state()->answer.text);
    }
    if (state()->token != NULL) {
        pli_rank_request_answer(state()->token, &state()->answer);
        state()->token = NULL;
    }
    serve_later();
}

static void leave(int error, const char *why)
{
    if (error != 0) {
        pli_refuse(&state()->answer, error, "%s", why);
        quit(&state()->link);
    }
    state()->stage = LEAVING;
    finish();
}

// It cannot be done. Ranks that stand still are called first.
static void give_up(int error, const char *why)
{
    if (state()->stage == STARTING || state()->stage == WAITING) {
        leave(error, why);
    } else if (state()->stage == STOPPING || state()->stage == TAKING || state()->stage == TAKEN) {
        pli_ckpt_fail(error, "%s", why);
        if (pli_launcher.ckpt->state == PLI_CKPT_MOVING) {
            pli_ckpt_head_call();
        }
    }
}

// The daemon there is ready. A rank that has asked is told so now: it has to stop with the others.
static void answer_early(void)
{
    if (state()->is_early && state()->token != NULL) {
        pli_rank_request_answer(state()->token, &state()->answer);
        state()->token = NULL;
    }
}

static void move_over(int error, const char *why)
{
    pli_stdin_release();
    if (error == 0) {
        pli_say("%s; the move took %.2f s, for %.3f s of which all other ranks stood still, too",
                state()->answer.text, (double)(pli_clock_ns() - state()->stop_ns) * 1e-9,
                (double)pli_migrate_gather_ns() * 1e-9);
    }
    leave(error, why);
}

static void ignore(struct pli_dlink *l, const struct pli_dframe *f)
{
    (void)l;
    (void)f;
}

static void old_lost(struct pli_dlink *l, const char *why)
{
    (void)l;
    (void)why;
    finish();
}

static void lost(struct pli_dlink *l, const char *why)
{
    char text[PLI_CKPT_WHY];
    (void)l;
    if (state()->stage == LEAVING) {
        finish();
        return;
    }
    snprintf(text, sizeof text, "host %.64s is lost: %.200s", state()->to->name, why);
    give_up(EHOSTDOWN, text);
}

static void start_ranks(struct pli_unpack *u)
{
    struct pli_pack p = { 0 };
    state()->info = (struct pli_host_table){ 0 };
    if (state()->stage != TAKING || !pli_host_table_unpack(state()->job, u, &state()->info)) {
        give_up(EPROTO, "the daemon there said something that makes no sense");
        return;
    }
    for (uint32_t h = 0; h < state()->job->n_host; h++) {
        pli_host_table_pack_place(h == state()->host ? &state()->info : &pli_head_host_info()[h],
                                  &p);
    }
    pli_pack_u32(&p, 0); // the memory has its process sets
    tell(PLI_DLINK_START, 0, &p);
    pli_pack_fini(&p);
}

static void hear_stage(uint16_t stage, struct pli_unpack *u)
{
    if (stage == PLI_CKPT_STAGE_READY && state()->stage == STARTING) {
        pli_daemon_addr_unpack(&state()->image_addr, u);
        if (u->is_bad) {
            give_up(EPROTO, "the daemon there said something that makes no sense");
            return;
        }
        state()->stage = WAITING;
        pli_ckpt_hosts_unmark();
        answer_early();
        pli_loop_timer(&state()->timer, 0);
    } else if (stage == PLI_CKPT_STAGE_RESTORED && state()->stage == TAKING) {
        state()->stage = TAKEN;
        pli_loop_timer(&state()->timer, 0);
    }
}

// What the daemon says while the ranks are not its own.
static void hear(struct pli_dlink *l, const struct pli_dframe *f)
{
    (void)l;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    switch (f->kind) {
    case PLI_DLINK_SAY:
        if (state()->said[0] == '\0') { // the first is the reason
            pli_say_bare(f->data, f->len, state()->said, sizeof state()->said);
        }
        break;
    case PLI_DLINK_HELLO:
        start_ranks(&u);
        break;
    case PLI_DLINK_CKPT_STAGE:
        hear_stage(f->flag, &u);
        break;
    case PLI_DLINK_FAILED:
    case PLI_DLINK_FAILURE:
    case PLI_DLINK_OVER:
        give_up(EIO, state()->said[0] != '\0' ? state()->said : "a rank died there");
        break;
    default:
        break;
    }
}

bool pli_migrate_ranks_came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys)
{
    if (state()->stage != STARTING || host != state()->host || state()->link.watch.fd >= 0) {
        return false;
    }
    state()->link.host = host;
    state()->link.hear = hear;
    state()->link.lost = lost;
    pli_dlink_open(&state()->link, fd, keys);
    pli_ssh_came(host);
    return true;
}

static void take_images(void)
{
    struct pli_pack p = { 0 };
    const struct pli_pack *said = pli_ckpt_head_said();
    if (state()->stage != STOPPING || state()->link.watch.fd < 0) {
        pli_ckpt_fail(EHOSTDOWN, "host %s is lost", state()->to->name);
        pli_ckpt_head_call();
        return;
    }
    state()->stage = TAKING;
    pli_pack_u32(&p, pli_rank_rows_count());
    pli_pack_bytes(&p, said->data, said->len);
    tell(PLI_DLINK_CKPT_STEP, PLI_CKPT_STEP_RESTORE, &p);
    pli_pack_fini(&p);
}

static void pack_destination(struct pli_pack *to)
{
    pli_daemon_addr_pack(&state()->image_addr, to);
}

static void pack_streams(uint32_t host, struct pli_pack *to)
{
    for (struct pli_proc_task *t = pli_job_next(state()->job, NULL);
         t != NULL && state()->stage == GOING; t = pli_job_next(state()->job, t)) {
        if (t->host == host && host == state()->host && !t->is_over) {
            pli_pack_u32(to, t->number);
            pli_pack_u32(to, (uint32_t)t->out.len);
            pli_pack_u32(to, (uint32_t)t->err.len);
        }
    }
}

// Which processes have ended, also since the memory was written.
static void tell_ended(void)
{
    struct pli_pack p = { 0 };
    for (struct pli_proc_task *t = pli_job_next(state()->job, NULL); t != NULL;
         t = pli_job_next(state()->job, t)) {
        if (t->is_over) {
            pli_pack_u32(&p, t->is_spawned ? t->number : t->rank);
            pli_pack_u32(&p, t->n);
        }
    }
    pli_head_send(state()->host, PLI_DLINK_ENDED, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

// Which process sets there are, as some were made and freed since the memory was written, too.
static void tell_sets(struct pli_pack *p)
{
    p->len = 0;
    pli_host_table_pack_made(state()->job, p);
    pli_head_send(state()->host, PLI_DLINK_SETS, 1, 0, p->data, p->len);
}

// From here on they are there and nowhere else.
static void commit(void)
{
    struct pli_dlink *side = pli_head_link(state()->host);
    struct pli_pack p = { 0 };
    pli_fault("mpiexec_move_commit", 0);
    pli_dlink_hand(&state()->old, side);
    state()->old.hear = ignore;
    state()->old.lost = old_lost;
    quit(&state()->old);
    pli_dlink_hand(side, &state()->link);
    struct pli_host *h = &state()->job->hosts[state()->host];
    h->name = state()->to->name;
    h->is_local = state()->to->is_local;
    pli_head_host_info()[state()->host] = state()->info;
    state()->stage = GOING;
    pli_pack_text(&p, h->name);
    pli_host_table_pack_place(&state()->info, &p);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_ADDRESS, 0, state()->host, p.data, p.len);
    tell_sets(&p);
    pli_pack_fini(&p);
    tell_ended();
    pli_stdin_release();
    pli_ckpt_head_call();
    pli_fault("mpiexec_move_committed", 0);
}

static void gathered(void)
{
    pli_loop_timer(&state()->timer, 0);
}

static const struct pli_ckpt_move_ops ops = {
    .pack_destination = pack_destination,
    .take = take_images,
    .gathered = gathered,
    .pack_streams = pack_streams,
    .over = move_over,
};

static void go_on(struct pli_timer *t)
{
    if (state()->stage == WAITING) {
        pli_stdin_hold(state()->host);
        state()->stop_ns = pli_clock_ns();
        if (pli_ckpt_move(state()->host, &ops)) {
            state()->stage = STOPPING;
        } else {
            pli_stdin_release();
            pli_loop_timer(t, (uint64_t)AGAIN_MS * PLI_MS);
        }
    } else if (state()->stage == TAKEN && pli_launcher.ckpt->state == PLI_CKPT_MOVING &&
               pli_launcher.ckpt->error == 0) {
        if (pli_migrate_gather_is_done()) {
            commit();
        } else {
            pli_migrate_gather_want();
        }
    }
}

static void cannot_reach(uint32_t host, const char *why)
{
    (void)host;
    if (state()->stage == STARTING) {
        give_up(EHOSTUNREACH, why);
    }
}

// The ranks that share the memory of this one, as people say it: "rank 3", "ranks 2 and 3".
static uint32_t list_ranks(const struct pli_job *job, uint32_t host, char *to, size_t cap)
{
    uint32_t n = 0, last = 0;
    size_t len = 0;
    to[0] = '\0';
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (t->host == host && !t->is_over && len < cap) {
            if (n++ > 0) {
                len += (size_t)snprintf(to + len, cap - len, "%s%u", n > 2 ? ", " : "", last);
            }
            last = t->rank;
        }
    }
    if (len < cap) {
        snprintf(to + len, cap - len, "%s%u", n > 1 ? " and " : "", last);
    }
    return n;
}

// The last process that came as this rank: another one may be about to leave.
static const struct pli_proc_task *task_of_process(const struct pli_job *job, uint32_t index)
{
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        if (!t->is_over && job->node.rows[t->first].index == index) {
            return t;
        }
    }
    return NULL;
}

static const struct pli_proc_task *task_of(const struct pli_job *job, uint32_t rank)
{
    const struct pli_proc_task *found = NULL;
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        bool is_it = !t->is_over && rank - t->rank < t->n;
        found = is_it && (found == NULL || t->number > found->number) ? t : found;
    }
    return found;
}

// Whether the job as a whole can do it.
static bool may_move(const struct pli_job *job, struct pli_answer *a)
{
    const char *why = NULL;
    if (job->opt.is_state || (job->opt.ckpt_dir == NULL && !job->opt.is_movable)) {
        why = "a rank goes to another host as an image of its process, for which it has to be "
              "prepared: start the job with mpiexec --movable, or with images as checkpoints "
              "(--checkpoint-dir DIR)";
    } else if (pli_on_failure_is_survived(job)) {
        why = "ranks of a job that goes on after failures (--on-failure) are not moved";
    } else if (state()->stage != NONE || pli_host_join_is_on()) {
        pli_refuse(a, EBUSY,
                   state()->stage != NONE ? "other ranks are being moved; try again"
                                          : "other hosts are about to join; try again");
        return false;
    } else {
        why = pli_head_spec()->launcher == NULL
                  ? "hosts of this job were reached with srun, which starts no daemon later; "
                    "mpiexec --launcher ssh can move ranks"
              : pli_head_n_first() > pli_head_spec()->tree.fan
                  ? "daemons of this job start each other; mpiexec --movable, or a larger "
                    "PLIANT_LAUNCH_FAN, lets mpiexec start them all"
                  : pli_ckpt_obstacle(job);
    }
    if (why != NULL) {
        pli_refuse(a, ENOTSUP, "%s", why);
    }
    return why == NULL;
}

// Which ranks would go, and whether they may.
static bool may_go(const struct pli_job *job, const struct pli_ask_migrate *want,
                   const struct pli_proc_task *t, struct pli_answer *a)
{
    char ranks[120];
    if (t == NULL) {
        pli_refuse(a, EINVAL, "there is no rank %u, or it has ended", want->rank);
        return false;
    }
    const char *here = job->hosts[t->host].name;
    a->n = list_ranks(job, t->host, ranks, sizeof ranks);
    a->first = want->rank;
    if (strcasecmp(here, want->host) == 0) {
        pli_refuse(a, EEXIST, "rank %u is on host %.64s already", want->rank, here);
        return false;
    }
    if (!pli_hosts_is_name(want->host, strlen(want->host))) {
        pli_refuse(a, EINVAL, "'%.64s' is not the name of a host", want->host);
        return false;
    }
    if (a->n > 1 && (want->together & PLI_MIGRATE_TOGETHER) == 0) {
        pli_refuse(a, EXDEV,
                   "ranks %.90s share a memory: they go together (mpictl migrate --together) or "
                   "not at all. With mpiexec --movable each has its own",
                   ranks);
        return false;
    }
    snprintf(a->text, sizeof a->text,
             a->n > 1 ? "ranks %s are on host %s" : "rank %s is on host %s", ranks, want->host);
    return true;
}

// The job as the daemon is told of it.
static void make_spec(const struct pli_job *job, const struct pli_daemon_spec *from)
{
    struct pli_job as = *job;
    as.hosts = pli_say_need(malloc(job->n_host * sizeof *as.hosts));
    memcpy(as.hosts, job->hosts, job->n_host * sizeof *as.hosts);
    as.hosts[state()->host] = *state()->to;
    as.n_task = job->n_first;
    as.opt.restart = NULL;
    as.opt.takes_moved = true;
    state()->spec = *from;
    state()->spec.body = (struct pli_pack){ 0 };
    pli_daemon_spec_make(&state()->spec, &as);
    free(as.hosts);
}

static bool begin(struct pli_job *job, uint32_t host, const char *name)
{
    char *here = getcwd(NULL, 0);
    if (here == NULL || (job->opt.ckpt_dir != NULL && !pli_ckpt_hosts_mark_dir(job))) {
        free(here);
        return false;
    }
    free(here);
    state()->job = job;
    state()->host = host;
    state()->to = pli_say_need(calloc(1, sizeof *state()->to)); // stays: messages may name it
    *state()->to = (struct pli_host){ .name = pli_say_need(strdup(name)),
                                      .is_local = pli_hosts_is_this(name) };
    make_spec(job, pli_head_spec());
    state()->said[0] = '\0';
    state()->stage = STARTING;
    pli_fault("mpiexec_move_start", 0);
    bool is_begun = pli_ssh_one(&state()->spec, host, state()->to, pli_head_addr(), cannot_reach);
    pli_pack_fini(&state()->spec.body);
    state()->stage = is_begun ? STARTING : NONE;
    return is_begun;
}

bool pli_migrate_ranks_ask(struct pli_job *job, const char *body, size_t len, void *token,
                           struct pli_answer *a)
{
    struct pli_ask_migrate want;
    if (len != sizeof want) {
        pli_refuse(a, EINVAL, "a request to move a rank has %zu bytes", sizeof want);
        return true;
    }
    memcpy(&want, body, sizeof want);
    want.host[sizeof want.host - 1] = '\0';
    if (state()->stage == LEAVING && state()->n_later < MAX_LATER) {
        state()->later[state()->n_later].token = token;
        state()->later[state()->n_later++].want = want;
        return false;
    }
    bool is_early = (want.together & PLI_MIGRATE_BY_PROCESS) != 0;
    const struct pli_proc_task *t =
        is_early ? task_of_process(job, want.rank) : task_of(job, want.rank);
    want.rank = t != NULL ? t->rank : want.rank;
    if (!may_move(job, a) || !may_go(job, &want, t, a)) {
        return true;
    }
    if (!begin(job, t->host, want.host)) {
        pli_refuse(a, errno, "no daemon can be started for it: %s", strerror(errno));
        return true;
    }
    state()->token = token;
    state()->is_early = is_early;
    state()->answer = *a;
    return false;
}

void pli_migrate_ranks_forget(const void *token)
{
    state()->token = state()->token == token ? NULL : state()->token;
    for (uint32_t i = 0; i < state()->n_later; i++) {
        if (state()->later[i].token == token) {
            state()->later[i] = state()->later[--state()->n_later];
            return;
        }
    }
}

bool pli_migrate_ranks_is_on(void)
{
    return state()->stage != NONE;
}

void pli_migrate_ranks_end(void)
{
    state()->token = NULL;
    state()->n_later = 0;
    quit(&state()->link);
    pli_dlink_drain(&state()->link, LEAVE_MS);
    pli_dlink_drain(&state()->old, LEAVE_MS);
}
