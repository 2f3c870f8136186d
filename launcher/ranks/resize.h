// SPDX-License-Identifier: BSD-3-Clause
// Another version of the world: the launcher's side.
#ifndef PLI_LAUNCHER_RESIZE_H
#define PLI_LAUNCHER_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_answer;
struct pli_job;
struct pli_proc_task;

// Do what a request of kind PLI_ASK_RESIZE says. True: the answer is there. False: it comes later,
// by pli_rank_request_answer(token).
bool pli_resize_begin(struct pli_job *job, const char *body, size_t len, void *token,
                      struct pli_answer *answer);
// Prepare rows for clones of ranks, as a request of kind PLI_ASK_FORK says.
bool pli_resize_fork(struct pli_job *job, const char *body, size_t len, void *token,
                     struct pli_answer *a);
// The ranks that asked for clones have them, or not: PLI_ASK_FORKED. True and false as above.
bool pli_resize_forked(struct pli_job *job, const char *body, size_t len, void *token,
                       struct pli_answer *answer);
// A process that was forked from a rank of this task is there; fds: its control socket, output and
// error, which become ours. False: it is not expected.
bool pli_resize_add_clone(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4]);
// Ranks died that are to be replaced: others get their numbers, in the next version.
void pli_resize_replace(struct pli_job *job);
// The request is closed: its answer is not needed any more.
void pli_resize_forget(const void *token);
// Whether new ranks are on their way.
bool pli_resize_is_coming(void);
// Whether the process of this row is on its way into a version to come.
bool pli_resize_is_new(const struct pli_job *job, uint32_t row);
// New ranks could not be started, on whichever host.
void pli_resize_fail(struct pli_job *job, const char *why);

// A new rank is in MPI_Init and waits; a process has ended. Context: the loop.
void pli_resize_ready(struct pli_job *job, uint32_t row);
void pli_resize_gone(struct pli_proc_task *task);

// In mpiexec: the clones that are expected have other numbers.
void pli_resize_renumber(uint32_t first);

struct pli_resize_batch;

// The resize that is under way: pli_launcher.resize.
struct pli_resize_state {
    int state;                        // enum state
    struct pli_resize_batch *batches; // of new processes
    uint32_t n_batch, n_new, n_ready;
    void *token;    // of the request that waits, NULL: none does
    bool is_fork;   // the new ones are forked from the old ones
    bool is_agreed; // and the old ones know that all of them were
    bool is_repair; // the new one takes the place of one that died
    uint32_t n_repair;
    uint32_t asker; // row of the rank that asked for it
    char why[240];  // a fork failed before its ranks asked how it went; "": none did
    bool is_cause;  // which their ranks cannot know
    char *hosts;    // where new ranks are to go, "": anywhere
};

#endif
