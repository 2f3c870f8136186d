// SPDX-License-Identifier: BSD-3-Clause
// The part of a lane that polls sockets and lets threads sleep on them.
#ifndef PLI_NET_TCP_LANE_H
#define PLI_NET_TCP_LANE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_fd_watch;
struct pli_lane;
struct pli_tcp_lane;
struct pli_tcp_sock;

// Context of all: lane locked.

// Make this part of a lane, if the job has a network and it is not there yet.
enum pli_err pli_tcp_lane_open(struct pli_lane *lane);
void pli_tcp_lane_leave(struct pli_lane *lane); // drop it in a forked process
bool pli_tcp_lane_watch(struct pli_tcp_lane *net, struct pli_fd_watch *e, uint32_t events);
void pli_tcp_lane_unwatch(struct pli_tcp_lane *net, struct pli_fd_watch *e); // before fd is closed
// This socket gave the last message and is read at every poll; NULL: none is.
void pli_tcp_lane_set_active(struct pli_tcp_lane *net, struct pli_tcp_sock *s);

// What TCP has for a lane; NULL: nothing.
struct pli_tcp_lane *pli_tcp_lane_of(const struct pli_lane *lane);

#endif
