// SPDX-License-Identifier: BSD-3-Clause
// Tells mpiexec what happens on the host of a daemon.
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/daemon_state.h"

#include "boot/pset.h"
#include "launcher/base/launcher.h"
#include "launcher/hosts/host_table.h"
#include "launcher/hosts/status_pack.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/job/job.h"
#include "launcher/job/rank_rows.h"
#include "launcher/ranks/failure_text.h"

void pli_daemon_send(uint16_t kind, uint16_t flag, uint32_t a, const void *data, size_t len)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_dframe f = { kind, flag, job->here, a, data, len };
    pli_dlink_send(&daemon->up, &f);
}

static void send_failure(const struct pli_rank_failure *c, bool is_beside)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, (uint32_t)c->pid);
    pli_pack_u32(&p, c->fault);
    pli_pack_u32(&p, (uint32_t)c->number);
    pli_pack_u32(&p, c->state);
    pli_pack_text(&p, c->why);
    // Processes that were started later are known by their numbers among the jobs that IMPI has
    // joined, too.
    uint32_t rank = job->node.rows[c->row].index - (c->task->is_spawned ? 0 : job->base);
    pli_daemon_send(PLI_DLINK_FAILURE, is_beside, rank, p.data, p.len);
    pli_pack_fini(&p);
}

static void send_failures(const struct pli_rank_failure *c)
{
    struct pli_job *job = pli_launcher.job;
    const struct pli_proc_task *t = c->task;
    send_failure(c, false);
    for (uint32_t r = t->first; t->is_over && r < t->first + t->n; r++) {
        struct pli_rank_failure beside = *c;
        beside.row = r;
        beside.state = atomic_load(&job->node.rows[r].state);
        if (r != c->row && beside.state == PLI_NODE_RUNNING) {
            send_failure(&beside, true);
        }
    }
}

// mpiexec decides; only what it would write into the row is written here.
void pli_daemon_report(const struct pli_rank_failure *c)
{
    struct pli_job *job = pli_launcher.job;
    send_failures(c);
    if (pli_launcher.daemon->client != NULL) {
        pli_launcher.daemon->client->failed(c);
    }
    if (job->opt.on_failure == PLI_FAIL_CONTINUE && c->state == PLI_NODE_RUNNING) {
        job->node.rows[c->row].abort_code = pli_failure_text_status(c);
        pli_node_set_state(&job->node, c->row, PLI_NODE_ABORTED);
    }
}

void pli_daemon_report_changes(void)
{
    struct pli_job *job = pli_launcher.job;
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_pack p = { 0 };
    if (!daemon->is_running) {
        return;
    }
    if (pli_status_pack_pack_states(&job->node, daemon->last_state, &p)) {
        pli_daemon_send(PLI_DLINK_ROWS, 0, 0, p.data, p.len);
    }
    p.len = 0;
    bool is_stopping = pli_launcher.ckpt_hooks->is_stopping();
    bool is_moving = pli_rank_rows_are_moving(job);
    uint32_t n_change = pli_pset_n_change(&job->node);
    if ((!is_moving || is_stopping) && n_change != daemon->n_set_change) {
        // else ranks are on their way to a daemon that would not hear
        if (pli_host_table_pack_news(job, &p)) {
            pli_daemon_send(PLI_DLINK_MADE, 0, 0, p.data, p.len);
        }
        daemon->n_set_change = n_change;
    }
    p.len = 0;
    // What is told while ranks are on their way to another daemon, that one would tell again.
    if (!is_stopping && !is_moving && pli_rank_rows_pack_free(job, &p)) {
        pli_daemon_send(PLI_DLINK_FREED, 0, 0, p.data, p.len);
    }
    pli_pack_fini(&p);
}
