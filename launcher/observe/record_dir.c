// SPDX-License-Identifier: BSD-3-Clause
// Makes the directory of a record, and compares the command of a replay with the recorded one.
#include "launcher/observe/record_dir.h"

#include "launcher/base/say.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <fcntl.h>
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

void pli_record_dir_open(struct pli_job *job)
{
    struct pli_options *opt = &job->opt;
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
    if (mkdir(opt->record, 0777) != 0 && errno != EEXIST) {
        pli_say_bad("--record %s: the directory cannot be made: %s", opt->record, strerror(errno));
    }
    opt->record = full_path("--record", opt->record);
    char *file = job_file(opt->record);
    if (access(file, F_OK) == 0) {
        pli_say_bad("--record %s: there is a record already; name another directory, or remove it",
                    opt->record);
    }
    free(file);
}

// The command, one line for each part. The program counts by its name, wherever it lies.
static char *describe(const struct pli_job *job)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = pli_say_need(open_memstream(&text, &n));
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

void pli_record_dir_describe(const struct pli_job *job)
{
    const struct pli_options *opt = &job->opt;
    if ((opt->record == NULL && opt->replay == NULL) || opt->is_dry) {
        return;
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
