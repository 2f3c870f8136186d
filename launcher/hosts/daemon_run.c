// SPDX-License-Identifier: BSD-3-Clause
// Runs a daemon: it reads the job from standard input, calls mpiexec, runs the tasks, and ends when
// mpiexec says so or is gone.
#include "launcher/hosts/trace_collect.h"
#include "launcher/hosts/daemon_watchdog.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/hosts/daemon_run.h"

#include "launcher/job/role.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/daemon_state.h"
#include "launcher/ranks/rank_request.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "boot/pset.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/hosts/image_transfer.h"
#include "launcher/ranks/listener.h"
#include "launcher/job/environment.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/gdb_hosts.h"
#include "launcher/ranks/gdb_ranks.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/ranks/launch.h"
#include "launcher/hosts/dlink.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/hosts/join_replay.h"
#include "tools/lib/job_status.h"
#include "launcher/job/binding.h"
#include "launcher/job/program.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/hosts/ssh.h"
#include "launcher/hosts/spawn_daemon.h"
#include "launcher/hosts/host_table.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/hosts/stack_collect.h"
#include "launcher/hosts/status_pack.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/daemon_tree.h"
#include "launcher/ranks/deadlock.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/job/world_version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 100, STUCK_EVERY = 4, DRAIN_MS = 2000, KILL_MS = 5000 };

static void look(struct pli_timer *t);

static void say_up(const char *text, unsigned long len)
{
    pli_daemon_send(PLI_DLINK_SAY, 0, 0, text, len);
}

// What cannot be done is said, and mpiexec ends the job with this status.
static void leave_early(int status)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    if (job->opt.is_joining && daemon->has_begun) {
        daemon->is_leaving = true; // the others go on without this host
        return;
    }
    pli_daemon_send(PLI_DLINK_FAILED, 0, (uint32_t)status, NULL, 0);
    pli_dlink_drain(&daemon->up, DRAIN_MS);
    if (daemon->client != NULL) {
        daemon->client->drain();
    }
}

// Tell whether all ranks of this host seem to wait, if that is news; answer mpiexec's question when
// all of them have looked, or one no longer waits.
static void tell_stuck(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_job_status_stuck s = { 0 };
    bool is_now = daemon->is_running && job->n_started == job->n_task &&
                  pli_job_status_is_stuck(&job->node, pli_deadlock_is_row_over, job, &s);
    if (daemon->round != 0 && is_now && !s.is_confirmed) {
        pli_deadlock_ask(job, true);
        return;
    }
    if (daemon->round == 0 && is_now == daemon->is_stuck) {
        return; // no news
    }
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, is_now);
    pli_pack_u64(&p, s.mark);
    pli_pack_u32(&p, s.n_poll);
    pli_daemon_send(PLI_DLINK_STUCK, 0, daemon->round, p.data, p.len);
    pli_pack_fini(&p);
    daemon->is_stuck = is_now;
    daemon->round = 0;
}

// mpiexec asks; one that it asks again is being answered.
static void hear_question(uint32_t round)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    if (daemon->is_running && daemon->round != round) {
        daemon->round = round;
        pli_deadlock_ask(pli_launcher.job, false);
    }
}

static void look(struct pli_timer *t)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    pli_daemon_report_changes();
    bool is_due = ++daemon->n_look % STUCK_EVERY == 0 || daemon->round != 0;
    if (is_due && job->opt.on_deadlock != PLI_DEADLOCK_IGNORE) {
        tell_stuck();
    }
    if (job->n_over < job->n_task || pli_rank_rows_are_used(job)) {
        pli_loop_timer(t, (uint64_t)LOOK_MS * PLI_MS);
    }
}

