// SPDX-License-Identifier: BSD-3-Clause
// The host's shared memory: made by the launcher, mapped by the ranks.
#ifndef PLI_BOOT_NODE_H
#define PLI_BOOT_NODE_H

#include "base/err.h"
#include "boot/node_wire.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_gateway;

struct pli_node {
    struct pli_node_header *header;
    struct pli_node_row *rows;
    struct pli_node_host *hosts; // header->n_host
    struct pli_node_proc *procs; // header->n_world, and n_more
    char *base;
    size_t mapped; // bytes from base on: all, or the areas of fewer processes that come later
    char *tail;    // the last page of all, for a process that maps what lies behind
};

// Make the memory for n_row processes: *fd_out is a memfd without close-on-exec, mapped in *node.
// Rows are numbered 0 to n_row-1, all in application 0; the launcher then edits them. There is room
// for PLI_NODE_N_MORE processes that come later, or for fewer where so much cannot be reserved.
// Context: the launcher, or a process without one.
enum pli_err pli_node_create(uint32_t n_row, struct pli_node *node_out, int *fd_out);
// The same with an area for an agent (see pli_node_agent), and a gateway with this much memory,
// which costs nothing until it is touched.
enum pli_err pli_node_create_gateway(uint32_t n_row, uint64_t heap, struct pli_node *node_out,
                                     int *fd_out);

// The same for one host of several: n_row of the n_world processes, perhaps none, are here. The
// tables of hosts and processes are left empty, and the rows' indices too; the launcher fills them,
// the host's own number in the header, and the job's number and secret, before it starts a rank.
struct pli_node_plan {
    uint32_t n_row, n_world, n_host;
    uint32_t n_late; // hosts that may join
    uint64_t heap;   // of a gateway, 0: there is none
    uint32_t n_file; // found out: processes that come later for which there is room
};
enum pli_err pli_node_create_for(const struct pli_node_plan *plan, struct pli_node *node_out,
                                 int *fd_out);

// Whether the tables contradict themselves: every process has a place, and every row its process.
// A sentence says which does not. Context: the launcher, when it has filled them.
enum pli_err pli_node_check(const struct pli_node *node);

// Processes of the job on other hosts that have the same cores as this one.
uint32_t pli_node_beside(const struct pli_node *node);

// Rows worth a look: those of the start and those that were used since.
static inline uint32_t pli_node_n_used(const struct pli_node *node)
{
    return atomic_load_explicit(&node->header->n_used, memory_order_acquire);
}

// The index of the first process that comes later: behind all of the start, also those of the jobs
// that IMPI joins to this one.
static inline uint32_t pli_node_n_start(const struct pli_node_header *h)
{
    return h->n_joint != 0 ? h->n_joint : h->n_world;
}

// Where a process of the job is, NULL: it has no process of this index.
static inline const struct pli_node_proc *pli_node_find(const struct pli_node *node, uint32_t index)
{
    const struct pli_node_header *h = node->header;
    uint32_t at = index - h->base;
    if (at < h->n_world) {
        return &node->procs[at];
    }
    if (h->n_more == 0 || index < pli_node_n_start(h)) {
        return NULL;
    }
    uint32_t i = (index - pli_node_n_start(h)) % h->n_more; // they take rows in turn
    return node->rows[h->n_row + i].index == index ? &node->procs[h->n_world + i] : NULL;
}

// The row of a process, UINT32_MAX: it is not on this host, or its row is another's by now.
static inline uint32_t pli_node_row_of(const struct pli_node *node, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    return p != NULL && p->row < pli_node_n_used(node) && node->rows[p->row].index == index
               ? p->row
               : UINT32_MAX;
}

// How a process of the job died, 0: it did not (failure_wire.h). Context: any thread.
static inline uint32_t pli_node_failure(const struct pli_node *node, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    return p != NULL ? atomic_load_explicit(&p->failure, memory_order_acquire) : 0;
}

