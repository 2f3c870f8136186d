// SPDX-License-Identifier: BSD-3-Clause
// Starts processes that a rank asked for, in rows behind those of the command line. Rows are used
// in turn, and again when all of a world have ended and nobody can look at what they left.
#include "spawn.h"

#include "boot/ask_wire.h"
#include "environment.h"
#include "guest.h"
#include "job.h"
#include "launch.h"
#include "net/shm/shm_wire.h"
#include "say.h"
#include "stream.h"
#include "warden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The program of several tasks, and the request it came from, to which its strings belong.
struct crew {
    struct pli_app app; // first: tasks point to it
    uint32_t n_user;
    char *text;
    bool is_borrowed; // all is the command line's
};

static uint32_t next; // number of the next process, counted from the first that was spawned
static struct {       // of each row behind the first ones
    bool is_taken;    // by a task that is not forgotten
    bool is_dirty;    // its memory was used
} rows[PLI_NODE_N_MORE];

static void __attribute__((format(printf, 3, 4)))
refuse(struct pli_answer *a, int error, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->text, sizeof a->text, fmt, args);
    va_end(args);
    a->error = error;
}

// Nothing that the row's process sent waits to be read.
static bool is_read(const struct pli_node *node, uint32_t row)
{
    static const struct {
        uint32_t size, n;
    } classes[PLI_SHM_N_CLASS] = PLI_SHM_CLASSES;
    uint32_t n_lane = atomic_load_explicit(&node->rows[row].n_lane, memory_order_acquire);
    for (uint32_t lane = 0; lane < n_lane && lane < PLI_NODE_N_LANE; lane++) {
        const char *at = pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE + PLI_SHM_OUTBOX;
        for (int k = 0; k < PLI_SHM_N_CLASS; k++) {
            for (uint32_t i = 0; i < classes[k].n; i++) {
                if (atomic_load(&((const struct pli_shm_block *)at)->is_busy) != 0) {
                    return false;
                }
                at += sizeof(struct pli_shm_block) + classes[k].size;
            }
        }
    }
    return true;
}

// Whether all processes of the world of this row are gone.
static bool is_world_over(const struct pli_node *node, uint32_t row)
{
    const struct pli_node_row *r = &node->rows[row];
    if (r->version > 0) {
        return r->has_ended != 0; // its world is the job's, and goes on without it
    }
    for (uint32_t i = 0; i < r->n_world; i++) {
        uint32_t other = pli_node_row_of(node, r->world + i);
        if (other != UINT32_MAX && !node->rows[other].has_ended) {
            return false;
        }
    }
    return true;
}

static void punch(const struct pli_job *job, uint32_t row)
{
    const struct pli_node_header *h = job->node.header;
    if (fallocate(job->node_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)(h->areas + row * h->area_size), (off_t)h->area_size) != 0) {
        memset(pli_node_area(&job->node, row), 0, h->area_size);
    }
}

// Give back the memory of those who are gone and whom nobody remembers.
static void tidy(const struct pli_job *job)
{
    const struct pli_node *node = &job->node;
    for (uint32_t row = node->header->n_row; row < pli_node_n_used(node); row++) {
        uint32_t i = row - node->header->n_row;
        if (rows[i].is_dirty && !rows[i].is_taken && node->rows[row].n_held == 0 &&
            atomic_load(&node->rows[row].failure) == 0 && is_world_over(node, row) &&
            is_read(node, row)) {
            punch(job, row);
            rows[i].is_dirty = false;
        }
    }
}

// The first of n consecutive numbers whose rows are free, UINT32_MAX: there are not so many.
// is_pressed: rows of those who are gone will do, though somebody has not let go of them.
static uint32_t find_run(const struct pli_node *node, uint32_t n, bool is_pressed)
{
    uint32_t n_more = node->header->n_more, first = next;
    for (uint32_t k = next; k < next + n_more + n; k++) {
        uint32_t i = k % n_more, row = node->header->n_row + i;
        bool is_free =
            !rows[i].is_taken &&
            (!rows[i].is_dirty || (is_pressed && atomic_load(&node->rows[row].failure) == 0 &&
                                   is_world_over(node, row) && is_read(node, row)));
        first = is_free ? first : k + 1;
        if (k + 1 - first == n) {
            return first;
        }
    }
    return UINT32_MAX;
}

