// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a job on several hosts, in mpiexec: no host goes on to the next step before all
// have done the last.
#include "launcher/ckpt/ckpt_head.h"

#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/auto_restart.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_base.h"
#include "launcher/ckpt/ckpt_describe.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_role.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/migrate_gather.h"
#include "launcher/ckpt/restart_hosts.h"
#include "launcher/ckpt/restart_run.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/members.h"
#include "launcher/job/rank_rows.h"
#include "launcher/ranks/agreement.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool open_hosts(struct pli_job *job)
{
    uint32_t cap = job->n_host + PLI_NODE_N_LATE;
    pli_launcher.ckpt->head.parts =
        pli_say_need(calloc(cap, sizeof *pli_launcher.ckpt->head.parts));
    pli_launcher.ckpt->head.clocks =
        pli_say_need(calloc(cap, sizeof *pli_launcher.ckpt->head.clocks));
    return true;
}

static void say_to(uint32_t host, enum pli_ckpt_step step, const char *where)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, pli_launcher.ckpt->plan.number);
    pli_pack_text(&p, where);
    bool is_mover = pli_launcher.ckpt->is_move && host == pli_launcher.ckpt->moved_host;
    pli_pack_u32(&p, is_mover);
    pli_pack_u32(&p, pli_launcher.ckpt->plan.pages);
    if (step == PLI_CKPT_STEP_RESUME) { // those of which host do not go on yet
        pli_pack_u32(&p, pli_launcher.ckpt->is_move && !pli_migrate_gather_is_done()
                             ? pli_launcher.ckpt->moved_host + 1
                             : 0);
    }
    if (is_mover && step == PLI_CKPT_STEP_DUMP) {
        pli_launcher.ckpt->move_ops->pack_destination(&p);
    } else if (is_mover && step == PLI_CKPT_STEP_RESUME) {
        pli_launcher.ckpt->move_ops->pack_streams(host, &p);
    }
    pli_head_send(host, PLI_DLINK_CKPT_STEP, (uint16_t)step, 0, p.data, p.len);
    pli_pack_fini(&p);
}

void pli_ckpt_head_say(uint32_t host, enum pli_ckpt_step step)
{
    say_to(host, step, "");
}

// In a move only one host is to write its ranks.
static void say(enum pli_ckpt_step step)
{
    for (uint32_t h = 0; h < pli_launcher.ckpt->job->n_host && pli_launcher.ckpt->is_move; h++) {
        say_to(h, step, "");
    }
    if (!pli_launcher.ckpt->is_move) {
        say_to((uint32_t)PLI_DLINK_ALL, step, pli_launcher.ckpt->plan.temp);
    }
}

// Whether all hosts that take part have come so far; others may join while copies are written.
static bool are(const struct pli_job *job, enum pli_ckpt_stage stage)
{
    uint32_t n = stage == PLI_CKPT_STAGE_RESTORED ? job->n_host : pli_launcher.ckpt->head.n_part;
    for (uint32_t h = 0; h < n; h++) {
        if (pli_launcher.ckpt->head.parts[h].stage < stage && !job->hosts[h].is_lost) {
            return false;
        }
    }
    return true;
}

static void resume(void)
{
    if (pli_launcher.ckpt->is_move && !pli_migrate_gather_is_done()) {
        pli_migrate_gather_want(); // first
        return;
    }
    if (pli_ckpt_go(PLI_CKPT_RESUMING)) {
        say(PLI_CKPT_STEP_RESUME);
    }
}

void pli_ckpt_head_call(void)
{
    resume();
}

void pli_ckpt_head_gathered(void)
{
    if (pli_launcher.ckpt->error != 0) {
        resume();
    } else {
        pli_launcher.ckpt->move_ops->gathered();
    }
}

const struct pli_pack *pli_ckpt_head_said(void)
{
    return &pli_launcher.ckpt->head.said;
}

