// SPDX-License-Identifier: BSD-3-Clause
// Whether a request for another size of the world can be met.
#ifndef PLI_LAUNCHER_RESIZE_CHECK_H
#define PLI_LAUNCHER_RESIZE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_ask_fork;
struct pli_ask_resize;
struct pli_job;

// How many ranks a request means; 0 with a refusal. is_idle: no other resize is under way.
uint32_t pli_resize_check_goal(const struct pli_job *job, const struct pli_ask_resize *ask,
                               bool is_idle, struct pli_answer *a);
// Whether the world can be cloned as it is.
bool pli_resize_check_fork(const struct pli_job *job, const struct pli_ask_fork *ask, bool is_idle,
                           struct pli_answer *a);

#endif
