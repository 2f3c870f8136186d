// SPDX-License-Identifier: BSD-3-Clause
// Reads the programs of a request.
#include "launcher/job/programs.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "boot/launcher_wire.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The environment of the command line's programs with the part's own settings.
static bool make_env(const struct pli_job *job, struct pli_app *app, char **own, uint32_t n_own)
{
    struct pli_programs_state *self = pli_launcher.programs;
    if (self->plain.env == NULL) {
        pli_launcher.role->base_env(job, &self->plain);
    }
    int n_all = 0, n = 0;
    while (self->plain.env[n_all] != NULL) {
        n_all++;
    }
    app->env = calloc((size_t)n_all + n_own + 1, sizeof *app->env);
    if (app->env == NULL) {
        return false;
    }
    for (int i = 0; i < self->plain.env_own; i++) {
        bool is_set = false;
        for (uint32_t k = 0; k < n_own; k++) {
            size_t len = strcspn(own[k], "=") + 1;
            is_set = is_set || strncmp(own[k], self->plain.env[i], len) == 0;
        }
        if (!is_set) {
            app->env[n++] = self->plain.env[i];
        }
    }
    memcpy(app->env + n, own, n_own * sizeof *own);
    n += (int)n_own;
    app->env_own = n;
    memcpy(app->env + n, self->plain.env + self->plain.env_own,
           (size_t)(n_all - self->plain.env_own) * sizeof *own);
    return true;
}

void pli_programs_release(struct pli_programs *c)
{
    if (c != NULL && --c->n_user == 0) {
        if (!c->is_borrowed) {
            free(c->app.argv);
            free(c->app.env);
        }
        free(c->text);
        free(c->may);
        free(c);
    }
}

// A part of the request; *at moves after it. NULL: it is not complete, or there is no memory.
static struct pli_programs *read_part(const struct pli_job *job, const char **at, const char *end,
                                      struct pli_answer *a)
{
    struct pli_ask_part p;
    if ((size_t)(end - *at) < sizeof p) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return NULL;
    }
    memcpy(&p, *at, sizeof p);
    *at += sizeof p;
    enum { FILE_NAME, DIRECTORY, HOSTS, ADD, ARGS };
    uint64_t n = (uint64_t)p.n_arg + p.n_env + ARGS;
    struct pli_programs *c = calloc(1, sizeof *c);
    if (c == NULL || p.len > (size_t)(end - *at) || p.n_arg == 0 || n > p.len) {
        pli_refuse(a, EINVAL, "the request is cut short");
        free(c);
        return NULL;
    }
    c->n_user = 1;
    c->text = malloc(p.len + 1u);
    c->app.argv = calloc(n + 1, sizeof *c->app.argv); // and settings
    bool is_good = c->text != NULL && c->app.argv != NULL;
    char *s = c->text;
    if (is_good) {
        memcpy(s, *at, p.len);
        s[p.len] = '\0';
    }
    for (uint64_t i = 0; is_good && i < n; i++) {
        is_good = s < c->text + p.len;
        c->app.argv[i] = s;
        s += is_good ? strlen(s) + 1 : 0;
    }
    *at += p.len;
    if (is_good) {
        char **words = c->app.argv;
        c->app.path = words[FILE_NAME];
        c->app.wdir = words[DIRECTORY][0] != '\0' ? words[DIRECTORY] : NULL;
        c->hosts = words[HOSTS];
        c->add = words[ADD];
        c->app.n_rank = p.n;
        c->app.ranks_per_proc = 1;
        is_good = make_env(job, &c->app, words + ARGS + p.n_arg, p.n_env);
        memmove(words, words + ARGS, p.n_arg * sizeof *words);
        words[p.n_arg] = NULL;
    }
    if (!is_good) {
        pli_refuse(a, ENOMEM, "the request is cut short, or mpiexec has no memory for it");
        pli_programs_release(c);
        return NULL;
    }
    return c;
}

// Under gdb they would keep the rank that spawns them inside of its call until the user has typed
// run in each.
static void say_gdb(uint32_t n)
{
    pli_say("--gdb: %u spawned process%s without gdb; attach to one by gdb -p PID on its host, "
            "mpictl status shows which there are",
            n, n == 1 ? " runs" : "es run");
}

bool pli_programs_read(const struct pli_job *job, const char *body, size_t len,
                       struct pli_programs_list *out, struct pli_answer *a)
{
    const char *at = body + sizeof out->ask, *end = body + len;
    uint64_t n_all = 0;
    *out = (struct pli_programs_list){ 0 };
    if (len < sizeof out->ask) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return false;
    }
    memcpy(&out->ask, body, sizeof out->ask);
    if (out->ask.n_part <= len) {
        out->programs = calloc(out->ask.n_part + 1u, sizeof(struct pli_programs *));
    }
    if (out->programs == NULL) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for the request");
        return false;
    }
    for (uint32_t i = 0; i < out->ask.n_part && a->error == 0; i++) {
        out->programs[i] = read_part(job, &at, end, a);
        n_all += out->programs[i] != NULL ? out->programs[i]->app.n_rank : 0;
    }
    out->n_all = n_all < UINT32_MAX ? (uint32_t)n_all : UINT32_MAX;
    if (a->error == 0 && job->opt.gdb != NULL && !job->is_daemon) {
        say_gdb(out->n_all);
    }
    return a->error == 0;
}

bool pli_programs_ranks(const struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        struct pli_programs_list *out)
{
    *out = (struct pli_programs_list){
        .ask = { .n_part = 1 }, .n_all = n, .rank = rank, .version = version
    };
    out->programs = calloc(1, sizeof(struct pli_programs *));
    if (out->programs != NULL) {
        out->programs[0] = pli_programs_borrow(&job->apps[0], n);
    }
    return out->programs != NULL && out->programs[0] != NULL;
}

void pli_programs_list_fini(struct pli_programs_list *l)
{
    for (uint32_t i = 0; l->programs != NULL && i < l->ask.n_part; i++) {
        pli_programs_release(l->programs[i]);
    }
    free(l->programs);
    *l = (struct pli_programs_list){ 0 };
}

struct pli_programs *pli_programs_borrow(const struct pli_app *app, uint32_t n)
{
    struct pli_programs *c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->app = *app; // its strings stay the command line's
        c->app.n_rank = n;
        c->n_user = 1;
        c->is_borrowed = true;
        c->hosts = c->add = "";
    }
    return c;
}

struct pli_proc_task *pli_programs_task(const struct pli_job *job, struct pli_programs *c,
                                        uint32_t row)
{
    struct pli_proc_task *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->watch.fd = t->control.fd = t->out.watch.fd = t->err.watch.fd = -1;
        t->is_spawned = true;
        t->app = &c->app;
        t->first = row;
        t->n = 1;
        t->number = job->node.rows[row].index;
        t->rank = job->node.rows[row].index - job->node.rows[row].world;
        c->n_user++;
    }
    return t;
}
