// SPDX-License-Identifier: BSD-3-Clause
// Decides which task goes to which host.
#include "launcher/job/rank_map.h"

#include "launcher/job/environment.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/job/upc_hosts.h"
#include "launcher/job/allocation.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/base/say.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void pli_rank_map_shares(const struct pli_host *hosts, uint32_t n_host, uint32_t n_rank,
                         uint32_t *share)
{
    uint32_t n_said = 0, n_open = 0;
    for (uint32_t h = 0; h < n_host; h++) {
        n_said += hosts[h].slots;
        n_open += hosts[h].slots == 0;
    }
    uint32_t left = n_rank > n_said ? n_rank - n_said : 0, i = 0;
    for (uint32_t h = 0; h < n_host; h++) {
        const struct pli_host *host = &hosts[h];
        share[h] = host->slots;
        if (host->slots == 0) {
            // What is left over goes to the first ones, one each.
            share[h] = left / n_open + (i < left % n_open);
            share[h] = share[h] > 0 ? share[h] : 1;
            i++;
        }
    }
}

// How many ranks each host takes in one round.
static void find_shares(const struct pli_job *job, uint32_t *share)
{
    pli_rank_map_shares(job->hosts, job->n_host, job->n_rank, share);
    for (uint32_t h = 0; h < job->n_host; h++) {
        uint32_t most = job->hosts[h].max_slots;
        share[h] = job->opt.per_host != 0 ? job->opt.per_host : share[h];
        share[h] = most != 0 && share[h] > most ? most : share[h];
    }
}

static bool has_room(const struct pli_host *h, uint32_t limit, uint32_t n)
{
    return h->n_rank < limit && (h->max_slots == 0 || h->n_rank + n <= h->max_slots);
}

void pli_rank_map_put(struct pli_job *job, struct pli_proc_task *t, uint32_t h)
{
    t->host = h;
    job->hosts[h].n_task++;
    job->hosts[h].n_rank += t->n;
}

// Host by host, each up to its share; when all are full, once more.
static void fill(struct pli_job *job, const uint32_t *share)
{
    uint32_t h = 0, n_full = 0, round = 1;
    for (uint32_t i = 0; i < job->n_task;) {
        struct pli_proc_task *t = &job->tasks[i];
        if (t->app->n_host > 0) {
            i++; // it has its place
            continue;
        }
        if (has_room(&job->hosts[h], round * share[h], t->n)) {
            pli_rank_map_put(job, t, h);
            i++;
            n_full = 0;
            continue;
        }
        h = (h + 1) % job->n_host;
        round += h == 0;
        if (n_full++ > 2 * job->n_host) {
            pli_say_bad("the hosts take fewer than %u ranks: see max_slots in the list of hosts",
                        job->n_rank);
        }
    }
}

// One to each host in turn, to those whose share is not used up.
static void place_in_turn(struct pli_job *job, const uint32_t *share)
{
    uint32_t round = 1;
    for (uint32_t i = 0, h = 0, n_full = 0; i < job->n_task; h = (h + 1) % job->n_host) {
        for (; i < job->n_task && job->tasks[i].app->n_host > 0; i++) {
        }
        if (i == job->n_task) {
            break;
        }
        if (has_room(&job->hosts[h], round * share[h], job->tasks[i].n)) {
            pli_rank_map_put(job, &job->tasks[i++], h);
            n_full = 0;
        } else if (++n_full >= job->n_host) {
            n_full = 0;
            if (++round > job->n_rank + 1) {
                pli_say_bad(
                    "the hosts take fewer than %u ranks: see max_slots in the list of hosts",
                    job->n_rank);
            }
        }
    }
}

// Hosts that get no task are not needed, unless the job may grow.
static void drop_empty(struct pli_job *job)
{
    uint32_t *now = pli_say_need(calloc(job->n_host, sizeof *now));
    uint32_t n = 0;
    for (uint32_t h = 0; h < job->n_host; h++) {
        now[h] = n;
        if (job->hosts[h].n_task > 0 || job->opt.elastic_max > 0) {
            job->hosts[n++] = job->hosts[h];
        }
    }
    for (uint32_t i = 0; i < job->n_task; i++) {
        job->tasks[i].host = now[job->tasks[i].host];
    }
    job->n_host = n;
    free(now);
}

