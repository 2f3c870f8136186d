// SPDX-License-Identifier: BSD-3-Clause
// Packs rows of the node memory field by field.
#include "launcher/hosts/status_pack.h"

#include "launcher/base/pidns.h"
#include "tools/lib/rank_usage.h"
#include "tools/lib/source_line.h"
#include "tools/lib/wait_list.h"
#include "base/clock.h"
#include "boot/wait_record_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A row of a process of this host; those of processes elsewhere are notes.
static bool is_here(const struct pli_node *node, uint32_t row)
{
    const struct pli_node_header *h = node->header;
    return row < h->n_row || node->procs[h->n_world + row - h->n_row].host == h->host_index;
}

// Where mpiexec has the row of a rank, or of a process that was started later; UINT32_MAX: nowhere.
static uint32_t row_of(const struct pli_node *node, uint32_t rank)
{
    return rank < node->header->n_row ? rank : pli_node_row_of(node, rank);
}

bool pli_status_pack_pack_states(const struct pli_node *node, uint32_t *last, struct pli_pack *to)
{
    bool is_new = false;
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        const struct pli_node_row *r = &node->rows[i];
        uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);
        if (state != last[i] && is_here(node, i)) {
            last[i] = state;
            is_new = true;
            pli_pack_u32(to, r->index - node->header->base);
            pli_pack_u32(to, state);
            pli_pack_u32(to, atomic_load_explicit(&r->pid, memory_order_relaxed));
        }
    }
    return is_new;
}

bool pli_status_pack_unpack_states(struct pli_node *node, struct pli_unpack *from)
{
    while (!from->is_bad && from->at < from->end) {
        uint32_t rank = pli_unpack_u32(from), state = pli_unpack_u32(from);
        uint32_t pid = pli_unpack_u32(from);
        uint32_t row = row_of(node, rank);
        from->is_bad |= state >= PLI_NODE_N_STATE;
        if (!from->is_bad && row != UINT32_MAX) {
            atomic_store_explicit(&node->rows[row].pid, pid, memory_order_relaxed);
            pli_node_set_state(node, row, (enum pli_node_state)state);
        }
    }
    return !from->is_bad;
}

static void pack_wait(const struct pli_node_wait *w, struct pli_pack *to)
{
    const uint32_t numbers[] = { (uint32_t)w->peer, (uint32_t)w->tag, (uint32_t)w->rank,
                                 w->peer_index,     w->n_request,     w->n_kept };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        pli_pack_u32(to, numbers[i]);
    }
    pli_pack_u64(to, w->context);
    pli_pack_u64(to, w->bytes);
    pli_pack_u64(to, pli_clock_ns() - w->since_ns); // hosts have different clocks
    pli_pack_bytes(to, w->comm, sizeof w->comm);
    pli_pack_bytes(to, w->call, sizeof w->call);
    pli_pack_bytes(to, w->poll, sizeof w->poll);
    for (int k = 0; k < PLI_NODE_N_KEPT; k++) {
        pli_pack_u32(to, (uint32_t)w->kept[k].source);
        pli_pack_u32(to, (uint32_t)w->kept[k].tag);
        pli_pack_u64(to, w->kept[k].context);
        pli_pack_u64(to, w->kept[k].size);
    }
}

static void unpack_wait(struct pli_unpack *from, struct pli_node_wait *w)
{
    w->peer = (int32_t)pli_unpack_u32(from);
    w->tag = (int32_t)pli_unpack_u32(from);
    w->rank = (int32_t)pli_unpack_u32(from);
    w->peer_index = pli_unpack_u32(from);
    w->n_request = pli_unpack_u32(from);
    w->n_kept = pli_unpack_u32(from);
    w->context = pli_unpack_u64(from);
    w->bytes = pli_unpack_u64(from);
    w->since_ns = pli_clock_ns() - pli_unpack_u64(from);
    const void *comm = pli_unpack_bytes(from, sizeof w->comm);
    const void *call = pli_unpack_bytes(from, sizeof w->call);
    const void *poll = pli_unpack_bytes(from, sizeof w->poll);
    if (poll != NULL) {
        memcpy(w->comm, comm, sizeof w->comm);
        memcpy(w->call, call, sizeof w->call);
        memcpy(w->poll, poll, sizeof w->poll);
        w->comm[sizeof w->comm - 1] = w->call[sizeof w->call - 1] = '\0';
        w->poll[sizeof w->poll - 1] = '\0';
    }
    for (int k = 0; k < PLI_NODE_N_KEPT; k++) {
        w->kept[k].source = (int32_t)pli_unpack_u32(from);
        w->kept[k].tag = (int32_t)pli_unpack_u32(from);
        w->kept[k].context = pli_unpack_u64(from);
        w->kept[k].size = pli_unpack_u64(from);
    }
}

// Where a process of this host, or a thread of it, called MPI.
static void find_site(const struct pli_node *node, uint32_t pid, const struct pli_node_wait *w,
                      char *to, size_t cap)
{
    bool is_nested = node->header->is_nested != 0; // it has another number for us
    pli_source_line_find(is_nested ? (uint32_t)pli_pidns_find((pid_t)pid) : pid, w->site, to, cap);
}

