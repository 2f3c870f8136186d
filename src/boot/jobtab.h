// SPDX-License-Identifier: BSD-3-Clause
// The table of other jobs, ports and names in the node memory.
#ifndef PLI_BOOT_JOBTAB_H
#define PLI_BOOT_JOBTAB_H

#include "base/err.h"
#include "boot/jobtab_wire.h"

#include <stdbool.h>

struct pli_node;

// One of two jobs that meet.
struct pli_jobtab_side {
    const struct pli_node *node;
    uint64_t job;
    uint32_t launcher, memory;
};

// Whether a message that bears this number of another job waits to be read by a process of the job.
typedef bool (*pli_jobtab_unread_fn)(const struct pli_node *node, uint32_t number);

struct pli_jobtab_pair {
    uint32_t theirs_here, mine_there; // the numbers the jobs have in each other's tables
};

// Enter each job in the other's table, where it is not yet. Places of jobs whose launcher is gone
// are used again. Context: any thread, any process; may wait a moment.
enum pli_err pli_jobtab_meet(const struct pli_jobtab_side *here,
                             const struct pli_jobtab_side *there, pli_jobtab_unread_fn is_unread,
                             struct pli_jobtab_pair *out);

// The number of a job in the table, 0: it is not there. out: NULL, or what is known of it.
uint32_t pli_jobtab_find_job(const struct pli_node *node, uint64_t job, struct pli_jobtab_job *out);
bool pli_jobtab_get_job(const struct pli_node *node, uint32_t number, struct pli_jobtab_job *out);
// Whether the job has ever met another, and whether one that it met has not ended.
bool pli_jobtab_has_met(const struct pli_node *node);
bool pli_jobtab_has_live(const struct pli_node *node);
// Whether a process is there and has a job's memory open at this descriptor.
bool pli_jobtab_has_launcher(uint32_t launcher, uint32_t memory);

// Open a port of a process: its place in the table and its cookie, a new one where that is 0.
// Closing one that is not open says so.
enum pli_err pli_jobtab_open_port(const struct pli_node *node, uint32_t owner, uint32_t *place_out,
                                  uint64_t *cookie);
// The place of a port, PLI_JOBTAB_N_PORT: it is not open.
uint32_t pli_jobtab_find_port(const struct pli_node *node, uint64_t cookie);
enum pli_err pli_jobtab_close_port(const struct pli_node *node, uint32_t place, uint64_t cookie);
// The process that has the port open; false: none has.
bool pli_jobtab_port_owner(const struct pli_node *node, uint32_t place, uint64_t cookie,
                           uint32_t *owner_out, uint32_t *ep_out);
// This endpoint will accept at the port. False: it is not open.
bool pli_jobtab_own_port(const struct pli_node *node, uint32_t place, uint64_t cookie,
                         uint32_t owner, uint32_t ep);

// Published names. A name can be published once in a job; what a process published goes with it.
enum pli_err pli_jobtab_publish(const struct pli_node *node, uint32_t owner, const char *service,
                                const char *port);
enum pli_err pli_jobtab_unpublish(const struct pli_node *node, const char *service);
// False: it is not published here. port_out has room for PLI_JOBTAB_PORT.
bool pli_jobtab_lookup(const struct pli_node *node, const char *service, char *port_out);

#endif
