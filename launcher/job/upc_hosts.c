// SPDX-License-Identifier: BSD-3-Clause
// Decides which hosts the threads of a UPC group go to when the variable HOSTS of its part says so.
#include "launcher/job/upc_hosts.h"

#include "launcher/job/environment.h"
#include "launcher/job/upc_groups.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"
#include "launcher/job/rank_map.h"
#include "tools/upcrun/upcrun_args.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file_of(const struct pli_app *app)
{
    const char *path = app->n_upc > 0 ? pli_environment_get(app, "HOSTS") : NULL;
    return path != NULL && path[0] != '\0' ? path : NULL;
}

// The host in the list of the job.
static uint32_t find(struct pli_job *job, const struct pli_host *h, bool may_add, const char *path)
{
    for (uint32_t i = 0; i < job->n_host; i++) {
        const struct pli_host *other = &job->hosts[i];
        if ((h->is_local && other->is_local) || pli_hosts_is_same(h->name, other->name)) {
            return i;
        }
    }
    if (!may_add) {
        pli_say_bad("HOSTS=%s names host %s, which is none of those that --hosts, --hostfile or "
                    "the batch system gave to the job",
                    path, h->name);
    }
    pli_hosts_add(job, h->name, strlen(h->name), 0, 0);
    job->hosts[job->n_host - 1].is_local = h->is_local;
    return job->n_host - 1;
}

static void read_one(struct pli_job *job, struct pli_app *app, const char *path, bool may_add)
{
    app->hosts = pli_hosts_read("HOSTS", path, &app->n_host);
    long n_node = pli_upcrun_number(app->argv, "nodes");
    if (n_node > (long)app->n_host) {
        pli_say_bad("%s -N %ld: HOSTS=%s names only %u", app->argv[0], n_node, path, app->n_host);
    }
    app->n_host = n_node > 0 ? (uint32_t)n_node : app->n_host;
    for (uint32_t i = 0; i < app->n_host; i++) {
        app->hosts[i].index = find(job, &app->hosts[i], may_add, path);
    }
}

// A part that names no hosts while others do is on this one.
static void stay(struct pli_job *job, struct pli_app *app)
{
    static char own[256] = "";
    gethostname(own, sizeof own - 1);
    app->hosts = pli_say_need(calloc(1, sizeof *app->hosts));
    app->n_host = 1;
    *app->hosts = (struct pli_host){ .name = own, .is_local = true };
    app->hosts->index = find(job, app->hosts, true, "");
}

void pli_upc_hosts_read(struct pli_job *job)
{
    bool may_add = job->n_host == 0, is_any = false;
    for (uint32_t a = 0; a < job->n_app; a++) {
        const char *path = file_of(&job->apps[a]);
        if (path != NULL) {
            read_one(job, &job->apps[a], path, may_add);
            is_any = true;
        }
    }
    for (uint32_t a = 0; a < job->n_app && is_any && may_add; a++) {
        if (job->apps[a].n_host == 0) {
            stay(job, &job->apps[a]);
        }
    }
}

// The hosts of a part, one for each thread: every host up to its share, then once more.
struct walk {
    const struct pli_app *app;
    uint32_t *share, *n_all; // of each host: threads in a round, and so far
    uint32_t at, n;          // the host whose turn it is, and what it got in this round
};

static struct walk begin(const struct pli_app *app)
{
    struct walk w = { .app = app };
    w.share = pli_say_need(calloc(app->n_host, sizeof *w.share));
    w.n_all = pli_say_need(calloc(app->n_host, sizeof *w.n_all));
    uint32_t each = app->n_upc > 0 ? app->n_upc : app->ranks_per_proc;
    pli_rank_map_shares(app->hosts, app->n_host, app->n_rank / app->ranks_per_proc * each, w.share);
    return w;
}

static uint32_t next_host(struct walk *w)
{
    for (uint32_t k = 0; k <= w->app->n_host; k++) {
        const struct pli_host *h = &w->app->hosts[w->at];
        bool is_full = h->max_slots != 0 && w->n_all[w->at] >= h->max_slots;
        if (w->n < w->share[w->at] && !is_full) {
            w->n++;
            w->n_all[w->at]++;
            return h->index;
        }
        w->at = (w->at + 1) % w->app->n_host;
        w->n = 0;
    }
    pli_say_bad("the hosts of HOSTS=%s take fewer than %u UPC threads: see max_slots there",
                file_of(w->app), w->app->n_rank / w->app->ranks_per_proc * w->app->n_upc);
}

// The tasks that are done so far.
struct list {
    struct pli_proc_task *tasks;
    uint32_t n, cap;
};

static struct pli_proc_task *add(struct list *l, const struct pli_proc_task *as)
{
    if (l->n == l->cap) {
        l->cap = 2 * l->cap + 16;
        l->tasks = pli_say_need(realloc(l->tasks, l->cap * sizeof *l->tasks));
    }
    struct pli_proc_task *t = &l->tasks[l->n];
    *t = *as;
    t->number = l->n++;
    return t;
}

// Ranks are first, so that a group's parts go on with them, and then with threads that have none.
static void cut(const struct pli_proc_task *group, struct walk *w, struct list *to)
{
    struct pli_proc_task *t = NULL;
    for (uint32_t k = 0; k < group->n + group->n_extra; k++) {
        bool is_rank = k < group->n;
        uint32_t host = next_host(w);
        if (t == NULL || t->host != host) {
            t = add(to, group);
            t->first = t->rank = group->rank + (is_rank ? k : group->n);
            t->n = t->n_extra = 0;
            t->host = host;
        }
        t->n += is_rank;
        t->n_extra += !is_rank;
    }
}

void pli_upc_hosts_tasks(struct pli_job *job)
{
    struct list to = { 0 };
    struct walk w = { 0 };
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (t->app->n_host == 0) {
            add(&to, t);
            continue;
        }
        if (t->app != w.app) {
            free(w.share);
            free(w.n_all);
            w = begin(t->app);
        }
        cut(t, &w, &to);
    }
    free(w.share);
    free(w.n_all);
    free(job->tasks);
    job->tasks = to.tasks;
    job->n_task = job->n_first = to.n;
    for (uint32_t i = 0; i < job->n_task; i++) {
        if (job->tasks[i].app->n_host > 0) {
            pli_rank_map_put(job, &job->tasks[i], job->tasks[i].host);
        }
    }
    pli_upc_groups_number(job);
}
