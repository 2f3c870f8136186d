// SPDX-License-Identifier: BSD-3-Clause
// Ranks that share a memory go to another host while the job runs: all ranks stand still as for a
// checkpoint, a daemon there takes their images, and the others learn where they are. They go on
// here or there, never in both places.
#ifndef PLI_LAUNCHER_MIGRATE_RANKS_H
#define PLI_LAUNCHER_MIGRATE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_daemon_handshake_keys;
struct pli_answer;
struct pli_dframe;
struct pli_job;
struct pli_pack;
struct pli_proc_task;
struct pli_unpack;

// In mpiexec. Somebody wants it (pli_ask_migrate); the answer comes later unless true is returned.
bool pli_migrate_ranks_ask(struct pli_job *job, const char *body, size_t len, void *token,
                           struct pli_answer *a);
void pli_migrate_ranks_forget(const void *token);
bool pli_migrate_ranks_is_on(void);

// False: not for a move.
bool pli_migrate_ranks_came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys);
void pli_migrate_ranks_pack_way(struct pli_pack *to); // where the images go
void pli_migrate_ranks_take(void);                    // they are there
// How much of their output is on its way, when they are elsewhere already.
void pli_migrate_ranks_pack_streams(uint32_t host, struct pli_pack *to);
void pli_migrate_ranks_over(int error, const char *why); // all go on, wherever they are
void pli_migrate_ranks_end(void);                        // the job is over

// In the daemon that gives them away: the images are to be made, and where they go follows; whether
// all the ranks wrote is on its way and the images are there (else the step is tried again); that
// all stays here; and a rank that has children, NULL: none has.
void pli_migrate_daemon_leave(struct pli_unpack *u);
bool pli_migrate_daemon_is_sent(void);
void pli_migrate_daemon_stay(void);
const struct pli_proc_task *pli_migrate_daemon_parent(const struct pli_job *job);

// In the one that takes them: it is there, and ready for images. Does not return when it cannot.
void pli_migrate_daemon_there(void);
void pli_migrate_daemon_take(struct pli_job *job, const struct pli_dframe *f);
void pli_migrate_daemon_restored(void); // they are there, and will be called
void pli_migrate_daemon_all_back(struct pli_job *job);
void pli_migrate_daemon_begin(struct pli_job *job, const struct pli_dframe *f); // they are ours

#endif
