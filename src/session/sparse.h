// SPDX-License-Identifier: BSD-3-Clause
// Sparse worlds: communicators of small sets and one of their leaders, instead of one of all.
#ifndef PLI_SESSION_SPARSE_H
#define PLI_SESSION_SPARSE_H

#include "base/err.h"

struct pli_comm;
struct pli_errhandler;
struct pli_info;
struct pli_session;

// The sets whose names begin with prefix (NULL: mpi://host/) must be disjoint, and the caller must
// be in one of them. *local_out: the communicator of that set. *leaders_out: that of the first
// process of each set; NULL in all other processes. Collective over the members of the caller's
// set, and over the leaders. Context: no lock held.
enum pli_err pli_sparse_create(struct pli_session *s, const char *prefix, const char *tag,
                               struct pli_info *info, struct pli_errhandler *errhandler,
                               struct pli_comm **local_out, struct pli_comm **leaders_out);

#endif
