// SPDX-License-Identifier: BSD-3-Clause
// Makes TCP connections, ends them, and fails the requests of those that break.
#ifndef PLI_NET_TCP_CONNECT_H
#define PLI_NET_TCP_CONNECT_H

#include <stdbool.h>

struct pli_caller;
struct pli_tcp_conn;
struct pli_tcp_lane;
struct pli_tcp_sock;

// Context of all: lane locked.

// Begin to connect.
void pli_tcp_connect_dial(struct pli_tcp_conn *tc);
// Another process has connected to this one; takes the descriptor.
void pli_tcp_connect_accept(struct pli_tcp_lane *net, const struct pli_caller *c);
// The connection is lost; its requests fail later, unless the launcher ends the job first.
void pli_tcp_connect_lose(struct pli_tcp_conn *tc, const char *why);
// The descriptor is no socket: a checkpoint was made. False: no other connection replaces it.
bool pli_tcp_connect_resume(struct pli_tcp_sock *s);
// All that the other side sent before it left has come after all.
void pli_tcp_connect_left(struct pli_tcp_conn *tc);
void pli_tcp_connect_moved(struct pli_tcp_sock *s); // the socket has carried its last frame
// The other side has closed the socket, or it broke.
void pli_tcp_connect_closed(struct pli_tcp_sock *s, const char *why);
// Look at dials that take too long, at connections lost long enough ago, at hosts that do not
// answer. To be called now and then.
void pli_tcp_connect_check(struct pli_tcp_lane *net);
// Withdraw what can never complete, after a failure; has_died: the peer's process died.
void pli_tcp_connect_fail(struct pli_tcp_conn *tc, bool has_died);

#endif
