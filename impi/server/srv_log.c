// SPDX-License-Identifier: BSD-3-Clause
// Writes the server's log.
#include "server/srv_log.h"
#include <stdarg.h>
#include <stdio.h>

static enum pli_srv_log_level threshold = PLI_SRV_WARN;

void pli_srv_log_set(enum pli_srv_log_level level)
{
    threshold = level;
}

void pli_srv_log(enum pli_srv_log_level level, const char *fmt, ...)
{
    static const char *const word[] = { "error: ", "warning: ", "" };
    if (level > threshold) {
        return;
    }
    char line[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    fprintf(stderr, "impi-server: %s%s\n", word[level], line);
}