static bool take_rows(const struct pli_job *job, uint32_t n, uint32_t *first_out,
                      struct pli_answer *a)
{
    struct pli_node_header *h = job->node.header;
    if (n > h->n_more) {
        refuse(a, ENOSPC, "%u processes at a time are more than the %u there is room for", n,
               h->n_more);
        return false;
    }
    tidy(job);
    uint32_t first = find_run(&job->node, n, false);
    first = first == UINT32_MAX ? find_run(&job->node, n, true) : first;
    if (first == UINT32_MAX) {
        refuse(a, ENOSPC,
               "there is room for %u spawned processes at a time, and too many are running or "
               "left messages that nobody has received",
               h->n_more);
        return false;
    }
    if (h->n_world + first + n > PLI_NODE_MAX_INDEX) {
        refuse(a, ENOSPC, "the job has had %u processes, and there are no numbers for more",
               h->n_world + first);
        return false;
    }
    next = first + n;
    *first_out = first;
    return true;
}

static void fill_row(struct pli_job *job, uint32_t row, const struct pli_node_row *as)
{
    struct pli_node_header *h = job->node.header;
    uint32_t i = row - h->n_row;
    if (rows[i].is_dirty) {
        punch(job, row);
    }
    rows[i].is_taken = rows[i].is_dirty = true;
    memset(&job->node.rows[row], 0, sizeof job->node.rows[row]);
    memcpy(&job->node.rows[row], as, sizeof *as);
    job->node.procs[h->n_world + i] = (struct pli_node_proc){ .host = h->host_index, .row = row };
    if (row >= atomic_load_explicit(&h->n_used, memory_order_relaxed)) {
        atomic_store_explicit(&h->n_used, row + 1, memory_order_release);
    }
}

// The environment of the command line's programs with the part's own settings.
static bool make_env(const struct pli_job *job, struct pli_app *app, char **own, uint32_t n_own)
{
    static struct pli_app plain;
    if (plain.env == NULL) {
        pli_environment_make(job, &plain);
    }
    int n_all = 0, n = 0;
    while (plain.env[n_all] != NULL) {
        n_all++;
    }
    app->env = calloc((size_t)n_all + n_own + 1, sizeof *app->env);
    if (app->env == NULL) {
        return false;
    }
    for (int i = 0; i < plain.env_own; i++) {
        bool is_set = false;
        for (uint32_t k = 0; k < n_own; k++) {
            size_t len = strcspn(own[k], "=") + 1;
            is_set = is_set || strncmp(own[k], plain.env[i], len) == 0;
        }
        if (!is_set) {
            app->env[n++] = plain.env[i];
        }
    }
    memcpy(app->env + n, own, n_own * sizeof *own);
    n += (int)n_own;
    app->env_own = n;
    memcpy(app->env + n, plain.env + plain.env_own, (size_t)(n_all - plain.env_own) * sizeof *own);
    return true;
}

static void release(struct crew *c)
{
    if (c != NULL && --c->n_user == 0) {
        if (!c->is_borrowed) {
            free(c->app.argv);
            free(c->app.env);
        }
        free(c->text);
        free(c);
    }
}

// A part of the request; *at moves behind it. NULL: it is not complete, or there is no memory.
static struct crew *read_part(const struct pli_job *job, const char **at, const char *end,
                              struct pli_answer *a)
{
    struct pli_ask_part p;
    if ((size_t)(end - *at) < sizeof p) {
        refuse(a, EINVAL, "the request is cut short");
        return NULL;
    }
    memcpy(&p, *at, sizeof p);
    *at += sizeof p;
    uint64_t n = (uint64_t)p.n_arg + p.n_env + 2;
    struct crew *c = calloc(1, sizeof *c);
    if (c == NULL || p.len > (size_t)(end - *at) || p.n_arg == 0 || n > p.len) {
        refuse(a, EINVAL, "the request is cut short");
        free(c);
        return NULL;
    }
    c->n_user = 1;
    c->text = malloc(p.len + 1u);
    c->app.argv = calloc(n + 1, sizeof *c->app.argv); // file, directory, arguments, settings
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
        c->app.path = words[0];
        c->app.wdir = words[1][0] != '\0' ? words[1] : NULL;
        c->app.n_rank = p.n;
        c->app.ranks_per_proc = 1;
        is_good = make_env(job, &c->app, words + 2 + p.n_arg, p.n_env);
        memmove(words, words + 2, p.n_arg * sizeof *words);
        words[p.n_arg] = NULL;
    }
    if (!is_good) {
        refuse(a, ENOMEM, "the request is cut short, or mpiexec has no memory for it");
        release(c);
        return NULL;
    }
    return c;
}

static struct pli_task *make_task(const struct pli_job *job, struct crew *c, uint32_t row)
{
    struct pli_task *t = calloc(1, sizeof *t);
    if (t != NULL) {
        t->watch.fd = t->control.fd = t->out.watch.fd = t->err.watch.fd = -1;
        t->is_spawned = true;
        t->app = &c->app;
        t->first = row;
        t->n = 1;
        t->rank = job->node.rows[row].index - job->node.rows[row].world;
        c->n_user++;
    }
    return t;
}

