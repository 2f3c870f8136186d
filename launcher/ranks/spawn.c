// SPDX-License-Identifier: BSD-3-Clause
// Starts processes that a rank asked for, on this host.
#include "launcher/ranks/spawn.h"

#include "launcher/job/role.h"
#include "launcher/job/host_names.h"
#include "boot/launcher_wire.h"
#include "launcher/job/programs.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/control_msgs.h"
#include "launcher/job/job.h"
#include "launcher/ranks/launch.h"
#include "launcher/base/refuse.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/base/output_lines.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void pli_spawn_fill(struct pli_job *job, const struct pli_programs_list *l, uint32_t first,
                    const uint32_t *hosts)
{
    struct pli_node_row as = { .index = first,
                               .world = first - l->rank,
                               .n_world = l->rank + l->n_all,
                               .version = l->version,
                               .parent = l->ask.parent,
                               .parent_ep = l->ask.parent_ep,
                               .parent_context = l->ask.context };
    for (uint32_t i = 0; i < l->ask.n_part; i++) {
        as.app = i;
        as.n_app = l->programs[i]->app.n_rank;
        for (uint32_t k = 0; k < as.n_app; k++, as.index++) {
            uint32_t host = hosts != NULL ? hosts[as.index - first] : job->node.header->host_index;
            pli_rank_rows_fill(job, host, &as);
        }
    }
}

static bool is_here(const struct pli_job *job, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(&job->node, index);
    return p != NULL && p->host == job->node.header->host_index;
}

static bool start_one(struct pli_job *job, struct pli_programs *c, uint32_t index,
                      struct pli_answer *a)
{
    char why[PLI_LAUNCH_WHY] = "mpiexec has no memory for a process";
    struct pli_proc_task *t = pli_programs_task(job, c, pli_rank_rows_at(job, index));
    if (t != NULL && pli_supervisor_add(t, why)) {
        return true;
    }
    pli_refuse(a, EAGAIN, "%s", why);
    if (t != NULL) {
        free(t);
        c->n_user--;
    }
    return false;
}

bool pli_spawn_start(struct pli_job *job, const struct pli_programs_list *l, uint32_t first,
                     struct pli_answer *a)
{
    uint32_t index = first;
    for (uint32_t i = 0; i < l->ask.n_part && a->error == 0; i++) {
        a->part = i;
        for (uint32_t k = 0; k < l->programs[i]->app.n_rank && a->error == 0; k++) {
            index += !is_here(job, index) || start_one(job, l->programs[i], index, a);
        }
    }
    for (uint32_t k = index; k < first + l->n_all && a->error != 0; k++) {
        if (is_here(job, k)) {
            pli_rank_rows_cancel(job, pli_rank_rows_at(job, k));
        }
    }
    if (a->error != 0) {
        pli_spawn_drop(job, first, index - first);
    }
    return a->error == 0;
}

void pli_spawn_drop(struct pli_job *job, uint32_t first, uint32_t n)
{
    for (struct pli_proc_task *t = job->spawned; t != NULL; t = t->next) {
        if (job->node.rows[t->first].index - first < n) {
            pli_supervisor_drop(t);
        }
    }
}

static struct pli_proc_task *task_of(const struct pli_job *job, uint32_t row)
{
    struct pli_proc_task *t = pli_job_next(job, NULL);
    while (t != NULL && (t->is_over || !pli_task_has(t, row))) {
        t = pli_job_next(job, t);
    }
    return t;
}

void pli_spawn_undo(struct pli_job *job, uint32_t first, uint32_t n)
{
    pli_spawn_drop(job, first, n);
    for (uint32_t i = 0; i < n; i++) { // clones that never came
        uint32_t row = pli_rank_rows_at(job, first + i);
        if (task_of(job, row) == NULL) {
            pli_rank_rows_cancel(job, row);
        }
    }
}

