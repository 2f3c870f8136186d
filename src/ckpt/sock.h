// SPDX-License-Identifier: BSD-3-Clause
// Connections of a process that may be parked. While it is, it has none: all that was on its way is
// read and kept, and where they were is something that answers "not a socket" to whoever uses them.
// Afterwards the one that called calls again, and the reader of a connection takes up what was kept
// and the new one. So nothing on the way of a message knows of this.
//
// All of this does nothing in a process that is never parked.
#ifndef PLI_CKPT_SOCK_H
#define PLI_CKPT_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_boot;
struct pli_caller;

// Connections may have to be given up from now on; *door is where others come in. Start-up only.
void pli_sock_open(struct pli_boot *boot, int *door);

// A descriptor is about to be connected; it is: by our call, or by another's. Context: between
// pli_freeze_hold and pli_freeze_let.
void pli_sock_dial(int fd);
void pli_sock_join(int fd, uint32_t proc, uint8_t lane, uint8_t to_lane);
void pli_sock_call(const struct pli_caller *c);
// Close one of those. Context: any thread.
void pli_sock_close(int fd);

// How often this process was parked: a connection that was being made before must be begun anew.
uint32_t pli_sock_round(void);
// One that came in while we were parked and that nobody knows yet. Context: as pli_sock_call.
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
// Read all that is on its way, and say so by tell; until the rope says that all others have too.
// True: they have, and there is no connection any more. False: the rope is gone.
bool pli_sock_drain(int rope, bool (*tell)(void));
// The node memory is there, and `door` is a new one, which becomes ours. False: why.
bool pli_sock_reconnect(int door, char *why, size_t cap);

#endif
