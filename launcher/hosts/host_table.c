// SPDX-License-Identifier: BSD-3-Clause
// Packs hosts and process sets, and makes the memory of a host from them.
#include "launcher/hosts/host_table.h"

#include "base/conf.h"
#include "launcher/base/pack.h"
#include "boot/cores.h"
#include "boot/node.h"
#include "boot/pset.h"
#include "launcher/ranks/impi_agent.h"
#include "launcher/ranks/listener.h"
#include "launcher/job/hosts.h"
#include "launcher/job/upc_groups.h"
#include "launcher/job/job.h"
#include "launcher/job/binding.h"
#include "launcher/job/psets.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pack_place(struct pli_pack *to, const struct pli_node_host *h)
{
    pli_pack_u32(to, h->port);
    pli_pack_u64(to, h->cores);
    pli_pack_u32(to, h->n_addr);
    for (uint32_t i = 0; i < h->n_addr; i++) {
        const struct pli_node_addr *a = &h->addr[i];
        pli_pack_u32(to, a->family);
        pli_pack_u32(to, a->prefix);
        pli_pack_u32(to, a->speed);
        pli_pack_bytes(to, a->bytes, sizeof a->bytes);
    }
}

static void unpack_place(struct pli_unpack *from, struct pli_node_host *h)
{
    h->port = (uint16_t)pli_unpack_u32(from);
    h->cores = pli_unpack_u64(from);
    uint32_t n = pli_unpack_count(from, 28);
    from->is_bad |= n > PLI_NODE_N_ADDR;
    for (uint32_t i = 0; i < n && !from->is_bad; i++) {
        struct pli_node_addr *a = &h->addr[h->n_addr++];
        a->family = (uint8_t)pli_unpack_u32(from);
        a->prefix = (uint8_t)pli_unpack_u32(from);
        a->speed = pli_unpack_u32(from);
        const void *bytes = pli_unpack_bytes(from, sizeof a->bytes);
        if (bytes != NULL) {
            memcpy(a->bytes, bytes, sizeof a->bytes);
        }
    }
}

// The members of a set, as numbers from `base` on.
static void pack_members(struct pli_pack *to, const struct pli_pset *set, uint32_t base)
{
    uint32_t *list = pli_say_need(malloc(set->n * sizeof *list + 1));
    pli_pset_list(set, list);
    pli_pack_u32(to, set->n);
    for (uint32_t i = 0; i < set->n; i++) {
        pli_pack_u32(to, list[i] - base);
    }
    free(list);
}

static void pack_ranks(struct pli_pack *to, const uint32_t *ranks, uint32_t n)
{
    pli_pack_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        pli_pack_u32(to, ranks[i]);
    }
}

// Ascending numbers below `end`.
static uint32_t *unpack_list(struct pli_unpack *from, uint32_t end, uint32_t *n_out)
{
    uint32_t n = pli_unpack_count(from, 4);
    uint32_t *ranks = pli_say_need(calloc((size_t)n + 1, sizeof *ranks));
    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = pli_unpack_u32(from);
        from->is_bad |= ranks[i] >= end || (i > 0 && ranks[i] <= ranks[i - 1]);
    }
    *n_out = n;
    return ranks;
}

static uint32_t *unpack_ranks(const struct pli_job *job, struct pli_unpack *from, uint32_t *n_out)
{
    return unpack_list(from, job->n_rank, n_out);
}

void pli_host_table_pack(const struct pli_job *job, struct pli_pack *to)
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    pli_pack_text(to, name);
    pack_place(to, &job->node.hosts[job->here]);
    pli_pack_u32(to, atomic_load(&job->node.header->n_room));
    uint32_t n = 0;
    while (pli_binding_domain(n) != NULL) {
        n++;
    }
    pli_pack_u32(to, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct pli_domain *d = pli_binding_domain(i);
        pli_pack_text(to, d->kind);
        pli_pack_u32(to, d->number);
        pack_ranks(to, d->ranks, d->n);
    }
}

bool pli_host_table_unpack(const struct pli_job *job, struct pli_unpack *from,
                           struct pli_host_table *out)
{
    out->name = pli_unpack_text(from);
    unpack_place(from, &out->place);
    uint32_t n_room = pli_unpack_u32(from);
    if (job->node.header != NULL) {
        pli_node_limit_room(job->node.header, n_room); // rows are numbered alike on all hosts
    }
    out->n_domain = pli_unpack_count(from, 12);
    out->domains = pli_say_need(calloc((size_t)out->n_domain + 1, sizeof *out->domains));
    for (uint32_t i = 0; i < out->n_domain; i++) {
        struct pli_host_table_domain *d = &out->domains[i];
        d->kind = pli_unpack_text(from);
        d->number = pli_unpack_u32(from);
        d->ranks = unpack_ranks(job, from, &d->n);
        from->is_bad |= d->kind == NULL;
    }
    return !from->is_bad && out->name != NULL;
}

