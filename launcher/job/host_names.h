// SPDX-License-Identifier: BSD-3-Clause
// Reads lists of hosts that a request names while the job runs, "b:2,c".
#ifndef PLI_LAUNCHER_HOST_NAMES_H
#define PLI_LAUNCHER_HOST_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_host;
struct pli_job;

// The next name of a list; *at moves after it. False: there is none, or it is wrong.
bool pli_host_names_next(const char **at, char *name, size_t cap, struct pli_host *as,
                         struct pli_answer *a);

// Whether the name means this host, which is not lost.
bool pli_host_names_is(const struct pli_host *h, const char *name);

// By host, whether a list names it; of the heap. NULL: the list is empty.
bool *pli_host_names_named(const struct pli_job *job, const char *list);

// The hosts of a list, in its order; of the heap. NULL with a refusal: one is not of the job.
uint32_t *pli_host_names_list(const struct pli_job *job, const char *list, uint32_t *n_out,
                              struct pli_answer *a);

// In a job that runs here alone: whether the list names no other host, else a refusal.
bool pli_host_names_are_here(const char *list, struct pli_answer *a);

#endif
