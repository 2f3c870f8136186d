// SPDX-License-Identifier: BSD-3-Clause
// UPC groups that have hosts of their own: those of the file that HOSTS names.
#ifndef PLI_LAUNCHER_UPC_HOSTS_H
#define PLI_LAUNCHER_UPC_HOSTS_H

struct pli_job;

// Read the files, and add their hosts to those of the job where it has none so far. Exits when
// something is wrong. Context: the environment of all parts is made.
void pli_upc_hosts_read(struct pli_job *job);
// Give the groups' threads to their hosts in turn; a group that several hosts get is cut into a
// task for each.
void pli_upc_hosts_tasks(struct pli_job *job);

#endif
