// SPDX-License-Identifier: BSD-3-Clause
// Reads one field of /proc/PID/stat.
#include "base/process_stat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t pli_process_stat(uint32_t pid, enum pli_process_stat_field field)
{
    enum { NAME = 2 };
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return -1;
    }
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = '\0';
    char *at = strrchr(line, ')'); // the name may hold anything
    for (int i = NAME; i < (int)field && at != NULL; i++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoll(at + 1, NULL, 10) : -1;
}
