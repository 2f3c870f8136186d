// SPDX-License-Identifier: BSD-3-Clause
// Decides whether ranks are copied for a checkpoint, ends the copies, and gives their images the
// process numbers of the ranks.
#include "launcher/ckpt/ckpt_copy.h"

#include "base/memory.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/job/job.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Bytes of a process that are in memory.
static uint64_t resident(pid_t pid)
{
    char path[64];
    unsigned long long all, n_page = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "re");
    if (f != NULL && fscanf(f, "%llu %llu", &all, &n_page) != 2) {
        n_page = 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    return (uint64_t)n_page * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool pli_ckpt_copy_is_wanted(const struct pli_job *job)
{
    uint64_t need = 0;
    if (job->opt.is_standstill) {
        return false;
    }
    for (struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL; t = pli_job_next(job, t)) {
        need += !t->is_over && !t->is_exited ? resident(t->pid) : 0;
    }
    return need <= pli_memory_left();
}

void pli_ckpt_copy_begin(struct pli_ckpt_copy *c, pid_t pid, int number, int resume_fd)
{
    *c = (struct pli_ckpt_copy){ pid != 0 ? pid : -1, number, -1, resume_fd };
    c->pidfd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

void pli_ckpt_copy_end(struct pli_ckpt_copy *c)
{
    if (c->pid == 0) { // of a rank that came while the others were written, all is 0
        return;
    }
    if (c->pidfd >= 0) {
        syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
        waitpid(c->pid, NULL, 0); // ours, unless a PID namespace has it
        close(c->pidfd);
    }
    if (c->resume_fd >= 0) {
        close(c->resume_fd);
    }
    *c = (struct pli_ckpt_copy)PLI_CKPT_COPY_NONE;
}

enum { TREE_PID = 1, TREE_GROUP = 3, TREE_SESSION = 4, TREE_THREADS = 5 };

// A record of the tree with other numbers, of the heap. NULL: there is no memory, or it has more
// processes than one, or threads.
static char *change_record(struct pli_criu_bytes record, uint32_t copy, uint32_t original,
                           size_t *len_out)
{
    struct pli_criu_field f;
    char *all = NULL;
    bool is_good = true;
    FILE *to = open_memstream(&all, len_out);
    for (const uint8_t *from = record.at; to != NULL && pli_criu_image_field(&record, &f);
         from = record.at) {
        bool is_number = f.number == TREE_PID || f.number == TREE_GROUP ||
                         f.number == TREE_SESSION || f.number == TREE_THREADS;
        bool is_own = f.inner.at == NULL && f.value == copy;
        is_good = is_good && (is_own || (f.number != TREE_PID && f.number != TREE_THREADS));
        if (is_number && is_own) {
            pli_criu_image_put_number(to, f.number, original);
        } else {
            fwrite(from, 1, (size_t)(record.at - from), to);
        }
    }
    if (to == NULL || fclose(to) != 0 || !is_good) {
        free(all);
        all = NULL;
    }
    return all;
}

// The process in the tree of processes, which has no others.
static bool change_tree(const char *dir, uint32_t copy, uint32_t original)
{
    struct pli_criu_image tree;
    struct pli_criu_bytes record;
    char path[PATH_MAX + 64], *data = NULL;
    size_t size = 0;
    FILE *to = NULL;
    snprintf(path, sizeof path, "%s/pstree.img", dir);
    if (!pli_criu_image_open(dir, "pstree.img", &tree)) {
        return false;
    }
    if (pli_criu_image_record(&tree.records, &record)) {
        data = change_record(record, copy, original, &size);
    }
    bool is_good = data != NULL && tree.records.at == tree.records.end;
    if (is_good && (to = fopen(path, "we")) != NULL) {
        const uint32_t len = (uint32_t)size;
        fwrite(tree.data, 1, (size_t)(record.at - sizeof len - tree.data), to); // the header
        fwrite(&len, sizeof len, 1, to);
        fwrite(data, 1, size, to);
        is_good = ferror(to) == 0;
        is_good = fclose(to) == 0 && is_good;
    } else {
        errno = is_good ? errno : EBADMSG;
        is_good = false;
    }
    free(data);
    pli_criu_image_close(&tree);
    return is_good;
}

bool pli_ckpt_copy_rename(const char *dir, uint32_t copy, uint32_t original, char *why, size_t cap)
{
    static const char *const names[] = { "core", "ids", "mm", "pagemap", "fs" };
    char from[PATH_MAX + 64], to[PATH_MAX + 64];
    const char *failed = "pstree";
    bool is_good = change_tree(dir, copy, original);
    for (size_t i = 0; i < sizeof names / sizeof *names && is_good; i++) {
        snprintf(from, sizeof from, "%s/%s-%u.img", dir, names[i], copy);
        snprintf(to, sizeof to, "%s/%s-%u.img", dir, names[i], original);
        failed = names[i];
        // a helper that takes the pages has given its list of them the right name already
        is_good = rename(from, to) == 0 || (errno == ENOENT && access(to, R_OK) == 0);
    }
    if (!is_good) {
        snprintf(why, cap, "CRIU's image %s of its copy cannot be renamed: %s", failed,
                 strerror(errno));
    }
    return is_good;
}
