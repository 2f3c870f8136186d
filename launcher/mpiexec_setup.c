// SPDX-License-Identifier: BSD-3-Clause
// Makes the state of the launcher, and from the command line the plan of the job.
#include "launcher/mpiexec_setup.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_hook_table.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart.h"
#include "launcher/hosts/daemon_state.h"
#include "launcher/hosts/head_state.h"
#include "launcher/job/cmdline.h"
#include "launcher/job/config_file.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_map.h"
#include "launcher/job/role.h"
#include "launcher/job/upc_groups.h"
#include "launcher/job/upc_hosts.h"
#include "launcher/observe/record_dir.h"
#include "launcher/observe/recording.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/hosts/gdb_hosts.h"
#include "launcher/ranks/gdb_ranks.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/base/accept.h"
#include "launcher/base/loop.h"
#include "launcher/base/pidns.h"
#include "launcher/base/tmpdir.h"
#include "launcher/job/binding.h"
#include "launcher/job/members.h"
#include "launcher/job/programs.h"
#include "launcher/job/rank_rows.h"
#include "launcher/ranks/agreement.h"
#include "launcher/ranks/control.h"
#include "launcher/ranks/deadlock.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/ranks/world_server.h"
#include "launcher/ranks/leave.h"
#include "launcher/ranks/listener.h"
#include "launcher/base/output.h"
#include "launcher/base/output_lines.h"
#include "launcher/ranks/preempt.h"
#include "launcher/ranks/rank_request.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/resize_notify.h"
#include "launcher/ranks/singleton.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/host_join.h"
#include "launcher/hosts/join_call.h"
#include "launcher/hosts/image_transfer.h"
#include "launcher/hosts/impi_agents.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/hosts/spawn_daemon.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/hosts/ssh.h"
#include "launcher/metrics.h"
#include "launcher/hosts/stack_collect.h"
#include "launcher/hosts/status_collect.h"
#include "launcher/request_table.h"

#include <stdlib.h>
#include <string.h>

static uint32_t count_tasks(const struct pli_app *app)
{
    return (app->n_rank + app->ranks_per_proc - 1) / app->ranks_per_proc;
}

static void make_tasks(struct pli_job *job)
{
    for (uint32_t a = 0; a < job->n_app; a++) {
        job->n_task += count_tasks(&job->apps[a]);
    }
    job->n_first = job->n_task;
    job->tasks = pli_say_need(calloc(job->n_task, sizeof *job->tasks));
    struct pli_proc_task *t = job->tasks;
    for (uint32_t a = 0; a < job->n_app; a++) {
        struct pli_app *app = &job->apps[a];
        for (uint32_t done = 0; done < app->n_rank; done += t->n, t++) {
            t->app = app;
            t->first = t->rank = app->first + done;
            t->number = (uint32_t)(t - job->tasks);
            uint32_t left = app->n_rank - done;
            t->n = left < app->ranks_per_proc ? left : app->ranks_per_proc;
            t->watch.fd = t->control.fd = t->out.watch.fd = t->err.watch.fd = -1;
        }
    }
}

// The instance of everything that pli_launcher names.
static struct {
    struct pli_job job;
    struct pli_head head;
    struct pli_daemon daemon;
    struct pli_accept_state accept;
    struct pli_loop_state loop;
    struct pli_pidns_state pidns;
    struct pli_say_state say;
    struct pli_tmpdir_state tmpdir;
    struct pli_binding_state binding;
    struct pli_environment_state environment;
    struct pli_members_state members;
    struct pli_programs_state programs;
    struct pli_rank_rows_state rank_rows;
    struct pli_observe_state observe;
    struct pli_trace_memory_state trace_memory;
    struct pli_agreement_state agreement;
    struct pli_control_state control;
    struct pli_deadlock_state deadlock;
    struct pli_gdb_ranks_state gdb_ranks;
    struct pli_gdb_hosts_state gdb_hosts;
    struct pli_impi_agent_state impi_agent;
    struct pli_world_server_state world_server;
    struct pli_launch_state launch;
    struct pli_leave_state leave;
    struct pli_listener_state listener;
    struct pli_on_failure_state on_failure;
    struct pli_output_state output;
    struct pli_output_lines_state output_lines;
    struct pli_preempt_state preempt;
    struct pli_rank_request_state rank_request;
    struct pli_resize_state resize;
    struct pli_resize_notify_state resize_notify;
    struct pli_singleton_state singleton;
    struct pli_stdin_state stdin;
    struct pli_supervisor_state supervisor;
    struct pli_watchdog_state watchdog;
    struct pli_daemon_auth_state daemon_auth;
    struct pli_host_join_state host_join;
    struct pli_join_call_state join_call;
    struct pli_image_transfer_state image_transfer;
    struct pli_impi_agents_state impi_agents;
    struct pli_io_forward_state io_forward;
    struct pli_spawn_daemon_state spawn_daemon;
    struct pli_spawn_head_state spawn_head;
    struct pli_ssh_state ssh;
    struct pli_metrics_state metrics;
    struct pli_stack_collect_state stack_collect;
    struct pli_status_collect_state status_collect;
    struct pli_ckpt_state ckpt;
} parts = { .preempt = { .order = PLI_HELPER_NONE }, .ckpt = PLI_CKPT_STATE_NONE };

