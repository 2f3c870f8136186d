// SPDX-License-Identifier: BSD-3-Clause
// Opens the files that the output of the ranks goes to.
#include "launcher/ranks/output_files.h"

#include "launcher/base/output_lines.h"
#include "launcher/base/say.h"
#include "launcher/base/user_file.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The digits of the largest rank, so that files with %R sort by rank.
static int n_digit(const struct pli_job *job)
{
    int n = 1;
    for (uint32_t last = job->n_rank > 0 ? job->n_rank - 1 : 0; last >= 10; last /= 10) {
        n++;
    }
    return n;
}

static const char *host_of(const struct pli_job *job, const struct pli_proc_task *t, char *own,
                           size_t cap)
{
    if (job->n_host > 0) {
        return pli_hosts_name(job, t);
    }
    snprintf(own, cap, "localhost");
    gethostname(own, cap - 1);
    return own;
}

// The name that a pattern gives for a task. False: it is too long.
static bool spell(const struct pli_job *job, const struct pli_proc_task *t, const char *pattern,
                  char *to, size_t cap)
{
    char own[256] = "";
    size_t n = 0;
    uint32_t rank = pli_task_rank(t);
    for (const char *p = pattern; *p != '\0' && n < cap; p++) {
        char kind = *p == '%' ? *++p : '\0';
        switch (kind) {
        case '\0':
            n += (size_t)snprintf(to + n, cap - n, "%c", *p);
            break;
        case '%':
            n += (size_t)snprintf(to + n, cap - n, "%%");
            break;
        case 'h':
            n += (size_t)snprintf(to + n, cap - n, "%s", host_of(job, t, own, sizeof own));
            break;
        case 'g':
            n += (size_t)snprintf(to + n, cap - n, "%u", t->is_spawned ? 1 : 0);
            break;
        case 'p':
            n += (size_t)snprintf(to + n, cap - n, "%u", t->host);
            break;
        default: // r, t or R; take_pattern lets no other pass
            n += (size_t)snprintf(to + n, cap - n, "%0*u", kind == 'R' ? n_digit(job) : 1, rank);
        }
    }
    return n < cap;
}

// Make the folders of a path. What fails is noticed when the file is opened.
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
}

// The file of a pattern for a task; -1: errno says why not.
static int open_file(const struct pli_job *job, const struct pli_proc_task *t, const char *pattern,
                     int flags, char *path)
{
    struct stat st;
    if (!spell(job, t, pattern, path, PATH_MAX)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    make_folders(path);
    int fd = pli_user_file_open(path, O_WRONLY | O_APPEND | O_NONBLOCK | flags);
    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) {
        close(fd); // a pipe would make mpiexec wait for its reader
        errno = ESPIPE;
        return -1;
    }
    return fd;
}

void pli_output_files_make(struct pli_job *job)
{
    const char *const patterns[] = { job->opt.out_files, job->opt.err_files };
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < job->n_task && patterns[i] != NULL; k++) {
            int fd =
                open_file(job, &job->tasks[k], patterns[i], job->from == NULL ? O_TRUNC : 0, path);
            if (fd < 0) {
                pli_say_bad("the output of rank %u cannot go to the file %s: %s",
                            pli_task_rank(&job->tasks[k]), path, pli_user_file_why());
            }
            close(fd);
        }
    }
}

static void attach(const struct pli_job *job, const struct pli_proc_task *t, const char *pattern,
                   struct pli_output_lines *s)
{
    char path[PATH_MAX];
    if (pattern == NULL) {
        return;
    }
    int fd = open_file(job, t, pattern, 0, path);
    if (fd < 0) {
        pli_say("the output of rank %u cannot go to the file %s: %s; it is shown here instead",
                pli_task_rank(t), path, pli_user_file_why());
        return;
    }
    pli_output_lines_to_file(s, fd, job->opt.is_output_copied);
}

void pli_output_files_attach(const struct pli_job *job, struct pli_proc_task *t)
{
    attach(job, t, job->opt.out_files, &t->out);
    attach(job, t, job->opt.is_merged ? job->opt.out_files : job->opt.err_files, &t->err);
}