static void begin_tasks(const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    daemon->has_begun = true;
    if (daemon->is_running || !pli_host_table_fill_node(job, &u) || !pli_launch_check(job) ||
        !pli_gdb_hosts_serve(job) ||
        !pli_watchdog_start(job, daemon->program, pli_daemon_watchdog_after()) ||
        (job->from != NULL && !pli_launcher.ckpt_hooks->run_restart(job, daemon->signals))) {
        leave_early(1);
        pli_supervisor_kill();
        return;
    }
    daemon->last_state = pli_say_need(
        calloc(job->node.header->n_row + job->node.header->n_more, sizeof *daemon->last_state));
    daemon->is_running = true;
    pli_pset_retell(&job->node);
    pli_listener_begin();
    pli_loop_timer(&daemon->look_timer, (uint64_t)LOOK_MS * PLI_MS);
}

static struct pli_proc_task *find_task(uint32_t number)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_proc_task *t = pli_job_next(job, NULL);
    while (t != NULL && t->number != number) {
        t = pli_job_next(job, t);
    }
    return t;
}

static void take_world(struct pli_unpack *u)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_answer a = { 0 };
    pli_spawn_daemon_commit();
    if (!pli_world_version_take(job, u, &a)) {
        pli_say("host %s: the new version of the world cannot be taken up: %s",
                job->hosts[job->here].name, a.text);
        pli_daemon_send(PLI_DLINK_FAILED, 0, 1, NULL, 0);
    }
}

static void take_replay(struct pli_unpack *u)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    pli_fault("daemon_join_replay", job->here);
    if (daemon->is_running) {
        pli_join_replay_take(job, u);
    }
    if (u->is_bad) {
        pli_say("host %s: mpiexec sent something that makes no sense", job->hosts[job->here].name);
        leave_early(1);
    }
}

static void take_ended(struct pli_unpack *u)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    while (daemon->is_running && u->at < u->end && !u->is_bad) {
        uint32_t first = pli_unpack_u32(u), n = pli_unpack_u32(u);
        for (uint32_t r = first; r < job->n_rank + job->n_extra && r - first < n; r++) {
            pli_node_set_ended(&job->node, job->base + r);
        }
        pli_rank_rows_ended(job, first);
    }
}

