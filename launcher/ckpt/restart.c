// SPDX-License-Identifier: BSD-3-Clause
// Finds a checkpoint and makes a job of it again.
#include "launcher/ckpt/restart.h"

#include "base/clock.h"
#include "boot/ckpt_wire.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/ckpt/ckpt_node.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/job/binding.h"
#include "launcher/ckpt/restart_trust.h"
#include "launcher/ranks/preempt.h"
#include "launcher/base/say.h"
#include "launcher/job/rank_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char **pli_restart_words(int argc, char **argv)
{
    char **words = pli_say_need(calloc((size_t)argc + 1, sizeof *words));
    memcpy(words, argv, (size_t)argc * sizeof *words);
    return words;
}

// Whether it was a job of several programs.
static bool has_parts(const struct pli_manifest *m)
{
    for (uint32_t i = m->program; i < m->n_arg; i++) {
        if (strcmp(m->argv[i], ":") == 0) {
            return true;
        }
    }
    return false;
}

// The number of ranks that the job begins or goes on with.
static void check_size(const struct pli_job *job)
{
    const struct pli_manifest *m = job->from;
    const struct pli_options *o = &job->opt;
    uint32_t n = m == NULL || m->is_state ? job->n_rank : job->restart_n;
    if (o->elastic_max > 0 && n > 0 && (n < o->elastic_min || n > o->elastic_max)) {
        pli_say_bad(m == NULL ? "-n: %u ranks are outside --elastic %u:%u; say another number, or "
                                "--elastic %u:%u"
                              : "--restart: %u ranks are outside --elastic %u:%u, with which the "
                                "job was started; say --elastic %u:%u too",
                    n, o->elastic_min, o->elastic_max, n < o->elastic_min ? n : o->elastic_min,
                    n > o->elastic_max ? n : o->elastic_max);
    }
    if (job->restart_n > 0 && has_parts(m)) {
        pli_say_bad("--restart -n %u: the checkpoint is of a job of several programs, which keeps "
                    "its number of ranks; leave -n out",
                    job->restart_n);
    }
}

// How many words an option takes that is one of these: 2 or 1, 0: it is none.
static int n_words(const char *word, const char *const *names)
{
    const char *name = word + (word[0] == '-' && word[1] == '-' ? 2 : 1);
    for (size_t i = 0; word[0] == '-' && names[i] != NULL; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(name, names[i], len) == 0 && (name[len] == '\0' || name[len] == '=')) {
            return name[len] == '=' ? 1 : 2;
        }
    }
    return 0;
}

// What is put between a program and MPI is loaded when it starts.
static void say_late(const struct pli_job *job)
{
    const struct pli_options *o = &job->opt;
    const struct {
        const char *name;
        bool is_asked;
    } all[] = {
        { "check", o->check != NULL },   { "record", o->record != NULL },
        { "replay", o->replay != NULL }, { "tool", o->tools != NULL },
        { "gdb", o->gdb != NULL },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *const names[] = { all[i].name, NULL };
        bool had = false;
        for (uint32_t k = 1; k < job->from->program && k < job->from->n_arg; k++) {
            had = had || n_words(job->from->argv[k], names) > 0;
        }
        if (all[i].is_asked && !had) {
            pli_say("--%s has no effect: the ranks of this checkpoint were started without it, and "
                    "go on as they were",
                    all[i].name);
        }
    }
}

// Slurm has started a job once more that was preempted: it goes on from its last checkpoint, of
// which the options and the program are the same.
static void go_on_after_preemption(const struct pli_options *o)
{
    if (o->on_preempt == PLI_PREEMPT_REQUEUE && o->ckpt_dir != NULL && pli_preempt_is_requeued() &&
        pli_ckpt_last(o->ckpt_dir, UINT32_MAX) > 0) {
        char *words[] = { "mpiexec", "--restart", (char *)o->ckpt_dir, NULL };
        execv("/proc/self/exe", words);
        pli_say_bad("mpiexec cannot be restarted: %s", strerror(errno));
    }
}

