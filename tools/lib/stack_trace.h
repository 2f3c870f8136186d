// SPDX-License-Identifier: BSD-3-Clause
// The stacks of the threads of a running process, with places in the source, by libdw.
#ifndef PLI_TOOLS_STACK_TRACE_H
#define PLI_TOOLS_STACK_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Print the stack of every thread of a process of this host. It stands still for a moment
// meanwhile. Where that is not possible a sentence says why, and false is returned.
bool pli_stack_trace_print(uint32_t pid, FILE *to);

#endif
