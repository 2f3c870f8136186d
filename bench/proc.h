// SPDX-License-Identifier: BSD-3-Clause
// What a process costs, from /proc.
#ifndef PLI_BENCH_PROC_H
#define PLI_BENCH_PROC_H

#include <dirent.h>
#include <stdio.h>

// Kilobytes that belong to this process alone.
static inline long p_private_kb(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long sum = 0, kb;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "Private_Clean: %ld", &kb) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &kb) == 1) {
            sum += kb;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return sum;
}

// Entries of a folder of /proc/self, such as "fd" or "task"; the folder's own descriptor is left
// out.
static inline int p_entries(const char *path, int is_fd)
{
    DIR *d = opendir(path);
    int n = 0;
    while (d != NULL) {
        struct dirent *e = readdir(d);
        if (e == NULL) {
            break;
        }
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n - is_fd;
}

#endif
