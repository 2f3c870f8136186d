// SPDX-License-Identifier: BSD-3-Clause
// mpiexec: starts the ranks of a job on this host and looks after them.
#include "launcher/hosts/impi_agents.h"
#include "launcher/ranks/rank_request.h"
#include "base/clock.h"
#include "base/conf.h"
#include "launcher/job/singleton.h"
#include "launcher/ckpt/ckpt_open.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/ckpt_lock.h"
#include "boot/node.h"
#include "launcher/job/cmdline.h"
#include "launcher/ranks/control.h"
#include "launcher/hosts/daemon.h"
#include "launcher/ranks/listener.h"
#include "launcher/job/environment.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/job/upc_groups.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/watchdog.h"
#include "launcher/ranks/launch.h"
#include "launcher/job/upc_hosts.h"
#include "launcher/base/loop.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/job/binding.h"
#include "launcher/job/program.h"
#include "launcher/job/psets.h"
#include "launcher/ckpt/restart.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/base/say.h"
#include "launcher/ranks/output.h"
#include "launcher/ranks/spawn.h"
#include "launcher/job/rank_map.h"
#include "launcher/ranks/supervisor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static bool make_node(struct pli_job *job)
{
    const char *fake = pli_environment_get(&job->apps[0], "PLIANT_FAKE_HOSTS");
    uint32_t n_pretend = fake != NULL ? (uint32_t)strtoul(fake, NULL, 10) : 0;
    n_pretend = job->n_host > 0 ? 0 : n_pretend < job->n_rank ? n_pretend : job->n_rank;
    uint32_t n = job->n_rank + job->n_extra;
    const struct pli_node_plan plan = { .n_row = n, .n_world = n, .n_host = n_pretend };
    if ((job->opt.impi_server != NULL && job->n_host == 0
             ? pli_node_create_gate(job->n_rank, pli_impi_agent_memory(job), &job->node,
                                    &job->node_fd)
         : n_pretend > 1 ? pli_node_create_for(&plan, &job->node, &job->node_fd)
                         : pli_node_create(n, &job->node, &job->node_fd)) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    if (job->n_host == 0 && !make_net(job, n_pretend)) {
        return false;
    }
    job->node.header->n_core = pli_binding_n_core(job);
    for (uint32_t a = 0; a < job->n_app; a++) {
        const struct pli_app *app = &job->apps[a];
        for (uint32_t r = app->first; r < app->first + app->n_rank; r++) {
            job->node.rows[r].app = a;
            job->node.rows[r].n_app = app->n_rank;
        }
    }
    pli_upc_groups_write(job);
    pli_on_failure_begin(job);
    // With several hosts each says first what it has.
    return job->n_host > 0 || job->opt.impi_server != NULL || pli_psets_write(job);
}

static void show(const struct pli_job *job, bool with_command)
{
    FILE *to = with_command ? stdout : stderr;
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        char who[32] = "";
        if (t->n > 1) {
            snprintf(who, sizeof who, "-%u", t->first + t->n - 1);
        } else if (t->n == 0) {
            snprintf(who, sizeof who, ", threads without one");
        }
        fprintf(to, "rank %u%s: ", pli_task_rank(t), who);
        if (job->n_host > 0) {
            fprintf(to, "host %s", job->hosts[t->host].name);
        } else {
            fprintf(to, "%s", pli_binding_text(t->place));
        }
        if (with_command) {
            fprintf(to, ": %s", t->app->path != NULL ? t->app->path : t->app->argv[0]);
            for (char **arg = t->app->argv + 1; *arg != NULL; arg++) {
                fprintf(to, " %s", *arg);
            }
            if (t->app->wdir != NULL) {
                fprintf(to, " (in %s)", t->app->wdir);
            }
        }
        fputc('\n', to);
    }
}

static void loop(struct pli_job *job)
{
    do {
        bool is_busy = job->n_host == 0 && pli_supervisor_step(job);
        pli_loop_once(!is_busy);
        if (job->n_host > 0) {
            pli_rank_request_sweep();
            pli_spawn_sweep(job);
        }
        pli_output_flush();
    } while (!pli_supervisor_is_done(job));
}

static void take_fault(const struct pli_job *job)
{
    const char *fault = pli_environment_get(&job->apps[0], "PLIANT_FAULT");
    pli_conf.fault = fault != NULL ? fault : ""; // for tests; the ranks have it too
}

