// SPDX-License-Identifier: BSD-3-Clause
// Does the daemons' part of a move: one dumps its ranks, the other restores them.
#include "base/clock.h"
#include "base/conf.h"
#include "base/fault.h"
#include "launcher/ckpt/ckpt_resume.h"
#include "launcher/ckpt/ckpt_daemon.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/base/launcher.h"
#include "launcher/hosts/daemon_addr.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/criu_run.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/image_transfer.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/migrate_daemon.h"
#include "launcher/hosts/io_forward.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/base/tmpdir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5, DRY_MS = 10000 };

static void look(struct pli_timer *t);

struct pli_migrate_daemon_state {
    struct pli_timer timer;
    uint64_t dry_end;       // until when their output must be read
    struct pli_unpack rest; // of what was said of the ranks: rows, and their input
    // Sending the images.
    struct pli_helper helper;
    struct pli_daemon_addr to;
    bool is_begun, is_over;
};

// Made when it is first asked for.
static struct pli_migrate_daemon_state *state(void)
{
    struct pli_migrate_daemon_state *m = pli_launcher.ckpt->migrate_daemon;
    if (m == NULL) {
        m = pli_launcher.ckpt->migrate_daemon = pli_say_need(calloc(1, sizeof *m));
        m->timer.fire = look;
        m->helper = (struct pli_helper)PLI_HELPER_NONE;
    }
    return m;
}

static void look(struct pli_timer *t)
{
    (void)t;
    if (pli_launcher.ckpt->state == PLI_CKPT_DUMPING) {
        pli_ckpt_ranks_resume();
    }
}

static bool is_dry(void)
{
    uint64_t now = pli_clock_ns();
    state()->dry_end = state()->dry_end != 0 ? state()->dry_end : now + (uint64_t)DRY_MS * PLI_MS;
    for (struct pli_proc_task *t = pli_job_next(pli_launcher.ckpt->job, NULL);
         t != NULL && pli_launcher.ckpt->error == 0; t = pli_job_next(pli_launcher.ckpt->job, t)) {
        if (pli_io_forward_is_drained(&t->out) && pli_io_forward_is_drained(&t->err)) {
            continue;
        }
        if (now < state()->dry_end) {
            pli_loop_timer(&state()->timer, (uint64_t)LOOK_MS * PLI_MS);
            return false;
        }
        pli_ckpt_fail(EAGAIN, "the output of rank %u is not read", t->rank);
    }
    state()->dry_end = 0;
    return true;
}

void pli_migrate_daemon_dump(struct pli_unpack *u)
{
    char why[PLI_CKPT_WHY];
    pli_daemon_addr_unpack(&state()->to, u);
    state()->is_begun = state()->is_over = false;
    if (u->is_bad) {
        pli_ckpt_fail(EPROTO, "mpiexec sent something that makes no sense");
    } else if (pli_launcher.ckpt->job->opt.ckpt_dir == NULL && !pli_criu_check(why)) {
        pli_ckpt_fail(ENOTSUP, "%s", why);
    } else if (!pli_tmpdir_open()) {
        pli_ckpt_fail(errno, "there is no room for images in PLIANT_IMAGE_DIR, %.200s: %s",
                      pli_conf.image_dir, strerror(errno));
    } else {
        snprintf(pli_launcher.ckpt->plan.temp, sizeof pli_launcher.ckpt->plan.temp, "%.*s/out",
                 PATH_MAX - 8, pli_tmpdir_path());
    }
}

static void send_done(struct pli_helper *h, bool is_good)
{
    state()->is_over = true;
    if (!is_good) {
        char text[PLI_CKPT_WHY];
        pli_helper_reason(h, text, sizeof text);
        pli_ckpt_fail(EIO, "%s", text);
    }
    look(NULL);
}

bool pli_migrate_daemon_is_sent(void)
{
    if (!is_dry()) {
        return false;
    }
    if (pli_launcher.ckpt->error == 0 && !state()->is_begun) {
        pli_fault("daemon_move_send", pli_launcher.ckpt->job->here);
        state()->helper.done = send_done;
        state()->is_begun = pli_image_transfer_send(&state()->helper, pli_launcher.ckpt->job,
                                                    &state()->to, pli_launcher.ckpt->plan.temp);
        if (state()->is_begun) {
            pli_helper_watch(&state()->helper);
        } else {
            pli_ckpt_fail(errno, "a process cannot be started: %s", strerror(errno));
        }
    }
    return pli_launcher.ckpt->error != 0 || state()->is_over;
}