static void show(const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_pack p = { 0 };
    if (daemon->is_running && f->flag == PLI_LOOK_STACKS) {
        pli_stack_collect_begin(job, f->a);
        return; // it is sent when it is there
    }
    if (daemon->is_running) {
        pli_status_pack_pack_rows(&job->node, f->flag == PLI_LOOK_PLACES, &p);
    }
    pli_daemon_send(PLI_DLINK_STATUS, f->flag, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void hear_rest(struct pli_job *job, const struct pli_dframe *f)
{
    if (!pli_trace_collect_asked(f) && !pli_daemon_watchdog_told(f) && !pli_gdb_hosts_typed(f)) {
        pli_launcher.ckpt_hooks->hear_clone(job, f);
    }
}

static void hear_mine(const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    struct pli_proc_task *t;
    switch (f->kind) {
    case PLI_DLINK_START:
        begin_tasks(f);
        break;
    case PLI_DLINK_IN:
        pli_io_forward_put(f->a, f->data, f->len);
        break;
    case PLI_DLINK_OUT_DONE:
        t = find_task(f->a);
        if (t != NULL) {
            pli_io_forward_credit(f->flag == STDERR_FILENO ? &t->err : &t->out, pli_unpack_u32(&u));
        }
        break;
    case PLI_DLINK_SIGNAL:
        pli_supervisor_signal(job, (int)f->a, find_task(pli_unpack_u32(&u)), f->flag);
        break;
    case PLI_DLINK_ROUND:
        hear_question(f->a);
        break;
    case PLI_DLINK_GET_STATUS:
        show(f);
        break;
    case PLI_DLINK_SETS:
        if (daemon->is_running) {
            pli_host_table_add_made(job, &u, f->flag != 0, f->a);
        }
        break;
    case PLI_DLINK_ENDED:
        take_ended(&u);
        break;
    case PLI_DLINK_ANSWER:
        pli_rank_request_answered(f->a, f->data, f->len);
        break;
    case PLI_DLINK_EXPECT:
        pli_spawn_daemon_coming(job, f);
        pli_loop_timer(&daemon->look_timer, (uint64_t)LOOK_MS * PLI_MS);
        break;
    case PLI_DLINK_START_LATER:
        pli_spawn_daemon_go(job, f);
        break;
    case PLI_DLINK_DROP:
        pli_spawn_daemon_drop(job, f);
        break;
    case PLI_DLINK_WORLD:
        take_world(&u);
        break;
    case PLI_DLINK_TO_AGENT:
        pli_impi_agent_tell((char)f->flag, f->data, f->len);
        break;
    case PLI_DLINK_NEWS:
        if (daemon->is_running) {
            pli_failure_news_unpack(job, f->data, f->len);
        }
        break;
    case PLI_DLINK_CKPT:
        pli_launcher.ckpt_hooks->hear_save(job, &u);
        break;
    case PLI_DLINK_CKPT_STEP:
        pli_launcher.ckpt_hooks->hear_step(job, f);
        break;
    case PLI_DLINK_ADDRESS:
        pli_host_table_place(job, f->a, &u);
        break;
    case PLI_DLINK_REPLAY:
        take_replay(&u);
        break;
    case PLI_DLINK_QUIT:
        daemon->is_leaving = true;
        daemon->is_bad_end = f->flag != 0;
        break;
    default:
        hear_rest(job, f);
        break;
    }
}

// A frame from above: for me, for all, or for one below.
static void hear_up(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    (void)l;
    bool is_all = f->host == (uint32_t)PLI_DLINK_ALL;
    uint32_t next =
        is_all ? UINT32_MAX : pli_daemon_tree_next(job->here, f->host, daemon->spec.tree);
    for (uint32_t i = 0; i < daemon->n_below; i++) {
        if (is_all || daemon->below[i].host == next) {
            pli_dlink_send(&daemon->below[i], f);
        }
    }
    if (is_all || f->host == job->here) {
        hear_mine(f);
    }
}

static void lost_up(struct pli_dlink *l, const char *why)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    (void)l;
    daemon->is_leaving = daemon->is_bad_end = daemon->is_up_lost = true;
    if (daemon->client != NULL) {
        daemon->client->lost(why);
    }
    pli_supervisor_kill();
}

static void hear_below(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    if (pli_daemon_tree_next(job->here, f->host, daemon->spec.tree) == l->host) {
        pli_dlink_send(&daemon->up, f);
    }
}

static void tell_lost(uint32_t host, const char *why)
{
    struct pli_pack p = { 0 };
    pli_pack_text(&p, why);
    pli_daemon_send(PLI_DLINK_LOST, 0, host, p.data, p.len);
    pli_pack_fini(&p);
}

static void lost_below(struct pli_dlink *l, const char *why)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    if (!daemon->is_leaving) {
        tell_lost(l->host, why);
    }
}

static void came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    for (uint32_t i = 0; i < daemon->n_below; i++) {
        if (daemon->below[i].host == host && daemon->below[i].watch.fd < 0) {
            pli_dlink_open(&daemon->below[i], fd, keys);
            pli_ssh_came(host);
            return;
        }
    }
    pli_image_transfer_take(fd, keys);
}

static void cannot_reach(uint32_t host, const char *why)
{
    (void)host;
    pli_say("%s", why);
    leave_early(1);
}

bool pli_daemon_run_listen(struct pli_daemon_addr *out)
{
    return pli_daemon_auth_open(pli_launcher.daemon->spec.secret, came, out);
}

static bool start_below(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    uint64_t first = pli_daemon_tree_first(job->here, daemon->spec.tree);
    daemon->n_below = (uint32_t)(pli_daemon_tree_end(job->here, daemon->spec.tree) - first);
    if (daemon->spec.launcher[0] == NULL || daemon->n_below == 0) {
        daemon->n_below = 0;
        return true;
    }
    daemon->below = pli_say_need(calloc(daemon->n_below, sizeof *daemon->below));
    for (uint32_t i = 0; i < daemon->n_below; i++) {
        daemon->below[i] = (struct pli_dlink){ .host = (uint32_t)first + i,
                                               .hear = hear_below,
                                               .lost = lost_below,
                                               .watch = { .fd = -1 } };
    }
    struct pli_daemon_addr place;
    if (!pli_daemon_run_listen(&place)) {
        return false;
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        job->hosts[h].is_local = false; // that was said by mpiexec, of its own host
    }
    pli_ssh_begin(job, &daemon->spec, job->here, &place, cannot_reach);
    return true;
}

