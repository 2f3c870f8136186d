// SPDX-License-Identifier: BSD-3-Clause
// Answers to the questions of far threads.
#ifndef PLI_UPC_RT_SERVE_H
#define PLI_UPC_RT_SERVE_H

#include <stddef.h>

// A question came; see pli_region_answer_fn. arg is the struct rt_thread that was asked.
size_t pli_rt_serve(void *arg, int origin, const void *ask, size_t len, void *answer);

#endif
