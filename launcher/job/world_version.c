// SPDX-License-Identifier: BSD-3-Clause
// Makes the next version of the world the current one, by one word in the memory of each host.
#include "launcher/job/world_version.h"

#include "base/fault.h"
#include "base/futex.h"
#include "boot/launcher_wire.h"
#include "boot/pset.h"
#include "launcher/job/job.h"
#include "net/shm/shm.h"
#include "launcher/base/pack.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_there(const struct pli_node *node, uint32_t index, uint32_t host)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    return p != NULL && p->host == host;
}

// Whether the host has its set; n_node: how many sets of hosts there are.
static bool has_set(struct pli_node *node, uint32_t host, uint32_t *n_node)
{
    struct pli_pset set;
    bool has = false;
    *n_node = 0;
    pli_pset_lock(node);
    for (uint32_t at = 0; pli_pset_next(node, &at, &set);) {
        *n_node += set.origin == PLI_PSET_HOST;
        for (uint32_t k = 0; set.origin == PLI_PSET_HOST && k < set.n_run && !has; k++) {
            for (uint32_t m = 0; m < set.runs[k].n && !has; m++) {
                has = is_there(node, set.runs[k].first + m * set.runs[k].step, host);
            }
        }
    }
    pli_pset_unlock(node);
    return has;
}

// A host that gets its first ranks now has a set as the others have. A process that asks for such a
// set gets the members of the newest version, so that it need not be made again.
static void add_host_set(struct pli_job *job, const struct pli_world_version *w, uint32_t host)
{
    char name[PLI_PSET_NAME];
    uint32_t n = 0, n_node, *list = pli_say_need(calloc((size_t)w->n_member + 1, sizeof *list));
    for (uint32_t i = 0; i < w->n_member; i++) {
        if (is_there(&job->node, w->members[i], host)) {
            list[n++] = w->members[i];
        }
    }
    if (n > 0 && !has_set(&job->node, host, &n_node)) {
        struct pli_pset old;
        snprintf(name, sizeof name, "mpi://host/%s", job->node.hosts[host].name);
        if (!pli_pset_find(&job->node, name, &old)) {
            pli_pset_add(&job->node, name, list, n, 1, PLI_PSET_HOST, UINT32_MAX);
        }
        snprintf(name, sizeof name, "mpi://hw/node/%u", n_node);
        if (!pli_pset_find(&job->node, name, &old)) {
            pli_pset_add(&job->node, name, list, n, 1, PLI_PSET_HARDWARE, UINT32_MAX);
        }
    }
    free(list);
}

// The process is no member of the version that is about to count.
static void tell_leaver(struct pli_job *job, uint32_t index, uint32_t version)
{
    uint32_t row = pli_node_row_of(&job->node, index);
    if (row != UINT32_MAX) {
        atomic_store_explicit(&job->node.rows[row].leave, version, memory_order_release);
    }
}

bool pli_world_version_make(struct pli_job *job, const struct pli_world_version *w,
                            struct pli_answer *a)
{
    if (pli_pset_add_world(&job->node, w->version + 1, w->members, w->n_member) != PLI_OK) {
        pli_refuse(a, ENOSPC, "%s", pli_fail_take(NULL));
        return false;
    }
    for (uint32_t h = 0; h < atomic_load(&job->node.header->n_host); h++) {
        add_host_set(job, w, h);
    }
    for (uint32_t i = 0; i < w->n_leaver; i++) {
        tell_leaver(job, w->leavers[i], w->version);
    }
    return true;
}

void pli_world_version_advance(struct pli_job *job, const struct pli_world_version *w)
{
    struct pli_node_header *h = job->node.header;
    pli_fault("mpiexec_commit", job->fault_number);
    h->world_size = w->n_member;
    atomic_store_explicit(&h->world, (int)w->version, memory_order_seq_cst);
    pli_fault("mpiexec_committed", job->fault_number);
    pli_futex_wake(&h->world, INT_MAX, false);
    if ((h->mode & PLI_NODE_TELLS) != 0) {
        atomic_fetch_add_explicit(&h->n_news, 1, memory_order_seq_cst);
        pli_shm_wake_node(&job->node);
    }
}

static void pack_list(struct pli_pack *to, const uint32_t *list, uint32_t n)
{
    pli_pack_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        pli_pack_u32(to, list[i]);
    }
}

static uint32_t *unpack_list(struct pli_unpack *from, uint32_t *n_out)
{
    uint32_t n = pli_unpack_count(from, 4);
    uint32_t *list = pli_say_need(calloc((size_t)n + 1, sizeof *list));
    for (uint32_t i = 0; i < n; i++) {
        list[i] = pli_unpack_u32(from);
    }
    *n_out = n;
    return list;
}

void pli_world_version_pack(const struct pli_world_version *w, struct pli_pack *to)
{
    pli_pack_u32(to, w->version);
    pack_list(to, w->members, w->n_member);
    pack_list(to, w->leavers, w->n_leaver);
}

bool pli_world_version_take(struct pli_job *job, struct pli_unpack *from, struct pli_answer *a)
{
    struct pli_world_version w = { .version = pli_unpack_u32(from) };
    uint32_t *members = unpack_list(from, &w.n_member), *leavers = unpack_list(from, &w.n_leaver);
    w.members = members;
    w.leavers = leavers;
    if (from->is_bad) {
        pli_refuse(a, EINVAL, "mpiexec sent something that makes no sense");
    } else if (pli_world_version_make(job, &w, a)) {
        pli_world_version_advance(job, &w);
    }
    free(members);
    free(leavers);
    return a->error == 0;
}
