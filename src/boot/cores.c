// SPDX-License-Identifier: BSD-3-Clause
// Counts usable cores: the affinity mask, cut to the control group's share of time. A container
// with a share of two cores on a large machine must not make its ranks spin as if it had them all,
// and containers that pass for hosts and have the same cores must not spin as if these were theirs.
#include "boot/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t add_to(uint64_t key, const void *data, size_t len) // FNV-1a
{
    const unsigned char *p = data;
    for (size_t i = 0; i < len; i++) {
        key = (key ^ p[i]) * 0x100000001b3u;
    }
    return key;
}

// Processors in the affinity mask; the key is changed by which these are.
static uint32_t count_mask(uint64_t *key)
{
    for (int n = 1024; n <= 1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        if (set == NULL) {
            break;
        }
        size_t len = CPU_ALLOC_SIZE(n);
        CPU_ZERO_S(len, set);
        int rc = sched_getaffinity(0, len, set);
        int count = CPU_COUNT_S(len, set);
        *key = add_to(*key, set, len);
        CPU_FREE(set);
        if (rc == 0 && count > 0) {
            return (uint32_t)count;
        }
    }
    return 1;
}

// Read "QUOTA PERIOD" and cut *n to it; "max" and a missing file mean no limit.
static void cut(const char *path, uint32_t *n)
{
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return;
    }
    long long quota, period;
    if (fscanf(f, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
        long long share = (quota + period - 1) / period;
        if (share < *n) {
            *n = (uint32_t)share;
        }
    }
    fclose(f);
}

// Cut n to what the control group and its parents grant.
static uint32_t cut_to_group(uint32_t n)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    if (f == NULL) {
        return n;
    }
    char line[1024], path[1200];
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "0::/", 4) != 0) {
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        char *group = line + 3;
        for (char *end = group + strlen(group); end != NULL; end = strrchr(group, '/')) {
            *end = '\0'; // the group, then each of its parents
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
            cut(path, &n);
        }
    }
    fclose(f);
    return n;
}

uint32_t pli_cores_usable(void)
{
    uint64_t key = 0;
    uint32_t n = count_mask(&key);
    return n > 1 ? cut_to_group(n) : n;
}

uint64_t pli_cores_key(void)
{
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_known = f != NULL && fgets(boot, sizeof boot, f) != NULL;
    if (f != NULL) {
        fclose(f);
    }
    uint64_t key = add_to(0xcbf29ce484222325u, boot, strlen(boot));
    uint32_t n = count_mask(&key);
    return is_known && cut_to_group(n) == n ? key | 1 : 0;
}
