// SPDX-License-Identifier: BSD-3-Clause
// MPI_Put, MPI_Get and large accumulations on memory of another process of this host that is not
// shared: the kernel copies, and the process need not be in a call of MPI.
#ifndef PLI_RMA_RMA_CMA_H
#define PLI_RMA_RMA_CMA_H

#include "obj/group.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;
struct pli_rma_target;
struct pli_shm_mailbox;
struct pli_win_peer;

// Where a process of this host says who it is; NULL: it is of another host, or its memory is not to
// be accessed so. Context: any.
struct pli_shm_mailbox *pli_rma_cma_box(struct pli_id id);

// Whether the memory of that process may be read: tries it. And read it, which fails where the
// process is another by now. Context: any thread.
bool pli_rma_cma_may(const struct pli_shm_mailbox *box);
bool pli_rma_cma_read(const struct pli_shm_mailbox *box, void *to, uint64_t from, size_t bytes);

// Copy a run of bytes between memory here and what the access names, at once. False: it cannot be
// done so, or failed; the access has to be done by messages. Context: any thread.
bool pli_rma_cma_put(const struct pli_rma_target *t, const void *from, size_t bytes);
bool pli_rma_cma_get(const struct pli_rma_target *t, void *to, size_t bytes);

// Whether the two above can.
bool pli_rma_cma_may_reach(const struct pli_rma_target *t, size_t bytes);
// The same to or from any address in the process of a peer.
bool pli_rma_cma_copy(struct pli_win_peer *p, void *here, uint64_t there, size_t bytes,
                      bool is_put);
// The same with n pieces, as many bytes on both sides.
bool pli_rma_cma_move(struct pli_win_peer *p, const struct iovec *here, const struct iovec *there,
                      int n, size_t bytes, bool is_put);

// An accumulation of elements that lie side by side everywhere. in NULL: they are only read; out
// NULL: what was there is not asked for; combine NULL: they are replaced.
struct pli_rma_cma_update {
    const char *in;
    char *out;
    void (*combine)(const void *in, void *inout, size_t n);
    size_t elem, bytes;
};
// How many bytes of it were done, from the front. 0: it has to be done by messages. Context: any
// thread.
size_t pli_rma_cma_update(const struct pli_rma_target *t, const struct pli_rma_cma_update *u);

#endif
