// SPDX-License-Identifier: BSD-3-Clause
// Where output goes: standard output or standard error of mpiexec, one sink when both are the same
// file. A sink takes whole lines, holds a bounded amount and never makes mpiexec wait.
#ifndef PLI_LAUNCHER_OUTPUT_H
#define PLI_LAUNCHER_OUTPUT_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_stream;

enum pli_sink_kind {
    PLI_SINK_FILE,   // never blocks for long: a file, /dev/null
    PLI_SINK_OPENED, // a pipe or terminal, opened anew so that it can be non-blocking
    PLI_SINK_PIECES, // the same where opening failed: small pieces when poll says so
    PLI_SINK_SOCKET,
};

struct pli_sink {
    struct pli_watch watch; // waits for room only while something is held
    enum pli_sink_kind kind;
    bool is_tty;
    bool is_gone; // the reader closed: what comes is dropped
    int error;    // errno of a failed write, 0 when none
    char *buf;
    size_t head, len, cap;
    const void *last;           // whose bytes came last
    char last_byte;             // '\n' at the start
    struct pli_stream *owner;   // in the middle of a line too long to hold; others wait
    struct pli_stream *waiting; // streams with something to say and no room
};

extern struct pli_sink pli_sink_out;
extern struct pli_sink *pli_sink_err; // may be the same

void pli_sink_init(void);

// Whether len more bytes and a label fit without exceeding the bound.
bool pli_sink_fits(const struct pli_sink *k, size_t len);

// Take bytes of one speaker. When the last line is another's and incomplete, it is ended first;
// `label` (may be "") opens every line.
void pli_sink_put(struct pli_sink *k, const void *who, const char *label, const char *data,
                  size_t len);

// Write what can be written; streams that waited for room go on.
void pli_sink_flush(void);
bool pli_sink_is_empty(void);

#endif
