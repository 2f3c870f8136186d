// SPDX-License-Identifier: BSD-3-Clause
// The parts of mpiexec's life that do not depend on how many hosts the job has.
#include "launcher/run.h"

#include "base/conf.h"
#include "launcher/base/loop.h"
#include "launcher/job/binding.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/job/role.h"
#include "launcher/job/upc_groups.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/base/output.h"
#include "launcher/ranks/rank_request.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/supervisor.h"

#include <stdio.h>

void pli_run_fill_node(struct pli_job *job)
{
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
}

void pli_run_take_fault(const struct pli_job *job)
{
    const char *fault = pli_environment_get(&job->apps[0], "PLIANT_FAULT");
    pli_conf.fault = fault != NULL ? fault : "";
}

void pli_run_show(const struct pli_job *job, bool with_command)
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
        pli_launcher.role->print_place(job, t, to);
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

int pli_run_loop(struct pli_job *job, bool (*step)(struct pli_job *job))
{
    do {
        pli_rank_request_sweep();
        pli_spawn_sweep(job);
        pli_loop_once(!step(job));
        pli_output_flush();
    } while (!pli_supervisor_is_done(job));
    return pli_supervisor_finish(job, pli_on_failure_status(job));
}
