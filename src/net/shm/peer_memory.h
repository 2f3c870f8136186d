// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process of this host, read and written by the kernel (process_vm_readv).
// A process leaves a number of its own at a known address and says both in its mailbox. Others read
// that number before they read or write anything else: a process id alone may mean another process,
// in another pid namespace or after the first has ended.
#ifndef PLI_NET_PEER_MEMORY_H
#define PLI_NET_PEER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct pli_shm_mailbox;

// Say in my mailbox who I am. Context: before others know the mailbox.
void pli_peer_memory_publish(struct pli_shm_mailbox *box, uint64_t job, uint32_t row);

// Whether this process may read the memory of the owner of a mailbox: tries it. What was found is
// said at level info. Context: any thread.
bool pli_peer_memory_probe(const struct pli_shm_mailbox *box);

// The same without a word. It holds for PLI_PEER_MEMORY_HOLDS_NS: kernels give out the numbers of
// processes in turn, and none gives one twice in so short a time.
bool pli_peer_memory_is_owner(const struct pli_shm_mailbox *box);
enum { PLI_PEER_MEMORY_HOLDS_NS = 1000000 };

// Pieces that one call moves at most, on each side.
enum { PLI_PEER_MEMORY_PIECES = 64 };

// Copy `len` bytes from the owner's memory to mine. Both lists hold as many bytes. False: not all
// of it could be read; what came is of no use.
bool pli_peer_memory_read(const struct pli_shm_mailbox *box, const struct iovec *to, int n_to,
                          const struct iovec *from, int n_from, size_t len);
// Copy from mine to the owner's.
bool pli_peer_memory_write_pieces(const struct pli_shm_mailbox *box, const struct iovec *to,
                                  int n_to, const struct iovec *from, int n_from, size_t len);
bool pli_peer_memory_write(const struct pli_shm_mailbox *box, uint64_t to, const void *from,
                           size_t len);

#endif
