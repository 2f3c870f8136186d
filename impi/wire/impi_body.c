// SPDX-License-Identifier: BSD-3-Clause
// Gathers a payload.
#include "wire/impi_body.h"
#include <stdlib.h>
#include <string.h>

void pli_impi_body_begin(struct pli_impi_body *b, size_t want)
{
    b->len = 0;
    b->want = want;
}

enum pli_impi_err pli_impi_body_take(struct pli_impi_body *b, const unsigned char *p, size_t len,
                                     size_t *n_out)
{
    size_t n = b->want - b->len;
    n = n < len ? n : len;
    if (b->len + n > b->cap) {
        size_t cap = 2 * (b->len + n);
        cap = cap < b->want ? cap : b->want;
        unsigned char *bigger = realloc(b->data, cap);
        if (bigger == NULL) {
            return PLI_IMPI_ERR_NOMEM;
        }
        b->data = bigger;
        b->cap = cap;
    }
    if (n > 0) {
        memcpy(b->data + b->len, p, n);
        b->len += n;
    }
    *n_out = n;
    return b->len == b->want ? PLI_IMPI_OK : PLI_IMPI_AGAIN;
}

unsigned char *pli_impi_body_release(struct pli_impi_body *b)
{
    unsigned char *data = b->data;
    *b = (struct pli_impi_body){ 0 };
    return data;
}

void pli_impi_body_fini(struct pli_impi_body *b)
{
    free(b->data);
    *b = (struct pli_impi_body){ 0 };
}
