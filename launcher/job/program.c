// SPDX-License-Identifier: BSD-3-Clause
// Looks a program up as execvp would, and explains what is wrong with it.
#include "launcher/job/program.h"

#include "launcher/job/abi_path.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char *join(const char *dir, size_t dir_len, const char *name)
{
    char *path;
    int n = asprintf(&path, "%.*s%s%s", (int)dir_len, dir, dir_len > 0 ? "/" : "", name);
    return pli_say_need(n >= 0 ? path : NULL);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode) && access(path, X_OK) == 0;
}

static void check_wdir(const struct pli_app *app)
{
    struct stat st;
    if (app->wdir == NULL) {
        return;
    }
    if (stat(app->wdir, &st) != 0) {
        pli_say_bad("cannot run %s in the directory %s: %s", app->argv[0], app->wdir,
                    strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        pli_say_bad("cannot run %s in %s: it is not a directory", app->argv[0], app->wdir);
    }
    if (access(app->wdir, X_OK) != 0) {
        pli_say_bad("cannot run %s in the directory %s: %s", app->argv[0], app->wdir,
                    strerror(errno));
    }
}

// People start their sources, too.
static void refuse_source(const char *name, const char *where)
{
    static const struct {
        const char *suffix, *compiler;
    } sources[] = { { ".c", "mpicc" },     { ".cc", "mpicxx" },   { ".cpp", "mpicxx" },
                    { ".cxx", "mpicxx" },  { ".C", "mpicxx" },    { ".f", "mpifort" },
                    { ".f90", "mpifort" }, { ".F90", "mpifort" }, { ".f08", "mpifort" },
                    { ".upc", "upcc" } };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof sources / sizeof sources[0]; i++) {
        if (strcmp(dot, sources[i].suffix) == 0) {
            pli_say_bad("cannot run %s%s: it is a source; compile it first: %s -o %.*s %s", name,
                        where, sources[i].compiler, (int)(dot - name), name, name);
        }
    }
    if (dot != NULL && strcmp(dot, ".o") == 0) {
        pli_say_bad("cannot run %s%s: it is compiled, but not linked: mpicc -o %.*s %s (or mpicxx, "
                    "mpifort)",
                    name, where, (int)(dot - name), name, name);
    }
    if (dot != NULL && strcmp(dot, ".py") == 0) {
        pli_say_bad("cannot run %s%s: it is not executable; start it with python3 %s", name, where,
                    name);
    }
}

// With path, the place of the program as this process sees it.
static _Noreturn void not_executable(const char *name, const char *where, const char *path,
                                     const struct stat *st)
{
    struct statvfs mount;
    refuse_source(name, where);
    if (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
        pli_say_bad("cannot run %s%s: no program may be run from its file system, which is mounted "
                    "with noexec; copy it to another one",
                    name, where);
    }
    if (geteuid() != 0 && st->st_uid != geteuid()) {
        pli_say_bad("cannot run %s%s: you may not execute it; its owner can allow that: chmod a+rx "
                    "%s",
                    name, where, name);
    }
    pli_say_bad("cannot run %s%s: it is not executable; try chmod +x %s", name, where, name);
}

// A name with a slash: relative to the directory the program will run in.
static char *find_file(const struct pli_app *app)
{
    const char *name = app->argv[0];
    bool is_moved = name[0] != '/' && app->wdir != NULL;
    char *path = is_moved ? join(app->wdir, strlen(app->wdir), name) : pli_say_need(strdup(name));
    const char *in = is_moved ? " in " : "", *dir = is_moved ? app->wdir : "";
    struct stat st;
    if (stat(path, &st) != 0) {
        if (is_moved && access(name, F_OK) == 0) {
            pli_say_bad(
                "cannot run %s in %s: there is no such file; the one in this directory needs "
                "its full path",
                name, dir);
        }
        pli_say_bad("cannot run %s%s%s: %s", name, in, dir,
                    errno == ENOENT ? "there is no such file" : strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        pli_say_bad("cannot run %s%s%s: it is a directory", name, in, dir);
    }
    if (access(path, X_OK) != 0) {
        char where[4096];
        int error = errno;
        snprintf(where, sizeof where, "%s%s", in, dir);
        if (error == EACCES) {
            not_executable(name, where, path, &st);
        }
        pli_say_bad("cannot run %s%s: %s", name, where, strerror(error));
    }
    free(path);
    return pli_say_need(strdup(name)); // the rank changes directory first
}

static const char *search_path(const struct pli_app *app)
{
    // The rank's own PATH counts, for that is where a shell in the rank would look.
    for (int i = 0; i < app->env_own; i++) {
        if (strncmp(app->env[i], "PATH=", 5) == 0) {
            return app->env[i] + 5;
        }
    }
    const char *path = getenv("PATH");
    return path != NULL ? path : "/usr/local/bin:/usr/bin:/bin";
}

static char *find_in_path(const struct pli_app *app)
{
    const char *name = app->argv[0];
    char here[4096];
    for (const char *dir = search_path(app);; dir++) {
        size_t len = strcspn(dir, ":");
        char *path = join(len > 0 ? dir : ".", len > 0 ? len : 1, name);
        if (is_program(path)) {
            if (path[0] == '/' || getcwd(here, sizeof here) == NULL) {
                return path;
            }
            char *full = join(here, strlen(here), path);
            free(path);
            return full;
        }
        free(path);
        dir += len;
        if (*dir == '\0') {
            break;
        }
    }
    struct stat st;
    bool is_here = stat(name, &st) == 0;
    if (is_here && S_ISREG(st.st_mode)) {
        if (access(name, X_OK) != 0) {
            refuse_source(name, "");
        }
        pli_say_bad("there is no program %s in PATH; the file in this directory is ./%s", name,
                    name);
    }
    if (is_here && S_ISDIR(st.st_mode)) {
        pli_say_bad("cannot run %s: it is a directory", name);
    }
    if (name[strspn(name, "0123456789")] == '\0') {
        pli_say_bad("there is no program %s in PATH; try -n %s for the number of ranks", name,
                    name);
    }
    pli_say_bad("there is no program %s in PATH, and no such file in this directory", name);
}

void pli_program_find(struct pli_app *app, const struct pli_options *opt)
{
    check_wdir(app);
    app->path = strchr(app->argv[0], '/') != NULL ? find_file(app) : find_in_path(app);
    bool is_moved = app->path[0] != '/' && app->wdir != NULL;
    char *path =
        is_moved ? join(app->wdir, strlen(app->wdir), app->path) : pli_say_need(strdup(app->path));
    pli_abi_path_check(opt, app, path);
    free(path);
}
