// SPDX-License-Identifier: BSD-3-Clause
// UCX, a library for fast networks, loaded when it is wanted: workers, the connections between
// them, and active messages over these. It knows nothing of what the messages mean. One thread at a
// time uses a worker and its peers; different workers may be used at the same time.
#ifndef PLI_NET_UCX_UCX_H
#define PLI_NET_UCX_UCX_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_ucx;      // a worker
struct pli_ucx_peer; // the connection from a worker to another one

// Something under way, in memory of the caller until `done` is called: once, inside
// pli_ucx_progress. `why` is NULL when all is well, else words for people.
struct pli_ucx_op {
    void (*done)(struct pli_ucx_op *op, const char *why);
};

// What happens inside pli_ucx_progress.
struct pli_ucx_calls {
    // A message came; all of it is valid until this returns. offer is NULL, or n bytes of data can
    // be fetched with it, before this returns or never; then data is NULL.
    void (*handle)(void *arg, const void *head, size_t n_head, const void *data, size_t n,
                   void *offer);
    // A connection broke: nothing more will arrive there. peer_arg was given to pli_ucx_connect.
    void (*lost)(void *peer_arg, const char *why);
};

// Make a worker. Fails with the reason when UCX is not built in, not there, or of no use.
enum pli_err pli_ucx_open(const struct pli_ucx_calls *calls, void *arg, struct pli_ucx **out);
// NULL is fine; nothing may be under way. With the last one goes all that UCX has in this process:
// its thread, descriptors and shared memory.
void pli_ucx_close(struct pli_ucx *u);
// Workers that are opened from now on do not use UCX's own shared memory, unless the user names
// transports (UCX_TLS): UCX does not detect failures there, and believes that a process which was
// on this host stays there. is_strict: no transport without failure detection is used: what UCX
// does for a peer that dies must end.
void pli_ucx_avoid_shm(bool is_strict);

// What another worker must know to reach this one; NULL: no memory. The caller frees it.
void *pli_ucx_address(struct pli_ucx *u, size_t *n_out);
// Connect to the worker of an address, if both have a transport in common, which the caller checked
// to come from a peer that may be trusted: UCX believes what it says.
enum pli_err pli_ucx_connect(struct pli_ucx *u, const void *address, void *peer_arg,
                             struct pli_ucx_peer **out);
// Everything under way on it ends, in failure, during the next calls of pli_ucx_progress; `lost` is
// called for it no more. False: UCX keeps it, and what is under way stays so.
bool pli_ucx_disconnect(struct pli_ucx_peer *p);

// Send. PLI_OK: done already, head and data may be used again, op was not touched. PLI_AGAIN: under
// way, both must stay. Else it failed. is_large: tell the receiver of the data and let it fetch it.
enum pli_err pli_ucx_send(struct pli_ucx_peer *p, const void *head, size_t n_head, const void *data,
                          size_t n, bool is_large, struct pli_ucx_op *op);
// Fetch what was offered, all of it. Results as for pli_ucx_send.
enum pli_err pli_ucx_fetch(struct pli_ucx *u, void *offer, void *to, size_t n,
                           struct pli_ucx_op *op);
// Done when all that was sent before has left this process for good, and all that was put there is
// there.
enum pli_err pli_ucx_flush(struct pli_ucx_peer *p, struct pli_ucx_op *op);

// Memory of this process that is registered for access by others.
struct pli_ucx_mem {
    void *memory; // UCX's
    void *key;    // what the others must be told
    size_t n_key;
};
// Context of both: any thread.
enum pli_err pli_ucx_mem_map(void *at, size_t len, struct pli_ucx_mem *out);
void pli_ucx_mem_unmap(struct pli_ucx_mem *m); // one of zeros is fine

// Another process's registered memory, by its key, which must come from a trusted process.
struct pli_ucx_key;
enum pli_err pli_ucx_key_unpack(struct pli_ucx_peer *p, const void *key, struct pli_ucx_key **out);
void pli_ucx_key_destroy(struct pli_ucx_key *key); // NULL is fine

// Access it at an address of the other process. Results as for pli_ucx_send. A put is done when
// `from` may be used again; the others when the result is here. Nothing is in order with anything
// else: pli_ucx_flush is.
enum pli_err pli_ucx_put(struct pli_ucx_peer *p, const void *from, size_t n, uint64_t to,
                         struct pli_ucx_key *key, struct pli_ucx_op *op);
enum pli_err pli_ucx_get(struct pli_ucx_peer *p, void *to, size_t n, uint64_t from,
                         struct pli_ucx_key *key, struct pli_ucx_op *op);
enum pli_ucx_atomic {
    PLI_UCX_ADD,
    PLI_UCX_AND,
    PLI_UCX_OR,
    PLI_UCX_XOR,
    PLI_UCX_SWAP,
    PLI_UCX_CSWAP, // *fetch holds what is stored where *a is found
};
// On 4 or 8 bytes; the old value goes to fetch. Indivisible also against the other side's
// processors.
enum pli_err pli_ucx_atomic(struct pli_ucx_peer *p, enum pli_ucx_atomic what, size_t size,
                            const void *a, void *fetch, uint64_t at, struct pli_ucx_key *key,
                            struct pli_ucx_op *op);

// Move things on. How much was done.
int pli_ucx_progress(struct pli_ucx *u);
// Have the descriptor become readable when there is something to do. False: there is already.
bool pli_ucx_arm(struct pli_ucx *u);
int pli_ucx_fd(const struct pli_ucx *u);

// ucx_choose.c: whether messages between processes that share no memory should go by UCX, as
// PLIANT_NET and the devices of this machine say. why_out: words for people.
bool pli_ucx_is_chosen(const char **why_out);
// Whether a device of this machine could read and write memory elsewhere by itself.
bool pli_ucx_has_device(void);
// The version of UCX that would be used, or why there is none.
enum pli_err pli_ucx_version(char *text, size_t room);

#endif
