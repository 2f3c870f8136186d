// SPDX-License-Identifier: BSD-3-Clause
// What the manifest of a checkpoint says of the job, beside the list of files.
#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/job/members.h"
#include "launcher/ranks/resize.h"
#include "launcher/job/rank_rows.h"
#include "launcher/hosts/daemon_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

// The pipe that is standard input of a rank, 0: it is something else.
static uint64_t input_of(pid_t pid)
{
    char path[64], link[64];
    unsigned long ino = 0;
    snprintf(path, sizeof path, "/proc/%d/fd/0", (int)pid);
    ssize_t n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    return sscanf(link, "pipe:[%lu]", &ino) == 1 ? ino : 0;
}

struct pli_manifest_task *pli_ckpt_list(const struct pli_job *job,
                                        const struct pli_ckpt_rank *ranks, uint32_t *n_out)
{
    struct pli_manifest_task *all = calloc(job->n_task + 1, sizeof *all);
    *n_out = 0;
    for (struct pli_proc_task *t = pli_job_next(job, NULL); all != NULL && t != NULL;
         t = pli_job_next(job, t)) {
        const struct pli_ckpt_rank *r = &ranks[pli_job_slot(job, t)];
        if (r->is_wanted) {
            all[(*n_out)++] =
                (struct pli_manifest_task){ t->first,
                                            (int32_t)atomic_load(&job->node.rows[t->first].pid),
                                            input_of(t->pid),
                                            inode_of(t->out.watch.fd),
                                            inode_of(t->err.watch.fd),
                                            inode_of(r->rope),
                                            job->here };
        }
    }
    return all;
}

// Which host each task is on, and what its clock said.
static bool add_hosts(const struct pli_job *job, const uint64_t *clocks, struct pli_manifest *m)
{
    if (clocks == NULL) {
        return true;
    }
    struct pli_head_means means;
    pli_head_side(0, &means);
    uint32_t first = means.spec->tree.n;
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
