// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the description of a job.
#include "launcher/hosts/daemon_spec.h"

#include "launcher/job/upc_groups.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/base/say.h"
#include "launcher/job/rank_map.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    F_VERBOSE = 1,
    F_REPORT = 2,
    F_LINE = 4,
    F_TELLS = 8,
    F_WATCH = 16,
    F_STATE = 32,
    F_TAKES_MOVED = 64,
    F_MOVABLE = 128,
    F_JOINS = 256,
    F_FOREIGN = 512
};

static const char magic[8] = "PLIANTJ";

static void write_app(struct pli_pack *p, const struct pli_app *app, const char *here)
{
    pli_pack_u32(p, app->n_rank);
    pli_pack_u32(p, app->ranks_per_proc);
    pli_pack_u32(p, app->first);
    char *wdir = NULL;
    if (app->wdir != NULL && app->wdir[0] != '/') {
        pli_say_need(asprintf(&wdir, "%s/%s", here, app->wdir) >= 0 ? wdir : NULL);
    }
    pli_pack_text(p, wdir != NULL ? wdir : app->wdir);
    free(wdir);
    pli_pack_texts(p, app->argv);
    pli_pack_u32(p, (uint32_t)app->env_own);
    for (int i = 0; i < app->env_own; i++) {
        pli_pack_text(p, app->env[i]);
        pli_pack_u32(p, (uint32_t)app->env_said[i]);
    }
}

// What the user has set for agents, wherever they are.
static void write_impi(struct pli_pack *p)
{
    uint32_t n = 0;
    for (char **var = environ; *var != NULL; var++) {
        n += strncmp(*var, "IMPI_", 5) == 0;
    }
    pli_pack_u32(p, n);
    for (char **var = environ; *var != NULL; var++) {
        if (strncmp(*var, "IMPI_", 5) == 0) {
            pli_pack_text(p, *var);
        }
    }
}

static void write_options(struct pli_pack *p, const struct pli_options *o)
{
    uint32_t flags = (o->is_verbose ? F_VERBOSE : 0) | (o->is_report ? F_REPORT : 0) |
                     (o->is_line ? F_LINE : 0) | (o->is_resize_error ? F_TELLS : 0) |
                     (o->on_deadlock != PLI_DEADLOCK_IGNORE ? F_WATCH : 0) |
                     (o->is_state ? F_STATE : 0) | (o->takes_moved ? F_TAKES_MOVED : 0) |
                     (o->is_movable ? F_MOVABLE : 0) | (o->is_joining ? F_JOINS : 0) |
                     (o->takes_foreign ? F_FOREIGN : 0);
    pli_pack_u32(p, flags);
    pli_pack_u32(p, (uint32_t)o->on_failure);
    pli_pack_u32(p, (uint32_t)o->abi);
    pli_pack_u64(p, (uint64_t)o->stdin_rank);
    pli_pack_text(p, o->bind);
    pli_pack_text(p, o->map);
    pli_pack_u32(p, o->upc_groups);
    pli_pack_text(p, o->impi_server);
    pli_pack_u32(p, o->impi_rank);
    write_impi(p);
    pli_pack_text(p, o->ckpt_dir);
    pli_pack_text(p, o->ckpt_mark);
    pli_pack_text(p, o->restart);
    pli_pack_u64(p, o->restart_sum);
    pli_pack_text(p, o->gdb);
}

void pli_daemon_spec_make(struct pli_daemon_spec *spec, const struct pli_job *job)
{
    struct pli_pack *p = &spec->body;
    char *here = getcwd(NULL, 0);
    if (here == NULL) {
        pli_say_bad("the directory mpiexec was started in is not there any more: %s",
                    strerror(errno));
    }
    pli_pack_u64(p, spec->job_id);
    pli_pack_u32(p, spec->tree.fan);
    pli_pack_u32(p, spec->tree.n);
    pli_pack_u32(p, spec->join_id);
    char *none[] = { NULL };
    pli_pack_texts(p, spec->launcher != NULL ? spec->launcher : none);
    pli_pack_text(p, spec->agent);
    pli_pack_text(p, here);
    write_options(p, &job->opt);
    pli_pack_u32(p, job->n_app);
    for (uint32_t a = 0; a < job->n_app; a++) {
        write_app(p, &job->apps[a], here);
    }
    pli_pack_u32(p, job->n_host);
    for (uint32_t h = 0; h < job->n_host; h++) {
        pli_pack_text(p, job->hosts[h].name);
        pli_pack_u32(p, job->hosts[h].is_local);
    }
    pli_pack_u32(p, job->n_rank);
    pli_pack_u32(p, job->n_task);
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        pli_pack_u32(p, (uint32_t)(t->app - job->apps));
        pli_pack_u32(p, t->rank);
        pli_pack_u32(p, t->n);
        pli_pack_u32(p, t->n_extra);
        pli_pack_u32(p, t->host);
    }
    free(here);
}