static void stop(void)
{
    pli_launcher.ckpt->n_rank = 0;
    pli_launcher.ckpt->is_again = false;
    pli_launcher.ckpt->stop_ns = pli_clock_ns();
    pli_launcher.ckpt->has_copies = false;
    pli_launcher.ckpt->head.n_part = pli_launcher.ckpt->job->n_host;
    for (uint32_t h = 0; h < pli_launcher.ckpt->head.n_part; h++) {
        free(pli_launcher.ckpt->head.parts[h].tasks);
        pli_launcher.ckpt->head.parts[h] = (struct pli_ckpt_part){ 0 };
    }
    pli_ckpt_go(PLI_CKPT_STOPPING);
    if (!pli_launcher.ckpt->is_move) {
        pli_ckpt_count();
    }
    pli_ckpt_hosts_send(
        pli_launcher.ckpt->job); // first: a rank that asks from now on means the next one
    if (pli_launcher.ckpt->is_move) {
        pli_migrate_gather_begin();
        say(PLI_CKPT_STEP_STOP);
        return;
    }
    pli_ckpt_remove(pli_launcher.ckpt->plan.temp);
    if (mkdir(pli_launcher.ckpt->plan.temp, 0700) != 0 ||
        !pli_ckpt_base_link(&pli_launcher.ckpt->plan)) {
        pli_ckpt_fail(errno, "%.300s cannot be made: %s", pli_launcher.ckpt->plan.temp,
                      strerror(errno));
        resume();
        return;
    }
    say(PLI_CKPT_STEP_STOP);
}

// What ranks of several hosts have agreed on, or are about to, is known to mpiexec alone. All that
// they said before they stopped is here.
static const char agreements[] = "agreements";

static bool write_agreements(void)
{
    char path[PATH_MAX + 32];
    struct pli_pack p = { 0 };
    pli_agreement_save(&p);
    snprintf(path, sizeof path, "%s/%s", pli_launcher.ckpt->plan.temp, agreements);
    FILE *f = fopen(path, "wxe");
    bool is_good = f != NULL && fwrite(p.data, 1, p.len, f) == p.len;
    is_good = f != NULL && fclose(f) == 0 && is_good;
    pli_pack_fini(&p);
    return is_good;
}

// One that has none was written by an mpiexec that made none of jobs with agreements.
static bool read_agreements(const char *dir)
{
    char path[PATH_MAX + 32];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, agreements);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT;
    }
    unsigned char *data =
        fstat(fileno(f), &st) == 0 ? pli_say_need(malloc((size_t)st.st_size + 1)) : NULL;
    size_t len = data != NULL ? fread(data, 1, (size_t)st.st_size, f) : 0;
    fclose(f);
    struct pli_unpack u = { data, data + len, data == NULL };
    bool is_good = pli_agreement_restore(&u);
    free(data);
    return is_good;
}

// All are written: the ranks of all hosts make one checkpoint.
static void describe(const struct pli_job *job)
{
    struct pli_ckpt_what what = { .clocks = pli_launcher.ckpt->head.clocks };
    what.tasks = pli_say_need(calloc(job->n_task + 1, sizeof *what.tasks));
    for (uint32_t h = 0; h < job->n_host; h++) {
        pli_launcher.ckpt->head.clocks[h] =
            job->hosts[h].is_lost ? 0 : pli_launcher.ckpt->head.clocks[h];
        for (uint32_t i = 0; i < pli_launcher.ckpt->head.parts[h].n_task && what.n < job->n_task;
             i++) {
            what.tasks[what.n++] = pli_launcher.ckpt->head.parts[h].tasks[i];
        }
        pli_launcher.ckpt->n_rank += pli_launcher.ckpt->head.parts[h].n_rank;
    }
    if (pli_launcher.ckpt->error == 0 && !pli_ckpt_describe(&pli_launcher.ckpt->plan, &what)) {
        pli_ckpt_fail(ENOMEM, "mpiexec has no memory for it");
    }
    if (pli_launcher.ckpt->error == 0 && !write_agreements()) {
        pli_ckpt_fail(errno, "%.300s/%s cannot be written: %s", pli_launcher.ckpt->plan.temp,
                      agreements, strerror(errno));
    }
    free(what.tasks);
}

