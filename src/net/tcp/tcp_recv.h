// SPDX-License-Identifier: BSD-3-Clause
// Reads frames from the sockets of a lane and acts on them.
#ifndef PLI_NET_TCP_RECV_H
#define PLI_NET_TCP_RECV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_fd_watch;
struct pli_frame;
struct pli_tcp_conn;
struct pli_tcp_sock;

// Context of all: lane locked.

int pli_tcp_recv_read(struct pli_tcp_sock *s); // how many messages or pieces were read
// A message of which all is here, or a note about one, came by TCP or by UCX. False: the connection
// is lost.
void pli_tcp_recv_arrive(struct pli_tcp_conn *tc, const struct pli_frame *f, const char *body);
bool pli_tcp_recv_note(struct pli_tcp_conn *tc, const struct pli_frame *f);
// The other side has sent what it must not: lose the connection. Returns false.
bool pli_tcp_recv_refuse(struct pli_tcp_conn *tc, const char *what);
void pli_tcp_recv_resume(struct pli_tcp_sock *s); // the other socket of the connection has ended
// All that went by UCX before is here: take apart what was put off.
void pli_tcp_recv_catch_up(struct pli_tcp_conn *tc);
// Take apart bytes that a checkpoint has read from the socket.
void pli_tcp_recv_feed(struct pli_tcp_sock *s, const char *data, size_t n);
void pli_tcp_recv_drop(struct pli_tcp_sock *s); // the frame under way will not be complete
void pli_tcp_recv_ready(struct pli_fd_watch *e, uint32_t events); // the socket is ready
enum { PLI_TCP_RECV_BUFFER = 128 * 1024 }; // bytes of the buffer of a lane that is read into

#endif