void pli_restart_check(const struct pli_job *job)
{
    const struct pli_options *o = &job->opt;
    pli_preempt_check(job);
    if (job->from == NULL) {
        go_on_after_preemption(o);
    }
    check_size(job);
    if (pli_restart_is_image(job)) {
        say_late(job);
    }
    if (o->is_movable && (o->bind != NULL || o->impi_server != NULL)) {
        pli_say_bad("--movable and %s exclude each other",
                    o->bind != NULL ? "--bind-to" : "--impi");
    }
    if (o->ckpt_dir == NULL) {
        if (o->ckpt_interval > 0) {
            pli_say_bad("--checkpoint-interval needs --checkpoint-dir DIR too");
        }
        if (o->ckpt_keep > 0) {
            pli_say_bad("--checkpoint-keep needs --checkpoint-dir DIR too");
        }
        if (o->on_failure == PLI_FAIL_RESTART) {
            pli_say_bad("--on-failure=restart needs --checkpoint-dir DIR too");
        }
        return;
    }
    for (uint32_t a = 0; a < job->n_app; a++) {
        if (job->apps[a].ranks_per_proc > 1) {
            pli_say_bad("--checkpoint-dir and --ranks-per-proc exclude each other");
        }
    }
    if (o->impi_server != NULL) {
        pli_say_bad("--checkpoint-dir and --impi exclude each other: connections with other jobs "
                    "cannot be written to a checkpoint");
    }
}

static bool is_checkpoint(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", dir, PLI_MANIFEST);
    return access(path, F_OK) == 0;
}

// Check all that a checkpoint is based on, down to a whole one.
static bool check_bases(const struct pli_manifest *m, char *why)
{
    char folder[PATH_MAX], path[PATH_MAX + 32], what[PLI_CKPT_WHY];
    snprintf(folder, sizeof folder, "%.*s", PATH_MAX - 1, m->dir);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    for (uint32_t base = m->base; base > 0;) {
        struct pli_manifest b;
        snprintf(path, sizeof path, "%s/%u", folder, base);
        if (!pli_restart_trust(path, what) || !pli_manifest_read(path, true, &b, what)) {
            snprintf(why, PLI_CKPT_WHY,
                     "it is based on checkpoint %u, which cannot be used: %.300s", base, what);
            return false;
        }
        bool is_other = b.number != base || b.job != m->job;
        base = b.base;
        pli_manifest_fini(&b);
        if (is_other) {
            snprintf(why, PLI_CKPT_WHY, "it is based on a checkpoint whose place %.300s has taken",
                     path);
            return false;
        }
    }
    return true;
}

// Whether a checkpoint can be used, with all that it is based on.
static bool read_good(const char *dir, struct pli_manifest *m, char *why)
{
    if (!pli_restart_trust(dir, why) || !pli_manifest_read(dir, true, m, why)) {
        return false;
    }
    if (!check_bases(m, why)) {
        pli_manifest_fini(m);
        return false;
    }
    return true;
}

// The newest good checkpoint above floor, and below `below` if that is not 0; a message tells what
// is wrong with newer ones.
static struct pli_manifest *find(const char *dir, uint32_t floor, uint32_t below)
{
    char path[PATH_MAX + 32], why[PLI_CKPT_WHY];
    struct pli_manifest *m = pli_say_need(calloc(1, sizeof *m));
    if (is_checkpoint(dir)) {
        if (!read_good(dir, m, why)) {
            pli_say("the checkpoint cannot be used: %s", why);
            exit(1);
        }
        return m;
    }
    uint32_t n = pli_ckpt_last(dir, below > 0 ? below : UINT32_MAX);
    if (n <= floor) {
        pli_say("there is no checkpoint in %s", dir);
        exit(1);
    }
    for (; n > floor; n = pli_ckpt_last(dir, n)) {
        snprintf(path, sizeof path, "%s/%u", dir, n);
        if (read_good(path, m, why)) {
            return m;
        }
        pli_say("checkpoint %u cannot be used: %s%s", n, why,
                pli_ckpt_last(dir, n) > floor ? "; the one before it is tried" : "");
    }
    pli_say("no checkpoint in %s is good", dir);
    exit(1);
}

