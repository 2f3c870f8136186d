// SPDX-License-Identifier: BSD-3-Clause
// Process sets made while the job runs, for others to find by name. Local: the sets of a host are
// one table in its memory. Each call is idempotent, so every process may make the set it needs.
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

// The next version of a set, whose name is the old one with @2, @3, ...; when the newest has these
// members, that. name_out has room for MPI_MAX_PSET_NAME_LEN.
enum pli_err pli_pset_make_revise(struct pli_session *s, const char *name, struct pli_group *group,
                                  char *name_out);

// Until there is a set of this name. Context: no lock held.
enum pli_err pli_pset_make_wait(struct pli_session *s, const char *name);

#endif
