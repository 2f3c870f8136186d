// SPDX-License-Identifier: BSD-3-Clause
// A daemon's part in a checkpoint: it does as it is told, and tells how far it is.
#include "base/clock.h"
#include "base/fault.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_priv.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/dlink.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/migrate_daemon.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/ckpt/restart.h"
#include "launcher/ckpt/restart_hosts.h"
#include "launcher/job/rank_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pli_manifest_task *noted;
static uint32_t n_noted;

void pli_ckpt_daemon_note(struct pli_manifest_task *tasks, uint32_t n)
{
    free(noted);
    noted = tasks;
    n_noted = n;
}

void pli_ckpt_daemon_report(enum pli_part_stage stage)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, (uint32_t)pli_ckpt.error);
    pli_pack_text(&p, pli_ckpt.why);
    pli_pack_u32(&p, pli_ckpt.is_again);
    pli_pack_u32(&p, pli_ckpt.n_rank);
    if (stage == PLI_PART_WRITTEN) {
        pli_pack_u64(&p, pli_clock_ns());
        pli_pack_u32(&p, n_noted);
        for (uint32_t i = 0; i < n_noted; i++) {
            const struct pli_manifest_task *t = &noted[i];
            pli_pack_u32(&p, t->row);
            pli_pack_u32(&p, (uint32_t)t->pid);
            pli_pack_u64(&p, t->in);
            pli_pack_u64(&p, t->out);
            pli_pack_u64(&p, t->err);
            pli_pack_u64(&p, t->rope);
        }
        if (pli_ckpt.is_move) {
            pli_rank_rows_pack(pli_ckpt.job, &p);
            pli_io_forward_pack(pli_ckpt.job, &p);
        }
    }
    if (stage == PLI_PART_RESTORED) {
        pli_restart_hosts_pack(pli_ckpt.job, &p);
    }
    if (stage == PLI_PART_STOPPED) {
        pli_daemon_look(); // what they have made until now is known everywhere before they go on
    }
    pli_daemon_send(PLI_DLINK_PART, (uint16_t)stage, 0, p.data, p.len);
    pli_pack_fini(&p);
}

void pli_ckpt_daemon_home(void)
{
    pli_ckpt_go(PLI_CKPT_IDLE);
    pli_ckpt.may_call = pli_ckpt.is_begun = false;
    if (pli_ckpt.is_move) {
        pli_migrate_daemon_stay();
    }
    pli_ckpt_daemon_report(PLI_PART_HOME);
}

void pli_ckpt_daemon_back(struct pli_job *job)
{
    if (pli_ckpt_resume_is_held()) {
        pli_migrate_daemon_all_back(job);
    } else {
        pli_ckpt_daemon_home();
    }
}

static void stop(struct pli_job *job)
{
    pli_ckpt.error = 0;
    pli_ckpt.why[0] = '\0';
    pli_ckpt.is_again = false;
    pli_ckpt.n_rank = 0;
    pli_ckpt_daemon_note(NULL, 0);
    if (!pli_ckpt_go(PLI_CKPT_WAITING)) {
        pli_ckpt.is_again = true; // the last one is not over here
    } else if (!pli_ckpt_is_ready(job)) {
        pli_ckpt.is_again = true;
        pli_ckpt_go(PLI_CKPT_IDLE);
    } else {
        pli_ckpt_ranks_stop();
        return;
    }
    pli_ckpt_daemon_report(PLI_PART_STOPPED);
}

static void leave(const struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    pli_ckpt.plan.number = pli_unpack_u32(&u);
    char *where = pli_unpack_text(&u);
    pli_ckpt.is_move = pli_unpack_u32(&u) != 0;
    pli_ckpt.plan.temp[0] = '\0';
    if (pli_ckpt.is_move) {
        pli_migrate_daemon_leave(&u);
    } else if (where != NULL && where[0] != '\0') {
        snprintf(pli_ckpt.plan.temp, sizeof pli_ckpt.plan.temp, "%.*s/host.%u", PATH_MAX - 32,
                 where, job->here);
    }
    free(where);
    pli_ckpt_ranks_leave();
}

static void back(struct pli_job *job, const struct pli_dframe *f)
{
    if (pli_ckpt_resume_is_held()) {
        pli_migrate_daemon_begin(job, f); // they come from another host
        return;
    }
    if (pli_restart_call(job)) {
        return; // they come from a checkpoint
    }
    pli_ckpt.may_call = true;
    if (pli_ckpt.state == PLI_CKPT_IDLE) {
        pli_ckpt_daemon_home();
    } else {
        pli_ckpt_ranks_call_back();
    }
}

void pli_ckpt_daemon_hear(struct pli_job *job, const struct pli_dframe *f)
{
    static const char *const points[] = { [PLI_PART_STOP] = "daemon_ckpt_stop",
                                          [PLI_PART_DRAIN] = "daemon_ckpt_drain",
                                          [PLI_PART_LEAVE] = "daemon_ckpt_leave",
                                          [PLI_PART_BACK] = "daemon_ckpt_back" };
    if (f->flag == PLI_PART_TAKE && job->opt.takes && job->from == NULL) {
        pli_migrate_daemon_take(job, f);
    }
    if (pli_ckpt.job == NULL || f->flag < PLI_PART_STOP || f->flag > PLI_PART_BACK) {
        return;
    }
    pli_fault(points[f->flag], job->here);
    switch (f->flag) {
    case PLI_PART_STOP:
        stop(job);
        break;
    case PLI_PART_DRAIN:
        pli_ckpt_ranks_drain();
        break;
    case PLI_PART_LEAVE:
        leave(job, f);
        break;
    default:
        back(job, f);
        break;
    }
}