// Options of what was said now that are of no use for the job itself, and those of the checkpoint
// that say on which hosts it ran.
static const char *const own[] = { "restart", "n", "np", "ntasks", "c", "auto-restart", NULL };
static const char *const places[] = { "hosts",
                                      "host",
                                      "H",
                                      "hostfile",
                                      "f",
                                      "machinefile",
                                      "ppn",
                                      "perhost",
                                      "npernode",
                                      "N",
                                      "ntasks-per-node",
                                      "default-hostfile",
                                      "machine",
                                      "ghost",
                                      "grr",
                                      NULL };

// All words from the second on, below end, but those options.
static uint32_t copy_without(char *const *words, uint32_t end, const char *const *names, char **to)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < end && words[i] != NULL;) {
        int skip = n_words(words[i], names);
        if (skip == 0) {
            to[n++] = words[i++];
        }
        while (skip-- > 0 && i < end && words[i] != NULL) {
            i++;
        }
    }
    return n;
}

uint32_t pli_restart_keep(char *const *words, char **to)
{
    return copy_without(words, UINT32_MAX, own, to);
}

void pli_restart_unplace(char **words, uint32_t first)
{
    words += first - 1; // the first word is not looked at
    words[1 + copy_without(words, UINT32_MAX, places, words + 1)] = NULL;
}

// Whether the user says where the job is to run now.
static bool has_places(char *const *words)
{
    for (int i = 1; words[i] != NULL; i++) {
        if (n_words(words[i], places) > 0) {
            return true;
        }
    }
    return false;
}

char **pli_restart_find(struct pli_job *job, int *argc, char **argv)
{
    char dir[PATH_MAX];
    if (job->n_app > 1 || job->apps[0].argv[0] != NULL) {
        pli_say_bad("--restart takes no program: the checkpoint knows it");
    }
    if (realpath(job->opt.restart, dir) == NULL) {
        pli_say_bad("--restart %s: %s", job->opt.restart, strerror(errno));
    }
    struct pli_auto_restart told = job->opt.auto_restart;
    struct pli_manifest *m = find(dir, told.floor, told.below);
    uint32_t n_rank = job->apps[0].n_rank, n = 0;
    char **words = pli_say_need(calloc((size_t)*argc + m->n_arg + 3, sizeof *words));
    static const char *const none[] = { NULL };
    words[n++] = m->argv[0];
    n += copy_without(m->argv, m->program < m->n_arg ? m->program : m->n_arg,
                      has_places(argv) ? places : none, words + n);
    n += pli_restart_keep(argv, words + n);
    // From registered state the job begins anew, with any number of ranks; in images there are as
    // many as there were, whatever the hosts of now would take.
    if (m->is_state || (m->n_host > 0 && !has_parts(m))) {
        uint32_t now = m->is_state && n_rank > 0 ? n_rank : m->n_rank;
        words[n++] = "-n";
        pli_say_need(asprintf(&words[n++], "%u", now) > 0 ? words : NULL);
        n_rank = m->is_state ? 0 : n_rank;
    }
    for (uint32_t i = m->program; i < m->n_arg; i++) {
        words[n++] = m->argv[i];
    }
    if (m->cwd != NULL && chdir(m->cwd) != 0) {
        pli_say("the job ran in %s, which cannot be entered: %s", m->cwd, strerror(errno));
    }
    uint64_t start = job->start_ns;
    *job = (struct pli_job){ .start_ns = start, .from = m, .restart_n = n_rank };
    job->restart_dir = strcmp(m->dir, dir) != 0 ? pli_say_need(strdup(dir)) : NULL;
    job->opt.restart = m->dir;
    job->opt.auto_restart = told;
    *argc = (int)n;
    return words;
}

bool pli_restart_is_image(const struct pli_job *job)
{
    return job->from != NULL && !job->from->is_state;
}

