// SPDX-License-Identifier: BSD-3-Clause
// Starts processes of a running job on several hosts, in mpiexec. An order goes to all
// daemons; when all know of its processes, the daemons that have some start them. See
// spawn_daemon.h.
#ifndef PLI_LAUNCHER_SPAWN_HEAD_H
#define PLI_LAUNCHER_SPAWN_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;
struct pli_dframe;
struct pli_job;
struct pli_role_clones;

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
// Whether a process is on its way, and only the process that asked for it knows of it.
bool pli_spawn_head_is_new(uint32_t index);
// One rank for a dead one: where that was, if there is room; else where there is.
void pli_spawn_head_successor(struct pli_job *job, uint32_t rank, uint32_t dead, uint32_t version,
                              struct pli_answer *a);
// Let clones come; to the hosts that are named in turn, or where there is room, their parents'
// first. True: it is refused. False: the answer comes when all hosts know of them; a->first is
// their first index already. The list of parents stays where it is until then.
bool pli_spawn_head_clones(struct pli_job *job, const struct pli_role_clones *c, void *token,
                           struct pli_answer *a);
// PLI_DLINK_CLONE_READY: a host is ready for a clone of another one. PLI_DLINK_CLONE_SENT: it was
// sent there, or why not. Other frames are not for us.
void pli_spawn_head_hear_clone(struct pli_job *job, uint32_t host, const struct pli_dframe *f);
// Take the start of processes back.
void pli_spawn_head_undo(struct pli_job *job, uint32_t first, uint32_t n);
// The request is closed: its answer is not needed any more.
void pli_spawn_head_forget(const void *token);

// A frame of kind PLI_DLINK_KNOWN or PLI_DLINK_BEGUN; why is empty when all is well.
void pli_spawn_head_hear(uint16_t kind, uint32_t id, const char *why, size_t len);
// A host is lost.
void pli_spawn_head_lost(const char *name);

struct pli_spawn_head_order;

// Processes that daemons are to start: pli_launcher.spawn_head.
struct pli_spawn_head_state {
    struct pli_spawn_head_order *orders; // processes on their way
    uint32_t n_order;
    struct pli_spawn_head_order *waiting; // for hosts to join
};

#endif