// Whether two entries are one host, which has several node memories (--movable).
static bool is_same(const struct pli_job *job, uint32_t a, uint32_t b)
{
    return a == b || (job->opt.is_movable && strcmp(job->hosts[a].name, job->hosts[b].name) == 0);
}

// A set is named after what the host calls itself, unless two call themselves the same.
static const char *set_name(const struct pli_job *job, const struct pli_host_table *host_info,
                            uint32_t h)
{
    for (uint32_t k = 0; k < job->n_host; k++) {
        if (!is_same(job, k, h) && strcmp(host_info[k].name, host_info[h].name) == 0) {
            return job->hosts[h].name;
        }
    }
    return host_info[h].name;
}

static bool add_host_sets(struct pli_job *job, const struct pli_host_table *host_info,
                          uint32_t *ranks)
{
    bool is_good = true;
    char name[PLI_PSET_NAME];
    for (uint32_t h = 0, node = 0; is_good && h < job->n_host; h++) {
        uint32_t n = 0, first = 0;
        while (!is_same(job, first, h)) {
            first++;
        }
        for (uint32_t r = 0; r < job->n_rank && first == h; r++) {
            ranks[n] = r;
            n += is_same(job, job->procs[r].host, h);
        }
        node += first == h;
        if (n == 0) {
            continue; // it has its set, or is there for processes that are started later
        }
        snprintf(name, sizeof name, "mpi://host/%s", set_name(job, host_info, h));
        is_good = pli_psets_add(job, name, ranks, n, PLI_PSET_HOST);
        snprintf(name, sizeof name, "mpi://hw/node/%u", node - 1);
        is_good = is_good && pli_psets_add(job, name, ranks, n, PLI_PSET_HARDWARE);
    }
    return is_good;
}

// The sockets and so on of all hosts are numbered in one row, host after host.
static bool add_domain_sets(struct pli_job *job, const struct pli_host_table *host_info)
{
    static const char *const kinds[] = { "socket", "numa", "core" };
    char name[PLI_PSET_NAME];
    bool is_good = true;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        uint32_t base = 0;
        for (uint32_t h = 0; h < job->n_host; h++) {
            uint32_t most = 0;
            for (uint32_t i = 0; is_good && i < host_info[h].n_domain; i++) {
                const struct pli_host_table_domain *d = &host_info[h].domains[i];
                if (strcmp(d->kind, kinds[k]) == 0) {
                    snprintf(name, sizeof name, "mpi://hw/%s/%u", kinds[k], base + d->number);
                    is_good = pli_psets_add(job, name, d->ranks, d->n, PLI_PSET_HARDWARE);
                    most = d->number + 1 > most ? d->number + 1 : most;
                }
            }
            base += most;
        }
    }
    return is_good;
}

void pli_host_table_pack_place(const struct pli_host_table *info, struct pli_pack *to)
{
    pack_place(to, &info->place);
}

void pli_host_table_place(struct pli_job *job, uint32_t host, struct pli_unpack *from)
{
    char *name = pli_unpack_text(from);
    struct pli_node_host place = { 0 };
    unpack_place(from, &place);
    struct pli_node_header *h = job->node.header;
    if (host > job->n_host || host >= h->cap_host || name == NULL || from->is_bad) {
        free(name);
        return;
    }
    place.n_proc = job->node.hosts[host].n_proc;
    snprintf(place.name, sizeof place.name, "%s", name);
    job->node.hosts[host] = place;
    job->hosts[host].name = name; // the one before may be in use somewhere
    if (host == job->n_host) {
        job->n_host++;
        atomic_store(&h->n_host, job->n_host);
    }
    h->n_beside = pli_node_beside(&job->node);
}

// All sets but those that programs made, which hosts tell each other.
static void pack_launched(struct pli_node *node, struct pli_pack *to)
{
    struct pli_pset set;
    struct pli_pack sets = { 0 };
    uint32_t n = 0;
    pli_pset_lock(node);
    for (uint32_t at = 0; pli_pset_next(node, &at, &set);) {
        if (set.origin != PLI_PSET_MADE) {
            pli_pack_text(&sets, set.name);
            pli_pack_u32(&sets, set.origin);
            pack_members(&sets, &set, 0);
            n++;
        }
    }
    pli_pset_unlock(node);
    pli_pack_u32(to, n);
    pli_pack_bytes(to, sets.data, sets.len);
    pli_pack_fini(&sets);
}

