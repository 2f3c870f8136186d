// SPDX-License-Identifier: BSD-3-Clause
// UPC groups: which processes of the job share one UPC address space.
#ifndef PLI_LAUNCHER_UPC_GROUPS_H
#define PLI_LAUNCHER_UPC_GROUPS_H

struct pli_app;
struct pli_job;

// How many UPC threads each task brings up: parts that run upcrun say so by its -n. A part without
// -n of its own has as many ranks as one task brings up. Exits when it is wrong. Context: when the
// command line is read.
void pli_upc_groups_read(struct pli_job *job);
// How many UPC threads the tasks of a part bring up, 0: it does not run upcrun.
void pli_upc_groups_find(struct pli_app *app);
// Give every task the rows for processes without a rank that it needs.
void pli_upc_groups_plan(struct pli_job *job);
void pli_upc_groups_number(struct pli_job *job); // the same for tasks that are planned already
// Write into the rows which group each process belongs to.
void pli_upc_groups_write(struct pli_job *job);

#endif
