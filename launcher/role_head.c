// SPDX-License-Identifier: BSD-3-Clause
// The role of mpiexec in a job on several hosts: its daemons start the ranks.
#include "launcher/job/role.h"

#include "base/conf.h"
#include "boot/agree_wire.h"
#include "boot/launcher_wire.h"
#include "impi/agent_native/native_agent.h"
#include "launcher/base/loop.h"
#include "launcher/base/pack.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_open.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/migrate_ranks.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/head_run.h"
#include "launcher/hosts/host_join.h"
#include "launcher/hosts/impi_agents.h"
#include "launcher/hosts/join_call.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/hosts/status_collect.h"
#include "launcher/job/binding.h"
#include "launcher/job/environment.h"
#include "launcher/job/host_names.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_map.h"
#include "launcher/job/rank_rows.h"
#include "launcher/job/world_version.h"
#include "launcher/ranks/agreement.h"
#include "launcher/metrics.h"
#include "launcher/ranks/control.h"
#include "launcher/ranks/deadlock.h"
#include "launcher/ranks/launch.h"
#include "launcher/base/output.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/run.h"
#include "launcher/role_common.h"
#include "tools/lib/job_status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The life of the job.

// What can only be found out on each host is found out there.
static void plan(struct pli_job *job)
{
    pli_binding_check(&job->opt);
    pli_conf_load();
    if (job->n_host > 1 && strcmp(pli_conf.net, "shm") == 0) {
        pli_say_bad("PLIANT_NET=shm is for jobs on one host, and this one has %u; leave it out, or "
                    "say shm+tcp",
                    job->n_host);
    }
    pli_rank_map_number(job);
}

// Only mpictl and mpiexec look at this node memory; the ranks have those of their hosts.
static bool make_node(struct pli_job *job)
{
    if (pli_node_create(job->n_rank + job->n_extra, &job->node, &job->node_fd) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    pli_run_fill_node(job); // process sets come when each host has said what it has
    fcntl(job->node_fd, F_SETFD, FD_CLOEXEC);
    job->node.header->net |= PLI_NODE_HEAD;
    return true;
}

static bool step(struct pli_job *job)
{
    (void)job;
    return false; // daemons start the tasks
}

static int run(struct pli_job *job, char **argv, int signals)
{
    if (!pli_impi_agents_check(job) || !pli_launch_can_watch() || !pli_loop_init() ||
        !make_node(job)) {
        return 1;
    }
    pli_run_take_fault(job);
    pli_output_open();
    pli_supervisor_begin(job, signals);
    pli_deadlock_begin(job);
    if (!pli_ckpt_open(job, &pli_ckpt_head_role) || !pli_control_open() || !pli_metrics_open(job) ||
        (job->from != NULL && !pli_restart_run(job, signals)) || !pli_ckpt_hosts_mark(job) ||
        !pli_head_run_begin(job, argv)) {
        pli_ckpt_hosts_unmark();
        pli_output_flush();
        return 1;
    }
    return pli_run_loop(job, step);
}

static void print_place(const struct pli_job *job, const struct pli_proc_task *t, FILE *to)
{
    fprintf(to, "host %s", job->hosts[t->host].name);
}

static bool has_begun(void)
{
    return pli_head_is_started();
}

// Processes. None runs under this process.

static void end_process(struct pli_job *job, uint32_t row)
{
    (void)job; // the daemon of its host hears the same
    (void)row;
}

static void task_gone(struct pli_proc_task *t)
{
    (void)t;
}

static void task_over(const struct pli_proc_task *t)
{
    (void)t;
}

// Failures.

static void send_news(const struct pli_news *n)
{
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_NEWS, 0, 0, n, sizeof *n);
}

static bool show_ranks(enum pli_look what, void (*done)(void))
{
    if (pli_head_run_is_showing()) {
        return false;
    }
    pli_job_status_sites(pli_head_run_site);
    pli_head_run_show(what, UINT32_MAX, done);
    return true;
}

// Requests of ranks.

static void answer_request(uint32_t host, uint32_t id, const struct pli_answer *answer)
{
    if (!pli_join_call_answer(host, answer)) {
        pli_head_send(host, PLI_DLINK_ANSWER, 0, id, answer, sizeof *answer);
    }
}

// Processes that are started later.

static void spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        const char *hosts, struct pli_answer *a)
{
    bool *may = pli_host_names_named(job, hosts);
    pli_spawn_head_ranks(job, n, rank, version, may, a);
    free(may);
}

static bool add_clone(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4])
{
    (void)from; // they come to daemons
    (void)row;
    (void)pid;
    (void)fds;
    return false;
}

static void announce_world(const struct pli_world_version *w)
{
    struct pli_pack p = { 0 };
    pli_world_version_pack(w, &p);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_WORLD, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

// On its host a rank may be further than is known here.
static bool may_work(const struct pli_job *job, const struct pli_node_row *r)
{
    return !pli_node_has_ended(&job->node, r->index) && atomic_load(&r->state) < PLI_NODE_FINALIZED;
}

// The agents of an IMPI client are those of its daemons.

// Why the job ends is told by the first one, which has the connection to the server.
static void agent_message(char word, const void *data, size_t len)
{
    if (word == PLI_NATIVE_AGENT_WHY) {
        pli_head_tell_agent(0, word, data, len);
    }
}

static void agent_up(struct pli_job *job)
{
    (void)job;
}

const struct pli_role pli_role_head = {
    .plan = plan,
    .run = run,
    .print_place = print_place,
    .has_begun = has_begun,
    .all_started = pli_role_all_started,
    .cannot_go_on = pli_role_cannot_go_on,
    .clean_up = pli_head_run_finish,
    .signal = pli_head_signal,
    .end_process = end_process,
    .open_output = pli_launch_print,
    .open_input = pli_stdin_input,
    .task_gone = task_gone,
    .task_over = task_over,
    .host_name = pli_hosts_name,
    .where = pli_hosts_where,
    .watches_host = pli_role_watches_host,
    .rows = &pli_rank_rows_head,
    .base_env = pli_environment_make,
    .local_rank = pli_environment_local_rank,
    .report = pli_supervisor_judge,
    .take_failure = pli_role_take_failure,
    .replace_failed = pli_role_replace_failed,
    .send_news = send_news,
    .agree = pli_agreement_hear,
    .is_stuck = pli_head_run_is_stuck,
    .show_ranks = show_ranks,
    .forward_request = pli_role_forward_request,
    .drop_request = pli_role_drop_request,
    .answer_request = answer_request,
    .collect_status = pli_status_collect_ask,
    .migrate = pli_migrate_ranks_ask,
    .spawn = pli_spawn_head_spawn,
    .spawn_ranks = spawn_ranks,
    .spawn_successor = pli_spawn_head_successor,
    .spawn_drop = pli_spawn_head_undo,
    .spawn_undo = pli_spawn_head_undo,
    .spawn_clones = pli_spawn_head_clones,
    .add_clone = add_clone,
    .rank_ready = pli_resize_ready,
    .join_hosts = pli_host_join_own,
    .announce_world = announce_world,
    .may_work = may_work,
    .open_agent_stderr = pli_role_open_agent_stderr,
    .agent_said = pli_role_agent_said,
    .agent_up = agent_up,
    .agent_message = agent_message,
    .agent_over = pli_role_agent_over,
    .end_agents = pli_impi_agents_are_over,
};