// The ranks that move are being written. The others have given up their connections at once, and
// need not wait for that.
static void advance_move(const struct pli_job *job)
{
    uint32_t moved = pli_launcher.ckpt->moved_host;
    bool is_written = pli_launcher.ckpt->head.parts[moved].stage >= PLI_CKPT_STAGE_WRITTEN ||
                      job->hosts[moved].is_lost;
    bool is_waiting = pli_migrate_gather_is_done();
    if (is_waiting && !pli_migrate_gather_are(PLI_CKPT_STAGE_WRITTEN)) {
        return;
    }
    if (is_written && pli_launcher.ckpt->error == 0) {
        if (pli_ckpt_go(PLI_CKPT_MOVING)) {
            pli_launcher.ckpt->move_ops->take();
        }
    } else if (is_written) {
        resume();
    }
    if (is_waiting && pli_launcher.ckpt->error == 0 &&
        pli_launcher.ckpt->state != PLI_CKPT_RESUMING) {
        pli_migrate_gather_part();
    }
}

static void advance(struct pli_job *job)
{
    switch (pli_launcher.ckpt->state) {
    case PLI_CKPT_STOPPING:
        if (pli_launcher.ckpt->error != 0 || pli_launcher.ckpt->is_again) {
            resume();
        } else if (are(job, PLI_CKPT_STAGE_STOPPED) && pli_ckpt_go(PLI_CKPT_DRAINING)) {
            say(PLI_CKPT_STEP_DRAIN);
        }
        break;
    case PLI_CKPT_DRAINING:
        if (are(job, PLI_CKPT_STAGE_DRAINED) && pli_ckpt_go(PLI_CKPT_DUMPING)) {
            say(PLI_CKPT_STEP_DUMP);
        }
        break;
    case PLI_CKPT_DUMPING:
        if (pli_launcher.ckpt->is_move) {
            advance_move(job);
        } else if (are(job, PLI_CKPT_STAGE_WRITTEN)) {
            describe(job);
            resume();
        }
        break;
    case PLI_CKPT_MOVING:
        if (pli_launcher.ckpt->error != 0) { // one died meanwhile
            resume();
        }
        break;
    case PLI_CKPT_RESUMING:
        if (are(job, PLI_CKPT_STAGE_COPIED) && !are(job, PLI_CKPT_STAGE_RESUMED) &&
            pli_ckpt_go(PLI_CKPT_WRITING)) {
            pli_launcher.ckpt->has_copies = true;
            pli_launcher.ckpt->go_ns = pli_clock_ns();
        } else if (are(job, PLI_CKPT_STAGE_RESUMED)) {
            pli_ckpt_finish(job);
        }
        break;
    case PLI_CKPT_WRITING:
        if (are(job, PLI_CKPT_STAGE_RESUMED)) {
            pli_ckpt_finish(job);
        }
        break;
    default:
        break;
    }
}

void pli_ckpt_head_lose(struct pli_job *job, uint32_t host, bool has_ranks)
{
    bool is_on = pli_launcher.ckpt->head.parts != NULL && pli_launcher.ckpt->state != PLI_CKPT_IDLE;
    if (is_on && (has_ranks || pli_launcher.ckpt->is_move) &&
        pli_launcher.ckpt->head.parts[host].stage < PLI_CKPT_STAGE_RESUMED) {
        pli_ckpt_fail(EHOSTDOWN, "host %s is lost", job->hosts[host].name);
    }
}

void pli_ckpt_head_go_on(struct pli_job *job)
{
    if (pli_launcher.ckpt->head.parts != NULL) {
        advance(job);
    }
}

void pli_ckpt_head_take(struct pli_unpack *u, struct pli_manifest_task *t)
{
    t->row = pli_unpack_u32(u);
    t->pid = (int32_t)pli_unpack_u32(u);
    t->in = pli_unpack_u64(u);
    t->out = pli_unpack_u64(u);
    t->err = pli_unpack_u64(u);
    t->resume_pipe = pli_unpack_u64(u);
}

static void take_tasks(struct pli_ckpt_part *part, uint32_t host, struct pli_unpack *u)
{
    pli_launcher.ckpt->head.clocks[host] = pli_unpack_u64(u);
    uint32_t n = pli_unpack_count(u, 40);
    part->tasks = pli_say_need(calloc((size_t)n + 1, sizeof *part->tasks));
    part->n_task = n;
    for (uint32_t i = 0; i < n; i++) {
        pli_ckpt_head_take(u, &part->tasks[i]);
        part->tasks[i].host = host;
    }
}

