// SPDX-License-Identifier: BSD-3-Clause
// Bytes over a socket as protected records, both ways. Both calls wait; so they are for processes
// that have nothing else to do.
#ifndef PLI_BASE_PROTECT_STREAM_H
#define PLI_BASE_PROTECT_STREAM_H

#include "base/protect.h"

struct pli_protect_stream {
    int fd; // not closed here
    int stall_ms;
    struct pli_protect out, in;
    unsigned char *out_buf, *in_buf; // one record each
    size_t at, len;                  // what is left of the last record that came
};

// Keys as of the two directions; a silence of stall_ms is a failure. PLI_ERR_NOMEM.
enum pli_err pli_protect_stream_open(struct pli_protect_stream *s, int fd, int stall_ms,
                                     enum pli_protect_suite suite,
                                     const unsigned char send[PLI_PROTECT_KEY],
                                     const unsigned char receive[PLI_PROTECT_KEY]);
void pli_protect_stream_close(struct pli_protect_stream *s);

// All of it. False: errno; EBADMSG: what came is not what was sent.
bool pli_protect_stream_put(struct pli_protect_stream *s, const void *from, size_t len);
bool pli_protect_stream_get(struct pli_protect_stream *s, void *to, size_t len);

#endif
