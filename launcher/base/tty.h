// SPDX-License-Identifier: BSD-3-Clause
// What the environment says of a terminal: whether it knows escape sequences, and wants colours.
#ifndef PLI_LAUNCHER_TTY_H
#define PLI_LAUNCHER_TTY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Whether a terminal moves its cursor on request; the windows of some editors do not.
static inline bool pli_tty_knows_escapes(void)
{
    const char *terminal = getenv("TERM");
    return terminal != NULL && terminal[0] != '\0' && strcmp(terminal, "dumb") != 0;
}

// Whether text on a terminal may have colours. An empty NO_COLOR does not count, as everywhere.
static inline bool pli_tty_may_color(void)
{
    const char *no_color = getenv("NO_COLOR");
    return pli_tty_knows_escapes() && (no_color == NULL || no_color[0] == '\0');
}

#endif
