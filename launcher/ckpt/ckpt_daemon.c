// SPDX-License-Identifier: BSD-3-Clause
// A daemon's part in a checkpoint: it does as mpiexec says, and tells how far it is.
#include "launcher/ckpt/ckpt_daemon.h"

#include "base/clock.h"
#include "base/fault.h"
#include "boot/ckpt_wire.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/migrate_daemon.h"
#include "launcher/ckpt/restart_hosts.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool describe(struct pli_manifest_task *tasks, uint32_t n)
{
    free(pli_launcher.ckpt->daemon.tasks);
    pli_launcher.ckpt->daemon.tasks = tasks;
    pli_launcher.ckpt->daemon.n = n;
    return true;
}

void pli_ckpt_daemon_report(enum pli_ckpt_stage stage)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, (uint32_t)pli_launcher.ckpt->error);
    pli_pack_text(&p, pli_launcher.ckpt->why);
    pli_pack_u32(&p, pli_launcher.ckpt->is_again);
    pli_pack_u32(&p, pli_launcher.ckpt->n_rank);
    if (stage == PLI_CKPT_STAGE_WRITTEN) {
        pli_pack_u64(&p, pli_clock_ns());
        pli_pack_u32(&p, pli_launcher.ckpt->daemon.n);
        for (uint32_t i = 0; i < pli_launcher.ckpt->daemon.n; i++) {
            const struct pli_manifest_task *t = &pli_launcher.ckpt->daemon.tasks[i];
            pli_pack_u32(&p, t->row);
            pli_pack_u32(&p, (uint32_t)t->pid);
            pli_pack_u64(&p, t->in);
            pli_pack_u64(&p, t->out);
            pli_pack_u64(&p, t->err);
            pli_pack_u64(&p, t->resume_pipe);
        }
        if (pli_launcher.ckpt->is_move) {
            pli_rank_rows_pack(pli_launcher.ckpt->job, &p);
            pli_io_forward_pack(pli_launcher.ckpt->job, &p);
        }
    }
    if (stage == PLI_CKPT_STAGE_RESTORED) {
        pli_restart_hosts_pack(pli_launcher.ckpt->job, &p);
    }
    if (stage == PLI_CKPT_STAGE_STOPPED) {
        // All hosts learn what the ranks have made before the ranks go on.
        pli_daemon_report_changes();
    }
    pli_daemon_send(PLI_DLINK_CKPT_STAGE, (uint16_t)stage, 0, p.data, p.len);
    pli_pack_fini(&p);
}

void pli_ckpt_daemon_resumed(void)
{
    pli_ckpt_go(PLI_CKPT_IDLE);
    pli_launcher.ckpt->may_call = pli_launcher.ckpt->is_begun = false;
    if (pli_launcher.ckpt->is_move) {
        pli_migrate_daemon_cancel();
    }
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_RESUMED);
}

static void resumed(struct pli_job *job)
{
    if (pli_ckpt_resume_is_held()) {
        pli_migrate_daemon_all_back(job);
    } else {
        pli_ckpt_daemon_resumed();
    }
}

// What the order says of this checkpoint.
static void take_plan(const struct pli_job *job, const struct pli_dframe *f, struct pli_unpack *u)
{
    struct pli_ckpt_plan *plan = &pli_launcher.ckpt->plan;
    *u = (struct pli_unpack){ f->data, (const unsigned char *)f->data + f->len, false };
    plan->number = pli_unpack_u32(u);
    char *where = pli_unpack_text(u);
    pli_launcher.ckpt->is_move = pli_unpack_u32(u) != 0;
    plan->pages = (enum pli_ckpt_pages)pli_unpack_u32(u);
    plan->parent[0] = '\0';
    plan->temp[0] = '\0';
    if (pli_launcher.ckpt->is_move) {
        plan->pages = PLI_CKPT_PAGES_PLAIN;
    } else if (where != NULL && where[0] != '\0') {
        snprintf(plan->temp, sizeof plan->temp, "%.*s/host.%u", PATH_MAX - 32, where, job->here);
        if (plan->pages == PLI_CKPT_PAGES_CHANGED) {
            snprintf(plan->parent, sizeof plan->parent, "../parent/host.%u", job->here);
        }
    }
    free(where);
}

static void stop(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u;
    pli_ckpt_clear();
    pli_launcher.ckpt->is_again = false;
    pli_launcher.ckpt->n_rank = 0;
    describe(NULL, 0);
    if (!pli_ckpt_go(PLI_CKPT_WAITING)) {
        pli_launcher.ckpt->is_again = true; // the last one is not over here
    } else if (!pli_ckpt_is_ready(job)) {
        pli_launcher.ckpt->is_again = true;
        pli_ckpt_go(PLI_CKPT_IDLE);
    } else {
        take_plan(job, f, &u);
        pli_ckpt_ranks_stop();
        return;
    }
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_STOPPED);
}

static void leave(const struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u;
    take_plan(job, f, &u);
    if (pli_launcher.ckpt->is_move) {
        pli_migrate_daemon_dump(&u);
    }
    pli_ckpt_ranks_leave();
}

