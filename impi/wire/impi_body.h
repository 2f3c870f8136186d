// SPDX-License-Identifier: BSD-3-Clause
// A payload of announced length, gathered as its bytes arrive. Memory grows with what came, never
// with what was announced. Context: one thread.
#ifndef PLI_IMPI_BODY_H
#define PLI_IMPI_BODY_H

#include <stddef.h>
#include "wire/impi_err.h"

struct pli_impi_body { // all zero: nothing is being gathered
    unsigned char *data;
    size_t len, cap, want;
};

// Begin to gather `want` bytes; what was there is dropped but its memory is used again.
void pli_impi_body_begin(struct pli_impi_body *b, size_t want);

// Take up to `len` bytes; `n_out` says how many. PLI_IMPI_OK: complete, data and want describe it.
// PLI_IMPI_AGAIN: more are to come. ERR_NOMEM.
enum pli_impi_err pli_impi_body_take(struct pli_impi_body *b, const unsigned char *p, size_t len,
                                     size_t *n_out);

// Give the data to the caller, who frees it.
unsigned char *pli_impi_body_release(struct pli_impi_body *b);
void pli_impi_body_fini(struct pli_impi_body *b);

#endif
