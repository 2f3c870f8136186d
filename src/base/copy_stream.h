// SPDX-License-Identifier: BSD-3-Clause
// Copying a long run of bytes from or to memory that ranks share.
#ifndef PLI_BASE_COPY_STREAM_H
#define PLI_BASE_COPY_STREAM_H

#include <stddef.h>
#include <string.h>

enum { PLI_COPY_STREAM_MIN = 384 << 10 };

// At least PLI_COPY_STREAM_MIN bytes.
void pli_copy_stream_long(void *to, const void *from, size_t n);

// As memmove(), which is faster with shorter runs. Context of both: any thread.
static inline void pli_copy_stream(void *to, const void *from, size_t n)
{
    if (n < PLI_COPY_STREAM_MIN) {
        memmove(to, from, n);
    } else {
        pli_copy_stream_long(to, from, n);
    }
}

#endif
