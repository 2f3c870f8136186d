// SPDX-License-Identifier: BSD-3-Clause
// Being started by a program that runs already and wants to spawn.
#ifndef PLI_LAUNCHER_SINGLETON_H
#define PLI_LAUNCHER_SINGLETON_H

#include <stdbool.h>

struct pli_job;

// Take over the program's node memory instead of making one.
bool pli_singleton_map(struct pli_job *job);
// Look after the program as rank 0 and tell it that it can go on. Context: the warden has begun.
bool pli_singleton_adopt(struct pli_job *job);

// A program that was not started by mpiexec: pli_launcher.singleton.
struct pli_singleton_state {
    int memory, control, ready, pid; // as the program says: descriptors and its number
};

#endif
