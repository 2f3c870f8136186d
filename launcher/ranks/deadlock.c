// SPDX-License-Identifier: BSD-3-Clause
// Finds and reports deadlocks: ranks that all sleep, and go on sleeping.
#include "launcher/ranks/deadlock.h"

#include "launcher/job/role.h"
#include "base/clock.h"
#include "launcher/job/job.h"
#include "launcher/base/loop.h"
#include "tools/lib/status.h"
#include "launcher/base/say.h"
#include "launcher/ranks/supervisor.h"

enum {
    STATUS_DEADLOCK = 123,
    WATCH_MS = 400, // between two looks
};

static void look(struct pli_timer *t);

static struct {
    struct pli_job *job;
    struct pli_timer timer;
    uint64_t mark;  // of the last look, when all ranks were asleep
    bool is_asleep; // they were
    bool is_told;   // this deadlock was reported
} v = { .timer = { .fire = look } };

bool pli_deadlock_is_row_over(void *arg, uint32_t row)
{
    const struct pli_job *job = arg;
    for (uint32_t i = 0; i < job->n_begun && row < job->node.header->n_row; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (pli_task_has(t, row)) {
            return t->is_over;
        }
    }
    const struct pli_node_header *h = job->node.header;
    return row >= h->n_row && (job->node.rows[row].has_ended != 0 ||
                               !pli_launcher.role->watches_host(
                                   job, job->node.procs[h->n_world + row - h->n_row].host));
}

bool pli_deadlock_is_stuck(struct pli_job *job, uint64_t *mark_out)
{
    return pli_picture_is_stuck(&job->node, pli_deadlock_is_row_over, job, mark_out);
}

static void deadlock(void)
{
    if (pli_supervisor_is_ending()) {
        return;
    }
    v.is_told = true;
    pli_say_plain("%s: deadlock: every rank that is left waits inside MPI, and nothing is on its "
                  "way to any.\n",
                  pli_say_name);
    pli_picture_print(&v.job->node, pli_deadlock_is_row_over, v.job, pli_say_plain);
    if (v.job->opt.on_deadlock == PLI_DEADLOCK_ABORT) {
        pli_say("the job is ended with exit status %d; --on-deadlock=report leaves it for a "
                "debugger to look at.",
                STATUS_DEADLOCK);
        pli_supervisor_end(STATUS_DEADLOCK);
    }
}

// All ranks asleep at two looks, and none awake in between: they will sleep for ever.
static void look(struct pli_timer *t)
{
    uint64_t mark = 0;
    bool is_asleep = !pli_supervisor_is_ending() && v.job->n_begun == v.job->n_first &&
                     pli_launcher.role->is_stuck(v.job, &mark);
    bool is_same = is_asleep && v.is_asleep && mark == v.mark;
    // False: mpictl status looks just now, and it is tried again at the next turn.
    v.is_told = v.is_told || (is_same && pli_launcher.role->show_ranks(deadlock));
    v.is_told = v.is_told && is_same;
    v.is_asleep = is_asleep;
    v.mark = mark;
    if (!pli_supervisor_is_ending()) {
        pli_loop_timer(t, (uint64_t)WATCH_MS * PLI_MS);
    }
}

void pli_deadlock_begin(struct pli_job *job)
{
    v.job = job;
    // A rank that waits for one of another MPI job looks like one that waits for ever.
    if (job->opt.on_deadlock != PLI_DEADLOCK_IGNORE && job->opt.impi_server == NULL) {
        pli_loop_timer(&v.timer, (uint64_t)WATCH_MS * PLI_MS);
    }
}
