// SPDX-License-Identifier: BSD-3-Clause
// Answering requests of far threads.
#ifndef PLI_UPC_RT_SERVE_H
#define PLI_UPC_RT_SERVE_H

#include <stddef.h>
#include <stdint.h>

struct pli_region;
struct pli_region_block;

// A request came; see pli_region_message_fn. arg is the struct rt_thread that it is for.
void pli_rt_serve(struct pli_region *r, void *arg, int origin, uint32_t tag, const void *ask,
                  size_t len);
// An access of a far thread is outside of the segment: the job ends.
void pli_rt_serve_refused(struct pli_region *r, void *arg, int origin,
                          const struct pli_region_block *b);

#endif
