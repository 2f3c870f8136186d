// SPDX-License-Identifier: BSD-3-Clause
// Processes that come while the job runs.
#ifndef PLI_LAUNCHER_SPAWN_H
#define PLI_LAUNCHER_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_answer;
struct pli_programs_list;
struct pli_job;
struct pli_proc_task;

// Do what a request of kind PLI_ASK_SPAWN says: all of its processes are started, or none.
void pli_spawn(struct pli_job *job, const char *body, size_t len, struct pli_answer *answer);

// Start n more ranks of the command line's program, from `rank` on, for a version of the world.
// a->first: their first index.
void pli_spawn_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                     struct pli_answer *a);
// Rows for clones of the n processes with these indices, which will be ranks from `rank` on.
void pli_spawn_reserve(struct pli_job *job, const uint32_t *parents, uint32_t n, uint32_t rank,
                       uint32_t version, struct pli_answer *a);
// The same where it is known which rows; hosts: where each will be, NULL: where its parent is.
// l: the rank of the first, and the version.
void pli_spawn_expect(struct pli_job *job, uint32_t first, const uint32_t *parents, uint32_t n,
                      const uint32_t *hosts, const struct pli_programs_list *l);
// A clone of a rank of `from` is there, in a row that was reserved: it is a task from now on.
// fds: control, output, error; they are its. False: it cannot be watched.
bool pli_spawn_clone(struct pli_job *job, const struct pli_proc_task *from, uint32_t row, pid_t pid,
                     const int fds[4]);
// The parts of it. Fill the rows of processes, numbered from `first` on; hosts: where each is,
// NULL: here. Start those that are here, all or none: false with a refusal. And kill them.
void pli_spawn_fill(struct pli_job *job, const struct pli_programs_list *l, uint32_t first,
                    const uint32_t *hosts);
bool pli_spawn_start(struct pli_job *job, const struct pli_programs_list *l, uint32_t first,
                     struct pli_answer *a);
void pli_spawn_drop(struct pli_job *job, uint32_t first, uint32_t n);

// Take the start of processes back.
void pli_spawn_undo(struct pli_job *job, uint32_t first, uint32_t n);

// Forget tasks that are over and give their memory back. Context: between two turns of the loop.
void pli_spawn_sweep(struct pli_job *job);

// For checkpoints: a task for a rank that was started later and is there again, which the caller
// looks after.
struct pli_proc_task *pli_spawn_adopt(struct pli_job *job, uint32_t row);

#endif
