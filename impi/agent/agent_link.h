// SPDX-License-Identifier: BSD-3-Clause
// A connection between a process and its agent: frames out of a queue and in by callbacks. The
// socket is non-blocking; no function waits. Both ends use it. Context: one thread.
#ifndef PLI_AGENT_LINK_H
#define PLI_AGENT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include "agent/agent_wire.h"
#include "wire/impi_err.h"

struct pli_agent_link;

struct pli_agent_link_ops {
    // A frame's head has come, and `f->len` > 0 bytes follow: returns where to put them. NULL fails
    // the link.
    void *(*room)(void *arg, const struct pli_agent_frame *f);
    // `got` bytes of the data are in place; not called for the last ones.
    void (*more)(void *arg, const struct pli_agent_frame *f, void *room, uint64_t got);
    // The frame is whole; `room` is NULL if it has no data.
    void (*whole)(void *arg, const struct pli_agent_frame *f, void *room);
};

// Takes `fd` over. `ops` must outlive it.
enum pli_impi_err pli_agent_link_create(int fd, const struct pli_agent_link_ops *ops, void *arg,
                                        struct pli_agent_link **out);
void pli_agent_link_destroy(struct pli_agent_link *l); // closes; what is queued is lost

// A descriptor that came with the first frame; -1: none. The caller closes it. From then on none is
// taken.
int pli_agent_link_take_fd(struct pli_agent_link *l);

int pli_agent_link_fd(const struct pli_agent_link *l);

// Queue a frame of head `f` and `f->len` bytes of `data`; `own` is given to free() once that has
// been written, or at the end of the link. ERR_NOMEM: it was freed already.
enum pli_impi_err pli_agent_link_put(struct pli_agent_link *l, const struct pli_agent_frame *f,
                                     const void *data, void *own);
bool pli_agent_link_has_output(const struct pli_agent_link *l);

// Write as much as the socket takes; read as much as there is, up to some bound. OK: some bytes
// were moved. AGAIN: none could be. ERR_PEER: the other end has closed. ERR_SYS, ERR_PROTO,
// ERR_NOMEM.
enum pli_impi_err pli_agent_link_write(struct pli_agent_link *l);
enum pli_impi_err pli_agent_link_read(struct pli_agent_link *l);

#endif
