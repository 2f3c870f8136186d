// SPDX-License-Identifier: BSD-3-Clause
// The owner's side: takes requests of the other members one after the other, whenever this process
// waits or polls, and answers them.
#ifndef PLI_ONESIDED_REGION_SERVE_H
#define PLI_ONESIDED_REGION_SERVE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct pli_region;

enum pli_err pli_region_serve_open(struct pli_region *r);
// Context: no member asks any more, no lock held. One that was never opened is fine.
void pli_region_serve_close(struct pli_region *r);

// The client answers a question that it was told of, at once or later; the bytes are copied.
// Context: no lock held.
void pli_region_serve_answer(struct pli_region *r, int to, uint32_t tag, const void *data,
                             size_t len);
// What was wrong with accesses of a member that were refused since it was asked last.
enum pli_err pli_region_serve_fault(struct pli_region *r, int origin);

#endif
