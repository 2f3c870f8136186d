// SPDX-License-Identifier: BSD-3-Clause
// A job that goes on from a checkpoint.
#ifndef PLI_LAUNCHER_RESTART_H
#define PLI_LAUNCHER_RESTART_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// A copy of the words of a command line: reading it puts zeros for colons.
char **pli_restart_words(int argc, char **argv);
// Copy the words that are of use for a job itself, without the first and those that say from where
// it goes on. How many there are; to has room for all.
uint32_t pli_restart_keep(char *const *words, char **to);
// Take out, in place, those from `first` on that say on which hosts it runs.
void pli_restart_unplace(char **words, uint32_t first);

// Find the checkpoint that --restart means, check it, and give the command line of the job: the
// checkpoint's, with the options of this command line after its own. Ends with a message when there
// is none that is good. The job is empty then but for what it goes on from.
char **pli_restart_find(struct pli_job *job, int *argc, char **argv);

// What a command line may not ask for together with checkpoints. Ends with a message.
void pli_restart_check(const struct pli_job *job);

// Whether the job goes on from images of its processes.
bool pli_restart_is_image(const struct pli_job *job);

// The node memory as it was.
bool pli_restart_node(struct pli_job *job);

// On several hosts. In mpiexec: ranks that shared memory do so again, on hosts that are there now.
void pli_restart_spread(struct pli_job *job);
// In a daemon: read what concerns this host. Ends with a message when that cannot be.
void pli_restart_take(struct pli_job *job);

#endif
