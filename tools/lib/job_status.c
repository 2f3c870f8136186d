// SPDX-License-Identifier: BSD-3-Clause
// Reads what the ranks of a job wait for, and prints it.
#include "tools/lib/job_status.h"

#include "boot/gateway_wire.h"
#include "boot/jobtab.h"
#include "boot/wait_record_wire.h"

#include "tools/lib/deadlock_hints.h"
#include "net/shm/shm_wire.h"
#include "tools/lib/source_line.h"
#include "tools/lib/wait_list.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum {
    LINES = 64,
    ALWAYS = 16
}; // lines in all; after so many, equal ones are counted and not printed

static const struct pli_shm_mailbox *box_of(const struct pli_node *node, uint32_t row, int lane)
{
    return (const void *)(pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE);
}

static uint32_t state_of(const struct pli_node_row *r)
{
    return atomic_load_explicit(&r->state, memory_order_acquire);
}

// The thread that serves one-sided access for its process never begins anything itself.
static bool is_progress_thread(uint32_t pid, const char *tid)
{
    char path[64 + 256], name[32] = "";
    snprintf(path, sizeof path, "/proc/%u/task/%s/comm", pid, tid);
    FILE *f = fopen(path, "re");
    bool is_read = f != NULL && fgets(name, sizeof name, f) != NULL;
    if (f != NULL) {
        fclose(f);
    }
    return is_read && strcmp(name, PLI_WAIT_PROGRESS_THREAD "\n") == 0;
}

// The threads of a process that may call MPI.
static uint32_t n_thread(uint32_t pid)
{
    char path[64];
    uint32_t n = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        n += e->d_name[0] != '.' && !is_progress_thread(pid, e->d_name);
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

// Nothing is in the mailboxes of the row, and a thread sleeps at one of them; none does where the
// rank polls.
static bool is_quiet(const struct pli_node *node, uint32_t row, bool is_polling)
{
    const struct pli_node_row *r = &node->rows[row];
    bool has_area = pli_node_has_area(node, row);
    uint32_t n_lane = has_area ? atomic_load_explicit(&r->n_lane, memory_order_acquire) : 0;
    bool is_asleep = false;
    for (uint32_t k = 0; k < n_lane && k < PLI_NODE_N_LANE; k++) {
        const struct pli_shm_mailbox *b = box_of(node, row, (int)k);
        if (atomic_load(&b->tail) != atomic_load(&b->head)) {
            return false;
        }
        is_asleep = is_asleep || atomic_load(&b->asleep) != PLI_SHM_AWAKE;
    }
    return is_asleep || is_polling;
}

// Whether threads of the row sleep, and each of them for what another process must do. A thread
// that woke in between changes the mark.
static bool is_waiting(const struct pli_node *node, uint32_t row, struct pli_job_status_stuck *s)
{
    static struct pli_wait_entry e[PLI_WAIT_LIST_MAX]; // the launcher has one thread
    const struct pli_node_row *r = &node->rows[row];
    uint32_t n = pli_wait_list(node, row, e), question = atomic_load(&node->header->question);
    bool is_polling = n == 1 && e[0].wait->poll[0] != '\0';
    for (uint32_t i = 0; i < n; i++) {
        const struct pli_node_wait *w = e[i].wait;
        if (atomic_load(&w->what) == PLI_NODE_WAIT_OTHER) {
            return false;
        }
        s->is_confirmed &= atomic_load(&w->answered) == question;
        s->mark = (s->mark ^ atomic_load(&w->seq)) * 0x100000001b3u + row;
    }
    s->n_poll += is_polling;
    // Where several threads may call MPI, one that is awake may be about to.
    return n > 0 && is_quiet(node, row, is_polling) &&
           (!atomic_load(&r->is_shared) || (!is_polling && n_thread(atomic_load(&r->pid)) == n));
}

bool pli_job_status_is_stuck(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                             struct pli_job_status_stuck *out)
{
    struct pli_job_status_stuck s = { .is_confirmed = true };
    uint32_t n_wait = 0;
    if (pli_jobtab_has_live(node)) {
        return false; // messages of another job cannot be seen here
    }
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        const struct pli_node_row *r = &node->rows[i];
        if (is_over(arg, i)) {
            continue;
        }
        // A rank before MPI_Init or after MPI_Finalize may still do something; so may one that
        // waits for the program itself.
        if (state_of(r) != PLI_NODE_RUNNING || !is_waiting(node, i, &s)) {
            return false;
        }
        n_wait++;
    }
    *out = s;
    return n_wait > 0;
}

const char *pli_job_status_who(const struct pli_node *node, uint32_t row,
                               char to[PLI_JOB_STATUS_NAME])
{
    const struct pli_node_row *r = &node->rows[row];
    bool has_rank = r->upc_n <= r->upc_ranks || r->index - r->upc_first < r->upc_ranks;
    if (has_rank) {
        snprintf(to, PLI_JOB_STATUS_NAME, "rank %u", r->index);
    } else {
        snprintf(to, PLI_JOB_STATUS_NAME, "UPC thread %u of group %u",
                 r->index - r->upc_extra + r->upc_ranks, r->upc_group);
    }
    return to;
}

