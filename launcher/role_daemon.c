// SPDX-License-Identifier: BSD-3-Clause
// The role of a daemon: it starts the ranks of one host and tells mpiexec what becomes of them.
// What concerns the whole job mpiexec decides.
#include "launcher/job/role.h"

#include "boot/agree_wire.h"
#include "boot/launcher_wire.h"
#include "impi/agent_native/native_agent.h"
#include "launcher/base/launcher.h"
#include "launcher/base/output_lines.h"
#include "launcher/base/refuse.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/daemon_state.h"
#include "launcher/hosts/daemon_run.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/hosts/spawn_daemon.h"
#include "launcher/job/binding.h"
#include "launcher/job/environment.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_rows.h"
#include "launcher/ranks/deadlock.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/role_common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// The life of the job.

static int run(struct pli_job *job, char **argv, int signals)
{
    (void)signals; // it takes them over before it reads the job
    return pli_daemon_run_main(job, argv);
}

static void print_place(const struct pli_job *job, const struct pli_proc_task *t, FILE *to)
{
    fprintf(to, "host %s: %s", job->hosts[job->here].name, pli_binding_text(t->place));
}

static void cannot_go_on(int status)
{
    pli_daemon_send(PLI_DLINK_FAILED, 0, (uint32_t)status, NULL, 0);
}

static void clean_up(const struct pli_job *job, bool is_bad)
{
    if (is_bad && !job->opt.takes_moved) {
        char cookie[64];
        pli_environment_cookie(job, cookie, sizeof cookie);
        pli_watchdog_sweep(cookie);
    }
}

// Processes.

static void open_output(struct pli_job *job, struct pli_proc_task *t, int out, int err)
{
    if (pli_launcher.daemon->client != NULL) {
        pli_launch_print(job, t, out, err); // its user watches here
        return;
    }
    pli_io_forward_open(&t->out, out, t->number, STDOUT_FILENO);
    pli_io_forward_open(&t->err, err, t->number, STDERR_FILENO);
}

static int open_input(struct pli_job *job, struct pli_proc_task *t, int null_fd)
{
    return !t->is_spawned && pli_stdin_is_fed(job, t) ? pli_io_forward_input(t) : null_fd;
}

static void task_gone(struct pli_proc_task *t)
{
    if (pli_launcher.daemon->client != NULL) {
        pli_output_lines_finish(&t->out);
        pli_output_lines_finish(&t->err);
        pli_daemon_send(PLI_DLINK_OUT, STDOUT_FILENO, t->number, NULL, 0);
        pli_daemon_send(PLI_DLINK_OUT, STDERR_FILENO, t->number, NULL, 0);
        return;
    }
    pli_io_forward_finish(&t->out);
    pli_io_forward_finish(&t->err);
}

static void task_over(const struct pli_proc_task *t)
{
    pli_daemon_send(PLI_DLINK_OVER, 0, t->number, NULL, 0);
}

static bool watches_host(const struct pli_job *job, uint32_t host)
{
    return host == job->here;
}

static void base_env(const struct pli_job *job, struct pli_app *out)
{
    *out = job->apps[0]; // mpiexec has sent it
}

// Failures.

static bool take_failure(struct pli_job *job, const struct pli_rank_failure *c)
{
    (void)job;
    (void)c;
    return false;
}

static void agree(struct pli_job *job, const struct pli_agree_word *word)
{
    (void)job;
    pli_daemon_send(PLI_DLINK_AGREE, 0, 0, word, sizeof *word);
}

static bool show_ranks(enum pli_look what, void (*done)(void))
{
    (void)what;
    (void)done;
    return false;
}

// Requests of ranks.

static bool forward_request(uint16_t kind, uint32_t id, const void *body, size_t len)
{
    pli_daemon_send(PLI_DLINK_ASK, kind, id, body, len);
    return true;
}

static void drop_request(uint32_t id)
{
    pli_daemon_send(PLI_DLINK_ASK, 0, id, NULL, 0);
}

static bool refuse_request(struct pli_job *job, const char *body, size_t len, void *token,
                           struct pli_answer *a)
{
    (void)job;
    (void)body;
    (void)len;
    (void)token;
    pli_refuse(a, ENOTSUP, "only mpiexec can do this, and not a daemon");
    return true;
}

// Processes that are started later, as mpiexec says: see spawn_daemon.h.

static void spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        const char *hosts, struct pli_answer *a)
{
    (void)n;
    (void)rank;
    (void)version;
    (void)hosts;
    refuse_request(job, NULL, 0, NULL, a);
}

