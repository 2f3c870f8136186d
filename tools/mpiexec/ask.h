// SPDX-License-Identifier: BSD-3-Clause
// Requests to mpiexec from ranks.
#ifndef PLI_MPIEXEC_ASK_H
#define PLI_MPIEXEC_ASK_H

struct pli_job;

// Read one request from the socket, which becomes ours, do what it asks and answer.
void pli_ask_begin(struct pli_job *job, int fd);

// The answer to a request that was put off; token as it was given.
struct pli_answer;
void pli_ask_answer(void *token, const struct pli_answer *answer);

// Forget requests that were answered. Context: between two turns of the loop.
void pli_ask_sweep(void);

#endif