// Open the memory that another process of this user has as this descriptor. -1 with errno; EPERM:
// the process or the file is another user's, which could truncate it while this process reads it.
// Root is no exception.
int pli_node_open(long pid, long descriptor);
// Map an inherited memory and check that it is ours and of our version. A process that may not
// reserve all of it maps fewer areas of processes to come, and notes that in n_room.
enum pli_err pli_node_map(int fd, struct pli_node *node_out);
// The same for a process that looks at a job and takes no part in it: n_room stays, and areas of
// later processes may be missing (pli_node_has_area).
enum pli_err pli_node_map_to_look(int fd, struct pli_node *node_out);
// At most so many processes that come later can be on this host. Context: any process of it.
void pli_node_limit_room(struct pli_node_header *header, uint32_t n_room);
// Whether a process can have this row: all processes of the host have mapped its area.
static inline bool pli_node_has_room(const struct pli_node_header *h, uint32_t row)
{
    return row < h->n_row ||
           row - h->n_row < atomic_load_explicit(&h->n_room, memory_order_seq_cst);
}
// Map the segments of all processes of this host, the first row's first; addresses, not memory.
// Stays mapped for the life of the process. Context: any thread, once.
enum pli_err pli_node_map_segments(const struct pli_node *node, char **out);
// The segment of the i-th of the processes that come later. It is mapped alone, as most processes
// need none or few of them. Its mapping has late_size bytes.
enum pli_err pli_node_map_late(const struct pli_node *node, uint32_t i, char **out);
void pli_node_unmap(struct pli_node *node); // a node that was never mapped is fine

// The upper half of the ids of this job's processes, never 0.
static inline uint64_t pli_node_job(const struct pli_node_header *header)
{
    // Three bits stay free: ids are shifted by as many to name a lane of a process.
    uint64_t job = (header->joint != 0 ? header->joint : header->job) & 0x1fffffff00000000u;
    return job != 0 ? job : (uint64_t)1 << 32;
}

// The same of the id of any process: the part that names its job.
static inline uint64_t pli_node_job_of(uint64_t proc)
{
    return proc & ~(uint64_t)UINT32_MAX;
}

// The cores where the job began, for what its processes must choose alike: some may have chosen
// before a checkpoint, and others choose after it.
static inline uint32_t pli_node_first_cores(const struct pli_node_header *header)
{
    return header->n_core_first != 0 ? header->n_core_first : header->n_core;
}

// The job goes on where there are so many cores. Context: the launcher, before its processes run.
static inline void pli_node_restart_cores(struct pli_node_header *header, uint32_t n_core)
{
    header->n_core_first = pli_node_first_cores(header);
    header->n_core = n_core;
}

// Note that a process of the job is gone, here or on another host. Context: the launcher.
void pli_node_set_ended(struct pli_node *node, uint32_t index);
bool pli_node_has_ended(const struct pli_node *node, uint32_t index);

// Change the state of a row and keep the count of running ones. Context: the row's process, or the
// launcher after that process's death.
void pli_node_set_state(struct pli_node *node, uint32_t row, enum pli_node_state state);

// The gateway to other MPI jobs, NULL: there is none.
static inline struct pli_gateway *pli_node_gateway(const struct pli_node *node)
{
    return node->header->gateway != 0 ? (struct pli_gateway *)(node->base + node->header->gateway)
                                      : NULL;
}

// The number of the agent's area, above those of all rows.
static inline uint32_t pli_node_agent(const struct pli_node *node)
{
    return node->header->n_row + node->header->n_more;
}

// The area of one row, or of the agent.
static inline char *pli_node_area(const struct pli_node *node, uint32_t row)
{
    const struct pli_node_header *h = node->header;
    return node->base +
           (row < h->n_row + h->n_more ? h->areas + (size_t)row * h->area_size : h->agent);
}

// Whether this process has mapped it.
static inline bool pli_node_has_area(const struct pli_node *node, uint32_t row)
{
    return node->header->areas + ((size_t)row + 1) * node->header->area_size <= node->mapped;
}

#endif
