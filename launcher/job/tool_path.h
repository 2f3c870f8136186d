// SPDX-License-Identifier: BSD-3-Clause
// The libraries that the loader puts between a program and MPI: --tool, --check, --profile,
// --timeline.
#ifndef PLI_LAUNCHER_TOOL_PATH_H
#define PLI_LAUNCHER_TOOL_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct pli_options;

enum { PLI_TOOL_PATH_EVENTS = 131072 }; // kept of a rank, unless --timeline-events says otherwise

// The tools as the loader wants them, with colons, and as paths where they name files; of the heap,
// NULL: none. Ends mpiexec with a sentence where one is not there.
char *pli_tool_path_list(const struct pli_options *opt);

// LD_PRELOAD of the ranks, before what the user has set; of the heap, NULL: nothing is added.
char *pli_tool_path_preload(const struct pli_options *opt, const char *tools, const char *old);

// What the recorder is told (PLI_TRACE_MODE); false: it is not there.
bool pli_tool_path_trace(const struct pli_options *opt, char *to, size_t cap);

#endif
