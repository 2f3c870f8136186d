// SPDX-License-Identifier: BSD-3-Clause
// Brings what ranks of other hosts recorded to mpiexec, and finds how far their clocks are apart.
#ifndef PLI_LAUNCHER_TRACE_COLLECT_H
#define PLI_LAUNCHER_TRACE_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

struct pli_dframe;
struct pli_job;
struct pli_trace_world;

// In the head: ask all hosts for their clocks, from now on; hear a frame of a daemon, false: it is
// about something else.
void pli_trace_collect_begin(void);
bool pli_trace_collect_told(const struct pli_job *job, uint32_t host, const struct pli_dframe *f);
// Wait until every host that is there has sent all.
void pli_trace_collect_all(const struct pli_job *job);

// What is known of the other clients of an IMPI job. Context: on its first host.
void pli_trace_collect_world(const struct pli_job *job, struct pli_trace_world *out);

// For the watchdog of mpiexec, which does the rest when mpiexec was killed: descriptors that it
// needs, and how many; 0: no file was asked for. There: note it; collect, and write the files.
int pli_trace_collect_keep(const struct pli_job *job, int fds[3]);
void pli_trace_collect_killed(void);
void pli_trace_collect_write(const struct pli_job *job);

// In a daemon: answer a frame of the head; false: it is about something else.
bool pli_trace_collect_asked(const struct pli_dframe *f);

#endif
