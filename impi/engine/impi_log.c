// SPDX-License-Identifier: BSD-3-Clause
// Formats the engine's log lines.
#include "engine/impi_log.h"
#include <stdarg.h>
#include <stdio.h>

void pli_impi_log(const struct pli_impi_log *log, enum pli_impi_log_level level, const char *fmt,
                  ...)
{
    char line[400];
    if (log->fn == NULL) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    log->fn(log->arg, level, line);
}
