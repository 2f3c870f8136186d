// SPDX-License-Identifier: BSD-3-Clause
// tcp_accept.c: connections that others made come in by the door, which all lanes watch.
#ifndef PLI_NET_TCP_LANE_PRIV_H
#define PLI_NET_TCP_LANE_PRIV_H

#include <stdint.h>

struct pli_fd_watch;
struct pli_tcp_lane;

// Have the system allow as many descriptors as connections may need. Start-up of a lane.
void pli_tcp_lane_ask_room(void);
// Something is at the door. Context: lane locked, as of the next.
void pli_tcp_lane_see_door(struct pli_fd_watch *e, uint32_t events);
// Take what other lanes' threads found at the door for this one, and what had to wait. How many.
int pli_tcp_lane_take_calls(struct pli_tcp_lane *net);
// In a forked process: they are the other one's.
void pli_tcp_lane_forget_calls(int lane);

#endif
