// SPDX-License-Identifier: BSD-3-Clause
// Chooses the ranks of --gdb and makes a terminal for each.
#include "launcher/ranks/gdb_ranks.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/job/environment.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/gdb_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// A command of PATH; NULL: it is not there.
static char *find_command(const char *name)
{
    const char *path = getenv("PATH");
    char *all = pli_say_need(strdup(path != NULL ? path : "/usr/bin:/bin")), *rest = NULL;
    char *found = NULL;
    for (char *d = strtok_r(all, ":", &rest); d != NULL && found == NULL;
         d = strtok_r(NULL, ":", &rest)) {
        char *file;
        int n = asprintf(&file, "%s/%s", d, name);
        pli_say_need(n >= 0 ? file : NULL);
        if (access(file, X_OK) == 0) {
            found = file;
        } else {
            free(file);
        }
    }
    free(all);
    return found;
}

static bool is_in_tmux(void)
{
    const char *where = getenv("TMUX");
    char *tmux = where != NULL && *where != '\0' ? find_command("tmux") : NULL;
    bool is = tmux != NULL;
    free(tmux);
    return is;
}

static uint32_t read_rank(const struct pli_job *job, const char **at)
{
    char *end;
    unsigned long v = strtoul(*at, &end, 10);
    if (**at < '0' || **at > '9') {
        pli_say_bad("--gdb=%s: the ranks are written as numbers and ranges, such as 0-3,7",
                    job->opt.gdb);
    }
    if (v >= job->n_rank) {
        pli_say_bad("--gdb=%s names rank %lu, but the ranks are 0 to %u", job->opt.gdb, v,
                    job->n_rank - 1);
    }
    *at = end;
    return (uint32_t)v;
}

// Which ranks --gdb names; all without a list.
static bool *choose(const struct pli_job *job)
{
    bool *is_chosen = pli_say_need(calloc(job->n_rank, sizeof *is_chosen));
    const char *at = job->opt.gdb;
    memset(is_chosen, *at == '\0' && !job->opt.has_replay_rank, job->n_rank);
    is_chosen[job->opt.replay_rank] |= *at == '\0';
    while (*at != '\0') {
        uint32_t first = read_rank(job, &at), last = first;
        if (*at == '-') {
            at++;
            last = read_rank(job, &at);
        }
        if (last < first) {
            pli_say_bad("--gdb=%s: %u-%u names no rank; the lower one comes first", job->opt.gdb,
                        first, last);
        }
        for (uint32_t r = first; r <= last; r++) {
            is_chosen[r] = true;
        }
        if (*at != '\0' && *at++ != ',') {
            pli_say_bad("--gdb=%s: the ranks are written as numbers and ranges, such as 0-3,7",
                        job->opt.gdb);
        }
    }
    return is_chosen;
}

// The value in quotes that a shell takes away again.
static char *quote(const char *value)
{
    char *text = pli_say_need(malloc(strlen(value) * 4 + 3)), *to = text;
    *to++ = '\'';
    for (; *value != '\0'; value++) {
        to = *value == '\'' ? stpcpy(to, "'\\''") : (*to = *value, to + 1);
    }
    strcpy(to, "'");
    return text;
}

// gdb -q --args PROGRAM ARGUMENT...; libraries to be loaded first are for the program, not for gdb
// and the shell that it starts the program with.
static void make_command(struct pli_gdb_rank *g, const struct pli_app *app)
{
    size_t n = 0, at = 0, n_env = 0;
    while (app->argv[n] != NULL) {
        n++;
    }
    while (app->env[n_env] != NULL) {
        n_env++;
    }
    g->argv = pli_say_need(calloc(n + 6, sizeof *g->argv));
    g->argv[at++] = (char *)"gdb";
    g->argv[at++] = (char *)"-q";
    const char *preload = pli_environment_get(app, "LD_PRELOAD");
    if (preload != NULL) {
        char *quoted = quote(preload);
        int length = asprintf(&g->wrapper, "set exec-wrapper env LD_PRELOAD=%s", quoted);
        free(quoted);
        g->argv[at++] = (char *)"-iex";
        g->argv[at++] = pli_say_need(length >= 0 ? g->wrapper : NULL);
    }
    g->argv[at++] = (char *)"--args";
    memcpy(g->argv + at, app->argv, n * sizeof *g->argv);
    g->argv[at] = app->path;
    g->env = pli_say_need(calloc(n_env + 1, sizeof *g->env));
    for (size_t i = 0, to = 0; i < n_env; i++) {
        if (strncmp(app->env[i], "LD_PRELOAD=", strlen("LD_PRELOAD=")) != 0) {
            g->env[to++] = app->env[i];
        }
    }
}

static char *find_gdb(const char *kind, const char *host)
{
    char *gdb = find_command("gdb");
    if (gdb == NULL) {
        pli_say_bad(
            "%s%s%s--gdb: there is no gdb in PATH; install it, or attach another debugger to "
            "the processes that mpictl status lists",
            kind, host, host[0] != '\0' ? ": " : "");
    }
    return gdb;
}

// Which tasks run under gdb. path: of gdb, where they run on this host.
static void plan(struct pli_job *job, char *gdb)
{
    struct pli_gdb_ranks_state *self = pli_launcher.gdb_ranks;
    bool *is_chosen = choose(job);
    self->ranks = pli_say_need(calloc(job->n_task, sizeof *self->ranks));
    for (uint32_t i = 0; i < job->n_task; i++) {
        struct pli_proc_task *t = &job->tasks[i];
        bool is = false;
        for (uint32_t r = t->rank; r < t->rank + t->n; r++) {
            is = is || is_chosen[r];
        }
        if (is) {
            struct pli_gdb_rank *g = &self->ranks[self->n++];
            *g = (struct pli_gdb_rank){
                .path = gdb, .rank = t->rank, .terminal = -1, .far = -1, .outer = STDIN_FILENO
            };
            t->gdb = g;
        }
    }
    free(is_chosen);
}

