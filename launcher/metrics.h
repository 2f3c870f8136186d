// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --metrics: what the ranks do, for Prometheus, over HTTP.
#ifndef PLI_LAUNCHER_METRICS_H
#define PLI_LAUNCHER_METRICS_H

#include "launcher/base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_job;

// Listen where the job's options say, if they do. False with a message.
bool pli_metrics_open(struct pli_job *job);

enum { PLI_METRICS_N_CALLER = 16, PLI_METRICS_REQUEST = 4096 };

// One connection, for one request.
struct pli_metrics_caller {
    struct pli_watch watch;
    struct pli_timer timer;   // when it has taken too long
    bool is_open, is_waiting; // for what other hosts tell
    size_t n_read;
    char request[PLI_METRICS_REQUEST];
    char *answer; // NULL: none yet
    size_t len, n_written;
};

// The listener and its callers: pli_launcher.metrics.
struct pli_metrics_state {
    struct pli_watch listener;
    struct pli_timer again; // ask other hosts again, which were being asked for something else
    struct pli_metrics_caller callers[PLI_METRICS_N_CALLER];
};

#endif