static bool is_by_node(const struct pli_job *job)
{
    const char *map = job->opt.map;
    size_t len = map != NULL ? strcspn(map, ":") : 0;
    return len == 4 && strncasecmp(map, "node", 4) == 0;
}

// Every task gets an entry of its own in the list of hosts, under the name of its host: a daemon,
// and a node memory that no other task shares. Entries without a task stay, for processes that are
// started later.
static void part(struct pli_job *job)
{
    struct pli_host *all = pli_say_need(calloc(job->n_task + job->n_host, sizeof *all));
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_task; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        all[n] = job->hosts[t->host];
        all[n].slots = all[n].n_rank = t->n;
        all[n].max_slots = 0;
        all[n].n_task = 1;
        t->host = n++;
    }
    for (uint32_t h = 0; h < job->n_host; h++) {
        if (job->hosts[h].n_task == 0) {
            all[n++] = job->hosts[h];
        }
    }
    job->hosts = all;
    job->n_host = n;
}

// Whether other hosts may join the job later: it then has a daemon here too. Not where hosts are
// pretended or reached by srun; and images of a job on one host stay what they are.
static bool may_be_joined(const struct pli_job *job)
{
    return job->opt.elastic_max > 0 && job->opt.impi_server == NULL && job->opt.singleton == NULL &&
           !pli_launcher.ckpt_hooks->is_image(job) &&
           pli_environment_get(&job->apps[0], "PLIANT_FAKE_HOSTS") == NULL &&
           !pli_allocation_is_by_srun(job);
}

void pli_rank_map_tasks(struct pli_job *job)
{
    bool is_open = may_be_joined(job);
    if (job->n_host == 0 && (is_open || job->opt.is_movable)) {
        char name[256] = "localhost";
        gethostname(name, sizeof name - 1);
        pli_hosts_add(job, name, strlen(name), 0, 0);
        job->hosts[0].is_local = true;
    }
    if (job->n_host == 0) {
        return;
    }
    pli_upc_hosts_tasks(job);
    uint32_t *share = pli_say_need(calloc(job->n_host, sizeof *share));
    find_shares(job, share);
    if (is_by_node(job)) {
        place_in_turn(job, share);
    } else {
        fill(job, share);
    }
    free(share);
    drop_empty(job);
    if (job->opt.is_movable) {
        part(job);
        return;
    }
    if (job->n_host == 1 && job->hosts[0].is_local && !is_open) {
        job->n_host = 0;
        for (uint32_t i = 0; i < job->n_task; i++) {
            job->tasks[i].host = 0;
        }
    }
}

void pli_rank_map_number(struct pli_job *job)
{
    uint32_t *n_row = pli_say_need(calloc(job->n_host, sizeof *n_row));
    job->procs = pli_say_need(calloc(job->n_rank + job->n_extra, sizeof *job->procs));
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        for (uint32_t r = t->rank; r < t->rank + t->n; r++) {
            job->procs[r].host = t->host;
            job->procs[r].row = n_row[t->host]++;
        }
    }
    for (uint32_t i = 0; i < job->n_task; i++) { // on each host after its ranks
        const struct pli_proc_task *t = &job->tasks[i];
        for (uint32_t r = t->extra_rank; r < t->extra_rank + t->n_extra; r++) {
            job->procs[r].host = t->host;
            job->procs[r].row = n_row[t->host]++;
        }
    }
    free(n_row);
}

// How many ranks a host should have: its slots or, where the user gave none, as many as it began
// with.
static uint64_t room_of(const struct pli_job *job, uint32_t h)
{
    if (job->opt.is_movable) {
        return 1; // one rank has the memory to itself
    }
    uint64_t n = job->opt.per_host != 0 ? job->opt.per_host : job->hosts[h].slots;
    for (uint32_t r = 0; r < job->n_rank && job->opt.per_host + job->hosts[h].slots == 0; r++) {
        n += job->procs[r].host == h;
    }
    return n > 0 ? n : 1;
}

