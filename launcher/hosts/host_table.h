// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks what daemons say of their hosts, and what they are told of all hosts.
#ifndef PLI_LAUNCHER_HOST_TABLE_H
#define PLI_LAUNCHER_HOST_TABLE_H

#include "boot/node_wire.h"

#include <stdbool.h>

struct pli_job;
struct pli_pack;
struct pli_unpack;

// A part of a host's hardware with the ranks bound inside it.
struct pli_host_table_domain {
    char *kind;
    uint32_t number, n, *ranks;
};

// What a daemon says of its host.
struct pli_host_table {
    char *name; // as the host calls itself
    struct pli_node_host place;
    struct pli_host_table_domain *domains;
    uint32_t n_domain;
};

// In a daemon, once it has its memory: this host.
void pli_host_table_pack(const struct pli_job *job, struct pli_pack *to);
bool pli_host_table_unpack(const struct pli_job *job, struct pli_unpack *from,
                           struct pli_host_table *out);

// Where its ranks are reached; and in a daemon: those of a host are elsewhere by now, or it is a
// new one, after the last (its name and addresses follow).
void pli_host_table_pack_place(const struct pli_host_table *info, struct pli_pack *to);
void pli_host_table_place(struct pli_job *job, uint32_t host, struct pli_unpack *from);

// All hosts and all process sets, for a daemon to start with; the sets go through job->node.
// False with a message.
bool pli_host_table_pack_all(struct pli_job *job, const struct pli_host_table *host_info,
                             struct pli_pack *to);

// In a daemon: make the node memory, with a listening socket for the ranks, before mpiexec hears of
// this host; and fill in what it says of all of them. False with a message.
bool pli_host_table_make_node(struct pli_job *job, const unsigned char *secret, uint64_t job_id);
// The same from a checkpoint.
bool pli_host_table_take_node(struct pli_job *job, const unsigned char *secret);
bool pli_host_table_fill_node(struct pli_job *job, struct pli_unpack *from);

// In a daemon: sets that ranks of this host have made, or freed, since it was asked for last;
// false: there are none.
bool pli_host_table_pack_news(struct pli_job *job, struct pli_pack *to);
// In mpiexec: count the hosts of each set, and pack what all hosts are to hear; false: nothing.
bool pli_host_table_count_made(struct pli_job *job, struct pli_unpack *from, struct pli_pack *to);
// All sets that ranks have made.
void pli_host_table_pack_made(struct pli_job *job, struct pli_pack *to);
// Take what a host is to hear. is_all: others than these there are none, and it does not matter who
// made them; else host has. What contradicts a set of this host is left out.
void pli_host_table_add_made(struct pli_job *job, struct pli_unpack *from, bool is_all,
                             uint32_t host);

#endif
