// SPDX-License-Identifier: BSD-3-Clause
// Looks for the libraries of other MPIs among those that a program needs.
#include "launcher/job/foreign_mpi.h"

#include "launcher/base/elf_needed.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The libraries of the others, up to the number of their version. Ours is libmpi_abi.so.0.
static const struct {
    const char *begin, *mpi;
} others[] = {
    { "libmpi.so.12", "MPICH (or Intel MPI, or MVAPICH)" },
    { "libmpich.so.", "MPICH" },
    { "libmpifort.so.", "MPICH" },
    { "libmpichfort.so.", "MPICH" },
    { "libmpi.so.", "Open MPI" },
    { "libmpi_mpifh.so.", "Open MPI" },
    { "libmpi_usempif08.so.", "Open MPI" },
    { "libmpi_cxx.so.", "Open MPI" },
};

struct find {
    const char *mpi;
    char *library;
    size_t cap;
};

static bool look(const char *name, void *arg)
{
    struct find *f = arg;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t len = strlen(others[i].begin);
        bool is_whole = others[i].begin[len - 1] != '.';
        if (strncmp(name, others[i].begin, len) == 0 &&
            (!is_whole || name[len] == '\0' || name[len] == '.')) {
            f->mpi = others[i].mpi;
            snprintf(f->library, f->cap, "%s", name);
            return false;
        }
    }
    return true;
}

const char *pli_foreign_mpi_mpi(const char *path, char *library, size_t cap)
{
    struct find f = { NULL, library, cap };
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (bytes != MAP_FAILED) {
        pli_elf_needed_each(bytes, (size_t)st.st_size, look, &f);
        munmap(bytes, (size_t)st.st_size);
    }
    return f.mpi;
}
