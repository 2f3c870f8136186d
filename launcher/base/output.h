// SPDX-License-Identifier: BSD-3-Clause
// Where output goes: standard output or standard error of mpiexec, one sink when both are the same
// file. A sink takes whole lines, holds a bounded amount and never makes mpiexec wait.
#ifndef PLI_LAUNCHER_OUTPUT_H
#define PLI_LAUNCHER_OUTPUT_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_output_lines;

enum pli_output_kind {
    PLI_OUTPUT_FILE,   // never blocks for long: a file, /dev/null
    PLI_OUTPUT_OPENED, // a pipe or terminal, opened anew so that it can be non-blocking
    PLI_OUTPUT_PIECES, // the same where opening failed: small pieces when poll says so
    PLI_OUTPUT_SOCKET,
};

struct pli_output {
    struct pli_watch watch; // waits for room only while something is held
    enum pli_output_kind kind;
    bool is_tty;
    bool has_progress; // a line of pli_output_progress is shown
    bool is_gone;      // the reader closed: what comes is dropped
    int error;         // errno of a failed write, 0 when none
    char *buf;
    size_t head, len, cap;
    const void *last;                 // whose bytes came last
    char last_byte;                   // '\n' at the start
    struct pli_output_lines *owner;   // in the middle of a line too long to hold; others wait
    struct pli_output_lines *waiting; // streams with something to say and no room
};

// Standard output and standard error of mpiexec: pli_launcher.output.
struct pli_output_state {
    struct pli_output out;
    struct pli_output *err; // may be the same
    struct pli_output own_err;
};
void pli_output_init(void); // its first values

// Find out what both are, and let messages of mpiexec go there. Context: main made sure that both
// are open.
void pli_output_open(void);

// Whether len more bytes and a label fit without exceeding the bound.
bool pli_output_fits(const struct pli_output *k, size_t len);

// Take bytes of one speaker. When the last line is another's and incomplete, it is ended first;
// `label` (may be "") opens every line.
void pli_output_put(struct pli_output *k, const void *who, const char *label, const char *data,
                    size_t len);

// Show this line on the terminal that is standard error, in the place of the last one, until
// anything else is printed; "" removes it. Where there is no terminal nothing is shown.
void pli_output_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Write what can be written; streams that waited for room go on.
void pli_output_flush(void);
bool pli_output_is_empty(void);

#endif
