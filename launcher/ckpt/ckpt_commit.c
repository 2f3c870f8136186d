// SPDX-License-Identifier: BSD-3-Clause
// Makes a checkpoint out of what was written: until the directory gets its name, which happens at
// once, there is none; from then on it is complete and on the disk.
#include "launcher/ckpt/ckpt_commit.h"

#include "base/checksum.h"
#include "base/fault.h"
#include "launcher/ckpt/ckpt_dir.h"
#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/ckpt_sum.h"
#include "launcher/ckpt/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORKER = 64 };

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    bool is_good = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return is_good;
}

// The disk begins to write while other things are done.
static void begin_writing(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        close(fd);
    }
}

static int note_failed(const char *path)
{
    snprintf(pli_launcher.ckpt->files.failed, sizeof pli_launcher.ckpt->files.failed, "%s", path);
    return 1;
}

static int list_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    const char *name = path + where->base;
    if (type != FTW_F || (where->level == 1 && strcmp(name, PLI_MANIFEST) == 0)) {
        return 0;
    }
    if (strcmp(name, "dump.log") == 0 || strcmp(name, "stats-dump") == 0) {
        return unlink(path) == 0 ? 0 : note_failed(path); // of no use later
    }
    struct pli_ckpt_file *more =
        realloc(pli_launcher.ckpt->files.all, (pli_launcher.ckpt->files.n + 1) * sizeof *more);
    pli_launcher.ckpt->files.all = more != NULL ? more : pli_launcher.ckpt->files.all;
    char *copy = more != NULL ? strdup(path) : NULL;
    if (copy == NULL) {
        return note_failed(path);
    }
    pli_launcher.ckpt->files.all[pli_launcher.ckpt->files.n++] =
        (struct pli_ckpt_file){ .path = copy };
    return 0;
}

static int sync_directory(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)where;
    return type != FTW_DP || sync_path(path, O_DIRECTORY) ? 0 : note_failed(path);
}

static void *work(void *arg)
{
    for (uint32_t i; (i = atomic_fetch_add(&pli_launcher.ckpt->files.n_taken, 1)) <
                     pli_launcher.ckpt->files.n;) {
        struct pli_ckpt_file *f = &pli_launcher.ckpt->files.all[i];
        begin_writing(f->path);
        bool is_good = pli_ckpt_sum_fresh(f->path, &f->sum, &f->bytes) && sync_path(f->path, 0);
        f->error = is_good ? 0 : errno;
    }
    return arg;
}

// Sum up all files and put them on the disk, with as many threads as there are processors.
static bool sum_files(void)
{
    pthread_t threads[MAX_WORKER];
    long n_core = sysconf(_SC_NPROCESSORS_ONLN), n = 0;
    while (n < n_core - 1 && n < MAX_WORKER && n + 1 < (long)pli_launcher.ckpt->files.n &&
           pthread_create(&threads[n], NULL, work, NULL) == 0) {
        n++;
    }
    work(NULL);
    while (n > 0) {
        pthread_join(threads[--n], NULL);
    }
    for (uint32_t i = 0; i < pli_launcher.ckpt->files.n; i++) {
        if (pli_launcher.ckpt->files.all[i].error != 0) {
            note_failed(pli_launcher.ckpt->files.all[i].path);
            errno = pli_launcher.ckpt->files.all[i].error;
            return false;
        }
    }
    return true;
}

// The head, the files and a sum of all that.
static bool put_manifest(FILE *f, const struct pli_ckpt_plan *plan)
{
    char *text = NULL;
    size_t len = 0, base = strlen(plan->temp) + 1;
    FILE *m = open_memstream(&text, &len);
    if (m == NULL) {
        return false;
    }
    fputs(plan->head, m);
    for (uint32_t i = 0; i < pli_launcher.ckpt->files.n; i++) {
        fprintf(m, "file %s %" PRIu64 " %016" PRIx64 "\n",
                pli_launcher.ckpt->files.all[i].path + base, pli_launcher.ckpt->files.all[i].bytes,
                pli_launcher.ckpt->files.all[i].sum);
    }
    bool is_good = fclose(m) == 0;
    if (is_good) {
        fwrite(text, 1, len, f);
        fprintf(f, "end %016" PRIx64 "\n", pli_checksum(0, text, len));
        is_good = fflush(f) == 0 && fsync(fileno(f)) == 0;
    }
    int error = errno;
    free(text);
    errno = error;
    return is_good;
}

