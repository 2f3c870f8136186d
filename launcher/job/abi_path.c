// SPDX-License-Identifier: BSD-3-Clause
// Offers the libraries of other MPIs' names to the ranks, and refuses programs that need others.
#include "launcher/job/abi_path.h"

#include "launcher/base/say.h"
#include "launcher/job/secure_exec.h"
#include "launcher/job/environment.h"
#include "launcher/job/foreign_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "LD_LIBRARY_PATH";

bool pli_abi_path_base(char *to, size_t cap)
{
    static const char *const libs[] = { PLIANT_LIBDIR, "lib" };
    char exe[3072], folder[3200];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) {
        return false;
    }
    exe[n] = '\0';
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(exe, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof libs / sizeof libs[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s/pliant", exe, libs[i]);
        if (access(folder, R_OK) == 0) {
            return snprintf(to, cap, "%s", folder) < (int)cap;
        }
    }
    return false;
}

static bool is_offered(const struct pli_options *opt, const char *folder)
{
    if (folder == NULL || opt->takes_foreign) {
        return false;
    }
    if (strcmp(folder, "standard") == 0) {
        return opt->abi != PLI_ABI_NONE;
    }
    switch (opt->abi) {
    case PLI_ABI_AUTO:
        return true;
    case PLI_ABI_MPICH:
        return strcmp(folder, "mpich") == 0;
    case PLI_ABI_OPENMPI:
        return strcmp(folder, "openmpi") == 0;
    default:
        return false;
    }
}

char *pli_abi_path_make(const struct pli_options *opt, const char *old)
{
    static const char *const folders[] = { "standard", "mpich", "openmpi" };
    char base[3200], *path = NULL;
    if (!pli_abi_path_base(base, sizeof base)) {
        return NULL;
    }
    for (size_t i = sizeof folders / sizeof folders[0]; i-- > 0;) {
        const char *rest = path != NULL ? path : old != NULL ? old : "";
        char *longer = NULL;
        if (is_offered(opt, folders[i])) {
            int n =
                asprintf(&longer, "%s/%s%s%s", base, folders[i], *rest != '\0' ? ":" : "", rest);
            longer = pli_say_need(n >= 0 ? longer : NULL);
            free(path);
            path = longer;
        }
    }
    return path;
}

// The folder lib of the R whose program R or Rscript this is; false: it is another program.
static bool find_r_library(const char *path, char *to, size_t cap)
{
    static const char *const homes[] = { "", "/lib/R", "/lib64/R" }; // beside bin/
    char prefix[PATH_MAX], script[PATH_MAX + 32];
    if (realpath(path, prefix) == NULL) {
        return false;
    }
    char *bin = strstr(prefix, "/bin/R");
    if (bin == NULL || (strcmp(bin, "/bin/R") != 0 && strcmp(bin, "/bin/Rscript") != 0)) {
        return false;
    }
    *bin = '\0';
    for (size_t i = 0; i < sizeof homes / sizeof homes[0]; i++) {
        snprintf(script, sizeof script, "%s%s/etc/ldpaths", prefix, homes[i]);
        if (access(script, R_OK) == 0) {
            return snprintf(to, cap, "%s%s/lib", prefix, homes[i]) < (int)cap;
        }
    }
    return false;
}

// R's start script puts R_LD_LIBRARY_PATH, which it makes of its own folder and the system's,
// before LD_LIBRARY_PATH: there the ranks would find the other MPI first.
static void offer_to_r(const struct pli_options *opt, struct pli_app *app, const char *path)
{
    static const char r_variable[] = "R_LD_LIBRARY_PATH";
    char library[PATH_MAX + 32];
    if (!find_r_library(path, library, sizeof library)) {
        return;
    }
    const char *old = pli_environment_get(app, r_variable);
    char *offered = pli_abi_path_make(opt, old != NULL ? old : library);
    if (offered != NULL) {
        pli_environment_set(app, r_variable, offered);
    }
    free(offered);
}

struct look {
    const struct pli_options *opt;
    const struct pli_foreign_mpi *refused, *wanted;
    char library[128];
    bool is_standard;
};

static bool look(const char *library, void *arg)
{
    struct look *l = arg;
    const struct pli_foreign_mpi *found = pli_foreign_mpi_find(library);
    l->is_standard |= strncmp(library, "libmpi_abi.so.", 14) == 0;
    if (found != NULL && !is_offered(l->opt, found->folder)) {
        l->refused = found;
        snprintf(l->library, sizeof l->library, "%s", library);
        return false;
    }
    l->wanted = found != NULL ? found : l->wanted;
    return true;
}

