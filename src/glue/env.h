// SPDX-License-Identifier: BSD-3-Clause
// The surroundings: time, versions, names, memory.
#ifndef PLI_GLUE_ENV_H
#define PLI_GLUE_ENV_H

#include "base/err.h"

#include <mpi.h>

struct pli_info;

double pli_env_wtime(void);
double pli_env_wtick(void);
int pli_env_pcontrol(int level);

enum pli_err pli_env_version(int *version_out, int *subversion_out);
enum pli_err pli_env_library(char *text_out, int *len_out);
enum pli_err pli_env_processor(char *name_out, int *len_out);

// Memory aligned to a cache line, or as the info key mpi_minimum_memory_alignment asks; large
// pieces come in huge pages where the system has them.
enum pli_err pli_env_alloc(MPI_Aint size, struct pli_info *info, void *base_out);
enum pli_err pli_env_free(void *base);

#endif
