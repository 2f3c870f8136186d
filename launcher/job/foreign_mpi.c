// SPDX-License-Identifier: BSD-3-Clause
// Looks for the libraries of other MPIs among those that a program needs.
#include "launcher/job/foreign_mpi.h"

#include "launcher/base/elf_needed.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The first that fits counts. Ours is libmpi_abi.so.1.
static const struct pli_foreign_mpi libraries[] = {
    { "libmpi.so.12", "MPICH (or Intel MPI, or MVAPICH)", "mpich", false },
    { "libmpich.so.12", "MPICH", "mpich", false },
    { "libmpichcxx.so.12", "MPICH", "mpich", true },
    { "libmpicxx.so.12", "MPICH", "mpich", true },
    { "libmpichfort.so.12", "MPICH", "mpich", true },
    { "libmpifort.so.12", "MPICH", "mpich", true },
    { "libmpich.so.", "MPICH", NULL, false },
    { "libmpifort.so.", "MPICH", NULL, false },
    { "libmpichfort.so.", "MPICH", NULL, false },
    { "libmpi.so.40", "Open MPI", "openmpi", false },
    { "libmpi_cxx.so.40", "Open MPI", "openmpi", true },
    { "libmpi_mpifh.so.40", "Open MPI", "openmpi", false },
    { "libmpi_usempif08.so.40", "Open MPI", "openmpi", true },
    { "libmpi_usempi_ignore_tkr.so.40", "Open MPI", "openmpi", true },
    { "libmpi_usempi.so.40", "Open MPI", "openmpi", true },
    { "libmpi_java.so.40", "Open MPI", "openmpi", true },
    { "libmpi.so.", "Open MPI", NULL, false },
    { "libmpi_mpifh.so.", "Open MPI", NULL, false },
    { "libmpi_usempif08.so.", "Open MPI", NULL, false },
    { "libmpi_usempi_ignore_tkr.so.", "Open MPI", NULL, false },
    { "libmpi_usempi.so.", "Open MPI", NULL, false },
    { "libmpi_cxx.so.", "Open MPI", NULL, false },
    { "libmpi_java.so.", "Open MPI", NULL, false },
    { "liboshmem.so.", "Open MPI (OpenSHMEM)", NULL, false },
};

const struct pli_foreign_mpi *pli_foreign_mpi_find(const char *library)
{
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        size_t len = strlen(libraries[i].begin);
        bool is_whole = libraries[i].begin[len - 1] != '.';
        if (strncmp(library, libraries[i].begin, len) == 0 &&
            (!is_whole || library[len] == '\0' || library[len] == '.')) {
            return &libraries[i];
        }
    }
    return NULL;
}

// The bytes of a file; NULL: it cannot be read. munmap gives them back.
static void *map(const char *path, size_t *len_out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        *len_out = (size_t)st.st_size;
        bytes = mmap(NULL, *len_out, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return bytes != MAP_FAILED ? bytes : NULL;
}

void pli_foreign_mpi_each(const char *path, bool (*fn)(const char *library, void *arg), void *arg)
{
    size_t len = 0;
    void *bytes = map(path, &len);
    if (bytes != NULL) {
        pli_elf_needed_each(bytes, len, fn, arg);
        munmap(bytes, len);
    }
}

char *pli_foreign_mpi_folders(const char *path, bool *is_first_out)
{
    size_t len = 0;
    void *bytes = map(path, &len);
    const char *found = bytes != NULL ? pli_elf_needed_folders(bytes, len, is_first_out) : NULL;
    char *copy = found != NULL ? strdup(found) : NULL;
    if (bytes != NULL) {
        munmap(bytes, len);
    }
    return copy;
}

static bool note(const char *library, void *arg)
{
    (void)library;
    *(bool *)arg = true;
    return false;
}

const char *pli_foreign_mpi_static(const char *path)
{
    // Beginnings of names of settings, which are in the file even without a table of symbols.
    static const char *const marks[][2] = { { "MPIR_CVAR_", "MPICH" },
                                            { "OMPI_MCA_", "Open MPI" } };
    const char *found = NULL;
    size_t len = 0;
    bool is_dynamic = false;
    void *bytes = map(path, &len);
    if (bytes == NULL) {
        return NULL;
    }
    pli_elf_needed_each(bytes, len, note, &is_dynamic);
    if (!is_dynamic && len > SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0) {
        for (size_t i = 0; i < sizeof marks / sizeof marks[0] && found == NULL; i++) {
            bool is_there = memmem(bytes, len, marks[i][0], strlen(marks[i][0])) != NULL;
            found = is_there ? marks[i][1] : NULL;
        }
    }
    munmap(bytes, len);
    return found;
}