// "rank 3" or "any rank"
static void say_peer(const struct pli_node *node, const struct pli_wait_entry *e, char *to,
                     size_t cap)
{
    const struct pli_node_wait *w = e->wait;
    if (w->peer < 0) {
        snprintf(to, cap, "any rank");
    } else if (e->ep != 0 && w->peer_index < node->header->n_world) {
        snprintf(to, cap, "rank %d (an endpoint of rank %u)", w->peer, w->peer_index);
    } else if (strcmp(w->comm, "MPI_COMM_WORLD") == 0 || w->peer_index >= node->header->n_world) {
        snprintf(to, cap, "rank %d", w->peer);
    } else {
        snprintf(to, cap, "rank %d (%u in MPI_COMM_WORLD)", w->peer, w->peer_index);
    }
}

static void say_tag(int tag, char *to, size_t cap)
{
    if (tag < 0) {
        snprintf(to, cap, "any tag");
    } else {
        snprintf(to, cap, "tag %d", tag);
    }
}

static void say_wait(const struct pli_node *node, const struct pli_wait_entry *e, char *to,
                     size_t cap)
{
    const struct pli_node_wait *w = e->wait;
    const char *comm = pli_wait_list_comm(e);
    char peer[64], tag[24], more[48] = "", root[24] = "";
    say_peer(node, e, peer, sizeof peer);
    say_tag(w->tag, tag, sizeof tag);
    if (w->n_request > 1) {
        snprintf(more, sizeof more, ", one of %u requests", w->n_request);
    }
    switch (atomic_load_explicit(&w->what, memory_order_acquire)) {
    case PLI_NODE_AWAKE:
        snprintf(to, cap, "is not waiting in MPI");
        break;
    case PLI_NODE_WAIT_SEND:
        snprintf(to, cap, "sends %llu bytes to %s, %s, on %s%s", (unsigned long long)w->bytes, peer,
                 tag, comm, more);
        break;
    case PLI_NODE_WAIT_RECV:
        snprintf(to, cap, "receives from %s, %s, on %s%s", peer, tag, comm, more);
        break;
    case PLI_NODE_WAIT_PROBE:
        snprintf(to, cap, "probes for %s, %s, on %s", peer, tag, comm);
        break;
    case PLI_NODE_WAIT_COLL:
        if (w->peer >= 0) {
            snprintf(root, sizeof root, ", root %d", w->peer);
        }
        snprintf(to, cap, "is in %s on %s%s%s", w->call, comm, root, more);
        break;
    default:
        snprintf(to, cap, "waits for something of its own program");
        break;
    }
    if (w->poll[0] != '\0') {
        size_t len = strlen(to);
        snprintf(to + len, cap - len, ", which it polls by %s", w->poll);
    }
}

// What a process does while none of its threads sleeps in MPI.
static const char *say_state(const struct pli_node *node, uint32_t row, bool is_over)
{
    switch (is_over ? PLI_NODE_N_STATE : state_of(&node->rows[row])) {
    case PLI_NODE_N_STATE:
        if (state_of(&node->rows[row]) == PLI_NODE_EMPTY) {
            return "has no process left that could call MPI_Init";
        }
        return pli_node_failure(node, node->rows[row].index) != 0 ? "has died" : "has ended";
    case PLI_NODE_EMPTY:
    case PLI_NODE_CLAIMED:
        return "has not called MPI_Init";
    case PLI_NODE_FINALIZED:
        return "has called MPI_Finalize";
    case PLI_NODE_ABORTED:
        return "has called MPI_Abort";
    default:
        return "is not waiting in MPI";
    }
}

// Whether the row stands for a process on another host, whose own row is there.
static bool is_note(const struct pli_node *node, uint32_t row)
{
    const struct pli_node_header *h = node->header;
    return (h->net & PLI_NODE_PART) != 0 && row >= h->n_row &&
           node->procs[h->n_world + row - h->n_row].host != h->host_index;
}

static const char *(*known_site)(uint32_t row);

void pli_job_status_sites(const char *(*site_of)(uint32_t row))
{
    known_site = site_of;
}

typedef void (*line_fn)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// What was printed so far: ranks that wait in the same place share a line.
struct print {
    const struct pli_node *node;
    line_fn line;
    char last[320], last_site[320];
    uint32_t n_same, n_shown;
};

static void end_same(struct print *p)
{
    if (p->n_same > 0) {
        p->line("  (%u more like the last)\n", p->n_same);
        p->n_same = 0;
    }
}