static uint32_t row_at(const struct pli_job *job, uint32_t index)
{
    const struct pli_node_header *h = job->node.header;
    return h->n_row + (index - h->n_world) % h->n_more;
}

// Start the processes of one part, the first of which has this index; how many were started.
static uint32_t start_part(struct pli_job *job, struct crew *c, uint32_t index,
                           struct pli_answer *a)
{
    uint32_t n = 0;
    for (; n < c->app.n_rank; n++) {
        char why[PLI_LAUNCH_WHY] = "mpiexec has no memory for a process";
        struct pli_task *t = make_task(job, c, row_at(job, index + n));
        if (t == NULL || !pli_warden_add(t, why)) {
            refuse(a, EAGAIN, "%s", why);
            if (t != NULL) {
                free(t);
                c->n_user--;
            }
            break;
        }
    }
    return n;
}

// What has been started of the request, n of n_all, is taken back.
static void undo(struct pli_job *job, uint32_t world, uint32_t n, uint32_t n_all)
{
    for (uint32_t i = n; i < n_all; i++) {
        uint32_t row = row_at(job, world + i);
        rows[row - job->node.header->n_row].is_taken = false;
        job->node.rows[row].has_ended = 1;
    }
    for (struct pli_task *t = job->spawned; t != NULL; t = t->next) {
        uint32_t index = job->node.rows[t->first].index;
        if (index >= world && index - world < n) {
            pli_warden_drop(t);
        }
    }
}

static struct pli_task *task_of(const struct pli_job *job, uint32_t row)
{
    struct pli_task *t = pli_job_next(job, NULL);
    while (t != NULL && (t->is_over || !pli_task_has(t, row))) {
        t = pli_job_next(job, t);
    }
    return t;
}

void pli_spawn_undo(struct pli_job *job, uint32_t first, uint32_t n)
{
    undo(job, first, n, n);
    for (uint32_t i = 0; i < n; i++) { // clones that never came
        uint32_t row = row_at(job, first + i);
        if (task_of(job, row) == NULL) {
            rows[row - job->node.header->n_row].is_taken = false;
            job->node.rows[row].has_ended = 1;
        }
    }
}

static uint64_t inode_of(const struct pli_stream *s)
{
    struct stat st;
    return s->watch.fd >= 0 && fstat(s->watch.fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void pli_spawn_reserve(struct pli_job *job, const uint32_t *parents, uint32_t n, uint32_t rank,
                       uint32_t version, struct pli_answer *a)
{
    uint32_t first;
    if (!take_rows(job, n, &first, a)) {
        return;
    }
    uint32_t world = job->node.header->n_world + first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = pli_node_row_of(&job->node, parents[i]);
        const struct pli_task *t = from != UINT32_MAX ? task_of(job, from) : NULL;
        struct pli_node_row as = { .index = world + i,
                                   .world = world - rank, // so that the first has this rank
                                   .n_world = rank + n,
                                   .n_app = n,
                                   .version = version,
                                   .parent = parents[i] };
        if (t != NULL) {
            as.app = job->node.rows[from].app;
            as.out = inode_of(&t->out);
            as.err = inode_of(&t->err);
        }
        fill_row(job, row_at(job, as.index), &as);
    }
    a->first = world;
    a->n = n;
}

bool pli_spawn_clone(struct pli_job *job, const struct pli_task *from, uint32_t row, pid_t pid,
                     const int fds[3])
{
    struct crew *c = calloc(1, sizeof *c);
    int yes = 1, pidfd = pid > 0 && fds[2] >= 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (c == NULL || pidfd < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(fds[2], F_SETFL, O_NONBLOCK) != 0 ||
        setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
        free(c);
        if (pidfd >= 0) {
            close(pidfd);
        }
        return false;
    }
    c->app = *from->app; // its strings stay the command line's
    c->app.n_rank = 1;
    c->is_borrowed = true;
    c->n_user = 1;
    struct pli_task *t = make_task(job, c, row);
    if (t != NULL) {
        t->place = from->place;
        t->pid = pid;
        t->watch.fd = pidfd;
        t->control.fd = fds[0];
        pli_launch_watch(job, t, fds[1], fds[2]);
        t->job = job;
        pli_warden_adopt(t);
        if (pli_warden_is_ending()) {
            pli_warden_drop(t); // too late
        }
    } else {
        close(pidfd);
    }
    release(c);
    return t != NULL;
}

void pli_spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                     struct pli_answer *a)
{
    struct crew *c = calloc(1, sizeof *c);
    uint32_t first;
    if (c == NULL) {
        refuse(a, ENOMEM, "mpiexec has no memory for it");
        return;
    }
    c->app = job->apps[0]; // its strings stay the command line's
    c->app.n_rank = n;
    c->n_user = 1;
    c->is_borrowed = true;
    if (take_rows(job, n, &first, a)) {
        uint32_t world = job->node.header->n_world + first;
        struct pli_node_row as = { .index = world,
                                   .world = world - rank, // so that the first has this rank
                                   .n_world = rank + n,
                                   .n_app = n,
                                   .version = version };
        for (uint32_t i = 0; i < n; i++, as.index++) {
            fill_row(job, row_at(job, as.index), &as);
        }
        uint32_t done = start_part(job, c, world, a);
        if (a->error != 0) {
            undo(job, world, done, n);
        }
        a->first = world;
        a->n = n;
    }
    release(c);
}

