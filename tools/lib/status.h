// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job on this host are doing, read from the memory they share: for a deadlock
// report and for mpictl. Reads only.
#ifndef PLI_TOOLS_STATUS_H
#define PLI_TOOLS_STATUS_H

#include "boot/node.h"

#include <stdbool.h>

// Whether the process of a row has ended, as far as the caller knows.
typedef bool (*pli_status_over_fn)(void *arg, uint32_t row);

// True: every rank that is left sleeps inside MPI and nothing is on its way to any of them.
// *mark_out changes whenever a rank woke in between: twice the same mark means a deadlock.
bool pli_picture_is_stuck(const struct pli_node *node, pli_status_over_fn is_over, void *arg,
                          uint64_t *mark_out);

// Where a row's rank waits is known by this function, and not to be looked for in its process;
// NULL: it is.
void pli_picture_sites(const char *(*site_of)(uint32_t row));

// "rank 3", or "UPC thread 2 of group 0" where that has none.
enum { PLI_PICTURE_WHO = 64 };
const char *pli_picture_who(const struct pli_node *node, uint32_t row, char to[PLI_PICTURE_WHO]);

// One line per rank (long jobs: the first of many alike), then what looks like the mistake.
void pli_picture_print(const struct pli_node *node, pli_status_over_fn is_over, void *arg,
                       void (*line)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));

#endif
