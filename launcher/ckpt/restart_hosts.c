// SPDX-License-Identifier: BSD-3-Clause
// Learns from the daemons what has become of a restored job: every host says which of its processes
// live; what has become of the job is the same in all memories, and taken from the first.
#include "launcher/ckpt/restart_hosts.h"

#include "boot/pset.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/job/programs.h"
#include "launcher/hosts/head.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/base/pack.h"
#include "launcher/hosts/join_replay.h"
#include "launcher/ranks/resize_notify.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"

#include <stdio.h>
#include <stdlib.h>

void pli_restart_hosts_pack(struct pli_job *job, struct pli_pack *to)
{
    struct pli_pack list = { 0 };
    uint32_t n = 0;
    for (const struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
         t = pli_job_next(job, t)) {
        const struct pli_node_row *r = &job->node.rows[t->first];
        if (!t->is_over) {
            pli_pack_u32(&list, r->index);
            pli_pack_u32(&list, atomic_load(&r->works));
            pli_pack_u64(&list, atomic_load(&r->said));
            n++;
        }
    }
    pli_pack_u32(to, n);
    pli_pack_bytes(to, list.data, list.len);
    pli_pack_fini(&list);
    pli_join_replay_pack(job, to);
}

// A process that was started later is a task again, and its output will come.
static void add_task(struct pli_job *job, uint32_t host, uint32_t row)
{
    struct pli_programs *c = pli_say_need(pli_programs_borrow(&job->apps[0], 1));
    struct pli_proc_task *t = pli_say_need(pli_programs_task(job, c, row));
    pli_programs_release(c);
    t->host = host;
    pli_head_add(t);
}

// Processes that were members of the version before the one that counts may be about to leave it.
static void begin_resize_notice(const struct pli_job *job)
{
    uint32_t version = (uint32_t)atomic_load(&job->node.header->world);
    struct pli_pset set = { .n = version > 0 ? job->n_rank : 0 };
    char name[64];
    snprintf(name, sizeof name, PLI_PSET_WORLD "@%u", version);
    bool is_set = version > 1 && pli_pset_find(&job->node, name, &set);
    uint32_t *list = pli_say_need(malloc((set.n + 1) * sizeof *list));
    for (uint32_t i = 0; i < set.n; i++) {
        list[i] = i;
    }
    if (is_set) {
        pli_pset_list(&set, list);
    }
    pli_resize_notify_begin(list, set.n);
    free(list);
}

void pli_restart_hosts_take(struct pli_job *job, uint32_t host, struct pli_unpack *from)
{
    enum { EACH = 16 };
    uint32_t n = pli_unpack_count(from, EACH);
    struct pli_unpack list = *from;
    pli_unpack_bytes(from, (size_t)n * EACH);
    if (!pli_launcher.ckpt->restart.has_replay) {
        pli_join_replay_take(job, from);
        begin_resize_notice(job);
        pli_launcher.ckpt->restart.has_replay = true;
    }
    for (uint32_t i = 0; i < n && !from->is_bad; i++) {
        uint32_t index = pli_unpack_u32(&list), works = pli_unpack_u32(&list);
        uint64_t said = pli_unpack_u64(&list);
        uint32_t row = pli_node_row_of(&job->node, index);
        if (row == UINT32_MAX) {
            from->is_bad = true;
            break;
        }
        atomic_store(&job->node.rows[row].works, works);
        atomic_store(&job->node.rows[row].said, said);
        if (row >= job->node.header->n_row) {
            add_task(job, host, row);
        }
    }
}

static bool has_task(const struct pli_job *job, uint32_t row)
{
    const struct pli_proc_task *t = job->spawned;
    while (t != NULL && t->first != row) {
        t = t->next;
    }
    return t != NULL;
}

void pli_restart_hosts_done(struct pli_job *job)
{
    struct pli_pack over = { 0 };
    for (uint32_t row = job->node.header->n_row; row < pli_node_n_used(&job->node); row++) {
        uint32_t index = job->node.rows[row].index;
        if (!has_task(job, row)) { // it had ended, and not all had heard of it
            pli_rank_rows_cancel(job, row);
            pli_pack_u32(&over, index);
            pli_pack_u32(&over, 1);
        }
    }
    if (over.len > 0) {
        pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_ENDED, 0, 0, over.data, over.len);
    }
    pli_pack_fini(&over);
    pli_resize_notify_check(job);
}
