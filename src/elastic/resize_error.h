// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --on-resize=error: after a resize the next call on MPI_COMM_WORLD returns an error, and
// MPI_COMM_WORLD is the new version from then on.
#ifndef PLI_ELASTIC_RESIZE_ERROR_H
#define PLI_ELASTIC_RESIZE_ERROR_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// Begin with the version of the world that this process was started for. New ranks wait in here for
// the barrier of the others. Context: MPI_COMM_WORLD was just made.
enum pli_err pli_resize_error_begin(void);

// A fork begins to make the next version, for which no rank gets the error (true), or has failed
// (false). Context: no other version can be made meanwhile.
void pli_resize_error_fork(bool is_begun);
// The fork has made the version, and MPI_COMM_WORLD is it.
void pli_resize_error_forked(uint32_t version);

// Register with the rooms below. Context: start-up only.
void pli_resize_error_prepare(void);

#endif
