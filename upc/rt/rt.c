// SPDX-License-Identifier: BSD-3-Clause
// The state of the UPC runtime in this process, and the way it ends when the program is wrong.
#include "rt.h"

#include "base/log.h"
#include "boot/boot.h"
#include "msg/lane.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct rt pli_rt;
int pli_rt_threads;
_Thread_local struct rt_thread *pli_rt_self;

void pli_rt_die(const char *fmt, ...)
{
    char text[400];
    int n = pli_rt.threads != NULL ? snprintf(text, sizeof text, "UPC thread %d: ", rt_me()->me)
                                   : snprintf(text, sizeof text, "UPC: ");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    va_end(ap);
    fflush(stdout);
    pli_log(PLI_ERROR, "%s", text);
    if (pli_proc.boot == NULL) {
        _exit(1);
    }
    pli_proc.boot->node.rows[pli_proc.boot->row].is_quiet = 1; // the error was reported here
    pli_proc.boot->ops->abort(pli_proc.boot, 1, text);
    __builtin_unreachable();
}
