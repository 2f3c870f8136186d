// SPDX-License-Identifier: BSD-3-Clause
// Where the engine's lines go: a function the embedding program gives.
#ifndef PLI_IMPI_LOG_H
#define PLI_IMPI_LOG_H

enum pli_impi_log_level {
    PLI_IMPI_LOG_ERROR, // the job cannot go on
    PLI_IMPI_LOG_WARN,  // another program did something wrong; the job goes on
    PLI_IMPI_LOG_STEP,  // a state changed
    PLI_IMPI_LOG_NOTE,  // a sentence for the user; nothing is wrong
    PLI_IMPI_LOG_WAIT,  // what is waited for now; "": nothing any more
};

typedef void (*pli_impi_log_fn)(void *arg, enum pli_impi_log_level level, const char *line);

struct pli_impi_log {
    pli_impi_log_fn fn; // NULL: nothing is written
    void *arg;
};

// Print a line on standard error, `who` before it. What is waited for is one line on a terminal,
// which the next one takes the place of.
void pli_impi_log_print(const char *who, enum pli_impi_log_level level, const char *line);

__attribute__((format(printf, 3, 4))) void
pli_impi_log(const struct pli_impi_log *log, enum pli_impi_log_level level, const char *fmt, ...);

#endif
