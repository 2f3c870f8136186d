// SPDX-License-Identifier: BSD-3-Clause
// Restarts a job after a failure: mpiexec executes itself anew, with --restart: nothing of the job
// that failed is left in it but its process number, so a process that watches it sees one mpiexec,
// and one exit status.
//
// A checkpoint that is made in between is progress, and the count of restarts begins anew. A job
// that dies again and again at the same place makes none there, and ends.
#include "launcher/ckpt/auto_restart.h"

#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/launch.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/base/pidns.h"
#include "launcher/ckpt/restart.h"
#include "launcher/base/say.h"
#include "launcher/base/output.h"
#include "launcher/ranks/failure_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void pli_auto_restart_read(struct pli_auto_restart *a, const char *text)
{
    int end = 0;
    if (sscanf(text, "%u:%u:%u:%u%n", &a->count, &a->last, &a->floor, &a->below, &end) != 4 ||
        text[end] != '\0') {
        pli_say_bad("--auto-restart is how %s tells itself how often it has restarted a job",
                    pli_say_name);
    }
}

void pli_auto_restart_open(struct pli_job *job, const char *to)
{
    struct pli_auto_restart *a = &job->opt.auto_restart;
    snprintf(pli_launcher.ckpt->auto_restart.dir, sizeof pli_launcher.ckpt->auto_restart.dir, "%s",
             to);
    if (a->count == 0) {
        a->floor = a->last = pli_ckpt_last(pli_launcher.ckpt->auto_restart.dir, UINT32_MAX);
    }
}

void pli_auto_restart_note(const struct pli_rank_failure *c, bool is_end)
{
    pli_launcher.ckpt->auto_restart.has_failed =
        pli_launcher.ckpt->auto_restart.has_failed || (is_end && c->fault != PLI_FAULT_ABORT);
}

void pli_auto_restart_unrestored(void)
{
    pli_launcher.ckpt->auto_restart.is_unrestored = true;
}

void pli_auto_restart_lost(void)
{
    pli_launcher.ckpt->auto_restart.has_failed = true;
}

// The hosts that are left, as --hosts has them; NULL: they are those that the job began with.
static char *hosts_left(const struct pli_job *job)
{
    struct pli_pack list = { 0 };
    if (job->n_host == 0) {
        return NULL;
    }
    bool is_other = job->n_host > pli_head_n_first();
    for (uint32_t h = 0; h < job->n_host; h++) {
        const struct pli_host *host = &job->hosts[h];
        bool is_address = strchr(host->name, ':') != NULL;
        char *word = NULL, most[16] = "";
        is_other = is_other || host->is_lost;
        if (host->is_lost) {
            continue;
        }
        if (host->max_slots > 0) {
            snprintf(most, sizeof most, "/%u", host->max_slots);
        }
        pli_say_need(asprintf(&word, "%s%s%s%s:%u%s", list.len > 0 ? "," : "",
                              is_address ? "[" : "", host->name, is_address ? "]" : "",
                              host->slots > 0 ? host->slots : 1, most) > 0
                         ? word
                         : NULL);
        pli_pack_bytes(&list, word, strlen(word));
        free(word);
    }
    pli_pack_bytes(&list, "", 1);
    if (!is_other) {
        pli_pack_fini(&list);
    }
    return (char *)list.data;
}

// How long ago a checkpoint was made, in seconds.
static long age_of(const char *where)
{
    char path[PATH_MAX + 32];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", where, PLI_MANIFEST);
    return stat(path, &st) == 0 ? (long)(time(NULL) - st.st_mtime) : 0;
}