static void spawn_successor(struct pli_job *job, uint32_t rank, uint32_t dead, uint32_t version,
                            struct pli_answer *a)
{
    (void)rank;
    (void)dead;
    (void)version;
    refuse_request(job, NULL, 0, NULL, a);
}

static bool spawn_clones(struct pli_job *job, const struct pli_role_clones *c, void *token,
                         struct pli_answer *a)
{
    (void)c;
    return refuse_request(job, NULL, 0, token, a);
}

static void rank_ready(struct pli_job *job, uint32_t row)
{
    pli_daemon_send(PLI_DLINK_READY, 0, job->node.rows[row].index, NULL, 0);
}

static enum pli_host_join join_hosts(struct pli_job *job, const char *list, uint32_t n_own,
                                     pli_host_join_fn done, void *arg, struct pli_answer *a)
{
    (void)list;
    (void)n_own;
    (void)done;
    (void)arg;
    refuse_request(job, NULL, 0, NULL, a);
    return PLI_HOST_JOIN_DONE;
}

// The agent of an IMPI client on this host: mpiexec passes messages between the agents.

static bool open_agent_stderr(int err[2])
{
    return pipe2(err, O_CLOEXEC) == 0;
}

// For the table that debuggers read in mpiexec.
static void all_started(const struct pli_job *job)
{
    struct pli_pack p = { 0 };
    for (uint32_t i = 0; i < job->n_first; i++) {
        pli_pack_u32(&p, job->tasks[i].number);
        pli_pack_u32(&p, (uint32_t)job->tasks[i].pid);
    }
    pli_daemon_send(PLI_DLINK_STARTED, 0, 0, p.data, p.len);
    pli_pack_fini(&p);
}

static void agent_said(const char *text, size_t len)
{
    pli_daemon_send(PLI_DLINK_SAY, 0, 0, text, len);
}

static void agent_up(struct pli_job *job)
{
    pli_daemon_send(PLI_DLINK_AGENT, PLI_NATIVE_AGENT_UP, job->base, &job->node.header->n_joint,
                    sizeof job->node.header->n_joint);
}

static void agent_message(char word, const void *data, size_t len)
{
    pli_daemon_send(PLI_DLINK_AGENT, (uint16_t)word, 0, data, len);
}

static void agent_over(void)
{
    pli_daemon_send(PLI_DLINK_AGENT, PLI_NATIVE_AGENT_OVER, 0, NULL, 0);
}

const struct pli_role pli_role_daemon = {
    .plan = pli_daemon_run_prepare,
    .run = run,
    .print_place = print_place,
    .has_begun = pli_role_has_begun,
    .all_started = all_started,
    .cannot_go_on = cannot_go_on,
    .clean_up = clean_up,
    .signal = pli_supervisor_signal,
    .end_process = pli_supervisor_end_process,
    .open_output = open_output,
    .open_input = open_input,
    .task_gone = task_gone,
    .task_over = task_over,
    .host_name = pli_hosts_name,
    .where = pli_hosts_where,
    .watches_host = watches_host,
    .rows = &pli_rank_rows_daemon,
    .base_env = base_env,
    .local_rank = pli_environment_local_rank,
    .report = pli_daemon_report,
    .take_failure = take_failure,
    .replace_failed = pli_role_replace_failed,
    .send_news = pli_role_send_news,
    .agree = agree,
    .is_stuck = pli_deadlock_is_stuck,
    .show_ranks = show_ranks,
    .forward_request = forward_request,
    .drop_request = drop_request,
    .answer_request = pli_role_answer_request,
    .collect_status = pli_role_collect_status,
    .migrate = refuse_request,
    .spawn = refuse_request,
    .spawn_ranks = spawn_ranks,
    .spawn_successor = spawn_successor,
    .spawn_drop = pli_spawn_drop,
    .spawn_undo = pli_spawn_undo,
    .spawn_clones = spawn_clones,
    .add_clone = pli_spawn_daemon_clone,
    .rank_ready = rank_ready,
    .join_hosts = join_hosts,
    .announce_world = pli_role_announce_world,
    .may_work = pli_role_may_work,
    .open_agent_stderr = open_agent_stderr,
    .agent_said = agent_said,
    .agent_up = agent_up,
    .agent_message = agent_message,
    .agent_over = agent_over,
    .end_agents = pli_impi_agent_leave,
};
