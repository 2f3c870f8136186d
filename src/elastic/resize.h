// SPDX-License-Identifier: BSD-3-Clause
// Versions of the world. A version is a process set and a context that follows from its number, so
// a process takes it up without a message, when it looks.
#ifndef PLI_ELASTIC_RESIZE_H
#define PLI_ELASTIC_RESIZE_H

#include "base/err.h"

#include <stdint.h>

struct pli_comm;

// The context of this process's MPI_COMM_WORLD, of the version that it came for. Context: MPI is
// being initialised.
uint64_t pli_resize_join(void);
void pli_resize_leave(void); // the world ends

// The newest version that the program works in: MPI_COMM_WORLD, or one that it asked for since.
struct pli_comm *pli_resize_newest(uint32_t *version_out);
// MPI_COMM_WORLD means this version from now on; what hangs on it stays. The one before can still
// be had by its number. Context: no other thread uses MPI_COMM_WORLD.
enum pli_err pli_resize_take_up(uint32_t version);
// This process was forked from another one, and comes with a version: forget those before.
void pli_resize_clone(void);

// MPIX_World_version, MPIX_Comm_world_version, MPIX_Comm_world_at (NULL: not a member),
// MPIX_World_resize.
enum pli_err pli_resize_version(int *version_out);
enum pli_err pli_resize_version_of(struct pli_comm *comm, int *version_out);
enum pli_err pli_resize_world_at(int version, struct pli_comm **out);
struct pli_info;
enum pli_err pli_resize_world_info(struct pli_comm *comm, int size, struct pli_info *info);
enum pli_err pli_resize_world(struct pli_comm *comm, int size);

// Tell lower rooms. Context: start-up only.
void pli_resize_prepare(void);

#endif