bool pli_host_table_pack_all(struct pli_job *job, const struct pli_host_table *host_info,
                             struct pli_pack *to)
{
    uint32_t *ranks = pli_say_need(malloc(job->n_rank * sizeof *ranks));
    // The memory of a job that is restored has its sets; hosts tell again what their ranks made.
    bool is_image = pli_launcher.ckpt_hooks->is_image(job);
    if (is_image) {
        pli_pset_disown(&job->node);
    }
    bool is_good =
        is_image || (add_host_sets(job, host_info, ranks) && add_domain_sets(job, host_info) &&
                     pli_psets_add_common(job, ranks));
    for (uint32_t h = 0; h < job->n_host; h++) {
        pli_host_table_pack_place(&host_info[h], to);
    }
    free(ranks);
    pack_launched(&job->node, to);
    return is_good;
}

static bool fill_sets(struct pli_job *job, struct pli_unpack *from)
{
    uint32_t n_set = pli_unpack_count(from, 12);
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < n_set; i++) {
        char *name = pli_unpack_text(from);
        uint32_t origin = pli_unpack_u32(from), n;
        uint32_t *ranks = unpack_list(from, UINT32_MAX, &n);
        is_good = !from->is_bad && name != NULL &&
                  pli_psets_add(job, name, ranks, n, (enum pli_pset_origin)origin);
        free(name);
        free(ranks);
    }
    return is_good;
}

static void fill_rows(struct pli_job *job)
{
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        for (uint32_t k = 0; k < t->n; k++) {
            job->node.rows[t->first + k].index = t->rank + k;
        }
        for (uint32_t k = 0; k < t->n_extra; k++) {
            job->node.rows[t->extra + k].index = t->extra_rank + k;
        }
    }
    pli_upc_groups_write(job);
}

// Values that belong to this start of the job, not to the checkpoint.
static void fill_start(struct pli_job *job, const unsigned char *secret)
{
    struct pli_node *node = &job->node;
    memcpy(node->header->secret, secret, sizeof node->header->secret);
    for (uint32_t i = 0; i < job->n_host; i++) {
        snprintf(node->hosts[i].name, sizeof node->hosts[i].name, "%s", job->hosts[i].name);
        node->hosts[i].n_addr = 0;
        memset(node->hosts[i].addr, 0, sizeof node->hosts[i].addr);
    }
    node->hosts[job->here].cores = pli_cores_key();
}

bool pli_host_table_take_node(struct pli_job *job, const unsigned char *secret)
{
    if (!pli_launcher.ckpt_hooks->map_restart(job)) {
        return false;
    }
    const struct pli_node_header *h = job->node.header;
    if (h->n_host != job->n_host || h->host_index != job->here ||
        h->n_world != job->n_rank + job->n_extra) {
        pli_say("the checkpoint is not of this job");
        return false;
    }
    fill_start(job, secret);
    return pli_listener_open(&job->node, true);
}

bool pli_host_table_make_node(struct pli_job *job, const unsigned char *secret, uint64_t job_id)
{
    uint32_t n = job->n_rank + job->n_extra;
    struct pli_node_plan plan = { .n_world = n,
                                  .n_host = job->n_host,
                                  .n_late = PLI_NODE_N_LATE,
                                  .heap = pli_impi_agent_memory(job) };
    for (uint32_t r = 0; r < n; r++) {
        plan.n_row += job->procs[r].host == job->here;
    }
    struct pli_node *node = &job->node;
    if (pli_node_create_for(&plan, node, &job->node_fd) != PLI_OK) {
        pli_say("host %s: %s", job->hosts[job->here].name, pli_fail_take(NULL));
        return false;
    }
    struct pli_node_header *h = node->header;
    h->job = job_id;
    h->host_index = job->here;
    h->n_core = pli_binding_n_core(job);
    fill_start(job, secret);
    bool is_apart = strcmp(pli_conf.net, "tcp") == 0 || strcmp(pli_conf.net, "ucx") == 0;
    h->net |= PLI_NODE_PART | (is_apart ? PLI_NODE_NO_SHM : 0);
    for (uint32_t r = 0; r < n; r++) {
        node->procs[r] = job->procs[r];
        node->hosts[job->procs[r].host].n_proc++;
    }
    fill_rows(job);
    return pli_listener_open(node, true);
}

