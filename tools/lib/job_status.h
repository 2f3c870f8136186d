// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on this host are doing, read from the memory they share: for a deadlock
// report and for mpictl. Reads only.
#ifndef PLI_TOOLS_JOB_STATUS_H
#define PLI_TOOLS_JOB_STATUS_H

#include "boot/node.h"

#include <stdbool.h>

// Whether the process of a row has ended, as far as the caller knows.
typedef bool (*pli_job_status_over_fn)(void *arg, uint32_t row);

// True: every rank that is left sleeps inside MPI and nothing is on its way to any of them.
// *mark_out changes whenever a rank woke in between: twice the same mark means a deadlock.
bool pli_job_status_is_stuck(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                             uint64_t *mark_out);

// Have the place where a row's rank waits told by this function; NULL: it is looked up in the
// process of the rank.
void pli_job_status_sites(const char *(*site_of)(uint32_t row));

// The name of a process: "rank 3", or "UPC thread 2 of group 0" for one without a rank.
enum { PLI_JOB_STATUS_NAME = 64 };
const char *pli_job_status_who(const struct pli_node *node, uint32_t row,
                               char to[PLI_JOB_STATUS_NAME]);

// Print one line per rank (of many equal ones in large jobs the first), then what looks like the
// mistake.
void pli_job_status_print(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                          void (*line)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));

#endif
