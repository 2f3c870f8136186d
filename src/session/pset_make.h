// SPDX-License-Identifier: BSD-3-Clause
// Process sets that programs make while the job runs and that other processes find by name. The
// calls are local: the sets of a host are one table in its memory. Each call is idempotent, so
// every process may make the set it needs.
#ifndef PLI_SESSION_PSET_MAKE_H
#define PLI_SESSION_PSET_MAKE_H

#include "base/err.h"

struct pli_group;
struct pli_session;

// Context of all: any thread.
enum pli_err pli_pset_make_from_group(struct pli_session *s, struct pli_group *group,
                                      const char *name);
enum pli_err pli_pset_make_union(struct pli_session *s, const char *a, const char *b,
                                 const char *name);
enum pli_err pli_pset_make_intersection(struct pli_session *s, const char *a, const char *b,
                                        const char *name);
enum pli_err pli_pset_make_difference(struct pli_session *s, const char *a, const char *b,
                                      const char *name);

// Make the next version of a set, named as the set with @2, @3, ... appended, unless the newest
// version has these members. name_out, with room for MPI_MAX_PSET_NAME_LEN: the newest version.
enum pli_err pli_pset_make_revise(struct pli_session *s, const char *name, struct pli_group *group,
                                  char *name_out);

// Undo one making of a set by a process of this host. The set is gone when all were undone.
enum pli_err pli_pset_make_free(struct pli_session *s, const char *name);

// Wait until there is a set of this name. Context: no lock held.
enum pli_err pli_pset_make_wait(struct pli_session *s, const char *name);

#endif