static bool write_manifest(const struct pli_ckpt_plan *plan)
{
    char path[PATH_MAX + 16];
    if (nftw(plan->temp, list_one, 16, FTW_PHYS) != 0 || !sum_files() ||
        nftw(plan->temp, sync_directory, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        return false;
    }
    snprintf(path, sizeof path, "%s/%s", plan->temp, PLI_MANIFEST);
    pli_fault("commit_manifest", 0);
    // No other user may write a file that names commands, whatever umask says.
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) {
        return false;
    }
    bool is_good = put_manifest(f, plan);
    int error = errno;
    is_good = fclose(f) == 0 && is_good && sync_path(plan->temp, O_DIRECTORY);
    errno = is_good ? 0 : error;
    return is_good;
}

// Whether a checkpoint needs another one, directly or through others.
static bool is_based_on(const char *dir, uint32_t by, uint32_t number)
{
    char path[PATH_MAX + 32], why[PLI_CKPT_WHY];
    while (by > number) {
        struct pli_manifest m;
        snprintf(path, sizeof path, "%s/%u", dir, by);
        if (!pli_manifest_read(path, false, &m, why)) {
            return false; // it is no good with or without
        }
        by = m.base;
        pli_manifest_fini(&m);
    }
    return by == number;
}

// Whether one of those that are kept, from `from` on, is based on this one.
static bool is_needed(const struct pli_ckpt_plan *plan, uint32_t from, uint32_t number)
{
    bool is = false;
    for (uint32_t n = UINT32_MAX; !is && (n = pli_ckpt_last(plan->dir, n)) >= from && n > 0;) {
        is = is_based_on(plan->dir, n, number);
    }
    return is;
}

// All are removed but the newest ones and those that they are based on; one that a restart has
// passed over is not counted. Each is renamed first, so that a half-removed one cannot be taken for
// a whole.
static void prune(const struct pli_ckpt_plan *plan)
{
    uint32_t n = UINT32_MAX;
    for (uint32_t i = 0; i < plan->keep && n > 0;) {
        n = pli_ckpt_last(plan->dir, n);
        i += n <= plan->good || n >= plan->first;
    }
    uint32_t from = n;
    while (n > 0 && (n = pli_ckpt_last(plan->dir, n)) > 0) {
        char path[PATH_MAX + 32], away[PATH_MAX];
        if (is_needed(plan, from, n)) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%u", plan->dir, n);
        pli_ckpt_temp(away, plan->dir, plan->owner, "old");
        if (rename(path, away) != 0) {
            return;
        }
        pli_ckpt_remove(away);
    }
}

bool pli_ckpt_commit(void *arg, int report)
{
    const struct pli_ckpt_plan *plan = arg;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%u", plan->dir, plan->number);
    pli_fault("commit_sum", 0);
    if (!write_manifest(plan)) {
        dprintf(report, "%s cannot be written: %s",
                pli_launcher.ckpt->files.failed[0] != '\0' ? pli_launcher.ckpt->files.failed
                                                           : plan->temp,
                strerror(errno));
        return false;
    }
    pli_fault("commit_rename", 0);
    if (rename(plan->temp, path) != 0 || !sync_path(plan->dir, O_DIRECTORY)) {
        dprintf(report, "%s cannot be renamed to %s: %s", plan->temp, path, strerror(errno));
        return false;
    }
    pli_fault("commit_prune", 0);
    prune(plan);
    return true;
}
