// SPDX-License-Identifier: BSD-3-Clause
// One line at a time to standard error.
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int speaker = -1; // -1: not known
static enum pli_log_level limit = PLI_WARN;
static bool has_coll;

void pli_log_rank(int rank)
{
    speaker = rank;
}

void pli_log_limit(enum pli_log_level level)
{
    limit = level;
}

void pli_log_coll(bool is_on)
{
    has_coll = is_on;
}

void pli_log(enum pli_log_level level, const char *fmt, ...)
{
    static const char *const word[] = { "error", "warning", "info", "debug", "coll" };
    if (level == PLI_COLL ? !has_coll : level > limit) {
        return;
    }
    char line[1024];
    int n = speaker < 0 ? snprintf(line, sizeof line, "pliant: %s: ", word[level])
                        : snprintf(line, sizeof line, "pliant rank %d: %s: ", speaker, word[level]);
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);
    if (len > sizeof line - 2) {
        len = sizeof line - 2;
    }
    line[len++] = '\n';
    ssize_t done = write(STDERR_FILENO, line, len);
    (void)done; // nothing sensible is left to do when standard error is gone
}
