// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --host-world: the server at which other jobs join this one, a child of mpiexec.
#ifndef PLI_LAUNCHER_WORLD_SERVER_H
#define PLI_LAUNCHER_WORLD_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct pli_job;

// Start the server, print the token and make this job client 0 of the world. False: why not has
// been said. Does nothing without --host-world. Context: one thread, before any rank.
bool pli_world_server_start(struct pli_job *job);

// Tell the user, or the file that he named, the token by which others join. False: the file cannot
// be written, which was said.
bool pli_world_server_tell(const struct pli_job *job, const char *token);

// This job is over with `status`: wait until the others are too, or end the server if the job has
// failed. Returns the status of mpiexec.
int pli_world_server_finish(int status);

// pli_launcher.world_server
struct pli_world_server_state {
    pid_t pid; // 0: there is none
};

#endif
