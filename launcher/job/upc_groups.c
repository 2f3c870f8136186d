// SPDX-License-Identifier: BSD-3-Clause
// Finds the UPC groups of a job, which have three shapes:
//   - a task that runs upcrun is a group: its ranks first, then processes that have none;
//   - --upc-groups=G cuts the ranks of the job into G groups;
//   - otherwise each part of the command line is a group, if its program is UPC at all.
#include "launcher/job/upc_groups.h"

#include "launcher/job/job.h"
#include "launcher/base/say.h"
#include "tools/upcrun/upcrun_args.h"

#include <string.h>

static bool is_upcrun(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash != NULL ? slash + 1 : program, "upcrun") == 0;
}

void pli_upc_groups_find(struct pli_app *app)
{
    long n = is_upcrun(app->argv[0]) ? pli_upcrun_number(app->argv, "np") : 0;
    app->n_upc = n > 0 ? (uint32_t)n : 0;
}

// --ranks-per-proc holds for the parts after it that run upcrun too, until one has its own.
static uint32_t ranks_of(const struct pli_app *app, uint32_t *last)
{
    if (app->ranks_per_proc > 0) {
        *last = app->ranks_per_proc;
        return *last;
    }
    return is_upcrun(app->argv[0]) ? *last : 1;
}

void pli_upc_groups_read(struct pli_job *job)
{
    uint32_t last = 1;
    for (uint32_t a = 0; a < job->n_app; a++) {
        struct pli_app *app = &job->apps[a];
        pli_upc_groups_find(app);
        app->ranks_per_proc = ranks_of(app, &last);
        if (is_upcrun(app->argv[0]) && app->n_upc == 0) {
            pli_say_bad("%s needs -n N, the number of UPC threads, when mpiexec starts it",
                        app->argv[0]);
        }
        if (app->n_upc == 0) {
            continue;
        }
        if (app->ranks_per_proc > app->n_upc) {
            pli_say_bad("--ranks-per-proc=%u are more ranks than the %u UPC threads of %s -n %u",
                        app->ranks_per_proc, app->n_upc, app->argv[0], app->n_upc);
        }
        if (app->n_rank == 0) {
            app->n_rank = app->ranks_per_proc; // one group
        }
        if (app->n_rank % app->ranks_per_proc != 0) {
            pli_say_bad("-n %u ranks are not a multiple of --ranks-per-proc=%u", app->n_rank,
                        app->ranks_per_proc);
        }
    }
}

void pli_upc_groups_plan(struct pli_job *job)
{
    if (job->opt.upc_groups > 0 &&
        (job->n_app > 1 || job->apps[0].n_upc > 0 || job->n_rank % job->opt.upc_groups != 0)) {
        pli_say_bad(job->n_app > 1 || job->apps[0].n_upc > 0
                        ? "--upc-groups is for one program without upcrun"
                        : "--upc-groups=%u does not divide %u ranks",
                    job->opt.upc_groups, job->n_rank);
    }
    for (uint32_t i = 0; i < job->n_task; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        t->n_extra = t->app->n_upc > t->n ? t->app->n_upc - t->n : 0;
    }
    pli_upc_groups_number(job);
}

void pli_upc_groups_number(struct pli_job *job)
{
    job->n_extra = 0;
    for (uint32_t i = 0; i < job->n_task; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        t->extra = t->extra_rank = job->n_rank + job->n_extra;
        t->first = t->n > 0 ? t->first : t->extra;
        job->n_extra += t->n_extra;
    }
}

static uint32_t n_group_of(const struct pli_job *job, const struct pli_app *app)
{
    return app->n_upc > 0            ? app->n_rank / app->ranks_per_proc
           : job->opt.upc_groups > 0 ? job->opt.upc_groups
                                     : 1;
}

// What comes before a part of the command line.
struct before {
    uint32_t n_group;
    uint32_t extra; // number of its first process without a rank
};

// The k-th process of a task, in a part that has n_group groups.
static void write_row(const struct pli_proc_task *t, uint32_t k, uint32_t n_group,
                      const struct before *before, struct pli_node_row *row)
{
    const struct pli_app *app = t->app;
    uint32_t at = pli_task_rank(t) - app->first;
    if (app->n_upc > 0) {
        uint32_t group = at / app->ranks_per_proc;
        row->upc_first = app->first + group * app->ranks_per_proc;
        row->upc_n = app->n_upc;
        row->upc_ranks = app->ranks_per_proc;
        row->upc_group = before->n_group + group;
        row->upc_extra = before->extra + group * (app->n_upc - app->ranks_per_proc);
    } else {
        uint32_t size = app->n_rank / n_group;
        at += k;
        row->upc_first = app->first + at / size * size;
        row->upc_n = row->upc_ranks = size;
        row->upc_group = before->n_group + at / size;
    }
}

void pli_upc_groups_write(struct pli_job *job)
{
    uint32_t n = 0;
    struct before before = { 0, job->n_rank };
    for (uint32_t a = 0; a < job->n_app; a++) {
        n += n_group_of(job, &job->apps[a]);
    }
    job->node.header->n_extra = job->n_extra;
    for (uint32_t a = 0; a < job->n_app; a++) {
        uint32_t mine = n_group_of(job, &job->apps[a]);
        for (uint32_t k = 0; k < mine; k++) {
            const struct pli_app *app = &job->apps[a];
            job->node.procs[app->first + app->n_rank / mine * k].upc_leads = 1;
        }
        for (uint32_t i = 0; i < job->n_task; i++) {
            const struct pli_proc_task *t = &job->tasks[i];
            for (uint32_t k = 0; t->app == &job->apps[a] && k < t->n + t->n_extra; k++) {
                struct pli_node_row *row =
                    &job->node.rows[k < t->n ? t->first + k : t->extra + k - t->n];
                write_row(t, k, mine, &before, row);
                row->upc_n_group = n;
                row->app = a;
                row->n_app = t->app->n_rank;
            }
        }
        before.n_group += mine;
        before.extra +=
            job->apps[a].n_upc > 0 ? mine * (job->apps[a].n_upc - job->apps[a].ranks_per_proc) : 0;
    }
}
