// SPDX-License-Identifier: BSD-3-Clause
// The loader is asked to list the libraries of the program, without starting it.
#include "impirun_abi.h"

#include "launcher/job/secure_exec.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *list(const char *program, pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return NULL;
    }
    *pid = fork();
    if (*pid == 0) {
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        unsetenv("LD_PRELOAD");
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

// Every version of Pliant MPI has its name in the file, for MPI_Get_library_version.
static bool is_pliant(const char *library)
{
    static const char name[] = "Pliant MPI";
    struct stat st;
    bool is_found = false;
    int fd = open(library, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            is_found = memmem(bytes, (size_t)st.st_size, name, sizeof name - 1) != NULL;
            munmap(bytes, (size_t)st.st_size);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

const char *pli_impirun_abi_library(const char *program)
{
    static char found[PATH_MAX];
    char line[PATH_MAX + 256], path[PATH_MAX];
    pid_t pid = -1;
    if (pli_secure_exec_reason(program) != NULL) { // the loader may start it in place of listing
        return NULL;
    }
    FILE *f = list(program, &pid);
    found[0] = '\0';
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *end = strstr(line, " (0x"); // behind the path, which may have blanks
        if (end == NULL) {
            continue;
        }
        *end = '\0';
        if (sscanf(line, " libmpi_abi.so.%*d => %4095[^\n]", path) == 1 && path[0] == '/') {
            memcpy(found, path, sizeof found);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    return found[0] != '\0' && !is_pliant(found) ? found : NULL;
}

const char *pli_impirun_abi_mpiexec(const char *library)
{
    static char path[PATH_MAX + 16];
    char folder[PATH_MAX];
    if (realpath(library, folder) == NULL) {
        return NULL;
    }
    // It is in PREFIX/lib, PREFIX/lib64 or PREFIX/lib/aarch64-linux-gnu.
    bool is_prefix = false;
    for (int level = 0; level < 3 && !is_prefix; level++) {
        char *slash = strrchr(folder, '/');
        is_prefix = level > 0 && slash != NULL && strncmp(slash, "/lib", 4) == 0;
        if (slash != NULL) {
            *slash = '\0';
        }
    }
    snprintf(path, sizeof path, "%s/bin/mpiexec", folder);
    return is_prefix && access(path, X_OK) == 0 ? path : NULL;
}
