// SPDX-License-Identifier: BSD-3-Clause
// Formats the engine's log lines.
#include "engine/impi_log.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

void pli_impi_log(const struct pli_impi_log *log, enum pli_impi_log_level level, const char *fmt,
                  ...)
{
    char line[700];
    if (log->fn == NULL) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    log->fn(log->arg, level, line);
}

void pli_impi_log_print(const char *who, enum pli_impi_log_level level, const char *line)
{
    static bool is_open; // a line on the terminal has no end yet
    char text[1100];
    bool is_terminal = isatty(STDERR_FILENO) == 1, waits = level == PLI_IMPI_LOG_WAIT;
    if (waits && line[0] == '\0' && !is_open) {
        return;
    }
    int n = snprintf(text, sizeof text, "%s%s%s%s%s", is_open ? "\r\033[K" : "",
                     line[0] != '\0' ? who : "", line[0] != '\0' ? ": " : "", line,
                     line[0] == '\0' || (waits && is_terminal) ? "" : "\n");
    is_open = waits && is_terminal && line[0] != '\0';
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    ssize_t done = write(STDERR_FILENO, text, (size_t)n); // in one piece
    (void)done; // nothing can be done when standard error is closed
}
