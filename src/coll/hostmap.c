// SPDX-License-Identifier: BSD-3-Clause
// Sorts the members of a communicator by host.
#include "coll/hostmap.h"

#include "base/conf.h"
#include "boot/boot.h"
#include "msg/lane.h"
#include "obj/comm.h"
#include "obj/impi_span.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A table per member would be as many words as there are members, squared, in a process that has
// all of them.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_hostmap *known[256]; // by context; guarded by guard

// A number for the host of a rank; -1: not known.
static int key_of(const struct pli_comm *comm, int rank)
{
    if (comm->is_span) { // what is to be few there are messages between jobs
        return (int)pli_impi_span_client((uint32_t)pli_group_at(comm->group, rank).proc);
    }
    if (pli_conf.coll_host > 0) {
        return (int)(rank / pli_conf.coll_host);
    }
    struct pli_id id = pli_group_at(comm->group, rank);
    const struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_proc *p = pli_node_job_of(id.proc) == boot->job
                                        ? pli_node_find(&boot->node, (uint32_t)id.proc)
                                        : NULL;
    if (p == NULL) {
        return -1;
    }
    // Where processes share no memory each is a host of its own, with its endpoints.
    bool is_apart = (boot->node.header->net & PLI_NODE_NO_SHM) != 0;
    return (int)(is_apart ? (uint32_t)id.proc : p->host);
}

// Number the hosts in the order of their first ranks; false: one is not known.
static bool number(struct pli_hostmap *h, const struct pli_comm *comm, int *keys)
{
    h->is_grouped = true;
    for (int r = 0; r < comm->size; r++) {
        int key = key_of(comm, r), i = h->n_host - 1; // mostly the same as the rank before
        while (i >= 0 && keys[i] != key) {
            i--;
        }
        if (key < 0) {
            return false;
        }
        if (i < 0) {
            i = h->n_host++;
            keys[i] = key;
            h->leaders[i] = r;
        }
        h->is_grouped = h->is_grouped && i == h->n_host - 1;
        h->host_of[r] = i;
    }
    return true;
}

// n_at: room for a number per host.
static void list_peers(struct pli_hostmap *h, int size, int *n_at)
{
    memset(n_at, 0, (size_t)h->n_host * sizeof *n_at);
    for (int r = 0; r < size; r++) {
        n_at[h->host_of[r]]++;
    }
    h->n_place = n_at[0];
    for (int i = 1; i < h->n_host; i++) {
        h->n_place = n_at[i] < h->n_place ? n_at[i] : h->n_place;
    }
    memset(n_at, 0, (size_t)h->n_host * sizeof *n_at);
    for (int r = 0; r < size; r++) {
        int at = h->host_of[r], i = n_at[at]++;
        if (i < h->n_place) {
            h->peers[i * h->n_host + at] = r;
        }
    }
}

static bool fill(struct pli_hostmap *h, const struct pli_comm *comm)
{
    size_t n = (size_t)comm->size;
    h->members = malloc(5 * n * sizeof(int));
    if (h->members == NULL) {
        return false;
    }
    h->leaders = h->members + n;
    h->host_of = h->leaders + n;
    h->peers = h->host_of + n;
    if (!number(h, comm, h->peers + n)) {
        h->n_host = 0;
        return true;
    }
    list_peers(h, comm->size, h->peers + n);
    h->my_host = h->host_of[comm->rank];
    for (int r = 0; r < comm->size; r++) {
        if (h->host_of[r] == h->my_host) {
            h->members[h->n_member++] = r;
        }
    }
    return true;
}

static void destroy(struct pli_hostmap *h)
{
    if (h != NULL) {
        free(h->members);
        free(h);
    }
}

static struct pli_hostmap_key name_of(const struct pli_comm *comm)
{
    struct pli_id first = pli_group_at(comm->group, 0);
    return (struct pli_hostmap_key){ .context = comm->context,
                                     .proc = first.proc,
                                     .ep = first.ep,
                                     .size = comm->size,
                                     .host = key_of(comm, comm->rank) };
}

static bool is_same(const struct pli_hostmap_key *a, const struct pli_hostmap_key *b)
{
    return a->context == b->context && a->proc == b->proc && a->ep == b->ep && a->size == b->size &&
           a->host == b->host;
}

static struct pli_hostmap **bucket(const struct pli_hostmap_key *key)
{
    return &known[(key->context * 0x9e3779b97f4a7c15u) >> 56];
}

struct pli_hostmap *pli_hostmap_open(const struct pli_comm *comm)
{
    struct pli_hostmap_key key = name_of(comm);
    pthread_mutex_lock(&guard);
    struct pli_hostmap **at = bucket(&key), *h = *at;
    while (h != NULL && !is_same(&h->key, &key)) {
        h = h->next;
    }
    if (h != NULL) {
        h->refs++;
    } else {
        h = calloc(1, sizeof *h);
        if (h != NULL && fill(h, comm)) {
            h->key = key;
            h->refs = 1;
            h->next = *at;
            *at = h;
        } else {
            destroy(h);
            h = NULL;
        }
    }
    pthread_mutex_unlock(&guard);
    return h;
}

void pli_hostmap_close(struct pli_hostmap *h)
{
    pthread_mutex_lock(&guard);
    bool is_last = --h->refs == 0;
    if (is_last) {
        struct pli_hostmap **at = bucket(&h->key);
        while (*at != h) {
            at = &(*at)->next;
        }
        *at = h->next;
    }
    pthread_mutex_unlock(&guard);
    if (is_last) {
        destroy(h);
    }
}

int pli_hostmap_index(const struct pli_hostmap *h, int rank)
{
    int lo = 0, hi = h->n_member - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (h->members[mid] < rank) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}
