// SPDX-License-Identifier: BSD-3-Clause
// One program of MPI_Comm_spawn: the arguments and hints of the user become a part of the request
// to the launcher.
#ifndef PLI_DYNAMIC_SPAWN_PART_H
#define PLI_DYNAMIC_SPAWN_PART_H

#include "base/err.h"

#include <stddef.h>

struct pli_info;

// A request, in a buffer that grows.
struct pli_spawn_buf {
    char *data;
    size_t len, cap;
};
void pli_spawn_buf_put(struct pli_spawn_buf *t, const void *data, size_t len);
void pli_spawn_buf_free(struct pli_spawn_buf *t);

// Append the part of a program: find it, read its hints (host, arch, wdir, path, file, soft,
// env, mpi_initial_errhandler). *n is the number of processes asked for and becomes the number that
// the hints make of it.
enum pli_err pli_spawn_part_add(struct pli_spawn_buf *t, const char *command, char *const argv[],
                                int *n, struct pli_info *info);

#endif
