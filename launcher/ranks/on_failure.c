// SPDX-License-Identifier: BSD-3-Clause
// Handles the failure of a rank. Its cause is written into the memory of all hosts, the counts of
// the dead and of the news are raised, and all sleeping ranks are woken. Ranks look at the counts
// when they have nothing else to do.
#include "launcher/ranks/on_failure.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "boot/launcher_wire.h"
#include "boot/boot.h"
#include "boot/agree_wire.h"
#include "launcher/job/job.h"
#include "launcher/ranks/failure_news.h"
#include "launcher/ranks/agreement.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"
#include "launcher/ranks/failure_text.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

bool pli_on_failure_is_survived(const struct pli_job *job)
{
    return job->opt.on_failure == PLI_FAIL_SHRINK || job->opt.on_failure == PLI_FAIL_RESPAWN;
}

static const char *name(const struct pli_job *job)
{
    return job->opt.on_failure == PLI_FAIL_SHRINK ? "shrink" : "respawn";
}

void pli_on_failure_check(const struct pli_job *job)
{
    if (job->opt.is_resize_error && job->opt.elastic_max == 0) {
        pli_say_bad("--on-resize=error needs --elastic MIN:MAX: the job is not resized without it");
    }
    if (job->opt.is_resize_error && pli_on_failure_is_survived(job)) {
        pli_say_bad("--on-resize=error is for jobs with --on-failure=abort");
    }
    if (job->opt.on_failure == PLI_FAIL_CONTINUE && job->opt.impi_server != NULL) {
        pli_say_bad("--on-failure=continue is not for a job that is part of an IMPI job: the "
                    "others would wait for a dead rank for ever");
    }
    if (!pli_on_failure_is_survived(job)) {
        return;
    }
    bool has_upc = false, has_scripts = false;
    for (uint32_t a = 0; a < job->n_app; a++) {
        has_upc = has_upc || job->apps[a].n_upc > 0;
        has_scripts = has_scripts || job->apps[a].ranks_per_proc > 1;
    }
    const char *why = job->opt.impi_server != NULL  ? "a job that is part of an IMPI job"
                      : has_upc || job->n_extra > 0 ? "UPC threads"
                                                    : NULL;
    if (why == NULL && job->opt.on_failure == PLI_FAIL_RESPAWN) {
        why = job->n_app > 1 ? "a job of several programs"
              : has_scripts  ? "a process that starts several ranks"
                             : NULL;
    }
    if (why != NULL) {
        pli_say_bad("--on-failure=%s is not for %s", name(job), why);
    }
}

void pli_on_failure_begin(struct pli_job *job)
{
    job->node.header->mode |= job->opt.is_resize_error ? (uint32_t)PLI_NODE_TELLS : 0;
    if (pli_on_failure_is_survived(job)) {
        job->node.header->mode |= PLI_NODE_SURVIVES;
        job->node.header->mode |=
            job->opt.on_failure == PLI_FAIL_RESPAWN ? (uint32_t)PLI_NODE_RESPAWNS : 0;
    }
}

static uint32_t how(const struct pli_rank_failure *c)
{
    uint32_t number = (uint32_t)c->number & PLI_FAILURE_NUMBER;
    return c->fault == PLI_FAULT_SIGNAL ? PLI_FAILURE_SIGNAL | number
           : c->fault == PLI_FAULT_CODE || c->fault == PLI_FAULT_SILENT ? PLI_FAILURE_EXIT | number
                                                                        : PLI_FAILURE_LOST;
}

// Tell all that a process has failed, if they do not know; each host ends those it has.
static void tell_failed(struct pli_job *job, const struct pli_node_row *r, uint32_t pid,
                        uint32_t how, uint32_t status)
{
    const struct pli_node *node = &job->node;
    if (pli_node_failure(node, r->index) != 0 || atomic_load(&r->state) == PLI_NODE_FINALIZED) {
        return;
    }
    struct pli_news n = { .what = PLI_NEWS_FAILED,
                          .index = r->index,
                          .how = how,
                          .pid = pid,
                          .status = status,
                          .n_failed = atomic_load(&node->header->n_failed) + 1 };
    pli_failure_news_tell(job, &n);
}

// The next one that died.
static void mark(struct pli_job *job, uint32_t row, const struct pli_rank_failure *c)
{
    const struct pli_node_row *r = &job->node.rows[row];
    uint32_t pid = row == c->row ? (uint32_t)c->pid : r->pid;
    tell_failed(job, r, pid, c->task == NULL ? PLI_FAILURE_HOST : how(c),
                (uint32_t)pli_failure_text_status(c));
}

// The others go on.
static void go_on(struct pli_job *job)
{
    pli_agreement_failed(job);
    pli_launcher.role->replace_failed(job);
}

// Whether a process would be left of the job if the processes in these rows ended.
static bool leaves_one(const struct pli_node *node, const bool *is_in)
{
    for (uint32_t row = 0; row < pli_node_n_used(node); row++) {
        const struct pli_node_row *r = &node->rows[row];
        uint32_t state = atomic_load(&r->state);
        if (!is_in[row] && pli_node_failure(node, r->index) == 0 &&
            !pli_node_has_ended(node, r->index) && state < PLI_NODE_FINALIZED) {
            return true;
        }
    }
    return false;
}

