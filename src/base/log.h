// SPDX-License-Identifier: BSD-3-Clause
// Lines for people on standard error, each naming the rank once it is known.
#ifndef PLI_BASE_LOG_H
#define PLI_BASE_LOG_H

#include <stdbool.h>

// PLI_COLL: which collective algorithms are taken; on or off by itself.
enum pli_log_level { PLI_ERROR, PLI_WARN, PLI_INFO, PLI_DEBUG, PLI_COLL };

// One line, written with a single system call so that lines of ranks do not mix.
// Context: any thread. Lines above the `log` setting are dropped.
void pli_log(enum pli_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

// Set the rank that lines begin with. Kept as a number: most processes start without ever having a
// line to print.
void pli_log_rank(int rank);
void pli_log_limit(enum pli_log_level level);
void pli_log_coll(bool is_on);

#endif
