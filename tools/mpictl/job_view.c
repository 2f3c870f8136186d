// SPDX-License-Identifier: BSD-3-Clause
// Reads a job's ranks from the memory of its mpiexec, which has those of other hosts fetched first,
// and tells who is late.
#include "job_view.h"

#include "base/clock.h"
#include "boot/launcher_wire.h"
#include "ctl_request.h"
#include "mpictl.h"
#include "tools/lib/wait_list.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pli_job_view_open(struct pli_job_view *v, long pid)
{
    struct pli_node part;
    memset(v, 0, sizeof *v);
    v->pid = pid;
    if (!pli_mpictl_map(pid, &v->node)) {
        pli_mpictl_bad("process %ld is no mpiexec of yours on this host; `mpictl list` shows them",
                       pid);
    }
    v->is_head = (v->node.header->net & PLI_NODE_HEAD) != 0;
    if (v->is_head && pli_mpictl_map_part(pid, &part)) {
        pli_node_unmap(&v->node);
        v->node = part;
        v->is_head = false;
    }
}

void pli_job_view_close(struct pli_job_view *v)
{
    pli_node_unmap(&v->node);
    free(v->ranks);
    v->ranks = NULL;
}

static const char *host_of(const struct pli_node *node, uint32_t row)
{
    bool is_told = node->rows[row].host[0] != '\0'; // in the memory of a head
    return is_told ? node->rows[row].host : node->header->host;
}

static const char *state_of(const struct pli_node *node, uint32_t row, bool is_over)
{
    static const char *const words[PLI_NODE_N_STATE] = { "starting", "starting", "running",
                                                         "finalized", "aborted" };
    uint32_t state = atomic_load(&node->rows[row].state);
    return is_over ? "ended" : state < PLI_NODE_N_STATE ? words[state] : "?";
}

static void describe(const struct pli_wait_entry *e, struct pli_rank_view *r)
{
    const struct pli_node_wait *w = e->wait;
    uint32_t what = atomic_load_explicit(&w->what, memory_order_acquire);
    const char *comm = w->comm[0] != '\0' ? w->comm : "a communicator";
    char peer[16] = "any", tag[24] = "";
    r->is_waiting = what != PLI_NODE_AWAKE;
    r->state = "waiting";
    r->peer = w->peer;
    r->tag = w->tag;
    r->peer_index = w->peer_index;
    r->context = w->context;
    uint64_t now = pli_clock_ns();
    r->since_s = w->since_ns < now ? (double)(now - w->since_ns) * 1e-9 : 0;
    snprintf(r->call, sizeof r->call, "%.*s", (int)sizeof r->call - 1, w->call);
    snprintf(r->comm, sizeof r->comm, "%.*s", (int)sizeof r->comm - 1, w->comm);
    if (w->peer >= 0) {
        snprintf(peer, sizeof peer, "%d", w->peer);
    }
    if (w->tag >= 0) {
        snprintf(tag, sizeof tag, " tag %d", w->tag);
    }
    const char *verb = what == PLI_NODE_WAIT_SEND   ? "sends to"
                       : what == PLI_NODE_WAIT_RECV ? "receives from"
                                                    : "probes for";
    if (what == PLI_NODE_WAIT_COLL) {
        snprintf(r->doing, sizeof r->doing, "%s on %s", r->call, comm);
    } else if (what == PLI_NODE_WAIT_OTHER) {
        snprintf(r->doing, sizeof r->doing, "waits for its own program");
    } else {
        snprintf(r->doing, sizeof r->doing, "%s %s%s on %s", verb, peer, tag, comm);
    }
}

static struct pli_rank_view *add(struct pli_job_view *v)
{
    struct pli_rank_view *all = realloc(v->ranks, (v->n_rank + 1) * sizeof *all);
    if (all == NULL) {
        pli_mpictl_bad("no memory for what %u ranks do", v->n_rank);
    }
    v->ranks = all;
    return &all[v->n_rank++];
}

static void look_at_row(struct pli_job_view *v, uint32_t row)
{
    static struct pli_wait_entry e[PLI_WAIT_LIST_MAX];
    struct pli_node *node = &v->node;
    const struct pli_node_row *r = &node->rows[row];
    bool is_over = pli_mpictl_is_over(node, row);
    bool is_running = !is_over && atomic_load(&r->state) == PLI_NODE_RUNNING;
    uint32_t n = is_running ? pli_wait_list(node, row, e) : 0;
    for (uint32_t i = 0; i < (n > 0 ? n : 1); i++) {
        struct pli_rank_view one = { .index = r->index,
                                     .pid = atomic_load(&r->pid),
                                     .ep_rank = -1,
                                     .is_more = i > 0,
                                     .is_running = is_running,
                                     .peer = -1,
                                     .tag = -1,
                                     .peer_index = UINT32_MAX };
        snprintf(one.host, sizeof one.host, "%s", host_of(node, row));
        one.state = state_of(node, row, is_over);
        snprintf(one.doing, sizeof one.doing, "%s", is_running ? "runs" : one.state);
        if (i < n) {
            one.ep_rank = e[i].ep != 0 ? e[i].wait->rank : -1;
            one.tid = n > 1 ? e[i].tid : 0;
            describe(&e[i], &one);
        }
        if (i == 0 && !is_over) {
            pli_rank_usage_traffic(node, row, &one.traffic);
            if (v->is_head) {
                one.usage = (struct pli_rank_usage){ r->cpu_ns, r->memory };
            } else if (node->header->is_nested == 0) {
                pli_rank_usage_read(one.pid, &one.usage);
            }
        }
        *add(v) = one;
    }
}

