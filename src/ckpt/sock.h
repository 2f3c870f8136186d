// SPDX-License-Identifier: BSD-3-Clause
// TCP connections across a checkpoint. While a process is frozen it has none: data in flight is
// read and kept, and each socket is replaced by a descriptor that is not a socket. Afterwards the
// process that had connected connects again, and the reader of a connection first reads what was
// kept and then the new connection. The code that sends and receives messages does not know of
// this.
//
// In a process that is never frozen all of these functions do nothing.
#ifndef PLI_CKPT_SOCK_H
#define PLI_CKPT_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_boot;
struct pli_caller;

// Keep the table from now on; boot->accept_fd is drained and replaced too. Start-up only.
void pli_sock_open(struct pli_boot *boot);

// A descriptor is about to be connected (dial); was connected by this process (join); was accepted
// from another process (call). Context: between pli_freeze_hold and pli_freeze_let.
void pli_sock_dial(int fd);
void pli_sock_join(int fd, uint32_t proc, uint8_t lane, uint8_t to_lane);
void pli_sock_call(const struct pli_caller *c);
// Close such a descriptor. Context: any thread.
void pli_sock_close(int fd);

// How often this process was frozen: a connection that was being made before must be started again.
uint32_t pli_sock_round(void);
// A connection that was accepted while this process was frozen and that no lane knows yet. Context:
// as pli_sock_call.
bool pli_sock_untaken(struct pli_caller *out);
bool pli_sock_has_untaken(void);

// Whether a descriptor is not a socket any more and another one replaces it.
bool pli_sock_is_moved(int fd);
// Whether a descriptor is not a socket any more and what replaces it comes later: the process at
// the other end is on its way to another host.
bool pli_sock_is_pending(int fd);
// The descriptor that replaces one, or -1: none does. *kept_out: the data to read first, to be
// freed with pli_sock_forget. Context: one thread for a descriptor.
int pli_sock_take(int fd, const char **kept_out, size_t *len_out, size_t *cap_out);
void pli_sock_forget(const char *kept, size_t cap);

// In the signal handler, while all threads of all processes of the job are stopped. Read all data
// in flight, report that by tell, and wait until the launcher writes to the resume pipe that all
// others have too. True: all have, and all connections are closed. False: the launcher has ended.
bool pli_sock_drain(int resume_fd, bool (*tell)(void));
// Connect again, when the node memory is mapped. accept_fd is a new socket, which replaces
// boot->accept_fd. False: why has the reason.
bool pli_sock_reconnect(int accept_fd, char *why, size_t cap);

#endif