void pli_migrate_daemon_cancel(void)
{
    pli_helper_kill(&state()->helper);
    pli_tmpdir_close();
}

// Whether a thread of a process has started others.
static bool has_children(int pid, const char *thread)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, thread);
    FILE *f = fopen(path, "re");
    bool has = f != NULL && fgetc(f) != EOF;
    if (f != NULL) {
        fclose(f);
    }
    return has;
}

const struct pli_proc_task *pli_migrate_daemon_parent(const struct pli_job *job)
{
    char path[64];
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
        DIR *d = t->is_exited ? NULL : opendir(path);
        bool has = false;
        for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
            has = has || (e->d_name[0] != '.' && has_children((int)t->pid, e->d_name));
        }
        if (d != NULL) {
            closedir(d);
        }
        if (has) {
            return t;
        }
    }
    return NULL;
}

void pli_migrate_daemon_ready(void)
{
    char why[PLI_CKPT_WHY];
    struct pli_daemon_addr image_addr;
    struct pli_pack p = { 0 };
    if (!pli_criu_check(why) || !pli_image_transfer_open(&image_addr, why)) {
        pli_say_bad("%s", why);
    }
    pli_daemon_addr_pack(&image_addr, &p);
    pli_daemon_send(PLI_DLINK_CKPT_STAGE, PLI_CKPT_STAGE_READY, 0, p.data, p.len);
    pli_pack_fini(&p);
}

void pli_migrate_daemon_take(struct pli_job *job, const struct pli_dframe *f)
{
    unsigned char *copy = pli_say_need(malloc(f->len + 1));
    memcpy(copy, f->data, f->len);
    struct pli_unpack u = { copy, copy + f->len, false };
    struct pli_manifest *m = pli_say_need(calloc(1, sizeof *m));
    m->spawned = pli_unpack_u32(&u);
    m->clock_ns = pli_unpack_u64(&u);
    m->n_task = pli_unpack_count(&u, 40);
    m->tasks = pli_say_need(calloc((size_t)m->n_task + 1, sizeof *m->tasks));
    for (uint32_t i = 0; i < m->n_task; i++) {
        pli_ckpt_head_take(&u, &m->tasks[i]);
    }
    if (u.is_bad) {
        pli_say_bad("mpiexec sent something that makes no sense");
    }
    pli_fault("daemon_move_take", job->here);
    pli_fault_hold("daemon_move_take", job->here);
    snprintf(m->dir, sizeof m->dir, "%s", pli_tmpdir_path());
    state()->rest = u;
    job->from = m;
}

void pli_migrate_daemon_restored(void)
{
    pli_fault("daemon_move_restored", pli_launcher.ckpt->job->here);
    pli_image_transfer_close(); // the images are read
    pli_rank_rows_unpack(&state()->rest);
    pli_io_forward_unpack(&state()->rest);
    pli_launcher.ckpt->state = PLI_CKPT_RESUMING;
    pli_ckpt_resume_hold();
}

void pli_migrate_daemon_all_back(struct pli_job *job)
{
    for (uint32_t i = 0; i < job->from->n_task; i++) {
        const struct pli_proc_task *t = pli_job_next(job, NULL);
        while (t != NULL && t->first != job->from->tasks[i].row) {
            t = pli_job_next(job, t);
        }
        if (t == NULL || t->is_exited) {
            pli_say("rank %u was restored and is gone", t != NULL ? t->rank : UINT32_MAX);
            pli_daemon_send(PLI_DLINK_FAILED, 0, 1, NULL, 0);
            return;
        }
    }
    pli_fault("daemon_move_back", job->here);
    pli_ckpt_daemon_report(PLI_CKPT_STAGE_RESTORED);
}

void pli_migrate_daemon_begin(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    pli_unpack_u32(&u); // number, directory, that it is a move, pages, that no other ranks move
    free(pli_unpack_text(&u));
    pli_unpack_u32(&u);
    pli_unpack_u32(&u);
    pli_unpack_u32(&u);
    while (u.at < u.end && !u.is_bad) {
        uint32_t number = pli_unpack_u32(&u), out = pli_unpack_u32(&u), err = pli_unpack_u32(&u);
        for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
             t = pli_job_next(job, t)) {
            if (t->number == number) {
                t->out.len = out;
                t->err.len = err;
            }
        }
    }
    pli_fault("daemon_move_begin", job->here);
    pli_ckpt_resume_release();
    pli_ckpt_daemon_resumed();
}
