// SPDX-License-Identifier: BSD-3-Clause
// Spawned processes that end before they have called MPI_Init: MPI_Comm_spawn fails, and says why.
#ifndef PLI_LAUNCHER_SPAWN_FAIL_H
#define PLI_LAUNCHER_SPAWN_FAIL_H

#include <stdbool.h>
#include <stddef.h>

struct pli_answer;
struct pli_rank_failure;
struct pli_job;

// Whether it is such a case. It is remembered for the process that asks then, and no failure of the
// job.
bool pli_spawn_fail_take(const struct pli_job *job, const struct pli_rank_failure *c);

// Do what a request of kind PLI_ASK_UNSPAWN says.
void pli_spawn_fail_clear(struct pli_job *job, const char *body, size_t len, struct pli_answer *a);

#endif
