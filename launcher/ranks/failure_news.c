// SPDX-License-Identifier: BSD-3-Clause
// Writes failures and agreements into the memory of this host. mpiexec decides in which order they
// happened and sends them in that order, so all hosts see the same.
#include "launcher/ranks/failure_news.h"

#include "launcher/job/role.h"
#include "boot/agree_wire.h"
#include "launcher/job/job.h"
#include "net/shm/shm.h"
#include "launcher/base/pack.h"
#include "launcher/ranks/supervisor.h"

#include <string.h>

static void notify_ranks(struct pli_node *node)
{
    atomic_fetch_add_explicit(&node->header->n_news, 1, memory_order_seq_cst);
    pli_shm_wake_node(node);
}

static void write_failed(struct pli_job *job, const struct pli_news *n)
{
    struct pli_node *node = &job->node;
    const struct pli_node_proc *found = pli_node_find(node, n->index);
    uint32_t row = pli_node_row_of(node, n->index);
    if (found == NULL) {
        return;
    }
    struct pli_node_proc *p = &node->procs[found - node->procs];
    if (row != UINT32_MAX) {
        node->rows[row].abort_code = (int32_t)n->status;
        pli_node_set_state(node, row, PLI_NODE_ABORTED);
    }
    p->failed_at = n->n_failed;
    p->pid = n->pid;
    atomic_store_explicit(&p->failure, n->how, memory_order_release);
    atomic_store_explicit(&node->header->n_failed, n->n_failed, memory_order_release);
    notify_ranks(node);
    if ((n->how & ~(uint32_t)PLI_FAILURE_NUMBER) == PLI_FAILURE_ABORT && row != UINT32_MAX) {
        pli_launcher.role->end_process(job, row);
    }
}

// A member that has voted here has made the mark, and it stays.
static void write_agreed(struct pli_node *node, const struct pli_news *n)
{
    const struct pli_failure_mark *m = pli_failure_find(node->header, n->key);
    if (m == NULL) {
        return; // no member here
    }
    struct pli_failure_agreement *p = (struct pli_failure_agreement *)(node->base + m->agreement);
    p->outcomes[n->seq % PLI_FAILURE_AHEAD] = n->outcome;
    atomic_store_explicit(&p->results[n->seq % PLI_FAILURE_AHEAD],
                          (uint64_t)n->seq << 32 | n->n_failed, memory_order_release);
    pli_shm_wake_node(node);
}

static _Atomic uint64_t *place(struct pli_node *node, uint32_t i)
{
    return &pli_failure_table(node->header)->revoked[i % PLI_FAILURE_N_MARK];
}

// One place stays free, so that every search ends. False: there is no other.
static bool write_revoked(struct pli_node *node, uint64_t key)
{
    uint32_t n_used = 0, i = pli_failure_home(key);
    for (uint32_t k = 0; k < PLI_FAILURE_N_MARK; k++) {
        n_used += *place(node, k) > PLI_FAILURE_WAS;
    }
    while (*place(node, i) > PLI_FAILURE_WAS && *place(node, i) != key) {
        i++;
    }
    bool has_room = n_used < PLI_FAILURE_N_MARK - 1 || *place(node, i) != PLI_FAILURE_FREE;
    if (has_room) {
        atomic_store_explicit(place(node, i), key, memory_order_release);
        notify_ranks(node);
    }
    return has_room;
}

// What stands in front of a free place need not be looked through.
static void drop_revoked(struct pli_node *node, uint64_t key)
{
    uint32_t i = pli_failure_home(key);
    while (*place(node, i) != key && *place(node, i) != PLI_FAILURE_FREE) {
        i++;
    }
    if (*place(node, i) != key) {
        return;
    }
    atomic_store_explicit(place(node, i), PLI_FAILURE_WAS, memory_order_release);
    for (bool is = *place(node, i + 1) == PLI_FAILURE_FREE;
         is && *place(node, i) == PLI_FAILURE_WAS; i--) {
        atomic_store_explicit(place(node, i), PLI_FAILURE_FREE, memory_order_release);
    }
}

