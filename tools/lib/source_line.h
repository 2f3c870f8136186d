// SPDX-License-Identifier: BSD-3-Clause
// From an address in a running program to a place in its source.
#ifndef PLI_TOOLS_SOURCE_LINE_H
#define PLI_TOOLS_SOURCE_LINE_H

#include <stddef.h>
#include <stdint.h>

// "solver.c:120", or "solver+0x1a2c" without debug information; "" when nothing is known.
void pli_source_line_find(uint32_t pid, uint64_t address, char *to, size_t cap);

// The same from what pli_call_site_write has written in the process, which may be gone.
void pli_source_line_of(const char *written, char *to, size_t cap);

enum { PLI_SOURCE_LINE_LEN = 96 };

// The same for return addresses of one file, given as distances from its start or as addresses in
// one that is not moved when it is loaded; one answer each.
void pli_source_line_list(const char *path, const uint64_t *places, uint32_t n,
                          char (*texts)[PLI_SOURCE_LINE_LEN]);

#endif
