// SPDX-License-Identifier: BSD-3-Clause
// Runs a part: by the mpiexec of Pliant MPI, which knows IMPI, or by that of another MPI with
// libimpi loaded in front of its library.
#include "impirun_part.h"

#include "impirun.h"
#include "impirun_abi.h"
#include "impirun_options.h"
#include "impirun_shim.h"
#include "impirun_watch.h"
#include "launcher/job/foreign_mpi.h"
#include "wire/impi_token.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EXTRA = 8, MAX_PATH = 4096 };

extern char **environ;

enum mpi { PLIANT, MPICH, OPENMPI, ABI, N_MPI }; // as impirun.opt lists them

static const struct {
    const char *shim, *mpiexec; // mpiexec NULL: that of the library
} mpis[N_MPI] = {
    [PLIANT] = { NULL, "mpiexec" },
    [MPICH] = { "-mpich", "mpiexec.mpich" },
    [OPENMPI] = { "-openmpi", "mpiexec.openmpi" },
    [ABI] = { "_abi", NULL },
};

struct part {
    struct pli_impirun_part_args args;
    char **rest;          // what mpiexec is told
    const char *launcher; // as the user has it; NULL: that of the MPI
    const char *library;  // with the standard ABI and not of Pliant MPI; NULL: not known
};

// The folder of this program, with a slash; "" where the system does not say.
static const char *here(void)
{
    static char path[MAX_PATH];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        slash[1] = '\0';
    }
    return path;
}

const char *pli_impirun_part_tool(const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s", here(), name) < 0) {
        pli_impirun_bad("out of memory");
    }
    return path; // PATH may have programs of other packages with that name
}

// The library that makes a program of the other MPI a client.
static const char *shim_of(const struct part *p)
{
    const char *shim =
        p->args.shim != NULL ? p->args.shim : pli_impirun_shim_find(here(), mpis[p->args.mpi].shim);
    if (strpbrk(shim, " :") != NULL) { // the part would run by itself, and the others wait for it
        pli_impirun_bad("%s cannot be loaded: the loader takes no path with a blank or a colon; "
                        "name a copy with --shim",
                        shim);
    }
    return shim;
}

// Whether a word is the mpiexec of some MPI.
static bool is_launcher(const char *word)
{
    static const char *const names[] = { "mpiexec", "mpirun", "orterun", "prterun", "hydra" };
    const char *slash = strrchr(word, '/'), *name = slash != NULL ? slash + 1 : word;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool note_mpi(const char *library, void *arg)
{
    const struct pli_foreign_mpi *found = pli_foreign_mpi_find(library);
    int *mpi = arg;
    if (strncmp(library, "libmpi_abi.so", 13) == 0) {
        *mpi = PLIANT;
    } else if (found != NULL) {
        *mpi = strncmp(found->mpi, "Open MPI", 8) == 0 ? OPENMPI : MPICH;
    }
    return *mpi < 0;
}

// The MPI of the first word that is the file of a program with one, and the path of that; -1 if
// there is none: a script, or a program that loads its MPI later.
static int mpi_of(char **words, char path[MAX_PATH])
{
    int mpi = -1;
    for (char **at = words; *at != NULL && strcmp(*at, ":") != 0 && mpi < 0; at++) {
        if ((*at)[0] == '-' || is_launcher(*at)) {
            continue;
        }
        if (strchr(*at, '/') != NULL) {
            snprintf(path, MAX_PATH, "%s", *at);
            pli_foreign_mpi_each(path, note_mpi, &mpi);
            continue;
        }
        for (const char *dir = getenv("PATH"); dir != NULL && *dir != '\0' && mpi < 0;) {
            size_t len = strcspn(dir, ":");
            snprintf(path, MAX_PATH, "%.*s/%s", (int)len, dir, *at);
            pli_foreign_mpi_each(path, note_mpi, &mpi);
            dir += len + (dir[len] == ':');
        }
    }
    return mpi;
}

// A part says which MPI it is of by its launcher, by its program, or by --mpi.
static void find_mpi(struct part *p)
{
    char path[MAX_PATH];
    bool has_launcher = is_launcher(p->rest[0]);
    int found = mpi_of(p->rest, path);
    p->library = found == PLIANT ? pli_impirun_abi_library(path) : NULL;
    found = p->library != NULL ? ABI : found;
    if (p->args.mpi == PLIANT && p->args.shim == NULL) {
        p->args.mpi = found >= 0                                              ? found
                      : has_launcher && strstr(p->rest[0], "mpich") != NULL   ? MPICH
                      : has_launcher && strstr(p->rest[0], "openmpi") != NULL ? OPENMPI
                                                                              : PLIANT;
    }
    if (has_launcher) {
        p->launcher = p->rest[0];
        p->rest++;
        if (p->rest[0] == NULL) {
            pli_impirun_bad("no program is named behind %s", p->launcher);
        }
    }
}

// The options of ours in front of the part; the first word that is none belongs to mpiexec.
static struct part read_part(char **words)
{
    struct part p = { .rest = words };
    struct pli_option_reader r = {
        .tool = "impirun", .table = &pli_impirun_options, .part = &p.args, .bad = pli_impirun_bad
    };
    struct pli_option_use use;
    while (p.rest[0] != NULL && pli_options_is_option(p.rest[0]) &&
           pli_options_match(r.table, p.rest, &use) != 0 && use.option->is_part) {
        p.rest += pli_options_take(&r, p.rest);
    }
    if (p.rest[0] == NULL) {
        pli_impirun_bad("a part of the command line names no program");
    }
    find_mpi(&p);
    return p;
}

// The mpiexec that runs the part.
static const char *launcher_of(const struct part *p)
{
    const char *found = p->launcher;
    if (found == NULL && p->args.mpi == ABI) {
        found = p->library != NULL ? pli_impirun_abi_mpiexec(p->library) : NULL;
        if (found == NULL) {
            pli_impirun_bad("no mpiexec is found for %s; name it in front of what it is told: "
                            "impirun ... mpiexec -n 2 PROGRAM",
                            p->library != NULL ? p->library : "a library that is not known");
        }
    }
    return found != NULL           ? found
           : p->args.mpi == PLIANT ? pli_impirun_part_tool("mpiexec")
                                   : mpis[p->args.mpi].mpiexec;
}

void pli_impirun_part_check(char **words)
{
    struct part p = read_part(words);
    (void)launcher_of(&p);
    if (p.args.mpi != PLIANT && access(shim_of(&p), R_OK) != 0) {
        pli_impirun_bad("there is no %s: %s", shim_of(&p), strerror(errno));
    }
}

// The library looks for the agent near itself, and may be anywhere.
static void name_agent(void)
{
    static const char *const places[] = { "../libexec/pliant/", "" };
    char *path = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (asprintf(&path, "%s%simpi-agent", here(), places[i]) < 0) {
            pli_impirun_bad("out of memory");
        }
        if (access(path, X_OK) == 0) {
            setenv("IMPI_AGENT", path, 0); // the user may have set another one
            return;
        }
    }
}

