// SPDX-License-Identifier: BSD-3-Clause
// What became of something that the root tried for all: whoever fails, fails with its sentence.
#ifndef PLI_DYNAMIC_BCAST_ERROR_H
#define PLI_DYNAMIC_BCAST_ERROR_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct pli_comm;

// Collective over comm. why: the root's error, with its sentence, or PLI_OK; all get it. word: the
// root's; all get that too.
enum pli_err pli_bcast_error_share(struct pli_comm *comm, int root, enum pli_err why,
                                   int32_t *word);

// The same for some bytes that the root has to tell.
enum pli_err pli_bcast_error_copy(struct pli_comm *comm, int root, void *buf, size_t len);

#endif