// Programs that will not find our libraries, whatever we set.
static void warn(const struct pli_app *app, const char *path, const struct pli_foreign_mpi *wanted)
{
    const char *reason = wanted != NULL ? pli_secure_exec_reason(path) : NULL;
    const char *inside = wanted == NULL ? pli_foreign_mpi_static(path) : NULL;
    if (reason != NULL) {
        pli_say("%s %s, so that the loader ignores LD_LIBRARY_PATH: it finds %s in place of Pliant "
                "MPI, and each process is a world of its own. Start it as a user who gains nothing "
                "by that, or take it from the file; --abi=none says that this is meant",
                app->argv[0], reason, wanted->mpi);
    }
    if (inside != NULL) {
        pli_say("%s has %s linked into it, so that it cannot run on Pliant MPI: each process is a "
                "world of its own. Link it with shared libraries; --abi=none says that this is "
                "meant",
                app->argv[0], inside);
    }
}

// A program with folders in its file.
struct with_folders {
    const char *program;
    const char *folders;
    char base[3200];
    char *preload; // libraries of ours that they would hide
};

// Whether one of the folders has a library. $ORIGIN is that of the program.
static bool has_library(const struct with_folders *f, const char *library)
{
    const char *slash = strrchr(f->program, '/');
    int n_origin = slash != NULL ? (int)(slash - f->program) : 0;
    for (const char *at = f->folders; *at != '\0'; at += strspn(at, ":")) {
        int len = (int)strcspn(at, ":"), skip = 0;
        char file[8192];
        if (strncmp(at, "$ORIGIN", 7) == 0 || strncmp(at, "${ORIGIN}", 9) == 0) {
            skip = at[1] == '{' ? 9 : 7;
        }
        snprintf(file, sizeof file, "%.*s%.*s/%s", skip > 0 ? n_origin : 0, f->program, len - skip,
                 at + skip, library);
        if (access(file, R_OK) == 0) {
            return true;
        }
        at += len;
    }
    return false;
}

static bool add_hidden(const char *library, void *arg)
{
    struct with_folders *f = arg;
    const struct pli_foreign_mpi *found = pli_foreign_mpi_find(library);
    if (found != NULL && !found->is_above && has_library(f, library)) {
        char *longer = NULL;
        int n = asprintf(&longer, "%s%s%s/%s/%s", f->preload != NULL ? f->preload : "",
                         f->preload != NULL ? ":" : "", f->base, found->folder, library);
        longer = pli_say_need(n >= 0 ? longer : NULL);
        free(f->preload);
        f->preload = longer;
    }
    return true;
}

// Where the loader looks into these folders first: a library that is loaded already is not looked
// for.
static void preload_hidden(struct pli_app *app, const char *path)
{
    bool is_first = false;
    char *folders = pli_foreign_mpi_folders(path, &is_first);
    struct with_folders f = { .program = path, .folders = folders };
    if (folders != NULL && is_first && pli_abi_path_base(f.base, sizeof f.base)) {
        pli_foreign_mpi_each(path, add_hidden, &f);
    }
    if (f.preload != NULL) {
        const char *old = pli_environment_get(app, "LD_PRELOAD");
        char *all = NULL;
        int n = asprintf(&all, "%s%s%s", f.preload, old != NULL ? ":" : "", old != NULL ? old : "");
        pli_environment_set(app, "LD_PRELOAD", pli_say_need(n >= 0 ? all : NULL));
        free(all);
    }
    free(f.preload);
    free(folders);
}

// Whether a program was linked with our library in a folder where it is no more.
static bool is_left_alone(const char *path)
{
    bool is_first;
    char *folders = pli_foreign_mpi_folders(path, &is_first);
    struct with_folders f = { .program = path, .folders = folders };
    bool is_left = folders != NULL && !has_library(&f, "libmpi_abi.so.1");
    free(folders);
    return is_left;
}

void pli_abi_path_check(const struct pli_options *opt, struct pli_app *app, const char *path)
{
    struct look l = { .opt = opt };
    if (opt->abi == PLI_ABI_NONE || opt->takes_foreign) {
        return;
    }
    offer_to_r(opt, app, path);
    pli_foreign_mpi_each(path, look, &l);
    if (l.refused != NULL && l.refused->folder != NULL) {
        pli_say_bad("%s was built with %s: it needs %s, which --abi=%s does not offer. Leave the "
                    "option away, or build the program again with the mpicc beside this %s; "
                    "--abi=none starts it as it is, each process as a world of its own",
                    app->argv[0], l.refused->mpi, l.library,
                    opt->abi == PLI_ABI_MPICH     ? "mpich"
                    : opt->abi == PLI_ABI_OPENMPI ? "openmpi"
                                                  : "standard",
                    pli_say_name);
    }
    if (l.refused != NULL) {
        pli_say_bad(
            "%s was built with %s: it needs %s, which Pliant MPI does not offer (of other "
            "MPIs it has libmpi.so.12 and libmpi.so.40, in C, C++ and Fortran). Build it again "
            "with the mpicc beside this %s, or start it with that MPI's; --abi=none "
            "starts it as it is, each process as a world of its own",
            app->argv[0], l.refused->mpi, l.library, pli_say_name);
    }
    warn(app, path, l.wanted);
    preload_hidden(app, path);
    if (l.is_standard && !is_left_alone(path)) {
        char *ours = pli_abi_path_make(opt, NULL);
        if (ours != NULL) {
            pli_environment_shorten(app, variable, ours);
        }
        free(ours);
    }
}
