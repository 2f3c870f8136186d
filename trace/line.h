// SPDX-License-Identifier: BSD-3-Clause
// Lines of the source for the sentences of --check and --replay.
#ifndef PLI_TRACE_LINE_H
#define PLI_TRACE_LINE_H

#include <stdint.h>

// Several libraries in one process have a copy.
#pragma GCC visibility push(hidden)

// A place as it travels: which file, and how far from its start. Its text: "solver.c:12".
uint64_t pli_line_place(const void *site);
const char *pli_line_text(uint64_t place);
const char *pli_line_of(const void *site);

#pragma GCC visibility pop

#endif