// What the user has asked for must be possible here; else mpiexec hears why.
void pli_daemon_run_prepare(struct pli_job *job)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    const char *name = job->hosts[job->here].name;
    if (chdir(job->wdir) != 0) {
        pli_say_bad("host %s: cannot change to the directory mpiexec was started in, %s: %s; "
                    "choose another with --wdir",
                    name, job->wdir, strerror(errno));
    }
    if (daemon->client == NULL) {
        pli_say_where(name);
    }
    pli_launcher.ckpt_hooks->check_dir(job, daemon->spec.job_id);
    pli_launcher.ckpt_hooks->read_restart(job);
    for (uint32_t a = 0; a < job->n_app; a++) {
        bool is_used = job->n_task == 0; // by processes that are started later
        for (uint32_t i = 0; i < job->n_task; i++) {
            is_used |= job->tasks[i].app == &job->apps[a];
        }
        pli_environment_adopt(&job->apps[a]); // processes that are started later have it too
        if (is_used) {
            pli_program_find(&job->apps[a], &job->opt);
        }
    }
    pli_gdb_ranks_plan_host(job);
    pli_binding_plan(job);
    for (uint32_t i = 0; job->opt.is_report && i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        pli_say_plain("rank %u: host %s: %s\n", pli_task_rank(t), name, pli_binding_text(t->place));
    }
}