// What a process of this host has used and sent so far.
static void pack_usage(const struct pli_node *node, uint32_t row, uint32_t pid, struct pli_pack *to)
{
    struct pli_rank_usage u = { 0 };
    struct pli_rank_traffic t;
    if (node->header->is_nested != 0) {
        pid = pid != 0 ? (uint32_t)pli_pidns_find((pid_t)pid) : 0;
    }
    pli_rank_usage_read(pid, &u);
    pli_rank_usage_traffic(node, row, &t);
    pli_pack_bytes(to, node->header->host, sizeof node->rows->host); // a row has room for less
    pli_pack_u64(to, u.cpu_ns);
    pli_pack_u64(to, u.memory);
    pli_pack_u64(to, t.n_sent);
    pli_pack_u64(to, t.sent_bytes);
    pli_pack_u64(to, t.n_received);
    pli_pack_u64(to, t.received_bytes);
}

static void unpack_usage(struct pli_unpack *from, const struct pli_node *node, uint32_t row)
{
    struct pli_node_row *r = &node->rows[row];
    struct pli_rank_traffic t;
    const char *host = pli_unpack_bytes(from, sizeof r->host);
    if (host != NULL) {
        memcpy(r->host, host, sizeof r->host);
        r->host[sizeof r->host - 1] = '\0';
    }
    r->cpu_ns = pli_unpack_u64(from);
    r->memory = pli_unpack_u64(from);
    t.n_sent = pli_unpack_u64(from);
    t.sent_bytes = pli_unpack_u64(from);
    t.n_received = pli_unpack_u64(from);
    t.received_bytes = pli_unpack_u64(from);
    if (!from->is_bad) {
        pli_rank_usage_set_traffic(node, row, &t);
    }
}

// The threads of a row, as many as were counted.
static void pack_threads(const struct pli_node *node, uint32_t row, uint32_t pid, bool has_sites,
                         struct pli_pack *to)
{
    static struct pli_wait_entry e[PLI_WAIT_LIST_MAX];
    uint32_t n = pli_wait_list(node, row, e);
    n = n > 0 && e[0].tid != 0 ? n : 0; // else the row says all
    n = n < PLI_THREAD_N ? n : PLI_THREAD_N;
    pli_pack_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        char site[PLI_THREAD_SITE] = "";
        if (has_sites) {
            find_site(node, pid, e[i].wait, site, sizeof site);
        }
        pli_pack_u32(to, e[i].tid);
        pli_pack_u32(to, e[i].ep);
        pli_pack_u32(to, atomic_load_explicit(&e[i].wait->what, memory_order_acquire));
        pli_pack_text(to, site);
        pack_wait(e[i].wait, to);
    }
}

// They all go where the first lane of the row has its records.
static void unpack_threads(struct pli_unpack *from, const struct pli_node *node, uint32_t row)
{
    struct pli_node_row *r = &node->rows[row];
    uint32_t n = pli_unpack_u32(from);
    from->is_bad = from->is_bad || n > PLI_THREAD_N;
    bool had = (atomic_load_explicit(&r->slept, memory_order_relaxed) & 1) != 0;
    struct pli_thread_wait *t = pli_thread_waits(node, row, 0);
    for (uint32_t i = 0; !from->is_bad && i < n; i++) {
        t[i].tid = pli_unpack_u32(from);
        t[i].ep = pli_unpack_u32(from);
        uint32_t what = pli_unpack_u32(from);
        char *site = pli_unpack_text(from);
        snprintf(t[i].site, sizeof t[i].site, "%s", site != NULL ? site : "");
        free(site);
        unpack_wait(from, &t[i].wait);
        atomic_store_explicit(&t[i].wait.what, what, memory_order_release);
    }
    for (uint32_t i = n; had && !from->is_bad && i < PLI_THREAD_N; i++) {
        atomic_store_explicit(&t[i].wait.what, PLI_NODE_AWAKE, memory_order_release);
    }
    atomic_store_explicit(&r->slept, had || n > 0, memory_order_release);
}

void pli_status_pack_pack_rows(const struct pli_node *node, bool has_sites, struct pli_pack *to)
{
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        const struct pli_node_row *r = &node->rows[i];
        if (!is_here(node, i)) {
            continue;
        }
        uint32_t what = atomic_load_explicit(&r->wait.what, memory_order_acquire);
        uint32_t pid = atomic_load_explicit(&r->pid, memory_order_relaxed);
        char site[320] = "";
        if (what != PLI_NODE_AWAKE && has_sites) {
            find_site(node, pid, &r->wait, site, sizeof site);
        }
        uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);
        pli_pack_u32(to, r->index - node->header->base);
        pli_pack_u32(to, state);
        pli_pack_u32(to, pid);
        pli_pack_u32(to, what);
        pli_pack_text(to, site);
        pack_wait(&r->wait, to);
        pack_threads(node, i, pid, has_sites, to);
        pack_usage(node, i, state == PLI_NODE_RUNNING ? pid : 0, to);
    }
}

bool pli_status_pack_unpack_rows(struct pli_node *node, struct pli_unpack *from, char **sites)
{
    while (!from->is_bad && from->at < from->end) {
        uint32_t rank = pli_unpack_u32(from), state = pli_unpack_u32(from);
        uint32_t pid = pli_unpack_u32(from), what = pli_unpack_u32(from);
        char *site = pli_unpack_text(from);
        uint32_t row = row_of(node, rank);
        if (from->is_bad || row == UINT32_MAX || state >= PLI_NODE_N_STATE) {
            free(site);
            return false;
        }
        struct pli_node_row *r = &node->rows[row];
        unpack_wait(from, &r->wait);
        unpack_threads(from, node, row);
        unpack_usage(from, node, row);
        atomic_store_explicit(&r->pid, pid, memory_order_relaxed);
        atomic_store_explicit(&r->wait.what, what, memory_order_release);
        pli_node_set_state(node, row, (enum pli_node_state)state);
        free(sites[row]);
        sites[row] = site;
    }
    return !from->is_bad;
}
