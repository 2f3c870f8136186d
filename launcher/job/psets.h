// SPDX-License-Identifier: BSD-3-Clause
// The process sets a job starts with.
#ifndef PLI_LAUNCHER_PSETS_H
#define PLI_LAUNCHER_PSETS_H

#include "boot/pset_wire.h"

#include <stdbool.h>

struct pli_job;

// Take the text of one --pset, "NAME=0-3,7"; option is its name as typed. Exits when it is wrong.
void pli_psets_take(struct pli_job *job, const char *option, const char *text);
// Read the ranks of all --pset options, now that the number of ranks is known. Exits when wrong.
void pli_psets_read(struct pli_job *job);
// Write all sets into the node memory: host, hardware, parts of the command line, the user's.
bool pli_psets_write(struct pli_job *job);
// Add one set to the node memory; false with a message.
bool pli_psets_add(struct pli_job *job, const char *name, const uint32_t *ranks, uint32_t n,
                   enum pli_pset_origin origin);
// Add those of the parts of the command line and the user's; `ranks` has room for all.
bool pli_psets_add_common(struct pli_job *job, uint32_t *ranks);
// Print the user's and the hardware's, one a line: for --dry-run.
void pli_psets_show(const struct pli_job *job);

#endif