void pli_gdb_ranks_plan(struct pli_job *job)
{
    if (job->opt.gdb == NULL || job->opt.is_dry) {
        return;
    }
    char *gdb = job->n_host > 0 ? NULL : find_gdb("", ""); // else each host looks for it
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        pli_say_bad("--gdb needs a terminal for what you type and see; without one let gdb run a "
                    "list of commands: mpiexec -n 4 -l gdb -batch -ex run -ex 'thread apply all "
                    "bt' --args ./program");
    }
    if (!is_in_tmux() && tcgetpgrp(STDIN_FILENO) != getpgrp()) {
        pli_say_bad("--gdb: this mpiexec runs in the background, and cannot read what is typed; "
                    "start it in the foreground, or inside tmux");
    }
    job->opt.stdin_rank = PLI_STDIN_NONE; // what is typed is for gdb
    if (job->opt.on_deadlock == PLI_DEADLOCK_ABORT) {
        job->opt.on_deadlock = PLI_DEADLOCK_REPORT; // it is to be looked at
    }
    plan(job, gdb);
}

void pli_gdb_ranks_plan_host(struct pli_job *job)
{
    if (job->opt.gdb != NULL && job->n_task > 0) {
        plan(job, find_gdb("host ", job->hosts[job->here].name));
    }
}

static bool open_terminal(struct pli_gdb_rank *g)
{
    g->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (g->terminal < 0 || grantpt(g->terminal) != 0 || unlockpt(g->terminal) != 0 ||
        ptsname_r(g->terminal, g->tty, sizeof g->tty) != 0) {
        pli_say("--gdb: no terminal can be made for rank %u: %s", g->rank, strerror(errno));
        return false;
    }
    return true;
}

// A pane whose own process does nothing: its terminal is ours to read and write.
static bool open_pane(struct pli_gdb_link *l)
{
    char tty[64];
    FILE *f =
        popen("tmux split-window -d -P -F '#{pane_id} #{pane_tty}' 'exec sleep 2147483647' && "
              "tmux select-layout tiled > /dev/null",
              "re");
    int n = f != NULL ? fscanf(f, "%31s %63s", l->pane, tty) : 0;
    if (f != NULL) {
        pclose(f);
    }
    l->outer = n == 2 ? open(tty, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    return l->outer >= 0 && dprintf(l->outer, "[gdb of rank %u]\r\n", l->rank) > 0;
}

static bool open_links(struct pli_gdb_link *links)
{
    const struct pli_gdb_ranks_state *self = pli_launcher.gdb_ranks;
    bool has_panes = is_in_tmux();
    for (uint32_t i = 0; i < self->n; i++) {
        links[i] = (struct pli_gdb_link){
            .rank = self->ranks[i].rank,
            .inner = self->ranks[i].terminal,
            .outer = STDIN_FILENO,
        };
        if (has_panes && !open_pane(&links[i])) {
            pli_say("--gdb: tmux makes no pane for rank %u; make the window larger, or name fewer "
                    "ranks: --gdb=0,3",
                    self->ranks[i].rank);
            return false;
        }
    }
    return true;
}

bool pli_gdb_ranks_open(const struct pli_job *job)
{
    struct pli_gdb_ranks_state *self = pli_launcher.gdb_ranks;
    if (self->n == 0) {
        return true;
    }
    for (uint32_t i = 0; i < job->n_task; i++) { // programs are found by now
        struct pli_gdb_rank *g = job->tasks[i].gdb;
        if (g != NULL) {
            make_command(g, job->tasks[i].app);
        }
    }
    bool is_open = true;
    for (uint32_t i = 0; i < self->n && is_open; i++) {
        is_open = open_terminal(&self->ranks[i]);
    }
    return is_open;
}

bool pli_gdb_ranks_show(void)
{
    struct pli_gdb_ranks_state *self = pli_launcher.gdb_ranks;
    if (self->n == 0) {
        return true;
    }
    struct pli_gdb_link *links = pli_say_need(calloc(self->n, sizeof *links));
    pid_t parent = getpid();
    self->relay = open_links(links) ? fork() : -1;
    if (self->relay == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(1);
        }
        for (uint32_t i = 0; i < self->n; i++) {
            if (self->ranks[i].far >= 0) {
                close(self->ranks[i].far); // so that its end is seen
            }
        }
        pli_gdb_relay_run(links, self->n);
    }
    for (uint32_t i = 0; i < self->n; i++) {
        struct pli_gdb_rank *g = &self->ranks[i];
        if (g->far >= 0) {
            g->outer = links[i].outer; // its size is looked at
            close(g->terminal);
            g->terminal = -1;
        } else if (links[i].pane[0] != '\0') {
            close(links[i].outer);
        }
    }
    free(links);
    return self->relay > 0;
}

void pli_gdb_ranks_close(void)
{
    struct pli_gdb_ranks_state *self = pli_launcher.gdb_ranks;
    for (uint32_t i = 0; i < self->n; i++) {
        if (self->ranks[i].terminal >= 0) {
            close(self->ranks[i].terminal);
        }
        free(self->ranks[i].argv);
        free(self->ranks[i].env);
        free(self->ranks[i].wrapper);
    }
    if (self->relay > 0) {
        kill(self->relay, SIGTERM);
        waitpid(self->relay, NULL, 0);
    }
    if (self->n > 0) {
        free(self->ranks[0].path);
        free(self->ranks);
    }
    *self = (struct pli_gdb_ranks_state){ 0 };
}
