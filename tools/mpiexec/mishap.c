// SPDX-License-Identifier: BSD-3-Clause
// What a rank died of is written into its row, a count of the dead and one of the news are raised,
// and all who sleep are woken. Nothing is sent: the ranks look when they have nothing to do.
#include "mishap.h"

#include "boot/alarm_wire.h"
#include "environment.h"
#include "job.h"
#include "net/shm/shm.h"
#include "resize.h"
#include "say.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

static int status; // of the first rank that died

static bool is_survived(const struct pli_job *job)
{
    return job->opt.on_failure == PLI_FAIL_SHRINK || job->opt.on_failure == PLI_FAIL_RESPAWN;
}

static const char *name(const struct pli_job *job)
{
    return job->opt.on_failure == PLI_FAIL_SHRINK ? "shrink" : "respawn";
}

static const char *setting(const struct pli_job *job, const char *name)
{
    const char *value = pli_environment_get(&job->apps[0], name);
    return value != NULL ? value : "";
}

static bool has_ucx(const struct pli_job *job)
{
    return strstr(setting(job, "PLIANT_NET"), "ucx") != NULL;
}

static bool has_network(const struct pli_job *job)
{
    return has_ucx(job) || strcmp(setting(job, "PLIANT_NET"), "tcp") == 0 ||
           strtoul(setting(job, "PLIANT_FAKE_HOSTS"), NULL, 10) > 1;
}

void pli_mishap_check(const struct pli_job *job)
{
    if (job->opt.is_resize_error && job->opt.elastic_max == 0) {
        pli_say_bad("--on-resize=error needs --elastic MIN:MAX: the job is not resized without it");
    }
    if (job->opt.is_resize_error && (is_survived(job) || has_network(job) || job->n_host > 0)) {
        pli_say_bad("--on-resize=error is for jobs on one host, in shared memory, and with "
                    "--on-failure=abort");
    }
    if (!is_survived(job)) {
        return;
    }
    bool has_upc = false, has_scripts = false;
    for (uint32_t a = 0; a < job->n_app; a++) {
        has_upc = has_upc || job->apps[a].n_upc > 0;
        has_scripts = has_scripts || job->apps[a].ranks_per_proc > 1;
    }
    const char *why = job->n_host > 0                ? "a job on several hosts"
                      : job->opt.impi_server != NULL ? "a job that is part of an IMPI job"
                      : has_upc || job->n_extra > 0  ? "UPC threads"
                      : has_ucx(job)                 ? "a job that uses UCX (PLIANT_NET)"
                      : job->opt.ckpt_dir != NULL    ? "a job that makes checkpoints"
                      : job->opt.restart != NULL     ? "a job that was restarted"
                                                     : NULL;
    if (why == NULL && job->opt.on_failure == PLI_FAIL_RESPAWN) {
        why = job->n_app > 1 ? "a job of several programs"
              : has_scripts  ? "a process that starts several ranks"
                             : NULL;
    }
    if (why != NULL) {
        pli_say_bad(
            "--on-failure=%s is not for %s: ranks survive each other on one host, in shared "
            "memory",
            name(job), why);
    }
}

void pli_mishap_begin(struct pli_job *job)
{
    job->node.header->mode |= job->opt.is_resize_error ? (uint32_t)PLI_NODE_TELLS : 0;
    if (is_survived(job)) {
        job->node.header->mode |= PLI_NODE_SURVIVES;
        job->node.header->mode |=
            job->opt.on_failure == PLI_FAIL_RESPAWN ? (uint32_t)PLI_NODE_RESPAWNS : 0;
    }
}

static uint32_t how(const struct pli_case *c)
{
    uint32_t number = (uint32_t)c->number & PLI_ALARM_NUMBER;
    return c->fault == PLI_FAULT_SIGNAL                                 ? PLI_ALARM_SIGNAL | number
           : c->fault == PLI_FAULT_CODE || c->fault == PLI_FAULT_SILENT ? PLI_ALARM_EXIT | number
                                                                        : PLI_ALARM_LOST;
}

static void mark(struct pli_node *node, uint32_t row, const struct pli_case *c)
{
    struct pli_node_row *r = &node->rows[row];
    struct pli_node_proc *p = &node->procs[pli_node_find(node, r->index) - node->procs];
    if (atomic_load(&p->failure) != 0) {
        return;
    }
    r->abort_code = pli_verdict_status(c);
    pli_node_set_state(node, row, PLI_NODE_ABORTED);
    p->failed_at = atomic_load(&node->header->n_failed) + 1;
    p->pid = r->pid;
    atomic_store_explicit(&p->failure, how(c), memory_order_release);
    atomic_store_explicit(&node->header->n_failed, p->failed_at, memory_order_release);
}

bool pli_mishap_take(struct pli_job *job, const struct pli_case *c)
{
    struct pli_node *node = &job->node;
    const struct pli_task *t = c->task;
    if (!is_survived(job) || c->fault == PLI_FAULT_ABORT || c->state == PLI_NODE_FINALIZED) {
        return false;
    }
    status = status != 0 ? status : pli_verdict_status(c);
    pli_verdict_say(job, c, false);
    mark(node, c->row, c);
    for (uint32_t r = t->first; t->is_over && r < t->first + t->n; r++) {
        if (atomic_load(&node->rows[r].state) != PLI_NODE_FINALIZED) {
            mark(node, r, c);
        }
    }
    atomic_fetch_add_explicit(&node->header->alarm, 1, memory_order_seq_cst);
    pli_shm_wake_node(node);
    pli_resize_replace(job);
    return true;
}

int pli_mishap_status(const struct pli_job *job)
{
    bool has_survivor = status == 0;
    for (uint32_t r = 0; r < pli_node_n_used(&job->node) && !has_survivor; r++) {
        has_survivor = atomic_load(&job->node.rows[r].state) == PLI_NODE_FINALIZED;
    }
    return has_survivor ? 0 : status;
}
