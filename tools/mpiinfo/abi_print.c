// SPDX-License-Identifier: BSD-3-Clause
// Looks at the libraries that a program's file asks the loader for, then at those that the loader
// finds for it: it is asked to list them, without starting the program.
#include "abi_print.h"

#include "launcher/job/secure_exec.h"
#include "launcher/job/foreign_mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct look {
    bool is_fine, is_mpi;
    const char *reason; // why the loader ignores LD_LIBRARY_PATH, NULL: it does not
    char seen[512];     // names that were printed, each with blanks around it
};

// The folder lib/pliant of this installation.
static void find_base(char *to, size_t cap)
{
    static const char *const libs[] = { PLIANT_LIBDIR, "lib" };
    char exe[3072];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 2 && strrchr(exe, '/') != NULL; i++) {
        *strrchr(exe, '/') = '\0';
    }
    for (size_t i = 0; i < sizeof libs / sizeof libs[0]; i++) {
        snprintf(to, cap, "%s/%s/pliant", exe, libs[i]);
        if (access(to, R_OK) == 0) {
            return;
        }
    }
}

static bool tell(const char *library, void *arg)
{
    struct look *l = arg;
    const struct pli_foreign_mpi *m = pli_foreign_mpi_find(library);
    bool is_ours = strncmp(library, "libmpi_abi.so.", 14) == 0;
    char word[160], base[3200];
    snprintf(word, sizeof word, " %s ", library);
    if ((m == NULL && (!is_ours || l->is_mpi)) || strstr(l->seen, word) != NULL) {
        return true;
    }
    l->is_mpi = true;
    strncat(l->seen, word, sizeof l->seen - strlen(l->seen) - 1);
    if (is_ours) {
        printf("  %-24s the standard ABI: runs\n", library);
    } else if (m->folder == NULL) {
        printf("  %-24s of %s: does not run, Pliant MPI does not offer it\n", library, m->mpi);
        l->is_fine = false;
    } else if (l->reason != NULL) {
        printf("  %-24s of %s: the program %s, so that the loader ignores LD_LIBRARY_PATH and "
               "finds the installed one; each process is a world of its own\n",
               library, m->mpi, l->reason);
        l->is_fine = false;
    } else if (m->is_above) {
        printf("  %-24s of %s: the installed one is used, above ours\n", library, m->mpi);
    } else {
        find_base(base, sizeof base);
        printf("  %-24s of %s: runs, with %s/%s/%s\n", library, m->mpi, base, m->folder, library);
    }
    return true;
}

// Start the program so that the loader lists what it loads and ends. NULL: that cannot be done.
static FILE *list(const char *path, pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return NULL;
    }
    *pid = fork();
    if (*pid == 0) {
        char base[3200], libraries[8192];
        find_base(base, sizeof base);
        snprintf(libraries, sizeof libraries, "%s/mpich:%s/openmpi", base, base);
        setenv("LD_LIBRARY_PATH", libraries, 1);
        setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

// Libraries that libraries need. Only of a file that asks for some: others would be started by
// this.
static void tell_indirect(const char *path, struct look *l)
{
    pid_t pid = -1;
    FILE *f = list(path, &pid);
    char line[4096], library[256];
    fflush(stdout);
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, " %255s =>", library) == 1) {
            tell(library, l);
            if (strstr(line, "not found") != NULL) {
                printf("  %-24s is not found\n", library);
                l->is_fine = false;
            }
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
}

static bool count(const char *library, void *arg)
{
    *(bool *)arg |= strcmp(library, "libc.so.6") == 0; // whose loader lists
    return true;
}

// The interpreter that a script names in its first line; false: it is no script.
static bool read_script(const char *path, char *to, size_t cap)
{
    char line[PATH_MAX + 64] = "";
    FILE *f = fopen(path, "r");
    bool is_script =
        f != NULL && fgets(line, sizeof line, f) != NULL && line[0] == '#' && line[1] == '!';
    if (f != NULL) {
        fclose(f);
    }
    if (!is_script) {
        return false;
    }
    char *rest = NULL, *word = strtok_r(line + 2, " \t\n", &rest);
    if (word != NULL && strcmp(word, "/usr/bin/env") == 0) {
        word = strtok_r(NULL, " \t\n", &rest);
    }
    snprintf(to, cap, "%s", word != NULL ? word : "");
    return word != NULL;
}

// As a shell finds a program.
static bool find(const char *name, char *to, size_t cap)
{
    const char *dir = getenv("PATH");
    if (strchr(name, '/') != NULL || access(name, R_OK) == 0) {
        snprintf(to, cap, "%s%s", strchr(name, '/') != NULL ? "" : "./", name);
        return access(to, R_OK) == 0;
    }
    for (; dir != NULL && *dir != '\0'; dir += strspn(dir, ":")) {
        size_t len = strcspn(dir, ":");
        snprintf(to, cap, "%.*s/%s", (int)len, dir, name);
        if (access(to, X_OK) == 0) {
            return true;
        }
        dir += len;
    }
    errno = ENOENT;
    return false;
}

bool pli_abi_print_file(const char *file)
{
    char path[PATH_MAX], interpreter[PATH_MAX];
    bool is_dynamic = false;
    struct stat st;
    if (!find(file, path, sizeof path) || stat(path, &st) != 0) {
        printf("%s: %s\n", file, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        printf("%s: it is %s, not a file\n", file,
               S_ISDIR(st.st_mode) ? "a directory" : "a device or a pipe");
        return false;
    }
    printf("%s\n", path);
    if (read_script(path, interpreter, sizeof interpreter)) {
        printf("  is a script: what it starts finds the libraries of both other ABIs\n");
        return pli_abi_print_file(interpreter);
    }
    struct look l = { .is_fine = true, .reason = pli_secure_exec_reason(path) };
    const char *inside = pli_foreign_mpi_static(path);
    pli_foreign_mpi_each(path, tell, &l);
    pli_foreign_mpi_each(path, count, &is_dynamic);
    if (is_dynamic && l.reason == NULL) { // the loader may start it in place of listing
        tell_indirect(path, &l);
    }
    if (inside != NULL) {
        printf("  has %s linked into it: does not run on Pliant MPI, each process is a world of "
               "its own\n",
               inside);
        return false;
    }
    if (!l.is_mpi) {
        printf("  needs no MPI when it is loaded; what it loads later finds the libraries of both "
               "other "
               "ABIs\n");
    }
    return l.is_fine;
}
