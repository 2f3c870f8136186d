// SPDX-License-Identifier: BSD-3-Clause
// What the manifest of a checkpoint says of the job, beside the list of files.
#include "base/clock.h"
#include "ckpt_priv.h"
#include "manifest.h"
#include "resize.h"
#include "rows.h"

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

bool pli_ckpt_describe(struct pli_ckpt_plan *plan, const struct pli_ckpt_rank *ranks,
                       uint32_t n_piece)
{
    size_t len = 0;
    char cwd[PATH_MAX];
    struct pli_manifest m = { .number = plan->number,
                              .is_state = ranks == NULL,
                              .n_rank = ranks == NULL ? n_piece : plan->job->n_rank,
                              .clock_ns = pli_clock_ns(),
                              .cwd = getcwd(cwd, sizeof cwd) != NULL ? cwd : "/",
                              .argv = plan->words,
                              .spawned = pli_rows_count(),
                              .program = plan->job->program_at };
    while (m.argv[m.n_arg] != NULL) {
        m.n_arg++;
    }
    m.members = ranks != NULL ? pli_resize_members(&m.n_member) : NULL;
    m.tasks = calloc(plan->job->n_task + 1, sizeof *m.tasks);
    free(plan->head);
    plan->head = NULL;
    FILE *f = m.tasks != NULL ? open_memstream(&plan->head, &len) : NULL;
    for (struct pli_task *t = pli_job_next(plan->job, NULL);
         f != NULL && ranks != NULL && t != NULL; t = pli_job_next(plan->job, t)) {
        const struct pli_ckpt_rank *r = &ranks[pli_job_slot(plan->job, t)];
        const struct pli_node_row *row = &plan->job->node.rows[t->first];
        if (r->is_wanted) {
            m.tasks[m.n_task++] = (struct pli_manifest_task){ t->first,
                                                              (int32_t)row->pid,
                                                              input_of(t->pid),
                                                              inode_of(t->out.watch.fd),
                                                              inode_of(t->err.watch.fd),
                                                              inode_of(r->rope) };
        }
    }
    if (f != NULL) {
        pli_manifest_put(f, &m);
    }
    free(m.tasks);
    return f != NULL && fclose(f) == 0;
}
