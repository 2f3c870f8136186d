// SPDX-License-Identifier: BSD-3-Clause
// Finds the tasks of a job. Those of the command line are in the order of ranks; those that were
// started later are in a list.
#include "launcher/job/job.h"

struct pli_proc_task *pli_job_find_task(const struct pli_job *job, uint32_t number)
{
    struct pli_proc_task *t = job->spawned;
    if (number < job->n_first) {
        return &job->tasks[number];
    }
    while (t != NULL && t->number != number) {
        t = t->next;
    }
    return t;
}

struct pli_proc_task *pli_job_task_of(const struct pli_job *job, uint32_t rank)
{
    uint32_t low = 0, high = job->n_first;
    for (uint32_t i = 0; rank >= job->n_rank && i < job->n_first; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        if (rank - t->extra_rank < t->n_extra) {
            return t;
        }
    }
    if (rank >= job->n_rank) {
        return pli_job_find_task(job, rank);
    }
    while (high - low > 1) { // tasks are in the order of ranks
        uint32_t mid = (low + high) / 2;
        *(job->tasks[mid].rank <= rank ? &low : &high) = mid;
    }
    return &job->tasks[low];
}
