// SPDX-License-Identifier: BSD-3-Clause
// Memory that schedules work in. Large blocks that were given back are kept for the next schedule:
// malloc would return them to the system, which fills every page with zeros again. Context: any
// thread.
#ifndef PLI_COLL_SCRATCH_H
#define PLI_COLL_SCRATCH_H

#include <stddef.h>

struct pli_scratch {
    struct pli_scratch *next; // the owner's
    size_t size;
    _Alignas(64) unsigned char data[];
};

// NULL: no memory.
struct pli_scratch *pli_scratch_take(size_t size);
void pli_scratch_give(struct pli_scratch *s);

#endif
