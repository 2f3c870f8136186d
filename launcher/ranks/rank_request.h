// SPDX-License-Identifier: BSD-3-Clause
// Requests to mpiexec from ranks.
#ifndef PLI_LAUNCHER_RANK_REQUEST_H
#define PLI_LAUNCHER_RANK_REQUEST_H

#include "launcher/base/loop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_job;

// One kind of request. pli_launcher.requests is a list of all, which one of kind 0 ends.
struct pli_request_op {
    uint32_t kind;     // PLI_ASK_
    bool is_for_job;   // it concerns the whole job: a daemon forwards it to mpiexec
    bool is_for_stops; // it stops the ranks itself; others wait while they stand still
    bool needs_begin;  // it waits until all hosts have begun
    // True: the answer is there. False: it comes later, by pli_rank_request_answer(token).
    bool (*serve)(struct pli_job *job, const char *body, size_t len, void *token,
                  struct pli_answer *a);
    void (*forget)(const void *token); // the answer is not waited for any more
};

// Read one request from the socket, which becomes ours, do what it asks and answer.
void pli_rank_request_begin(struct pli_job *job, int fd);

// In mpiexec: request number `id` of a rank on another host; kind 0: the rank waits for it no more.
// In a daemon: the answer to it.
void pli_rank_request_far(struct pli_job *job, uint32_t host, uint32_t id, uint16_t kind,
                          const void *body, size_t len);
void pli_rank_request_answered(uint32_t id, const void *answer, size_t len);

// The answer to a request that was put off; token as it was given.
void pli_rank_request_answer(void *token, const struct pli_answer *answer);

// Forget requests that were answered. Context: between two turns of the loop.
void pli_rank_request_sweep(void);

// The ranks do not stand still any more: what was asked for meanwhile is done.
void pli_rank_request_resume(void);

// In mpiexec: the tasks of all hosts are about to start.
void pli_rank_request_begun(void);

struct pli_rank_request;

enum { PLI_RANK_REQUEST_N_QUEUE = 2 }; // those that change the job, and those that look at it

// Requests that are under way: pli_launcher.rank_request.
struct pli_rank_request_state {
    struct pli_rank_request *over;  // to be forgotten: events of this turn may still name them
    struct pli_rank_request *far;   // in mpiexec: from other hosts; in a daemon: asked of mpiexec
    uint32_t n_asked;               // in a daemon
    struct pli_rank_request *held;  // came while the ranks stood still
    struct pli_rank_request *early; // in mpiexec: for when all hosts have begun
    struct pli_timer timer;
    // Came while the job was busy, and wait for their turn; the first of each is tried again.
    struct pli_rank_request *queues[PLI_RANK_REQUEST_N_QUEUE];
    struct pli_timer turns;
};

#endif
