// SPDX-License-Identifier: BSD-3-Clause
// Connections of a process that may be frozen. While it is, it has none: all that was on its way is
// read and kept, and a descriptor that answers "not a socket" takes the place of each. Afterwards
// the process that had connected connects again, and the reader of a connection takes up first what
// was kept and then the new connection. So nothing on the path of a message knows of this.
//
// All of this does nothing in a process that is never frozen.
#ifndef PLI_CKPT_SOCK_H
#define PLI_CKPT_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_boot;
struct pli_caller;

// Connections may have to be given up from now on, and boot->accept_fd too. Start-up only.
void pli_sock_open(struct pli_boot *boot);

// A descriptor is about to be connected; it is: by our call, or by another's. Context: between
// pli_freeze_hold and pli_freeze_let.
void pli_sock_dial(int fd);
void pli_sock_join(int fd, uint32_t proc, uint8_t lane, uint8_t to_lane);
void pli_sock_call(const struct pli_caller *c);
// Close one of those. Context: any thread.
void pli_sock_close(int fd);

// How often this process was frozen: a connection that was being made before must be begun anew.
uint32_t pli_sock_round(void);
// One that arrived while this process was frozen and that no lane knows yet. Context: as
// pli_sock_call.
bool pli_sock_untaken(struct pli_caller *out);
bool pli_sock_has_untaken(void);

// Whether a descriptor has become no socket, and something goes on in its place.
bool pli_sock_is_moved(int fd);
// What goes on in place of a descriptor that has become no socket, and what is to be read before:
// kept_out, to be given back with pli_sock_forget. -1: it has not. Context: one thread for a
// descriptor.
int pli_sock_take(int fd, const char **kept_out, size_t *len_out, size_t *cap_out);
void pli_sock_forget(const char *kept, size_t cap);

// In the signal handler, while all threads stand still; nobody else is running anywhere in the job.
// Read all that is on its way, and say so by tell; until the launcher writes to the resume pipe
// that all others have too. True: they have, and there is no connection any more. False: the
// launcher is gone.
bool pli_sock_drain(int resume_fd, bool (*tell)(void));
// The node memory is there, and accept_fd is a new socket, which becomes boot->accept_fd. False:
// why.
bool pli_sock_reconnect(int accept_fd, char *why, size_t cap);

#endif
