// SPDX-License-Identifier: BSD-3-Clause
// Other jobs on this host. Their memory is mapped when one of their processes is first met; then
// messages to and from them go through it as through this job's. Each job knows another by a small
// number; messages that come from there bear it, so that blocks are found in the right memory.
#ifndef PLI_NET_OTHER_JOB_H
#define PLI_NET_OTHER_JOB_H

#include "base/err.h"
#include "boot/node.h"
#include "net/shm/shm.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_other_job {
    uint64_t job; // upper half of its ids
    struct pli_node node;
    uint32_t number;                // of that job here
    uint32_t mine;                  // the number this job has over there
    struct pli_other_job *replaced; // another whose number has passed on, see pli_other_job_tidy
};

// How to find a job: said in names of ports and over sockets.
struct pli_other_job_name {
    uint64_t job;
    uint32_t launcher, memory; // process that keeps its memory, and the descriptor it has there
};

// Called when a job that was met has ended and another one has its number: forget the connections
// to its processes. False: something of this process still waits to go there. Context: no lane
// locked. Start-up only.
void pli_other_job_on_end(bool (*forget)(uint64_t job));

// Unmap the memory of jobs whose numbers have passed to others since, unless something of this
// process still waits to go there. Context: no lock held.
void pli_other_job_tidy(void);

// This job's. PLI_ERR_OTHER: its memory is not where others could find it.
void pli_other_job_self(struct pli_other_job_name *out);

// Make the two jobs known to each other. This job itself is fine. Context: no lock held.
enum pli_err pli_other_job_meet(const struct pli_other_job_name *name);

// A job that some process of this one has met, NULL: none, or it is gone. Context: any thread.
const struct pli_other_job *pli_other_job_find(uint64_t job);

// Call fn for each job whose memory this process has mapped, until it returns false. Context: fn
// meets and finds none.
void pli_other_job_visit(bool (*fn)(const struct pli_other_job *o, void *arg), void *arg);

// Whether the launcher of a job still runs.
bool pli_other_job_has_launcher(const struct pli_node *node);

// How many places of this process's mailbox, from `head` on, a process of another job had claimed
// when it died, 0: none. number: of the mailbox.
uint32_t pli_other_job_left_places(uint32_t number, uint64_t head);
// Whether a process of another job has ended, perhaps with its job. Context: any thread.
bool pli_other_job_has_ended(uint64_t proc);

// In messages of another job its number here is above the sender's index, and above the offset of a
// block.
enum { PLI_OTHER_JOB_SHIFT = 56, PLI_OTHER_JOB_INDEX = 24 };

// Whether a message comes from a job that ended before this process had met it: nobody waits for an
// answer, and what it refers to cannot be read.
bool pli_other_job_is_lost(uint32_t src) __attribute__((cold));

uint64_t pli_other_job_proc_slow(uint32_t src) __attribute__((cold));
struct pli_shm_block *pli_other_job_block_slow(uint64_t offset) __attribute__((cold));

// The process a cell names as its sender.
static inline uint64_t pli_other_job_proc(uint64_t me, uint32_t src)
{
    return __builtin_expect(src >> PLI_OTHER_JOB_INDEX != 0, 0) ? pli_other_job_proc_slow(src)
                                                                : pli_node_job_of(me) | src;
}

// The block a cell names.
static inline struct pli_shm_block *pli_other_job_block(const char *base, uint64_t offset)
{
    return __builtin_expect(offset >> PLI_OTHER_JOB_SHIFT != 0, 0)
               ? pli_other_job_block_slow(offset)
               : (struct pli_shm_block *)(uintptr_t)(base + offset);
}

#endif