static void write_dropped(struct pli_node *node, uint64_t key)
{
    const struct pli_failure_mark *m = pli_failure_find(node->header, key);
    if (m != NULL) {
        struct pli_failure_agreement *p =
            (struct pli_failure_agreement *)(node->base + m->agreement);
        atomic_store_explicit(&p->is_dropped, 1, memory_order_release);
    }
    drop_revoked(node, key);
}

// Into the memory of this host.
static void note(struct pli_job *job, const struct pli_news *n)
{
    switch (n->what) {
    case PLI_NEWS_FAILED:
        write_failed(job, n);
        break;
    case PLI_NEWS_AGREED:
        write_agreed(&job->node, n);
        break;
    case PLI_NEWS_REVOKED:
        if (!write_revoked(&job->node, n->key)) {
            pli_supervisor_lose(
                "more communicators are revoked and not freed than there is room for");
        }
        break;
    case PLI_NEWS_DROPPED:
        write_dropped(&job->node, n->key);
        break;
    case PLI_NEWS_END:
        atomic_store(&job->node.header->end, (uint64_t)n->seq << 32 | n->n_begun);
        notify_ranks(&job->node);
        break;
    default:
        break;
    }
}

void pli_failure_news_unpack(struct pli_job *job, const void *data, size_t len)
{
    struct pli_news n;
    if (len == sizeof n) {
        memcpy(&n, data, sizeof n);
        note(job, &n);
    }
}

void pli_failure_news_tell(struct pli_job *job, const struct pli_news *n)
{
    note(job, n);
    pli_launcher.role->send_news(n);
}

static void pack_failure(const struct pli_node *node, uint32_t index, struct pli_pack *to)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    if (p != NULL && atomic_load(&p->failure) != 0) {
        pli_pack_u32(to, index);
        pli_pack_u32(to, atomic_load(&p->failure));
        pli_pack_u32(to, p->failed_at);
        pli_pack_u32(to, p->pid);
    }
}

void pli_failure_news_pack_replay(const struct pli_job *job, struct pli_pack *to)
{
    const struct pli_node *node = &job->node;
    const struct pli_node_header *h = node->header;
    struct pli_pack dead = { 0 }, revoked = { 0 };
    for (uint32_t i = 0; i < h->n_world; i++) {
        pack_failure(node, h->base + i, &dead);
    }
    for (uint32_t row = h->n_row; row < pli_node_n_used(node); row++) {
        pack_failure(node, node->rows[row].index, &dead);
    }
    for (uint32_t i = 0; i < PLI_FAILURE_N_MARK; i++) {
        uint64_t key = pli_failure_table(node->header)->revoked[i];
        if (key > PLI_FAILURE_WAS) {
            pli_pack_u64(&revoked, key);
        }
    }
    pli_pack_u32(to, (uint32_t)(dead.len / 16));
    pli_pack_bytes(to, dead.data, dead.len);
    pli_pack_u32(to, (uint32_t)(revoked.len / 8));
    pli_pack_bytes(to, revoked.data, revoked.len);
    pli_pack_u32(to, atomic_load(&h->n_failed));
    pli_pack_u64(to, atomic_load(&h->end));
    pli_pack_fini(&dead);
    pli_pack_fini(&revoked);
}

void pli_failure_news_take_replay(struct pli_job *job, struct pli_unpack *from)
{
    struct pli_node_header *h = job->node.header;
    uint32_t n_dead = pli_unpack_count(from, 16);
    for (uint32_t i = 0; i < n_dead; i++) {
        struct pli_news n = { .what = PLI_NEWS_FAILED, .index = pli_unpack_u32(from) };
        n.how = pli_unpack_u32(from);
        n.n_failed = pli_unpack_u32(from);
        n.pid = pli_unpack_u32(from);
        write_failed(job, &n);
    }
    uint32_t n_revoked = pli_unpack_count(from, 8);
    for (uint32_t i = 0; i < n_revoked; i++) {
        write_revoked(&job->node, pli_unpack_u64(from)); // they had room where they come from
    }
    atomic_store(&h->n_failed, pli_unpack_u32(from));
    atomic_store(&h->end, pli_unpack_u64(from));
}
