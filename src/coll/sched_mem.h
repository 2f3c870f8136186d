// SPDX-License-Identifier: BSD-3-Clause
// Memory for the schedules of very many nonblocking collectives at once: what a process with a
// hundred thousand endpoints needs while they are under way goes back to the system afterwards.
#ifndef PLI_COLL_SCHED_MEM_H
#define PLI_COLL_SCHED_MEM_H

#include <stddef.h>

// NULL: no memory. Aligned to `align`, a power of two up to 64. Context: any thread.
void *pli_sched_mem_take(size_t size, size_t align);
void pli_sched_mem_give(void *p); // NULL is fine

// Bytes mapped at the moment.
size_t pli_sched_mem_mapped(void);

#endif
