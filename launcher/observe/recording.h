// SPDX-License-Identifier: BSD-3-Clause
// --profile and --timeline from the command line to the files they make.
#ifndef PLI_LAUNCHER_RECORDING_H
#define PLI_LAUNCHER_RECORDING_H

#include "launcher/observe/trace_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pli_job;
struct pli_trace_world;

// pli_launcher.observe
struct pli_observe_state {
    bool is_on;
    FILE *profile, *timeline; // NULL: not asked for, or to standard error
    struct pli_trace_model model;
    struct pli_host_clock *clocks; // by host
    uint32_t n_clock;
};

// Open the files, so that a name that cannot be written ends mpiexec before anything has started.
void pli_recording_begin(const struct pli_job *job);
bool pli_recording_is_on(void);

// The clock of a host, which is empty at first. It is in memory that is shared with processes which
// are forked later.
struct pli_host_clock *pli_recording_clock(uint32_t host);
// What one thread of a host recorded, as pli_trace_memory_pack packs it.
void pli_recording_hear(uint32_t host, const char *name, const void *data, size_t len);
// The same for all threads of this host.
void pli_recording_read(uint32_t host, const char *name);

// The job is a client of this world; its times are those of `host`.
void pli_recording_world(const struct pli_trace_world *w, uint32_t host);

// Write what was asked for: the job is over.
void pli_recording_finish(const struct pli_job *job);
// The same in another process that has these descriptors of mpiexec, which was killed: only files.
int pli_recording_fds(int fds[3]);                    // how many; 0: there is no file to write
void pli_recording_killed(void);                      // note it
void pli_recording_rescue(const struct pli_job *job); // a job on one host

#endif