static bool is_ours(const char *variable)
{
    return strncmp(variable, "IMPI_", 5) == 0;
}

static size_t n_variable(void)
{
    size_t n = 0;
    for (char **at = environ; *at != NULL; at++) {
        n += is_ours(*at);
    }
    return n;
}

// Add the words with which ranks below another mpiexec find the library, the agent and the server.
static int add_extra(const struct part *p, char **argv)
{
    const char *shim = shim_of(p);
    int n = 0;
    if (p->args.mpi == MPICH) { // Hydra passes its environment on
        argv[n++] = "-genv";
        argv[n++] = "LD_PRELOAD";
        argv[n++] = (char *)(uintptr_t)shim;
        return n;
    }
    if (p->args.mpi == ABI) { // whose mpiexec has words of its own
        const char *before = getenv("LD_PRELOAD");
        char *all;
        if (asprintf(&all, "%s%s%s", shim, before != NULL ? ":" : "",
                     before != NULL ? before : "") < 0) {
            pli_impirun_bad("out of memory");
        }
        setenv("LD_PRELOAD", all, 1);
        return n;
    }
    if (geteuid() == 0) {
        argv[n++] = "--allow-run-as-root";
    }
    argv[n++] = "--oversubscribe";
    argv[n++] = "-x";
    if (asprintf(&argv[n++], "LD_PRELOAD=%s", shim) < 0) {
        pli_impirun_bad("out of memory");
    }
    for (char **at = environ; *at != NULL; at++) {
        if (is_ours(*at)) {
            argv[n++] = "-x";
            argv[n] = strndup(*at, strcspn(*at, "="));
            if (argv[n++] == NULL) {
                pli_impirun_bad("out of memory");
            }
        }
    }
    return n;
}

void pli_impirun_part_exec(char **words)
{
    struct part p = read_part(words);
    const char *token = getenv("IMPI_TOKEN");
    size_t n_word = 0;
    if (p.args.mpi != PLIANT && token != NULL && pli_impi_token_is_elastic(token)) {
        pli_impirun_bad("this world is elastic, and jobs of %s cannot join it while it runs: they "
                        "have no call for a world that grows",
                        p.args.mpi == MPICH     ? "MPICH"
                        : p.args.mpi == OPENMPI ? "Open MPI"
                                                : "another MPI");
    }
    while (p.rest[n_word] != NULL) {
        n_word++;
    }
    if (p.args.mpi != PLIANT) {
        name_agent();
        pli_impirun_watch_open();
    }
    char **argv = calloc(n_word + MAX_EXTRA + 2 * n_variable() + 2, sizeof *argv);
    if (argv == NULL) {
        pli_impirun_bad("out of memory");
    }
    int n = 0;
    argv[n++] = (char *)(uintptr_t)launcher_of(&p);
    if (p.args.mpi != PLIANT) {
        n += add_extra(&p, argv + n);
    }
    memcpy(argv + n, p.rest, n_word * sizeof *argv);
    if (p.args.mpi != PLIANT) {
        exit(pli_impirun_watch(argv, p.rest));
    }
    execvp(argv[0], argv);
    pli_impirun_bad("cannot run %s: %s", argv[0], strerror(errno));
}
