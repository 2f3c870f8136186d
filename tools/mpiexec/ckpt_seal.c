// SPDX-License-Identifier: BSD-3-Clause
// Makes a checkpoint out of what was written: until the directory gets its name, which happens at
// once, there is none; from then on it is complete and on the disk.
#include "ckpt_priv.h"
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    FILE *manifest;
    size_t base; // length of the directory's name
    char failed[PATH_MAX];
} s;

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

static int seal_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)where;
    const char *name = path + s.base + 1;
    const char *last = strrchr(path, '/') + 1;
    uint64_t sum, bytes;
    bool is_good = true;
    if (type == FTW_DP) {
        is_good = sync_path(path, O_DIRECTORY);
    } else if (strcmp(last, "dump.log") == 0 || strcmp(last, "stats-dump") == 0) {
        is_good = unlink(path) == 0; // of no use later
    } else if (type == FTW_F && strcmp(name, PLI_MANIFEST) != 0) {
        is_good = pli_ckpt_sum(path, &sum, &bytes) && sync_path(path, 0);
        fprintf(s.manifest, "file %s %" PRIu64 " %016" PRIx64 "\n", name, bytes, sum);
    }
    if (!is_good) {
        snprintf(s.failed, sizeof s.failed, "%s", path);
    }
    return is_good ? 0 : 1;
}

static bool write_manifest(const struct pli_ckpt_plan *plan)
{
    char *text = NULL;
    size_t len = 0;
    char path[PATH_MAX + 16];
    s.manifest = open_memstream(&text, &len);
    s.base = strlen(plan->temp);
    if (s.manifest == NULL) {
        return false;
    }
    fputs(plan->head, s.manifest);
    bool is_good = nftw(plan->temp, seal_one, 16, FTW_DEPTH | FTW_PHYS) == 0;
    int error = errno;
    is_good = fclose(s.manifest) == 0 && is_good;
    snprintf(path, sizeof path, "%s/%s", plan->temp, PLI_MANIFEST);
    FILE *f = is_good ? fopen(path, "wxe") : NULL;
    if (f != NULL) {
        fwrite(text, 1, len, f);
        fprintf(f, "end %016" PRIx64 "\n", pli_ckpt_hash(0, text, len));
        is_good = fflush(f) == 0 && fsync(fileno(f)) == 0;
        error = errno;
        is_good = fclose(f) == 0 && is_good && sync_path(plan->temp, O_DIRECTORY);
    } else if (is_good) {
        is_good = false;
        error = errno;
    }
    free(text);
    errno = error;
    return is_good;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

void pli_ckpt_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// The number that a name of a checkpoint is, 0: it is none.
static uint32_t number_of(const char *name)
{
    char *end;
    unsigned long n = strtoul(name, &end, 10);
    return name[0] >= '1' && name[0] <= '9' && *end == '\0' && n < UINT32_MAX ? (uint32_t)n : 0;
}

// ".temp-PID-NUMBER" of a process that is no more.
static bool is_remnant(const char *name)
{
    int pid;
    return sscanf(name, ".temp-%d-", &pid) == 1 && kill(pid, 0) != 0 && errno == ESRCH;
}

uint32_t pli_ckpt_last(const char *dir, uint32_t below, bool tidy)
{
    uint32_t last = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        uint32_t n = number_of(e->d_name);
        last = n > last && n < below ? n : last;
        if (tidy && is_remnant(e->d_name)) {
            char path[PATH_MAX + 300];
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            pli_ckpt_remove(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return last;
}

// All but the newest ones go. First out of sight, so that no half of one can be taken for a whole.
static void prune(const struct pli_ckpt_plan *plan)
{
    uint32_t n = UINT32_MAX;
    for (uint32_t i = 0; i < plan->keep && n > 0; i++) {
        n = pli_ckpt_last(plan->dir, n, false);
    }
    while (n > 0 && (n = pli_ckpt_last(plan->dir, n, false)) > 0) {
        char path[PATH_MAX + 32], away[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/%u", plan->dir, n);
        snprintf(away, sizeof away, "%s/.temp-%d-old", plan->dir, (int)plan->owner);
        if (rename(path, away) != 0) {
            return;
        }
        pli_ckpt_remove(away);
    }
}

bool pli_ckpt_seal(void *arg, int report)
{
    const struct pli_ckpt_plan *plan = arg;
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%u", plan->dir, plan->number);
    if (!write_manifest(plan)) {
        dprintf(report, "%s cannot be written: %s", s.failed[0] != '\0' ? s.failed : plan->temp,
                strerror(errno));
        return false;
    }
    if (rename(plan->temp, path) != 0 || !sync_path(plan->dir, O_DIRECTORY)) {
        dprintf(report, "%s cannot be renamed to %s: %s", plan->temp, path, strerror(errno));
        return false;
    }
    prune(plan);
    return true;
}
