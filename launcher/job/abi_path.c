// SPDX-License-Identifier: BSD-3-Clause
// Offers the libraries of other MPIs' names to the ranks, and refuses programs that need others.
#include "launcher/job/abi_path.h"

#include "launcher/base/say.h"
#include "launcher/job/environment.h"
#include "launcher/job/foreign_mpi.h"

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

struct look {
    const struct pli_options *opt;
    const struct pli_foreign_mpi *refused;
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
    return true;
}

void pli_abi_path_check(const struct pli_options *opt, struct pli_app *app, const char *path)
{
    struct look l = { .opt = opt };
    if (opt->abi == PLI_ABI_NONE || opt->takes_foreign) {
        return;
    }
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
        pli_say_bad("%s was built with %s: it needs %s, which Pliant MPI does not offer (of other "
                    "MPIs it has the C libraries libmpi.so.12 and libmpi.so.40). Build it again "
                    "with the mpicc beside this %s, or start it with that MPI's; --abi=none "
                    "starts it as it is, each process as a world of its own",
                    app->argv[0], l.refused->mpi, l.library, pli_say_name);
    }
    if (l.is_standard) {
        char *ours = pli_abi_path_make(opt, NULL);
        if (ours != NULL) {
            pli_environment_shorten(app, variable, ours);
        }
        free(ours);
    }
}
