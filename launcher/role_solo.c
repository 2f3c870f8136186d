// SPDX-License-Identifier: BSD-3-Clause
// The role of mpiexec in a job on one host: it starts the ranks itself.
#include "launcher/job/role.h"
#include "launcher/observe/record_dir.h"

#include "base/clock.h"
#include "boot/launcher_wire.h"
#include "launcher/base/loop.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_open.h"
#include "launcher/ckpt/ckpt_solo.h"
#include "launcher/ckpt/restart.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/job/binding.h"
#include "launcher/job/environment.h"
#include "launcher/job/host_names.h"
#include "launcher/job/job.h"
#include "launcher/job/program.h"
#include "launcher/job/psets.h"
#include "launcher/job/rank_rows.h"
#include "launcher/observe/recording.h"
#include "launcher/hosts/trace_collect.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/observe/trace_world.h"
#include "launcher/ranks/gdb_ranks.h"
#include "launcher/ranks/agreement.h"
#include "launcher/metrics.h"
#include "launcher/ranks/control.h"
#include "launcher/ranks/deadlock.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/process_table.h"
#include "launcher/base/output.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/singleton.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/run.h"
#include "launcher/role_common.h"
#include "tools/lib/job_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The life of the job.

static void plan(struct pli_job *job)
{
    for (uint32_t a = 0; a < job->n_app && job->opt.singleton == NULL; a++) {
        pli_program_find(&job->apps[a], &job->opt);
    }
    pli_binding_plan(job);
    if (job->opt.is_report && !job->opt.is_dry) {
        pli_run_show(job, false);
    }
}

// Open the network of a job that wants one although it is on one host.
static bool make_net(struct pli_job *job, uint32_t n_pretend)
{
    const char *net = pli_environment_get(&job->apps[0], "PLIANT_NET");
    bool is_apart = net != NULL && (strcmp(net, "tcp") == 0 || strcmp(net, "ucx") == 0);
    if (n_pretend > 1) {
        pli_listener_pretend(&job->node, n_pretend);
    }
    if (is_apart) {
        job->node.header->net |= PLI_NODE_NO_SHM;
    }
    return (!is_apart && n_pretend <= 1) || pli_listener_open(&job->node, false);
}

static enum pli_err create_node(struct pli_job *job, uint32_t n_pretend)
{
    uint32_t n = job->n_rank + job->n_extra;
    const struct pli_node_plan plan = { .n_row = n, .n_world = n, .n_host = n_pretend };
    if (job->opt.impi_server != NULL) {
        return pli_node_create_gateway(job->n_rank, pli_impi_agent_memory(job), &job->node,
                                       &job->node_fd);
    }
    return n_pretend > 1 ? pli_node_create_for(&plan, &job->node, &job->node_fd)
                         : pli_node_create(n, &job->node, &job->node_fd);
}

