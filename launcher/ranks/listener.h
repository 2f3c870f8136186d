// SPDX-License-Identifier: BSD-3-Clause
// The one listening socket of a host: takes calls for all ranks of the job there, lets only those
// in who know the job's secret, and hands the connection to the rank it is for.
#ifndef PLI_LAUNCHER_LISTENER_H
#define PLI_LAUNCHER_LISTENER_H

#include "launcher/base/loop.h"
#include "boot/node.h"

#include <stdbool.h>
#include <stdint.h>

// Listen, and write this host's port and addresses into its entry of the table of hosts. is_wide:
// for other hosts, by PLIANT_TCP_IF and PLIANT_TCP_PORTS; else on the loopback alone. The node
// must outlive the loop. False with a message.
bool pli_listener_open(struct pli_node *node, bool is_wide);

// Take calls from now on. Context: after pli_loop_init.
void pli_listener_begin(void);

// A pair of sockets for the ranks of a task: the child inherits *theirs_out, which has
// close-on-exec and is to be closed here after the start; *ours_out is for pli_listener_set. Both
// are -1 in a job without a network. False: errno says why.
bool pli_listener_pair(int *ours_out, int *theirs_out);

// The rank of this row is reached through this socket, which belongs to the listener from now on;
// calls that came before are handed over. -1 is fine.
void pli_listener_set(uint32_t row, int fd);
// The rank is gone.
void pli_listener_shut(uint32_t row);
// The rank will get another accept socket: connections wait until then.
void pli_listener_part(uint32_t row);
// Open it in a node that comes from a checkpoint of one host.
bool pli_listener_again(struct pli_node *node);

// For tests: cut the ranks of this host into n runs and call each a host of its own. Context:
// before pli_listener_open; the node was made for n hosts.
void pli_listener_pretend(struct pli_node *node, uint32_t n);

struct pli_listener_caller;
struct pli_listener_rank;

// The listening socket for the ranks of this host: pli_launcher.listener.
struct pli_listener_state {
    struct pli_node *node;
    struct pli_watch listener;
    struct pli_timer timer;
    struct pli_listener_caller *callers; // PLI_HANDSHAKE_ACCEPT_N callers that have not been let in
    bool is_crowded;                     // none is let in until one of them makes room
    struct pli_listener_rank *ranks;     // by row, the way to a rank
    uint32_t n_pretend;                  // hosts that are this one
};
void pli_listener_init(void); // its first values

#endif