static uint64_t inode_of(const struct pli_output_lines *s)
{
    struct stat st;
    return s->watch.fd >= 0 && fstat(s->watch.fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void pli_spawn_expect(struct pli_job *job, uint32_t first, const uint32_t *parents, uint32_t n,
                      const uint32_t *hosts, const struct pli_programs_list *l)
{
    uint32_t rank = l->rank;
    for (uint32_t i = 0; i < n; i++) {
        const struct pli_node_proc *p = pli_node_find(&job->node, parents[i]);
        uint32_t host = p != NULL ? p->host : job->node.header->host_index;
        bool is_mine = pli_launcher.role->watches_host(job, host);
        uint32_t from = is_mine ? pli_node_row_of(&job->node, parents[i]) : UINT32_MAX;
        const struct pli_proc_task *t = from != UINT32_MAX ? task_of(job, from) : NULL;
        struct pli_node_row as = { .index = first + i,
                                   .world = first - rank, // so that the first has this rank
                                   .n_world = rank + n,
                                   .n_app = n,
                                   .version = l->version,
                                   .parent = parents[i] };
        if (t != NULL) {
            as.app = job->node.rows[from].app;
            as.out = inode_of(&t->out);
            as.err = inode_of(&t->err);
        }
        pli_rank_rows_fill(job, hosts != NULL ? hosts[i] : host, &as);
    }
}

void pli_spawn_reserve(struct pli_job *job, const uint32_t *parents, uint32_t n, uint32_t rank,
                       uint32_t version, struct pli_answer *a)
{
    if (pli_rank_rows_take(job, n, &a->first, a)) {
        pli_spawn_expect(job, a->first, parents, n, NULL,
                         &(struct pli_programs_list){ .rank = rank, .version = version });
        a->n = n;
    }
}

bool pli_spawn_clone(struct pli_job *job, const struct pli_proc_task *from, uint32_t row, pid_t pid,
                     const int fds[4])
{
    struct pli_programs *c = pli_programs_borrow(from->app, 1);
    int yes = 1, pidfd = pid > 0 && fds[2] >= 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (c == NULL || pidfd < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(fds[2], F_SETFL, O_NONBLOCK) != 0 ||
        setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
        pli_programs_release(c);
        if (pidfd >= 0) {
            close(pidfd);
        }
        return false;
    }
    struct pli_proc_task *t = pli_programs_task(job, c, row);
    if (t != NULL) {
        t->place = from->place;
        t->pid = pid;
        t->watch.fd = pidfd;
        t->control.fd = fds[0];
        pli_launch_watch(job, t, fds[1], fds[2]);
        pli_listener_set(row, fds[3]);
        t->job = job;
        pli_supervisor_adopt(t);
        if (pli_supervisor_is_ending()) {
            pli_supervisor_drop(t); // too late
        }
    } else {
        close(pidfd);
    }
    pli_programs_release(c);
    return t != NULL;
}

// Rows for all, then the processes: the first may look at the rows of the others.
static void start_all(struct pli_job *job, const struct pli_programs_list *l, struct pli_answer *a)
{
    uint32_t first;
    if (!pli_rank_rows_take(job, l->n_all, &first, a)) {
        return;
    }
    pli_spawn_fill(job, l, first, NULL);
    if (pli_spawn_start(job, l, first, a)) {
        a->first = first;
        a->n = l->n_all;
    }
}

void pli_spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                     struct pli_answer *a)
{
    struct pli_programs_list l;
    if (!pli_programs_ranks(job, n, rank, version, &l)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
    } else {
        start_all(job, &l, a);
    }
    pli_programs_list_fini(&l);
}

void pli_spawn(struct pli_job *job, const char *body, size_t len, struct pli_answer *a)
{
    struct pli_programs_list l;
    bool is_read = pli_programs_read(job, body, len, &l, a);
    for (uint32_t i = 0; is_read && i < l.ask.n_part && a->error == 0; i++) {
        a->part = i;
        pli_host_names_are_here(l.programs[i]->hosts, a);
        pli_host_names_are_here(l.programs[i]->add, a);
    }
    if (a->error == 0 && l.n_all > 0) {
        start_all(job, &l, a);
    }
    pli_programs_list_fini(&l);
}

struct pli_proc_task *pli_spawn_adopt(struct pli_job *job, uint32_t row)
{
    struct pli_programs *c = pli_say_need(pli_programs_borrow(&job->apps[0], 1));
    struct pli_proc_task *t = pli_say_need(pli_programs_task(job, c, row));
    pli_rank_rows_adopt(job, row);
    pli_programs_release(c);
    t->job = job;
    t->next = job->spawned;
    job->spawned = t;
    return t;
}

void pli_spawn_sweep(struct pli_job *job)
{
    struct pli_proc_task **at = &job->spawned;
    while (*at != NULL) {
        struct pli_proc_task *t = *at;
        if (!t->is_over || !pli_output_lines_forget(&t->out) || !pli_output_lines_forget(&t->err)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        pli_rank_rows_release(job, t->first);
        pli_control_msgs_forget(t);
        pli_programs_release((struct pli_programs *)t->app);
        free(t);
    }
}
