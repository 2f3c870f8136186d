// SPDX-License-Identifier: BSD-3-Clause
// Leaves UCX before a checkpoint or a fork: its threads, descriptors and memory survive neither.
#ifndef PLI_NET_UCX_QUIESCE_H
#define PLI_NET_UCX_QUIESCE_H

#include <stdbool.h>

struct pli_frame;
struct pli_tcp_conn;
struct pli_tcp_lane;
struct pli_ucx_worker;

// Leave it, together with the processes that it connects with this one: there is nothing of it here
// until pli_ucx_quiesce_end. False: it cannot be left, and pli_ucx_quiesce_end is not called.
// Context: no lock held.
bool pli_ucx_quiesce_begin(void);
void pli_ucx_quiesce_end(void);

// Whether there is nothing of UCX in this process. Context: any.
bool pli_ucx_quiesce_is_done(void);

// For the other files of this folder. Context: lane locked, unless a line says otherwise.
void pli_ucx_quiesce_open(void);          // start-up only
void pli_ucx_quiesce_count(int n);        // change the number of workers that are open
void pli_ucx_quiesce_close(bool is_over); // the slot of the transport table
void pli_ucx_quiesce_poll(struct pli_ucx_worker *u);
// A frame about leaving UCX came. False: the connection is lost.
bool pli_ucx_quiesce_closing(struct pli_tcp_conn *tc, const struct pli_frame *f);
// The other side's address came. False: it is told to wait.
bool pli_ucx_quiesce_may_connect(struct pli_tcp_conn *tc);
// Whether a send must wait for the next poll: a process that only sends would never leave.
bool pli_ucx_quiesce_is_due(struct pli_tcp_lane *net);
bool pli_ucx_quiesce_is_wanted(void); // whether UCX is to be left, or stay so. Context: any
void pli_ucx_quiesce_thawed(void);    // the process goes on. Context: pli_freeze_on_move
// Whether frames of the connection must wait for messages that UCX still has.
bool pli_ucx_quiesce_is_behind(const struct pli_tcp_conn *tc);

#endif
