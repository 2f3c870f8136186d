// SPDX-License-Identifier: BSD-3-Clause
// Finds libimpi beside Pliant MPI or among those that were built for this user, or builds it with
// the compiler of the other MPI.
#include "impirun_shim.h"

#include "impirun.h"
#include "launcher/base/tty.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *text(const char *a, const char *b, const char *c, const char *d)
{
    char *all;
    if (asprintf(&all, "%s%s%s%s", a, b, c, d) < 0) {
        pli_impirun_bad("out of memory");
    }
    return all;
}

// The folder for what is built at first use, which is made if need be; NULL: there is none.
static const char *cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool is_set = cache != NULL && cache[0] == '/';
    if (!is_set && (home == NULL || home[0] != '/')) {
        return NULL;
    }
    const char *base = is_set ? cache : text(home, "/.cache", "", "");
    const char *folder = text(base, "/pliant", "", "");
    if ((mkdir(base, 0700) != 0 && errno != EEXIST) ||
        (mkdir(folder, 0700) != 0 && errno != EEXIST)) {
        return NULL;
    }
    // Code is loaded from there, so no other user may write it.
    struct stat st;
    bool is_own =
        stat(folder, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    return is_own ? folder : NULL;
}

// Run the script with a compiler. What the compiler says is shown only if it fails.
static bool build(const char *script, const char *compiler, const char *file, const char *log)
{
    const char *temp = text(file, ".new", "", "");
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen(log, "w", stderr) == NULL || dup2(2, 1) < 0) {
            _exit(127);
        }
        execl("/bin/sh", "sh", script, compiler, temp, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    bool is_good = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    return is_good && rename(temp, file) == 0;
}

static bool is_in_path(const char *name)
{
    if (strchr(name, '/') != NULL) {
        return access(name, X_OK) == 0;
    }
    for (const char *dir = getenv("PATH"); dir != NULL && *dir != '\0';) {
        size_t len = strcspn(dir, ":");
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%s", (int)len, dir, name);
        if (access(path, X_OK) == 0) {
            return true;
        }
        dir += len + (dir[len] == ':');
    }
    return false;
}

// The compiler by which it is built.
static const char *compiler_of(const char *here, const char *mpi)
{
    return mpi[0] == '-' ? text("mpicc.", mpi + 1, "", "") : text(here, "mpicc", "", "");
}

const char *pli_impirun_shim_find(const char *here, const char *mpi)
{
    static const char *const places[] = { "../lib/libimpi", "../lib64/libimpi" };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *path = text(here, places[i], mpi, ".so");
        if (access(path, R_OK) == 0) {
            return path;
        }
    }
    const char *folder = cache_folder(), *compiler = compiler_of(here, mpi);
    const char *script = text(here, "../share/pliant/impi/shim/build.sh", "", "");
    const char *file =
        folder == NULL ? NULL : text(folder, "/libimpi", mpi, "-" PLIANT_VERSION ".so");
    if (file != NULL && access(file, R_OK) == 0) {
        return file;
    }
    if (file == NULL || access(script, R_OK) != 0 || !is_in_path(compiler)) {
        pli_impirun_bad("there is no libimpi%s.so in %s../lib, and it cannot be built: %s; build "
                        "it with %s %s FILE and say --shim FILE",
                        mpi, here,
                        file == NULL ? "HOME is not set or not a folder to write to, or others may "
                                       "write to its .cache/pliant"
                        : access(script, R_OK) != 0 ? "its source is not installed"
                                                    : "its compiler is not in PATH",
                        script, compiler);
    }
    bool is_terminal = isatty(STDERR_FILENO) == 1 && pli_tty_knows_escapes();
    const char *log = text(file, ".log", "", "");
    fprintf(stderr, "impirun: building libimpi%s with %s; this is done once%s", mpi, compiler,
            is_terminal ? " ..." : "\n");
    bool is_good = build(script, compiler, file, log);
    fprintf(stderr, "%s", is_terminal ? "\r\033[K" : "");
    if (!is_good) {
        pli_impirun_bad("libimpi%s could not be built; %s has what %s said", mpi, log,
                        compiler);
    }
    unlink(log);
    return file;
}