uint32_t pli_spawn_count(void)
{
    return next;
}

void pli_spawn_restore(const struct pli_job *job, uint32_t count)
{
    next = count;
    for (uint32_t row = job->node.header->n_row; row < pli_node_n_used(&job->node); row++) {
        rows[row - job->node.header->n_row].is_dirty = true;
    }
}

struct pli_task *pli_spawn_adopt(struct pli_job *job, uint32_t row)
{
    struct crew *c = pli_say_need(calloc(1, sizeof *c));
    uint32_t i = row - job->node.header->n_row;
    c->app = job->apps[0];
    c->app.n_rank = 1;
    c->is_borrowed = true;
    struct pli_task *t = pli_say_need(make_task(job, c, row));
    rows[i].is_taken = rows[i].is_dirty = true;
    t->job = job;
    t->next = job->spawned;
    job->spawned = t;
    return t;
}

static void start_all(struct pli_job *job, struct crew **crews, const struct pli_ask_spawn *ask,
                      uint32_t n_all, struct pli_answer *a)
{
    uint32_t first, done = 0;
    if (!take_rows(job, n_all, &first, a)) {
        return;
    }
    uint32_t world = job->node.header->n_world + first;
    struct pli_node_row as = { .index = world,
                               .world = world,
                               .n_world = n_all,
                               .parent = ask->parent,
                               .parent_ep = ask->parent_ep,
                               .parent_context = ask->context };
    // All rows before the first process: it may look at those of the others.
    for (uint32_t i = 0; i < ask->n_part; i++) {
        as.app = i;
        as.n_app = crews[i]->app.n_rank;
        for (uint32_t k = 0; k < as.n_app; k++, as.index++) {
            fill_row(job, row_at(job, as.index), &as);
        }
    }
    for (uint32_t i = 0; i < ask->n_part && a->error == 0; i++) {
        a->part = i;
        done += start_part(job, crews[i], world + done, a);
    }
    if (a->error != 0) {
        undo(job, world, done, n_all);
        return;
    }
    a->first = world;
    a->n = n_all;
}

void pli_spawn(struct pli_job *job, const char *body, size_t len, struct pli_answer *a)
{
    if (job->n_host > 0 || job->is_daemon) {
        refuse(a, ENOTSUP, "a job on several hosts cannot start more processes yet");
        return;
    }
    struct pli_ask_spawn ask;
    const char *at = body + sizeof ask, *end = body + len;
    if (len < sizeof ask) {
        refuse(a, EINVAL, "the request is cut short");
        return;
    }
    memcpy(&ask, body, sizeof ask);
    struct crew **crews = ask.n_part <= len ? calloc(ask.n_part + 1u, sizeof(struct crew *)) : NULL;
    uint64_t n_all = 0;
    if (crews == NULL) {
        refuse(a, ENOMEM, "mpiexec has no memory for the request");
        return;
    }
    for (uint32_t i = 0; i < ask.n_part && a->error == 0; i++) {
        crews[i] = read_part(job, &at, end, a);
        n_all += crews[i] != NULL ? crews[i]->app.n_rank : 0;
    }
    if (a->error == 0 && n_all > 0) {
        start_all(job, crews, &ask, n_all < UINT32_MAX ? (uint32_t)n_all : UINT32_MAX, a);
    }
    for (uint32_t i = 0; i < ask.n_part; i++) {
        release(crews[i]);
    }
    free(crews);
}

void pli_spawn_sweep(struct pli_job *job)
{
    struct pli_task **at = &job->spawned;
    while (*at != NULL) {
        struct pli_task *t = *at;
        if (!t->is_over || !pli_stream_forget(&t->out) || !pli_stream_forget(&t->err)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        rows[t->first - job->node.header->n_row].is_taken = false;
        pli_guest_forget(t);
        release((struct crew *)t->app);
        free(t);
    }
}