static bool make_node(struct pli_job *job)
{
    const char *fake = pli_environment_get(&job->apps[0], "PLIANT_FAKE_HOSTS");
    uint32_t n_pretend = fake != NULL ? (uint32_t)strtoul(fake, NULL, 10) : 0;
    n_pretend = n_pretend < job->n_rank ? n_pretend : job->n_rank;
    if (create_node(job, n_pretend) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    if (job->opt.has_replay_rank) {
        job->node.header->job = job->opt.replay_job;
    }
    if (!make_net(job, n_pretend)) {
        return false;
    }
    pli_run_fill_node(job);
    return job->opt.impi_server != NULL || pli_psets_write(job);
}

static bool open_node(struct pli_job *job)
{
    return job->opt.singleton != NULL  ? pli_singleton_map(job)
           : pli_restart_is_image(job) ? pli_restart_node(job)
                                       : make_node(job);
}

static int run(struct pli_job *job, char **argv, int signals)
{
    struct pli_watchdog_after after = { .fn = pli_recording_rescue };
    pli_run_take_fault(job);
    if (!pli_launch_check(job) || !pli_loop_init() || !open_node(job) ||
        !pli_trace_memory_open(job) || !pli_ckpt_open(job, &pli_ckpt_solo_role) ||
        !pli_impi_agent_start(job, argv)) {
        return 1;
    }
    after.n_fd = pli_recording_fds(after.fds);
    if (!pli_watchdog_start(job, argv, after.n_fd > 0 ? &after : NULL) ||
        !pli_gdb_ranks_open(job) || !pli_gdb_ranks_show()) {
        return 1;
    }
    pli_output_open();
    pli_listener_begin();
    pli_supervisor_begin(job, signals);
    pli_deadlock_begin(job);
    bool is_controlled = job->opt.elastic_max > 0 || job->opt.ckpt_dir != NULL;
    if ((is_controlled && !pli_control_open()) || !pli_metrics_open(job) ||
        (job->from != NULL && !pli_restart_run(job, signals)) ||
        (job->opt.singleton != NULL && !pli_singleton_adopt(job))) {
        pli_output_flush(); // with what was said of the reason
        pli_watchdog_stop();
        return 1;
    }
    return pli_run_loop(job, pli_supervisor_step);
}

static void print_place(const struct pli_job *job, const struct pli_proc_task *t, FILE *to)
{
    (void)job;
    fputs(pli_binding_text(t->place), to);
}

static void all_started(const struct pli_job *job)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    for (uint32_t i = 0; i < job->n_first; i++) {
        if (!pli_job_is_proxy(job, &job->tasks[i])) {
            pli_process_table_add(job, i, host, job->tasks[i].pid);
        }
    }
    if (job->opt.is_verbose) {
        pli_say("%u ranks in %u processes started in %.1f ms", job->n_rank, job->n_first,
                (double)(pli_clock_ns() - job->start_ns) / 1e6);
    }
}

static void clean_up(const struct pli_job *job, bool is_bad)
{
    pli_gdb_ranks_close();
    pli_process_table_free();
    pli_recording_read(0, job->node.header->host);
    if (job->opt.impi_server != NULL) {
        struct pli_trace_world w;
        pli_trace_collect_world(job, &w);
        pli_recording_world(&w, 0);
    }
    pli_recording_finish(job);
    if (is_bad) {
        char cookie[64];
        pli_environment_cookie(job, cookie, sizeof cookie);
        pli_watchdog_sweep(cookie);
    }
}

// Processes.

static void task_gone(struct pli_proc_task *t)
{
    pli_output_lines_finish(&t->out);
    pli_output_lines_finish(&t->err);
    pli_resize_gone(t);
}

static void task_over(const struct pli_proc_task *t)
{
    const struct pli_job *job = t->job;
    if (job->opt.is_verbose) {
        pli_say("process %d of rank %u is over, %u of %u are left", (int)t->pid, t->first,
                job->n_task - job->n_over, job->n_task);
    }
}

static const char *host_name(const struct pli_job *job, const struct pli_proc_task *t)
{
    (void)t;
    return job->node.header->host;
}

static void nowhere_else(const struct pli_job *job, const struct pli_proc_task *t, char *to,
                         size_t cap)
{
    (void)job;
    (void)t;
    (void)cap;
    to[0] = '\0';
}

static void local_rank(const struct pli_job *job, const struct pli_node_row *row,
                       uint32_t *rank_out, uint32_t *size_out)
{
    (void)job;
    *rank_out = row->index - row->world;
    *size_out = row->n_world;
}

// Failures.

static bool show_ranks(enum pli_look what, void (*done)(void))
{
    (void)what;                 // all of it is in the rows
    pli_job_status_sites(NULL); // where each waits is in its row
    done();
    return true;
}

// Requests of ranks.

static bool migrate(struct pli_job *job, const char *body, size_t len, void *token,
                    struct pli_answer *a)
{
    (void)job;
    (void)body;
    (void)len;
    (void)token;
    pli_refuse(a, ENOTSUP,
               "the job runs on one host, and its ranks share one memory, which none can leave; "
               "mpiexec --movable gives each a memory of its own");
    return true;
}

