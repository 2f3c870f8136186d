// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom.
#include "picture.h"

#include "boot/tie.h"

#include "clues.h"
#include "net/shm/shm_wire.h"
#include "site.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 64 }; // ranks shown one by one

static const struct pli_shm_mailbox *box_of(const struct pli_node *node, uint32_t row, int lane)
{
    return (const void *)(pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE);
}

static uint32_t state_of(const struct pli_node_row *r)
{
    return atomic_load_explicit(&r->state, memory_order_acquire);
}

static uint32_t what_of(const struct pli_node_row *r)
{
    return atomic_load_explicit(&r->wait.what, memory_order_acquire);
}

static uint32_t n_thread(uint32_t pid)
{
    char path[64];
    uint32_t n = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

// Nothing is in the mailboxes of the row, and a thread sleeps at one of them.
static bool is_quiet(const struct pli_node *node, uint32_t row)
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
    return is_asleep;
}

bool pli_picture_is_stuck(const struct pli_node *node, pli_picture_over_fn is_over, void *arg,
                          uint64_t *mark_out)
{
    uint64_t mark = 0;
    uint32_t n_wait = 0;
    if (pli_tie_has_met(node)) {
        return false; // what comes from another job cannot be known here
    }
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        const struct pli_node_row *r = &node->rows[i];
        if (is_over(arg, i)) {
            continue;
        }
        uint32_t what = what_of(r);
        // A rank before MPI_Init or after MPI_Finalize may still do something; so may one that
        // waits for the program itself.
        if (state_of(r) != PLI_NODE_RUNNING || what == PLI_NODE_AWAKE ||
            what == PLI_NODE_WAIT_OTHER || !is_quiet(node, i)) {
            return false;
        }
        // Where several threads may call MPI, one that is awake may be about to.
        if (atomic_load(&r->is_shared) &&
            n_thread(atomic_load(&r->pid)) != atomic_load(&r->n_asleep)) {
            return false;
        }
        mark = (mark ^ atomic_load(&r->wait.seq)) * 0x100000001b3u + i;
        n_wait++;
    }
    *mark_out = mark;
    return n_wait > 0;
}

const char *pli_picture_who(const struct pli_node *node, uint32_t row, char to[PLI_PICTURE_WHO])
{
    const struct pli_node_row *r = &node->rows[row];
    bool has_rank = r->upc_n <= r->upc_ranks || r->index - r->upc_first < r->upc_ranks;
    if (has_rank) {
        snprintf(to, PLI_PICTURE_WHO, "rank %u", r->index);
    } else {
        snprintf(to, PLI_PICTURE_WHO, "UPC thread %u of group %u",
                 r->index - r->upc_extra + r->upc_ranks, r->upc_group);
    }
    return to;
}

static const char *name_of(const struct pli_node_wait *w)
{
    return w->comm[0] != '\0' ? w->comm : "a communicator without a name";
}

// "rank 3" or "any rank"
static void say_peer(const struct pli_node *node, const struct pli_node_wait *w, char *to,
                     size_t cap)
{
    if (w->peer < 0) {
        snprintf(to, cap, "any rank");
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

static void say_wait(const struct pli_node *node, uint32_t row, char *to, size_t cap)
{
    const struct pli_node_row *r = &node->rows[row];
    const struct pli_node_wait *w = &r->wait;
    char peer[64], tag[24], more[48] = "";
    say_peer(node, w, peer, sizeof peer);
    say_tag(w->tag, tag, sizeof tag);
    if (w->n_request > 1) {
        snprintf(more, sizeof more, ", one of %u requests", w->n_request);
    }
    switch (what_of(r)) {
    case PLI_NODE_AWAKE:
        snprintf(to, cap, "is not waiting in MPI");
        break;
    case PLI_NODE_WAIT_SEND:
        snprintf(to, cap, "sends %llu bytes to %s, %s, on %s%s", (unsigned long long)w->bytes, peer,
                 tag, name_of(w), more);
        break;
    case PLI_NODE_WAIT_RECV:
        snprintf(to, cap, "receives from %s, %s, on %s%s", peer, tag, name_of(w), more);
        break;
    case PLI_NODE_WAIT_PROBE:
        snprintf(to, cap, "probes for %s, %s, on %s", peer, tag, name_of(w));
        break;
    case PLI_NODE_WAIT_COLL:
        snprintf(to, cap, "is in %s on %s%s", w->call, name_of(w), more);
        break;
    default:
        snprintf(to, cap, "waits for something of its own program");
        break;
    }
}

static void say_row(const struct pli_node *node, uint32_t row, bool is_over, char *to, size_t cap)
{
    switch (is_over ? PLI_NODE_N_STATE : state_of(&node->rows[row])) {
    case PLI_NODE_N_STATE:
        snprintf(to, cap, "has ended");
        break;
    case PLI_NODE_EMPTY:
    case PLI_NODE_CLAIMED:
        snprintf(to, cap, "has not called MPI_Init");
        break;
    case PLI_NODE_FINALIZED:
        snprintf(to, cap, "has called MPI_Finalize");
        break;
    case PLI_NODE_ABORTED:
        snprintf(to, cap, "has called MPI_Abort");
        break;
    default:
        say_wait(node, row, to, cap);
        break;
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

void pli_picture_sites(const char *(*site_of)(uint32_t row))
{
    known_site = site_of;
}

void pli_picture_print(const struct pli_node *node, pli_picture_over_fn is_over, void *arg,
                       void (*line)(const char *fmt, ...))
{
    char last[256] = "";
    uint32_t n_same = 0, n_shown = 0, n_row = pli_node_n_used(node);
    for (uint32_t i = 0; i < n_row; i++) {
        char text[256], site[320];
        if (is_note(node, i)) {
            continue;
        }
        say_row(node, i, is_over(arg, i), text, sizeof text);
        // Many ranks in the same place are one line: "ranks 4 to 99 too".
        if (strcmp(text, last) == 0 && (n_shown >= 8 || i + 1 < n_row)) {
            n_same++;
            continue;
        }
        if (n_same > 0) {
            line("  (%u more like the last)\n", n_same);
            n_same = 0;
        }
        snprintf(last, sizeof last, "%s", text);
        if (n_shown++ >= LINES) {
            line("  ... and %u more ranks\n", n_row - i);
            break;
        }
        site[0] = '\0';
        bool is_waiting = !is_over(arg, i) && what_of(&node->rows[i]) != PLI_NODE_AWAKE;
        if (is_waiting && known_site != NULL) {
            snprintf(site, sizeof site, "%s", known_site(i));
        } else if (is_waiting) {
            pli_site_find(atomic_load(&node->rows[i].pid), node->rows[i].wait.site, site,
                          sizeof site);
        }
        char who[PLI_PICTURE_WHO];
        line("  %s %s%s%s\n", pli_picture_who(node, i, who), text, site[0] ? ", called at " : "",
             site);
    }
    if (n_same > 0) {
        line("  (%u more like the last)\n", n_same);
    }
    pli_clues_print(node, is_over, arg, line);
}
