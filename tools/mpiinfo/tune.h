// SPDX-License-Identifier: BSD-3-Clause
// mpiinfo --tune: measures which collective algorithms are the fastest on this host.
#ifndef PLI_TOOLS_MPIINFO_TUNE_H
#define PLI_TOOLS_MPIINFO_TUNE_H

#include <stdbool.h>

// Measure, and write the table that mpiexec reads. False: a sentence was printed.
bool pli_tune_host(void);

// The part of a rank, started by the above: measure and print rules. The text has the seconds it
// may take and the least count of ranks that the rules are for.
bool pli_tune_rank(const char *text);

#endif