static void say_hello(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_pack p = { 0 };
    pli_host_table_pack(job, &p);
    pli_daemon_send(PLI_DLINK_HELLO, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

// Tasks that will never be started are over too.
static void tell_rest(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    if (pli_supervisor_is_ending() && !daemon->has_told_rest) {
        daemon->has_told_rest = true;
        for (uint32_t i = job->n_begun; i < job->n_first; i++) {
            pli_daemon_send(PLI_DLINK_OUT, STDOUT_FILENO, job->tasks[i].number, NULL, 0);
            pli_daemon_send(PLI_DLINK_OUT, STDERR_FILENO, job->tasks[i].number, NULL, 0);
            pli_daemon_send(PLI_DLINK_OVER, 0, job->tasks[i].number, NULL, 0);
        }
    }
}

static void run(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    uint64_t until = 0;
    while (!daemon->is_leaving || job->n_over < job->n_started) {
        pli_rank_request_sweep();
        pli_spawn_sweep(job);
        bool is_busy = daemon->is_running && !daemon->is_leaving && pli_supervisor_step(job);
        pli_loop_once(!is_busy);
        if (daemon->client != NULL) {
            daemon->client->step();
        }
        tell_rest();
        if (daemon->is_leaving && until == 0) {
            until = pli_clock_ns() + (uint64_t)KILL_MS * PLI_MS;
            pli_supervisor_kill();
        }
        if (until != 0 && pli_clock_ns() > until) {
            break; // a process that even SIGKILL does not end
        }
    }
}

static void leave(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    pli_launcher.role->clean_up(job, daemon->is_running && daemon->is_bad_end);
    pli_image_transfer_close();
    if (!daemon->is_up_lost || pli_daemon_watchdog_after() == NULL) { // else it has work to do
        pli_watchdog_stop();
    }
    pli_impi_agent_end();
    // The daemons below leave too; their frames until they are gone do not matter.
    for (uint32_t i = 0; i < daemon->n_below; i++) {
        pli_dlink_drain(&daemon->below[i], DRAIN_MS);
    }
    pli_ssh_end();
    pli_dlink_drain(&daemon->up, DRAIN_MS);
    pli_dlink_close(&daemon->up);
}

// Settings that the user gave to mpiexec are for its daemons too.
void pli_daemon_run_settings(void)
{
    struct pli_job *job = pli_launcher.job;
    const struct pli_app *app = &job->apps[0];
    for (int i = 0; i < app->env_own; i++) {
        if (strncmp(app->env[i], "PLIANT_", 7) == 0) {
            putenv(app->env[i]);
        }
    }
    pli_conf_load();
}

// What can be wrong here is known before a rank stands still anywhere.
static bool wait_for_ranks(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    pli_launcher.ckpt_hooks->await_move();
    while (!daemon->is_leaving && job->from == NULL) {
        pli_loop_once(true);
    }
    return !daemon->is_leaving;
}

static bool make_ready(struct pli_job *job, char **argv)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    return (job->from != NULL
                ? pli_host_table_take_node(job, daemon->spec.secret)
                : pli_host_table_make_node(job, daemon->spec.secret, daemon->spec.job_id)) &&
           pli_trace_memory_open(job) && pli_launcher.ckpt_hooks->open_daemon(job) &&
           pli_impi_agent_start(job, argv);
}

int pli_daemon_run_serve(struct pli_job *job, char **argv)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    char why[1024] = "";
    struct pli_daemon_handshake_keys keys;
    daemon->program = argv;
    daemon->look_timer.fire = look;
    job->is_daemon = true;
    job->fault_number = job->here + 1;
    if (!start_below()) {
        return 1;
    }
    if (job->opt.is_joining) {
        pli_fault("daemon_join_call", job->here);
    }
    int fd = pli_daemon_auth_call(&daemon->spec.place, daemon->spec.secret,
                                  daemon->spec.join_id != 0 ? daemon->spec.join_id : job->here,
                                  &keys, why, sizeof why);
    if (fd < 0) {
        fprintf(stderr, "%s\n", why);
        pli_ssh_end();
        return PLI_SSH_NO_CALL;
    }
    daemon->up = (struct pli_dlink){ .hear = hear_up, .lost = lost_up };
    pli_dlink_open(&daemon->up, fd, &keys);
    if (daemon->client == NULL) {
        pli_say_through(say_up);
    }
    pli_say_at_exit(leave_early);
    pli_launcher.role->plan(job);
    if (job->opt.takes_moved && !wait_for_ranks()) {
        leave();
        return 0;
    }
    if (!make_ready(job, argv)) {
        leave_early(1);
        return 1;
    }
    pli_on_failure_begin(job);
    if (job->opt.is_joining) {
        pli_fault("daemon_join_hello", job->here);
    }
    say_hello();
    pli_supervisor_begin(job, daemon->signals);
    run();
    leave();
    return 0;
}

int pli_daemon_run_main(struct pli_job *job, char **argv)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    char name[256] = "", *theirs = NULL;
    job->start_ns = pli_clock_ns();
    daemon->signals = pli_launch_init();
    const char *slurm_name = getenv("SLURMD_NODENAME");
    gethostname(name, sizeof name - 1);
    bool is_slurm = argv[2] == NULL || strcmp(argv[2], "slurm") == 0;
    uint32_t here = is_slurm ? UINT32_MAX : (uint32_t)strtoul(argv[2], NULL, 10);
    switch (pli_daemon_spec_read(&daemon->spec, STDIN_FILENO, here,
                                 slurm_name != NULL ? slurm_name : name, job, &theirs)) {
    case PLI_DAEMON_SPEC_VERSION:
        fprintf(stderr, "there %s, here %s\n", PLIANT_VERSION, theirs != NULL ? theirs : "?");
        return PLI_SSH_VERSION;
    case PLI_DAEMON_SPEC_BAD:
        fprintf(stderr, "what came over standard input is not a job for host %s\n", name);
        return PLI_SSH_SPEC;
    default:
        break;
    }
    pli_daemon_run_settings();
    if (daemon->signals < 0 || !pli_loop_init()) {
        return 1;
    }
    return pli_daemon_run_serve(job, argv);
}