bool pli_rank_map_more(const struct pli_job *job, uint32_t *hosts_io, uint32_t at, uint32_t n,
                       const bool *may)
{
    uint32_t *n_more = pli_say_need(calloc(job->n_host, sizeof *n_more)); // by this request
    uint32_t *n_now = pli_say_need(calloc(job->n_host, sizeof *n_now));   // by this part of it
    bool is_full = false;
    for (uint32_t i = 0; i < at; i++) {
        n_more[hosts_io[i]]++;
    }
    for (uint32_t i = 0; i < n && !is_full; i++) {
        uint32_t best = UINT32_MAX;
        uint64_t best_load = 0, best_room = 1;
        for (uint32_t h = 0; h < job->n_host; h++) {
            const struct pli_host *host = &job->hosts[h];
            uint64_t load = (uint64_t)host->n_rank + n_more[h] + 1, room = room_of(job, h);
            if (host->is_lost || (may != NULL && !may[h]) ||
                (host->max_slots != 0 && load > host->max_slots)) {
                continue;
            }
            if (best == UINT32_MAX || load * best_room < best_load * room) {
                best = h;
                best_load = load;
                best_room = room;
            }
        }
        is_full = best == UINT32_MAX;
        if (!is_full) {
            hosts_io[at + i] = best;
            n_more[best]++;
            n_now[best]++;
        }
    }
    // Neighbours go to one host, unless the user wants hosts to get ranks in turn.
    for (uint32_t h = 0, i = at; h < job->n_host && !is_full && !is_by_node(job); h++) {
        for (; n_now[h] > 0; n_now[h]--) {
            hosts_io[i++] = h;
        }
    }
    free(n_more);
    free(n_now);
    return !is_full;
}

// Slots that no rank has, 0 where the user gave none.
static uint32_t n_free(const struct pli_job *job, uint32_t h, const uint32_t *n_more)
{
    const struct pli_host *host = &job->hosts[h];
    uint32_t n = host->n_rank + n_more[h];
    return host->is_lost || host->slots <= n ? 0 : host->slots - n;
}

// Of the hosts with the name of this one (--movable has several), that with the fewest ranks.
static uint32_t least_of(const struct pli_job *job, uint32_t h, const uint32_t *n_more)
{
    uint32_t best = h;
    for (uint32_t k = 0; k < job->n_host; k++) {
        const struct pli_host *host = &job->hosts[k];
        if (!host->is_lost && strcmp(host->name, job->hosts[h].name) == 0 &&
            host->n_rank + n_more[k] < job->hosts[best].n_rank + n_more[best]) {
            best = k;
        }
    }
    return best;
}

static uint32_t most_free(const struct pli_job *job, uint32_t parent, const uint32_t *n_more)
{
    uint32_t best = parent;
    for (uint32_t h = 0; h < job->n_host; h++) {
        best = n_free(job, h, n_more) > n_free(job, best, n_more) ? h : best;
    }
    return best;
}

bool pli_rank_map_clones(const struct pli_job *job, uint32_t *hosts_io, uint32_t n,
                         const uint32_t *wanted, uint32_t n_wanted)
{
    uint32_t *n_more = pli_say_need(calloc(job->n_host, sizeof *n_more));
    bool *is_full = pli_say_need(calloc((size_t)n + 1, sizeof *is_full));
    bool is_any = false;
    for (uint32_t i = 0; i < n; i++) { // clones that can stay with their parent choose first
        uint32_t parent = hosts_io[i];
        if (n_wanted > 0) {
            uint32_t h = wanted[i % n_wanted];
            bool is_there = strcmp(job->hosts[h].name, job->hosts[parent].name) == 0;
            hosts_io[i] = is_there ? parent : least_of(job, h, n_more);
            is_any |= !is_there;
        } else if (job->hosts[parent].slots > 0 && n_free(job, parent, n_more) == 0) {
            is_full[i] = true;
            continue;
        }
        n_more[hosts_io[i]]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (is_full[i]) {
            uint32_t h = most_free(job, hosts_io[i], n_more);
            is_any |= h != hosts_io[i];
            hosts_io[i] = h;
            n_more[h]++;
        }
    }
    free(n_more);
    free(is_full);
    return is_any;
}
