// SPDX-License-Identifier: BSD-3-Clause
// Process sets as a session sees them, and groups from them. [MPI-5.0 11.3.2]
#ifndef PLI_SESSION_SESSION_PSET_H
#define PLI_SESSION_SESSION_PSET_H

#include "base/err.h"

#include <stdint.h>

struct pli_group;
struct pli_info;
struct pli_session;

// The sets that the caller is a member of: mpi://WORLD, mpi://SELF, then the others as they were
// first seen. The number of a set never changes, nor does its name.
enum pli_err pli_session_pset_count(struct pli_session *s, struct pli_info *info, int *n_out);
enum pli_err pli_session_pset_nth(struct pli_session *s, struct pli_info *info, int n, int *len,
                                  char *name_out);
// MPI_Session_get_pset_info: the key mpi_size, and those of Pliant MPI in the manual page.
enum pli_err pli_session_pset_info(struct pli_session *s, const char *name, struct pli_info **out);

// The members of any set of the job in ascending order, whether or not the caller is one. s: NULL
// for a group of the world model.
enum pli_err pli_session_pset_group(struct pli_session *s, const char *name,
                                    struct pli_group **out);

// The processes of a set, in ascending order; freed by the caller.
enum pli_err pli_session_pset_list(const char *name, uint32_t **list_out, uint32_t *n_out);

// The newest version of a set, by its name without one; name_out has room for PLI_PSET_NAME. 0:
// there is none.
uint32_t pli_session_pset_newest(const char *name, char *name_out);

// The process is the clone of another: it has been shown nothing.
void pli_session_pset_clone(void);

// The name of the set of a version of the world; room for PLI_PSET_NAME. Version 1 is WORLD@2.
void pli_session_pset_world(uint32_t version, char *name_out);

#endif
