// SPDX-License-Identifier: BSD-3-Clause
// The daemons' side of a move: one lets go of its ranks, the other takes them.
#include "base/clock.h"
#include "base/fault.h"
#include "ckpt_back.h"
#include "ckpt_parts.h"
#include "ckpt_priv.h"
#include "daemon.h"
#include "link.h"
#include "manifest.h"
#include "move.h"
#include "pump.h"
#include "rows.h"
#include "say.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 5, DRY_MS = 10000 };

static void look(struct pli_timer *t);
static struct pli_timer timer = { .fire = look };
static uint64_t dry_end;       // until when their output must be read
static struct pli_unpack rest; // of what was said of the ranks: rows, and their input

static void look(struct pli_timer *t)
{
    (void)t;
    if (pli_ckpt.state == PLI_CKPT_DUMPING) {
        pli_ckpt_ranks_call_back();
    }
}

bool pli_move_part_is_dry(void)
{
    uint64_t now = pli_clock_ns();
    dry_end = dry_end != 0 ? dry_end : now + (uint64_t)DRY_MS * PLI_MS;
    for (struct pli_task *t = pli_job_next(pli_ckpt.job, NULL); t != NULL && pli_ckpt.error == 0;
         t = pli_job_next(pli_ckpt.job, t)) {
        if (pli_pump_is_dry(&t->out) && pli_pump_is_dry(&t->err)) {
            continue;
        }
        if (now < dry_end) {
            pli_loop_timer(&timer, (uint64_t)LOOK_MS * PLI_MS);
            return false;
        }
        pli_ckpt_fail(EAGAIN, "nobody reads what rank %u has printed", t->rank);
    }
    dry_end = 0;
    return true;
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

const struct pli_task *pli_move_part_parent(const struct pli_job *job)
{
    char path[64];
    for (struct pli_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
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

void pli_move_part_take(struct pli_job *job, const struct pli_frame *f)
{
    unsigned char *copy = pli_say_need(malloc(f->len + 1));
    memcpy(copy, f->data, f->len);
    struct pli_unpack u = { copy, copy + f->len, false };
    struct pli_manifest *m = pli_say_need(calloc(1, sizeof *m));
    char *where = pli_unpack_text(&u);
    m->spawned = pli_unpack_u32(&u);
    m->clock_ns = pli_unpack_u64(&u);
    m->n_task = pli_unpack_count(&u, 40);
    m->tasks = pli_say_need(calloc((size_t)m->n_task + 1, sizeof *m->tasks));
    for (uint32_t i = 0; i < m->n_task; i++) {
        pli_ckpt_parts_take(&u, &m->tasks[i]);
    }
    if (u.is_bad || where == NULL) {
        pli_say_bad("mpiexec sent something that makes no sense");
    }
    pli_fault("daemon_move_take", job->here);
    snprintf(m->dir, sizeof m->dir, "%.*s/host.%u", PATH_MAX - 32, where, job->here);
    free(where);
    rest = u;
    job->from = m;
}

void pli_move_part_restored(void)
{
    pli_fault("daemon_move_restored", pli_ckpt.job->here);
    pli_rows_unpack(&rest);
    pli_pump_unpack(&rest);
    pli_ckpt.state = PLI_CKPT_CALLING;
    pli_ckpt_back_hold();
}

void pli_move_part_all_back(struct pli_job *job)
{
    for (uint32_t i = 0; i < job->from->n_task; i++) {
        const struct pli_task *t = pli_job_next(job, NULL);
        while (t != NULL && t->first != job->from->tasks[i].row) {
            t = pli_job_next(job, t);
        }
        if (t == NULL || t->is_exited) {
            pli_say("rank %u was restored and is gone", t != NULL ? t->rank : UINT32_MAX);
            pli_daemon_send(PLI_LINK_FAILED, 0, 1, NULL, 0);
            return;
        }
    }
    pli_fault("daemon_move_back", job->here);
    pli_ckpt_part_report(PLI_PART_RESTORED);
}

void pli_move_part_begin(struct pli_job *job, const struct pli_frame *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    pli_unpack_u32(&u); // number, directory, that it is a move
    free(pli_unpack_text(&u));
    pli_unpack_u32(&u);
    while (u.at < u.end && !u.is_bad) {
        uint32_t number = pli_unpack_u32(&u), out = pli_unpack_u32(&u), err = pli_unpack_u32(&u);
        for (struct pli_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
            if (t->number == number) {
                t->out.len = out;
                t->err.len = err;
            }
        }
    }
    pli_fault("daemon_move_begin", job->here);
    pli_ckpt_back_let();
    pli_ckpt_part_home();
}
