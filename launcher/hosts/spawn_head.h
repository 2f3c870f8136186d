// SPDX-License-Identifier: BSD-3-Clause
// Processes that come later, in a job on several hosts: mpiexec's side. An order goes to all
// daemons; when all know of its processes, those who have some start them. See spawn_daemon.h.
#ifndef PLI_LAUNCHER_SPAWN_HEAD_H
#define PLI_LAUNCHER_SPAWN_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_dframe;
struct pli_job;

// Do what a request of kind PLI_ASK_SPAWN says. True: it is refused. False: the answer comes later,
// by pli_rank_request_answer(token).
bool pli_spawn_head_spawn(struct pli_job *job, const char *body, size_t len, void *token,
                          struct pli_answer *a);
// Start n more ranks of the command line's program, from `rank` on, for a version of the world; on
// hosts that may take them (by host; NULL: all), where there is room.
// a->first: their first index. What fails later is told by pli_resize_fail.
void pli_spawn_head_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                          const bool *may, struct pli_answer *a);
// One of them is in MPI_Init, and waits.
void pli_spawn_head_ready(struct pli_job *job, uint32_t index);
// Whether a process is on its way, and nobody but who asked for it knows of it.
bool pli_spawn_head_is_new(uint32_t index);
// Let clones of n processes with these indices come, from `rank` on, for a version of the world; to
// these hosts in turn, or where there is room, their parents' first (n_host 0). True: it is
// refused. False: the answer comes when all hosts know of them; a->first is their first index
// already. The list of parents stays where it is until then.
struct pli_spawn_head_clones {
    uint32_t rank, version;
    uint32_t *hosts;
    uint32_t n_host;
};
bool pli_spawn_head_clones(struct pli_job *job, const uint32_t *parents, uint32_t n,
                           const struct pli_spawn_head_clones *as, void *token,
                           struct pli_answer *a);
// The hosts that hints name for clones (add: those of add-host), of the heap; false with a refusal.
bool pli_spawn_head_find(const struct pli_job *job, const char *names, const char *add,
                         struct pli_spawn_head_clones *out, struct pli_answer *a);
// PLI_DLINK_BERTH: a host is ready for a clone of another one. PLI_DLINK_FAR: it was sent there, or
// why not. Other frames are not for us.
void pli_spawn_head_far(struct pli_job *job, uint32_t host, const struct pli_dframe *f);
// Take the start of processes back.
void pli_spawn_head_undo(const struct pli_job *job, uint32_t first, uint32_t n);
// Nobody waits for this answer any more.
void pli_spawn_head_forget(const void *token);

// A daemon's word of kind PLI_DLINK_KNOWN or PLI_DLINK_BEGUN; why is empty when all is well.
void pli_spawn_head_hear(uint16_t kind, uint32_t id, const char *why, size_t len);
// A host is lost.
void pli_spawn_head_lost(const char *name);

#endif
