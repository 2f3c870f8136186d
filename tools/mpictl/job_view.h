// SPDX-License-Identifier: BSD-3-Clause
// What all ranks of a job do at one moment, on whichever hosts, for mpictl top and watch.
#ifndef PLI_MPICTL_JOB_VIEW_H
#define PLI_MPICTL_JOB_VIEW_H

#include "boot/node.h"
#include "tools/lib/rank_usage.h"

#include <stdbool.h>
#include <stdint.h>

enum { PLI_JOB_VIEW_DOING = 128 };

// One process, or one of its endpoints or threads that waits.
struct pli_rank_view {
    uint32_t index, pid;
    int32_t ep_rank; // of an endpoint in its communicator, -1: the process itself
    uint32_t tid;    // of a thread among several that wait, 0: none
    bool is_more;    // another one of the same process came before: it has the numbers
    bool is_running; // between MPI_Init and MPI_Finalize
    bool is_waiting; // for more than a tenth of a second
    char host[64];
    const char *state;              // "running", "waiting", "ended", ...
    char doing[PLI_JOB_VIEW_DOING]; // in words
    char call[40], comm[32];        // of a wait; may be empty
    int32_t peer, tag;              // of a wait; below 0: none or any
    uint32_t peer_index;            // UINT32_MAX: none
    uint64_t context;
    double since_s;    // how long it waits
    uint32_t n_behind; // ranks that wait for this one, which does not wait itself
    struct pli_rank_usage usage;
    struct pli_rank_traffic traffic;
    double messages_s, bytes_s, cpu; // since the last look; cpu: cores
};

struct pli_job_view {
    long pid;
    struct pli_node node; // of mpiexec, or of a daemon that has all ranks
    bool is_head;
    uint64_t time_ns; // of the last look
    struct pli_rank_view *ranks;
    uint32_t n_rank;
};

// Ends mpictl where there is no such job.
void pli_job_view_open(struct pli_job_view *v, long pid);
// Look at all ranks. False: the job has ended.
bool pli_job_view_look(struct pli_job_view *v);
void pli_job_view_close(struct pli_job_view *v);

// "12.3k": a number in at most five characters.
void pli_job_view_short(double number, char to[16]);

#endif
