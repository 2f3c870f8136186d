// SPDX-License-Identifier: BSD-3-Clause
// Decides whether ranks are copied for a checkpoint, ends the copies, and gives their images the
// process numbers of the ranks.
#include "launcher/ckpt/ckpt_copy.h"

#include "base/memory.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/criu_image.h"
#include "launcher/job/job.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SAID = 1 << 20 };

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

// What a copy says of its threads and files.
static bool read_said(struct pli_ckpt_copy *c, int fd)
{
    struct stat st;
    if (fd < 0) {
        return false;
    }
    bool is_good = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *c->said &&
                   st.st_size <= MAX_SAID && (c->said = malloc((size_t)st.st_size)) != NULL &&
                   pread(fd, c->said, (size_t)st.st_size, 0) == (ssize_t)st.st_size;
    close(fd);
    if (is_good) {
        c->threads = (const struct pli_freeze_thread *)(c->said + 1);
        c->files = (const int32_t *)(c->threads + c->said->n_thread);
        is_good = (uint64_t)st.st_size == sizeof *c->said +
                                              (uint64_t)c->said->n_thread * sizeof *c->threads +
                                              (uint64_t)c->said->n_file * sizeof *c->files;
    }
    return is_good;
}

bool pli_ckpt_copy_begin(struct pli_ckpt_copy *c, pid_t pid, int number, int resume_fd, int said)
{
    *c = (struct pli_ckpt_copy){ .pid = pid != 0 ? pid : -1,
                                 .number = number,
                                 .pidfd = pid > 1 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
                                 .resume_fd = resume_fd };
    return read_said(c, said);
}

bool pli_ckpt_copy_measure(struct pli_ckpt_copy *c)
{
    char path[64];
    struct stat st;
    bool is_good = (c->sizes = calloc(c->said->n_file + 1, sizeof *c->sizes)) != NULL;
    for (uint32_t i = 0; i < c->said->n_file && is_good; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)c->pid, (int)c->files[i]);
        is_good = stat(path, &st) == 0;
        c->sizes[i] = is_good ? (int64_t)st.st_size : -1;
    }
    return is_good;
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
    free(c->said);
    free(c->sizes);
    *c = (struct pli_ckpt_copy)PLI_CKPT_COPY_NONE;
}

enum { TREE_PID = 1, TREE_GROUP = 3, TREE_SESSION = 4, TREE_THREADS = 5 };

// The number that the process, or a thread of it, had in the rank; 0: it has no such thread.
static uint32_t original_of(const struct pli_ckpt_copy *copy, uint32_t original, uint64_t number)
{
    if (number == (uint32_t)copy->number) {
        return original;
    }
    for (uint32_t i = 0; i < copy->said->n_thread; i++) {
        if (number == (uint32_t)copy->threads[i].copy) {
            return (uint32_t)copy->threads[i].original;
        }
    }
    return 0;
}