// A rank is late when others wait for it and it does not wait itself: it was named, or it is
// missing in a collective of the world.
static void find_late(struct pli_job_view *v)
{
    for (uint32_t i = 0; i < v->n_rank; i++) {
        struct pli_rank_view *late = &v->ranks[i];
        if (late->is_waiting || !late->is_running) {
            continue;
        }
        for (uint32_t k = 0; k < v->n_rank; k++) {
            const struct pli_rank_view *w = &v->ranks[k];
            bool is_world = w->call[0] != '\0' && strcmp(w->comm, "MPI_COMM_WORLD") == 0;
            late->n_behind += w->is_waiting && (w->peer_index == late->index || is_world);
        }
        if (late->n_behind > 0) {
            snprintf(late->doing, sizeof late->doing, "runs; %u wait%s for it", late->n_behind,
                     late->n_behind == 1 ? "s" : "");
        }
    }
}

static void find_rates(struct pli_job_view *v, const struct pli_rank_view *was, uint32_t n_was,
                       double seconds)
{
    uint32_t k = 0; // both have the order of the rows
    for (uint32_t i = 0; i < v->n_rank && seconds > 0; i++) {
        struct pli_rank_view *r = &v->ranks[i];
        while (k < n_was && (was[k].index < r->index || was[k].is_more)) {
            k++;
        }
        if (r->is_more || k == n_was || was[k].index != r->index || was[k].pid != r->pid ||
            r->traffic.n_sent < was[k].traffic.n_sent) {
            continue;
        }
        const struct pli_rank_traffic *t = &was[k].traffic;
        r->messages_s = (double)(r->traffic.n_sent - t->n_sent) / seconds;
        r->bytes_s = (double)(r->traffic.sent_bytes - t->sent_bytes) / seconds;
        if (r->usage.cpu_ns >= was[k].usage.cpu_ns) {
            r->cpu = (double)(r->usage.cpu_ns - was[k].usage.cpu_ns) * 1e-9 / seconds;
        }
    }
}

// Have what the ranks of other hosts do in the memory of mpiexec.
static bool fetch(const struct pli_job_view *v)
{
    struct pli_ask_look look = { PLI_LOOK_USAGE, UINT32_MAX };
    struct pli_answer answer;
    int fd = pli_ctl_request_connect(v->pid);
    return fd >= 0 && pli_ctl_request_exchange(fd, PLI_ASK_LOOK, &look, sizeof look, &answer);
}

bool pli_job_view_look(struct pli_job_view *v)
{
    struct pli_rank_view *was = v->ranks;
    uint32_t n_was = v->n_rank;
    if ((kill((pid_t)v->pid, 0) != 0 && errno == ESRCH) || (v->is_head && !fetch(v))) {
        return false;
    }
    uint64_t now = pli_clock_ns(), before = v->time_ns;
    const struct pli_node_header *h = v->node.header;
    v->time_ns = now;
    v->ranks = NULL;
    v->n_rank = 0;
    for (uint32_t i = 0; i < pli_node_n_used(&v->node); i++) {
        bool is_note = (h->net & PLI_NODE_PART) != 0 && i >= h->n_row &&
                       v->node.procs[h->n_world + i - h->n_row].host != h->host_index;
        bool is_free = i >= h->n_row && atomic_load(&v->node.rows[i].pid) == 0;
        if (!is_note && !is_free) {
            look_at_row(v, i);
        }
    }
    find_late(v);
    find_rates(v, was, n_was, before != 0 ? (double)(now - before) * 1e-9 : 0);
    free(was);
    return true;
}

void pli_job_view_short(double number, char to[16])
{
    static const char units[] = " kMGTP";
    int unit = 0;
    while (number >= 999.5 && unit < 5) {
        number /= 1000;
        unit++;
    }
    if (unit == 0) {
        snprintf(to, 16, "%.0f", number);
    } else {
        snprintf(to, 16, number < 9.95 ? "%.1f%c" : "%.0f%c", number, units[unit]);
    }
}
