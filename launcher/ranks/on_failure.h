// SPDX-License-Identifier: BSD-3-Clause
// Ranks that die in a job that goes on without them: --on-failure=shrink and respawn.
#ifndef PLI_LAUNCHER_ON_FAILURE_H
#define PLI_LAUNCHER_ON_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_rank_failure;
struct pli_job;

// Ends mpiexec with a sentence where that cannot be. Context: before anything is started.
void pli_on_failure_check(const struct pli_job *job);
// Tell the ranks what they may count on. Context: before the first is started.
void pli_on_failure_begin(struct pli_job *job);
// Something happened to a rank. True: the job goes on without it; the others are told, and with
// respawn another one is started in its place.
bool pli_on_failure_take(struct pli_job *job, const struct pli_rank_failure *c);
// The same, for a rank that went with another one of its process.
void pli_on_failure_beside(const struct pli_rank_failure *c);
// Do what a request of kind PLI_ASK_ABORT says: end some processes, and tell the others. A refusal
// where no process would be left, or the job does not survive failures.
void pli_on_failure_abort(struct pli_job *job, const char *body, size_t len, struct pli_answer *a);
// Spawned processes are being killed: tell those that may wait for them.
void pli_on_failure_dropped(struct pli_job *job, uint32_t first, uint32_t n);
// Whether the job survives such things.
bool pli_on_failure_is_survived(const struct pli_job *job);
// A host is lost: in a job that survives its ranks died with it. When all that is lost was told,
// what follows from it is done. is_new: whether the process of a row is not a rank yet.
void pli_on_failure_lose(struct pli_job *job, uint32_t host,
                         bool (*is_new)(const struct pli_job *job, uint32_t row));
void pli_on_failure_lost(struct pli_job *job);
// The exit status of a job that went on to its end: not 0 when no rank reached it.
int pli_on_failure_status(const struct pli_job *job);

// Ranks that died in a job that goes on: pli_launcher.on_failure.
struct pli_on_failure_state {
    int status; // of the first rank that died, for mpiexec to exit with
};

#endif
