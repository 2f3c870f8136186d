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

// What the bytes that came so far ask for. A request that is refused has its answer's status.
enum pli_metrics_verdict {
    PLI_METRICS_MORE, // it is not whole
    PLI_METRICS_GET,
    PLI_METRICS_HEAD,
    PLI_METRICS_BAD,         // 400
    PLI_METRICS_NOT_FOUND,   // 404, after GET
    PLI_METRICS_NO_BODY,     // 404, after HEAD
    PLI_METRICS_NOT_ALLOWED, // 405
    PLI_METRICS_TOO_LONG     // 431
};
// request[n] is 0, and n is less than PLI_METRICS_REQUEST.
enum pli_metrics_verdict pli_metrics_judge(const char *request, size_t n);

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