void pli_daemon_spec_write(const struct pli_daemon_spec *spec, const struct pli_daemon_addr *place,
                           struct pli_pack *to)
{
    struct pli_pack all = { 0 };
    pli_pack_text(&all, PLIANT_VERSION);
    pli_pack_u32(&all, PLI_DLINK_VERSION);
    pli_pack_bytes(&all, spec->secret, sizeof spec->secret);
    pli_daemon_addr_pack(place, &all);
    pli_pack_bytes(&all, spec->body.data, spec->body.len);
    pli_pack_bytes(to, magic, sizeof magic);
    pli_pack_u64(to, all.len);
    pli_pack_bytes(to, all.data, all.len);
    pli_pack_fini(&all);
}

static bool read_all(int fd, void *to, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = read(fd, (char *)to + done, len - done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void read_app(struct pli_unpack *u, struct pli_app *app)
{
    app->n_rank = pli_unpack_u32(u);
    app->ranks_per_proc = pli_unpack_u32(u);
    app->first = pli_unpack_u32(u);
    app->wdir = pli_unpack_text(u);
    app->argv = pli_unpack_texts(u);
    uint32_t n = pli_unpack_count(u, 8);
    app->env = pli_say_need(calloc((size_t)n + 1, sizeof *app->env));
    app->env_said = pli_say_need(calloc((size_t)n + 1, sizeof *app->env_said));
    for (uint32_t i = 0; i < n; i++) {
        app->env[i] = pli_unpack_text(u);
        app->env_said[i] = pli_unpack_u32(u) != 0;
        u->is_bad |= app->env[i] == NULL;
    }
    app->env_own = (int)n;
    u->is_bad |= app->argv[0] == NULL;
    if (!u->is_bad) {
        pli_upc_groups_find(app);
    }
}

static void read_options(struct pli_unpack *u, struct pli_options *o)
{
    uint32_t flags = pli_unpack_u32(u);
    o->is_verbose = (flags & F_VERBOSE) != 0;
    o->is_report = (flags & F_REPORT) != 0;
    o->is_line = (flags & F_LINE) != 0;
    o->is_resize_error = (flags & F_TELLS) != 0;
    o->on_failure = (enum pli_on_failure)pli_unpack_u32(u);
    o->on_deadlock = (flags & F_WATCH) != 0 ? PLI_DEADLOCK_REPORT : PLI_DEADLOCK_IGNORE;
    o->is_state = (flags & F_STATE) != 0;
    o->takes_moved = (flags & F_TAKES_MOVED) != 0;
    o->is_movable = (flags & F_MOVABLE) != 0;
    o->takes_foreign = (flags & F_FOREIGN) != 0;
    o->is_joining = (flags & F_JOINS) != 0;
    o->abi = (enum pli_abi)pli_unpack_u32(u);
    o->stdin_rank = (int64_t)pli_unpack_u64(u);
    o->bind = pli_unpack_text(u);
    o->map = pli_unpack_text(u);
    o->upc_groups = pli_unpack_u32(u);
    o->impi_server = pli_unpack_text(u);
    o->impi_rank = pli_unpack_u32(u);
    for (char **var = pli_unpack_texts(u); o->impi_server != NULL && *var != NULL; var++) {
        putenv(*var);
    }
    o->ckpt_dir = pli_unpack_text(u);
    o->ckpt_mark = pli_unpack_text(u);
    o->restart = pli_unpack_text(u);
    o->restart_sum = pli_unpack_u64(u);
    o->gdb = pli_unpack_text(u);
    o->grace = -1;
}

// Most processes that a job can have, with UPC threads that have no rank.
enum { MOST_PROC = 1 << 24 };

// All tasks of the job, to number rows by; then only ours stay, with rows for ranks.
static void read_tasks(struct pli_unpack *u, struct pli_job *job)
{
    job->n_rank = pli_unpack_u32(u);
    uint32_t n = pli_unpack_count(u, 20), n_mine = 0, next = 0, n_extra = 0;
    u->is_bad |= job->n_rank == 0 || job->n_rank > MOST_PROC;
    struct pli_proc_task *all = pli_say_need(calloc((size_t)n + 1, sizeof *all));
    for (uint32_t i = 0; i < n && !u->is_bad; i++) {
        uint32_t app = pli_unpack_u32(u);
        all[i].rank = pli_unpack_u32(u);
        all[i].n = pli_unpack_u32(u);
        all[i].n_extra = pli_unpack_u32(u);
        all[i].host = pli_unpack_u32(u);
        all[i].number = i;
        u->is_bad |= app >= job->n_app || all[i].host >= job->n_host || all[i].rank != next ||
                     all[i].n > job->n_rank - next || all[i].n_extra > MOST_PROC - n_extra;
        all[i].app = &job->apps[u->is_bad ? 0 : app];
        next += u->is_bad ? 0 : all[i].n;
        n_extra += u->is_bad ? 0 : all[i].n_extra;
    }
    u->is_bad |= next != job->n_rank;
    job->n_rank = u->is_bad ? 0 : job->n_rank;
    job->tasks = all;
    job->n_task = u->is_bad ? 0 : n;
    pli_upc_groups_number(job);
    pli_rank_map_number(job);
    for (uint32_t i = 0; i < job->n_task; i++) {
        if (all[i].host == job->here) {
            struct pli_proc_task *t = &all[n_mine++];
            *t = all[i];
            t->extra = t->n_extra > 0 ? job->procs[t->extra_rank].row : 0;
            t->first = t->n > 0 ? job->procs[t->rank].row : t->extra;
            t->watch.fd = t->control.fd = t->out.watch.fd = t->err.watch.fd = -1;
        }
    }
    job->n_task = job->n_first = n_mine;
}

static void read_hosts(struct pli_unpack *u, struct pli_job *job, const char *name)
{
    job->n_host = pli_unpack_count(u, 8);
    job->hosts = pli_say_need(calloc((size_t)job->n_host + PLI_NODE_N_LATE, sizeof *job->hosts));
    for (uint32_t h = 0; h < job->n_host; h++) {
        job->hosts[h].name = pli_unpack_text(u);
        job->hosts[h].is_local = pli_unpack_u32(u) != 0;
        u->is_bad |= job->hosts[h].name == NULL;
        size_t len = strcspn(name, ".");
        if (!u->is_bad && job->here == UINT32_MAX &&
            (strcasecmp(job->hosts[h].name, name) == 0 ||
             (strcspn(job->hosts[h].name, ".") == len &&
              strncasecmp(job->hosts[h].name, name, len) == 0))) {
            job->here = h;
        }
    }
    u->is_bad |= job->here >= job->n_host;
}

static void read_body(struct pli_unpack *u, struct pli_daemon_spec *spec, struct pli_job *job,
                      const char *name)
{
    spec->job_id = pli_unpack_u64(u);
    spec->tree.fan = pli_unpack_u32(u);
    spec->tree.n = pli_unpack_u32(u);
    spec->join_id = pli_unpack_u32(u);
    spec->launcher = pli_unpack_texts(u);
    spec->agent = pli_unpack_text(u);
    job->wdir = pli_unpack_text(u);
    u->is_bad |= spec->tree.fan == 0 || spec->agent == NULL || job->wdir == NULL;
    read_options(u, &job->opt);
    job->n_app = pli_unpack_count(u, 16);
    job->apps = pli_say_need(calloc((size_t)job->n_app + 1, sizeof *job->apps));
    for (uint32_t a = 0; a < job->n_app; a++) {
        read_app(u, &job->apps[a]);
    }
    read_hosts(u, job, name);
    read_tasks(u, job);
}

enum pli_daemon_spec_result pli_daemon_spec_read(struct pli_daemon_spec *spec, int fd,
                                                 uint32_t here, const char *name,
                                                 struct pli_job *job, char **theirs)
{
    char head[sizeof magic];
    uint64_t len;
    if (!read_all(fd, head, sizeof head) || memcmp(head, magic, sizeof magic) != 0 ||
        !read_all(fd, &len, sizeof len) || le64toh(len) > PLI_DLINK_LEN) {
        return PLI_DAEMON_SPEC_BAD;
    }
    len = le64toh(len);
    unsigned char *all = pli_say_need(malloc(len + 1));
    if (!read_all(fd, all, len)) {
        return PLI_DAEMON_SPEC_BAD;
    }
    struct pli_unpack u = { all, all + len, false };
    *theirs = pli_unpack_text(&u);
    uint32_t version = pli_unpack_u32(&u);
    if (*theirs == NULL || strcmp(*theirs, PLIANT_VERSION) != 0 || version != PLI_DLINK_VERSION) {
        return PLI_DAEMON_SPEC_VERSION;
    }
    const void *secret = pli_unpack_bytes(&u, sizeof spec->secret);
    if (secret != NULL) {
        memcpy(spec->secret, secret, sizeof spec->secret);
    }
    pli_daemon_addr_unpack(&spec->place, &u);
    if (u.is_bad) {
        return PLI_DAEMON_SPEC_BAD;
    }
    pli_pack_bytes(&spec->body, u.at, (size_t)(u.end - u.at));
    job->here = here;
    read_body(&u, spec, job, name);
    free(all);
    return u.is_bad ? PLI_DAEMON_SPEC_BAD : PLI_DAEMON_SPEC_GOOD;
}
