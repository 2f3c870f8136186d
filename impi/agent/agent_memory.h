// SPDX-License-Identifier: BSD-3-Clause
// Memory that a process shares with its agent, so that large data is not copied through their
// socket. Each end allocates in its own half, reads the other, and is told by a frame when the
// other end is done with a place. It is sparse: only what is used takes pages. Context: one thread.
#ifndef PLI_AGENT_MEMORY_H
#define PLI_AGENT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include "engine/impi_heap.h"
#include "wire/impi_err.h"

enum { PLI_AGENT_MEMORY_MIN = 8192 }; // bytes that are worth a place

struct pli_agent_memory {
    int fd; // -1: there is none, and all data goes through the socket
    unsigned char *base;
    uint64_t size;
    struct pli_impi_heap heap;
    bool is_agent;
};

// The process makes it; a failure leaves it without (fd is -1).
void pli_agent_memory_create(struct pli_agent_memory *m);
// The agent maps what a process made: takes `fd` over, also when it fails. ERR_PROTO: it could be
// made smaller while it is read.
enum pli_impi_err pli_agent_memory_attach(struct pli_agent_memory *m, int fd);
void pli_agent_memory_close(struct pli_agent_memory *m); // also one that is all zero but fd -1

// A place in the own half; NULL: too small, or no room.
void *pli_agent_memory_take(struct pli_agent_memory *m, uint64_t len);
bool pli_agent_memory_has(const struct pli_agent_memory *m, const void *p); // in either half
uint64_t pli_agent_memory_offset(const struct pli_agent_memory *m, const void *p);
// `len` bytes at an offset in the other's half; NULL: there are not so many.
void *pli_agent_memory_at(const struct pli_agent_memory *m, uint64_t offset, uint64_t len);
void pli_agent_memory_give(struct pli_agent_memory *m, uint64_t offset); // of the own half
// Give pages back that were not used for a while; see pli_impi_heap_trim.
int pli_agent_memory_trim(struct pli_agent_memory *m);

#endif
