// SPDX-License-Identifier: BSD-3-Clause
// What the manifest of a checkpoint says of the job, beside the list of files.
#include "launcher/ckpt/ckpt_describe.h"

#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/job/members.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Which host each task is on, and what its clock said.
static bool add_hosts(const struct pli_job *job, const uint64_t *clocks, struct pli_manifest *m)
{
    if (clocks == NULL) {
        return true;
    }
    uint32_t first = pli_head_n_first();
    m->clocks = (uint64_t *)(uintptr_t)clocks;
    m->n_host = job->n_host;
    m->n_joined = job->n_host - first;
    m->joined = calloc(m->n_joined + 1, sizeof *m->joined);
    for (uint32_t i = 0; m->joined != NULL && i < m->n_joined; i++) {
        m->joined[i] = job->hosts[first + i].name;
    }
    m->n_spread = job->n_first;
    m->spread = calloc(job->n_first, sizeof *m->spread);
    for (uint32_t i = 0; m->spread != NULL && i < job->n_first; i++) {
        m->spread[i] = job->tasks[i].host;
    }
    return m->spread != NULL && m->joined != NULL;
}

bool pli_ckpt_describe(struct pli_ckpt_plan *plan, const struct pli_ckpt_what *what)
{
    size_t len = 0;
    char cwd[PATH_MAX];
    struct pli_node_save *save = pli_node_save(plan->job->node.header);
    struct pli_manifest m = { .number = plan->number,
                              .is_state = what->tasks == NULL,
                              .n_rank = what->tasks == NULL ? what->n : plan->job->n_rank,
                              .clock_ns = pli_clock_ns(),
                              .cwd = getcwd(cwd, sizeof cwd) != NULL ? cwd : "/",
                              .argv = plan->words,
                              .spawned = pli_rank_rows_count(),
                              .program = plan->job->program_at,
                              .tasks = what->tasks,
                              .n_task = what->tasks == NULL ? 0 : what->n,
                              .job = plan->job->node.header->job,
                              .base = plan->base,
                              .depth = plan->depth,
                              .attempt = (uint32_t)atomic_load(&save->n_begun),
                              .generation = (uint32_t)atomic_load(&save->generation) };
    while (m.argv[m.n_arg] != NULL) {
        m.n_arg++;
    }
    m.members = what->tasks != NULL ? pli_members_list(&m.n_member) : NULL;
    free(plan->head);
    plan->head = NULL;
    FILE *f = add_hosts(plan->job, what->clocks, &m) ? open_memstream(&plan->head, &len) : NULL;
    if (f != NULL) {
        pli_manifest_put(f, &m);
    }
    free(m.spread);
    free(m.joined);
    return f != NULL && fclose(f) == 0;
}
