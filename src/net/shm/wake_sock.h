// SPDX-License-Identifier: BSD-3-Clause
// The wake socket of a mailbox: writers send it a datagram to wake the reader, which sleeps in
// poll.
#ifndef PLI_NET_WAKE_SOCK_H
#define PLI_NET_WAKE_SOCK_H

struct pli_shm;
struct pli_shm_mailbox;

// Make the wake socket of a mailbox and tell writers its name; this process also sends from it. Its
// descriptor is readable when a datagram came. -1 with errno.
int pli_wake_sock_open(struct pli_shm *s);
void pli_wake_sock_drop(int fd); // it is about to be closed
void pli_wake_sock_send(const struct pli_shm_mailbox *box);
// No datagram is certain to arrive: a thread that sleeps at the socket looks at its mailbox again
// after this.
enum { PLI_WAKE_SOCK_NS = 1000000000 };

#endif