// All ranks of a checkpoint are there, and can be reached.
static void restored(struct pli_job *job, uint32_t host, struct pli_unpack *u)
{
    pli_launcher.ckpt->head.parts[host].stage = PLI_CKPT_STAGE_RESTORED;
    pli_restart_hosts_take(job, host, u);
    if (u->is_bad) {
        pli_say("host %s sent something that makes no sense", job->hosts[host].name);
        pli_supervisor_fail(1, false);
    } else if (are(job, PLI_CKPT_STAGE_RESTORED)) {
        pli_restart_hosts_done(job);
        say(PLI_CKPT_STEP_RESUME);
        pli_restart_resize(job);
    }
}

void pli_ckpt_head_hear(struct pli_job *job, uint32_t host, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (pli_launcher.ckpt->head.parts == NULL || f->flag < PLI_CKPT_STAGE_ASKED ||
        f->flag > PLI_CKPT_STAGE_RESTORED) {
        return;
    }
    if (f->flag == PLI_CKPT_STAGE_ASKED) {
        pli_ckpt_save();
        return;
    }
    struct pli_ckpt_part *part = &pli_launcher.ckpt->head.parts[host];
    int error = (int)pli_unpack_u32(&u);
    char *why = pli_unpack_text(&u);
    bool is_again = pli_unpack_u32(&u) != 0;
    part->n_rank = pli_unpack_u32(&u);
    if (f->flag == PLI_CKPT_STAGE_RESTORED) {
        free(why);
        if (error != 0) { // it has said why, and leaves
            pli_auto_restart_unrestored();
            return;
        }
        restored(job, host, &u);
        return;
    }
    if (pli_launcher.ckpt->is_move &&
        pli_migrate_gather_hear(host, (enum pli_ckpt_stage)f->flag, error != 0 || is_again)) {
        free(why);
        return;
    }
    pli_launcher.ckpt->is_again = is_again || pli_launcher.ckpt->is_again;
    if (f->flag == PLI_CKPT_STAGE_WRITTEN && pli_launcher.ckpt->is_move &&
        host == pli_launcher.ckpt->moved_host) {
        pli_launcher.ckpt->head.said.len = 0;
        pli_pack_bytes(&pli_launcher.ckpt->head.said, u.at, (size_t)(u.end - u.at));
    }
    if (f->flag == PLI_CKPT_STAGE_WRITTEN && part->tasks == NULL) {
        take_tasks(part, host, &u);
    }
    if (error != 0 || u.is_bad) {
        pli_ckpt_fail(error, "host %s: %.300s", job->hosts[host].name,
                      why != NULL ? why : "it sent something that makes no sense");
    }
    free(why);
    part->stage = f->flag;
    advance(job);
}

// On several hosts: the daemons bring the ranks back, which are told what mpiexec knows.
static bool restore(struct pli_job *job, int signals)
{
    (void)signals;
    const struct pli_manifest *m = job->from;
    struct pli_node_save *save = pli_node_save(job->node.header);
    if (!read_agreements(m->dir)) {
        pli_say("the job cannot be restarted: %s/%s cannot be read", m->dir, agreements);
        return false;
    }
    job->node.header->job = m->job;
    pli_rank_rows_restore(job, m->spawned);
    if (m->members != NULL) {
        pli_members_adopt(m->members, m->n_member);
    }
    save->number = m->number;
    atomic_store(&save->generation, (int)m->generation + 1);
    atomic_store(&save->n_begun, (int)m->attempt);
    atomic_store(&save->n_done, (int)m->attempt);
    pli_say("going on from checkpoint %u with %u rank%s on %u host%s", m->number, m->n_task,
            m->n_task == 1 ? "" : "s", m->n_host, m->n_host == 1 ? "" : "s");
    return true;
}

static bool is_written(void)
{
    return are(pli_launcher.ckpt->job, PLI_CKPT_STAGE_RESUMED);
}

static void cancel(void)
{
    pli_ckpt_fail(ECANCELED, "the job is ending");
    pli_ckpt_head_go_on(pli_launcher.ckpt->job);
}

const struct pli_ckpt_role pli_ckpt_head_role = {
    .open = open_hosts,
    .stop = stop,
    .cancel = cancel,
    .save = pli_ckpt_want,
    .count = pli_ckpt_count_attempt,
    .resumed = pli_ckpt_finish,
    .tell_hosts = pli_ckpt_hosts_send,
    .restore = restore,
    .is_written = is_written,
    .ranks = NULL,
};