void pli_job_status_site(const struct pli_node *node, const struct pli_wait_entry *e, char *to,
                         size_t cap)
{
    to[0] = '\0';
    if (e->site[0] != '\0' || (known_site != NULL && e->tid != 0)) {
        snprintf(to, cap, "%s", e->site);
    } else if (known_site != NULL) {
        snprintf(to, cap, "%s", known_site(e->row));
    } else {
        pli_source_line_find(atomic_load(&node->rows[e->row].pid), e->wait->site, to, cap);
    }
}

// One line, or one more like the last. e: NULL for a process that does not wait.
static void print_one(struct print *p, const char *who, const char *text,
                      const struct pli_wait_entry *e, bool is_last)
{
    bool is_named = e != NULL && e->ep != 0 && p->n_shown < ALWAYS;
    bool is_same = strcmp(text, p->last) == 0;
    char site[320] = "";
    // To find a place in the source takes a while: where many ranks are alike it is left out.
    if (e != NULL && (!is_same || p->n_same < LINES)) {
        pli_job_status_site(p->node, e, site, sizeof site);
    }
    is_same = is_same && (site[0] == '\0' || strcmp(site, p->last_site) == 0);
    if (is_same && !is_named && (p->n_shown >= 8 || !is_last)) {
        p->n_same++;
        return;
    }
    end_same(p);
    snprintf(p->last, sizeof p->last, "%s", text);
    snprintf(p->last_site, sizeof p->last_site, "%s", site);
    if (p->n_shown++ >= LINES) {
        return;
    }
    p->line("  %s %s%s%s\n", who, text, site[0] != '\0' ? ", called at " : "", site);
}

static void print_row(struct print *p, uint32_t row, bool is_over, bool is_last)
{
    static struct pli_wait_entry e[PLI_WAIT_LIST_MAX];
    bool is_running = !is_over && state_of(&p->node->rows[row]) == PLI_NODE_RUNNING;
    uint32_t n = is_running ? pli_wait_list(p->node, row, e) : 0;
    if (n == 0) {
        char who[PLI_JOB_STATUS_NAME];
        print_one(p, pli_job_status_who(p->node, row, who), say_state(p->node, row, is_over), NULL,
                  is_last);
    }
    for (uint32_t i = 0; i < n; i++) {
        char who[PLI_WAIT_LIST_WHO], text[320];
        say_wait(p->node, &e[i], text, sizeof text);
        print_one(p, pli_wait_list_who(p->node, &e[i], who), text, &e[i], is_last && i + 1 == n);
    }
}

void pli_job_status_print(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                          line_fn line)
{
    struct print p = { .node = node, .line = line };
    uint32_t n_row = pli_node_n_used(node);
    for (uint32_t i = 0; i < n_row; i++) {
        if (is_note(node, i)) {
            continue;
        }
        if (p.n_shown >= LINES) {
            line("  ... and %u more ranks\n", n_row - i);
            break;
        }
        print_row(&p, i, is_over(arg, i), i + 1 == n_row);
    }
    end_same(&p);
    pli_deadlock_hints_print(node, is_over, arg, line);
}

static uint32_t client_of(const struct pli_gateway *g, uint32_t rank)
{
    uint32_t c = 0;
    while (c + 1 < g->n_client && g->clients[c + 1].first <= rank) {
        c++;
    }
    return c;
}

void pli_job_status_ways(const struct pli_node *node, line_fn line)
{
    static const char *const word[PLI_GATEWAY_N_WAY] = {
        [PLI_GATEWAY_NONE] = "not connected yet",
        [PLI_GATEWAY_LOCAL] = "direct, on this machine, no TLS needed",
        [PLI_GATEWAY_PLAIN] = "direct, without TLS",
        [PLI_GATEWAY_TLS] = "direct, with TLS",
        [PLI_GATEWAY_RELAYED] = "relayed by the server",
    };
    const struct pli_gateway *g = pli_node_gateway(node);
    uint32_t n_world = g != NULL ? node->header->n_joint : 0;
    if (n_world == 0 || g->n_client < 2) {
        return;
    }
    line("client %u of %u in an IMPI world of %u ranks; the way to the others:\n", g->client,
         g->n_client, n_world);
    for (uint32_t h = 0; h < g->n_host; h++) {
        uint32_t first = g->host_first[h], client = client_of(g, first);
        uint32_t end = h + 1 < g->n_host ? g->host_first[h + 1] : n_world;
        unsigned both = atomic_load_explicit(&g->way[h], memory_order_relaxed);
        unsigned way = both & ((1u << PLI_GATEWAY_LINKS) - 1), n = both >> PLI_GATEWAY_LINKS;
        char by[40] = "";
        if (n > 1) {
            snprintf(by, sizeof by, ", by %u connections in parallel", n);
        }
        if (client != g->client && way < PLI_GATEWAY_N_WAY) {
            line("  client %u, ranks %u to %u: %s%s\n", client, first, end - 1, word[way], by);
        }
    }
}
