// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --on-resize=error: a resize is told by an error of the next call on MPI_COMM_WORLD, which
// means the new version from then on.
#ifndef PLI_ELASTIC_RESIZE_ERROR_H
#define PLI_ELASTIC_RESIZE_ERROR_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// This process came with a version of the world, or began with the first: it works in that. New
// ranks wait in here for the barrier of the others. Context: MPI_COMM_WORLD was just made.
enum pli_err pli_resize_error_begin(void);

// The next version comes from a fork, of which nobody is told; or it does not come after all.
// Context: no other version can come meanwhile.
void pli_resize_error_fork(bool is_begun);
// It is there, and MPI_COMM_WORLD means it.
void pli_resize_error_forked(uint32_t version);

// Tell lower rooms. Context: start-up only.
void pli_resize_error_prepare(void);

#endif
