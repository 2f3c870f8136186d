// SPDX-License-Identifier: BSD-3-Clause
// The hosts of a job: from options, a file, or the allocation of a batch system.
#ifndef PLI_LAUNCHER_HOSTS_H
#define PLI_LAUNCHER_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_job;

struct pli_host {
    char *name;         // as the user wrote it
    uint32_t slots;     // ranks it takes before the next host's turn; 0: its share
    uint32_t max_slots; // and never more than these; 0: no limit
    uint32_t n_named;   // times it was named
    uint32_t n_task, n_rank;
    uint32_t index; // in the list of a part: of the same host in the list of the job
    bool is_local;  // this machine: no ssh needed
    bool is_lost;   // while the job runs
};

// "a:2,b" of an option; "host slots=2 max_slots=4" or "host:2" a line of a file. Both end mpiexec
// with a sentence when something is wrong, naming `option`.
void pli_hosts_take_list(struct pli_job *job, const char *option, const char *text);
void pli_hosts_take_file(struct pli_job *job, const char *option, const char *path);
// What --map-by says: where ranks are bound, or, as ppr:N:node, how many go to each host.
void pli_hosts_take_map(struct pli_job *job, const char *option, const char *text);

// A list of its own from such a file, of *n_out hosts.
struct pli_host *pli_hosts_read(const char *option, const char *path, uint32_t *n_out);

// How many are not lost.
uint32_t pli_hosts_n_left(const struct pli_job *job);

// Whether two names, of which one may lack the domain, mean the same host.
bool pli_hosts_is_same(const char *a, const char *b);
// Whether a name means this machine.
bool pli_hosts_is_this(const char *name);

// Read "name", "name:4", "name:4/8" (8: max_slots) or "[fe80::1]:4"; slots and max_slots stay as
// they are when none are said. NULL, or what is wrong with it.
const char *pli_hosts_parse(const char *text, size_t len, const char **name_out, size_t *len_out,
                            uint32_t *slots, uint32_t *max_slots);

// Name a host (its first len characters) with its slots, 0: not said. Adds to an earlier mention.
void pli_hosts_add(struct pli_job *job, const char *name, size_t len, uint32_t slots,
                   uint32_t max_slots);

// All options are read: look for a batch system's allocation when there were none, and see which
// hosts are this one. Fills in job->n_rank of a single part that had no -n.
void pli_hosts_find(struct pli_job *job);

// Whether it can be one: it becomes a word of a command line, and must not be taken for an option.
bool pli_hosts_is_name(const char *text, size_t len);

// The name to call the host of a task by.
struct pli_proc_task;
const char *pli_hosts_name(const struct pli_job *job, const struct pli_proc_task *task);
// " on host NAME", for messages.
void pli_hosts_where(const struct pli_job *job, const struct pli_proc_task *task, char *to,
                     size_t cap);

#endif
