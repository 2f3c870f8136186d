// SPDX-License-Identifier: BSD-3-Clause
// The process as a member of its job: opened by the first user (a session, the world), closed by
// the last. Local: it waits for no other process.
#ifndef PLI_MSG_PROCESS_H
#define PLI_MSG_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_endpoint;
struct pli_failure_hooks;
struct pli_net_ops;

// Context: any thread. is_multiple: threads may call at the same time from now on. The first call
// says which transports there are (pli_net_list), and what handles failures
// (pli_failure_handlers).
enum pli_err pli_process_open(bool is_multiple, const struct pli_net_ops *const nets[],
                              const struct pli_failure_hooks *hooks);
// Drains what is still to be sent. Context: any thread.
void pli_process_close(void);
// Whether it is open. Context: any thread.
bool pli_process_is_open(void);
// Whether MPI_THREAD_MULTIPLE was asked for by any user so far. Context: any thread.
bool pli_process_has_threads(void);

// Locks are taken from now on. Context: no lock held, no other thread inside a call.
void pli_process_lock(void);

// Wait until nothing is on its way out any more. is_leaving: nor anything that others have yet to
// fetch from copies of ours. Context: no lock held.
void pli_process_drain(bool is_leaving);

// The process's first endpoint: what ranks of MPI_COMM_WORLD are.
struct pli_endpoint *pli_process_ep(void);

// Counted contexts: the index of the process that made it stands above this bit.
enum { PLI_CONTEXT_MAKER_BIT = 40, PLI_CONTEXT_MAKER_MAX = 0xffffff };

// A context for a new communicator led by this process: unique in the job, never used again.
uint64_t pli_process_context(void);

// The context of MPI_COMM_WORLD: IMPI numbers that of all its jobs itself.
uint64_t pli_process_world(void);

// MPI is over for this process: the jobs it was joined with may go. Context: no lock held.
void pli_process_leave(void);

// Look again whether there are more processes than cores: some came or went.
void pli_process_recount(void);

// The context of a version of the world, known to all: as if made by a process that never is. Those
// of a fork are made for its parents and its children too, and one for plans that move data to it.
enum pli_process_part { PLI_PART_ALL, PLI_PART_PARENTS, PLI_PART_CHILDREN, PLI_PART_PLAN };
static inline uint64_t pli_process_part_context(uint32_t version, enum pli_process_part part)
{
    return (uint64_t)((1 << 22) - 1 - (int)part) << 40 | (64 + (uint64_t)version * 4);
}

static inline uint64_t pli_process_version_context(uint32_t version)
{
    return pli_process_part_context(version, PLI_PART_ALL);
}

// Well-known contexts that need no agreement; low two bits are the channel.
enum {
    PLI_CONTEXT_WORLD = 4,
    PLI_CONTEXT_SELF = 8,
    PLI_CONTEXT_UPC = 16,     // the threads of a UPC group; groups share no process
    PLI_CONTEXT_UPC_ALL = 20, // the processes of all UPC groups
    PLI_CONTEXT_SPAWNED = 24, // those that one call has spawned, until they know their parent
    PLI_CONTEXT_FIRST = 64
};

#endif
