// SPDX-License-Identifier: BSD-3-Clause
// Makes the directory of a record, and compares the command of a replay with the recorded one.
#include "launcher/observe/record_dir.h"

#include "launcher/base/say.h"
#include "launcher/job/job.h"
#include "msg/message_log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TITLE "record of Pliant MPI 1\n"

enum { MAX_DESCRIPTION = 1 << 24 }; // bytes: a command line is not longer

static char *full_path(const char *option, const char *dir)
{
    char *path = realpath(dir, NULL);
    struct stat st;
    if (path == NULL) {
        pli_say_bad("%s %s: %s", option, dir, strerror(errno));
    }
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        pli_say_bad("%s %s: this is no directory", option, dir);
    }
    return path;
}

static char *job_file(const char *dir)
{
    char *path;
    int n = asprintf(&path, "%s/job", dir);
    return pli_say_need(n >= 0 ? path : NULL);
}

// A log of messages is of ranks that stay what they are.
static void check_log(const struct pli_job *job, const char *option)
{
    const struct pli_options *opt = &job->opt;
    bool has_upc = job->n_extra > 0;
    for (uint32_t a = 0; a < job->n_app; a++) {
        has_upc = has_upc || job->apps[a].n_upc > 0;
    }
    const char *what = opt->elastic_max > 0                  ? "--elastic"
                       : opt->ckpt_dir != NULL               ? "--checkpoint-dir"
                       : opt->restart != NULL                ? "--restart"
                       : opt->impi_server != NULL            ? "--impi"
                       : opt->joins_world                    ? "--join"
                       : opt->host_world > 0                 ? "--host-world"
                       : has_upc                             ? "UPC threads"
                       : opt->on_failure == PLI_FAIL_SHRINK  ? "--on-failure=shrink"
                       : opt->on_failure == PLI_FAIL_RESPAWN ? "--on-failure=respawn"
                                                             : NULL;
    if (what != NULL) {
        pli_say_bad("%s and %s exclude each other", option, what);
    }
}

static void check_replay_rank(struct pli_job *job)
{
    const struct pli_options *opt = &job->opt;
    if (opt->replay == NULL) {
        pli_say_bad("--replay-rank needs --replay DIR, with a directory of --log-messages");
    }
    check_log(job, "--replay-rank");
    if (opt->replay_rank >= job->n_rank) {
        pli_say_bad("--replay-rank %u: the ranks are 0 to %u", opt->replay_rank, job->n_rank - 1);
    }
    if (job->n_host > 0) {
        pli_say_bad("--replay-rank starts one rank, on this host: leave the hosts out");
    }
}

// The number that the job had is in the names of processes, which messages bear.
static void read_job_number(struct pli_job *job)
{
    struct pli_options *opt = &job->opt;
    struct pli_message_log_file log;
    for (uint32_t i = 0; i < job->n_task; i++) {
        const struct pli_proc_task *t = &job->tasks[i];
        if (pli_job_is_proxy(job, t)) {
            continue;
        }
        char *path;
        int n = asprintf(&path, "%s/messages.%u", opt->replay, pli_task_rank(t));
        if (access(pli_say_need(n >= 0 ? path : NULL), R_OK) != 0) {
            pli_say_bad("--replay-rank %u: %s: %s; messages are written by --log-messages",
                        opt->replay_rank, path, strerror(errno));
        }
        if (pli_message_log_file_open(path, &log) != PLI_OK) {
            pli_say_bad("--replay-rank %u: %s cannot be replayed: %s", opt->replay_rank, path,
                        pli_fail_take(NULL));
        }
        opt->replay_job = log.job;
        pli_message_log_file_close(&log);
        free(path);
    }
}

void pli_record_dir_open(struct pli_job *job)
{
    struct pli_options *opt = &job->opt;
    if (opt->log_messages != NULL) {
        check_log(job, "--log-messages");
        if (opt->record != NULL) {
            pli_say_bad("--log-messages records as --record does: leave --record out");
        }
        opt->record = opt->log_messages;
    }
    if (opt->has_replay_rank) {
        check_replay_rank(job);
    }
    if (opt->record != NULL && opt->replay != NULL) {
        pli_say_bad("--record and --replay together: a replay has the same order as its record, so "
                    "there is nothing to record");
    }
    if (opt->replay != NULL) {
        opt->replay = full_path("--replay", opt->replay);
        char *file = job_file(opt->replay);
        if (access(file, R_OK) != 0) {
            pli_say_bad("--replay %s: there is no record; make one by --record", opt->replay);
        }
        free(file);
    }
    if (opt->record == NULL || opt->is_dry) {
        return;
    }
    const char *option = opt->log_messages != NULL ? "--log-messages" : "--record";
    if (mkdir(opt->record, 0777) != 0 && errno != EEXIST) {
        pli_say_bad("%s %s: the directory cannot be made: %s", option, opt->record,
                    strerror(errno));
    }
    opt->record = full_path(option, opt->record);
    char *file = job_file(opt->record);
    if (access(file, F_OK) == 0) {
        pli_say_bad("%s %s: there is a record already; name another directory, or remove it",
                    option, opt->record);
    }
    free(file);
}