void pli_mpiexec_setup_launcher(void)
{
    pli_launcher = (struct pli_launcher){
        .ckpt_hooks = &pli_ckpt_hook_table,
        .requests = pli_request_table,
        .job = &parts.job,
        .head = &parts.head,
        .daemon = &parts.daemon,
        .ckpt = &parts.ckpt,
        .accept = &parts.accept,
        .loop = &parts.loop,
        .pidns = &parts.pidns,
        .say = &parts.say,
        .tmpdir = &parts.tmpdir,
        .binding = &parts.binding,
        .environment = &parts.environment,
        .members = &parts.members,
        .programs = &parts.programs,
        .rank_rows = &parts.rank_rows,
        .observe = &parts.observe,
        .trace_memory = &parts.trace_memory,
        .agreement = &parts.agreement,
        .control = &parts.control,
        .deadlock = &parts.deadlock,
        .impi_agent = &parts.impi_agent,
        .world_server = &parts.world_server,
        .launch = &parts.launch,
        .gdb_ranks = &parts.gdb_ranks,
        .gdb_hosts = &parts.gdb_hosts,
        .leave = &parts.leave,
        .listener = &parts.listener,
        .on_failure = &parts.on_failure,
        .output = &parts.output,
        .output_lines = &parts.output_lines,
        .preempt = &parts.preempt,
        .rank_request = &parts.rank_request,
        .resize = &parts.resize,
        .resize_notify = &parts.resize_notify,
        .singleton = &parts.singleton,
        .stdin = &parts.stdin,
        .supervisor = &parts.supervisor,
        .watchdog = &parts.watchdog,
        .daemon_auth = &parts.daemon_auth,
        .host_join = &parts.host_join,
        .join_call = &parts.join_call,
        .image_transfer = &parts.image_transfer,
        .impi_agents = &parts.impi_agents,
        .io_forward = &parts.io_forward,
        .spawn_daemon = &parts.spawn_daemon,
        .spawn_head = &parts.spawn_head,
        .ssh = &parts.ssh,
        .metrics = &parts.metrics,
        .stack_collect = &parts.stack_collect,
        .status_collect = &parts.status_collect,
    };
    pli_pidns_init();
    pli_tmpdir_init();
    pli_impi_agent_init();
    pli_environment_init();
    pli_listener_init();
    pli_stack_collect_init();
    pli_output_init();
    pli_output_lines_init();
    pli_stdin_init();
    pli_daemon_auth_init();
    pli_host_join_init();
}

char **pli_mpiexec_setup_read(struct pli_job *job, int argc, char **argv)
{
    argv = pli_config_file_expand(&argc, argv);
    char **typed = job->words = pli_restart_words(argc, argv);
    pli_cmdline_read(job, argc, argv);
    if (job->opt.restart != NULL) {
        argv = pli_restart_find(job, &argc, argv);
        job->words = pli_restart_words(argc, argv);
        pli_cmdline_read(job, argc, argv);
    }
    job->typed = typed;
    job->program_at = (uint32_t)(job->apps[0].argv - argv);
    return argv;
}

// Jobs join from any machine, over any network: connections are encrypted, as those of other worlds
// that are joined by a token.
static void protect_messages(const struct pli_job *job)
{
    const char *tls = getenv("IMPI_TLS");
    bool is_off = tls != NULL && strcmp(tls, "off") == 0;
    for (uint32_t a = 0; a < job->n_app && !is_off; a++) {
        if (pli_environment_get(&job->apps[a], "PLIANT_NET_PROTECT") == NULL) {
            pli_environment_set(&job->apps[a], "PLIANT_NET_PROTECT", "encrypt");
        }
    }
}

void pli_mpiexec_setup_plan(struct pli_job *job)
{
    bool is_image = pli_restart_is_image(job); // whose ranks go on in the record that they have
    is_image ? (void)0 : pli_record_dir_open(job);
    for (uint32_t a = 0; a < job->n_app; a++) {
        pli_environment_make(job, &job->apps[a]);
    }
    if (job->opt.is_open_world) {
        protect_messages(job);
    }
    pli_upc_hosts_read(job);
    make_tasks(job);
    is_image ? (void)0 : pli_record_dir_describe(job);
    pli_upc_groups_plan(job);
    pli_on_failure_check(job);
    is_image ? pli_restart_spread(job) : pli_rank_map_tasks(job);
    pli_launcher.role = job->n_host > 0 ? &pli_role_head : &pli_role_solo;
    if (job->opt.is_open_world && pli_launcher.role != &pli_role_head) {
        pli_say_bad("--host-world with --elastic is not for a job whose hosts are pretended, or "
                    "reached by srun");
    }
    pli_gdb_ranks_plan(job);
    pli_launcher.role->plan(job);
}
