// SPDX-License-Identifier: BSD-3-Clause
// What to run for a part: our mpiexec, which knows IMPI, or another MPI's with libimpi put in front
// of its library.
#include "part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_EXTRA = 16, MAX_PATH = 4096 };

enum mpi { PLIANT, MPICH, OPENMPI, N_MPI };

static const struct {
    const char *name, *mpiexec;
} mpis[N_MPI] = {
    [PLIANT] = { "pliant", "mpiexec" },
    [MPICH] = { "mpich", "mpiexec.mpich" },
    [OPENMPI] = { "openmpi", "mpiexec.openmpi" },
};

struct part {
    enum mpi mpi;
    const char *shim; // given by the user
    char **rest;
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

const char *pli_part_tool(const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s", here(), name) < 0) {
        pli_impirun_bad("out of memory");
    }
    return path; // of that name there may be others' programs in PATH
}

static struct part read_part(char **words)
{
    struct part p = { .rest = words };
    while (p.rest[0] != NULL && p.rest[1] != NULL) {
        if (strcmp(p.rest[0], "--shim") == 0) {
            p.shim = p.rest[1];
        } else if (strcmp(p.rest[0], "--mpi") == 0) {
            int i = 0;
            while (i < N_MPI && strcmp(mpis[i].name, p.rest[1]) != 0) {
                i++;
            }
            if (i == N_MPI) {
                pli_impirun_bad("--mpi is pliant, mpich or openmpi, not '%s'", p.rest[1]);
            }
            p.mpi = (enum mpi)i;
        } else {
            break;
        }
        p.rest += 2;
    }
    if (p.rest[0] == NULL) {
        pli_impirun_bad("a part of the command line names no program");
    }
    return p;
}

// The library that makes a program of the other MPI a client.
static const char *shim_of(const struct part *p)
{
    static const char *const places[] = { "../lib/", "../lib64/" };
    char *path = NULL;
    if (p->shim != NULL) {
        return p->shim;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (asprintf(&path, "%s%slibimpi-%s.so", here(), places[i], mpis[p->mpi].name) < 0) {
            pli_impirun_bad("out of memory");
        }
        if (access(path, R_OK) == 0) {
            return path;
        }
    }
    pli_impirun_bad("there is no %s; libimpi(7) says how it is built. --shim names another place",
                    path);
}

void pli_part_check(char **words)
{
    struct part p = read_part(words);
    if (p.mpi != PLIANT && access(shim_of(&p), R_OK) != 0) {
        pli_impirun_bad("there is no %s: %s", shim_of(&p), strerror(errno));
    }
}

// What another mpiexec is told besides, for the ranks to find the library and the server.
static int add_extra(const struct part *p, char **argv)
{
    static const char *const names[] = { "IMPI_SERVER", "IMPI_CLIENT", "IMPI_AUTH_KEY",
                                         "IMPI_AUTH_NONE" };
    const char *shim = shim_of(p);
    int n = 0;
    if (p->mpi == MPICH) { // passes its environment on
        argv[n++] = "-genv";
        argv[n++] = "LD_PRELOAD";
        argv[n++] = (char *)(uintptr_t)shim;
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
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i]) != NULL) {
            argv[n++] = "-x";
            argv[n++] = (char *)(uintptr_t)names[i];
        }
    }
    return n;
}

void pli_part_exec(char **words)
{
    struct part p = read_part(words);
    size_t n_word = 0;
    while (p.rest[n_word] != NULL) {
        n_word++;
    }
    char **argv = calloc(n_word + MAX_EXTRA + 2, sizeof *argv);
    if (argv == NULL) {
        pli_impirun_bad("out of memory");
    }
    int n = 0;
    argv[n++] =
        (char *)(uintptr_t)(p.mpi == PLIANT ? pli_part_tool("mpiexec") : mpis[p.mpi].mpiexec);
    if (p.mpi != PLIANT) {
        n += add_extra(&p, argv + n);
    }
    memcpy(argv + n, p.rest, n_word * sizeof *argv);
    execvp(argv[0], argv);
    pli_impirun_bad("cannot run %s: %s", argv[0], strerror(errno));
}