// On several hosts: this process starts none of the ranks itself.
static int run_hosts(struct pli_job *job, int signals)
{
    if (!pli_impi_agents_check(job) || !pli_launch_can_watch() || !pli_loop_init() ||
        !make_node(job)) {
        return 1;
    }
    fcntl(job->node_fd, F_SETFD, FD_CLOEXEC); // only mpictl looks at it
    job->node.header->net |= PLI_NODE_HEAD;
    take_fault(job);
    pli_output_init();
    pli_supervisor_begin(job, signals);
    if (!pli_ckpt_open(job, job->words) || !pli_control_open(job) ||
        (job->from != NULL && !pli_restart_run(job, signals)) || !pli_ckpt_hosts_mark(job) ||
        !pli_head_begin(job)) {
        pli_ckpt_hosts_unmark();
        pli_output_flush();
        return 1;
    }
    loop(job);
    return pli_supervisor_finish(job);
}

static int run(struct pli_job *job, char **argv, int signals)
{
    bool is_behind = job->opt.behind != NULL;
    take_fault(job);
    if (!pli_launch_check(job) || !pli_loop_init() ||
        !(is_behind                   ? pli_singleton_map(job)
          : pli_restart_is_image(job) ? pli_restart_node(job)
                                      : make_node(job)) ||
        !pli_ckpt_open(job, job->words) || !pli_impi_agent_start(job, argv) ||
        !pli_watchdog_start(job, argv)) {
        return 1;
    }
    pli_output_init();
    pli_listener_begin();
    pli_supervisor_begin(job, signals);
    bool is_controlled = job->opt.elastic_max > 0 || job->opt.ckpt_dir != NULL;
    if ((is_controlled && !pli_control_open(job)) ||
        (job->from != NULL && !pli_restart_run(job, signals)) ||
        (is_behind && !pli_singleton_adopt(job))) {
        pli_output_flush(); // with what was said of the reason
        pli_watchdog_stop();
        return 1;
    }
    loop(job);
    return pli_supervisor_finish(job);
}

static void check_net(uint32_t n_host)
{
    pli_conf_load();
    if (n_host > 1 && strcmp(pli_conf.net, "shm") == 0) {
        pli_say_bad("PLIANT_NET=shm is for jobs on one host, and this one has %u; leave it out, or "
                    "say shm+tcp",
                    n_host);
    }
}

int main(int argc, char **argv)
{
    static struct pli_job job;
    const char *slash = strrchr(argv[0], '/');
    if (strcmp(slash != NULL ? slash + 1 : argv[0], "mpirun") == 0) {
        pli_say_name = "mpirun";
    }
    if (argc >= 2 && strcmp(argv[1], "--as-daemon") == 0) {
        return pli_daemon_main(argv);
    }
    job.start_ns = pli_clock_ns();
    char **typed = job.words = pli_restart_words(argc, argv);
    pli_cmdline_read(&job, argc, argv);
    if (job.opt.restart != NULL) {
        argv = pli_restart_find(&job, &argc, argv);
        job.words = pli_restart_words(argc, argv);
        pli_cmdline_read(&job, argc, argv);
    }
    job.typed = typed;
    job.program_at = (uint32_t)(job.apps[0].argv - argv);
    for (uint32_t a = 0; a < job.n_app; a++) {
        pli_environment_make(&job, &job.apps[a]);
    }
    pli_upc_hosts_read(&job);
    make_tasks(&job);
    pli_upc_groups_plan(&job);
    pli_on_failure_check(&job);
    pli_restart_is_image(&job) ? pli_restart_spread(&job) : pli_rank_map_tasks(&job);
    if (job.n_host > 0) {
        pli_binding_check(&job.opt);
        check_net(job.n_host);
        pli_rank_map_number(&job);
    } else { // else that is found out on each host
        for (uint32_t a = 0; a < job.n_app && job.opt.behind == NULL; a++) {
            pli_program_find(&job.apps[a], job.opt.takes_foreign);
        }
        pli_binding_plan(&job);
    }
    if (job.opt.is_dry || (job.opt.is_report && job.n_host == 0)) {
        show(&job, job.opt.is_dry);
        if (job.opt.is_dry) {
            pli_psets_show(&job);
            return fflush(stdout) == 0 ? 0 : 1;
        }
    }
    job.opt.is_line = isatty(STDOUT_FILENO);
    int signals = pli_launch_init();
    if (signals < 0 || (pli_restart_is_image(&job) && !pli_ckpt_lock_wait(job.from->dir))) {
        return 1;
    }
    return job.n_host > 0 ? run_hosts(&job, signals) : run(&job, argv, signals);
}
