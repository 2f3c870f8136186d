// SPDX-License-Identifier: BSD-3-Clause
// The hosts that a batch system has given to this job.
#ifndef PLI_LAUNCHER_ALLOCATION_H
#define PLI_LAUNCHER_ALLOCATION_H

#include <stdbool.h>

struct pli_job;

// Add the hosts of the Slurm or PBS allocation that mpiexec runs in, if it does.
void pli_allocation_read(struct pli_job *job);

// What starts daemons, as the user or the settings say: "ssh", "slurm" or a command line.
const char *pli_allocation_launcher(const struct pli_job *job);
// Whether that is srun. Ends with a message where it cannot be.
bool pli_allocation_is_by_srun(const struct pli_job *job);

#endif