// A record of the tree with other numbers, of the heap. NULL: there is no memory, or it has more
// processes than one, or threads that are not known.
static char *change_record(struct pli_criu_bytes record, const struct pli_ckpt_copy *copy,
                           uint32_t original, size_t *len_out)
{
    struct pli_criu_field f;
    char *all = NULL;
    bool is_good = true;
    FILE *to = open_memstream(&all, len_out);
    for (const uint8_t *from = record.at; to != NULL && pli_criu_image_field(&record, &f);
         from = record.at) {
        bool is_number = f.number == TREE_PID || f.number == TREE_GROUP ||
                         f.number == TREE_SESSION || f.number == TREE_THREADS;
        uint32_t own = f.inner.at == NULL ? original_of(copy, original, f.value) : 0;
        bool is_own = own != 0;
        is_good = is_good && (is_own || (f.number != TREE_PID && f.number != TREE_THREADS));
        if (is_number && is_own) {
            pli_criu_image_put_number(to, f.number, own);
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
static bool change_tree(const char *dir, const struct pli_ckpt_copy *copy, uint32_t original)
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

static bool rename_image(const char *dir, const char *name, uint32_t from, uint32_t to)
{
    char old[PATH_MAX + 64], new[PATH_MAX + 64];
    snprintf(old, sizeof old, "%s/%s-%u.img", dir, name, from);
    snprintf(new, sizeof new, "%s/%s-%u.img", dir, name, to);
    // a helper that takes the pages has given its list of them the right name already
    return rename(old, new) == 0 || (errno == ENOENT && access(new, R_OK) == 0);
}

enum { FD_ID = 1, FD_NUMBER = 4 };

// How long the file was of which CRIU's list of descriptors has this number; -1: it is not known.
static int64_t size_of(struct pli_criu_bytes fds, const struct pli_ckpt_copy *copy, uint32_t id)
{
    struct pli_criu_bytes record;
    struct pli_criu_field own, fd;
    while (pli_criu_image_record(&fds, &record)) {
        if (!pli_criu_image_find(record, FD_ID, &own) || own.value != id ||
            !pli_criu_image_find(record, FD_NUMBER, &fd)) {
            continue;
        }
        for (uint32_t i = 0; i < copy->said->n_file; i++) {
            if (copy->files[i] == (int32_t)fd.value) {
                return copy->sizes[i];
            }
        }
    }
    return -1;
}

// The descriptors of the only process. False with errno: there is no list of them.
static bool open_fds(const char *dir, struct pli_criu_image *out)
{
    DIR *d = opendir(dir);
    char name[64] = "";
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (strncmp(e->d_name, "fdinfo-", 7) == 0 && strlen(e->d_name) < sizeof name) {
            strcpy(name, e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    errno = ENOENT;
    return name[0] != '\0' && pli_criu_image_open(dir, name, out);
}

// Files are as long as they were when the rank was copied: it and others may have written to them
// since. Of one that has lost its name as well CRIU keeps the contents, which are not those of that
// moment.
static bool change_files(const char *dir, const struct pli_ckpt_copy *copy)
{
    struct pli_criu_image list, remaps = { 0 }, fds = { 0 };
    struct pli_criu_bytes record;
    struct pli_criu_file *f = malloc(sizeof *f);
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/files.img", dir);
    bool is_open = f != NULL && pli_criu_image_open(dir, "files.img", &list);
    FILE *to = is_open && open_fds(dir, &fds) ? fopen(path, "we") : NULL;
    bool is_good = to != NULL;
    if (is_good) {
        fwrite(list.data, 1, (size_t)(list.records.at - list.data), to); // the header
        pli_criu_image_open(dir, "remap-fpath.img", &remaps);            // of those without a name
    }
    while (is_good && pli_criu_image_record(&list.records, &record)) {
        int64_t size =
            pli_criu_image_file(record, f) && f->has_size ? size_of(fds.records, copy, f->id) : -1;
        if (size >= 0 && (uint64_t)size != f->size &&
            pli_criu_image_is_remapped(remaps.records, f->id)) {
            errno = ESTALE;
            is_good = false;
        } else if (size >= 0) {
            struct pli_criu_field as = { .number = PLI_CRIU_REG_SIZE, .value = (uint64_t)size };
            is_good = pli_criu_image_put_file(to, record, &as);
        } else {
            fwrite(record.at - sizeof(uint32_t), 1,
                   sizeof(uint32_t) + (size_t)(record.end - record.at), to);
        }
    }
    if (to != NULL) {
        is_good = ferror(to) == 0 && is_good;
        is_good = fclose(to) == 0 && is_good;
    }
    pli_criu_image_close(&fds);
    pli_criu_image_close(&remaps);
    if (is_open) {
        pli_criu_image_close(&list);
    }
    free(f);
    return is_good;
}

bool pli_ckpt_copy_rename(const char *dir, const struct pli_ckpt_copy *copy, uint32_t original,
                          char *why, size_t cap)
{
    static const char *const names[] = { "core", "ids", "mm", "pagemap", "fs" };
    const char *failed = "pstree";
    bool is_good = change_tree(dir, copy, original);
    for (size_t i = 0; i < sizeof names / sizeof *names && is_good; i++) {
        failed = names[i];
        is_good = rename_image(dir, names[i], (uint32_t)copy->number, original);
    }
    for (uint32_t i = 0; i < copy->said->n_thread && is_good; i++) {
        failed = "core";
        is_good = rename_image(dir, "core", (uint32_t)copy->threads[i].copy,
                               (uint32_t)copy->threads[i].original);
    }
    if (is_good) {
        failed = "files";
        is_good = change_files(dir, copy);
    }
    if (!is_good && errno == ESTALE) {
        snprintf(why, cap, "a file was written to and has lost its name meanwhile");
    } else if (!is_good) {
        snprintf(why, cap, "CRIU's image %s of its copy cannot be changed: %s", failed,
                 strerror(errno));
    }
    return is_good;
}
