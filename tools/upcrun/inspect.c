// SPDX-License-Identifier: BSD-3-Clause
// Looks for the texts "$PliantUPC: THREADS PTHREADS EACH $" in a program's file.
#include "inspect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark[] = "$PliantUPC: ";

static int open_program(const char *program)
{
    if (strchr(program, '/') != NULL) {
        return open(program, O_RDONLY | O_CLOEXEC);
    }
    const char *path = getenv("PATH");
    for (const char *dir = path != NULL ? path : ""; *dir != '\0'; dir += strspn(dir, ":")) {
        char name[4096];
        int len = (int)strcspn(dir, ":");
        snprintf(name, sizeof name, "%.*s/%s", len, dir, program);
        if (access(name, X_OK) == 0) {
            return open(name, O_RDONLY | O_CLOEXEC);
        }
        dir += len;
    }
    return -1;
}

static void note(const char *text, struct pli_upcrun_facts *to)
{
    long fixed, pthreads, each;
    if (sscanf(text, "%ld %ld %ld $", &fixed, &pthreads, &each) == 3) {
        to->is_upc = true;
        to->is_pthreads = to->is_pthreads || pthreads != 0;
        to->static_threads = fixed > 0 ? fixed : to->static_threads;
        to->each = each > to->each ? each : to->each;
    }
}

void pli_upcrun_inspect(const char *program, struct pli_upcrun_facts *out)
{
    struct stat st;
    *out = (struct pli_upcrun_facts){ 0 };
    int fd = open_program(program);
    const char *file = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (file == MAP_FAILED) {
        return;
    }
    const char *end = file + st.st_size;
    for (const char *at = file;
         (at = memmem(at, (size_t)(end - at), mark, sizeof mark - 1)) != NULL;) {
        char text[64] = "";
        at += sizeof mark - 1;
        size_t left = (size_t)(end - at);
        memcpy(text, at, left < sizeof text - 1 ? left : sizeof text - 1);
        note(text, out);
    }
    munmap((void *)file, (size_t)st.st_size);
}
