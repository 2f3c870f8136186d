// SPDX-License-Identifier: BSD-3-Clause
// The surroundings of a process whose program was built with another MPI.
#include "foreign_env.h"

#include "foreign_calls.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void end(const char *why, const char *more)
{
    fprintf(stderr, "Pliant MPI, as %s (" F_LIBRARY "): %s%s\n", F_MPI_NAME, why, more);
    fflush(NULL);
    _exit(1);
}

_Noreturn void pli_foreign_env_lacks(const char *function)
{
    end(function, " was called, which Pliant MPI does not have; the program ends");
}

_Noreturn void pli_foreign_env_end(const char *why)
{
    end(why, "");
}

_Noreturn void pli_foreign_env_full(void)
{
    end("more than 4 GiB of MPI objects are alive, and its handles have no more numbers", "");
}

// The libraries by which a process gets an MPI.
static bool is_mpi(const char *path)
{
    static const char *const names[] = { "libmpi.so.12", "libmpich.so.12", "libmpi.so.40" };
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

// Whether a file is in the folder of this library: one that leads to it.
static bool is_beside(const char *path)
{
    Dl_info us;
    const char *slash = strrchr(path, '/');
    if (slash == NULL || dladdr((const void *)&pli_foreign_env_check, &us) == 0 ||
        us.dli_fname == NULL) {
        return false;
    }
    size_t len = (size_t)(slash - path) + 1;
    return strncmp(us.dli_fname, path, len) == 0 && strchr(us.dli_fname + len, '/') == NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *other_out)
{
    (void)size;
    if (!is_mpi(info->dlpi_name) || is_beside(info->dlpi_name)) {
        return 0;
    }
    const char *self = (const char *)&pli_foreign_env_check;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *begin = (const char *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_LOAD && self >= begin && self < begin + p->p_memsz) {
            return 0;
        }
    }
    *(const char **)other_out = info->dlpi_name;
    return 1;
}

void pli_foreign_env_check(void)
{
    const char *other = NULL;
    dl_iterate_phdr(look, &other);
    if (other != NULL) {
        end("this process has loaded a second MPI; a program and its libraries must be built with "
            "the same one. The second is ",
            other);
    }
}

void *pli_foreign_env_room(void *few, MPI_Count n, size_t size)
{
    if (n <= PLI_FOREIGN_FEW) {
        return few;
    }
    void *room = malloc((size_t)n * size);
    if (room == NULL) {
        end("there is no memory for the arguments of a call", "");
    }
    return room;
}

void pli_foreign_env_leave(void *room, const void *few)
{
    if (room != few) {
        free(room);
    }
}

void pli_foreign_env_text(char *to, const char *from, int cap, int *length)
{
    size_t len = strlen(from);
    if (len >= (size_t)cap) {
        len = (size_t)cap - 1;
    }
    memcpy(to, from, len);
    to[len] = '\0';
    if (length != NULL) {
        *length = (int)len;
    }
}

bool pli_foreign_env_is_root(F_Comm comm, int root)
{
    int rank = -1;
    return pli_std_MPI_Comm_rank(pli_foreign_comm_in(comm), &rank) == 0 && rank == root;
}

int pli_foreign_env_sum(const int *n, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += n[i];
    }
    return sum;
}

void pli_foreign_env_spawned(int *codes, int n)
{
    for (int i = 0; i < n; i++) {
        codes[i] = codes[i] == 0 ? 0 : pli_foreign_error_out(codes[i]);
    }
}

int pli_foreign_env_version(int *version, int *subversion)
{
    int unused;
    if (version == NULL || subversion == NULL) { // says what is wrong
        return pli_foreign_error_out(
            pli_std_MPI_Get_version(version == NULL ? NULL : &unused, NULL));
    }
    *version = F_MPI_VERSION;
    *subversion = F_MPI_SUBVERSION;
    return 0;
}

// Programs ask for the name that they know, and to what they talk.
int pli_foreign_env_library(char *version, int *resultlen)
{
    char ours[MPI_MAX_LIBRARY_VERSION_STRING], both[2 * MPI_MAX_LIBRARY_VERSION_STRING];
    int err = pli_std_MPI_Get_library_version(version != NULL ? ours : NULL, resultlen);
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    snprintf(both, sizeof both, F_LIBRARY_VERSION " %s", ours);
    pli_foreign_env_text(version, both, F_MPI_MAX_LIBRARY_VERSION_STRING, resultlen);
    return 0;
}

// In Fortran a status is an array with the same numbers.
extern MPI_Fint *MPI_F_STATUS_IGNORE;

int pli_foreign_env_status_c2f(const F_Status *c_status, MPI_Fint *f_status)
{
    if (c_status == F_MPI_STATUS_IGNORE || c_status == NULL || f_status == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    memcpy(f_status, c_status, sizeof *c_status);
    return 0;
}

int pli_foreign_env_status_f2c(const MPI_Fint *f_status, F_Status *c_status)
{
    if (f_status == NULL || f_status == MPI_F_STATUS_IGNORE || c_status == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    memcpy(c_status, f_status, sizeof *c_status);
    return 0;
}