bool pli_restart_node(struct pli_job *job)
{
    const struct pli_manifest *m = job->from;
    char path[PATH_MAX + 16], why[PLI_CKPT_WHY];
    snprintf(path, sizeof path, "%s/node.img", m->dir);
    int fd = memfd_create("pliant", 0);
    if (fd < 0 || !pli_ckpt_node_read(fd, path, why)) {
        pli_say("the job cannot be restarted: %s", fd < 0 ? strerror(errno) : why);
        return false;
    }
    if (pli_node_map(fd, &job->node) != PLI_OK) {
        pli_say("the job cannot be restarted: %s", pli_fail_take(NULL));
        return false;
    }
    struct pli_node_header *h = job->node.header;
    if (pli_on_failure_is_survived(job) && (h->mode & PLI_NODE_SURVIVES) == 0) {
        pli_say("the job cannot be restarted with --on-failure=%s: it was started without it, and "
                "its ranks do not watch each other; leave it out",
                job->opt.on_failure == PLI_FAIL_SHRINK ? "shrink" : "respawn");
        return false;
    }
    job->node_fd = fd;
    h->launcher = (uint32_t)getpid();
    h->memory = (uint32_t)fd;
    h->epoch_ns += pli_clock_ns() - m->clock_ns; // clocks go on where they stopped
    gethostname(h->host, sizeof h->host - 1);
    pli_node_restart_cores(h, pli_binding_n_core(job));
    job->round = (uint32_t)atomic_exchange(&h->freeze, 0);
    if (!job->opt.takes_moved) { // else no process is restarted
        pli_node_save(h)->error = 0;
        pli_node_save(h)->number = m->number;
        atomic_fetch_add(&pli_node_save(h)->generation, 1);
        atomic_store(&pli_node_save(h)->n_done, atomic_load(&pli_node_save(h)->n_begun));
    }
    return job->is_daemon || (h->net & PLI_NODE_HAS_NET) == 0 || pli_listener_again(&job->node);
}

void pli_restart_spread(struct pli_job *job)
{
    const struct pli_manifest *m = job->from;
    uint32_t n = job->n_host;
    struct pli_host here = { .name = "localhost", .is_local = true }, *now = job->hosts;
    if (m->n_host == 0) {
        pli_rank_map_tasks(job);
        if (job->n_host > 0) {
            pli_say_bad("the checkpoint is of a job on one host, and is restarted where mpiexec "
                        "runs: start it there, without --hosts");
        }
        return;
    }
    if (n == 0) {
        now = &here;
        n = 1;
    }
    struct pli_host *hosts = pli_say_need(calloc(m->n_host, sizeof *hosts));
    for (uint32_t h = 0; h < m->n_host; h++) {
        uint32_t first = m->n_host - m->n_joined;
        bool is_own = h >= first && !has_places(job->typed); // where it joined from
        hosts[h] = (struct pli_host){ .name = now[h % n].name, .is_local = now[h % n].is_local };
        if (is_own) {
            hosts[h].name = m->joined[h - first];
            hosts[h].is_local = pli_hosts_is_this(hosts[h].name);
        }
        hosts[h].is_lost = m->clocks[h] == 0;
    }
    bool is_good = m->n_spread == job->n_task;
    for (uint32_t i = 0; is_good && i < job->n_task; i++) {
        is_good = m->spread[i] < m->n_host;
        job->tasks[i].host = is_good ? m->spread[i] : 0;
        hosts[job->tasks[i].host].n_task++;
        hosts[job->tasks[i].host].n_rank += job->tasks[i].n;
    }
    if (!is_good) {
        pli_say_bad("the checkpoint is of another number of processes than its command line says");
    }
    job->hosts = hosts;
    job->n_host = m->n_host;
}

void pli_restart_take(struct pli_job *job)
{
    struct pli_manifest *m = pli_say_need(calloc(1, sizeof *m));
    char why[PLI_CKPT_WHY];
    if (job->opt.restart == NULL) {
        return;
    }
    if (!pli_manifest_read(job->opt.restart, false, m, why)) {
        pli_say_bad("the checkpoint cannot be used: %s", why);
    }
    if (m->is_state) {
        return;
    }
    if (job->here >= m->n_host) {
        pli_say_bad("the checkpoint knows no host %u", job->here);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_task; i++) {
        if (m->tasks[i].host == job->here) {
            m->tasks[n++] = m->tasks[i];
        }
    }
    m->n_task = n;
    m->clock_ns = m->clocks[job->here];
    snprintf(m->dir, sizeof m->dir, "%.*s/host.%u", PATH_MAX - 32, job->opt.restart, job->here);
    job->from = m;
}
