// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel and the control groups, of both versions.
#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// The number behind a word at the start of a line; an empty word: the first number. UINT64_MAX:
// there is none, or it is "max".
static uint64_t read_number(const char *path, const char *word)
{
    char line[256];
    unsigned long long n;
    uint64_t found = UINT64_MAX;
    FILE *f = fopen(path, "re");
    while (f != NULL && found == UINT64_MAX && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0 &&
            sscanf(line + strlen(word), "%llu", &n) == 1) {
            found = n;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static uint64_t left_of(uint64_t limit, uint64_t used, uint64_t cache)
{
    if (limit == UINT64_MAX || used == UINT64_MAX) {
        return UINT64_MAX;
    }
    used = cache != UINT64_MAX && cache < used ? used - cache : used;
    return limit > used ? limit - used : 0;
}

// What one control group of version 2 leaves.
static uint64_t left_in(const char *folder)
{
    char max[4200], now[4200], stat[4200];
    snprintf(max, sizeof max, "%s/memory.max", folder);
    snprintf(now, sizeof now, "%s/memory.current", folder);
    snprintf(stat, sizeof stat, "%s/memory.stat", folder);
    uint64_t limit = read_number(max, "");
    return limit == UINT64_MAX
               ? UINT64_MAX
               : left_of(limit, read_number(now, ""), read_number(stat, "inactive_file "));
}

// The least that the process's own group and those above it leave.
static uint64_t left_in_groups(void)
{
    static const char root[] = "/sys/fs/cgroup";
    char line[2048], path[4096] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "0::/", 4) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, sizeof path, "%s%s", root, line + 3);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    uint64_t least = left_in(root);
    while (strlen(path) > sizeof root) {
        uint64_t n = left_in(path);
        least = n < least ? n : least;
        *strrchr(path, '/') = '\0';
    }
    uint64_t old =
        left_of(read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""),
                read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", ""),
                read_number("/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "));
    return old < least ? old : least;
}

uint64_t pli_memory_left(void)
{
    uint64_t kib = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t left = kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
    uint64_t in_groups = left_in_groups();
    return in_groups < left ? in_groups : left;
}