// The command, one line for each part. The program counts by its name, wherever it lies.
static char *describe(const struct pli_job *job)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = pli_say_need(open_memstream(&text, &n));
    if (job->opt.impi_server != NULL || job->opt.joins_world || job->opt.host_world > 0) {
        fputs("(one job of an IMPI world) ", f);
    }
    for (uint32_t a = 0; a < job->n_app; a++) {
        const struct pli_app *app = &job->apps[a];
        const char *slash = strrchr(app->argv[0], '/');
        fprintf(f, "-n %u %s", app->n_rank, slash != NULL ? slash + 1 : app->argv[0]);
        for (char **w = app->argv + 1; *w != NULL; w++) {
            fputc(' ', f);
            for (const char *c = *w; *c != '\0'; c++) {
                *c == '\n' ? fputs("\\n", f) : fputc(*c, f);
            }
        }
        fputc('\n', f);
    }
    fclose(f);
    return pli_say_need(text);
}

static void write_job(const char *path, const char *text)
{
    FILE *f = fopen(path, "wxe");
    bool is_done = f != NULL && fputs(TITLE, f) >= 0 && fputs(text, f) >= 0;
    if (f == NULL || fclose(f) != 0 || !is_done) {
        pli_say_bad("--record: %s cannot be written: %s", path, strerror(errno));
    }
}

static char *read_job(const char *path)
{
    char *text = NULL;
    size_t cap = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would keep us waiting
    bool is_file =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MAX_DESCRIPTION;
    FILE *f = is_file ? fdopen(fd, "r") : NULL;
    ssize_t n = f != NULL ? getdelim(&text, &cap, '\0', f) : -1;
    if (f != NULL) {
        fclose(f);
    } else if (fd >= 0) {
        close(fd);
    }
    if (n < 0 || strncmp(text, TITLE, strlen(TITLE)) != 0) {
        pli_say_bad("--replay: %s is not of a record that this version of Pliant MPI can read",
                    path);
    }
    return text;
}

// Parts of a command, as they are typed.
static void join_lines(char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] != '\n' ? text[i] : i + 1 < n ? ':' : '\0';
    }
}

void pli_record_dir_describe(struct pli_job *job)
{
    const struct pli_options *opt = &job->opt;
    if ((opt->record == NULL && opt->replay == NULL) || opt->is_dry) {
        return;
    }
    if (opt->has_replay_rank) {
        read_job_number(job);
    }
    char *now = describe(job), *path = job_file(opt->record != NULL ? opt->record : opt->replay);
    if (opt->record != NULL) {
        write_job(path, now);
    } else {
        char *then = read_job(path);
        if (strcmp(then + strlen(TITLE), now) != 0) {
            join_lines(then + strlen(TITLE));
            join_lines(now);
            pli_say_bad("--replay: recorded was mpiexec %s, and this is mpiexec %s; a replay needs "
                        "the same ranks, program and arguments",
                        then + strlen(TITLE), now);
        }
        free(then);
    }
    free(path);
    free(now);
}

const char *pli_record_dir_world(const struct pli_job *job)
{
    static char why[PATH_MAX + 160];
    const char *dir = job->opt.record != NULL ? job->opt.record : job->opt.replay;
    uint32_t now = job->node.header->n_joint, then = 0;
    char path[PATH_MAX];
    if (dir == NULL) {
        return NULL;
    }
    if (snprintf(path, sizeof path, "%s/world", dir) >= (int)sizeof path) {
        return "the name of the directory of the record is too long";
    }
    FILE *f = fopen(path, job->opt.record != NULL ? "wxe" : "re");
    bool is_done = f != NULL && (job->opt.record != NULL ? fprintf(f, "%u\n", now) > 0
                                                         : fscanf(f, "%u", &then) == 1);
    is_done = f != NULL && fclose(f) == 0 && is_done;
    if (!is_done) {
        snprintf(why, sizeof why, "%s, the size of the recorded world, cannot be %s", path,
                 job->opt.record != NULL ? "written" : "read");
        return why;
    }
    if (job->opt.replay != NULL && then != now) {
        snprintf(why, sizeof why,
                 "--replay: the recorded world had %u ranks, and this one has %u; a replay needs "
                 "the same jobs",
                 then, now);
        return why;
    }
    return NULL;
}
