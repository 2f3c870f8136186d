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
struct pli_job;
struct pli_pack;

// In mpiexec. Do what a request (pli_ask_migrate) says; the answer comes later unless true is
// returned.
bool pli_migrate_ranks_ask(struct pli_job *job, const char *body, size_t len, void *token,
                           struct pli_answer *a);
void pli_migrate_ranks_forget(const void *token);
bool pli_migrate_ranks_is_on(void);

// False: not for a move.
bool pli_migrate_ranks_came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys);
void pli_migrate_ranks_end(void); // the job is over

#endif
