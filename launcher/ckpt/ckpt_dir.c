// SPDX-License-Identifier: BSD-3-Clause
// A directory of checkpoints: their numbers, and names for what is no checkpoint, or none yet. The
// latter contain the host and the process they belong to: many hosts may see the directory.
#include "launcher/ckpt/ckpt_dir.h"

#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/ckpt/restart_ghosts.h"
#include "launcher/base/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OLD_S = 24 * 60 * 60 }; // for files of another host that were not touched since

static const char begin[] = ".temp-";

uint32_t pli_ckpt_number_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *end;
    unsigned long n = strtoul(name, &end, 10);
    return name[0] >= '1' && name[0] <= '9' && *end == '\0' && n < UINT32_MAX ? (uint32_t)n : 0;
}

uint32_t pli_ckpt_last(const char *dir, uint32_t below)
{
    uint32_t last = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        uint32_t n = pli_ckpt_number_of(e->d_name);
        last = n > last && n < below ? n : last;
    }
    if (d != NULL) {
        closedir(d);
    }
    return last;
}

void pli_ckpt_temp(char to[PATH_MAX], const char *dir, pid_t owner, const char *what)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(to, PATH_MAX, "%.*s/%s%s-%d-%s", PATH_MAX - 128, dir, begin, host, (int)owner, what);
}

// ".temp-HOST-PID-WHAT" of a process that is no more.
static bool is_remnant(const char *dir, const char *name)
{
    char path[PATH_MAX + 300], host[64] = "";
    struct stat st;
    const char *end = strrchr(name, '-'), *pid = end;
    if (strncmp(name, begin, sizeof begin - 1) != 0 || end < name + sizeof begin) {
        return false;
    }
    while (pid[-1] != '-') {
        pid--;
    }
    const char *from = name + sizeof begin - 1;
    size_t len = pid > from ? (size_t)(pid - from) - 1 : 0;
    gethostname(host, sizeof host - 1);
    if (strlen(host) == len && memcmp(host, from, len) == 0) {
        return kill(atoi(pid), 0) != 0 && errno == ESRCH;
    }
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &st) == 0 && time(NULL) - st.st_mtime > OLD_S;
}

static void tidy(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (is_remnant(dir, e->d_name)) {
            char path[PATH_MAX + 300];
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
            pli_restart_ghosts_clean(path); // of a restart, if it was one
            pli_ckpt_remove(path);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

void pli_ckpt_number(struct pli_ckpt_plan *plan)
{
    char number[16];
    tidy(plan->dir);
    plan->number = pli_ckpt_last(plan->dir, UINT32_MAX) + 1;
    snprintf(number, sizeof number, "%u", plan->number);
    pli_ckpt_temp(plan->temp, plan->dir, plan->owner, number);
}

void pli_ckpt_remove(const char *path)
{
    pli_remove_tree(path);
}