// Whose ranks do not come back yet, so that mine go on without them.
static void take_moving(const struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    pli_unpack_u32(&u); // number, directory, whether mine are moved, pages
    free(pli_unpack_text(&u));
    pli_unpack_u32(&u);
    pli_unpack_u32(&u);
    uint32_t moving = pli_unpack_u32(&u);
    atomic_store(pli_node_moving(job->node.header), u.is_bad ? 0 : moving);
}

static void back(struct pli_job *job, const struct pli_dframe *f)
{
    take_moving(job, f);
    if (pli_ckpt_resume_is_held()) {
        pli_migrate_daemon_begin(job, f); // they come from another host
        return;
    }
    if (pli_restart_call(job)) {
        return; // they come from a checkpoint
    }
    pli_launcher.ckpt->may_call = true;
    if (pli_launcher.ckpt->state == PLI_CKPT_IDLE) {
        pli_ckpt_daemon_resumed();
    } else {
        pli_ckpt_ranks_resume();
    }
}

void pli_ckpt_daemon_hear(struct pli_job *job, const struct pli_dframe *f)
{
    static const char *const points[] = { [PLI_CKPT_STEP_STOP] = "daemon_ckpt_stop",
                                          [PLI_CKPT_STEP_DRAIN] = "daemon_ckpt_drain",
                                          [PLI_CKPT_STEP_DUMP] = "daemon_ckpt_leave",
                                          [PLI_CKPT_STEP_RESUME] = "daemon_ckpt_back" };
    if (f->flag == PLI_CKPT_STEP_RESTORE && job->opt.takes_moved && job->from == NULL) {
        pli_migrate_daemon_take(job, f);
    }
    if (pli_launcher.ckpt->job == NULL || f->flag < PLI_CKPT_STEP_STOP ||
        f->flag > PLI_CKPT_STEP_RESUME) {
        return;
    }
    pli_fault(points[f->flag], job->here);
    switch (f->flag) {
    case PLI_CKPT_STEP_STOP:
        stop(job, f);
        break;
    case PLI_CKPT_STEP_DRAIN:
        pli_ckpt_ranks_drain();
        break;
    case PLI_CKPT_STEP_DUMP:
        leave(job, f);
        break;
    default:
        back(job, f);
        break;
    }
}

static void stopped(void)
{
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_STOPPED);
}

static void drained(void)
{
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_DRAINED);
}

static bool may_write(void)
{
    const struct pli_proc_task *busy =
        pli_launcher.ckpt->is_move ? pli_migrate_daemon_parent(pli_launcher.ckpt->job) : NULL;
    if (busy != NULL) {
        pli_ckpt_fail(ENOTSUP, "rank %u has started processes of its own", busy->rank);
    }
    return busy == NULL;
}

// mpiexec has made the link for all hosts.
static bool link_base(void)
{
    return true;
}

// mpiexec decides when.
static bool may_resume(enum pli_ckpt_phase before)
{
    bool is_stop = before == PLI_CKPT_STOPPING;
    if (!pli_launcher.ckpt->may_call &&
        (is_stop || !pli_launcher.ckpt->is_move || pli_migrate_daemon_is_sent())) {
        pli_ckpt_daemon_report(is_stop ? PLI_CKPT_STAGE_STOPPED : PLI_CKPT_STAGE_WRITTEN);
    } // else, while images are being sent, this is asked again
    return pli_launcher.ckpt->may_call;
}

static void copied(void)
{
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_COPIED);
}

// Ranks that had ended when the checkpoint was made.
static void tell_over(const struct pli_job *job)
{
    for (uint32_t i = 0; i < job->n_first; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (t->is_over) {
            pli_daemon_send(PLI_DLINK_OUT, STDOUT_FILENO, t->number, NULL, 0);
            pli_daemon_send(PLI_DLINK_OUT, STDERR_FILENO, t->number, NULL, 0);
            pli_daemon_send(PLI_DLINK_OVER, 0, t->number, NULL, 0);
        }
    }
}

static void restored(struct pli_job *job)
{
    if (job->opt.takes_moved) { // they come from another host
        pli_migrate_daemon_restored();
        pli_restart_call_all();
        return;
    }
    tell_over(job);
    pli_launcher.ckpt->restart.is_waiting = true;
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_RESTORED);
}

static void unrestored(struct pli_job *job)
{
    if (!job->opt.takes_moved) {
        pli_ckpt_fail(EIO, "its ranks cannot be restored");
        pli_ckpt_daemon_report(PLI_CKPT_STAGE_RESTORED);
    }
}

static void save(void)
{
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_ASKED);
}

// mpiexec cancels, counts, and tells all hosts.
static void nothing(void)
{
}

static void tell_hosts(struct pli_job *job)
{
    (void)job;
}

static const struct pli_ckpt_ranks_ops ranks_ops = {
    .stopped = stopped,
    .drained = drained,
    .may_write = may_write,
    .link_base = link_base,
    .describe = describe,
    .may_resume = may_resume,
    .copied = copied,
    .restored = restored,
    .unrestored = unrestored,
    .up = "/../..",
};

const struct pli_ckpt_role pli_ckpt_daemon_role = {
    .open = pli_ckpt_ranks_open,
    .stop = pli_ckpt_ranks_stop,
    .cancel = nothing,
    .save = save,
    .count = nothing,
    .resumed = resumed,
    .tell_hosts = tell_hosts,
    .restore = pli_restart_ranks,
    .is_written = pli_ckpt_ranks_are_written,
    .ranks = &ranks_ops,
};