// The words of the next command line: where to go on from, what is to be remembered, and, for a
// checkpoint that was there when this mpiexec began, what was said beside --restart.
static char **words_for(const struct pli_job *job, const char *where,
                        const struct pli_auto_restart *next, uint32_t n_rank, bool is_same)
{
    char again[64], n[16];
    uint32_t n_word = 0, n_typed = 0;
    while (job->typed[n_typed] != NULL) {
        n_typed++;
    }
    char **words = pli_say_need(calloc(n_typed + 10u, sizeof *words)), *hosts = hosts_left(job);
    snprintf(again, sizeof again, "%u:%u:%u:%u", next->count, next->last, next->floor, next->below);
    snprintf(n, sizeof n, "%u", n_rank);
    words[n_word++] = job->typed[0];
    words[n_word++] = "--restart";
    words[n_word++] = pli_say_need(strdup(where));
    words[n_word++] = "--auto-restart";
    words[n_word++] = pli_say_need(strdup(again));
    if (n_rank > 0) {
        words[n_word++] = "-n";
        words[n_word++] = pli_say_need(strdup(n));
    }
    if (hosts != NULL) {
        words[n_word++] = "--hosts";
        words[n_word++] = hosts;
    }
    if (is_same) {
        pli_restart_keep(job->typed, words + n_word);
    }
    if (is_same && hosts != NULL) {
        pli_restart_unplace(words, n_word);
    }
    return words;
}

static void become(struct pli_job *job, char **words)
{
    pli_pidns_close();
    fcntl(job->node_fd, F_SETFD, FD_CLOEXEC);
    pli_launch_undo();
    pli_output_flush();
    execv("/proc/self/exe", words);
    pli_say("the job cannot be restarted: %s", strerror(errno));
}

// Go on from the last checkpoint; returns with a message when that cannot be.
static void run(struct pli_job *job)
{
    char where[PATH_MAX + 16];
    struct pli_auto_restart next = job->opt.auto_restart;
    uint32_t last = pli_ckpt_last(pli_launcher.ckpt->auto_restart.dir, UINT32_MAX), n_rank = 0;
    bool is_own = last > next.floor, is_same = job->from != NULL;
    if (!is_own && job->from == NULL) {
        pli_say("The job is not restarted: no checkpoint of it was made before.");
        return;
    }
    if (is_own) {
        snprintf(where, sizeof where, "%s/%u", pli_launcher.ckpt->auto_restart.dir, last);
        is_same = is_same && strcmp(where, job->from->dir) == 0;
    } else {
        snprintf(where, sizeof where, "%s", job->from->dir);
    }
    if (job->n_host > 0 && pli_hosts_n_left(job) == 0) {
        pli_say("The job is not restarted: no host is left.");
        return;
    }
    next.count = is_own && last > next.last ? 0 : next.count;
    if (next.count >= job->opt.max_restarts) {
        pli_say("The job is not restarted any more: it has failed %u times since %s was made.",
                next.count + 1, where);
        return;
    }
    next.count++;
    next.below = 0;
    next.last = is_own ? last : next.last;
    if (job->opt.is_state) {
        n_rank = job->n_app == 1 ? job->n_rank : 0;
    } else if (is_same) {
        n_rank = job->restart_n;
    }
    pli_say("The job is restarted from %s, made %ld s ago; restart %u of at most %u without a "
            "new checkpoint.",
            where, age_of(where), next.count, job->opt.max_restarts);
    become(job, words_for(job, is_own ? pli_launcher.ckpt->auto_restart.dir : where, &next, n_rank,
                          is_same));
}

void pli_auto_restart_before(struct pli_job *job)
{
    struct pli_auto_restart next = job->opt.auto_restart;
    if (next.count == 0) { // by hand: all that are there are meant
        next.floor = next.last = 0;
    }
    next.below = pli_ckpt_number_of(job->from->dir);
    uint32_t n = job->restart_dir != NULL ? pli_ckpt_last(job->restart_dir, next.below) : 0;
    if (n > next.floor) {
        pli_say("checkpoint %u cannot be restored; the one before it, %u, is tried", next.below, n);
        become(job, words_for(job, job->restart_dir, &next, job->restart_n, true));
    }
}

void pli_auto_restart_run(struct pli_job *job, bool is_ended)
{
    if (is_ended && pli_launcher.ckpt->auto_restart.is_unrestored) {
        pli_auto_restart_before(job);
        pli_output_flush();
        return;
    }
    if (is_ended && pli_launcher.ckpt->auto_restart.has_failed &&
        job->opt.on_failure == PLI_FAIL_RESTART) {
        run(job);
        pli_output_flush();
    }
}