// The rows of the processes to end; NULL: the list is not one of this job.
static bool *read_members(const struct pli_node *node, const char *list, size_t n, uint32_t index)
{
    bool *is_in = calloc((size_t)pli_node_n_used(node) + 1, sizeof *is_in);
    bool has_asker = false;
    for (size_t i = 0; is_in != NULL && i < n; i++) {
        uint32_t member;
        memcpy(&member, list + i * sizeof member, sizeof member);
        uint32_t row = pli_node_row_of(node, member);
        has_asker |= member == index && row != UINT32_MAX;
        if (row != UINT32_MAX) {
            is_in[row] = true;
        }
    }
    if (!has_asker) {
        free(is_in);
        return NULL;
    }
    return is_in;
}

static void end_members(struct pli_job *job, const bool *is_in, int code)
{
    const struct pli_node *node = &job->node;
    for (uint32_t row = 0, n = pli_node_n_used(node); row < n; row++) {
        const struct pli_node_row *r = &node->rows[row];
        if (is_in[row] && !pli_node_has_ended(node, r->index)) {
            tell_failed(job, r, r->pid, PLI_FAILURE_ABORT | ((uint32_t)code & PLI_FAILURE_NUMBER),
                        (uint32_t)pli_boot_exit_code(code));
        }
    }
}

void pli_on_failure_abort(struct pli_job *job, const char *body, size_t len, struct pli_answer *a)
{
    struct pli_on_failure_state *self = pli_launcher.on_failure;
    struct pli_ask_abort ask;
    if (len < sizeof ask || (len - sizeof ask) % sizeof(uint32_t) != 0) {
        pli_refuse(a, EINVAL, "the request makes no sense");
        return;
    }
    memcpy(&ask, body, sizeof ask);
    size_t n = (len - sizeof ask) / sizeof(uint32_t);
    bool *is_in = pli_on_failure_is_survived(job)
                      ? read_members(&job->node, body + sizeof ask, n, ask.index)
                      : NULL;
    if (is_in == NULL || !leaves_one(&job->node, is_in)) {
        pli_refuse(a, ESRCH, "no process would be left");
        free(is_in);
        return;
    }
    self->status = self->status != 0 ? self->status : pli_boot_exit_code(ask.code);
    pli_say("rank %u called MPI_Abort with code %d on a communicator of %zu: its members end, the "
            "others go on.",
            ask.index, ask.code, n);
    end_members(job, is_in, ask.code);
    go_on(job);
    free(is_in);
}

bool pli_on_failure_take(struct pli_job *job, const struct pli_rank_failure *c)
{
    struct pli_on_failure_state *self = pli_launcher.on_failure;
    const struct pli_proc_task *t = c->task;
    uint32_t known = pli_node_failure(&job->node, job->node.rows[c->row].index);
    if (pli_on_failure_is_survived(job) &&
        (known & ~(uint32_t)PLI_FAILURE_NUMBER) == PLI_FAILURE_ABORT) {
        return true; // as the others were told
    }
    if (!pli_on_failure_is_survived(job) || c->fault == PLI_FAULT_ABORT ||
        c->state == PLI_NODE_FINALIZED) {
        return false;
    }
    self->status = self->status != 0 ? self->status : pli_failure_text_status(c);
    pli_failure_text_say(job, c, false);
    mark(job, c->row, c);
    for (uint32_t r = t->first; t->is_over && r < t->first + t->n; r++) {
        mark(job, r, c);
    }
    go_on(job);
    return true;
}

void pli_on_failure_beside(const struct pli_rank_failure *c)
{
    struct pli_job *job = c->task->job;
    if (pli_on_failure_is_survived(job)) {
        mark(job, c->row, c);
        go_on(job);
    }
}

void pli_on_failure_dropped(struct pli_job *job, uint32_t first, uint32_t n)
{
    const struct pli_node *node = &job->node;
    for (uint32_t i = 0; i < n && pli_on_failure_is_survived(job); i++) {
        uint32_t row = pli_node_row_of(node, first + i);
        if (row != UINT32_MAX) {
            const struct pli_node_row *r = &node->rows[row];
            tell_failed(job, r, r->pid, PLI_FAILURE_SIGNAL | SIGKILL, 128 + SIGKILL);
        }
    }
    pli_agreement_failed(job);
}

void pli_on_failure_lose(struct pli_job *job, uint32_t host,
                         bool (*is_new)(const struct pli_job *job, uint32_t row))
{
    struct pli_on_failure_state *self = pli_launcher.on_failure;
    struct pli_rank_failure gone = { .fault = PLI_FAULT_VANISHED, .row = UINT32_MAX };
    if (!pli_on_failure_is_survived(job)) {
        return;
    }
    self->status = self->status != 0 ? self->status : 1;
    for (const struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
         t = pli_job_next(job, t)) {
        bool is_there = t->host == host && !t->is_over && !is_new(job, t->first);
        for (uint32_t r = t->first; is_there && r < t->first + t->n; r++) {
            mark(job, r, &gone);
        }
    }
}

void pli_on_failure_lost(struct pli_job *job)
{
    go_on(job);
}

int pli_on_failure_status(const struct pli_job *job)
{
    struct pli_on_failure_state *self = pli_launcher.on_failure;
    bool has_survivor = self->status == 0;
    for (uint32_t r = 0; r < pli_node_n_used(&job->node) && !has_survivor; r++) {
        has_survivor = pli_node_failure(&job->node, job->node.rows[r].index) == 0;
    }
    return has_survivor ? 0 : self->status;
}