// Processes that are started later.

static bool spawn(struct pli_job *job, const char *body, size_t len, void *token,
                  struct pli_answer *a)
{
    (void)token;
    if (job->opt.has_replay_rank) {
        pli_refuse(a, ENOTSUP,
                   "a rank that is replayed alone starts no processes: what they sent is not in "
                   "its log of messages");
    } else {
        pli_spawn(job, body, len, a);
    }
    return true;
}

static void spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        const char *hosts, struct pli_answer *a)
{
    (void)hosts; // they name this one: see join_hosts
    pli_spawn_ranks(job, n, rank, version, a);
}

static void spawn_successor(struct pli_job *job, uint32_t rank, uint32_t dead, uint32_t version,
                            struct pli_answer *a)
{
    (void)dead;
    pli_spawn_ranks(job, 1, rank, version, a);
}

static bool spawn_clones(struct pli_job *job, const struct pli_role_clones *c, void *token,
                         struct pli_answer *a)
{
    (void)token;
    if (c->add[0] != '\0') {
        pli_refuse(a, ENOTSUP, "clones go to hosts of the job, for which hint add-host is not");
    } else if (pli_host_names_are_here(c->names, a)) {
        pli_spawn_reserve(job, c->parents, c->n, c->rank, c->version, a);
    }
    return true;
}

static enum pli_host_join join_hosts(struct pli_job *job, const char *list, uint32_t n_own,
                                     pli_host_join_fn done, void *arg, struct pli_answer *a)
{
    (void)job;
    (void)n_own;
    (void)done;
    (void)arg;
    pli_host_names_are_here(list, a);
    return PLI_HOST_JOIN_DONE;
}

// The agent of an IMPI client.

static void agent_up(struct pli_job *job)
{
    const char *why = pli_record_dir_world(job);
    if (why == NULL && !pli_psets_write(job)) {
        why = "the process sets of the job could not be written";
    }
    if (why != NULL) {
        pli_supervisor_lose(why);
    }
}

const struct pli_role pli_role_solo = {
    .plan = plan,
    .run = run,
    .print_place = print_place,
    .has_begun = pli_role_has_begun,
    .all_started = all_started,
    .cannot_go_on = pli_role_cannot_go_on,
    .clean_up = clean_up,
    .signal = pli_supervisor_signal,
    .end_process = pli_supervisor_end_process,
    .open_output = pli_launch_print,
    .open_input = pli_stdin_input,
    .task_gone = task_gone,
    .task_over = task_over,
    .host_name = host_name,
    .where = nowhere_else,
    .watches_host = pli_role_watches_host,
    .rows = &pli_rank_rows_solo,
    .base_env = pli_environment_make,
    .local_rank = local_rank,
    .report = pli_supervisor_judge,
    .take_failure = pli_role_take_failure,
    .replace_failed = pli_resize_replace,
    .send_news = pli_role_send_news,
    .agree = pli_agreement_hear,
    .is_stuck = pli_deadlock_is_stuck,
    .show_ranks = show_ranks,
    .forward_request = pli_role_forward_request,
    .drop_request = pli_role_drop_request,
    .answer_request = pli_role_answer_request,
    .collect_status = pli_role_collect_status,
    .migrate = migrate,
    .spawn = spawn,
    .spawn_ranks = spawn_ranks,
    .spawn_successor = spawn_successor,
    .spawn_drop = pli_spawn_drop,
    .spawn_undo = pli_spawn_undo,
    .spawn_clones = spawn_clones,
    .add_clone = pli_resize_add_clone,
    .rank_ready = pli_resize_ready,
    .join_hosts = join_hosts,
    .announce_world = pli_role_announce_world,
    .may_work = pli_role_may_work,
    .open_agent_stderr = pli_role_open_agent_stderr,
    .agent_said = pli_role_agent_said,
    .agent_up = agent_up,
    .agent_message = pli_role_agent_message,
    .agent_over = pli_role_agent_over,
    .end_agents = pli_impi_agent_leave,
};
