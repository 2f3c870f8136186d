// SPDX-License-Identifier: BSD-3-Clause
// The memory of one host that ranks record their calls in, for --profile and --timeline.
#ifndef PLI_LAUNCHER_TRACE_MEMORY_H
#define PLI_LAUNCHER_TRACE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_pack;
struct pli_trace_header;

// pli_launcher.trace_memory
struct pli_trace_memory_state {
    struct pli_trace_header *header; // NULL: nothing is recorded
    int fd;
};

// Make it, where the job's environment asks for it (PLI_TRACE_MODE); ranks that are started from
// now on inherit it. False, with a sentence, where there is no such memory.
bool pli_trace_memory_open(struct pli_job *job);
void pli_trace_memory_close(void);

uint32_t pli_trace_memory_count(void);
// What slot i has, with places in the source, times in ns of this host's clock. False: nothing, or
// what cannot be; then why is a sentence about it, else "".
bool pli_trace_memory_pack(uint32_t i, struct pli_pack *p, char *why, unsigned long cap);

#endif
