// SPDX-License-Identifier: BSD-3-Clause
// The memory of one host that ranks record their calls in, for --profile and --timeline.
#ifndef PLI_LAUNCHER_TRACE_MEMORY_H
#define PLI_LAUNCHER_TRACE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_pack;
struct pli_trace_header;

// One memory: that of the ranks that were started, and one of each rank that was restored, which
// has brought its own.
struct pli_trace_memory {
    struct pli_trace_header *header; // NULL: nothing is recorded
    int fd;
    uint32_t n_event;
    uint32_t pid; // whose slots count, 0: all
};

// pli_launcher.trace_memory
struct pli_trace_memory_state {
    struct pli_trace_memory started, *restored;
    uint32_t n_restored;
};

// Make it, where the job's environment asks for it (PLI_TRACE_MODE); ranks that are started from
// now on inherit it. False, with a sentence, where there is no such memory.
bool pli_trace_memory_open(struct pli_job *job);
// Ranks that were restored record in the memory that their image has, of which all is forgotten
// that was before: find that of process `pid`, which knows itself as `own`. False: it has none, or
// one without events where some are asked for.
bool pli_trace_memory_adopt(int pid, int own);
void pli_trace_memory_close(void);

uint32_t pli_trace_memory_count(void);
// What slot i has, with places in the source, times in ns of this host's clock. False: nothing, or
// what cannot be; then why is a sentence about it, else "".
bool pli_trace_memory_pack(uint32_t i, struct pli_pack *p, char *why, unsigned long cap);

#endif
