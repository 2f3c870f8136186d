// SPDX-License-Identifier: BSD-3-Clause
// Reads the state of a process from /proc.
#include "engine/impi_proc.h"
#include <stdio.h>
#include <string.h>

bool pli_impi_proc_is_stopped(pid_t pid)
{
    char path[48], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return false;
    }
    size_t n = fread(line, 1, sizeof line - 1, f);
    line[n] = '\0';
    fclose(f);
    const char *name_end = strrchr(line, ')'); // the name may have brackets of its own
    return name_end != NULL && name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}
