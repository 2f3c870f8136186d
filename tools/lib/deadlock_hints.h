// SPDX-License-Identifier: BSD-3-Clause
// Prints what looks like the mistake that caused a deadlock.
#ifndef PLI_TOOLS_DEADLOCK_HINTS_H
#define PLI_TOOLS_DEADLOCK_HINTS_H

#include "tools/lib/job_status.h"

void pli_deadlock_hints_print(const struct pli_node *node, pli_job_status_over_fn is_over,
                              void *arg,
                              void (*line)(const char *fmt, ...)
                                  __attribute__((format(printf, 1, 2))));

#endif
