// SPDX-License-Identifier: BSD-3-Clause
// Versions of the world: the communicators of the world before and after each resize or fork. A
// version is a process set and a context that is computed from its number, so a process makes the
// communicator without a message, when the program asks for it.
#ifndef PLI_ELASTIC_ELASTIC_WORLD_H
#define PLI_ELASTIC_ELASTIC_WORLD_H

#include "base/err.h"

#include <stdint.h>

struct pli_comm;
struct pli_info;

// The context of this process's MPI_COMM_WORLD: the version that the process was started for.
// Context: MPI is being initialised.
uint64_t pli_elastic_world_context(void);
// Free the communicators of all versions. Context: the world ends.
void pli_elastic_world_end(void);

// The newest version that the program works in: MPI_COMM_WORLD, or one that it asked for since.
struct pli_comm *pli_elastic_world_newest(uint32_t *version_out);
// Let MPI_COMM_WORLD be this version from now on; its name, attributes, error handler and buffer
// stay. The version before can still be had by its number. Context: no other thread uses
// MPI_COMM_WORLD.
enum pli_err pli_elastic_world_set(uint32_t version);
// In a process that was just forked: forget the versions before, which belong to the parent.
void pli_elastic_world_clone(void);

// MPIX_World_version, MPIX_Comm_world_version, MPIX_Comm_world_at (NULL: not a member),
// MPIX_World_leaving.
enum pli_err pli_elastic_world_version(int *version_out);
enum pli_err pli_elastic_world_version_of(struct pli_comm *comm, int *version_out);
enum pli_err pli_elastic_world_at(int version, struct pli_comm **out);
enum pli_err pli_elastic_world_leaving(int *flag_out);
// MPIX_World_resize and MPIX_World_resize_with_info.
enum pli_err pli_elastic_world_resize(struct pli_comm *comm, int size);
enum pli_err pli_elastic_world_resize_info(struct pli_comm *comm, int size, struct pli_info *info);

// Wait a moment in this call, until mpiexec is free for a request or has done another one.
void pli_elastic_world_pause(struct pli_comm *comm, const char *call);

// Register with the rooms below. Context: start-up only.
void pli_elastic_world_prepare(void);

#endif
