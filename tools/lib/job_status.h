// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on this host are doing, read from the memory they share: for a deadlock
// report and for mpictl. Reads only.
#ifndef PLI_TOOLS_JOB_STATUS_H
#define PLI_TOOLS_JOB_STATUS_H

#include "boot/node.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_wait_entry;

// Whether the process of a row has ended, as far as the caller knows.
typedef bool (*pli_job_status_over_fn)(void *arg, uint32_t row);

// What the ranks of this host say of themselves when every one that is left seems to wait.
struct pli_job_status_stuck {
    uint64_t mark;     // changes whenever a rank woke in between
    uint32_t n_poll;   // ranks that do not sleep but ask again and again, as by MPI_Test
    bool is_confirmed; // each has looked since the question was asked, and found nothing
};

// True: every rank that is left sleeps inside MPI, or polls in vain. It only seems so until all
// have answered the question (node's header): a rank that was woken may not have run since, and
// messages may lie in sockets. Answers to two questions, the second asked when all had answered the
// first, with the same mark mean a deadlock.
bool pli_job_status_is_stuck(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                             struct pli_job_status_stuck *out);

// Have the place where a row's rank waits told by this function; NULL: it is looked up in the
// process of the rank.
void pli_job_status_sites(const char *(*site_of)(uint32_t row));

// The place in the source that an entry was called from; "" if it is not known.
void pli_job_status_site(const struct pli_node *node, const struct pli_wait_entry *e, char *to,
                         size_t cap);

// The name of a process: "rank 3", or "UPC thread 2 of group 0" for one without a rank.
enum { PLI_JOB_STATUS_NAME = 64 };
const char *pli_job_status_who(const struct pli_node *node, uint32_t row,
                               char to[PLI_JOB_STATUS_NAME]);

// Print one line per rank (of many equal ones in large jobs the first), then what looks like the
// mistake.
void pli_job_status_print(const struct pli_node *node, pli_job_status_over_fn is_over, void *arg,
                          void (*line)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));

// Print which way goes to each other job of an IMPI world; nothing for a job that is in none.
void pli_job_status_ways(const struct pli_node *node,
                         void (*line)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));

#endif
