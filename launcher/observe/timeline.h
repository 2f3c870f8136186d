// SPDX-License-Identifier: BSD-3-Clause
// --timeline: the events of all ranks as a file that Perfetto and Chrome's tracing open.
#ifndef PLI_LAUNCHER_TIMELINE_H
#define PLI_LAUNCHER_TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

struct pli_trace_model;

// False: it could not be written.
bool pli_timeline_write(const struct pli_trace_model *m, FILE *to);

// Text as it stands between the quotes of JSON.
void pli_timeline_text(FILE *to, const char *text);

#endif
