// SPDX-License-Identifier: BSD-3-Clause
// Formats the reason into an answer.
#include "launcher/base/refuse.h"

#include "boot/launcher_wire.h"

#include <stdarg.h>
#include <stdio.h>

void pli_refuse(struct pli_answer *a, int error, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->text, sizeof a->text, fmt, args);
    va_end(args);
    a->error = error;
}