bool pli_host_table_fill_node(struct pli_job *job, struct pli_unpack *from)
{
    for (uint32_t i = 0; i < job->n_host; i++) {
        struct pli_node_host *h = &job->node.hosts[i];
        h->n_addr = 0;
        unpack_place(from, h);
    }
    job->node.header->n_beside = pli_node_beside(&job->node);
    bool is_good = fill_sets(job, from);
    if (from->is_bad || (is_good && pli_node_check(&job->node) != PLI_OK)) {
        pli_say("host %s: %s", job->hosts[job->here].name,
                from->is_bad ? "mpiexec sent something that makes no sense" : pli_fail_take(NULL));
        return false;
    }
    return is_good;
}

static void pack_set(const struct pli_job *job, const struct pli_pset *set, bool is_made,
                     struct pli_pack *to)
{
    pli_pack_text(to, set->name);
    pli_pack_u32(to, is_made);
    pli_pack_u32(to, set->version);
    pli_pack_u32(to, set->maker);
    pack_members(to, set, job->base);
}

// A set that was made or freed elsewhere, with the members in indices of this job.
struct told_set {
    char *name;
    bool is_made;
    uint32_t version, maker, n, *list;
};

// false: there is none, or it makes no sense.
static bool unpack_set(const struct pli_job *job, struct pli_unpack *from, struct told_set *out)
{
    if (from->at >= from->end || from->is_bad) {
        return false;
    }
    *out = (struct told_set){ .name = pli_unpack_text(from) };
    out->is_made = pli_unpack_u32(from) != 0;
    out->version = pli_unpack_u32(from);
    out->maker = pli_unpack_u32(from);
    out->list = unpack_list(from, UINT32_MAX - job->base, &out->n);
    for (uint32_t k = 0; k < out->n; k++) {
        out->list[k] += job->base;
    }
    from->is_bad |= out->name == NULL;
    if (from->is_bad) {
        free(out->name);
        free(out->list);
    }
    return !from->is_bad;
}

static void told_set_fini(struct told_set *s)
{
    free(s->name);
    free(s->list);
}

void pli_host_table_pack_made(struct pli_job *job, struct pli_pack *to)
{
    struct pli_pset set;
    pli_pset_lock(&job->node);
    for (uint32_t at = 0; pli_pset_next(&job->node, &at, &set);) {
        if (set.origin == PLI_PSET_MADE) {
            pack_set(job, &set, true, to);
        }
    }
    pli_pset_unlock(&job->node);
}

bool pli_host_table_pack_news(struct pli_job *job, struct pli_pack *to)
{
    struct pli_pset set;
    bool is_made, is_any = false;
    pli_pset_lock(&job->node);
    for (uint32_t at = 0; pli_pset_next_news(&job->node, &at, &set, &is_made);) {
        pack_set(job, &set, is_made, to);
        is_any = true;
    }
    pli_pset_unlock(&job->node);
    return is_any;
}

void pli_host_table_add_made(struct pli_job *job, struct pli_unpack *from, bool is_all,
                             uint32_t host)
{
    struct told_set s;
    // What only ranks of this host have made ends when they free it, so that they can use the name
    // again at once.
    bool is_own = !is_all && host == job->here;
    if (is_all) {
        pli_pset_forget_all(&job->node);
    }
    while (unpack_set(job, from, &s)) {
        if (!s.is_made) {
            pli_pset_forget(&job->node, s.name, s.list, s.n);
        } else if (!is_own &&
                   pli_pset_hear(&job->node, s.name, s.list, s.n, s.version, s.maker) != PLI_OK) {
            pli_fail_take(NULL); // a rank here made another of this name: both were told at once
        }
        told_set_fini(&s);
    }
}

bool pli_host_table_count_made(struct pli_job *job, struct pli_unpack *from, struct pli_pack *to)
{
    struct told_set s;
    struct pli_pset set;
    const unsigned char *at = from->at;
    for (; unpack_set(job, from, &s); at = from->at) {
        enum pli_err err = s.is_made ? pli_pset_add(&job->node, s.name, s.list, s.n, s.version,
                                                    PLI_PSET_MADE, s.maker)
                                     : pli_pset_release(&job->node, s.name, s.list, s.n);
        if (err != PLI_OK) {
            pli_fail_take(NULL); // hosts have made different sets of this name at once
        } else if (s.is_made || !pli_pset_find(&job->node, s.name, &set)) {
            pli_pack_bytes(to, at, (size_t)(from->at - at));
        }
        told_set_fini(&s);
    }
    return to->len > 0;
}
